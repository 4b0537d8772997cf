package contact

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
)

// Intake says how contacts from outside are taken in. Their values are the fields of BatchItem.
func Intake(box *seal.Box) intake.Kind {
	door := &intake.Door[BatchItem]{
		Form: api.NewForm[BatchItem](),
		Name: func(item *BatchItem, of *id.ID) { item.ID = of },
		From: (*BatchItem).takeIn,
		// Whoever has asked for the sync, its contacts are of all types.
		Save: func(ctx context.Context, tx *db.Tx, _ intake.Origin, items []BatchItem) ([]api.Attempt, error) {
			return edge{box: box}.save(ctx, tx, items, false)
		},
	}

	return intake.Kind{
		Name: "contact", Entity: audit.Contact, Match: matchIntake, Current: currentValues, Show: loadValues,
		Save: door.Write, Any: intake.AnyIn("contact"),
		// A part of a name is one, and a part of an address for mail or of a key is another one's.
		Secret:  []string{"taxIdentifier"},
		Lengths: door.Form.Lengths("email", "taxIdentifier", "uniqueRef", "sourceId", "address.stateCode", "address.countryCode"),
	}
}

// matchIntake finds the contacts that have the key of the record, else those with the same e-mail address. Names are
// never enough, and several of one address are ambiguous.
func matchIntake(ctx context.Context, tx *db.Tx, from intake.Origin, unknown []intake.Change) ([]intake.Match, error) {
	emails, keys := make([]string, len(unknown)), make([]sourceKey, len(unknown))
	for i := range unknown {
		keys[i] = newKey(from.ConnectionID, &unknown[i].ExternalID)
		// Values that do not fit are refused when they are saved.
		_ = json.Unmarshal(unknown[i].Values["email"], &emails[i])
	}

	type row struct {
		N   int64
		IDs []id.ID
	}

	found, err := db.Select[row](ctx, tx, `
		select g.n, array_agg(c.id order by c.id) as ids
		from (select lower(email) as key, n from unnest(@emails::text[]) with ordinality as e (email, n) where email <> ''`+db.Fence+`) g
		cross join lateral (select id from contact where team_id = @team and email_key = g.key`+db.Fence+`) c
		group by g.n`, db.Args{"team": tx.Team, "emails": emails})
	if err != nil {
		return nil, fmt.Errorf("match contacts: %w", err)
	}

	holders, err := loadHolders(ctx, tx, keys)
	if err != nil {
		return nil, err
	}

	out := make([]intake.Match, len(unknown))
	for _, r := range found {
		out[r.N-1] = intake.Match{ID: &r.IDs[0], Ambiguous: len(r.IDs) > 1}
	}

	// What a caller has written with the record's key needs no guess.
	for i, holder := range holders {
		if holder != nil {
			out[i] = intake.Match{ID: holder}
		}
	}

	return out, nil
}

// currentValues locks contacts and returns their values.
func currentValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	found, err := lockContacts(ctx, tx, names{ids: ids})
	if err != nil {
		return nil, err
	}

	return encodeValues(found)
}

// loadValues returns the values of contacts.
func loadValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	found, err := db.Select[stored](ctx, tx, `select `+columns+`, `+owned+` from contact c where c.team_id = @team and c.id = any(@ids::uuid[])`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read contacts: %w", err)
	}

	return encodeValues(found)
}

// encodeValues returns the values of contacts by id.
func encodeValues(found []stored) (_ map[id.ID]intake.Values, err error) {
	out := make(map[id.ID]intake.Values, len(found))

	for i := range found {
		if out[found[i].ID], err = intake.Encode(&found[i].Contact); err != nil {
			return nil, err
		}
	}

	return out, nil
}
