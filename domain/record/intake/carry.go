package intake

import (
	"context"
	"maps"
	"slices"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Carrying says what Carry carries: from some records to those of a source, which are the same in the world.
type Carrying struct {
	Kind *Kind
	// Moves are the records here: what people changed of Moves.From[i] goes to Moves.To[i], which Into has brought.
	Into  id.ID
	Moves Moves
	// Typed says that no system has brought Moves.From: what no source, such as a file, has said of them is the word of people.
	Typed bool
	// Instead has what is carried of some of Moves.From instead of what they have.
	Instead map[id.ID]Values
	// Fields are those that are carried, with what they are where nobody has said anything of them.
	Fields Values
}

// Carry has what people changed of some records be changed of others. Where the source of these says something else, that is
// an open conflict of its record. It returns the records that have changed. It fails with a refusal of the kind.
func Carry(ctx context.Context, tx *db.Tx, w *Carrying) ([]id.ID, error) {
	c := &carrier{kind: w.Kind, into: Origin{SourceID: w.Into}, fields: w.Fields, typed: w.Typed, instead: w.Instead}

	var out []id.ID

	for start := 0; start < len(w.Moves.From); start += carried {
		end := min(start+carried, len(w.Moves.From))

		changed, err := c.carry(ctx, tx, w.Moves.From[start:end], w.Moves.To[start:end])
		if err != nil {
			return nil, err
		}

		out = append(out, changed...)
	}

	return out, nil
}

// carried is how many records are carried at once.
const carried = 500

// carrier carries what people changed of some records to those of a source.
type carrier struct {
	kind    *Kind
	into    Origin
	fields  Values
	typed   bool
	instead map[id.ID]Values
}

// carry carries what people changed of some records.
func (c *carrier) carry(ctx context.Context, tx *db.Tx, from, to []id.ID) ([]id.ID, error) {
	said, err := loadSaid(ctx, tx, c.kind.Name, from)
	if err != nil {
		return nil, err
	}

	told, err := loadByEntity(ctx, tx, c.into, byEntity{c.kind.Name, to, []string{active}})
	if err != nil {
		return nil, err
	}

	before, err := c.kind.Show(ctx, tx, slices.Concat(from, to))
	if err != nil {
		return nil, err
	}

	var (
		writes  []Write
		written []*memory
	)

	for i := range from {
		was, now := said[from[i]], told[to[i]]
		if was == nil && !c.typed || now == nil {
			continue
		}

		edited := maps.Clone(before[from[i]])
		maps.Copy(edited, c.instead[from[i]])

		fields, err := c.edits(was, edited, before[to[i]])
		if err != nil {
			return nil, err
		}

		if len(fields) > 0 {
			writes, written = append(writes, Write{ID: &to[i], ExternalID: now.ExternalID, Fields: fields}), append(written, now)
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

	return ids, c.ask(ctx, tx, written, before)
}

// edits returns the fields to write so that a record has what people changed of another one, of which its source had said
// something.
func (c *carrier) edits(said, edited, here Values) (Values, error) {
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

	// The sources of the two differ, too: the word of people counts.
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

// save writes what is carried. It fails with the first refusal.
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

// ask opens conflicts about the values that were carried and that the source of a record says otherwise.
func (c *carrier) ask(ctx context.Context, tx *db.Tx, records []*memory, before map[id.ID]Values) error {
	ids := make([]id.ID, len(records))
	for i, r := range records {
		ids[i] = *r.EntityID
	}

	after, err := c.kind.Show(ctx, tx, ids)
	if err != nil {
		return err
	}

	rows := make([]keepRow, 0, len(records))

	for _, r := range records {
		paths, err := c.kind.newlyOther(r.Taken, before[*r.EntityID], after[*r.EntityID])
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

	return remember(ctx, tx, c.into, rows)
}

// newlyOther returns the paths, sorted, in which a record differs from what its source says, and did not before.
func (k *Kind) newlyOther(taken, before, after Values) ([]string, error) {
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
		// What the source has nothing of is no conflict with it.
		same := string(ours[path]) == string(theirs[path]) || sameText(string(ours[path]), string(theirs[path]))
		if !same && string(theirs[path]) != null && !differs[path] {
			out = append(out, path)
		}
	}

	slices.Sort(out)

	return out, nil
}
