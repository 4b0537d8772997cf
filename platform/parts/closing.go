package parts

import (
	"context"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
)

// ClosingCheck returns findings for a person who closes the books before a day. It refuses nothing. From is the first
// open day so far; nil if the books were never closed.
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
