package trust_test

import (
	"fmt"
	"strings"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// lodge is a team with stays in every state on January 31.
type lodge struct {
	*trustBooks
	alder, birch                                   id.ID
	gone, old, settled, here, coming, off, nowhere id.ID
}

func newLodge(t *testing.T) *lodge {
	t.Helper()
	l := &lodge{trustBooks: newTrustBooks(t)}
	l.alder, l.birch = fixture.Listing(l.Team, "Alder"), fixture.Listing(l.Team, "Birch")
	paid := func(stay, listing id.ID, at string, cents int64) {
		x := l.transacted("deposit", at, false)
		l.book(x, true, at, dr("1000", cents64(cents)), cr("2000", cents64(cents)).of(stay, listing))
	}
	charged := func(stay, listing id.ID, at string, cents int64) {
		l.book(stay, false, at, dr("2000", cents64(cents)).of(stay, listing), cr("4000", cents64(cents)).owners(listing, id.Zero).of(stay, listing))
	}
	l.gone = l.stayed(l.alder, "2026-01-02", "2026-01-31", "booked", "direct")
	charged(l.gone, l.alder, "2026-01-02", 1000)
	paid(l.gone, l.alder, "2026-01-02", 300)
	l.old = l.stayed(l.birch, "2025-10-01", "2025-10-05", "booked", "airbnb")
	charged(l.old, l.birch, "2026-01-01", 50)
	l.settled = l.stayed(l.birch, "2026-01-10", "2026-01-12", "booked", "airbnb")
	charged(l.settled, l.birch, "2026-01-10", 400)
	paid(l.settled, l.birch, "2026-01-11", 400)
	l.here = l.stayed(l.birch, "2026-01-31", "2026-02-05", "booked", "")
	paid(l.here, l.birch, "2026-01-20", 900)
	l.coming = l.stayed(l.birch, "2026-02-01", "2026-02-05", "booked", "airbnb")
	paid(l.coming, l.birch, "2026-01-21", 800)
	charged(l.coming, l.birch, "2026-02-01", 800)
	l.off = l.stayed(l.alder, "2026-02-10", "2026-02-12", "canceled", "direct")
	paid(l.off, l.alder, "2026-01-05", 70)
	l.nowhere = l.transacted("deposit", "2026-01-06", false)
	l.book(l.nowhere, true, "2026-01-06", dr("1000", 25), cr("2000", 25))

	return l
}

func told(r *apitest.Response) string {
	var out strings.Builder

	for g := range r.Len("data") {
		at := fmt.Sprintf("data.%d.", g)
		fmt.Fprintf(&out, "%s %d:", r.String(at+"status"), r.Int(at+"total"))

		for k := range r.Len(at + "listings") {
			of := fmt.Sprintf("%slistings.%d.", at, k)

			name := "-"
			if r.Value(of+"name") != nil {
				name = r.String(of + "name")
			}

			fmt.Fprintf(&out, " %s %d", name, r.Int(of+"total"))

			for n := range r.Len(of + "reservations") {
				fmt.Fprintf(&out, " (%d-%d=%d)", r.Int(fmt.Sprintf("%sreservations.%d.payments", of, n)),
					r.Int(fmt.Sprintf("%sreservations.%d.charges", of, n)), r.Int(fmt.Sprintf("%sreservations.%d.total", of, n)))
			}
		}

		out.WriteString("; ")
	}

	return out.String()
}

func TestGuestBalances(t *testing.T) {
	t.Parallel()
	l := newLodge(t)
	r := l.Get("/reports/guest-balances?date=2026-01-31").Want(200)

	want := "departed -750: Alder -700 (300-1000=-700) Birch -50 (0-50=-50); inHouse 900: Birch 900 (900-0=900); " +
		"upcoming 800: Birch 800 (800-0=800); cancelled 70: Alder 70 (70-0=70); unassigned 25: - 25 (25-0=25); "
	if got := told(r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	wantInts(t, r, map[string]int64{
		"total": 1045, "payments": 2495, "charges": 1450, "pagination.total": 6, "data.0.listings.1.charges": 450, "data.0.listings.1.payments": 400,
		"aging.0.centTotal": 700, "aging.0.count": 1, "aging.1.centTotal": 0, "aging.3.centTotal": 50, "data.0.listings.0.reservations.0.nights": 29,
	})

	if r.String("data.4.listings.0.reservations.0.transactionDate") != "2026-01-06" || r.Value("data.4.listings.0.reservations.0.id") != nil {
		t.Error("unassigned money shows its transaction")
	}

	if n := l.proves(t, r); n < 40 {
		t.Errorf("only %d figures have a drill-down", n)
	}

	for filter, want := range map[string]string{
		"&occupancyStatus=departed":            "departed -750: Alder -700 (300-1000=-700) Birch -50 (0-50=-50); ",
		"&occupancyStatus=all&channels=direct": "departed -700: Alder -700 (300-1000=-700); cancelled 70: Alder 70 (70-0=70); ",
		"&channels=null":                       "inHouse 900: Birch 900 (900-0=900); ",
		"&occupancyStatus=unassigned":          "unassigned 25: - 25 (25-0=25); ",
		"&search=c-2026-02-01":                 "upcoming 800: Birch 800 (800-0=800); ",
		"&limit=1&page=2":                      "departed -750: Birch -50 (0-50=-50); ",
		"&occupancyStatus=departed&includeSettled=true&channels=airbnb": "departed -50: Birch -50 (0-50=-50) (400-400=0); ",
		"&currency=EUR":    "",
		"&listingIds=null": "unassigned 25: - 25 (25-0=25); ",
		"&listingIds=00000000-0000-0000-0000-000000000000": "unassigned 25: - 25 (25-0=25); ",
		"&listingIds=" + l.alder.String():                  "departed -700: Alder -700 (300-1000=-700); cancelled 70: Alder 70 (70-0=70); ",
	} {
		r := l.Get("/reports/guest-balances?date=2026-01-31" + filter).Want(200)
		if got := told(r); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", filter, got, want)
		}

		l.proves(t, r)
	}

	l.Get("/reports/guest-balances?currency=xxx").WantError(apierr.CodeBadRequest, "").WantIssue("currency", "currency")
	l.Get("/reports/guest-balances?occupancyStatus=gone").Want(400)
	// A guest who leaves on the day has departed, one who comes on it is in the house.
	wantInts(t, l.Get("/reports/guest-balances?date=2026-01-30&occupancyStatus=inHouse").Want(200), map[string]int64{"total": -700})
	wantInts(t, l.Get("/reports/guest-balances?date=2026-01-30&occupancyStatus=upcoming").Want(200), map[string]int64{"total": 1700})
}

// A stay with entries in two listings is two rows that add up to its open amount.
func TestGuestBalancesOfAMovedStay(t *testing.T) {
	t.Parallel()
	l := newLodge(t)
	x := l.transacted("deposit", "2026-01-07", false)
	l.book(x, true, "2026-01-07", dr("1000", 700), cr("2000", 700).of(l.gone, l.birch))
	r := l.Get("/reports/guest-balances?date=2026-01-31&occupancyStatus=departed").Want(200)

	want := "departed -50: Alder -700 (300-1000=-700) Birch 650 (0-50=-50) (700-0=700); "
	if got := told(r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	wantInts(t, r, map[string]int64{"aging.0.centTotal": 0, "aging.3.centTotal": 50})
	l.proves(t, r)
	trust := l.Get("/reports/trust-reconciliation/by-listing?date=2026-01-31").Want(200)
	l.proves(t, trust)
}

func TestAgingOfDepartedGuests(t *testing.T) {
	t.Parallel()
	b := newTrustBooks(t)

	villa := fixture.Listing(b.Team, "Villa")
	for i, checkOut := range []string{"2026-05-31", "2026-05-01", "2026-04-30", "2026-04-01", "2026-03-31", "2026-03-02", "2026-03-01"} {
		stay := b.stayed(villa, "2026-01-01", checkOut, "booked", "")
		b.book(stay, false, "2026-01-01", dr("2000", cents64(1<<i)).of(stay, villa), cr("4000", cents64(1<<i)).at(villa))
	}

	r := b.Get("/reports/guest-balances?date=2026-05-31").Want(200)
	wantInts(t, r, map[string]int64{"aging.0.centTotal": 1 + 2, "aging.1.centTotal": 4 + 8, "aging.2.centTotal": 16 + 32, "aging.3.centTotal": 64})
	b.proves(t, r)
}

// The sums of settled stays are those of their entries on any day, whatever changes afterwards, before the stays are looked
// at again and after it.
func TestGuestBalancesOfSettledStays(t *testing.T) {
	t.Parallel()

	l := newLodge(t)
	same := func(when string) {
		t.Helper()

		for _, date := range []string{"2026-01-10", "2026-01-11", "2026-01-31", "2026-11-30"} {
			for _, group := range []string{"departed", "inHouse", "upcoming", "cancelled", "unassigned", "all"} {
				path := "/reports/guest-balances?date=" + date + "&occupancyStatus=" + group
				kept, added := l.Get(path).Want(200), l.Get(path+"&includeSettled=true").Want(200)

				for _, field := range []string{"charges", "payments", "total"} {
					if got, want := kept.Int(field), added.Int(field); got != want {
						t.Errorf("%s: %s: %s are %d, of the entries %d", when, path, field, got, want)
					}
				}
			}
		}
	}

	for _, c := range []struct {
		when, sql string
		args      db.Args
	}{
		{"nothing changed", `select 1`, nil},
		{"a settled stay was cancelled", `update reservation set status = 'canceled' where team_id = @team and id = @id`, db.Args{"id": l.settled}},
		{"it is booked again, and ends later", `update reservation set status = 'booked', check_out = '2026-02-02' where team_id = @team and id = @id`, db.Args{"id": l.settled}},
		{"its money belongs to another stay", `update ledger_entry set reservation_id = @id where team_id = @team and reservation_id = @from`, db.Args{"id": l.gone, "from": l.settled}},
		{"guests owe on no account", `delete from account_assignment where team_id = @team and assignment = 'accountsReceivable'`, nil},
		{"guests owe on one again", `insert into account_assignment (team_id, assignment, account_id) values (@team, 'accountsReceivable', @id)`, db.Args{"id": l.Accounts["2000"]}},
		{"the account is one of a bank", `update account set type = 'bank', banking_category = 'trust' where team_id = @team and id = @id`, db.Args{"id": l.Accounts["2000"]}},
	} {
		l.Exec(c.sql, c.args)
		same(c.when)

		if err := ledger.SettleTeam(t.Context(), l.DB, l.ID); err != nil {
			t.Fatal(err)
		}

		same(c.when + ", and the stays were looked at")
	}
}
