package pms

import (
	"context"
	"fmt"

	"stayledger/domain/property/contact"
	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// MappingStatus says how certainly a listing of a system matches a listing here (CUT-07).
type MappingStatus string

// The statuses of mappings.
const (
	AlreadyShared MappingStatus = "alreadyShared"
	Matched       MappingStatus = "matched"
	Ambiguous     MappingStatus = "ambiguous"
	Unmapped      MappingStatus = "unmapped"
)

// Enum lists the statuses.
func (MappingStatus) Enum() []string {
	return []string{string(AlreadyShared), string(Matched), string(Ambiguous), string(Unmapped)}
}

// Mapping is a listing of a system, with its binding or suggestion.
type Mapping struct {
	TargetListingConnectionID id.ID            `json:"targetListingConnectionId"`
	UniqueRef                 string           `json:"uniqueRef" doc:"The system's own id of the listing."`
	Name                      string           `json:"name"`
	Address                   *contact.Address `json:"address"`
	ParentRef                 *string          `json:"parentRef" doc:"The listing of the system that this one is a unit of."`
	Unit                      *string          `json:"unit" doc:"Name of the unit; null for none."`
	ListingID                 *id.ID           `json:"listingId" doc:"The listing here that it is; null while that is not decided, and for one that becomes a new listing."`
	IsDecided                 bool             `json:"isDecided" doc:"Whether a person, or the first sync, has decided."`
	Status                    MappingStatus    `json:"status" doc:"alreadyShared: it is decided; matched: one listing here has its name; ambiguous: several have, or one at another address; unmapped: none has."`
	SuggestedListing          *Place           `json:"suggestedListing" doc:"The listing here that it probably is; null for none that is certain."`
}

// Mappings are all mappings of a connection.
type Mappings struct {
	Data []Mapping `json:"data"`
}

type connectionInput struct {
	ID id.ID `path:"id"`
}

// getMappings returns the listings of a system with their bindings and suggestions.
func getMappings(ctx context.Context, tx *db.Tx, in *connectionInput) (*Mappings, error) {
	c, err := connection.Get(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if find(c.AppID) == nil {
		return nil, apierr.NotImplemented
	}

	return loadMappings(ctx, tx, in.ID)
}

// loadMappings loads the mappings of a connection.
func loadMappings(ctx context.Context, tx *db.Tx, connection id.ID) (*Mappings, error) {
	refs, here, err := loadCandidates(ctx, tx, connection)
	if err != nil {
		return nil, err
	}

	out := &Mappings{Data: make([]Mapping, len(refs))}

	for i := range refs {
		r := &refs[i]
		m := Mapping{
			TargetListingConnectionID: r.ID, UniqueRef: r.ExternalID, Name: r.Name, Address: r.Address,
			ParentRef: r.ParentExternalID, Unit: r.Unit, ListingID: r.ListingID, IsDecided: r.IsDecided,
			Status: AlreadyShared,
		}

		if r.ListingID == nil {
			s := r.suggest(here)
			m.Status, m.SuggestedListing = s.status, s.listing
		}

		out.Data[i] = m
	}

	return out, nil
}

// Decision binds a listing of a system to a listing here.
type Decision struct {
	TargetListingConnectionID id.ID  `json:"targetListingConnectionId"`
	ListingID                 *id.ID `json:"listingId" doc:"null makes it a new listing."`
}

type putMappingsInput struct {
	ID   id.ID `path:"id"`
	Body struct {
		Data []Decision `json:"data" maxItems:"20000"`
	}
}

// errTaken refuses to bind two listings of a system to one listing, and to rebind a listing that reservations have
// followed.
var errTaken = apierr.New(apierr.CodeConflict, "",
	"Listing of the system has reservations here already, or another one of it is the same listing")

// putMappings binds the listings of a system. Listings that the request leaves out keep their binding or take the
// suggestion: the request confirms all of them.
func putMappings(ctx context.Context, tx *db.Tx, in *putMappingsInput) (*Mappings, error) {
	c, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if find(c.AppID) == nil {
		return nil, apierr.NotImplemented
	}

	now, err := loadMappings(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	given, err := checkDecisions(ctx, tx, now, in.Body.Data)
	if err != nil {
		return nil, err
	}

	// A suggestion counts unless the caller decides otherwise; an ambiguous listing must be decided.
	ids, listings, used := []id.ID{}, []*id.ID{}, map[id.ID]bool{}

	for i := range now.Data {
		m := &now.Data[i]
		to := m.ListingID

		switch listing, says := given[m.TargetListingConnectionID]; {
		case says:
			to = listing
		case m.IsDecided:
		case m.Status == Ambiguous:
			return nil, ErrAmbiguous
		case m.SuggestedListing != nil:
			to = &m.SuggestedListing.ID
		}

		// Two listings of a system cannot share one listing here: their stays would overlap.
		if to != nil && used[*to] {
			return nil, errTaken
		}

		if to != nil {
			used[*to] = true
		}

		ids, listings = append(ids, m.TargetListingConnectionID), append(listings, to)
	}

	if err := decide(ctx, tx, in.ID, ids, listings); err != nil {
		return nil, err
	}

	after, err := loadMappings(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	audit.Note(tx, audit.Updated, audit.Connection, in.ID, now, after)

	return after, nil
}

// ErrAmbiguous refuses to go on while a listing of the system matches several here.
var ErrAmbiguous = apierr.New(apierr.CodeConflict, apierr.ReasonListingMappingAmbiguous,
	"A listing of the system could be several listings here")

// checkDecisions returns the decisions by listing of the system. It fails with an issue for each decision about an
// unknown listing of the system, about the same one twice, or with a listing that the team does not have.
func checkDecisions(ctx context.Context, tx *db.Tx, now *Mappings, given []Decision) (map[id.ID]*id.ID, error) {
	known := map[id.ID]bool{}
	for i := range now.Data {
		known[now.Data[i].TargetListingConnectionID] = true
	}

	var (
		issues []apierr.Issue
		wanted []id.ID
	)

	out := map[id.ID]*id.ID{}

	for i, d := range given {
		if !known[d.TargetListingConnectionID] {
			issues = append(issues, apierr.IssueNotFound.InBody("data", i, "targetListingConnectionId"))
		}

		if _, twice := out[d.TargetListingConnectionID]; twice {
			issues = append(issues, apierr.IssueContradiction.InBody("data", i, "targetListingConnectionId"))
		}

		if out[d.TargetListingConnectionID] = d.ListingID; d.ListingID != nil {
			wanted = append(wanted, *d.ListingID)
		}
	}

	// Lock the listings, so that none is deleted before the binding is saved.
	there, err := db.Select[id.ID](ctx, tx, `select id from listing where team_id = @team and id = any(@ids) order by id for key share`,
		db.Args{"team": tx.Team, "ids": wanted})
	if err != nil {
		return nil, fmt.Errorf("read the listings of a mapping: %w", err)
	}

	has := map[id.ID]bool{}
	for _, v := range there {
		has[v] = true
	}

	for i, d := range given {
		if d.ListingID != nil && !has[*d.ListingID] {
			issues = append(issues, apierr.IssueNotFound.InBody("data", i, "listingId"))
		}
	}

	if issues != nil {
		return nil, apierr.BadRequest.At(issues...)
	}

	return out, nil
}

// decide saves bindings. It fails with errTaken if a listing was taken in already and its binding would change.
func decide(ctx context.Context, tx *db.Tx, connection id.ID, ids []id.ID, listings []*id.ID) error {
	args := db.Args{"team": tx.Team, "connection": connection, "ids": ids, "listings": listings}

	moved, err := db.Get[bool](ctx, tx, `
		select exists (
			select from listing_connection r join unnest(@ids::uuid[], @listings::uuid[]) g (id, listing) on g.id = r.id
			join external_record e on e.team_id = r.team_id and e.source_id = r.connection_id and e.kind = 'listing' and e.external_id = r.external_id
				and e.entity_id is not null
			where r.team_id = @team and r.connection_id = @connection and r.listing_id is distinct from g.listing)`, args)
	if err != nil {
		return fmt.Errorf("find mappings that were followed: %w", err)
	}

	if moved {
		return errTaken
	}

	return updateListings(ctx, tx, connection, ids, listings)
}

// updateListings updates the bindings of listings of a system.
func updateListings(ctx context.Context, tx *db.Tx, connection id.ID, ids []id.ID, listings []*id.ID) error {
	if _, err := tx.Exec(ctx, `
		update listing_connection r set listing_id = g.listing, is_decided = true
		from unnest(@ids::uuid[], @listings::uuid[]) g (id, listing)
		where r.team_id = @team and r.connection_id = @connection and r.id = g.id`,
		db.Args{"team": tx.Team, "connection": connection, "ids": ids, "listings": listings}); err != nil {
		return fmt.Errorf("save the mappings of a connection: %w", err)
	}

	return nil
}
