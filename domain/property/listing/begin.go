package listing

import (
	"context"
	"slices"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// BeginOwnership gives a listing an ownership period, as its endpoint does. It does nothing if the same owners have
// the same shares of a period that is there and shares a day with it.
func (h Listings) BeginOwnership(ctx context.Context, tx *db.Tx, listing id.ID, terms *CreatedTerms) error {
	p := newPeriod(tx, listing, terms)

	own, err := LoadOwnPeriods(ctx, tx, []id.ID{listing})
	if err != nil {
		return err
	}

	isSame := func(o Period) bool { return o.overlaps(p) && slices.Equal(o.Members, p.Members) }
	if slices.ContainsFunc(own[listing], isSame) {
		return nil
	}

	in := &createPeriodInput{CreatePeriod{ListingID: listing, CreatedTerms: *terms}}

	_, follows, err := h.createPeriod(ctx, tx, in)
	if err != nil || follows == nil {
		return err
	}

	_, err = operation.Start(ctx, tx, *follows)

	return err
}
