package intake

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// TakeWaiting takes in the records of a source that wait for a lock and have one of these names: external ids, or ids
// of records here. It returns the record here of each name. A record that is refused goes on waiting; values that a
// person has changed here become conflicts.
func TakeWaiting(ctx context.Context, tx *db.Tx, k *Kind, source id.ID, names []string) (map[string]*id.ID, error) {
	if err := lockSource(ctx, tx, source, false); err != nil {
		return nil, err
	}

	connection, err := db.Get[*id.ID](ctx, tx, `select connection_id from sync_source where team_id = @team and id = @source`,
		db.Args{"team": tx.Team, "source": source})
	if err != nil {
		return nil, fmt.Errorf("read the connection of a source: %w", err)
	}

	// The lock may hold them under either name.
	changes, err := selectWaiting(ctx, tx, `locked and kind = @kind and (external_id = any(@names) or entity_id::text = any(@names)) order by `+place,
		db.Args{"source": source, "kind": k.Name, "names": names})
	if err != nil {
		return nil, err
	}

	if connection != nil {
		audit.FromConnection(tx, *connection, nil)
	}

	// The caller gives its own Kind, which Part has not prepared.
	k.bounds = k.readBounds()
	in := &intake{kinds: map[string]*Kind{k.Name: k}, origin: Origin{SourceID: source, ConnectionID: connection}}

	if err := in.takeChanges(ctx, tx, changes); err != nil {
		return nil, err
	}

	out := map[string]*id.ID{}

	for i := range in.items {
		it := &in.items[i]
		if it.entityID != nil {
			out[it.change.ExternalID], out[it.entityID.String()] = it.entityID, it.entityID
		}
	}

	return out, nil
}
