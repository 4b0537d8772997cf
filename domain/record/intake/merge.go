package intake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stayledger/platform/plain"
)

// The canonical values of an empty slot and of the slot for an existing item, and the member name of that slot.
const (
	null   = "null"
	there  = "true"
	exists = ""
)

// slot is a value that is merged by itself: a field, a group of fields that mean something only together, or a member
// of a list item. Values are canonical JSON.
type slot struct {
	// path names the slot as people read it: checkIn, lines[rent|Cleaning].amount.
	path string
	// former is its path as last taken over, if the source has reworded the item since.
	former string
	// item and member locate a slot in a list; item is nil outside lists.
	item   *triple
	member string

	was, is, comes string
	// out is the value that the record gets.
	out string
}

// part is a unit that is written as a whole: a field, a group of fields, or a list.
type part struct {
	fields []string
	list   *List
	slots  []*slot
}

// compare returns the incoming parts of a record, sorted by name. Each has its values as last taken over, as they are
// here and as they come in. It fails for values that are not JSON, and for a list of anything but objects.
func (k *Kind) compare(taken, here, incoming Values) ([]*part, error) {
	var parts []*part

	done := map[string]bool{}

	for _, field := range slices.Sorted(maps.Keys(incoming)) {
		if done[field] {
			continue
		}

		p := &part{fields: k.together(field, here, incoming)}
		for _, f := range p.fields {
			done[f] = true
		}

		// Amounts in another unit cannot be compared one by one, so the list is one value then.
		var err error

		if l, isList := k.Lists[field]; isList && len(p.fields) == 1 {
			p.list = &l
			err = p.readList(taken, here, incoming)
		} else {
			err = p.readFields(taken, here, incoming)
		}

		if err != nil {
			return nil, err
		}

		parts = append(parts, p)
	}

	return parts, nil
}

// together returns the fields to merge with a field as one value: the group that the kind names, or amounts with a
// unit that differs here.
func (k *Kind) together(field string, here, incoming Values) []string {
	for _, group := range k.Together {
		if slices.Contains(group, field) {
			return group
		}
	}

	for list, l := range k.Lists {
		if l.Unit == "" || field != list && field != l.Unit || incoming[list] == nil || incoming[l.Unit] == nil {
			continue
		}

		is, _ := canonical(here[l.Unit])
		if comes, _ := canonical(incoming[l.Unit]); is != null && !strings.EqualFold(is, comes) {
			return []string{l.Unit, list}
		}
	}

	return []string{field}
}

// readFields makes the one slot of a part that is no list: all its fields as one value, as last taken, as here and as
// incoming. Fields that the source leaves out keep its last word. It fails for values that are not JSON.
func (p *part) readFields(taken, here, incoming Values) error {
	said := maps.Clone(taken)
	if said == nil {
		said = Values{}
	}

	maps.Copy(said, incoming)

	s := &slot{path: strings.Join(p.fields, ",")}

	for _, side := range []struct {
		values Values
		into   *string
	}{{taken, &s.was}, {here, &s.is}, {said, &s.comes}} {
		text, err := encodeFields(side.values, p.fields)
		if err != nil {
			return err
		}

		*side.into = text
	}

	s.out = s.is
	p.slots = []*slot{s}

	return nil
}

// encodeFields returns the value of one field, or an object of several fields.
func encodeFields(v Values, fields []string) (string, error) {
	if len(fields) == 1 {
		text, err := canonical(v[fields[0]])
		if err != nil {
			return "", fmt.Errorf("field %s: %w", fields[0], err)
		}

		return text, nil
	}

	all := map[string]json.RawMessage{}

	for _, f := range fields {
		text, err := canonical(v[f])
		if err != nil {
			return "", fmt.Errorf("field %s: %w", f, err)
		}

		if text != null {
			all[f] = json.RawMessage(text)
		}
	}

	if len(all) == 0 {
		return null, nil
	}

	return canonical(encodeJSON(all))
}

