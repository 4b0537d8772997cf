package pms

import (
	"context"
	"fmt"

	"stayledger/domain/property/contact"
	"stayledger/domain/record/intake"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/plain"
)

// CutoverTarget is a listing of the target, and the listing of the source that it is or could be.
type CutoverTarget struct {
	TargetListingConnectionID id.ID            `json:"targetListingConnectionId"`
	UniqueRef                 string           `json:"uniqueRef" doc:"The system's own id of the listing."`
	Name                      string           `json:"name"`
	Address                   *contact.Address `json:"address"`
	ListingID                 *id.ID           `json:"listingId" doc:"The listing here that it is now; null before the first sync."`
	Status                    MappingStatus    `json:"status" doc:"alreadyShared: it is a listing of the source; matched: one of these has its name; ambiguous: several have, or one at another address; unmapped: none has."`
	SuggestedListing          *Place           `json:"suggestedListing" doc:"The listing of the source that it probably is; null for none that is certain."`
}

// CutoverListings are the listings of two systems.
type CutoverListings struct {
	SourceListings []Place         `json:"sourceListings" doc:"Listings here that the source has."`
	TargetListings []CutoverTarget `json:"targetListings" doc:"Listings of the target, and what they are or could be."`
}

// Compare finds out which listing of one system each listing of another is or could be (CUT-19..CUT-27). One that another
// listing of the target is already is no candidate, and one that several could be is ambiguous.
func Compare(ctx context.Context, tx *db.Tx, source, target id.ID) (*CutoverListings, error) {
	here, err := db.Select[Place](ctx, tx, `
		select l.id, l.name, l.address from listing l where l.team_id = @team and exists (
			select from listing_connection r where r.team_id = @team and r.listing_id = l.id and r.connection_id = @source)
		order by l.name, l.id`, db.Args{"team": tx.Team, "source": source})
	if err != nil {
		return nil, fmt.Errorf("read the listings of a source: %w", err)
	}

	refs, err := loadRefs(ctx, tx, target)
	if err != nil {
		return nil, err
	}

	out := &CutoverListings{SourceListings: append([]Place{}, here...), TargetListings: make([]CutoverTarget, len(refs))}
	found := compare(here, refs)

	for i := range refs {
		r := &refs[i]
		out.TargetListings[i] = CutoverTarget{
			TargetListingConnectionID: r.ID, UniqueRef: r.ExternalID, Name: r.Name, Address: r.Address, ListingID: r.ListingID,
			Status: found[i].status, SuggestedListing: found[i].listing,
		}
	}

	return out, nil
}

// compare returns for each listing of a target which of some listings here it is or could be.
func compare(here []Place, refs []ref) []suggestion {
	shared := map[id.ID]bool{}

	for i := range refs {
		if refs[i].ListingID != nil {
			shared[*refs[i].ListingID] = true
		}
	}

	free, isSource := places{}, map[id.ID]bool{}
	for _, l := range here {
		if isSource[l.ID] = true; !shared[l.ID] {
			free[plain.Text(l.Name)] = append(free[plain.Text(l.Name)], l)
		}
	}

	out, wanted := make([]suggestion, len(refs)), map[id.ID]int{}

	for i := range refs {
		r := &refs[i]
		if r.ListingID != nil && isSource[*r.ListingID] {
			out[i] = suggestion{status: AlreadyShared}
			continue
		}

		if out[i] = r.suggest(free); out[i].listing != nil {
			wanted[out[i].listing.ID]++
		}
	}

	for i := range out {
		if l := out[i].listing; l != nil && wanted[l.ID] > 1 {
			out[i] = suggestion{status: Ambiguous}
		}
	}

	return out
}

// IsSystem reports whether an app is a property-management system.
func IsSystem(a connection.AppID) bool { return find(a) != nil }

// Bindings say which listings here those of a system are: Listings[i] for Refs[i], nil for a new one. Moves are listings here
// that are others from now on.
type Bindings struct {
	Refs     []id.ID
	Listings []*id.ID
	Moves    intake.Moves
}

// BindListings saves which listings here those of a system are. What the system says of one that is another now goes there.
func BindListings(ctx context.Context, tx *db.Tx, connection id.ID, b *Bindings) error {
	if err := setListings(ctx, tx, connection, b.Refs, b.Listings); err != nil {
		return err
	}

	return intake.Rebind(ctx, tx, connection, listingKind, b.Moves)
}
