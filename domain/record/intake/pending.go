package intake

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// pending is a change on its way into a record. Values are its values with references resolved.
type pending struct {
	change    *Change
	values    Values
	was       *memory
	write     Write
	conflicts []openConflict
	// asks says that this change has brought a conflict.
	asks bool
	// inherited are the last values of another source for the same record, for the first change of a new source; nil
	// otherwise.
	inherited Values
	// reopen are the paths of conflicts that stay open if the record still differs.
	reopen []string
	// cut are the texts that were too long for their fields.
	cut []string
	// entity is the record here, nil while there is none.
	entity *id.ID
	// filled are the fields of a new record that Save filled in.
	filled Values
	// isSaved says that the external record was saved before joining.
	isSaved bool
	// isOfFile says that a person has uploaded the change.
	isOfFile bool
	// before has the former values of the fields that are written.
	before Values
}

// resolve sets the values: those given, the ids of referenced records, and the implied fields. It returns false if a
// referenced record is unknown here.
func (p *pending) resolve(entities map[Reference]id.ID, present Values) bool {
	if p.values = p.change.Values; len(p.change.Refs) == 0 && len(present) == 0 {
		return true
	}

	p.values = maps.Clone(present)
	if p.values == nil {
		p.values = Values{}
	}

	maps.Copy(p.values, p.change.Values)

	for field, r := range p.change.Refs {
		entity, known := entities[r]
		if !known {
			return false
		}

		p.values[field] = json.RawMessage(`"` + entity.String() + `"`)
	}

	return true
}

// merge sets the fields that the change writes into a record with these values, and the conflicts that are open
// afterwards. A new record gets all fields. It fails for values that compare refuses; of a new record only the lists
// are checked.
func (p *pending) merge(tx *db.Tx, here Values, k *Kind) (err error) {
	taken := p.inherited
	if p.was.wasTaken() {
		taken = p.was.Taken
	}

	// If what is here is what was taken over last, the source wins.
	if p.change.wins {
		taken = here
	}

	p.conflicts = p.was.openConflicts()

	// A new record gets all fields.
	if p.write.ID == nil {
		p.write.Fields = maps.Clone(p.values)

		return k.checkLists(p.values)
	}

	// Fields that the record here does not have cannot differ from it.
	compared := maps.Clone(p.values)
	for _, field := range k.Apart {
		delete(compared, field)
	}

	out, err := k.merge(taken, here, compared)
	if err != nil {
		return err
	}

	// A person decides about each change of a withheld record.
	if p.change.asks {
		if err := k.askAll(out, here, compared); err != nil {
			return err
		}
	}

	p.write.Fields, p.asks = out.fields, len(out.conflicts) > 0

	// Of a file, a new value of such a field is written: nobody can have changed it here.
	for _, field := range k.Apart {
		if value := p.values[field]; p.isOfFile && value != nil && (p.was == nil || !sameValue(value, p.was.Taken[field])) {
			p.write.Fields[field] = value
		}
	}

	p.conflicts = stillOpen(p.conflicts, p.values, out)

	// A renamed record keeps the conflicts it had under its former id.
	for _, path := range p.reopen {
		if now, stays := out.stays[path]; stays {
			p.conflicts = append(p.conflicts, openConflict{ID: tx.NewID(), Field: now})
		}
	}

	// Each new conflict replaces the old one about its field under a new id: whoever saw the old one has not seen
	// what the source says now.
	for _, c := range out.conflicts {
		p.conflicts = append(p.conflicts, openConflict{ID: tx.NewID(), Field: c.Field})
	}

	return nil
}

// settleForFile keeps the values of people without a conflict, and notes the former values of the fields that are
// written.
func (p *pending) settleForFile(here Values) {
	p.conflicts = nil

	if p.write.ID == nil {
		return
	}

	p.before = Values{}

	for field := range p.write.Fields {
		if p.before[field] = here[field]; here[field] == nil {
			p.before[field] = json.RawMessage(null)
		}
	}
}

// askAll turns each value that a merge would write into a conflict.
func (k *Kind) askAll(out *outcome, here, incoming Values) error {
	ours, theirs, err := k.sides(incoming, here)
	if err != nil {
		return err
	}

	asked := map[string]bool{}
	for _, c := range out.conflicts {
		asked[c.Field] = true
	}

	for _, path := range slices.Sorted(maps.Keys(ours)) {
		_, stays := out.stays[path]
		if string(ours[path]) != string(theirs[path]) && !asked[path] && !stays {
			out.conflicts = append(out.conflicts, Conflict{path, ours[path], theirs[path]})
		}
	}

	// Nothing is written until a person has decided.
	out.fields = Values{}

	return nil
}