// readList sets the slots of a list: for each item a slot for its presence, then one for each member.
func (p *part) readList(taken, here, incoming Values) error {
	var sides [3][]*entry

	field := p.fields[0]

	for i, v := range []Values{taken, here, incoming} {
		var err error
		if sides[i], err = p.list.read(field, v[field]); err != nil {
			return err
		}
	}

	used := map[string]bool{}

	for _, t := range p.list.join(sides[0], sides[1], sides[2]) {
		// People know an item by its incoming wording, else by its wording here. Items with equal names are numbered.
		named := t.comes
		if named == nil {
			named = t.is
		}

		if named == nil {
			named = t.was
		}

		n := named.n
		for used[named.path(field, n)] {
			n++
		}

		path, former := named.path(field, n), ""
		used[path] = true

		if t.was != nil {
			former = t.was.path(field, t.was.n)
		}

		p.slots = append(p.slots, &slot{
			path: path, former: former, item: t, was: t.was.exists(), is: t.is.exists(), comes: t.comes.exists(),
			out: t.is.exists(),
		})

		for _, member := range t.members() {
			p.slots = append(p.slots, &slot{
				path: path + "." + member, former: former + "." + member, item: t, member: member,
				was: t.was.member(member), is: t.is.member(member), comes: t.comes.member(member), out: t.is.member(member),
			})
		}
	}

	return nil
}

// members returns the sorted members that an item has in any state.
func (t *triple) members() []string {
	all := map[string]bool{}

	for _, e := range []*entry{t.was, t.is, t.comes} {
		if e != nil {
			for member := range e.members {
				all[member] = true
			}
		}
	}

	return slices.Sorted(maps.Keys(all))
}

// Conflict is a field that was changed here and at the source since it was last taken over.
type Conflict struct {
	// Field is the path of a slot, such as checkIn,checkOut or lines[rent].amount.
	Field string
	// Here is the value of the record, which stays; Incoming is the value of the source.
	Here, Incoming json.RawMessage
}

// outcome is the result of a merge.
type outcome struct {
	// fields are the fields to write.
	fields    Values
	conflicts []Conflict
	// stays maps former and present paths to the present path of slots in which the record still differs while the
	// source repeats its former value: conflicts about these slots stay open.
	stays map[string]string
}

// merge returns the fields to write so that a record follows its source wherever people have not changed it. For each
// slot it compares the value last taken over, the value here and the incoming value. A value changed only at the
// source is written; a value changed here stays, and is a conflict if the source has changed it as well. It fails for
// values that compare refuses.
func (k *Kind) merge(taken, here, incoming Values) (*outcome, error) {
	parts, err := k.compare(taken, here, incoming)
	if err != nil {
		return nil, err
	}

	out := &outcome{fields: Values{}, stays: map[string]string{}}

	for _, p := range parts {
		changed := false

		for _, s := range p.slots {
			p.decide(s, out)
			changed = changed || s.out != s.is
		}

		// Only what changes is written, a list as a whole.
		if changed {
			p.write(out.fields)
		}
	}

	return out, nil
}

// decide sets the value that a slot gets.
func (p *part) decide(s *slot, out *outcome) {
	edited := s.item != nil && s.item.comes == nil && s.item.isEdited(p.list)

	switch {
	case s.comes == s.is:
	case s.item != nil && s.item.comes != nil && s.member == p.list.Label && s.member != exists:
		// Wording follows the source unless a person has changed it, or the source has none for an item that was here
		// before.
		if s.item.was == nil && s.comes != null || s.item.was != nil && s.is == s.was {
			s.out = s.comes
		}
	case edited && s.member != exists:
		// An edited item stays, with all its members, when the source drops it.
	case s.comes == s.was:
		out.stays[s.path], out.stays[s.former] = s.path, s.path
	case s.is == s.was && !edited, sameText(s.is, s.comes):
		s.out = s.comes
	default:
		out.conflicts = append(out.conflicts, Conflict{s.path, json.RawMessage(s.is), json.RawMessage(s.comes)})
	}
}

// sameText reports whether two texts differ only in case, width or white space.
func sameText(a, b string) bool {
	var x, y string
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil || a == null || b == null {
		return false
	}

	return plain.Text(x) == plain.Text(y)
}

