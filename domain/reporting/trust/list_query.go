package trust

import (
	"context"

	"stayledger/domain/books/ledger"
	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// GuestQuery returns the list of all reservations and postings that guest balances show, in their order, as rows of
// g: status, listing_id, listing_name, reservation_id, txn_code, guest_name, confirmation_code, booking_platform,
// check_in, check_out, booked_at, cancelled_at, transaction_ref, transaction_date, description, charges, payments,
// as_of and currency.
func GuestQuery(ctx context.Context, tx *db.Tx, f *GuestFilter) (page.Query, error) {
	currency, err := report.Currency(ctx, tx, f.Currency)
	if err != nil {
		return page.Query{}, err
	}

	chart, err := loadChart(ctx, tx)
	if err != nil {
		return page.Query{}, err
	}

	with, args := f.selection(chart, dateOrToday(tx, f.Date), currency).guestTablesSQL(tx.Team)

	// The columns and the order are those of the report. Only rows that it would list are in it.
	q := page.Query{
		From: "(" + with + `
			select t.status, ` + statusOrder + `t.status) as place, t.listing_id, l.name as listing_name, t.reservation_id, t.source_id, t.txn_code,
				t.guest_name, t.confirmation_code, t.booking_platform, t.check_in, t.check_out, t.booked_at, t.cancelled_at,
				x.short_ref as transaction_ref, e.txn_at as transaction_date, coalesce(x.description, e.description) as description,
				t.charges::bigint as charges, t.payments::bigint as payments, @date::date as as_of, @currency::text as currency
			from cells t left join listing l on l.team_id = @team and l.id = t.listing_id
			left join lateral (select o.txn_at, o.description, o.transaction_id from ledger_entry o
				where o.team_id = @team and o.source_id = t.source_id and o.txn_code = t.txn_code order by o.ref limit 1) e on t.txn_code <> ''
			left join transaction x on x.team_id = @team and x.id = e.transaction_id
			where t.open and t.matches
		) g`,
		Where: []string{"true"}, Args: args,
		Sorts: page.Sorts{{Name: "place", Expr: "g.place, g.listing_name nulls last, g.listing_id, " +
			"g.check_in nulls last, g.reservation_id, g.txn_code"}},
		Default: "place", ID: "g.source_id",
	}

	// A single group narrows the rows.
	if only := f.chooseGroup(); only != "" {
		q.And("g.status = @status", db.Args{"status": string(only)})
	}

	return q, nil
}

// TaxQuery returns the list of all reservations that the sales-tax liability shows, in its order, as rows of b:
// listing_id, listing_name, booking_platform, reservation_id, guest_name, confirmation_code, check_in, check_out,
// booked_at, income, taxes and currency. It fails as loadTaxLiability does.
func TaxQuery(ctx context.Context, tx *db.Tx, f *TaxFilter) (page.Query, error) {
	r, err := newTaxReport(ctx, tx, f)
	if err != nil {
		// Stays without income and taxes are left out, as in the report.
		return page.Query{}, err
	}

	with, args := r.taxTablesSQL(tx.Team, f)

	return page.Query{
		From: "(" + with + `
			select b.listing_id, l.name as listing_name, r.booking_platform, b.reservation_id, r.guest_name, r.confirmation_code, r.check_in, r.check_out,
				r.booked_at, b.income, b.taxes, @currency::text as currency
			from booked b join reservation r on r.team_id = @team and r.id = b.reservation_id
			left join listing l on l.team_id = @team and l.id = b.listing_id
			where b.income <> 0 or b.taxes <> 0
		) b`,
		Where: []string{"true"}, Args: args,
		Sorts: page.Sorts{{Name: "listing", Expr: "b.listing_name nulls last, b.listing_id, " +
			"b.booking_platform nulls last, b.check_in"}},
		Default: "listing", ID: "b.reservation_id",
	}, nil
}

// managerEntryQuery returns the list of entries behind the manager statement of a period: those of the party in the
// trust ledger, bank and guest accounts aside, and for the first month of the statements the adjustments dated
// before it. Their credits less debits are the statement's net income, adjustments and transfers.
func managerEntryQuery(ctx context.Context, tx *db.Tx, f *ManagerPeriod) (page.Query, error) {
	r, err := loadManagerBooks(ctx, tx, f.Currency)
	if err != nil {
		return page.Query{}, err
	}

	behind, _ := r.chart.selection(ClaimManager, report.Selection{EndDate: &f.EndAt, Currency: string(r.currency)})

	// Any other period has only the entries of its own days.
	if f.StartAt.Day != r.first {
		behind.StartDate = &f.StartAt
		return report.EntryQuery(behind), nil
	}

	// The first month includes earlier adjustments, so it is narrowed by day and account instead.
	q := report.EntryQuery(behind)
	q.And("(e.txn_at >= @opening or e.account_id = any(@adjusting::uuid[]))", db.Args{
		"opening":   r.first,
		"adjusting": r.adjustmentAccounts(),
	})

	return q, nil
}

// adjustmentAccounts returns the accounts on which the manager's entries are adjustments.
func (r *managerBooks) adjustmentAccounts() []id.ID {
	ids := []id.ID{}

	for i := range r.chart.accounts {
		a := &r.chart.accounts[i]
		if r.chart.section(a.ID) == SectionAdjustments && r.chart.claim(a.ID, ledger.Manager) == ClaimManager {
			ids = append(ids, a.ID)
		}
	}

	return ids
}
