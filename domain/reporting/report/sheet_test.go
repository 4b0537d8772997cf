package report_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/money"
)

// The three legs of the worked trust reconciliation: the money at the bank is owed to guests, tax authorities, owners
// and manager.
func TestBalanceSheetOfTheWorkedExample(t *testing.T) {
	t.Parallel()
	b := workedBooks(t)

	r := b.Get("/reports/balance-sheet?date=2026-01").Want(200)
	for path, want := range map[string]string{
		"currency": "usd", "date": "2026-01-31", "view": "total", "assets.total": "135004", "assets.categories.0.accounts.0.code": "1000",
		"liabilities.total": "61450", "liabilities.categories.0.title": "Guest funds", "liabilities.categories.0.accounts.0.total": "51520",
		"liabilities.categories.1.title": "Taxes payable", "liabilities.categories.1.accounts.0.total": "8280",
		"liabilities.categories.1.accounts.1.total": "1650", "balances.total": "73554", "balances.rows.0.title": "Owner balances",
		"balances.rows.0.total": "53072", "balances.rows.1.title": "Manager balance", "balances.rows.1.total": "20482",
		"liabilitiesAndBalances.total": "135004", "check.total": "0", "balances.rows.0.totalPercentage": "39311",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}

	if r.Len("balances.rows") != 2 || r.Len("columns") != 0 || r.Len("check.values") != 0 {
		t.Errorf("rows or columns of nothing: %s", r.Body)
	}

	for _, view := range []string{"total", "ledger", "listing"} {
		b.checkDrilldowns(t, b.Get("/reports/balance-sheet?date=2026-01-20&view="+view).Want(200), ".assets", 1000)
	}

	before := b.Get("/reports/balance-sheet?date=2025-12-30&view=ledger").Want(200)
	if before.String("assets.total") != "0" || before.Len("assets.categories") != 0 || before.Len("columns") != 2 || before.String("assets.totalPercentage") != "null" {
		t.Errorf("before anything: %s", before.Body)
	}
}

// What is booked for a party counts to it on every account but bank accounts and what guests owe; what is booked for
// no party on revenue or expense shows as unassigned.
func TestBalanceSheetPlacesPartiesByAccount(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.book(ledger.Trust, "2026-01-01", line{"1000", "o", 100}, line{"4000", "", -100})
	b.book(ledger.Trust, "2026-01-01", line{"2000", "m", 20}, line{"2900", "", -20})
	b.book(ledger.Trust, "2026-01-01", line{"1100", "m", 3}, line{"2100", "o", -3})
	b.book(ledger.Trust, "2026-01-01", line{"1110", "o", 400}, line{"2000", "", -400})
	b.book(ledger.Operating, "2026-01-01", line{"1010", "m", 7000}, line{"4100", "m", -7000})

	r := b.Get("/reports/balance-sheet?date=2026-01-01&view=ledger").Want(200)
	for path, want := range map[string]string{
		"assets.total": "7500", "liabilities.total": "400", "balances.rows.0.total": "3", "balances.rows.1.total": "6997", "balances.rows.2.id": "unassigned",
		"balances.rows.2.total": "100", "check.total": "0", "check.values.0.total": "0", "check.values.1.total": "0", "columns.0.title": "Trust",
		"columns.1.title": "Operating", "balances.rows.1.values.1.total": "7000", "balances.rows.1.values.0.total": "-3",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
}

func TestBalanceSheetRefusals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	const path = "/reports/balance-sheet?"

	b.Get("/reports/balance-sheet").WantIssue("required", "date")
	b.Get(path+"date=2026-02-30").WantError(apierr.CodeBadRequest, "")
	b.Get(path+"date=2026&view=month").WantIssue("enum", "view")
	b.Get(path+"date=2026&ledger=historical").WantIssue("enum", "ledger")
	b.Get(path+"date=2026&currency=xxx").WantIssue("currency", "currency")
	b.Get(path+"date=9999").WantIssue("dateOutOfRange", "date")
	b.Get(path+"date=0001-01-01").WantIssue("dateOutOfRange", "date")
	b.Get(path + "date=1990-01-01").Want(200)
	b.As(nil, nil).Get(path+"date=2026").WantError(apierr.CodeForbidden, "")
}

