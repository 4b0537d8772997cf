package parts

import (
	"context"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
)

// ClosingCheck returns what a person should look at when the books are closed before a day. It refuses nothing. From is the
// first day that was open until now; nil when the books were never closed.
type ClosingCheck func(ctx context.Context, tx *db.Tx, from *day.Day, before day.Day) ([]finding.Finding, error)

// ClosingChecks returns the checks that nouns declare, in their order.
func ClosingChecks(nouns ...Part) (all []ClosingCheck) {
	for _, p := range nouns {
		if p.Closing != nil {
			all = append(all, p.Closing)
		}
	}

	return all
}
