package reservation_test

import (
	"testing"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/reservation"
	"stayledger/platform/day"
)

// Only a stay whose accounting date is in the window of its connection has a journal. The date is that of the team's
// recognition; the end of the window is not in it.
//
// Proves: CUT-13..CUT-17.
func TestAccountingWindows(t *testing.T) {
	t.Parallel()

	// The stay is booked on December 10, from January 29 to February 3.
	for _, c := range []struct {
		name        string
		recognition fee.Recognition
		start, end  string
		change      func(*reservation.Input)
		posts       bool
	}{
		{"no window", fee.CheckIn, "", "", nil, true},
		{"from the check-in on", fee.CheckIn, "2026-01-29", "", nil, true},
		{"after the check-in", fee.CheckIn, "2026-01-30", "", nil, false},
		{"to the check-in", fee.CheckIn, "", "2026-01-29", nil, false},
		{"to the day after", fee.CheckIn, "", "2026-01-30", nil, true},
		{"both bounds", fee.CheckIn, "2026-01-01", "2026-02-01", nil, true},
		{"check-out inside", fee.CheckOut, "2026-02-01", "", nil, true},
		{"check-out outside", fee.CheckOut, "", "2026-02-03", nil, false},
		{"pro rata goes by check-out", fee.ProRata, "2026-02-03", "", nil, true},
		{"pro rata before", fee.ProRata, "", "2026-02-03", nil, false},
		{"booked inside", fee.BookedAt, "", "2025-12-11", nil, true},
		{"booked outside", fee.BookedAt, "2025-12-11", "", nil, false},
		{"booked on no day", fee.BookedAt, "2026-01-29", "2026-01-30", func(in *reservation.Input) { in.Reservation.BookedAt = nil }, true},
		{"a long stay goes by check-out", fee.CheckIn, "2026-02-03", "", func(in *reservation.Input) { in.LongTermStayNights = new(int64(3)) }, true},
		{"a posting date", fee.CheckIn, "2026-03-01", "", func(in *reservation.Input) { in.Reservation.GeneralLedgerPostingAt = new(date(t, "2026-03-01")) }, true},
		{"kept out of the ledger", fee.CheckIn, "", "", func(in *reservation.Input) { in.Reservation.GeneralLedgerStatus = reservation.LedgerInactive }, false},
	} {
		in := stayA(t)
		in.Recognition, in.Reservation.BookedAt = c.recognition, new(date(t, "2025-12-10"))

		for text, bound := range map[string]**day.Day{c.start: &in.Window.StartAt, c.end: &in.Window.EndAt} {
			if text != "" {
				*bound = new(date(t, text))
			}
		}

		if c.change != nil {
			c.change(in)
		}

		if got := len(reservation.Journal(in).Postings) > 0; got != c.posts {
			t.Errorf("%s: posts is %v", c.name, got)
		}
	}
}
