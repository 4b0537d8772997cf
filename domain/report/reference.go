package report

import (
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Ref is an id that a filter names, or none: the texts null and unmapped stand for entries that have no such id.
type Ref struct{ id.ID }

const (
	noneText     = "null"
	unmappedText = "unmapped"
)

// UnmarshalText reads a uuid, null or unmapped.
func (r *Ref) UnmarshalText(text []byte) error {
	if t := string(text); t == noneText || t == unmappedText {
		r.ID = id.Zero
		return nil
	}
	return r.ID.UnmarshalText(text)
}

// MarshalText gives the uuid, or null for none.
func (r Ref) MarshalText() ([]byte, error) {
	if r.IsZero() {
		return []byte(noneText), nil
	}
	return r.ID.MarshalText()
}

// refsOf are references to the ids; the zero id is none.
func refsOf(ids ...id.ID) []Ref {
	refs := make([]Ref, len(ids))
	for i, v := range ids {
		refs[i].ID = v
	}
	return refs
}

// idsOf are the ids of references, the zero id for none; nil stays nil.
func idsOf(refs []Ref) []id.ID {
	if refs == nil {
		return nil
	}
	ids := make([]id.ID, len(refs))
	for i, r := range refs {
		ids[i] = r.ID
	}
	return ids
}

// among is the condition that a column holds one of the references, whose ids it takes as the argument name.
func among(column, name string, refs []Ref) (condition string, args db.Args) {
	switch ids, none := named(refs); {
	case !none:
		return column + " = any(@" + name + "::uuid[])", db.Args{name: ids}
	case len(ids) == 0:
		return column + " is null", nil
	default:
		return "(" + column + " = any(@" + name + "::uuid[]) or " + column + " is null)", db.Args{name: ids}
	}
}

// named parts references into the ids and whether none is among them.
func named(refs []Ref) (ids []id.ID, none bool) {
	ids = make([]id.ID, 0, len(refs))
	for _, r := range refs {
		if r.IsZero() {
			none = true
		} else {
			ids = append(ids, r.ID)
		}
	}
	return ids, none
}