// write adds the fields of a part with the values of its slots.
func (p *part) write(into Values) {
	switch {
	case p.list != nil:
		into[p.fields[0]] = p.renderList()
	case len(p.fields) == 1:
		into[p.fields[0]] = json.RawMessage(p.slots[0].out)
	default:
		// A field that is absent from the object has no value.
		var all Values

		_ = json.Unmarshal([]byte(p.slots[0].out), &all)

		for _, f := range p.fields {
			if into[f] = all[f]; all[f] == nil {
				into[f] = json.RawMessage(null)
			}
		}
	}
}

// renderList returns the list of the existing items.
func (p *part) renderList() json.RawMessage {
	items := []map[string]json.RawMessage{}

	var item map[string]json.RawMessage

	for _, s := range p.slots {
		switch {
		case s.member == exists && s.out == there:
			item = map[string]json.RawMessage{}
			items = append(items, item)
		case s.member == exists:
			item = nil
		case item != nil && s.out != null:
			item[s.member] = json.RawMessage(s.out)
		}
	}

	return encodeJSON(items)
}

// encodeJSON encodes values that were decoded from JSON, which cannot fail.
func encodeJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("intake: encode values: %v", err))
	}

	return raw
}

// sides returns the value here and the last value of the source for each slot, by path.
func (k *Kind) sides(taken, here Values) (ours, theirs map[string]json.RawMessage, err error) {
	parts, err := k.compare(taken, here, taken)
	if err != nil {
		return nil, nil, err
	}

	ours, theirs = map[string]json.RawMessage{}, map[string]json.RawMessage{}

	for _, p := range parts {
		for _, s := range p.slots {
			ours[s.path], theirs[s.path] = json.RawMessage(s.is), json.RawMessage(s.comes)
		}
	}

	return ours, theirs, nil
}

// takeTheirs returns the fields to write so that the slots with these paths get the last value of the source. A list
// item that was dropped here is restored as the source has it. It fails for values that compare refuses.
func (k *Kind) takeTheirs(taken, here Values, paths map[string]bool) (Values, error) {
	parts, err := k.compare(taken, here, taken)
	if err != nil {
		return nil, err
	}

	out := Values{}

	for _, p := range parts {
		// Choosing one member of a dropped item restores the whole item.
		restored := map[*triple]bool{}

		for _, s := range p.slots {
			if paths[s.path] && s.item != nil && s.item.is == nil && s.comes != null {
				restored[s.item] = true
			}
		}

		changed := false

		for _, s := range p.slots {
			if paths[s.path] || s.item != nil && restored[s.item] {
				s.out = s.comes
			}

			changed = changed || s.out != s.is
		}

		if changed {
			p.write(out)
		}
	}

	return out, nil
}

// checkLists fails for a list field that is not a list of objects. The values are valid JSON, because they were
// hashed.
func (k *Kind) checkLists(v Values) error {
	for field := range k.Lists {
		var items []struct{}
		if raw := v[field]; len(raw) > 0 && json.Unmarshal(raw, &items) != nil {
			return fmt.Errorf("field %s is no list of objects", field)
		}
	}

	return nil
}

// canonical returns JSON with sorted members, without white space and nulls.
func canonical(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return null, nil
	}

	var v any

	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()

	if err := decoder.Decode(&v); err != nil {
		return "", fmt.Errorf("decode a value: %w", err)
	}

	text, err := json.Marshal(dropNulls(v))
	if err != nil {
		return "", fmt.Errorf("encode a value: %w", err)
	}

	return string(text), nil
}

// dropNulls returns a decoded value without the members of objects that are null.
func dropNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))

		for name, member := range v {
			if member != nil {
				out[name] = dropNulls(member)
			}
		}

		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = dropNulls(v[i])
		}

		return out
	}

	return v
}

// pathFields returns the fields in the path of a slot.
func pathFields(path string) []string {
	field, _, isList := strings.Cut(path, "[")
	if isList {
		return []string{field}
	}

	return strings.Split(path, ",")
}
