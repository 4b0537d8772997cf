package statement_test

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/day"
	"stayledger/platform/money"
)

// withinACent reports that a part of the common amount is less than a cent off the exact one.
func withinACent(part, common money.Cents, split, whole int64) bool {
	exact := new(big.Int).Mul(big.NewInt(int64(common)), big.NewInt(split))
	off := new(big.Int).Sub(new(big.Int).Mul(big.NewInt(int64(part)), big.NewInt(whole)), exact)

	return off.CmpAbs(big.NewInt(whole)) < 0
}

func sum(cents []money.Cents) (total money.Cents) {
	for _, c := range cents {
		total += c
	}

	return total
}

func drawSplits(t *rapid.T) []int64 {
	switch rapid.IntRange(0, 3).Draw(t, "kind of splits") {
	case 0:
		return []int64{33333, 33333, 33334}
	case 1:
		return []int64{14285, 14285, 14285, 14285, 14286, 14287, 14287}
	}

	n := rapid.IntRange(1, 7).Draw(t, "members")

	splits, left := make([]int64, n), int64(100_000)
	for i := range splits {
		splits[i] = left
		if i < n-1 {
			splits[i] = rapid.Int64Range(1, left-int64(n-1-i)).Draw(t, "split")
		}

		left -= splits[i]
	}

	return splits
}

// Whatever is earned and paid, a statement's shares add up to the available amount and are within a cent of the income
// of each member so far less his payouts; the members' parts of a month add up to the month, and go on where the one
// before ended. The open amounts of all statements add up to all that is open, member by member.
func TestSharesFollowFromTheCumulativeBalance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		splits := drawSplits(t)
		c := statement.NewHistory(splits)
		cents := func(label string, most int64) money.Cents {
			return money.Cents(rapid.Int64Range(-most, most).Draw(t, label))
		}

		var balance money.Cents

		months := rapid.IntRange(1, 14).Draw(t, "months")

		var before []statement.Financials

		month := day.Of(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))

		for n := range months {
			f := statement.Financials{BalanceStart: balance, NetRevenue: cents("net revenue", 500), Expenses: -max(0, cents("expenses", 200)), Reserve: max(0, cents("reserve", 50))}
			for range rapid.IntRange(0, 3).Draw(t, "payouts") {
				paid, to := cents("payout", 400), rapid.IntRange(0, len(splits)).Draw(t, "to")
				c.Pay(month.AddDays(rapid.IntRange(0, 27).Draw(t, "day")), to, paid)
				f.Payouts -= paid
			}

			f.NetIncome = f.NetRevenue + f.Expenses
			f.BalanceEnd = f.BalanceStart + f.NetIncome + f.Payouts
			f.Available = f.BalanceEnd - f.Reserve
			balance = f.BalanceEnd
			c.Publish(month, f)

			own := c.Paid(month.LastOfMonth())
			_, shares, parts := c.Told(n)

			var told []money.Cents

			added := make([]money.Cents, 6)

			for i := range shares {
				told = append(told, shares[i].Amount)
				if !withinACent(shares[i].Amount-own[i], f.Available-sum(own), splits[i], sum64(splits)) {
					t.Fatalf("member %d has %d of %d, paid %v", i, shares[i].Amount, f.Available, own)
				}

				p := &parts[i]
				if !withinACent(p.BalanceEnd-own[i], f.BalanceEnd-sum(own), splits[i], sum64(splits)) {
					t.Fatalf("member %d holds %d of %d, paid %v", i, p.BalanceEnd, f.BalanceEnd, own)
				}

				if p.Available != shares[i].Amount || p.BalanceEnd != p.BalanceStart+p.NetIncome+p.Payouts || p.Available != p.BalanceEnd-p.Reserve {
					t.Fatalf("member %d: %+v, share %+v", i, p, shares[i])
				}

				if before != nil && p.BalanceStart != before[i].BalanceEnd {
					t.Fatalf("member %d starts with %d after %d", i, p.BalanceStart, before[i].BalanceEnd)
				}

				for k, v := range []money.Cents{p.BalanceStart, p.NetRevenue, p.Expenses, p.Payouts, p.BalanceEnd, p.Reserve} {
					added[k] += v
				}
			}

			if sum(told) != f.Available || !slices.Equal(added, []money.Cents{f.BalanceStart, f.NetRevenue, f.Expenses, f.Payouts, f.BalanceEnd, f.Reserve}) {
				t.Fatalf("the parts of %+v add up to %v, the shares to %d", f, added, sum(told))
			}

			before = parts
			month = month.LastOfMonth().AddDays(1)
		}

		for range rapid.IntRange(0, 2).Draw(t, "later payouts") {
			c.Pay(month.AddDays(3), rapid.IntRange(0, len(splits)).Draw(t, "to"), cents("later payout", 900))
		}

		checkOpen(t, c, months, splits, month)
	})
}

// checkOpen holds what statements tell of payments against each other and against the balance that is there now.
func checkOpen(t *rapid.T, c *statement.History, months int, splits []int64, now day.Day) {
	open := make([]money.Cents, len(splits))

	for n := range months {
		p, shares, _ := c.Told(n)

		var added statement.Payment

		for i := range shares {
			s := &shares[i]
			if s.Open != s.Amount-s.Received-s.Offset-s.BroughtForward {
				t.Fatalf("statement %d, member %d: %+v", n, i, s)
			}

			open[i] += s.Open
			added.Expected += s.Amount
			added.Received += s.Received
			added.Offset += s.Offset
			added.BroughtForward += s.BroughtForward
			added.Open += s.Open
		}

		if added.Status = p.Status; added != p {
			t.Fatalf("statement %d: %+v, the shares add up to %+v", n, p, added)
		}

		if (p.Status == statement.Paid) != (p.Open+p.BroughtForward == 0) {
			t.Fatalf("statement %d: %+v", n, p)
		}
	}

	if left := c.Left(); !slices.Equal(open, left) {
		t.Fatalf("%v are open on the statements, %v in all", open, left)
	}

	available, own := c.Now(now.LastOfMonth())
	if want := chain.Divide(available, splits, own); !slices.Equal(open, want) {
		t.Fatalf("%v are open, the books hold %v", open, want)
	}
}

