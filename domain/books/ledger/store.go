package ledger

import (
	"context"
	"errors"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// ErrUnknownAccount is a posting to an account that the team does not have: it was deleted after the caller had
// looked it up.
var ErrUnknownAccount = errors.New("ledger: a posting names an unknown account")

// entryTable has the columns of an entry, which is a line with the head of its posting.
var entryTable = db.NewTable[entryRow]("ledger_entry", `
	id uuid, source_id uuid, txn_code text, ref text, ledger text, status text, txn_at date, account_id uuid, cent_total bigint, currency text,
	party text optional, listing_id uuid, ownership_period_id uuid, contact_id uuid, reservation_id uuid, transaction_id uuid, recurring_fee_id uuid,
	statement_id uuid, trigger_type text, description text, created_at now`)

// entryRow is a row of the ledger: a line, and its posting without the lines.
type entryRow struct {
	ID id.ID
	Posting
	Line
}

// column returns one field of every line of the postings.
func column[T any](postings []Posting, of func(*Posting, *Line) T) []T {
	out := make([]T, 0, 4*len(postings))
	for i := range postings {
		for k := range postings[i].Lines {
			out = append(out, of(&postings[i], &postings[i].Lines[k]))
		}
	}

	return out
}

// shareLocks keeps the statements of ownership periods as they are until the transaction ends. A lock that a
// posting meets then lasts as long as the transaction runs, and whoever removes it sees the journals that it held:
// saving a statement and returning it to draft lock its ownership period for update. The closed books stay as they
// are by the team's gate.
func shareLocks(ctx context.Context, tx *db.Tx, periods []id.ID) error {
	if len(periods) == 0 {
		return nil
	}

	_, err := tx.Exec(ctx, `select from listing_ownership_period where team_id = @team and id = any(@periods::uuid[]) order by id for share`,
		db.Args{"team": tx.Team, "periods": periods})

	return err
}

// ownerPeriods returns the ownership periods of owners' lines, each once.
func ownerPeriods(postings []Posting) []id.ID {
	periods := []id.ID{}
	seen := map[id.ID]bool{}

	for i := range postings {
		for k := range postings[i].Lines {
			l := &postings[i].Lines[k]
			if l.Party == Owners && !l.OwnershipPeriodID.IsZero() && !seen[l.OwnershipPeriodID] {
				seen[l.OwnershipPeriodID] = true
				periods = append(periods, l.OwnershipPeriodID)
			}
		}
	}

	return periods
}

// LoadPostings loads the postings of sources. The lateral join makes PostgreSQL look each source up: for a long list,
// or for an order, it can prefer to read all of the team's entries.
func LoadPostings(ctx context.Context, tx *db.Tx, sources []id.ID) ([]Posting, error) {
	if len(sources) == 0 {
		return nil, nil
	}

	postings := []Posting{}

	at := map[string]int{}

	err := db.Each(ctx, tx, db.Stmt{
		SQL: `
		select e.* from unnest(@sources::uuid[]) as s (id) cross join lateral (
			select ` + entryTable.ColumnsSQL("x", "created_at") + ` from ledger_entry x
			where x.team_id = @team and x.source_id = s.id` + db.Fence + `) e`,
		Args: db.Args{"team": tx.Team, "sources": sources},
	}, func(e entryRow) error {
		// The entries of a posting may arrive in any order.
		n, known := at[e.TxnCode]
		if !known {
			n = len(postings)
			at[e.TxnCode] = n
			postings = append(postings, e.Posting)
		}

		// The entry is a line of the posting that its code names.
		postings[n].Lines = append(postings[n].Lines, e.Line)

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read stored postings: %w", err)
	}

	return postings, nil
}

// holder is an owner statement of an ownership period, a bank record of a transaction, or how far the books are
// closed.
type holder struct {
	// Status of a statement; empty for a bank record; for the books closed, softClosed or softClosedForOthers, before
	// EndAt.
	Status   string
	ID       id.ID
	Of       id.ID // ownership period, or transaction
	Currency string
	EndAt    *day.Day
}

// facts are the facts by which locks on some postings are decided.
type facts struct {
	closing Closing
	over    map[id.ID][]holder // by ownership period, or transaction
	// saved has the last day of each still existing statement to which postings were attached when they were read.
	saved map[id.ID]day.Day
	banks map[id.ID]bool
	moved map[id.ID]bool // the sources that move other money at a bank than before
}

// loadFacts loads the facts for postings to be added or removed, after it has shared the locks of all the sources'
// periods. So it sees statements that attached entries since the postings were read, but no statement that freed them.
func loadFacts(ctx context.Context, tx *db.Tx, periods []id.ID, touched []Posting) (*facts, error) {
	f := &facts{over: map[id.ID][]holder{}, saved: map[id.ID]day.Day{}, banks: map[id.ID]bool{}}
	if len(touched) == 0 {
		return f, shareLocks(ctx, tx, periods)
	}

	var held []holder

	share := func(ctx context.Context, tx *db.Tx) error { return shareLocks(ctx, tx, periods) }
	if err := tx.Together(ctx, share, db.LoadBy(&held, loadHolders, touched)); err != nil {
		return nil, err
	}

	// Sort the holders by what they hold.
	reconciled := false

	for i := range held {
		switch h := &held[i]; h.Status {
		case "closed":
			f.closing.BooksClosedAt = h.EndAt
		case "softClosed", "softClosedForOthers":
			f.closing.SoftClosedAt, f.closing.MayPost = h.EndAt, h.Status == "softClosedForOthers"
		case "attached":
			f.saved[h.ID] = *h.EndAt
		default:
			f.over[h.Of] = append(f.over[h.Of], *h)
			reconciled = reconciled || h.Status == ""
		}
	}

	if !reconciled {
		return f, nil
	}

	// Only reconciled money makes it matter which accounts are at a bank.
	accounts := column(touched, func(_ *Posting, l *Line) id.ID { return l.AccountID })

	banks, err := db.Select[id.ID](ctx, tx, `select id from account where team_id = @team and type = 'bank' and id = any(@accounts)`,
		db.Args{"team": tx.Team, "accounts": id.Distinct(accounts)})
	for _, bank := range banks {
		f.banks[bank] = true
	}

	return f, err
}

// loadHolders loads the closed books, statements and bank records that may hold postings.
func loadHolders(ctx context.Context, tx *db.Tx, touched []Posting) ([]holder, error) {
	var sources []id.ID
	for i := range touched {
		sources = append(sources, touched[i].SourceID)
	}

	attached := column(touched, func(_ *Posting, l *Line) id.ID { return l.StatementID })

	// One query for all kinds, so that they are read at one time.
	held, err := db.Select[holder](ctx, tx, `
		select status, id, currency, ownership_period_id as of, end_at from statement x where `+holding+` and ownership_period_id = any(@periods)
		union all
		select 'attached', id, currency, ownership_period_id, end_at from statement where team_id = @team and id = any(@attached)
		union all
		select '', bank_record_id, '', transaction_id, null from bank_reconciliation where team_id = @team and transaction_id = any(@sources)
		union all
		select 'closed', null, '', null, books_closed_at from team where team_id = @team
		union all
		select case when @user = any(soft_close_posters) then 'softClosedForOthers' else 'softClosed' end, null, '', null, soft_closed_at
			from team where team_id = @team`,
		db.Args{
			"team":     tx.Team,
			"user":     tx.Actor.User,
			"periods":  ownerPeriods(touched),
			"attached": id.Distinct(attached),
			"sources":  id.Distinct(sources),
		})
	if err != nil {
		return nil, fmt.Errorf("read what holds postings: %w", err)
	}

	return held, nil
}

// LoadClosing loads how far the team's books are closed for the actor.
func LoadClosing(ctx context.Context, tx *db.Tx) (Closing, error) {
	c, err := db.Get[Closing](ctx, tx, `
		select books_closed_at, soft_closed_at, @user = any(soft_close_posters) as may_post from team where team_id = @team`,
		db.Args{"team": tx.Team, "user": tx.Actor.User})
	if err != nil {
		return Closing{}, fmt.Errorf("read how far the books are closed: %w", err)
	}

	return c, nil
}

const deleteSQL = `
	delete from ledger_entry e using unnest(@sources::uuid[], @codes::text[]) as gone (source_id, txn_code)
	where e.team_id = @team and e.source_id = gone.source_id and e.txn_code = gone.txn_code`

// entryRows returns the rows of new entries, which are attached to no statement.
func entryRows(tx *db.Tx, postings []Posting) (rows []*entryRow) {
	for i := range postings {
		for _, l := range postings[i].Lines {
			l.StatementID = id.Zero
			rows = append(rows, &entryRow{ID: tx.NewID(), Posting: postings[i], Line: l})
		}
	}

	return rows
}

// savePostings deletes and inserts whole postings with the next round trip.
func savePostings(tx *db.Tx, gone, added []Posting) {
	var stmts []db.Stmt

	// A posting is named by its source and code.
	if len(gone) > 0 {
		sources, codes := make([]id.ID, len(gone)), make([]string, len(gone))
		for i := range gone {
			sources[i], codes[i] = gone[i].SourceID, gone[i].TxnCode
		}

		stmts = append(
			stmts, db.Stmt{SQL: deleteSQL, Args: db.Args{"team": tx.Team, "sources": sources, "codes": codes}},
		)
	}

	// The old rows go first: a changed posting keeps its code.
	if rows := entryRows(tx, added); len(rows) > 0 {
		stmts = append(stmts, entryTable.Insert(tx, rows...))
	}

	tx.SendSoon(triggerError, stmts...)
}

// errReach refuses a posting that takes the sum of all debits in a currency beyond the safe range. This sum bounds
// every figure in reports, so as long as it is exact, every figure is.
var errReach = apierr.BadRequest.At(apierr.IssueRange.In(""))

// triggerError translates the errors of the ledger's triggers.
func triggerError(err error) error {
	switch db.SQLState(err) {
	case "":
		return err
	case "SL001":
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	case "SL004":
		return errReach.Because(err)
	case "SL002":
		return fmt.Errorf("%w: %w", ErrUnknownAccount, err)
	default:
		return fmt.Errorf("write journal: %w", err)
	}
}
