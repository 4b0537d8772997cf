package demo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/setup/demo"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
)

// accounts are the bank accounts of the chart by their codes.
func accounts(x *apitest.Team) map[string]string {
	out := map[string]string{}

	chart := x.Get("/accounts?limit=250").Want(200)
	for i := range chart.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		if chart.String(at+"type") == "bank" {
			out[chart.String(at+"code")] = chart.String(at + "id")
		}
	}

	return out
}

// records are the bank records that a query selects: how many, and what they add up to by account.
func records(x *apitest.Team, query string) (n int, sums map[string]int64) {
	found := x.Get("/bank-records?limit=250&" + query).Want(200)
	sums = map[string]int64{}

	for i := range found.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		sums[found.String(at+"accountId")] += found.Int(at + "amount")
	}

	return int(found.Int("pagination.total")), sums
}

// The bank's side shows everything that a reconciliation knows, and it leaves unexplained only the records
// that no one has matched.
func TestTheBankExplainsTheBooks(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		months int64
		today  string
	}{{6, "2026-06-15"}, {1, "2026-06-01"}, {2, "2026-05-31"}, {3, "2026-01-01"}} {
		t.Run(c.today, func(t *testing.T) {
			t.Parallel()
			x := newTeam(t)

			today, err := day.Parse(c.today)
			if err != nil {
				t.Fatal(err)
			}

			d := &demo.Data{Months: c.months, Listings: 3, Seed: 5, Today: today}
			if err := demo.Fill(t.Context(), x.DB, x.Scope(), *d, func(float64) {}); err != nil {
				t.Fatal(err)
			}

			x.Work()

			_, unmatched := records(x, "reconcileStatus=unpaid")
			if c.months == 6 {
				showsAll(t, x, d)
			}

			for m := d.Start().Month(); !d.Today.Before(m.First()); m = m.Next() {
				explained(t, x, d, day.Min(m.Last(), d.Today), unmatched)
			}
		})
	}
}

// showsAll wants every kind of record that the sample books promise.
func showsAll(t *testing.T, x *apitest.Team, d *demo.Data) {
	t.Helper()

	operating, trust := accounts(x)["1010"], accounts(x)["1000"]
	paid, _ := records(x, "reconcileStatus=paid")
	open, _ := records(x, "reconcileStatus=unpaid")
	partly, _ := records(x, "reconcileStatus=underpaid,overpaid")
	twins, _ := records(x, "hasDuplicates=true")
	byRule, _ := records(x, "matchedByBankRule=true&search=CHARGE")
	batches := 0

	weekly := x.Get("/bank-records?limit=250&search=PROCESSOR").Want(200)
	for i := range weekly.Len("data") {
		if weekly.Len(fmt.Sprintf("data.%d.reconciliation.transactions", i)) > 1 {
			batches++
		}
	}

	if paid < 50 || open != 6 || partly != 0 || twins != 2 || byRule != 5 || batches == 0 {
		t.Errorf("paid %d, open %d, in part %d, twins %d, charges %d, batches %d", paid, open, partly, twins, byRule, batches)
	}

	if rules := x.Get("/bank-rules").Want(200); rules.Len("data") != 3 {
		t.Errorf("rules %s", rules.Body)
	}
	// All records of the rule that suggests are open.
	if n, _ := records(x, "search=INTERNET&reconcileStatus=unpaid"); n != 1 {
		t.Errorf("%d bills for the internet", n)
	}

	// Every month end and the day before the books begin have a balance of each account, which the movements since the
	// one before explain.
	stated := x.Get("/bank-records?limit=250&includeBalanceRecords=true&search=CLOSING").Want(200)

	for _, account := range []string{operating, trust} {
		var days []string

		for i := range stated.Len("data") {
			at := fmt.Sprintf("data.%d.", i)
			if stated.String(at+"accountId") != account {
				continue
			}

			days = append(days, stated.String(at+"date"))
			if correction := stated.Value(at + "balance.correction"); correction != nil && stated.Int(at+"balance.correction") != 0 {
				t.Errorf("a balance is corrected by %v", correction)
			}
		}

		slices.Sort(days)

		want := []string{}
		for m := d.Start().Month().Prev(); m.Last().Before(d.Today); m = m.Next() {
			want = append(want, m.Last().String())
		}

		if !slices.Equal(days, want) {
			t.Errorf("balances are stated on %v, want %v", days, want)
		}
	}

	// At the end of the month before, the bank has seen one bill early and another one not at all.
	last := d.Today.Month().Prev().Last().String()
	items := x.Get("/accounts/" + operating + "/reconciling-items?date=" + last).Want(200)

	var kinds []string

	for i := range items.Len("data") {
		if at := fmt.Sprintf("data.%d.", i); strings.HasPrefix(items.String(at+"description"), "Office") {
			kinds = append(kinds, items.String(at+"kind"))
		}
	}

	slices.Sort(kinds)

	if !slices.Equal(kinds, []string{"atBankNotInBooks", "outstandingPayment"}) {
		t.Errorf("the office's bills are %v: %s", kinds, items.Body)
	}
}

// explained wants the difference of bank and books at the end of a day to be the unmatched records until then, in the
// summary of each account and in the trust reconciliation.
func explained(t *testing.T, x *apitest.Team, d *demo.Data, at day.Day, unmatched map[string]int64) {
	t.Helper()

	for code, account := range accounts(x) {
		summary := x.Get("/accounts/" + account + "/summary?dateRange=2020-01-01..." + at.String() + "&isDateRangeEndInclusive=true").Want(200)

		difference, open := summary.Int("totals.difference"), summary.Int("totals.unmatchedBankRecordsBalance")
		if difference != open {
			t.Errorf("%s at %s: bank and books differ by %d, and %d is unmatched: %s", code, at, difference, open, summary.Body)
		}

		if at == d.Today && difference != unmatched[account] {
			t.Errorf("%s: bank and books differ by %d, and the list has %d", code, difference, unmatched[account])
		}

		if code != "1000" {
			continue
		}

		trust := x.Get("/reports/trust-reconciliation?date=" + at.String()).Want(200)
		if trust.Int("difference.bankToBook") != open || trust.Int("difference.bookToLiabilities") != 0 || trust.Int("bank.statementBalance") == 0 {
			t.Errorf("trust at %s: %v, want %d; %s", at, trust.Value("difference"), open, trust.Body)
		}
	}
}
