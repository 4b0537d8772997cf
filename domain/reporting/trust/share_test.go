package trust_test

import (
	"fmt"
	"testing"

	"stayledger/domain/settlement/statement"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
	whole "stayledger/test/world"
)

// Three owners of a third each, twelve months that leave a cent or two, payouts of all, of some and of none: the
// statement, the owner's summary and the trust report say the same of every owner, at the end of every month, and none
// is a cent or more off his part of the income so far.
func TestStatementSummaryAndTrustAgreeOnShares(t *testing.T) {
	t.Parallel()
	w := whole.New(t)
	owners := []id.ID{w.Contact("owner", "Ann"), w.Contact("owner", "Ben"), w.Contact("owner", "Cid")}
	l := w.Listing("Villa", owners...)
	splits := []int64{33_334, 33_333, 33_333}

	var (
		earned money.Cents
		got    [3]money.Cents
	)

	favoured := map[int]bool{}

	for n := range 10 {
		month := fmt.Sprintf("2026-%02d", n+1)
		income := money.Cents(10_000 + 7*int64(n)%3 + 1)
		earned += income
		w.Stay(l, month+"-10", int64(income))
		w.Publish(month, l)
		s := statements(t, w, "month="+month)[0]
		trust := heldInTrust(t, w, s.EndAt.String())
		summary := w.Get("/reports/owner-statement-summaries-per-layout?startAt=2026-01&endAt=" + month).Want(200)

		var added money.Cents
		for i, share := range s.Shares {
			added += share.Amount

			held := summary.Int(fmt.Sprintf("data.%d.financials.balanceEnd", i))
			if share.ContactID != owners[i] || int64(share.Amount) != trust[share.ContactID] || int64(share.Amount) != held {
				t.Fatalf("%s: owner %d has %d on the statement, %d in the trust, %d in the summary", month, i, share.Amount, trust[share.ContactID], held)
			}

			if off := int64(share.Amount+got[i])*100_000 - int64(earned)*splits[i]; off <= -100_000 || off >= 100_000 {
				t.Fatalf("%s: owner %d was given %d of %d", month, i, share.Amount+got[i], earned)
			}

			if share.Amount > s.Financials.Available/3 {
				favoured[i] = true
			}
		}

		if added != s.Financials.Available {
			t.Fatalf("%s: the shares of %d add up to %d", month, s.Financials.Available, added)
		}

		if n%4 == 2 {
			continue // carried forward
		}

		pay := whole.Object{"statementIds": whole.Array{s.ID}, "date": s.EndAt.AddDays(5)}
		if n%4 == 3 { // one of them gets a round sum
			pay["amounts"] = whole.Array{whole.Object{"statementId": s.ID, "contactId": owners[n%3], "centTotal": 1_000}}
		}

		paid := w.Post("/statements/pay", pay).Want(200)
		for k := range paid.Len("results.0.payouts") {
			for i := range owners {
				if at := fmt.Sprintf("results.0.payouts.%d.", k); paid.ID(at+"contactId") == owners[i] {
					got[i] += money.Cents(paid.Int(at + "amount"))
				}
			}
		}
	}

	if len(favoured) < 2 {
		t.Errorf("the odd cent always went to %v", favoured)
	}

	var open, held money.Cents
	for _, s := range statements(t, w, "sort=startAt") {
		open += s.Payment.Open
		held = s.Financials.Available
	}

	if open != held {
		t.Errorf("%d are open on the statements together, the last one has %d available", open, held)
	}
}

// A month that was carried forward and paid with the next one is paid, on lists and in exports.
func TestAMonthThatWasCarriedForwardAndPaid(t *testing.T) {
	t.Parallel()
	w := whole.New(t)
	ann, ben := w.Contact("owner", "Ann"), w.Contact("owner", "Ben")
	l := w.Listing("Villa", ann, ben)
	w.Stay(l, "2026-01-10", 100_001)
	w.Publish("2026-01", l)
	w.Stay(l, "2026-02-10", 50_000)
	w.Publish("2026-02", l)

	check := func(n int, expected, received, forward, open money.Cents, status statement.PaymentStatus) {
		t.Helper()

		want := statement.Payment{Expected: expected, Received: received, BroughtForward: forward, Open: open, Status: status}
		if s := statements(t, w, "sort=startAt")[n]; s.Payment != want {
			t.Errorf("%s: %+v, want %+v", s.StartAt.Month(), s.Payment, want)
		}
	}
	check(0, 100_001, 0, 0, 100_001, statement.Unpaid)
	check(1, 150_001, 0, 100_001, 50_000, statement.Unpaid)

	pay := func(lines ...whole.Object) {
		t.Helper()

		for _, line := range lines {
			w.Post("/transactions", whole.Object{"type": "payout", "date": "2026-03-05", "lines": whole.Array{line}}).Want(201)
		}
	}
	february := w.Statement(l, "2026-02")
	// All of February goes to Ann at first, in the name of that statement: it settles what January owes her.
	pay(whole.Object{"amount": 60_000, "listingId": l.ID, "contactId": ann, "ownerStatementId": february})
	check(0, 100_001, 50_001, 0, 50_000, statement.Underpaid)
	check(1, 150_001, 60_000, 50_000, 40_001, statement.Underpaid)
	// The rest names no statement.
	pay(whole.Object{"amount": 75_000, "listingId": l.ID, "contactId": ben}, whole.Object{"amount": 15_001, "listingId": l.ID, "party": "owners"})

	if r := w.Post("/statements/pay", whole.Object{"statementIds": whole.Array{february, w.Statement(l, "2026-01")}, "date": "2026-03-06"}).Want(200); r.Len("results.0.payouts") != 0 ||
		r.Len("results.1.payouts") != 0 {
		t.Errorf("what was paid is paid again: %s", r.Body)
	}

	check(0, 100_001, 100_001, 0, 0, statement.Paid)

	if s := statements(t, w, "sort=startAt")[1]; s.Payment.Open != 0 || s.Payment.Status != statement.Paid {
		t.Errorf("February: %+v", s.Payment)
	}
}

func statements(t *testing.T, w *whole.World, query string) []statement.Statement {
	t.Helper()

	var found page.Page[statement.Statement]
	w.Get("/statements?limit=250&" + query).Want(200).Into(&found)

	return found.Data
}

// heldInTrust is the figure of the trust report for each owner.
func heldInTrust(t *testing.T, w *whole.World, date string) map[id.ID]int64 {
	t.Helper()

	r := w.Get("/reports/trust-reconciliation?date=" + date).Want(200)
	held := map[id.ID]int64{}

	for i := range r.Len("liabilities.ownerBalances.owners") {
		at := fmt.Sprintf("liabilities.ownerBalances.owners.%d.", i)
		held[r.ID(at+"contactId")] = r.Int(at + "centTotal")
	}

	return held
}
