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
	"stayledger/provider/pms"
)

// ref is a listing of a system, with the listing here that it is bound to.
type ref struct {
	ID               id.ID
	ExternalID       string
	Name             string
	Address          *contact.Address
	ParentExternalID *string
	Unit             *string
	ListingID        *id.ID
	// IsDecided says that a person has decided; a decided ref without a listing becomes a new one.
	IsDecided bool
}

// Listings returns the kind for listings of systems. It saves through the kind of listings (door), bound to the
// listing here that a person or the mapping has decided. A listing that matches one here waits until a person
// decides.
func Listings(door *intake.Kind) intake.Kind {
	k := *door
	k.See, k.Apart, k.Most = saveSeen, []string{"parentId", "unit"}, pms.MostListings
	k.Match = func(ctx context.Context, tx *db.Tx, from intake.Origin, unknown []intake.Change) ([]intake.Match, error) {
		return matchListings(ctx, tx, door, from, unknown)
	}
	k.Save = func(ctx context.Context, tx *db.Tx, from intake.Origin, writes []intake.Write) ([]intake.Saved, error) {
		// These fields are saved in listing_connection instead.
		for i := range writes {
			for _, field := range k.Apart {
				delete(writes[i].Fields, field)
			}
		}

		saved, err := door.Save(ctx, tx, from, writes)
		if err != nil {
			return nil, err
		}

		return saved, bindSaved(ctx, tx, from, writes, saved)
	}

	return k
}

// saveSeen saves the listings that a system has, and notes the listings that it no longer has.
func saveSeen(ctx context.Context, tx *db.Tx, from intake.Origin, changes []*intake.Change) error {
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
		for field, into := range map[string]any{
			"name": &r.Name, "address": &r.Address, "parentId": &r.ParentExternalID, "unit": &r.Unit,
		} {
			if raw, says := c.Values[field]; says {
				// Values of a wrong type are refused when the listing is saved.
				_ = json.Unmarshal(raw, into)
			}
		}

		refs = append(refs, r)
	}

	markGone := db.Stmt{
		SQL:  `update listing_connection set state = 'gone' where team_id = @team and connection_id = @connection and external_id = any(@gone)`,
		Args: db.Args{"team": tx.Team, "connection": from.ConnectionID, "gone": gone},
	}

	return tx.Together(ctx, db.Send(markGone), func(ctx context.Context, tx *db.Tx) error {
		return upsertRefs(ctx, tx, *from.ConnectionID, refs)
	})
}

// upsertRefs upserts the listings of a system. Their bindings stay.
func upsertRefs(ctx context.Context, tx *db.Tx, connection id.ID, refs []ref) error {
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

// deleteUnseen deletes the listings of a system that a complete reading lacked, unless somebody has decided about them:
// an earlier attempt to connect, or a former connection, may have left them.
func deleteUnseen(ctx context.Context, tx *db.Tx, connection id.ID, seen []string) error {
	_, err := tx.Exec(ctx, `delete from listing_connection where team_id = @team and connection_id = @connection and not is_decided
		and not exists (select from unnest(@seen::text[]) s (id) where s.id = external_id)`,
		db.Args{"team": tx.Team, "connection": connection, "seen": seen})
	if err != nil {
		return fmt.Errorf("delete listings that a system does not have: %w", err)
	}

	return nil
}

const refColumns = `r.id, r.external_id, r.name, r.address, r.parent_external_id, r.unit, r.listing_id, r.is_decided`

// loadRefs loads the listings that a system still has, by name.
func loadRefs(ctx context.Context, tx *db.Tx, connection id.ID) ([]ref, error) {
	refs, err := db.Select[ref](ctx, tx, `select `+refColumns+` from listing_connection r
		where r.team_id = @team and r.connection_id = @connection and r.state = 'active' order by r.name, r.external_id`,
		db.Args{"team": tx.Team, "connection": connection})
	if err != nil {
		return nil, fmt.Errorf("read the listings of a system: %w", err)
	}

	return refs, nil
}

// matchListings finds the listing here for each unknown source listing: the decided one, or the match of the door. An
// undecided listing that matches one here waits.
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

	refs, here, err := loadCandidates(ctx, tx, *from.ConnectionID)
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

// bindSaved binds the saved listings of a system to their listings here.
func bindSaved(ctx context.Context, tx *db.Tx, from intake.Origin, writes []intake.Write, saved []intake.Saved) error {
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

// loadCandidates loads the listings of a system and the listings here that they can be bound to.
func loadCandidates(ctx context.Context, tx *db.Tx, connection id.ID) (refs []ref, here places, err error) {
	err = tx.Together(ctx, db.LoadBy(&refs, loadRefs, connection), db.LoadBy(&here, loadPlaces, connection))

	return refs, here, err
}

// Place is a listing here that a listing of a system may be bound to.
type Place struct {
	ID      id.ID            `json:"id"`
	Name    string           `json:"name"`
	Address *contact.Address `json:"address"`
}

// places are the listings of a team by their comparable names.
type places map[string][]Place

// loadPlaces loads the active listings of the team that are not bound to the system yet.
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

// suggestion is the best match here for a listing of a system; listing is nil unless it is certain.
type suggestion struct {
	status  MappingStatus
	listing *Place
}

// suggest matches a listing of a system with listings here: by name, and among several with that name by address.
// Several matches, or one match with another address, are ambiguous.
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

// likeness is the result of comparing two addresses.
type likeness int

const (
	unknown likeness = iota
	same
	different
)

// sameAddress compares two addresses: street line and postal code if both sides have both, else the whole texts. It
// returns unknown if one side has no address.
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
