package transaction_test

import (
	"context"
	"testing"

	"stayledger/domain/activity/transaction"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// What owners have is the same whether open bills are found by themselves or among their expenses, and whether bills are
// open, paid at once, paid later, or of a later month.
func TestOwnersFundsAreTheSameEitherWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	post := func(body object) id.ID { return w.Post("/transactions", body).Want(201).ID("id") }
	bill := func(date string, cents int64) object {
		b := w.expense(date, cents)
		b["accountId"] = w.accounts["2200"]

		return b
	}

	later := day.Of(w.DB.Now()).AddDays(70).String()
	paid := bill("2026-02-03", 3_000)
	paid["payment"] = object{"date": "2026-02-20", "accountId": w.accounts["1000"]}
	ahead := bill(later, 500)
	ahead["payment"] = object{"date": "2026-02-21", "accountId": w.accounts["1000"]}

	bills := []id.ID{
		post(w.expense("2026-02-01", 10_000)), post(bill("2026-02-02", 2_000)), post(paid), post(bill("2026-02-04", -700)), post(bill(later, 90)), post(ahead),
	}
	post(w.deposit("2026-02-12", 50_000))

	// Paid at once, paid later and paid ahead of its month: 10000, 3000 and 500. The open bills take nothing.
	const want = -13_500

	for _, few := range []int64{0, 2, 200} {
		w.Tx(func(ctx context.Context, tx *db.Tx) error {
			borne, err := transaction.LoadBorneOf(ctx, tx, bills, few)
			if len(borne) != len(bills) {
				t.Errorf("few are %d: %d of %d bills are borne", few, len(borne), len(bills))
			}

			for _, b := range borne {
				if b.Funds != want {
					t.Errorf("few are %d: the owners have %d, want %d", few, b.Funds, want)
				}
			}

			return err
		})
	}
}
