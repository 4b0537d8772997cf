package ledger

import (
	"context"
	"errors"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// ErrUnknownAccount is a posting to an account that the team does not have: it was deleted after the caller had
// looked it up.
var ErrUnknownAccount = errors.New("ledger: a posting names an unknown account")

// entryColumns are the columns that decide whether an entry is the wanted one; its id, its statement and its age do
// not.
const entryColumns = `source_id, txn_code, ref, ledger, status, txn_at, account_id, cent_total, currency, party, listing_id,
	ownership_period_id, contact_id, reservation_id, transaction_id, recurring_fee_id, trigger_type, description`

// wantedRows selects the entries of the columns that postingArgs makes.
const wantedRows = `select source_id, txn_code, ref, ledger, status, txn_at, account_id, cent_total, currency, nullif(party, '') as party, listing_id,
		ownership_period_id, contact_id, reservation_id, transaction_id, recurring_fee_id, trigger_type, description, n
	from unnest(@source_id::uuid[], @txn_code::text[], @ref::text[], @ledger::text[], @status::text[], @txn_at::date[], @account_id::uuid[],
		@cent_total::bigint[], @currency::text[], @party::text[], @listing_id::uuid[], @ownership_period_id::uuid[], @contact_id::uuid[],
		@reservation_id::uuid[], @transaction_id::uuid[], @recurring_fee_id::uuid[], @trigger_type::text[], @description::text[])
		with ordinality as w (source_id, txn_code, ref, ledger, status, txn_at, account_id, cent_total, currency, party, listing_id,
		ownership_period_id, contact_id, reservation_id, transaction_id, recurring_fee_id, trigger_type, description, n)`

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

// postingArgs adds postings to the arguments as one array for each column. This takes the same few parameters for one
// line and for ten thousand.
func postingArgs(postings []Posting, args db.Args) db.Args {
	// One function for each type of column keeps the list below readable.
	ids := func(name string, of func(*Line) id.ID) {
		args[name] = column(postings, func(_ *Posting, l *Line) id.ID { return of(l) })
	}
	texts := func(name string, of func(*Posting, *Line) string) { args[name] = column(postings, of) }
	texts("txn_code", func(p *Posting, _ *Line) string { return p.TxnCode })
	texts("ref", func(_ *Posting, l *Line) string { return l.Ref })
	texts("ledger", func(p *Posting, _ *Line) string { return string(p.Ledger) })
	texts("status", func(p *Posting, _ *Line) string { return string(p.Status) })
	texts("currency", func(p *Posting, _ *Line) string { return p.Currency })
	texts("party", func(_ *Posting, l *Line) string { return string(l.Party) })
	texts("trigger_type", func(_ *Posting, l *Line) string { return l.Trigger })
	texts("description", func(_ *Posting, l *Line) string { return l.Description })
	ids("account_id", func(l *Line) id.ID { return l.AccountID })
	ids("listing_id", func(l *Line) id.ID { return l.ListingID })
	ids("ownership_period_id", func(l *Line) id.ID { return l.OwnershipPeriodID })
	ids("contact_id", func(l *Line) id.ID { return l.ContactID })
	ids("reservation_id", func(l *Line) id.ID { return l.ReservationID })
	ids("transaction_id", func(l *Line) id.ID { return l.TransactionID })
	ids("recurring_fee_id", func(l *Line) id.ID { return l.RecurringFeeID })

	args["source_id"] = column(postings, func(p *Posting, _ *Line) id.ID { return p.SourceID })
	args["txn_at"] = column(postings, func(p *Posting, _ *Line) day.Day { return p.TxnAt })
	args["cent_total"] = column(postings, func(_ *Posting, l *Line) int64 { return int64(l.CentTotal) })

	return args
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

// storedEntry is a row of the ledger with the head of its posting.
type storedEntry struct {
	SourceID          id.ID
	TxnCode           string
	Ledger            Ledger
	Status            Status
	TxnAt             day.Day
	Currency          string
	Ref               string
	AccountID         id.ID
	CentTotal         money.Cents
	Party             Party
	ListingID         id.ID
	OwnershipPeriodID id.ID
	ContactID         id.ID
	ReservationID     id.ID
	TransactionID     id.ID
	RecurringFeeID    id.ID
	StatementID       id.ID
	TriggerType       string
	Description       string
}

// loadPostings loads the postings of sources. The lateral join makes PostgreSQL look each source up: for a long list,
// or for an order, it can prefer to read all of the team's entries.
func loadPostings(ctx context.Context, tx *db.Tx, sources []id.ID) ([]Posting, error) {
	var postings []Posting

	at := map[string]int{}

	err := db.Each(ctx, tx, db.Stmt{
		SQL: `
		select e.* from unnest(@sources::uuid[]) as s (id) cross join lateral (
			select source_id, txn_code, ledger, status, txn_at, currency, ref, account_id, cent_total, coalesce(party, '') as party, listing_id,
				ownership_period_id, contact_id, reservation_id, transaction_id, recurring_fee_id, statement_id, trigger_type, description
			from ledger_entry where team_id = @team and source_id = s.id` + db.Fence + `) e`,
		Args: db.Args{"team": tx.Team, "sources": sources},
	}, func(e storedEntry) error {
		// The entries of a posting may arrive in any order.
		n, known := at[e.TxnCode]
		if !known {
			n = len(postings)
			at[e.TxnCode] = n
			postings = append(postings, Posting{
				SourceID: e.SourceID,
				TxnCode:  e.TxnCode,
				Ledger:   e.Ledger,
				Status:   e.Status,
				TxnAt:    e.TxnAt,
				Currency: e.Currency,
			})
		}

		// The entry is a line of the posting that its code names.
		p := &postings[n]
		p.Lines = append(p.Lines, Line{
			Ref:               e.Ref,
			AccountID:         e.AccountID,
			CentTotal:         e.CentTotal,
			Party:             e.Party,
			ListingID:         e.ListingID,
			OwnershipPeriodID: e.OwnershipPeriodID,
			ContactID:         e.ContactID,
			ReservationID:     e.ReservationID,
			TransactionID:     e.TransactionID,
			RecurringFeeID:    e.RecurringFeeID,
			StatementID:       e.StatementID,
			Trigger:           e.TriggerType,
			Description:       e.Description,
		})

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
	// saved has the last day of the statements that postings were attached to when they were read and that still exist.
	saved map[id.ID]day.Day
	banks map[id.ID]bool
	moved map[id.ID]bool // the sources that move other money at a bank than before
}

// loadFacts loads the facts for postings that are going to be added or removed, after it has shared the locks of all
// periods that the sources post to. So it sees a statement that attached entries since the postings were read, and
// does not see one that freed them.
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

const insertSQL = `
	insert into ledger_entry (team_id, id, created_at, ` + entryColumns + `)
	select @team, (@ids::uuid[])[n], @now, ` + entryColumns + ` from (` + wantedRows + `) w`

// savePostings deletes and inserts whole postings in one round trip.
func savePostings(ctx context.Context, tx *db.Tx, gone, added []Posting) error {
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
	if len(added) > 0 {
		ids := column(added, func(*Posting, *Line) id.ID { return tx.NewID() })
		stmts = append(
			stmts, db.Stmt{
				SQL:  insertSQL,
				Args: postingArgs(added, db.Args{"team": tx.Team, "now": tx.Now, "ids": ids}),
			},
		)
	}

	if len(stmts) == 0 {
		return nil
	}

	return triggerError(tx.Pipeline(ctx, stmts...))
}

// errReach refuses a posting that takes the sum of all debits in a currency beyond the safe range. This sum bounds
// every figure that reports add up, so as long as it is exact, each of them is.
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