// reason returns InConflict for a change that brought a conflict, else "".
func (p *pending) reason() Reason {
	if p.asks {
		return InConflict
	}

	return ""
}

// stillOpen returns the conflicts that a merge leaves open: those about fields the source does not mention, and those
// where the record still differs while the source repeats itself.
func stillOpen(old []openConflict, incoming Values, out *outcome) []openConflict {
	var open []openConflict

	for _, c := range old {
		says := false

		for _, field := range pathFields(c.Field) {
			_, comes := incoming[field]
			says = says || comes
		}

		// If the source has reworded the item, the conflict gets its new path.
		if path, stays := out.stays[c.Field]; stays {
			c.Field = path
		} else if says {
			continue
		}

		open = append(open, c)
	}

	return open
}

// row returns the external record of a change that was taken in.
func (p *pending) row(entity *id.ID) recordRow {
	c := p.change
	row := recordRow{
		Kind: c.Kind, ExternalID: c.ExternalID, Ordinal: c.Ordinal, EntityID: entity, Taken: p.valuesTaken(), Refs: c.Refs,
		conflicts: p.conflicts, had: p.was.openConflicts(), Day: c.At, State: active,
	}

	if row.Refs == nil {
		row.Refs = map[string]Reference{}
	}

	switch {
	case !c.ChangedAt.IsZero():
		row.ChangedAt = &c.ChangedAt
	case p.was != nil:
		row.ChangedAt = p.was.ChangedAt
	}

	// Without a hash the record is looked at in every sync: people may settle the conflict meanwhile.
	if row.Hash = c.sum; len(p.conflicts) > 0 {
		row.Hash = []byte{}
	}

	return row
}

// valuesTaken returns the values to remember as taken over: the values of the source, and earlier values of fields it
// leaves out now.
func (p *pending) valuesTaken() Values {
	if p.was == nil && p.filled == nil {
		return p.values
	}

	out := Values{}
	if p.was != nil {
		maps.Copy(out, p.was.Taken)
	}

	maps.Copy(out, p.values)
	maps.Copy(out, p.filled)

	return out
}

// waitingRow returns the external record of a change that waits; the values taken over before stay. It has no hash,
// because a repeated change must be tried again.
func (p *pending) waitingRow() recordRow {
	row := p.row(p.write.ID)
	row.Waiting, row.Hash, row.Taken, row.conflicts = p.change.Values, []byte{}, Values{}, row.had

	if p.was != nil {
		row.Taken = p.was.Taken
	}

	return row
}

// loadFilled notes which fields of new records Save filled in because the source left them out.
func (k *Kind) loadFilled(ctx context.Context, tx *db.Tx, writes []*pending, saved []Saved) error {
	silent := map[id.ID]*pending{}

	for i, p := range writes {
		isSilent := func(field string) bool { return p.values[field] == nil }
		if p.write.ID == nil && !saved[i].ID.IsZero() && slices.ContainsFunc(k.Fills, isSilent) {
			silent[saved[i].ID] = p
		}
	}

	if len(silent) == 0 {
		return nil
	}

	found, err := k.Filled(ctx, tx, slices.SortedFunc(maps.Keys(silent), id.ID.Compare))
	if err != nil {
		return err
	}

	// Remember them as if the source had said them, so that they do not look like edits of a person.
	for entity, p := range silent {
		p.filled = Values{}

		for _, field := range k.Fills {
			if p.values[field] == nil && found[entity][field] != nil {
				p.filled[field] = found[entity][field]
			}
		}
	}

	return nil
}

// askAboutKept opens conflicts about fields that Save left unchanged although the source has changed them.
func (k *Kind) askAboutKept(ctx context.Context, tx *db.Tx, writes []*pending, saved []Saved) error {
	var asked []*pending

	for i, p := range writes {
		isWritten := func(field string) bool { return p.write.Fields[field] != nil }
		if p.write.ID != nil && !saved[i].ID.IsZero() && slices.ContainsFunc(k.Keeps, isWritten) {
			asked = append(asked, p)
		}
	}

	if len(asked) == 0 {
		return nil
	}

	ids := make([]id.ID, len(asked))
	for i, p := range asked {
		ids[i] = *p.write.ID
	}

	here, err := k.Show(ctx, tx, ids)
	if err != nil {
		return err
	}

	for _, p := range asked {
		for _, field := range k.Keeps {
			wanted, is := p.write.Fields[field]
			if !is || sameText(string(wanted), string(here[*p.write.ID][field])) {
				continue
			}

			p.conflicts, p.asks = append(p.conflicts, openConflict{ID: tx.NewID(), Field: field}), true
		}
	}

	return nil
}
