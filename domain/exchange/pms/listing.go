package pms

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"stayledger/domain/property/contact"
	"stayledger/domain/record/intake"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/plain"
)

// ref is a listing of a system, and the listing here that it is.
type ref struct {
	ID               id.ID
	ExternalID       string
	Name             string
	Address          *contact.Address
	ParentExternalID *string
	Unit             *string
	ListingID        *id.ID
	// IsDecided says that a person has said which listing it is; one without a listing becomes a new one.
	IsDecided bool
}

// Listings says how listings of systems are taken in: through the door of listings, as the listing here that a person
// or the mapping says they are. A listing that could be one here waits until a person decides.
func Listings(door *intake.Kind) intake.Kind {
	k := *door
	k.See, k.Apart = see, []string{"parentId", "unit"}
	k.Match = func(ctx context.Context, tx *db.Tx, from intake.Origin, unknown []intake.Change) ([]intake.Match, error) {
		return matchListings(ctx, tx, door, from, unknown)
	}
	k.Save = func(ctx context.Context, tx *db.Tx, from intake.Origin, writes []intake.Write) ([]intake.Saved, error) {
		// What is kept beside the listing is no field of it.
		for i := range writes {
			for _, field := range k.Apart {
				delete(writes[i].Fields, field)
			}
		}

		saved, err := door.Save(ctx, tx, from, writes)
		if err != nil {
			return nil, err
		}

		return saved, bind(ctx, tx, from, writes, saved)
	}

	return k
}

// see keeps what a system says of its listings, and which of them it has no more.
func see(ctx context.Context, tx *db.Tx, from intake.Origin, changes []*intake.Change) error {
	if from.ConnectionID == nil {
		return nil
	}

	refs, gone := []ref{}, []string{}

	for _, c := range changes {
		if c.Gone {
			gone = append(gone, c.ExternalID)
			continue
		}

		r := ref{ExternalID: c.ExternalID}
		for field, into := range map[string]any{"name": &r.Name, "address": &r.Address, "parentId": &r.ParentExternalID, "unit": &r.Unit} {
			if raw, says := c.Values[field]; says {
				// Values that do not fit are refused when they are saved.
				_ = json.Unmarshal(raw, into)
			}
		}

		refs = append(refs, r)
	}

	if _, err := tx.Exec(ctx, `update listing_connection set state = 'gone' where team_id = @team and connection_id = @connection and external_id = any(@gone)`,
		db.Args{"team": tx.Team, "connection": from.ConnectionID, "gone": gone}); err != nil {
		return fmt.Errorf("note listings that a system has no more: %w", err)
	}

	return saveRefs(ctx, tx, *from.ConnectionID, refs)
}

// saveRefs saves what a system says of its listings. Which listing here each one is stays as it is.
func saveRefs(ctx context.Context, tx *db.Tx, connection id.ID, refs []ref) error {
	if len(refs) == 0 {
		return nil
	}

	type row struct {
		ID         id.ID            `json:"id"`
		ExternalID string           `json:"external_id"`
		Name       string           `json:"name"`
		Address    *contact.Address `json:"address"`
		Parent     *string          `json:"parent"`
		Unit       *string          `json:"unit"`
	}

	rows := make([]row, len(refs))
	for i, r := range refs {
		rows[i] = row{tx.NewID(), r.ExternalID, r.Name, r.Address, r.ParentExternalID, r.Unit}
	}

	_, err := tx.Exec(ctx, `
		insert into listing_connection (team_id, id, connection_id, external_id, name, address, parent_external_id, unit, state, created_at)
		select @team, id, @connection, external_id, name, address, parent, unit, 'active', @now
		from jsonb_to_recordset(@rows) as r (id uuid, external_id text, name text, address jsonb, parent text, unit text) order by external_id
		on conflict (team_id, connection_id, external_id) do update set name = excluded.name, address = excluded.address,
			parent_external_id = excluded.parent_external_id, unit = excluded.unit, state = 'active'`,
		db.Args{"team": tx.Team, "connection": connection, "now": tx.Now, "rows": rows})
	if err != nil {
		return fmt.Errorf("save the listings of a system: %w", err)
	}

	return nil
}

const refColumns = `r.id, r.external_id, r.name, r.address, r.parent_external_id, r.unit, r.listing_id, r.is_decided`

// loadRefs loads the listings of a system that it still has, in the order of their names.
func loadRefs(ctx context.Context, tx *db.Tx, connection id.ID) ([]ref, error) {
	refs, err := db.Select[ref](ctx, tx, `select `+refColumns+` from listing_connection r
		where r.team_id = @team and r.connection_id = @connection and r.state = 'active' order by r.name, r.external_id`,
		db.Args{"team": tx.Team, "connection": connection})
	if err != nil {
		return nil, fmt.Errorf("read the listings of a system: %w", err)
	}

	return refs, nil
}

