package intake

import (
	"context"
	"maps"
	"slices"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Carrying says which edits of people Carry copies: from some records to the records of a source that are the same in
// the world.
type Carrying struct {
	Kind *Kind
	// Moves are the records here: what people changed in Moves.From[i] goes to Moves.To[i], which Into has brought.
	Into  id.ID
	Moves Moves
	// Typed says that no system brought Moves.From, so that all their values count as edits of people, unless a
	// source, such as a file, gave them.
	Typed bool
	// Instead replaces the values of some records of Moves.From.
	Instead map[id.ID]Values
	// Fields are the fields to copy, with the value that counts as unedited where no source said anything.
	Fields Values
}

// Carry copies what people changed in some records to other records. Where the source of the other record says
// something else, it opens a conflict. It returns the changed records, and fails with the first refusal of the kind.
func Carry(ctx context.Context, tx *db.Tx, w *Carrying) ([]id.ID, error) {
	c := &carrier{kind: w.Kind, into: Origin{SourceID: w.Into}, fields: w.Fields, typed: w.Typed, instead: w.Instead}

	var out []id.ID

	for start := 0; start < len(w.Moves.From); start += carried {
		end := min(start+carried, len(w.Moves.From))

		changed, err := c.carryBatch(ctx, tx, w.Moves.From[start:end], w.Moves.To[start:end])
		if err != nil {
			return nil, err
		}

		out = append(out, changed...)
	}

	return out, nil
}

// carried is how many records one batch copies.
const carried = 500

// carrier copies edits of people from some records to the records of a source.
type carrier struct {
	kind    *Kind
	into    Origin
	fields  Values
	typed   bool
	instead map[id.ID]Values
}

// carryBatch copies the edits of one batch of records.
func (c *carrier) carryBatch(ctx context.Context, tx *db.Tx, from, to []id.ID) ([]id.ID, error) {
	// An edit is a difference between a record and the last word of its source.
	var (
		said     map[id.ID]Values
		saidInto map[id.ID]*memory
	)

	err := tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) (err error) {
			said, err = loadSaid(ctx, tx, c.kind.Name, from)
			return err
		},
		func(ctx context.Context, tx *db.Tx) (err error) {
			saidInto, err = loadByEntity(ctx, tx, c.into, byEntity{c.kind.Name, to, []string{active}})
			return err
		})
	if err != nil {
		return nil, err
	}

	// Conflicts are asked about only where this copy makes a difference to the source, so note the state before it.
	before, err := c.kind.Show(ctx, tx, slices.Concat(from, to))
	if err != nil {
		return nil, err
	}

	var (
		writes  []Write
		written []*memory
	)

	for i := range from {
		was, now := said[from[i]], saidInto[to[i]]
		// Without a word of a source nothing is known to be an edit.
		if was == nil && !c.typed || now == nil {
			continue
		}

		edited := maps.Clone(before[from[i]])
		maps.Copy(edited, c.instead[from[i]])

		fields, err := c.deriveEdits(was, edited, before[to[i]])
		if err != nil {
			return nil, err
		}

		if len(fields) > 0 {
			writes = append(writes, Write{ID: &to[i], ExternalID: now.ExternalID, Fields: fields})
			written = append(written, now)
		}
	}

	if len(writes) == 0 {
		return nil, nil
	}

	if err := c.save(ctx, tx, writes); err != nil {
		return nil, err
	}

	ids := make([]id.ID, len(writes))
	for i := range writes {
		ids[i] = *writes[i].ID
	}

	return ids, c.openNewConflicts(ctx, tx, written, before)
}

// deriveEdits returns the fields to write into a record (here) so that it has what people changed in another one:
// edited are the values of that record, said the last word of its source.
func (c *carrier) deriveEdits(said, edited, here Values) (Values, error) {
	// A merge with the last word of the source as base finds the edits.
	was, is := Values{}, Values{}

	for f, unsaid := range c.fields {
		was[f], is[f] = said[f], edited[f]
		if said[f] == nil {
			was[f] = unsaid
		}
	}

	out, err := c.kind.merge(was, here, is)
	if err != nil || len(out.conflicts) == 0 {
		return out.fields, err
	}

	// The sources of both records differ here, too: the edit of a person wins.
	paths := map[string]bool{}
	for _, conflict := range out.conflicts {
		paths[conflict.Field] = true
	}

	merged := maps.Clone(here)
	maps.Copy(merged, out.fields)

	more, err := c.kind.takeTheirs(is, merged, paths)
	if err != nil {
		return nil, err
	}

	maps.Copy(out.fields, more)

	return out.fields, nil
}

// save writes the copied fields. It fails with the first refusal.
func (c *carrier) save(ctx context.Context, tx *db.Tx, writes []Write) error {
	saved, err := c.kind.Save(ctx, tx, Origin{}, writes)
	if err != nil {
		return err
	}

	for i := range saved {
		if saved[i].Refusal != nil {
			return apierr.From(saved[i].Refusal)
		}
	}

	return nil
}

// openNewConflicts opens a conflict for each copied value that differs from what the source of the record says.
func (c *carrier) openNewConflicts(ctx context.Context, tx *db.Tx, records []*memory, before map[id.ID]Values) error {
	ids := make([]id.ID, len(records))
	for i, r := range records {
		ids[i] = *r.EntityID
	}

	// Read the records again: Save may have normalized what was written.
	after, err := c.kind.Show(ctx, tx, ids)
	if err != nil {
		return err
	}

	rows := make([]recordRow, 0, len(records))

	for _, r := range records {
		paths, err := c.kind.listNewDifferences(r.Taken, before[*r.EntityID], after[*r.EntityID])
		if err != nil {
			return err
		}

		row := r.row(active, r.Waiting)
		row.conflicts = slices.Clone(r.Conflicts)

		for _, path := range paths {
			isOpen := func(o openConflict) bool { return o.Field == path }
			if !slices.ContainsFunc(r.Conflicts, isOpen) {
				row.conflicts = append(row.conflicts, openConflict{ID: tx.NewID(), Field: path})
			}
		}

		rows = append(rows, row)
	}

	return upsertRecords(ctx, tx, c.into, rows)
}

// listNewDifferences returns the sorted paths in which a record now differs from its source but did not before.
func (k *Kind) listNewDifferences(taken, before, after Values) ([]string, error) {
	differs := map[string]bool{}

	ours, theirs, err := k.sides(taken, before)
	if err != nil {
		return nil, err
	}

	for path := range ours {
		differs[path] = string(ours[path]) != string(theirs[path])
	}

	if ours, theirs, err = k.sides(taken, after); err != nil {
		return nil, err
	}

	var out []string

	for path := range ours {
		// A value that the source lacks is no conflict with it.
		same := string(ours[path]) == string(theirs[path]) || sameText(string(ours[path]), string(theirs[path]))
		if !same && string(theirs[path]) != null && !differs[path] {
			out = append(out, path)
		}
	}

	slices.Sort(out)

	return out, nil
}
