package contact

import (
	"context"
	"fmt"

	"stayledger/domain/record/intake"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// Source is where a contact, or another record, was synced from.
type Source struct {
	ID      string  `json:"id"`
	Type    string  `json:"type"`
	Status  string  `json:"status"`
	AppID   string  `json:"appId"`
	AppIcon *string `json:"appIcon"`
}

// SourceSQL returns the SQL of the Source of a row with connection_id and source_id as JSON, null unless it has both.
func SourceSQL(row string) string {
	return `case when ` + row + `.source_id is not null then (
		select jsonb_build_object('id', ` + row + `.source_id, 'type', 'integration', 'status', n.status, 'appId', n.app_id)
		from connection n where n.team_id = ` + row + `.team_id and n.id = ` + row + `.connection_id) end`
}

// sourceKey is the key that a record has in the app of a connection. The zero value is none.
type sourceKey struct {
	Connection id.ID  `json:"connection"`
	Source     string `json:"source"`
}

// newKey returns the key of a record, none unless both parts are there.
func newKey(connection *id.ID, source *string) sourceKey {
	if connection == nil || source == nil {
		return sourceKey{}
	}

	return sourceKey{*connection, *source}
}

// key returns the contact's own key, none for a contact that came over no connection.
func (c *Contact) key() sourceKey { return newKey(c.ConnectionID, c.SourceID) }

// key returns the key that an item names: its own, else the one that it was taken in by.
func (item *BatchItem) key() sourceKey {
	if k := newKey(item.ConnectionID.Value, item.SourceID.Value); k != (sourceKey{}) {
		return k
	}

	return item.from
}

// takeIn says where an item comes from, which the contact gets if it came from nowhere else.
func (item *BatchItem) takeIn(from intake.Origin, externalID string) {
	item.from = newKey(from.ConnectionID, &externalID)
}

// holdersSQL returns the SELECT of columns of the contacts h that have some @keys; g.n is the place of the key.
func holdersSQL(columns string) string {
	return `select ` + columns + ` from rows from (jsonb_to_recordset(@keys) as (connection uuid, source text)) with ordinality as g (connection, source, n)
		cross join lateral (select id from contact where team_id = @team and connection_id = g.connection and source_id = g.source` + db.Fence + `) h`
}

// loadHolders returns the contacts that have keys, nil for a key that none has, in the order of the keys.
func loadHolders(ctx context.Context, tx *db.Tx, keys []sourceKey) ([]*id.ID, error) {
	out := make([]*id.ID, len(keys))
	if len(keys) == 0 {
		return out, nil
	}

	type row struct {
		N  int64
		ID id.ID
	}

	found, err := db.Select[row](ctx, tx, holdersSQL("g.n, h.id"), db.Args{"team": tx.Team, "keys": keys})
	if err != nil {
		return nil, fmt.Errorf("find contacts by their keys: %w", err)
	}

	for i := range found {
		out[found[i].N-1] = &found[i].ID
	}

	return out, nil
}

// loadMixed adds the holders of keys that items make of a part of their own and a part of the stored contact.
func (b *batcher) loadMixed(ctx context.Context, items []BatchItem) error {
	var keys []sourceKey

	for i := range items {
		item := &items[i]
		if item.ConnectionID.Present == item.SourceID.Present {
			continue
		}

		// Whichever contact the item is going to change, its key is one of these two.
		for _, one := range []id.ID{ptr.Value(item.ID), b.byRef[ptr.Value(item.UniqueRef.Value)]} {
			if old := b.byID[one]; old != nil {
				keys = append(keys, newKey(item.ConnectionID.Or(old.ConnectionID), item.SourceID.Or(old.SourceID)))
			}
		}
	}

	holders, err := loadHolders(ctx, b.tx, keys)
	for i, holder := range holders {
		if holder != nil {
			b.byKey[keys[i]] = *holder
		}
	}

	return err
}
