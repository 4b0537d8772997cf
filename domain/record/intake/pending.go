package intake

import (
	"encoding/json"
	"maps"

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
	taken := Values{}
	if p.was != nil {
		taken, p.conflicts = p.was.Taken, p.was.Conflicts
	}

	// A new record gets everything that the source says.
	if p.write.ID == nil {
		p.write.Fields = maps.Clone(p.values)

		return checkLists(p.values, k.Lists)
	}

	compared := maps.Clone(p.values)
	for _, field := range k.Apart {
		delete(compared, field)
	}

	out, err := merge(taken, here, compared, k.Lists)
	if err != nil {
		return err
	}

	p.write.Fields, p.asks = out.fields, len(out.conflicts) > 0
	p.conflicts = stillOpen(p.conflicts, p.values, out)

	// Each is another one than there was about its field: whoever has seen that one has not seen what the source says now.
	for _, c := range out.conflicts {
		p.conflicts = append(p.conflicts, openConflict{ID: tx.NewID(), Field: c.Field})
	}

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
		if _, comes := incoming[pathField(c.Field)]; !comes || out.stays[c.Field] {
			open = append(open, c)
		}
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
	if p.was == nil {
		return p.values
	}

	out := maps.Clone(p.was.Taken)
	if out == nil {
		out = Values{}
	}

	maps.Copy(out, p.values)

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
