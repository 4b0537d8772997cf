package statement

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/parts"
)

// stages are the statuses of statements that are not published: the step that is open, the code, a sentence, and the
// steps that wait for it.
var stages = map[Status]struct {
	step          parts.Step
	code, message string
	blocks        []parts.Step
}{
	Draft: {
		parts.StatementsReviewed, "statementsDraft", "Owner statements are drafts",
		[]parts.Step{parts.StatementsPublished, parts.OwnersPaid},
	},
	InReview: {parts.StatementsPublished, "statementsInReview", "Owner statements are in review", []parts.Step{parts.OwnersPaid}},
}

// findUnpublished returns the statements that are not published of the months of the days: drafts with entries in
// them, and those in review. Amounts are what their entries bring the owners.
func findUnpublished(ctx context.Context, tx *db.Tx, from *day.Day, before day.Day) ([]parts.Open, error) {
	type open struct {
		Status   Status
		Currency string
		Count    int64
		Cents    money.Cents
		Listings []id.ID
		Periods  []id.ID
		First    day.Day
	}

	// Entries of a saved statement are attached to it, save those that an imported one has shown.
	rows, err := db.Select[open](ctx, tx, `
		with booked as (
			select e.ownership_period_id, e.listing_id, e.currency, date_trunc('month', e.txn_at::timestamp) as month, -e.cent_total as cents, s.status
			from ledger_entry e left join statement s on s.team_id = @team and s.id = e.statement_id
			where `+ledger.OwnersEntry+` and e.txn_at < @before and e.txn_at >= coalesce(@from::date, '-infinity') and e.ownership_period_id is not null
				and e.txn_at >= (select statement_start_at from team where team_id = @team)
				and (s.id is not null or not exists (select from statement i where i.team_id = @team and i.ownership_period_id = e.ownership_period_id
					and i.currency = e.currency and e.txn_at between i.start_at and i.end_at))
		)
		select coalesce(status, 'draft') as status, currency, count(distinct (ownership_period_id, month)) as count, sum(cents)::bigint as cents,
			coalesce((array_agg(distinct listing_id) filter (where listing_id is not null))[1:100], '{}') as listings,
			array_agg(distinct ownership_period_id) as periods, min(month)::date as first
		from booked where status is distinct from 'published' group by 1, 2 order by 1, 2`,
		db.Args{"team": tx.Team, "from": from, "before": before})
	if err != nil {
		return nil, fmt.Errorf("find statements that are not published: %w", err)
	}

	out := make([]parts.Open, len(rows))

	for i := range rows {
		r := &rows[i]
		stage := stages[r.Status]
		out[i] = parts.Open{
			Step: stage.step, Code: stage.code, Severity: finding.Warning, Message: stage.message,
			Count: r.Count, Currency: r.Currency, Cents: r.Cents,
			List: parts.ListBy("/statements", "periodIds", r.Periods) + "&status=" + string(r.Status) + "&currency=" + r.Currency +
				"&dateRange=" + day.Span{First: r.First, Last: before.AddDays(-1)}.String(),
			Blocks:  stage.blocks,
			Context: map[string]any{"listingIds": r.Listings},
		}
	}

	return out, nil
}
