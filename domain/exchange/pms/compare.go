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

// CutoverTarget is a listing of the target with the source listing that it matches.
type CutoverTarget struct {
	TargetListingConnectionID id.ID            `json:"targetListingConnectionId"`
	UniqueRef                 string           `json:"uniqueRef" doc:"The system's own id of the listing."`
	Name                      string           `json:"name"`
	Address                   *contact.Address `json:"address"`
	ListingID                 *id.ID           `json:"listingId" doc:"The listing here that it is now; null before the first sync."`
	Status                    MappingStatus    `json:"status" doc:"alreadyShared: it is a listing of the source; matched: one of these has its name; ambiguous: several have, or one at another address; unmapped: none has."`
	SuggestedListing          *Place           `json:"suggestedListing" doc:"The listing of the source that it probably is; null for none that is certain."`
}

// CutoverListings are the listings of both systems of a cutover.
type CutoverListings struct {
	SourceListings []Place         `json:"sourceListings" doc:"Listings here that the source has."`
	TargetListings []CutoverTarget `json:"targetListings" doc:"Listings of the target, and what they are or could be."`
}

// Compare matches each listing of the target with a listing of the source (CUT-19..CUT-27). A source listing that
// another target listing is bound to already is no candidate, and one that several target listings match is
// ambiguous.
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

	out := &CutoverListings{
		SourceListings: append([]Place{}, here...), TargetListings: make([]CutoverTarget, len(refs)),
	}
	found := compare(here, refs)

	for i := range refs {
		r := &refs[i]
		out.TargetListings[i] = CutoverTarget{
			TargetListingConnectionID: r.ID, UniqueRef: r.ExternalID, Name: r.Name, Address: r.Address,
			ListingID: r.ListingID, Status: found[i].status, SuggestedListing: found[i].listing,
		}
	}

	return out, nil
}

// compare returns a suggestion for each listing of the target, among the listings of the source (here).
func compare(here []Place, refs []ref) []suggestion {
	// A source listing that is bound already is not free for another target listing.
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

	// Then suggest a source listing for each target listing that is not shared yet.
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

	// Last, two target listings with the same suggestion are ambiguous: one of them would be wrong.
	for i := range out {
		if l := out[i].listing; l != nil && wanted[l.ID] > 1 {
			out[i] = suggestion{status: Ambiguous}
		}
	}

	return out
}

// IsSystem reports whether an app is a property-management system.
func IsSystem(a connection.AppID) bool { return find(a) != nil }

// Bindings bind listings of a system to listings here: Refs[i] to Listings[i], nil for a new one. Moves are listings
// here that were replaced by others.
type Bindings struct {
	Refs     []id.ID
	Listings []*id.ID
	Moves    intake.Moves
}

// BindListings saves bindings, and moves the external records of replaced listings.
func BindListings(ctx context.Context, tx *db.Tx, connection id.ID, b *Bindings) error {
	if err := updateListings(ctx, tx, connection, b.Refs, b.Listings); err != nil {
		return err
	}

	return intake.Rebind(ctx, tx, connection, listingKind, b.Moves)
}