func sum64(values []int64) (total int64) {
	for _, v := range values {
		total += v
	}

	return total
}

// Payouts settle the oldest open balance first, whatever statement they name.
func TestPayoutsSettleTheOldestBalance(t *testing.T) {
	t.Parallel()

	type told struct {
		expected, received, offset, broughtForward, open money.Cents
		status                                           statement.PaymentStatus
	}
	// Months have the income and the payouts within them; later is paid after the last.
	for name, c := range map[string]struct {
		earned, paid []money.Cents
		later        money.Cents
		lost         bool // the last payout within did not arrive
		want         []told
	}{
		"carried forward": {
			earned: []money.Cents{1000, 500},
			want:   []told{{1000, 0, 0, 0, 1000, statement.Unpaid}, {1500, 0, 0, 1000, 500, statement.Unpaid}},
		},
		"carried forward and paid": {
			earned: []money.Cents{1000, 500}, later: 1500,
			want: []told{{1000, 1000, 0, 0, 0, statement.Paid}, {1500, 1500, 0, 0, 0, statement.Paid}},
		},
		"paid in part": {
			earned: []money.Cents{1000, 500}, later: 600,
			want: []told{{1000, 600, 0, 0, 400, statement.Underpaid}, {1500, 600, 0, 400, 500, statement.Underpaid}},
		},
		"more than the first": {
			earned: []money.Cents{1000, 500}, later: 1200,
			want: []told{{1000, 1000, 0, 0, 0, statement.Paid}, {1500, 1200, 0, 0, 300, statement.Underpaid}},
		},
		"paid in the month after": {
			earned: []money.Cents{1000, 500}, paid: []money.Cents{0, 400}, later: 1000,
			want: []told{{1000, 1000, 0, 0, 0, statement.Paid}, {1100, 1000, 0, 0, 100, statement.Underpaid}},
		},
		"a loss after it": {
			earned: []money.Cents{1000, -200}, later: 800,
			want: []told{{1000, 800, 200, 0, 0, statement.Paid}, {800, 800, 0, 0, 0, statement.Paid}},
		},
		"a loss after it, unpaid": {
			earned: []money.Cents{1000, -200},
			want:   []told{{1000, 0, 200, 0, 800, statement.Unpaid}, {800, 0, 0, 800, 0, statement.Unpaid}},
		},
		"owed and earned back": {
			earned: []money.Cents{-200, 500},
			want:   []told{{-200, 0, -200, 0, 0, statement.Paid}, {300, 0, 0, 0, 300, statement.Unpaid}},
		},
		"owed and carried": {
			earned: []money.Cents{-200, -100}, later: -250,
			want: []told{{-200, -200, 0, 0, 0, statement.Paid}, {-300, -250, 0, 0, -50, statement.Underpaid}},
		},
		"paid too much": {
			earned: []money.Cents{1000}, later: 1200,
			want: []told{{1000, 1200, 0, 0, -200, statement.Overpaid}},
		},
		"paid too much and earned since": {
			earned: []money.Cents{1000, 500}, paid: []money.Cents{0, 1200},
			want: []told{{1000, 1000, 0, 0, 0, statement.Paid}, {300, 0, 0, 0, 300, statement.Unpaid}},
		},
		"given back": {
			earned: []money.Cents{1000, 500}, paid: []money.Cents{0, 1000}, later: -1000,
			want: []told{{1000, 0, 0, 0, 1000, statement.Unpaid}, {500, -1000, 0, 1000, 500, statement.Underpaid}},
		},
		"paid in the month after, and did not arrive": {
			earned: []money.Cents{1000, 500}, paid: []money.Cents{0, 1000}, lost: true,
			want: []told{{1000, 0, 0, 0, 1000, statement.Unpaid}, {1500, 0, 0, 1000, 500, statement.Unpaid}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			history := statement.NewHistory([]int64{100_000})
			month := day.Of(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

			var balance money.Cents
			for n, earned := range c.earned {
				f := statement.Financials{BalanceStart: balance, NetRevenue: earned, NetIncome: earned}
				if n < len(c.paid) && c.paid[n] != 0 {
					f.Payouts = -c.paid[n]
					history.Pay(month.AddDays(9), 1, c.paid[n])

					if c.lost {
						history.Lose()
					}
				}

				f.BalanceEnd = balance + earned + f.Payouts
				f.Available, balance = f.BalanceEnd, f.BalanceEnd
				history.Publish(month, f)
				month = month.LastOfMonth().AddDays(1)
			}

			if c.later != 0 {
				history.Pay(month.AddDays(4), 0, c.later)
			}

			for n, want := range c.want {
				p, _, _ := history.Told(n)
				if got := (told{p.Expected, p.Received, p.Offset, p.BroughtForward, p.Open, p.Status}); got != want {
					t.Errorf("month %d is told as %+v, want %+v", n+1, got, want)
				}
			}
		})
	}
}
