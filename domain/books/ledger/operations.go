package ledger

import (
	"context"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// loadOperations reports whether the team uses Operations Accounting.
func loadOperations(ctx context.Context, tx *db.Tx) (bool, error) {
	on, err := db.Get[bool](ctx, tx, `select operations_accounting from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return false, fmt.Errorf("read whether the team uses Operations Accounting: %w", err)
	}

	return on, nil
}

// CheckView refuses the operating view of a report with apierr.OperationsDisabled if the team does not use Operations
// Accounting. The other ledger, and the two together, are always shown.
func CheckView(ctx context.Context, tx *db.Tx, of Ledger) error {
	if of != Operating {
		return nil
	}

	on, err := loadOperations(ctx, tx)
	if err != nil || on {
		return err
	}

	return apierr.OperationsDisabled
}

// CheckOperations refuses the postings of a record that a person or a rule writes, with apierr.OperationsDisabled, if they
// are of the operating ledger alone, name no listing, and the team does not use Operations Accounting. Postings that
// are derived again later are not asked, so what was written before stays in the books.
func CheckOperations(ctx context.Context, tx *db.Tx, postings []Posting) error {
	for i := range postings {
		if !postings[i].isOperations() {
			return nil
		}
	}

	if len(postings) == 0 {
		return nil
	}

	return CheckView(ctx, tx, Operating)
}

// isOperations reports whether a posting is of the operating ledger and names no listing.
func (p *Posting) isOperations() bool {
	for i := range p.Lines {
		if !p.Lines[i].ListingID.IsZero() {
			return false
		}
	}

	return p.Ledger == Operating
}
