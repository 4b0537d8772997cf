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

// unpublishedSQL selects statements that are not published of the months of some days: drafts with entries, and those in
// review. Their amount is what the month brings the owners: revenue less costs, whatever was paid out in it.
const unpublishedSQL = `
	select 'draft' as status, e.ownership_period_id, e.listing_id, e.currency, date_trunc('month', e.txn_at::timestamp)::date as month,
		coalesce(-sum(e.cent_total) filter (where e.account_id is distinct from s.payout and e.account_id is distinct from s.opening), 0) as cents
	from ledger_entry e, ` + specialAccounts + `
	where ` + ledger.OwnersEntry + ` and e.statement_id is null and e.ownership_period_id is not null
		and e.txn_at < @before and e.txn_at >= coalesce(@from::date, '-infinity')
		and e.txn_at >= coalesce((select statement_start_at from team where team_id = @team), '-infinity')
		and not exists (select from statement i where i.team_id = @team and i.ownership_period_id = e.ownership_period_id
			and i.currency = e.currency and e.txn_at between i.start_at and i.end_at)
	group by 2, 3, 4, 5
	union all
	select s.status, s.ownership_period_id, s.listing_id, s.currency, s.start_at, s.net_revenue + s.expenses from statement s
	where s.team_id = @team and s.status = 'inReview' and s.start_at < @before and s.start_at >= coalesce(@from::date, '-infinity')`

// findUnpublished returns the statements that are not published of the months of the days, and those of earlier months,
// which are published before them.
func findUnpublished(ctx context.Context, tx *db.Tx, from *day.Day, before day.Day) ([]parts.Open, error) {
	out, err := listUnpublished(ctx, tx, from, before)
	if err != nil || from == nil {
		return out, err
	}

	earlier, err := listUnpublished(ctx, tx, nil, *from)
	for i := range earlier {
		earlier[i].Step, earlier[i].Code = parts.StatementsPublished, "earlierStatementsOpen"
		earlier[i].Message = "Owner statements of earlier months are published first"
	}

	return append(out, earlier...), err
}

// listUnpublished returns the statements that are not published by status and currency.
func listUnpublished(ctx context.Context, tx *db.Tx, from *day.Day, before day.Day) ([]parts.Open, error) {
	type open struct {
		Status   Status
		Currency string
		Count    int64
		Cents    money.Cents
		Listings []id.ID
		Periods  []id.ID
		First    day.Day
	}

	rows, err := db.Select[open](ctx, tx, `
		select status, currency, count(distinct (ownership_period_id, month)) as count, sum(cents)::bigint as cents,
			coalesce((array_agg(distinct listing_id) filter (where listing_id is not null))[1:100], '{}') as listings,
			array_agg(distinct ownership_period_id) as periods, min(month) as first
		from (`+unpublishedSQL+`) o group by 1, 2 order by 1, 2`, db.Args{"team": tx.Team, "from": from, "before": before})
	if err != nil {
		return nil, fmt.Errorf("find statements that are not published: %w", err)
	}

	return parts.EachOpen(rows, func(r *open) parts.Open {
		stage := stages[r.Status]

		return parts.Open{
			Step: stage.step, Code: stage.code, Severity: finding.Warning, Message: stage.message,
			Count: r.Count, Currency: r.Currency, Cents: r.Cents,
			List: parts.ListBy("/statements", "periodIds", r.Periods) + "&status=" + string(r.Status) + "&currency=" + r.Currency +
				"&dateRange=" + day.Span{First: r.First, Last: before.AddDays(-1)}.String(),
			Blocks:  stage.blocks,
			Context: map[string]any{"listingIds": r.Listings},
		}
	}), nil
}
