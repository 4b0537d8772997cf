package payout_test

import (
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/id"
)

const settled = "skipped: Other payouts have settled what was due"

// total is the amount that an entry of a result pays.
func total(r *apitest.Response, at string) (sum int64) {
	for i := range r.Len(at + ".payouts") {
		sum += r.Int(at + ".payouts." + string(rune('0'+i)) + ".amount")
	}

	return sum
}

// A statement holds what the ones before it left unpaid: paid together, in whatever order they are named, they
// pay the amount of the last one, and no owner is paid the same money twice.
func TestStatementsOfOneChainAreNotPaidTwice(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		earned    []int64
		reversed  bool
		want      []int64
		available int64
	}{
		"earning":           {[]int64{50000, 30000, 10000}, false, []int64{30000, 30000, 10000}, 70000},
		"earning, reversed": {[]int64{50000, 30000, 10000}, true, []int64{30000, 30000, 10000}, 70000},
		"losing":            {[]int64{50000, -25000}, false, []int64{5000, 0}, 5000},
		"losing all":        {[]int64{50000, -35000}, false, []int64{0, 0}, 0}, // 150.00 are there, which the reserve holds back
		"owing":             {[]int64{-10000, 25000}, false, []int64{0, 0}, 0},
		"recovered":         {[]int64{-10000, 45000}, false, []int64{0, 15000}, 15000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)

			var statements []id.ID
			for i, cents := range c.earned {
				statements = append(statements, h.earn(h.villa, "2026-0"+string(rune('1'+i)), cents))
			}

			ordered := statements
			if c.reversed {
				ordered = nil
				for i := range statements {
					ordered = append(ordered, statements[len(statements)-1-i])
				}
			}

			date := body("2026-06-05", ordered...)
			r := h.preview(date)

			var sum int64

			for i := range statements {
				at := i
				if c.reversed {
					at = len(statements) - 1 - i
				}

				got := total(r, "results."+string(rune('0'+at)))
				if sum += got; got != c.want[i] {
					t.Errorf("month %d is paid %d, want %d", i+1, got, c.want[i])
				}
			}

			if sum != c.available {
				t.Errorf("%d are paid of %d", sum, c.available)
			}
			// One after the other gives the same, the last one first as well.
			sum = 0
			for _, v := range ordered {
				sum += total(h.Post("/statements/pay", body("2026-06-05", v)).Want(200), "results.0")
			}

			if sum != c.available {
				t.Errorf("one by one %d are paid of %d", sum, c.available)
			}
		})
	}
}

// A payout that names no statement has settled what was due as well, and lowers the part of the member that it names.
func TestPayoutsThatNameNoStatement(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	january := h.earn(h.villa, "2026-01", 50000)
	pay := func(cents int64) {
		h.Post("/transactions", object{"type": "payout", "date": "2026-02-03", "contactId": h.ada, "lines": array{
			object{"amount": cents, "listingId": h.villa.ID, "contactId": h.ada},
		}}).Want(201)
	}
	pay(10000)
	wantEntry(t, h.preview(body("2026-02-05", january)), "results.0", canBeMade, 8000, 12000)
	pay(20000)
	wantEntry(t, h.preview(body("2026-02-05", january)), "results.0", settled)
	wantEntry(t, h.Post("/statements/pay", body("2026-02-05", january)).Want(200), "results.0", settled)
	h.wantPayouts(january, 0, 0)
}

// A payout of more than the owners of this listing have is made with a warning, whatever they have elsewhere. The bank
// is watched likewise.
func TestInsufficientFundsAreWarnedOf(t *testing.T) {
	t.Parallel()

	for name, send := range map[string]func(*house, object) *apitest.Response{
		"preview": (*house).preview,
		"payouts": (*house).record,
		"pay":     func(h *house, o object) *apitest.Response { return h.Post("/statements/pay", o).Want(200) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			cabin := h.Listing("Cabin", h.ada)
			poor, rich := h.earn(h.villa, "2026-01", 50000), h.earn(cabin, "2026-01", 500000)
			h.Expense(h.villa, "2026-02-05", 40000)
			h.Expense(h.villa, "2026-02-06", 40000) // not yet

			r := send(h, with(body("2026-02-05", rich, poor), object{"amounts": array{
				object{"statementId": poor, "contactId": h.ada, "centTotal": 10001}, object{"statementId": rich, "contactId": h.ada, "centTotal": 11000},
			}}))
			if r.Len("results.0.issues") != 0 || r.Len("results.1.issues") != 1 {
				t.Fatalf("issues %s", r.Body)
			}

			const at = "results.1.issues.0"
			if r.String(at+".code") != "insufficientOwnerFunds" || r.String(at+".severity") != "warning" || r.String(at+".context.balance") != "owner" ||
				r.Int(at+".context.available") != 10000 || r.Int(at+".context.amount") != 10001 || r.ID(at+".context.ownershipPeriodId") != h.villa.Period {
				t.Errorf("issue %v", r.Value(at))
			}
		})
	}

	t.Run("bank", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		cabin := h.Listing("Cabin", h.ada)
		first, second := h.earn(h.villa, "2026-01", 50000), h.earn(cabin, "2026-01", 30000)
		h.Post("/transactions", object{"type": "expense", "date": "2026-02-01", "accountId": h.Account("1000"), "lines": array{
			object{"accountId": h.Account("5200"), "amount": 25000, "party": "manager"},
		}}).Want(201)

		r := h.preview(body("2026-02-05", first, second))
		if r.Len("results.0.issues") != 0 || r.Len("results.1.issues") != 1 {
			t.Fatalf("issues %s", r.Body)
		}

		const at = "results.1.issues.0"
		if r.String(at+".context.balance") != "bankAccount" || r.ID(at+".context.accountId") != h.Account("1000") ||
			r.Int(at+".context.available") != 25000 || r.Int(at+".context.amount") != 30000 {
			t.Errorf("issue %v", r.Value(at))
		}
	})
}
