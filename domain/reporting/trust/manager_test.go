package trust_test

import (
	"fmt"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// The manager's January of the worked table: 194.82 of the stay and 10.00 of the bill.
func TestManagerStatementOfTheWorkedTable(t *testing.T) {
	t.Parallel()
	j := newJanuary(t)
	r := j.Get("/reports/manager-statements/detail?startAt=2026-01&endAt=2026-01").Want(200)
	wantInts(t, r, map[string]int64{
		"total": 20482, "financials.balanceStart": 0, "financials.netRevenue": 12000 + 9000 + 2278 + 1000, "financials.expenses": -3796,
		"financials.netIncome": 20482, "financials.adjustments": 0, "financials.transfers": 0, "financials.balanceEnd": 20482,
		"financials.assetsAndLiabilities": 0, "financials.availableBalance": 20482, "sections.0.centTotal": 24278, "sections.1.centTotal": -3796,
		"summary.8.value": 20482,
	})

	if r.Len("accounts") != 5 || r.Len("sections") != 4 || r.Len("sections.0.accounts") != 4 || r.String("sections.0.id") != "net-revenue" {
		t.Errorf("accounts and sections: %s", r.Body)
	}

	if n := j.proves(t, r); n < 14 {
		t.Errorf("only %d figures have a drill-down", n)
	}

	drawn := j.transacted("payout", "2026-02-03", false)
	j.book(drawn, true, "2026-02-03", dr("2400", 15000).manager(id.Zero), cr("1000", 15000))
	february := j.Get("/reports/manager-statements/detail?startAt=2026-02&endAt=2026-02").Want(200)
	wantInts(t, february, map[string]int64{
		"financials.balanceStart": 20482, "financials.netIncome": 15518, "financials.transfers": -15000, "financials.balanceEnd": 21000,
		"financials.availableBalance": 21000,
	})
	j.proves(t, february)
}

// Opening balances adjust the first month even when they are dated before it.
func TestManagerStatementOfTheFirstMonth(t *testing.T) {
	t.Parallel()
	b := newTrustBooks(t)
	opening := b.transacted("deposit", "2025-12-31", true)
	b.book(opening, true, "2025-12-31", dr("1000", 900), cr("2900", 700).manager(id.Zero), cr("4100", 150).manager(id.Zero), cr("2900", 50))
	later := b.transacted("deposit", "2026-01-03", true)
	b.book(later, true, "2026-01-03", dr("1000", 30), cr("2900", 30).manager(id.Zero))
	first := b.Get("/reports/manager-statements/detail?startAt=2026-01&endAt=2026-01").Want(200)
	wantInts(t, first, map[string]int64{
		"financials.balanceStart": 150, "financials.adjustments": 730, "financials.balanceEnd": 880, "sections.2.centTotal": 730,
		"sections.2.accounts.0.centTotal": 730, "assetsAndLiabilities.0.centTotal": 50, "financials.availableBalance": 930,
	})
	b.proves(t, first)
	second := b.Get("/reports/manager-statements/detail?startAt=2026-02&endAt=2026-02").Want(200)
	wantInts(t, second, map[string]int64{"financials.balanceStart": 880, "financials.adjustments": 0})
	b.proves(t, second)
	list := b.Get("/reports/manager-statements?year=2026&limit=250").Want(200)
	last := list.Len("data") - 1
	wantInts(t, list, map[string]int64{fmt.Sprintf("data.%d.financials.adjustments", last): 730, fmt.Sprintf("data.%d.financials.balanceStart", last): 150})
	b.proves(t, list)
}

// The manager can draw the money that the bank has beyond all that is held for others.
func TestAvailableBalance(t *testing.T) {
	t.Parallel()
	b := newTrustBooks(t)
	anna, alder, birch := b.contact("Anna"), fixture.Listing(b.Team, "Alder"), fixture.Listing(b.Team, "Birch")
	rich, poor := b.owned(alder, "", "", split{anna, 100_000}), b.owned(birch, "", "", split{anna, 100_000})
	owing, ahead := b.stayed(alder, "2026-01-02", "2026-01-05", "booked", ""), b.stayed(birch, "2026-02-02", "2026-02-05", "booked", "")
	book := func(legs ...leg) {
		b.book(b.transacted("deposit", "2026-01-10", false), true, "2026-01-10", legs...)
	}
	book(dr("2000", 1000).of(owing, alder), cr("4000", 600).owners(alder, rich), cr("4100", 400).manager(alder))
	book(dr("1000", 5000), cr("2000", 5000).of(ahead, birch))
	book(dr("5200", 80).owners(birch, poor), cr("1000", 80))
	book(dr("1100", 300), cr("1000", 300))
	book(dr("1000", 70), cr("2500", 70))
	book(dr("1000", 2000), cr("4100", 2000).manager(alder))

	r := b.Get("/reports/manager-statements/detail?startAt=2026-01&endAt=2026-01").Want(200)
	// In the bank 6,690; held for the guest who comes 5,000 and for the owner of Alder 600.
	wantInts(t, r, map[string]int64{
		"financials.balanceEnd": 2400, "financials.assetsAndLiabilities": -1000 - 80 - 300 + 70, "financials.availableBalance": 6690 - 5000 - 600,
	})
	b.proves(t, r)
}

func TestManagerStatementsList(t *testing.T) {
	t.Parallel()
	j := newJanuary(t)
	first := j.Get("/reports/manager-statements?limit=2").Want(200)

	total := first.Int("pagination.total")
	if first.Len("data") != 2 || first.String("data.0.startAt") <= first.String("data.1.startAt") {
		t.Error("newest first")
	}

	last := j.Get(fmt.Sprintf("/reports/manager-statements?limit=1&page=%d", total)).Want(200)
	if last.String("data.0.startAt") != "2026-01-01" || last.String("data.0.endAt") != "2026-01-31" || last.Int("data.0.financials.balanceEnd") != 20482 {
		t.Errorf("the first month: %s", last.Body)
	}

	if j.Get("/reports/manager-statements?year=2025").Want(200).Len("data") != 0 {
		t.Error("no statement before the first month")
	}

	ever := j.Get("/reports/manager-statements/detail?startAt=1990&endAt=2035").Want(200)
	if ever.Value("drilldowns.balanceStart") != nil {
		t.Error("nothing was before the first date that is accepted")
	}

	j.proves(t, ever)
	refused := j.Get("/reports/manager-statements/detail?startAt=0001&endAt=9999").WantError(apierr.CodeBadRequest, "")
	refused.WantIssue("dateOutOfRange", "startAt")
	refused.WantIssue("dateOutOfRange", "endAt")
	j.Get("/reports/manager-statements/detail?startAt=2026-02&endAt=2026-01").WantError(apierr.CodeBadRequest, "").WantIssue("dateOrder", "endAt")
	j.Get("/reports/manager-statements/detail?startAt=2026-02").WantError(apierr.CodeBadRequest, "").WantIssue("required", "endAt")
	j.Get("/reports/manager-statements?currency=zzz").WantError(apierr.CodeBadRequest, "")

	for _, path := range []string{"/reports/manager-statements", "/reports/manager-statements/detail?startAt=2026-01&endAt=2026-01"} {
		j.As([]string{"reports:read", "pm-statements:export"}, nil).Get(path).WantError(apierr.CodeForbidden, "")
		j.As([]string{"pm-statements:read"}, nil).Get(path).Want(200)
	}
}
