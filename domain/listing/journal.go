package listing

import (
	"context"
	"fmt"

	"stayledger/domain/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// Derive does something about the journals of everything that touches some listings: those of their reservations and of the transactions
// with a line on them. Journals that a lock holds stay as they are.
type Derive func(ctx context.Context, tx *db.Tx, listingIDs []id.ID) error

// Journals are what the writes of ownership set off in packages that build on this one.
type Journals struct {
	// Derive brings the journals around some listings up to date.
	Derive Derive
	// Outdate marks them as stale, for an operation to derive.
	Outdate Derive
}

// RefreshKind is the kind of the task that derives the journals of one listing; package journal handles it.
var RefreshKind = job.NewKind("listing.refresh")

// RefreshArgs are the arguments of such a task.
type RefreshArgs struct {
	ListingID id.ID `json:"listingId"`
}

type handler struct{ Journals }

// written answers the write of a period and has the journals follow.
func (h handler) written(ctx context.Context, tx *db.Tx, p *Period) (*Period, *operation.New, error) {
	n, err := h.follow(ctx, tx, p.ListingID)
	if err != nil {
		return nil, nil, err
	}
	saved, err := onePeriod(ctx, tx, p.ID)
	return saved, n, err
}

// follow has the journals of a listing follow its owners. A team with a general ledger leaves that to the operation it describes; any other
// has next to no journals, and those follow at once (INIT-41 … INIT-46).
func (h handler) follow(ctx context.Context, tx *db.Tx, listingID id.ID) (*operation.New, error) {
	kept, err := db.Get[bool](ctx, tx, `select is_general_ledger from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the team: %w", err)
	}
	if !kept {
		return nil, h.Derive(ctx, tx, []id.ID{listingID})
	}
	if err := h.Outdate(ctx, tx, []id.ID{listingID}); err != nil {
		return nil, err
	}
	target := operation.Resource{Type: operation.Listing, ID: listingID, Role: operation.Target}
	return &operation.New{
		Type: operation.ListingJournalRefresh, Primary: &target, Resources: []operation.Resource{target},
		Tasks: []operation.Task{{Kind: RefreshKind, Args: RefreshArgs{ListingID: listingID}}},
	}, nil
}

// work is what the operation does.
func (h handler) work(ctx context.Context, tx *db.Tx, started *operation.Acknowledgement) error {
	return h.Derive(ctx, tx, []id.ID{started.Resource.ID})
}