// Assets equal liabilities and balances on any day, in total and in each ledger; every figure is the sum of
// the entries behind it.
func TestBalanceSheetAddsUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 23, 150)
	listings := []string{"", "&listingIds=null", "&listingIds=" + w.listings[0].String() + ",null", "&listingIds=" + w.listings[1].String()}

	rapid.Check(t, func(rt *rapid.T) {
		at := worldStart.AddDays(rapid.IntRange(-5, worldDays+10).Draw(rt, "date"))
		narrow := rapid.SampledFrom(listings).Draw(rt, "listings")
		view := rapid.SampledFrom([]string{"", "&view=ledger", "&view=listing", "&view=total"}).Draw(rt, "view")
		in := rapid.SampledFrom([]string{"", "&ledger=trust", "&ledger=operating"}).Draw(rt, "ledger")
		filter := "date=" + at.String() + view + in + narrow
		r := w.Get("/reports/balance-sheet?" + filter).Want(200)
		w.checkDrilldowns(t, r, ".assets", 12)
		checkColumns(t, r)

		if narrow == "" && r.Int("check.total") != 0 {
			rt.Fatalf("%s is out by %d", filter, r.Int("check.total"))
		}

		for i := range r.Len("check.values") {
			if narrow == "" && view == "&view=ledger" && r.Int(fmt.Sprintf("check.values.%d.total", i)) != 0 {
				rt.Fatalf("%s is out: %s", filter, r.Value("check"))
			}
		}

		if narrow+in == "" {
			debit, credit := w.sum("c.classification = 'asset' and (e.party is null or a.type = 'bank') and e.txn_at <= @date", db.Args{"date": at})
			if got := money.Cents(r.Int("assets.total")); got != debit-credit {
				rt.Fatalf("%s: assets %d, entries come to %d", filter, got, debit-credit)
			}

			debit, credit = w.sum("e.party = 'owners' and a.type <> 'bank' and a.code <> '2000' and e.txn_at <= @date", db.Args{"date": at})
			if got := money.Cents(r.Int("balances.rows.0.total")); got != credit-debit {
				rt.Fatalf("%s: owners %d, entries come to %d", filter, got, credit-debit)
			}
		}
	})
}

// Two reports tell the owners and the manager one balance: the balance sheet of the trust and its reconciliation.
func TestBalanceSheetAgreesWithTheReconciliation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 29, 150)

	for days := 10; days <= worldDays; days += 30 {
		at := worldStart.AddDays(days).String()
		sheet := w.Get("/reports/balance-sheet?ledger=trust&date=" + at).Want(200)

		reconciled := w.Get("/reports/trust-reconciliation?date=" + at).Want(200)
		for row, claim := range map[string]string{"balances.rows.0.total": "ownerBalances", "balances.rows.1.total": "managerBalance"} {
			if got, want := sheet.Int(row), reconciled.Int("liabilities."+claim+".centTotal"); got != want {
				t.Errorf("%s: %s is %d on the balance sheet and %d in the reconciliation", at, claim, got, want)
			}
		}
	}
}

// checkColumns holds every figure of an answer to the sum of its columns, and every group to the sum of
// its rows.
func checkColumns(t *testing.T, r *apitest.Response) {
	t.Helper()

	var tree map[string]any
	r.Into(&tree)
	columns, _ := tree["columns"].([]any)

	var walk func(path string, node any)

	walk = func(path string, node any) {
		switch n := node.(type) {
		case map[string]any:
			values, isFigure := n["values"].([]any)

			_, shown := n["drilldown"]
			if isFigure && shown {
				var sum float64
				for _, v := range values {
					sum += v.(map[string]any)["total"].(float64)
				}

				if len(values) != len(columns) || len(values) > 0 && sum != n["total"] {
					t.Errorf("%s: %d values come to %v of %v", path, len(values), sum, n["total"])
				}
			}

			for _, inside := range []string{"categories", "accounts", "rows"} {
				list, ok := n[inside].([]any)
				if !ok {
					continue
				}

				var sum float64
				for _, v := range list {
					sum += v.(map[string]any)["total"].(float64)
				}

				if sum != n["total"] {
					t.Errorf("%s: %s come to %v of %v", path, inside, sum, n["total"])
				}
			}

			for name, value := range n {
				walk(path+"."+name, value)
			}
		case []any:
			for i, value := range n {
				walk(fmt.Sprintf("%s.%d", path, i), value)
			}
		}
	}
	walk("", tree)
}