// matchListings finds the listings here that listings of a source are: what was decided, or what the door finds. One that
// is not decided and could be one here waits.
func matchListings(
	ctx context.Context, tx *db.Tx,
	door *intake.Kind,
	from intake.Origin,
	unknown []intake.Change,
) ([]intake.Match, error) {
	out, err := door.Match(ctx, tx, from, unknown)
	if err != nil || from.ConnectionID == nil {
		return out, err
	}

	refs, err := loadRefs(ctx, tx, *from.ConnectionID)
	if err != nil {
		return nil, err
	}

	here, err := loadPlaces(ctx, tx, *from.ConnectionID)
	if err != nil {
		return nil, err
	}

	byName := make(map[string]*ref, len(refs))
	for i := range refs {
		byName[refs[i].ExternalID] = &refs[i]
	}

	for i := range unknown {
		r := byName[unknown[i].ExternalID]

		switch {
		case r == nil, out[i].ID != nil:
		case r.ListingID != nil:
			out[i].ID = r.ListingID
		case !r.IsDecided && r.suggest(here).status != Unmapped:
			out[i].Waits = true
		}
	}

	return out, nil
}

// bind keeps which listings here the saved listings of a system are.
func bind(ctx context.Context, tx *db.Tx, from intake.Origin, writes []intake.Write, saved []intake.Saved) error {
	if from.ConnectionID == nil {
		return nil
	}

	names, ids := []string{}, []id.ID{}

	for i := range saved {
		if saved[i].Refusal == nil && !saved[i].ID.IsZero() {
			names, ids = append(names, writes[i].ExternalID), append(ids, saved[i].ID)
		}
	}

	_, err := tx.Exec(ctx, `
		update listing_connection r set listing_id = g.id, is_decided = true
		from unnest(@names::text[], @ids::uuid[]) g (name, id)
		where r.team_id = @team and r.connection_id = @connection and r.external_id = g.name and r.listing_id is distinct from g.id`,
		db.Args{"team": tx.Team, "connection": from.ConnectionID, "names": names, "ids": ids})
	if err != nil {
		return fmt.Errorf("keep which listings those of a system are: %w", err)
	}

	return nil
}

// Place is a listing here that one of a system could be.
type Place struct {
	ID      id.ID            `json:"id"`
	Name    string           `json:"name"`
	Address *contact.Address `json:"address"`
}

// places are the listings of a team by their comparable names.
type places map[string][]Place

// loadPlaces loads the active listings of the team that no listing of the system is yet.
func loadPlaces(ctx context.Context, tx *db.Tx, connection id.ID) (places, error) {
	found, err := db.Select[Place](ctx, tx, `
		select l.id, l.name, l.address from listing l
		where l.team_id = @team and l.status = 'active' and not exists (
			select from listing_connection r where r.team_id = @team and r.listing_id = l.id and r.connection_id = @connection)
		order by l.id`, db.Args{"team": tx.Team, "connection": connection})
	if err != nil {
		return nil, fmt.Errorf("read listings: %w", err)
	}

	out := places{}
	for _, p := range found {
		out[plain.Text(p.Name)] = append(out[plain.Text(p.Name)], p)
	}

	return out, nil
}

// suggestion is what is known about which listing here a listing of a system is.
type suggestion struct {
	status  MappingStatus
	listing *Place
}

// suggest compares a listing of a system with those here: by name, and where several have the name by address. Several
// that are left, or one with another address, are ambiguous.
func (r *ref) suggest(here places) suggestion {
	named := here[plain.Text(r.Name)]

	switch len(named) {
	case 0:
		return suggestion{status: Unmapped}
	case 1:
		if sameAddress(r.Address, named[0].Address) == different {
			return suggestion{status: Ambiguous}
		}

		return suggestion{Matched, &named[0]}
	}

	// A missing address breaks no tie.
	var equal []Place

	for _, p := range named {
		if sameAddress(r.Address, p.Address) == same {
			equal = append(equal, p)
		}
	}

	if len(equal) == 1 {
		return suggestion{Matched, &equal[0]}
	}

	return suggestion{status: Ambiguous}
}

// likeness is what a comparison of addresses says.
type likeness int

const (
	unknown likeness = iota
	same
	different
)

// sameAddress compares two addresses: their street line and postal code where both sides have both, or else the whole
// texts. It is unknown when one side has none.
func sameAddress(a, b *contact.Address) likeness {
	if a == nil || b == nil {
		return unknown
	}

	equal := plain.Text(a.Line1) == plain.Text(b.Line1) && plain.Text(a.PostalCode) == plain.Text(b.PostalCode)

	if a.Line1 == "" || a.PostalCode == "" || b.Line1 == "" || b.PostalCode == "" {
		first, second := plain.Text(strings.Join(a.Lines(), " ")), plain.Text(strings.Join(b.Lines(), " "))
		if first == "" || second == "" {
			return unknown
		}

		equal = first == second
	}

	if equal {
		return same
	}

	return different
}
