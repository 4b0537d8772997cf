package contact

import (
	"context"
	"fmt"
	"slices"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// BatchItem is one contact of a batch.
type BatchItem struct {
	ID *id.ID `json:"id,omitempty" doc:"The contact to change; without it the reference decides, then connectionId with sourceId."`
	Update

	// from is the key that the item was taken in by, see takeIn.
	from sourceKey
}

// Batch is many contacts at once.
type Batch struct {
	Data []BatchItem `json:"data" minItems:"1" maxItems:"20000"`
}

type batchInput struct {
	Atomic bool `query:"atomic" doc:"Nothing lands unless everything does."`
	Body   Batch
}

// statementsAtOnce bounds the memory of a round trip.
const statementsAtOnce = 1000

// batch creates and changes many contacts.
func (e edge) batch(ctx context.Context, tx *db.Tx, in *batchInput) (*api.Outcome, error) {
	return api.Land(ctx, tx, in.Atomic, func(ctx context.Context, tx *db.Tx) ([]api.Attempt, error) {
		return e.save(ctx, tx, in.Body.Data, !tx.Actor.Has("contacts:write"))
	})
}

// save creates or changes contacts, each by itself, and returns an attempt for each item in the order given. It loads
// everything that the items name in two statements, decides item by item in memory, and writes the good ones. With
// vendorsOnly contacts of other types are refused.
func (e edge) save(ctx context.Context, tx *db.Tx, items []BatchItem, vendorsOnly bool) ([]api.Attempt, error) {
	var n names

	// First, collect everything that the items name.
	changes := make([]*Update, len(items))
	for i := range items {
		changes[i] = &items[i].Update
		if items[i].ID != nil {
			n.ids = append(n.ids, *items[i].ID)
		}

		if ref := items[i].UniqueRef.Value; ref != nil {
			n.refs = append(n.refs, *ref)
		}

		if k := items[i].key(); k != (sourceKey{}) {
			n.keys = append(n.keys, k)
		}
	}

	// Lock the contacts that the items name by id, reference or key.
	found, err := lockContacts(ctx, tx, n)
	if err != nil {
		return nil, err
	}

	// The writer has what all changes refer to, loaded at once.
	w, err := e.writer(ctx, tx, changes)
	if err != nil {
		return nil, err
	}

	w.vendorsOnly = vendorsOnly

	// Decide in the order of the items, because later ones can refer to earlier ones.
	b := newBatcher(tx, w, found)
	if err := b.loadMixed(ctx, items); err != nil {
		return nil, err
	}

	for i := range items {
		b.add(&items[i])
	}

	// Only now write, in chunks that bound the size of one round trip.
	for part := range slices.Chunk(b.writes, statementsAtOnce) {
		if err := tx.Pipeline(ctx, part...); err != nil {
			return nil, fmt.Errorf("write contacts: %w", conflict(err))
		}
	}

	// The events come after the writes: a write that fails leaves none.
	for _, noteEvent := range b.notes {
		noteEvent()
	}

	return b.out, nil
}

// batcher is the team's contacts as they stand after the items decided so far.
type batcher struct {
	tx     *db.Tx
	writer writer
	byID   map[id.ID]*stored
	byRef  map[string]id.ID
	byKey  map[sourceKey]id.ID
	done   map[id.ID]bool
	writes []db.Stmt
	notes  []func()
	out    []api.Attempt
}

// newBatcher returns a batcher over the contacts that the items name by id, reference or key.
func newBatcher(tx *db.Tx, w writer, found []stored) *batcher {
	b := &batcher{
		tx: tx, writer: w, byID: map[id.ID]*stored{}, byRef: map[string]id.ID{}, byKey: map[sourceKey]id.ID{},
		done: map[id.ID]bool{},
	}
	for i := range found {
		b.byID[found[i].ID] = &found[i]
		if ref := found[i].UniqueRef; ref != nil {
			b.byRef[*ref] = found[i].ID
		}

		if k := found[i].key(); k != (sourceKey{}) {
			b.byKey[k] = found[i].ID
		}
	}

	return b
}

// add decides what the next item writes, or adds its refusal to the outcome.
func (b *batcher) add(item *BatchItem) {
	c, isNew, err := b.decide(item)
	if err != nil {
		b.out = append(b.out, api.Attempt{UniqueRef: item.UniqueRef.Value, Refusal: apierr.From(err)})
		return
	}

	// The item is good. From here on its contact and the names of that count for later items.
	b.done[c.ID] = true

	old := b.byID[c.ID]
	b.rename(old, c)

	b.writes = append(b.writes, b.writer.save(b.tx, c, &item.Update, isNew)...)
	b.notes = append(b.notes, func() { note(b.tx, old, c, &item.Update) })
	b.out = append(b.out, api.Attempt{ID: c.ID, UniqueRef: c.UniqueRef})
}

// rename has later items find a contact by its new reference and key, and not by the old ones.
func (b *batcher) rename(old *stored, c *Contact) {
	if old != nil && old.UniqueRef != nil {
		delete(b.byRef, *old.UniqueRef)
	}

	if old != nil {
		delete(b.byKey, old.key())
	}

	if c.UniqueRef != nil {
		b.byRef[*c.UniqueRef] = c.ID
	}

	if k := c.key(); k != (sourceKey{}) {
		b.byKey[k] = c.ID
	}
}

// decide returns the contact that an item makes or changes, or the reason of its refusal.
func (b *batcher) decide(item *BatchItem) (c *Contact, isNew bool, err error) {
	old, err := b.target(item)
	if err != nil {
		return nil, false, err
	}

	// A new contact needs what a change may leave out.
	if old == nil {
		if err := checkComplete(item); err != nil {
			return nil, false, err
		}
	}

	if c, err = b.writer.decide(old, &item.Update); err != nil {
		return nil, false, err
	}

	if old == nil {
		fill(b.tx, c)
	}

	// Earlier items of the batch hold their references and keys too.
	if c.UniqueRef != nil {
		if holder, taken := b.byRef[*c.UniqueRef]; taken && holder != c.ID {
			return nil, false, errDuplicateUniqueRef.With(apierr.Duplicate{ID: holder})
		}
	}

	if holder, taken := b.byKey[c.key()]; taken && holder != c.ID {
		return nil, false, errDuplicateSource.At(apierr.IssueDuplicateUniqueRef.InBody("sourceId"))
	}

	// What was taken in gets its key, unless the contact has one or another contact has this one.
	if _, taken := b.byKey[item.from]; !taken && item.from != (sourceKey{}) && c.ConnectionID == nil &&
		c.SourceID == nil {
		c.ConnectionID, c.SourceID = &item.from.Connection, &item.from.Source
	}

	return c, old == nil, nil
}

// target returns the contact that an item changes, or nil for a new one. It fails with apierr.NotFound for an
// unknown id, and if the batch has written the contact already.
func (b *batcher) target(item *BatchItem) (*stored, error) {
	var target id.ID
	if ref := item.UniqueRef.Value; ref != nil {
		target = b.byRef[*ref]
	}

	switch {
	case item.ID != nil:
		if target = *item.ID; b.byID[target] == nil {
			return nil, apierr.NotFound
		}
	case target.IsZero():
		target = b.byKey[newKey(item.ConnectionID.Value, item.SourceID.Value)]
	}

	// Two items that change one contact would depend on their order.
	if b.done[target] {
		return nil, errDuplicateUniqueRef.With(apierr.Duplicate{ID: target})
	}

	return b.byID[target], nil
}

// checkComplete refuses a new contact without a type or a name.
func checkComplete(item *BatchItem) error {
	var issues []apierr.Issue

	// Both are reported at once.
	if item.Type == nil {
		issues = append(issues, apierr.IssueRequired.InBody("type"))
	}

	if item.Name == nil {
		issues = append(issues, apierr.IssueRequired.InBody("name"))
	}

	if issues == nil {
		return nil
	}

	return apierr.BadRequest.At(issues...)
}
