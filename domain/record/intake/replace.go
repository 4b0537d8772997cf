package intake

import (
	"context"
	"errors"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// errKept undoes replacements that something refuses.
var errKept = errors.New("a record cannot be replaced")

// replaceRenamed keeps records here that their source now has under other ids. The source has brought each of them
// again, as a twin here. The twin is made inactive, and the first record, with all that people have done to it,
// follows the new id. It returns the changes without a twin, or all changes if anything refuses.
func (in *intake) replaceRenamed(
	ctx context.Context, tx *db.Tx,
	k *Kind,
	removed []*Change,
	known map[key]*memory,
) ([]*Change, error) {
	if k.Successors == nil {
		return removed, nil
	}

	ids := make([]id.ID, len(removed))
	for i, c := range removed {
		ids[i] = *known[c.key()].EntityID
	}

	found, err := k.Successors(ctx, tx, in.origin, ids)
	if err != nil || len(found) == 0 {
		return removed, err
	}

	var (
		rest     []*Change
		replaced []replacement
	)

	for i, c := range removed {
		if twin, is := found[ids[i]]; is {
			replaced = append(replaced, replacement{c, known[c.key()], twin})
		} else {
			rest = append(rest, c)
		}
	}

	// A refusal rolls the database back; drop the items and records added meanwhile, too.
	items, keep := len(in.items), len(in.records)

	err = tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error { return in.followNewIDs(ctx, tx, k, replaced) })
	if errors.Is(err, errKept) {
		in.items, in.records = in.items[:items], in.records[:keep]
		return removed, nil
	}

	return rest, err
}

// replacement is a record that its source no longer has, and its twin here, which the source has brought under
// another id.
type replacement struct {
	change *Change
	was    *memory
	twin   id.ID
}

// followNewIDs lets records here follow their new ids at the source. It fails with errKept if anything is refused.
func (in *intake) followNewIDs(ctx context.Context, tx *db.Tx, k *Kind, replaced []replacement) error {
	twins := make([]id.ID, len(replaced))
	for i, r := range replaced {
		twins[i] = r.twin
	}

	said, err := loadByEntity(ctx, tx, in.origin, byEntity{k.Name, twins, []string{active}})
	if err != nil {
		return err
	}

	// First the twins go …
	saved, err := k.Remove(ctx, tx, in.origin, twins)
	if err != nil {
		return err
	}

	after, err := k.Show(ctx, tx, twins)
	if err != nil {
		return err
	}

	var found []*pending

	for i, r := range replaced {
		was, twin := r.was, said[r.twin]
		if saved[i].Refusal != nil || twin == nil {
			return errKept
		}

		// … and keep the old ids, with their present values.
		old := was.row(gone, nil)
		old.EntityID, old.conflicts, old.Taken = &twins[i], nil, Values{}

		for field := range twin.Taken {
			old.Taken[field] = after[r.twin][field]
		}

		in.addItem(r.change, was.EntityID, Done, "")
		in.records = append(in.records, old)

		found = append(found, twin.successorChange(was))
	}

	// Then the first records take over what the source says under the new ids.
	writes, err := in.planWrites(ctx, tx, k, found)
	if err != nil {
		return err
	}

	before := len(in.items)
	if err := in.saveWrites(ctx, tx, k, writes); err != nil {
		return err
	}

	// One refused record undoes all replacements.
	for _, it := range in.items[before:] {
		if it.outcome == Rejected {
			return errKept
		}
	}

	return nil
}

// successorChange returns the change that makes the record here of was follow the external record m.
func (m *memory) successorChange(was *memory) *pending {
	c := &Change{
		Kind: m.Kind, ExternalID: m.ExternalID, Ordinal: m.Ordinal, Values: m.Taken, Refs: m.Refs, At: m.Day, sum: m.Hash,
	}
	if m.ChangedAt != nil {
		c.ChangedAt = *m.ChangedAt
	}

	p := &pending{
		change: c, values: m.Taken, entity: was.EntityID, write: Write{ID: was.EntityID, ExternalID: m.ExternalID},
		was: &memory{Taken: was.Taken, EntityID: was.EntityID, Conflicts: m.Conflicts},
	}
	for _, open := range was.Conflicts {
		p.reopen = append(p.reopen, open.Field)
	}

	return p
}

// byEntity selects external records of a kind by their records here and states.
type byEntity struct {
	kind   string
	ids    []id.ID
	states []string
}

// loadByEntity loads external records of a source by their records here. If a record has several, it returns the
// active one.
func loadByEntity(ctx context.Context, tx *db.Tx, from Origin, by byEntity) (map[id.ID]*memory, error) {
	rows, err := db.Select[memory](ctx, tx, `
		select r.kind, r.external_id, r.ordinal, r.entity_id, r.hash, r.taken, r.refs, r.waiting, r.changed_at, r.day, r.state, (
			select jsonb_agg(jsonb_build_object('id', c.id, 'field', c.field) order by c.field) from sync_conflict c
			where c.team_id = @team and c.source_id = @source and c.kind = r.kind and c.external_id = r.external_id and c.ordinal = r.ordinal) as conflicts
		from external_record r
		where r.team_id = @team and r.source_id = @source and r.kind = @kind and r.entity_id = any(@ids) and r.state = any(@states)
		order by r.state desc`,
		db.Args{"team": tx.Team, "source": from.SourceID, "kind": by.kind, "ids": by.ids, "states": by.states})
	if err != nil {
		return nil, fmt.Errorf("read the external records of records: %w", err)
	}

	out := make(map[id.ID]*memory, len(rows))
	for i := range rows {
		out[*rows[i].EntityID] = &rows[i]
	}

	return out, nil
}
