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
)

// checkClosing returns the statements that are not published of the months that a closing ends: drafts with entries
// in the closed days, and those in review. Amounts are what their entries bring the owners.
func checkClosing(ctx context.Context, tx *db.Tx, from *day.Day, before day.Day) ([]finding.Finding, error) {
	type open struct {
		Code     string
		Currency string
		Count    int
		Cents    money.Cents
		Listings []id.ID
	}

	// Days that were closed before are left out.
	args, since := db.Args{"team": tx.Team, "before": before}, ""
	if from != nil {
		args["from"], since = *from, " and e.txn_at >= @from"
	}

	// Entries of a saved statement are attached to it, save those that an imported one has shown.
	rows, err := db.Select[open](ctx, tx, `
		with booked as (
			select e.ownership_period_id, e.listing_id, e.currency, date_trunc('month', e.txn_at::timestamp) as month, -e.cent_total as cents, s.status
			from ledger_entry e left join statement s on s.team_id = @team and s.id = e.statement_id
			where `+ledger.OwnersEntry+` and e.txn_at < @before`+since+` and e.ownership_period_id is not null
				and e.txn_at >= (select statement_start_at from team where team_id = @team)
				and (s.id is not null or not exists (select from statement i where i.team_id = @team and i.ownership_period_id = e.ownership_period_id
					and i.currency = e.currency and e.txn_at between i.start_at and i.end_at))
		)
		select case when status is null then 'statementsDraft' else 'statementsInReview' end as code, currency,
			count(distinct (ownership_period_id, month)) as count, sum(cents)::bigint as cents,
			(array_agg(distinct listing_id) filter (where listing_id is not null))[1:100] as listings
		from booked where status is distinct from 'published' group by 1, 2 order by 1, 2`, args)
	if err != nil {
		return nil, fmt.Errorf("find statements that are not published: %w", err)
	}

	out := make([]finding.Finding, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = finding.Finding{Code: r.Code, Severity: finding.Warning, Context: map[string]any{
			"count": r.Count, "centTotal": r.Cents, "currency": r.Currency, "listingIds": r.Listings,
		}}
	}

	return out, nil
}
