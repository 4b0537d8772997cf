package reservation

import (
	"context"
	"fmt"
	"strings"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/mapping"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/parts"
)

// noAccountSQL selects, like a table with a condition, the lines l of stays r of a team, given as SQL, that no account
// takes: they are in no books. Each type without a mapping has an unmapped row, so a team without such rows has no such
// lines.
func noAccountSQL(team string) string {
	return strings.ReplaceAll(`(select distinct u.line_type from reservation_line_mapping u where u.team_id = @team and u.status = 'unmapped') u
		join reservation_line l on l.team_id = @team and l.type = u.line_type and l.account_id is null and l.type <> '`+Retained+`'
		join reservation r on r.team_id = @team and r.id = l.reservation_id
		where `+mapping.CountsSQL("r.status", "l.type")+` and r.general_ledger_status = 'active' and not exists (
			select from reservation_line_mapping m where m.team_id = @team and m.line_type = l.type and m.status <> 'unmapped'
				and (m.app_id is null or m.app_id = r.app_id) and (m.channel is null or lower(m.channel) = lower(r.booking_platform)))`, "@team", team)
}

// waits are the stays with lines that no account takes: an unexplained difference to a stated total is a separate
// issue.
func waits() []parts.Wait {
	return []parts.Wait{{
		ID: "v.id",
		Columns: `v.since, case when v.differs then '` + totalDeviation + `' else '` + string(UnassignedAccount) + `' end as code, 'error' as severity,
			'reservation' as entity_type, v.id as entity_id,
			jsonb_build_object('lineTypes', v.types, 'centTotal', v.cents, 'currency', v.currency, 'confirmationCode', v.confirmation_code) as context`,
		From: `(select r.id, r.updated_at as since, r.currency, r.confirmation_code, array_agg(distinct l.type) as types, sum(l.amount)::bigint as cents,
				l.type = '` + mapping.Difference + `' as differs
			from ` + noAccountSQL("g.team_id") + ` group by r.team_id, r.id, l.type = '` + mapping.Difference + `') v where true`,
	}}
}

// OwnersMonth is a range of days of an ownership period in a currency.
type OwnersMonth struct {
	PeriodID       id.ID
	Currency       string
	StartAt, EndAt day.Day
}

// Unaccounted are the lines of some days that no account takes.
type Unaccounted struct {
	Place   int64 // of the days, from 1
	Types   []string
	Cents   money.Cents
	StayIDs []id.ID
}

// LoadUnaccounted loads the lines without an account of stays that are recognised in each month, or have nights in it
// if they are recognised by night (pro rata and long stays). Months without such lines are absent.
func LoadUnaccounted(ctx context.Context, tx *db.Tx, months []OwnersMonth) ([]Unaccounted, error) {
	periods, currencies := make([]id.ID, len(months)), make([]string, len(months))
	starts, ends := make([]day.Day, len(months)), make([]day.Day, len(months))

	for i, m := range months {
		periods[i], currencies[i], starts[i], ends[i] = m.PeriodID, m.Currency, m.StartAt, m.EndAt
	}

	found, err := db.Select[Unaccounted](ctx, tx, `
		with open as materialized (`+unaccountedSQL+`)
		select k.place, array_agg(distinct o.type order by o.type) as types, sum(o.amount)::bigint as cents, (array_agg(distinct o.id order by o.id))[1:100] as stay_ids
		from unnest(@periods::uuid[], @currencies::text[], @starts::date[], @ends::date[]) with ordinality k (period, currency, start_at, end_at, place)
		join listing_ownership_period p on p.team_id = @team and p.id = k.period
		join listing v on v.team_id = @team and (v.id = p.listing_id or v.parent_id = p.listing_id)
		join open o on o.listing_id = v.id and o.currency = k.currency and o.check_in >= coalesce(p.start_at, '-infinity') and o.check_in < coalesce(p.end_at, 'infinity')
			and case when o.is_nightly then o.check_in <= k.end_at and o.check_out > k.start_at else o.at between k.start_at and k.end_at end
		group by k.place order by k.place`,
		db.Args{"team": tx.Team, "periods": periods, "currencies": currencies, "starts": starts, "ends": ends})
	if err != nil {
		return nil, fmt.Errorf("find lines of months without an account: %w", err)
	}

	return found, nil
}

// unaccountedSQL selects the stays with lines that no account takes, and when they are recognised: at a day, or by night
// (pro rata and long stays).
var unaccountedSQL = `
	select r.id, r.listing_id, r.currency, l.type, l.amount, ` + accountingDateSQL + ` as at, r.check_in, r.check_out,
		r.general_ledger_posting_at is null and (t.default_revenue_recognition = '` + string(fee.ProRata) + `' or r.check_out - r.check_in > t.long_term_stay_nights)
			is true as is_nightly
	from team t, ` + noAccountSQL("@team") + ` and t.id = @team`

// findUnassigned returns the lines without an account of stays that are recognised in the days, or have nights in them if
// they are recognised by night.
func findUnassigned(ctx context.Context, tx *db.Tx, from *day.Day, before day.Day) ([]parts.Open, error) {
	type open struct {
		Currency string
		Cents    money.Cents
		Types    []string
		Stays    []id.ID
	}

	rows, err := db.Select[open](ctx, tx, `
		select o.currency, sum(o.amount)::bigint as cents, array_agg(distinct o.type) as types, array_agg(distinct o.id) as stays
		from (`+unaccountedSQL+`) o
		where case when o.is_nightly then o.check_in < @before and o.check_out > coalesce(@from::date, '-infinity')
			else o.at < @before and o.at >= coalesce(@from::date, '-infinity') end
		group by 1 order by 1`,
		db.Args{"team": tx.Team, "before": before, "from": from})
	if err != nil {
		return nil, fmt.Errorf("find lines without an account: %w", err)
	}

	return parts.EachOpen(rows, func(r *open) parts.Open {
		return parts.Open{
			Step: parts.LinesAssigned, Code: string(UnassignedAccount), Severity: finding.Error, Message: "No account takes lines of stays",
			Count: int64(len(r.Stays)), Currency: r.Currency, Cents: r.Cents, List: parts.ListByID("/reservations", r.Stays),
			Blocks:  []parts.Step{parts.StatementsPublished},
			Context: map[string]any{"lineTypes": r.Types, "reservationIds": parts.First(r.Stays)},
		}
	}), nil
}
