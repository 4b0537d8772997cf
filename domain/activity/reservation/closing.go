package reservation

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// checkClosing returns the lines without an account of stays that begin in the days of a closing: they are in no books.
// Each type without a mapping has an unmapped row, so a team without such rows has none of them.
func checkClosing(ctx context.Context, tx *db.Tx, from *day.Day, before day.Day) ([]finding.Finding, error) {
	type open struct {
		Currency string
		Count    int
		Cents    money.Cents
		Types    []string
		Stays    []id.ID
	}

	args, since := db.Args{"team": tx.Team, "before": before, "retained": Retained}, ""
	if from != nil {
		args["from"], since = *from, " and r.check_in >= @from"
	}

	rows, err := db.Select[open](ctx, tx, `
		select r.currency, count(distinct r.id) as count, sum(l.amount)::bigint as cents, array_agg(distinct l.type) as types,
			(array_agg(distinct r.id))[1:100] as stays
		from (select distinct u.line_type from reservation_line_mapping u where u.team_id = @team and u.status = 'unmapped') u
		join reservation_line l on l.team_id = @team and l.type = u.line_type and l.account_id is null and l.type <> @retained
		join reservation r on r.team_id = @team and r.id = l.reservation_id
		where r.status = 'booked' and r.general_ledger_status = 'active' and r.check_in < @before`+since+` and not exists (
			select from reservation_line_mapping m where m.team_id = @team and m.line_type = l.type and m.status <> 'unmapped'
				and (m.app_id is null or m.app_id = r.app_id) and (m.channel is null or lower(m.channel) = lower(r.booking_platform)))
		group by 1 order by 1`, args)
	if err != nil {
		return nil, fmt.Errorf("find lines without an account: %w", err)
	}

	out := make([]finding.Finding, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = finding.Finding{Code: string(UnassignedAccount), Severity: finding.Error, Context: map[string]any{
			"count": r.Count, "centTotal": r.Cents, "currency": r.Currency, "lineTypes": r.Types, "reservationIds": r.Stays,
		}}
	}

	return out, nil
}
