package intake

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// pending is a change on its way into a record. Values are those of the change with its references resolved.
type pending struct {
	change    *Change
	values    Values
	was       *memory
	write     Write
	conflicts []openConflict
	// asks says that this change has brought a conflict.
	asks bool
	// inherited has the values that another source said last of the record here, which this change is the first of its own source to
	// bring; nil for none.
	inherited Values
	// reopen are the paths of conflicts that go on to be open if the record goes on to differ.
	reopen []string
	// cut are the texts that were longer than their fields hold.
	cut []string
	// entity is the record here, nil while there is none.
	entity *id.ID
	// filled are the fields of a new record that were filled in here.
	filled Values
	// isKept says that what the source said was saved with the record.
	isKept bool
}

// resolve sets the values of a change with its references as fields, and with the fields that are present in any case. It
// returns false if a record that it refers to is not known here.
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

// merge sets what the change writes into a record that has some values. It fails for values that split refuses.
func (p *pending) merge(tx *db.Tx, here Values, k *Kind) (err error) {
	taken := p.inherited
	if p.was.wasTaken() {
		taken = p.was.Taken
	}

	p.conflicts = p.was.open()

	// A new record gets everything that the source says.
	if p.write.ID == nil {
		p.write.Fields = maps.Clone(p.values)

		return k.checkLists(p.values)
	}

	compared := maps.Clone(p.values)
	for _, field := range k.Apart {
		delete(compared, field)
	}

	out, err := k.merge(taken, here, compared)
	if err != nil {
		return err
	}

	if p.change.asks {
		if err := k.askAll(out, here, compared); err != nil {
			return err
		}
	}

	p.write.Fields, p.asks = out.fields, len(out.conflicts) > 0
	p.conflicts = stillOpen(p.conflicts, p.values, out)

	for _, path := range p.reopen {
		if now, stays := out.stays[path]; stays {
			p.conflicts = append(p.conflicts, openConflict{ID: tx.NewID(), Field: now})
		}
	}

	// Each is another one than there was about its field: whoever has seen that one has not seen what the source says now.
	for _, c := range out.conflicts {
		p.conflicts = append(p.conflicts, openConflict{ID: tx.NewID(), Field: c.Field})
	}

	return nil
}

// askAll makes a conflict of each value that an outcome would write.
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

	out.fields = Values{}

	return nil
}

// reason returns conflict for a change that has brought one, empty for any other.
func (p *pending) reason() Reason {
	if p.asks {
		return InConflict
	}

	return ""
}

// stillOpen returns the conflicts of a record that a merge leaves open: those about fields of which the source says
// nothing, and those in which the record goes on to differ from what the source says again.
func stillOpen(old []openConflict, incoming Values, out *outcome) []openConflict {
	var open []openConflict

	for _, c := range old {
		says := false

		for _, field := range pathFields(c.Field) {
			_, comes := incoming[field]
			says = says || comes
		}

		// The path follows an item that the source has reworded.
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
func (p *pending) row(entity *id.ID) keepRow {
	c := p.change
	row := keepRow{
		Kind: c.Kind, ExternalID: c.ExternalID, Ordinal: c.Ordinal, EntityID: entity, Taken: p.taken(), Refs: c.Refs,
		conflicts: p.conflicts, had: p.was.open(), Day: c.At, State: active,
	}

	if row.Refs == nil {
		row.Refs = map[string]Reference{}
	}

	if !c.ChangedAt.IsZero() {
		row.ChangedAt = &c.ChangedAt
	}

	// A record with a conflict is looked at whenever the source gives it: people may have ended the conflict meanwhile.
	if row.Hash = c.sum; len(p.conflicts) > 0 {
		row.Hash = []byte{}
	}

	return row
}

// taken returns what is taken over now: what the source says, and what it said before of fields of which it says nothing.
func (p *pending) taken() Values {
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

// wait returns the external record of a change that waits, beside what was taken over last. It has no hash: it is not
// the same as what was taken in.
func (p *pending) wait() keepRow {
	row := p.row(p.write.ID)
	row.Waiting, row.Hash, row.Taken, row.conflicts = p.change.Values, []byte{}, Values{}, row.had

	if p.was != nil {
		row.Taken = p.was.Taken
	}

	return row
}

// loadFilled sets the fields of new records that were filled in here because their sources say nothing of them.
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

// askAboutKept adds conflicts about fields that Save has kept as they are, although the source has changed them.
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
