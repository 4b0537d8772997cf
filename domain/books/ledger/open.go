package ledger

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/parts"
)

// OutdatedSQL returns the SQL of the rows s of outdated journals with entries before the day @before, in their present
// or their new version, to be used like a table. Journals that only locks keep from changing are final and not among
// them.
func OutdatedSQL() string {
	return `(select s.* from ` + OutstandingSQL() + ` s
		where s.team_id = @team and s.status in ('stale', 'failed') and (
			exists (select from ledger_entry e where e.team_id = @team and e.source_id = s.source_id and e.txn_at < @before)
			or exists (select from reservation r where r.team_id = @team and r.id = s.source_id
				and least(r.check_in, r.booked_at, r.general_ledger_posting_at) < @before)
			or exists (select from transaction t where t.team_id = @team and t.id = s.source_id and least(t.date, t.payment_date) < @before)))`
}

// sourceLists are the paths that list the records with journals.
var sourceLists = map[Noun]string{
	Reservations: "/reservations", Transactions: "/transactions", ManualJournals: "/general-ledger/journals",
}

// findOpen returns what is open of the books: outdated journals before the last of the days, and changes in the days
// that locks hold back.
func findOpen(ctx context.Context, tx *db.Tx, from *day.Day, before day.Day) ([]parts.Open, error) {
	out, err := findOutdated(ctx, tx, before)
	if err != nil {
		return nil, err
	}

	held, err := findHeldBack(ctx, tx, from, before)

	return append(out, held...), err
}

// findOutdated returns the outdated journals. They block whatever reads the entries.
func findOutdated(ctx context.Context, tx *db.Tx, before day.Day) ([]parts.Open, error) {
	type outdated struct {
		Source  Noun
		Failed  bool
		Sources []id.ID
	}

	rows, err := db.Select[outdated](ctx, tx, `
		select s.source, s.failed, array_agg(s.source_id order by s.source_id) as sources from (
			select s.source, s.source_id, bool_or(s.status = 'failed') as failed from `+OutdatedSQL()+` s group by 1, 2) s
		group by 1, 2 order by 2 desc, 1`, db.Args{"team": tx.Team, "before": before})
	if err != nil {
		return nil, fmt.Errorf("find journals that are outdated: %w", err)
	}

	return parts.EachOpen(rows, func(r *outdated) parts.Open {
		o := parts.Open{
			Step: parts.JournalsCurrent, Code: "journalsOutdated", Severity: finding.Warning, Message: "Journals are being recalculated",
			Count: int64(len(r.Sources)), List: parts.ListByID(sourceLists[r.Source], r.Sources),
			Blocks:  []parts.Step{parts.StatementsReviewed, parts.StatementsPublished, parts.OwnersPaid, parts.BooksClosed},
			Context: map[string]any{"sourceType": r.Source, "sourceIds": parts.First(r.Sources)},
		}

		if r.Failed {
			o.Code, o.Severity, o.Message = "journalsFailed", finding.Error, "Journals could not be derived"
		}

		return o
	}), nil
}

// findHeldBack returns the changes that locks hold back, by currency, with what owners get more.
func findHeldBack(ctx context.Context, tx *db.Tx, from *day.Day, before day.Day) ([]parts.Open, error) {
	type held struct {
		Currency string
		Count    int64
		Cents    money.Cents
		First    day.Day
	}

	rows, err := db.Select[held](ctx, tx, `
		select l.currency, count(distinct l.held_id) as count, coalesce(-sum(l.cent_total) filter (where l.party = 'owners'), 0)::bigint as cents,
			min(l.txn_at) as first
		from ledger_held_line l where l.team_id = @team and l.txn_at >= coalesce(@from::date, '-infinity') and l.txn_at < @before
		group by 1 order by 1`, db.Args{"team": tx.Team, "from": from, "before": before})
	if err != nil {
		return nil, fmt.Errorf("find changes that are held back: %w", err)
	}

	return parts.EachOpen(rows, func(r *held) parts.Open {
		return parts.Open{
			Step: parts.HeldBackSettled, Code: "changesHeldBack", Severity: finding.Warning, Message: "Locks hold back changes",
			Count: r.Count, Currency: r.Currency, Cents: r.Cents,
			List: "/journals/held-back?dateRange=" + day.Span{First: r.First, Last: before.AddDays(-1)}.String(),
		}
	}), nil
}
