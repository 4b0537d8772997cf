package trust_test

import (
	"fmt"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

func TestSalesTaxLiability(t *testing.T) {
	t.Parallel()
	b := newTrustBooks(t)
	alder, birch := fixture.Listing(b.Team, "Alder"), fixture.Listing(b.Team, "Birch")
	charge := func(stay, listing id.ID, at string, rent, cleaning, tax int64) {
		b.book(stay, false, at, dr("2000", cents64(rent+cleaning+tax)).of(stay, listing), cr("4000", cents64(rent)).owners(listing, id.Zero).of(stay, listing),
			cr("4010", cents64(cleaning)).owners(listing, id.Zero).of(stay, listing), cr("2100", cents64(tax)).of(stay, listing))
	}
	direct := b.stayed(birch, "2026-01-10", "2026-01-15", "booked", "direct")
	charge(direct, birch, "2026-01-10", 1000, 150, 138)
	charge(direct, birch, "2026-02-01", 500, 50, 66)
	channel := b.stayed(birch, "2026-01-20", "2026-01-22", "booked", "airbnb")
	charge(channel, birch, "2026-01-20", 900, 120, 90)

	unnamed := b.stayed(alder, "2026-01-20", "2026-01-22", "booked", "")
	charge(unnamed, alder, "2026-01-31", 100, 10, 12)
	// The channel keeps part of the tax: guests were charged less. A remittance changes nothing, the tax on a bill is
	// not the guests'.
	withheld := b.transacted("deposit", "2026-01-21", false)
	b.book(withheld, true, "2026-01-21", dr("2100", 40).of(channel, birch), cr("1000", 40))
	remitted := b.transacted("expense", "2026-01-25", false)
	b.book(remitted, true, "2026-01-25", dr("2100", 138).of(direct, birch), cr("1000", 138))
	bill := b.transacted("expense", "2026-01-26", false)
	b.book(bill, true, "2026-01-26", dr("5200", 15).owners(birch, id.Zero), cr("2110", 15).of(direct, birch))

	path := "/reports/sales-tax-liability?startDate=2026-01&endDate=2026-01&taxableLineIds="
	r := b.Get(path + b.Accounts["4000"].String() + "," + b.Accounts["4010"].String()).Want(200)
	wantInts(t, r, map[string]int64{
		"taxableIncomeTotal": 1150 + 1020 + 110, "collectableTaxesTotal": 138 + 50 + 12, "data.0.collectableTaxesTotal": 12,
		"data.1.taxableIncomeTotal": 2170, "data.1.channels.0.collectableTaxesTotal": 50, "data.1.channels.1.taxableIncomeTotal": 1150,
		"data.1.channels.1.reservations.0.taxableIncome": 1150, "data.1.channels.1.reservations.0.collectableTaxes": 138,
		"data.1.channels.1.reservations.0.nights": 5,
	})

	if r.String("data.0.name") != "Alder" || r.String("data.1.channels.0.name") != "airbnb" || r.Value("data.0.channels.0.name") != nil {
		t.Error("listings and channels come by name")
	}

	if n := b.proves(t, r); n != 2*(1+2+3+3) {
		t.Errorf("%d figures have a drill-down", n)
	}

	rent := path + b.Accounts["4000"].String()
	for filter, want := range map[string][2]int64{
		"":                                   {2000, 200},
		"&channels=airbnb":                   {900, 50},
		"&channels=direct,null":              {1100, 150},
		"&listingIds=" + alder.String():      {100, 12},
		"&currency=eur":                      {0, 0},
		"&listingIds=null":                   {0, 0},
		"&listingIds=null," + alder.String(): {100, 12},
	} {
		r := b.Get(rent + filter).Want(200)
		wantInts(t, r, map[string]int64{"taxableIncomeTotal": want[0], "collectableTaxesTotal": want[1]})
		b.proves(t, r)
	}
	// A page shows its stays with the totals of all.
	paged := b.Get(path + b.Accounts["4000"].String() + "&limit=1&page=2").Want(200)
	wantInts(t, paged, map[string]int64{
		"taxableIncomeTotal": 2000, "collectableTaxesTotal": 200, "data.0.taxableIncomeTotal": 1900, "data.0.channels.0.taxableIncomeTotal": 900,
		"data.0.channels.0.reservations.0.taxableIncome": 900, "pagination.total": 3, "pagination.nextPage": 3,
	})

	if paged.Len("data") != 1 || paged.Len("data.0.channels") != 1 || paged.String("data.0.name") != "Birch" {
		t.Errorf("the second stay is Birch's first: %s", paged.Body)
	}

	b.proves(t, paged)

	if beyond := b.Get(rent + "&page=9").Want(200); beyond.Len("data") != 0 || beyond.Int("taxableIncomeTotal") != 2000 {
		t.Errorf("behind the last page: %s", beyond.Body)
	}

	mapped := b.Get(path + b.mapping("rent").String()).Want(200)
	wantInts(t, mapped, map[string]int64{"taxableIncomeTotal": 2000, "collectableTaxesTotal": 200})
}

// Proves: PAG-36.
func TestSalesTaxLiabilityRefuses(t *testing.T) {
	t.Parallel()
	b, other := newTrustBooks(t), newTrustBooks(t)
	path := "/reports/sales-tax-liability?startDate=2026-01&endDate=2026-01&taxableLineIds="
	b.Get(path+other.Accounts["4000"].String()).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "taxableLineIds.0")
	b.Get("/reports/sales-tax-liability?startDate=2026-01&endDate=2026-01").WantError(apierr.CodeBadRequest, "").WantIssue("required", "taxableLineIds")
	b.Get("/reports/sales-tax-liability?startDate=2026-02&endDate=2026-01&taxableLineIds="+b.Accounts["4000"].String()).
		WantError(apierr.CodeBadRequest, "").WantIssue("dateOrder", "endDate")
	b.Get("/reports/sales-tax-liability?startDate=2026-W1&endDate=2026-01&taxableLineIds=" + b.Accounts["4000"].String()).Want(400)

	empty := b.Get(path + b.Accounts["4000"].String()).Want(200)
	if empty.Len("data") != 0 {
		t.Error("no stays, no rows")
	}
}

// A channel is selected by its name whatever characters that has. Decided on 2026-11-25: lists of free texts in
// queries.
func TestChannelsOfAnyNameLeadToTheirEntries(t *testing.T) {
	t.Parallel()
	b := newTrustBooks(t)

	hut := fixture.Listing(b.Team, "Hut")
	for _, channel := range []string{"Fair, Bed & Breakfast", `12" inch`, " blanks "} {
		stay := b.stayed(hut, "2026-01-10", "2026-01-15", "booked", channel)
		b.book(stay, false, "2026-01-10", dr("2000", 100).of(stay, hut), cr("4000", 100).owners(hut, id.Zero).of(stay, hut))
	}

	r := b.Get("/reports/sales-tax-liability?startDate=2026-01&endDate=2026-01&taxableLineIds=" + b.Accounts["4000"].String()).Want(200)
	if r.Len("data.0.channels") != 3 {
		t.Fatalf("%s", r.Body)
	}

	for i := range 3 {
		if r.Value(fmt.Sprintf("data.0.channels.%d.drilldowns.taxableIncome", i)) == nil {
			t.Errorf("%s leads nowhere", r.String(fmt.Sprintf("data.0.channels.%d.channel", i)))
		}
	}

	b.proves(t, r)
}
