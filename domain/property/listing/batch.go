package listing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// BatchItem is a listing to save: a new one, or with an ID the fields of one that change.
type BatchItem struct {
	ID *id.ID `json:"-"`
	Update
	// isSynced says that a system gives the fields. A currency that cannot change is left out of them, because the
	// other fields are no less right for that.
	isSynced bool
}

// draft is a listing as it is written. Before is the listing as it was, nil for a new one.
type draft struct {
	Listing

	place  int
	before any
}

// save creates and changes listings, each by itself: one that is refused keeps no other from being saved. It returns an
// attempt for each item, in the order given.
func (h Listings) save(ctx context.Context, tx *db.Tx, items []BatchItem) ([]api.Attempt, error) {
	var ids []id.ID

	for i := range items {
		if items[i].ID != nil {
			ids = append(ids, *items[i].ID)
		}
	}

	found, err := lockAll(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	// First decide item by item.
	out, drafts := make([]api.Attempt, len(items)), []*draft{}

	for i := range items {
		d, err := h.decide(ctx, tx, &items[i], found)

		// A listing is changed by one item of a call.
		if items[i].ID != nil {
			delete(found, *items[i].ID)
		}

		switch {
		case err == nil:
			d.place = i
			drafts = append(drafts, d)
			out[i] = api.Attempt{ID: d.ID, UniqueRef: d.UniqueRef}
		case apierr.IsRefusal(err):
			out[i] = api.Attempt{UniqueRef: items[i].UniqueRef.Value, Refusal: apierr.From(err)}
		default:
			return nil, err
		}
	}

	// Then write together what was not refused; a reference that another listing has is found by halves.
	refusals, err := db.Halves(ctx, tx, len(drafts), apierr.IsRefusal, func(ctx context.Context, tx *db.Tx, from, to int) error {
		return saveDrafts(ctx, tx, drafts[from:to])
	})

	for i, refusal := range refusals {
		if refusal != nil {
			out[drafts[i].place] = api.Attempt{UniqueRef: drafts[i].UniqueRef, Refusal: apierr.From(refusal)}
		}
	}

	return out, err
}

// decide returns the listing that an item makes or changes. It fails with 400 for a new one without a name and for an
// unknown currency, with apierr.NotFound, and with errInUse if the currency has to stay or a
// listing in use would become inactive.
func (h Listings) decide(ctx context.Context, tx *db.Tx, item *BatchItem, found map[id.ID]*Listing) (*draft, error) {
	d := newDraft(tx)

	if item.ID != nil {
		l := found[*item.ID]
		if l == nil {
			return nil, apierr.NotFound
		}

		d.Listing, d.before = *l, l
	}

	if err := item.apply(&d.Listing); err != nil {
		return nil, err
	}

	if was := found[d.ID]; was != nil && was.DefaultCurrency != d.DefaultCurrency {
		err := checkCurrency(ctx, tx, was)

		switch {
		case err == nil:
		case item.isSynced && apierr.IsRefusal(err):
			d.DefaultCurrency = was.DefaultCurrency
		default:
			return nil, err
		}
	}

	if item.Name != nil {
		d.Name = *item.Name
	}

	if d.Name == "" {
		return nil, apierr.BadRequest.At(apierr.IssueRequired.InBody("name"))
	}

	// Only leaving the status active needs a check.
	if item.Status != nil && d.Status != *item.Status {
		if *item.Status == Inactive && item.ID != nil {
			used, err := h.listings.LoadArchiving(ctx, tx, d.ID)
			if err != nil {
				return nil, err
			}

			if err := checkDeactivate(used); err != nil {
				return nil, err
			}
		}

		d.Status = *item.Status
	}

	return d, nil
}

// newDraft returns a new listing without anything that a caller says of it.
func newDraft(tx *db.Tx) *draft {
	made := tx.NewID()
	return &draft{Listing: Listing{ID: made, ShortRef: made.ShortRef(), Status: Active}}
}

// saveDrafts inserts new listings and saves all fields of changed ones. It fails with errDuplicateUniqueRef.
func saveDrafts(ctx context.Context, tx *db.Tx, drafts []*draft) error {
	rows := make([]*Listing, len(drafts))
	for i, d := range drafts {
		rows[i] = &d.Listing
	}

	// Requests that wait for each other's references wait in the order of the references.
	slices.SortFunc(rows, func(a, b *Listing) int {
		return cmp.Or(strings.Compare(ptr.Value(a.UniqueRef), ptr.Value(b.UniqueRef)), a.ID.Compare(b.ID))
	})

	type row struct {
		ID              id.ID
		DefaultCurrency string
	}

	upsert := listingTable.Upsert(tx, rows...)

	saved, err := db.Select[row](ctx, tx, upsert.SQL+" returning listing.id, listing.default_currency", upsert.Args)
	if err != nil {
		return fmt.Errorf("save listings: %w", conflict(err))
	}

	currencies := make(map[id.ID]string, len(saved))
	for _, r := range saved {
		currencies[r.ID] = r.DefaultCurrency
	}

	for _, d := range drafts {
		d.DefaultCurrency = currencies[d.ID]

		if d.before == nil {
			audit.Note(tx, audit.Created, audit.Listing, d.ID, nil, &d.Listing)
		} else {
			audit.Note(tx, audit.Updated, audit.Listing, d.ID, d.before, &d.Listing)
		}
	}

	return nil
}
