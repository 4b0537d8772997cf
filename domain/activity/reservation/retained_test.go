package reservation_test

import (
	"testing"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/money"
)

// What is kept of a canceled stay is owed by the guest and is the owners' cancellation revenue, unless a mapping says
// otherwise; the other lines count no more.
func TestRetainedLinesCountWhenAStayIsCanceled(t *testing.T) {
	t.Parallel()

	in := stayA(t)
	in.Fees = nil
	in.Reservation.Status, in.Reservation.CancelledAt = reservation.Canceled, new(date(t, "2026-01-20"))
	in.Reservation.Lines = []reservation.Line{line("rent", 90_000), line(reservation.Retained, 12_345)}
	in.Assigned[account.CancellationRevenue] = chart("4090")

	for _, c := range []struct{ name, credited string }{{"no mapping", "4090"}, {"a mapping", "4010"}} {
		if c.name == "a mapping" {
			in.Mappings = mapped(mappingOf(reservation.Retained, "4010", ledger.Owners))
		}

		sums := map[string]money.Cents{}

		for _, p := range reservation.Journal(in).Postings {
			if p.TxnAt.String() != "2026-01-20" {
				t.Errorf("%s: posted on %v", c.name, p.TxnAt)
			}

			for _, l := range p.Lines {
				sums[codeOf(l.AccountID)] += l.CentTotal
			}
		}

		if len(sums) != 2 || sums[c.credited] != -12_345 || sums[guestDeposits] != 12_345 {
			t.Errorf("%s: %v", c.name, sums)
		}
	}
}

// What a fee is charged on of a cancellation is each line once, whatever account it goes to, and what is kept.
func TestFeesOnCancellationsCountEachLineOnce(t *testing.T) {
	t.Parallel()

	in := stayA(t)
	in.Fees = []fee.Subscription{subscription(t, 9, "Cancellation fee", "cancellation", [2]string{"4090", "4500"})}
	in.Assigned[account.CancellationRevenue] = chart("4090")
	in.Mappings = mapped(mappingOf("cancellation", "4090", ledger.Owners))
	in.Reservation.Lines = []reservation.Line{line("rent", 90_000), line("cancellation", 10_000), line(reservation.Retained, 2_345)}

	sum := money.Cents(0)

	for _, p := range reservation.Journal(in).Postings {
		for _, l := range p.Lines {
			if codeOf(l.AccountID) == "4500" {
				sum -= l.CentTotal
			}
		}
	}

	if sum != 12_345 {
		t.Errorf("the fee is %d", sum)
	}
}
