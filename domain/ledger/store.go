package ledger

import (
	"context"
	"errors"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// ErrUnknownAccount is a posting to an account that the team does not have: it was deleted after the caller had looked it up.
var ErrUnknownAccount = errors.New("ledger: a posting names an unknown account")

// entryColumns are what makes an entry the one that was wanted; its id, its statement and its age are not.
const entryColumns = `source_id, txn_code, ref, ledger, status, txn_at, account_id, cent_total, currency, party, listing_id,
	ownership_period_id, contact_id, reservation_id, transaction_id, recurring_fee_id, trigger_type, description`

// wantedRows are the entries of the columns that columnsOf makes.
const wantedRows = `select source_id, txn_code, ref, ledger, status, txn_at, account_id, cent_total, currency, nullif(party, '') as party, listing_id,
		ownership_period_id, contact_id, reservation_id, transaction_id, recurring_fee_id, trigger_type, description, n
	from unnest(@source_id::uuid[], @txn_code::text[], @ref::text[], @ledger::text[], @status::text[], @txn_at::date[], @account_id::uuid[],
		@cent_total::bigint[], @currency::text[], @party::text[], @listing_id::uuid[], @ownership_period_id::uuid[], @contact_id::uuid[],
		@reservation_id::uuid[], @transaction_id::uuid[], @recurring_fee_id::uuid[], @trigger_type::text[], @description::text[])
		with ordinality as w (source_id, txn_code, ref, ledger, status, txn_at, account_id, cent_total, currency, party, listing_id,
		ownership_period_id, contact_id, reservation_id, transaction_id, recurring_fee_id, trigger_type, description, n)`

// column gathers one field of every line of the postings.
func column[T any](postings []Posting, of func(*Posting, *Line) T) []T {
	out := make([]T, 0, 4*len(postings))
	for i := range postings {
		for k := range postings[i].Lines {
			out = append(out, of(&postings[i], &postings[i].Lines[k]))
		}
	}
	return out
}

// columnsOf turns postings into one array per column, which costs the same few parameters for one line and for ten thousand.
func columnsOf(postings []Posting, args db.Args) db.Args {
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

// shareLocks keeps the books open and the statements of the touched ownership periods as they are until the transaction ends. Closing the
// books updates the team; saving a statement locks its ownership period for update.
func shareLocks(ctx context.Context, tx *db.Tx, sources []id.ID, wanted []Posting) error {
	return tx.Pipeline(ctx,
		db.Stmt{SQL: `select 1 from team where id = @team for share`, Args: db.Args{"team": tx.Team}},
		db.Stmt{
			SQL: `
			select 1 from listing_ownership_period
			where team_id = @team and (id = any(@periods::uuid[]) or id in (
				select ownership_period_id from ledger_entry where team_id = @team and source_id = any(@sources) and party = 'owners'))
			order by id for share`,
			Args: db.Args{"team": tx.Team, "sources": sources, "periods": ownerPeriods(wanted)},
		})
}

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

// difference is a posting that is stored and not wanted as it stands (Removed), or wanted and not stored so.
type difference struct {
	Removed       bool
	SourceID      id.ID
	TxnCode       string
	Ledger        Ledger
	Status        Status
	TxnAt         day.Day
	AttachedTo    []id.ID
	Published     []id.ID
	InReview      []id.ID
	BooksClosedAt *day.Day
}

// Touched is the difference as the lock decision sees it.
func (d *difference) Touched() Touched {
	return Touched{
		SourceID: d.SourceID, TxnCode: d.TxnCode, Ledger: d.Ledger, Status: d.Status, TxnAt: d.TxnAt,
		AttachedTo: d.AttachedTo, Published: d.Published, InReview: d.InReview,
	}
}

const compareSQL = `
	with wanted as materialized (` + wantedRows + `),
	stored as materialized (
		select ` + entryColumns + `, statement_id from ledger_entry where team_id = @team and source_id = any(@sources)
	), changed as materialized (
		select source_id, txn_code from (
			(select ` + entryColumns + ` from wanted except select ` + entryColumns + ` from stored)
			union all
			(select ` + entryColumns + ` from stored except select ` + entryColumns + ` from wanted)
		) d group by source_id, txn_code
	), touched as (
		select true as removed, source_id, txn_code, ledger, status, txn_at, currency, party, ownership_period_id, statement_id
		from stored join changed using (source_id, txn_code)
		union all
		select false, source_id, txn_code, ledger, status, txn_at, currency, party, ownership_period_id, null
		from wanted join changed using (source_id, txn_code)
	)
	select t.removed, t.source_id, t.txn_code, min(t.ledger) as ledger, min(t.status) as status, min(t.txn_at) as txn_at,
		coalesce(array_agg(distinct t.statement_id) filter (where t.statement_id is not null), '{}') as attached_to,
		coalesce(array_agg(distinct s.id) filter (where s.status = 'published'), '{}') as published,
		coalesce(array_agg(distinct s.id) filter (where s.status = 'inReview'), '{}') as in_review,
		(select books_closed_at from team where id = @team) as books_closed_at
	from touched t left join statement s on s.team_id = @team and t.party = 'owners' and s.ownership_period_id = t.ownership_period_id
		and s.currency = t.currency and t.txn_at between s.start_at and s.end_at
	group by t.removed, t.source_id, t.txn_code
	order by t.source_id, t.txn_code, t.removed desc`

// compare finds the postings that differ, as a whole: one entry that differs makes its posting differ.
func compare(ctx context.Context, tx *db.Tx, sources []id.ID, wanted []Posting) ([]difference, error) {
	args := columnsOf(wanted, db.Args{"team": tx.Team, "sources": sources})
	found, err := db.Select[difference](ctx, tx, compareSQL, args)
	if err != nil {
		return nil, fmt.Errorf("compare journals: %w", err)
	}
	return found, nil
}

const deleteSQL = `
	delete from ledger_entry e using unnest(@sources::uuid[], @codes::text[]) as gone (source_id, txn_code)
	where e.team_id = @team and e.source_id = gone.source_id and e.txn_code = gone.txn_code`

const insertSQL = `
	insert into ledger_entry (team_id, id, created_at, ` + entryColumns + `)
	select @team, (@ids::uuid[])[n], @now, ` + entryColumns + ` from (` + wantedRows + `) w`

// write removes and adds whole postings in one round trip.
func write(ctx context.Context, tx *db.Tx, gone, added []Posting) error {
	var stmts []db.Stmt
	if len(gone) > 0 {
		sources, codes := make([]id.ID, len(gone)), make([]string, len(gone))
		for i := range gone {
			sources[i], codes[i] = gone[i].SourceID, gone[i].TxnCode
		}
		stmts = append(stmts, db.Stmt{SQL: deleteSQL, Args: db.Args{"team": tx.Team, "sources": sources, "codes": codes}})
	}
	if len(added) > 0 {
		ids := column(added, func(*Posting, *Line) id.ID { return tx.NewID() })
		stmts = append(stmts, db.Stmt{SQL: insertSQL, Args: columnsOf(added, db.Args{"team": tx.Team, "now": tx.Now, "ids": ids})})
	}
	if len(stmts) == 0 {
		return nil
	}
	return refused(tx.Pipeline(ctx, stmts...))
}

// refused names what the triggers of the ledger refuse.
func refused(err error) error {
	switch db.SQLState(err) {
	case "":
		return err
	case "SL001":
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	case "SL002":
		return fmt.Errorf("%w: %w", ErrUnknownAccount, err)
	default:
		return fmt.Errorf("write journal: %w", err)
	}
}
