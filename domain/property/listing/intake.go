package listing

import (
	"context"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Intake says how listings from outside are taken in. Their values are the fields of BatchItem.
func (h Listings) Intake() intake.Kind {
	door := &intake.Door[BatchItem]{
		Form: api.NewForm[BatchItem](),
		Name: func(item *BatchItem, of *id.ID) { item.ID = of },
		// A person who settles a conflict of a source gets the refusal if the currency has to stay; a sync does not.
		From: func(item *BatchItem, from intake.Origin, _ string) {
			item.isSynced = from.SourceID.IsZero() || !from.SyncID.IsZero()
		},
		Save: func(ctx context.Context, tx *db.Tx, _ intake.Origin, items []BatchItem) ([]api.Attempt, error) {
			return h.save(ctx, tx, items)
		},
	}

	// Names are never enough to know a listing by. One that its source has no more stays as it is: its guests and
	// books stay too, and only people say that it is not managed any more.
	return intake.Kind{
		Name: "listing", Entity: audit.Listing, Lengths: door.Form.Lengths("address.stateCode", "address.countryCode"), Fills: []string{"defaultCurrency"},
		Filled: intake.LoadFilledFrom("listing", "default_currency", "defaultCurrency"),
		Keeps:  []string{"defaultCurrency"},
		Match:  intake.MatchByRef("listing"), Current: currentValues, Show: loadValues, Save: door.Write,
		Any: intake.AnyIn("listing"),
	}
}

// currentValues locks listings and returns their values.
func currentValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	found, err := lockAll(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	out := make(map[id.ID]intake.Values, len(found))

	for v, l := range found {
		if out[v], err = intake.Encode(l); err != nil {
			return nil, err
		}
	}

	return out, nil
}

// loadValues returns the values of listings.
func loadValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	found, err := ByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	out := make(map[id.ID]intake.Values, len(found))

	for v, l := range found {
		if out[v], err = intake.Encode(&l); err != nil {
			return nil, err
		}
	}

	return out, nil
}
