package rule

import (
	"context"
	"slices"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// MoveContact has rules name another vendor than before, each as a new version.
func MoveContact(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	return changeRules(ctx, tx, `r.vendor_contact_id = @from`, from, func(r *Rule) { r.VendorContactID = &into })
}

// MoveListing has lines of rules name another listing than before, each rule as a new version.
func MoveListing(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	return changeRules(ctx, tx, `exists (select from jsonb_array_elements(r.lines) l where l ->> 'listingId' = @from::uuid::text)`, from, func(r *Rule) {
		for i := range r.Lines {
			if l := &r.Lines[i]; l.ListingID != nil && *l.ListingID == from {
				l.ListingID = &into
			}
		}
	})
}

// changeRules changes the rules that a condition about a record selects.
func changeRules(ctx context.Context, tx *db.Tx, condition string, from id.ID, do func(*Rule)) error {
	found, err := loadRules(ctx, tx, condition, db.Args{"from": from})
	if err != nil {
		return err
	}

	for i := range found {
		s, err := lockForChange(ctx, tx, found[i].ID)
		if err != nil {
			return err
		}

		before := s.Rule
		s.Lines = slices.Clone(s.Lines)
		s.Version++
		s.UpdatedAt = day.At(tx.Now)
		do(&s.Rule)

		if err := s.saveWithVersion(ctx, tx); err != nil {
			return err
		}

		note(tx, &before, &s.Rule)
	}

	return nil
}
