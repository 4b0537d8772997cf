package intake

import (
	"encoding/json"
	"maps"

	"stayledger/platform/id"
)

// pending is a change on its way into a record. Values are those of the change with its references resolved.
type pending struct {
	change    *Change
	values    Values
	was       *memory
	write     Write
	conflicts []Conflict
	// asks says that this change has brought a conflict.
	asks bool
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

// merge sets what the change writes into a record that has some values.
func (p *pending) merge(here Values, lists map[string][]string) (err error) {
	taken := Values{}
	if p.was != nil {
		taken, p.conflicts = p.was.Taken, p.was.Conflicts
	}

	// A new record gets everything that the source says.
	if p.write.ID == nil {
		p.write.Fields = maps.Clone(p.values)
		_, err = split(p.values, lists)

		return err
	}

	out, err := merge(taken, here, p.values, lists)
	if err != nil {
		return err
	}

	p.write.Fields, p.asks = out.fields, len(out.conflicts) > 0
	p.conflicts = replaceConflicts(p.conflicts, out.conflicts, out.agreed)

	return nil
}

// reason returns conflict for a change that has brought one, empty for any other.
func (p *pending) reason() Reason {
	if p.asks {
		return InConflict
	}

	return ""
}

// replaceConflicts returns the conflicts of a record after a merge: a new one takes the place of the one of its field,
// and one whose field says the same on both sides is over.
func replaceConflicts(old, found []Conflict, agreed map[string]bool) []Conflict {
	fresh := map[string]bool{}
	for _, c := range found {
		fresh[c.Field] = true
	}

	out := []Conflict{}

	for _, c := range old {
		if !fresh[c.Field] && !agreed[c.Field] {
			out = append(out, c)
		}
	}

	return append(out, found...)
}

// row returns the external record of a change that was taken in.
func (p *pending) row(entity *id.ID) keepRow {
	c := p.change
	row := keepRow{
		Kind: c.Kind, ExternalID: c.ExternalID, Ordinal: c.Ordinal, EntityID: entity, Taken: p.values, Refs: c.Refs,
		Conflicts: p.conflicts, Day: c.At, State: active,
	}

	if row.Conflicts == nil {
		row.Conflicts = []Conflict{}
	}

	if row.Refs == nil {
		row.Refs = map[string]Reference{}
	}

	if !c.ChangedAt.IsZero() {
		row.ChangedAt = &c.ChangedAt
	}

	row.Hash = c.sum

	return row
}

// wait returns the external record of a change that waits, beside what was taken over last. It has no hash: it is not
// the same as what was taken in.
func (p *pending) wait() keepRow {
	row := p.row(p.write.ID)
	row.Waiting, row.Hash, row.Taken, row.Conflicts = p.change.Values, []byte{}, Values{}, []Conflict{}

	if p.was != nil {
		row.Taken, row.Conflicts = p.was.Taken, p.was.Conflicts
	}

	return row
}
