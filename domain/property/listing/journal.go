package listing

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// handler knows the journals that follow the owners of listings.
type handler struct{ journals ledger.Sources }

// written answers the write of a period and has the journals follow.
func (h handler) written(ctx context.Context, tx *db.Tx, p *Period) (*Period, *operation.New, error) {
	n, err := h.follow(ctx, tx, p.ListingID)
	if err != nil {
		return nil, nil, err
	}

	saved, err := onePeriod(ctx, tx, p.ID)

	return saved, n, err
}

// follow has the journals of a listing follow its owners. A team with a general ledger leaves that to the operation it
// describes; any other has next to no journals, and those follow at once (INIT-41 … INIT-46).
func (h handler) follow(ctx context.Context, tx *db.Tx, listingID id.ID) (*operation.New, error) {
	kept, err := db.Get[bool](ctx, tx, `select is_general_ledger from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the team: %w", err)
	}

	changed := ledger.Basis{Listings: []id.ID{listingID}}
	if !kept {
		return nil, h.journals.Follow(ctx, tx, changed)
	}

	return h.journals.Mark(ctx, tx, changed, ledger.Outdated{
		Reason: ledger.OwnershipChanged, Type: operation.ListingJournalRefresh, Cause: operation.Resource{Type: operation.Listing, ID: listingID},
	})
}

// work is what the operation does.
func (h handler) work(ctx context.Context, tx *db.Tx, started *operation.Acknowledgement) error {
	return h.journals.Follow(ctx, tx, ledger.Basis{Listings: []id.ID{started.Resource.ID}})
}
