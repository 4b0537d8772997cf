package listing

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// Listings serves listings and their owners. It knows the journals that follow the owners, and what uses a listing.
type Listings struct {
	journals ledger.Sources
	endFees  EndFees
	listings *parts.Usage
	periods  *parts.Usage
}

// answerSaved returns the answer to the write of a period, and the operation that its journals follow in, if any.
func (h Listings) answerSaved(ctx context.Context, tx *db.Tx, p *Period) (*Period, *operation.New, error) {
	n, err := h.follow(ctx, tx, p.ListingID)
	if err != nil {
		return nil, nil, err
	}

	// An end that is past counts at once.
	if err := h.deactivateEnded(ctx, tx, []id.ID{p.ListingID}); err != nil {
		return nil, nil, err
	}

	saved, err := loadPeriod(ctx, tx, p.ID)

	return saved, n, err
}

// follow brings the journals of a listing, and of all listings of a group, up to date with their owners. In a team
// with a general ledger it returns the operation that will do this. Other teams have next to no journals, and those
// follow at once (INIT-41 … INIT-46).
func (h Listings) follow(ctx context.Context, tx *db.Tx, listingID id.ID) (*operation.New, error) {
	kept, err := db.Get[bool](ctx, tx, `select is_general_ledger from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the team: %w", err)
	}

	changed, err := basis(ctx, tx, listingID)
	if err != nil {
		return nil, err
	}

	if !kept {
		return nil, h.journals.Follow(ctx, tx, changed)
	}

	return h.journals.Mark(ctx, tx, changed, ledger.Outdated{
		Reason: ledger.OwnershipChanged, Type: operation.ListingJournalRefresh,
		Cause: operation.Resource{Type: operation.Listing, ID: listingID},
	})
}

// basis returns the listings that have the owners of a listing: itself, and those of the group that it may be.
func basis(ctx context.Context, tx *db.Tx, listingID id.ID) (ledger.Basis, error) {
	members, err := lockMembers(ctx, tx, listingID)
	return ledger.Basis{Listings: append([]id.ID{listingID}, members...)}, err
}

// work derives the journals of the listing that the operation names, and of the members of a group.
func (h Listings) work(ctx context.Context, tx *db.Tx, started *operation.Acknowledgement) error {
	changed, err := basis(ctx, tx, started.Resource.ID)
	if err != nil {
		return err
	}

	return h.journals.Follow(ctx, tx, changed)
}
