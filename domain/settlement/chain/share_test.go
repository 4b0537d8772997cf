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
		if left := settled.Balance(balances[i].ID).Remaining(); chain.Total(left) != 0 {
			t.Errorf("month %d leaves %v", i+1, left)
		}
	}
}

// An opening balance that names a member is the member's own, and the rest goes by split: payouts of the member lower it,
// and nothing is paid by it.
func TestAnOpeningBalanceByNameIsTheMembersOwn(t *testing.T) {
	t.Parallel()

	owners := []chain.Owner{
		{ContactID: id.Derive(time.UnixMilli(0), "member", "anna"), Split: 60_000},
		{ContactID: id.Derive(time.UnixMilli(0), "member", "bert"), Split: 40_000},
	}
	date := func(month time.Month, d int) day.Day { return day.Of(time.Date(2026, month, d, 0, 0, 0, 0, time.UTC)) }
	opening := chain.Distribution{ContactID: owners[0].ContactID, Date: date(3, 31), Since: date(3, 31), Opening: true, Total: -48_000}
	paid := chain.Distribution{ContactID: owners[0].ContactID, Date: date(5, 2), Since: date(5, 2), Total: 30_000}
	common := chain.Distribution{Date: date(5, 3), Since: date(5, 3), Total: 5_000}

	// 480.00 of Anna's and 100.00 that both earned in April, before and after two payouts: one to her, and one to both.
	for _, c := range []struct {
		name    string
		payouts []chain.Distribution
		left    []money.Cents
	}{
		{"nothing is paid", []chain.Distribution{opening}, []money.Cents{54_000, 4_000}},
		{"she is paid", []chain.Distribution{opening, paid}, []money.Cents{24_000, 4_000}},
		{"both are paid", []chain.Distribution{opening, paid, common}, []money.Cents{21_000, 2_000}},
		{"without the opening's name", []chain.Distribution{paid}, []money.Cents{4_800, 23_200}},
	} {
		april := chain.Balance{
			ID: id.Derive(time.UnixMilli(0), "statement", "april"), StartAt: date(4, 1), EndAt: date(4, 30), Published: true, Available: 58_000,
		}

		h := chain.NewHistory(owners, []chain.Balance{april}, c.payouts)
		if left := h.Balance(april.ID).Remaining(); !slices.Equal(left, c.left) {
			t.Errorf("%s: %v is left, want %v", c.name, left, c.left)
		}
	}

	// Imported statements have payouts of their own and no opening.
	h := chain.NewHistory(owners, nil, []chain.Distribution{opening})
	if got, want := h.Shares(48_000, date(3, 31), true), []money.Cents{28_800, 19_200}; !slices.Equal(got, want) {
		t.Errorf("an imported balance is shared as %v, want %v", got, want)
	}
}
