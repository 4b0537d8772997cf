package payout_test

import (
	"net/http"
	"strings"
	"testing"
)

// Deciding on payouts reads the members, currency, period, what is available and collected, and what was paid, of the
// named statements alone: no list of drafts, and no words, layouts, versions, issues and e-mails, which a whole statement
// shows. The counts may fall, and whoever raises one says why.
func TestPayoutsReadNoWholeStatements(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	statement := h.january()

	for _, c := range []struct {
		path                   string
		status                 int
		statements, roundTrips int
	}{
		{"/statements/payouts/preview", http.StatusAccepted, 20, 7},
		{"/statements/pay", http.StatusOK, 26, 12},
	} {
		r := h.Post(c.path, body("2026-02-05", statement)).Want(c.status)
		if n, trips := len(r.Sent.Statements), r.Sent.RoundTrips; n != c.statements || trips != c.roundTrips {
			t.Errorf("%s sent %d statements in %d round trips, want %d in %d", c.path, n, trips, c.statements, c.roundTrips)
			t.Log(strings.Join(r.Sent.Statements, "\n"))
		}

		for _, sql := range r.Sent.Statements {
			for _, part := range []string{"statement_version", "words", "layout", "email_delivery", "generate_series"} {
				if strings.Contains(sql, part) {
					t.Errorf("%s reads %s: %s", c.path, part, sql)
				}
			}
		}
	}
}
