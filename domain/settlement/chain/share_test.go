package chain_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"stayledger/domain/settlement/chain"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// A cent that does not divide goes around: over a year of months that leave one, no owner has more than his part by a
// cent.
func TestTheOddCentGoesAround(t *testing.T) {
	t.Parallel()

	var owners []chain.Owner
	for i, split := range []int64{33333, 33333, 33334} {
		owners = append(owners, chain.Owner{ContactID: id.Derive(time.UnixMilli(0), "member", strconv.Itoa(i)), Split: split})
	}

	month := day.Of(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

	var (
		got      [3]money.Cents
		months   [][]money.Cents
		balances []chain.Balance
		payouts  []chain.Distribution
	)

	for n := range 12 {
		// Each month leaves the same amount, and all of it is paid out in the next.
		shares := chain.NewHistory(owners, balances, payouts).Shares(100_001, month.LastOfMonth(), false)
		balances = append(balances, chain.Balance{
			ID: id.Derive(time.UnixMilli(0), "statement", strconv.Itoa(n)), StartAt: month, EndAt: month.LastOfMonth(), Published: true,
			Available: 100_001, Shares: shares,
		})

		paid := month.LastOfMonth().AddDays(5)

		for i, cents := range shares {
			got[i] += cents
			payouts = append(payouts, chain.Distribution{ContactID: owners[i].ContactID, Date: paid, Since: paid, Total: cents})
		}

		months = append(months, shares)
		month = month.LastOfMonth().AddDays(1)
	}

	// 1200012 by 33333, 33333 and 33334.
	if want := [3]money.Cents{400_000, 400_000, 400_012}; got != want {
		t.Errorf("over the year the owners have %v, want %v: %v", got, want, months)
	}

	if slices.Equal(months[0], months[1]) && slices.Equal(months[1], months[2]) {
		t.Errorf("every month divides alike: %v", months)
	}

	// Everything was paid, so nothing is left on any statement.
	settled := chain.NewHistory(owners, balances, payouts)
	for i := range balances {
		if left := settled.Balance(balances[i].ID).Left(); chain.Total(left) != 0 {
			t.Errorf("month %d leaves %v", i+1, left)
		}
	}
}
