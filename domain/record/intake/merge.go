package intake

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// slot is one value of a record that is merged by itself: a field, or a member of an item of a list field.
type slot struct {
	field string
	// item is the identity of the item in a list, empty for a plain field; n counts the items with the same identity.
	item   string
	n      int
	member string
}

// exists is the member of an item that says that it is there.
const exists = ""

// String returns the slot as a path that people read: lines[rent|Cleaning].amount.
func (s slot) String() string {
	if s.item == "" {
		return s.field
	}

	path := s.field + "[" + strings.TrimRight(s.item, "|")
	if s.n > 0 {
		path += fmt.Sprintf("#%d", s.n+1)
	}

	path += "]"
	if s.member != exists {
		path += "." + s.member
	}

	return path
}

// slots are the values of a record by slot, and the items of its lists in their order.
type slots struct {
	values map[slot]string
	items  map[string][]slot
}

var (
	null  = "null"
	there = "true"
)

// at returns the canonical JSON in a slot, null for none.
func (s *slots) at(k slot) string {
	if v, ok := s.values[k]; ok {
		return v
	}

	return null
}

// split returns the values of a record by slot. Lists are the list fields of its kind. It fails for values that are no
// JSON, and for a list field that is no list of objects.
func split(v Values, lists map[string][]string) (*slots, error) {
	out := &slots{values: map[slot]string{}, items: map[string][]slot{}}

	for field, raw := range v {
		known, isList := lists[field]
		if !isList {
			text, err := canonical(raw)
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", field, err)
			}

			out.values[slot{field: field}] = text

			continue
		}

		if err := out.splitList(field, raw, known); err != nil {
			return nil, err
		}
	}

	return out, nil
}

// splitList adds the items of a list field, each known by some of its members.
func (s *slots) splitList(field string, raw json.RawMessage, known []string) error {
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return fmt.Errorf("field %s: %w", field, err)
	}

	counts := map[string]int{}
	s.items[field] = []slot{}

	for _, item := range items {
		// The identity is of the canonical members, so that 1.0 and 1 are one.
		texts := make([]string, len(known))
		for i, member := range known {
			text, err := canonical(item[member])
			if err != nil {
				return fmt.Errorf("field %s: %w", field, err)
			}

			if texts[i] = strings.Trim(text, `"`); text == null {
				texts[i] = ""
			}
		}

		k := slot{field: field, item: cmp.Or(strings.Join(texts, "|"), "-")}
		k.n = counts[k.item]
		counts[k.item]++
		s.items[field] = append(s.items[field], k)
		s.values[k] = there

		for member, value := range item {
			text, err := canonical(value)
			if err != nil {
				return fmt.Errorf("field %s: %w", field, err)
			}

			if text != null {
				k.member = member
				s.values[k] = text
			}
		}
	}

	return nil
}

// checkLists fails for a list field that is no list of objects. The values are JSON, since they have a hash.
func checkLists(v Values, lists map[string][]string) error {
	for field := range lists {
		var items []struct{}
		if raw := v[field]; len(raw) > 0 && json.Unmarshal(raw, &items) != nil {
			return fmt.Errorf("field %s is no list of objects", field)
		}
	}

	return nil
}

// canonical returns JSON with sorted members, without white space and without members that are null.
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

// Conflict is a field that was changed here and at the source since it was last taken over.
type Conflict struct {
	// Field is the path of a slot, such as checkIn, or lines[rent].amount.
	Field string
	// Here is what the record has, which is kept; Incoming what the source says.
	Here, Incoming json.RawMessage
}

// outcome is what a merge decides.
type outcome struct {
	// fields are those to write.
	fields    Values
	conflicts []Conflict
	// stays are the slots in which the record goes on to differ from what its source said before and says again: a
	// conflict about one of them is still open.
	stays map[string]bool
}

// merge returns the fields to write so that a record follows its source where nobody has changed it here. Of each slot
// it compares what was last taken over, what is here and what comes in: what was not changed here follows the source,
// what was changed here only stays, and of what both changed the value here stays as well and is returned as a
// conflict. It fails for values that are no JSON.
func merge(taken, here, incoming Values, lists map[string][]string) (*outcome, error) {
	var all [3]*slots

	for i, v := range []Values{taken, here, incoming} {
		var err error
		if all[i], err = split(v, lists); err != nil {
			return nil, err
		}
	}

	last, now, next := all[0], all[1], all[2]
	merged := &slots{values: map[slot]string{}, items: map[string][]slot{}}
	changed, out := map[string]bool{}, &outcome{fields: Values{}, stays: map[string]bool{}}

	edited := findEdited(last, now)

	for _, k := range mergeOrder(incoming, last, now, next) {
		was, is, comes := last.at(k), now.at(k), next.at(k)
		merged.values[k] = is

		// An item that somebody has edited here stays, with all of its members, when the source drops it.
		dropped := edited[k.of()] && next.at(k.of()) == null && last.at(k.of()) == there

		switch {
		case comes == is || dropped && k.member != exists:
		case comes == was:
			out.stays[k.String()] = true
		case is == was && !dropped:
			merged.values[k] = comes
			changed[k.field] = true
		default:
			out.conflicts = append(out.conflicts, Conflict{k.String(), json.RawMessage(is), json.RawMessage(comes)})
		}
	}

	// Only fields that change are written, a list as a whole.
	for field := range changed {
		if _, isList := lists[field]; !isList {
			out.fields[field] = json.RawMessage(merged.values[slot{field: field}])
			continue
		}

		list, err := merged.list(field, next.items[field], now.items[field])
		if err != nil {
			return nil, err
		}

		out.fields[field] = list
	}

	return out, nil
}

// of returns the slot that says that the item of a member is there.
func (s slot) of() slot {
	s.member = exists
	return s
}

// findEdited returns the items of lists with a member that differs here from what was last taken over.
func findEdited(last, now *slots) map[slot]bool {
	edited := map[slot]bool{}

	for k, is := range now.values {
		if k.item != "" && k.member != exists && last.at(k) != is {
			edited[k.of()] = true
		}
	}

	for k := range last.values {
		if k.item != "" && k.member != exists && now.at(k) == null && now.at(k.of()) == there {
			edited[k.of()] = true
		}
	}

	return edited
}

// mergeOrder returns the slots of the fields that come in, sorted: those that any of the versions has.
func mergeOrder(incoming Values, versions ...*slots) []slot {
	seen := map[slot]bool{}

	var out []slot

	for _, v := range versions {
		for k := range v.values {
			if _, comes := incoming[k.field]; comes && !seen[k] {
				seen[k] = true
				out = append(out, k)
			}
		}
	}

	slices.SortFunc(out, func(a, b slot) int { return strings.Compare(a.String(), b.String()) })

	return out
}

// list returns a list field from its slots: the items that are there, in the order of the source, then those that only
// the record here has.
func (s *slots) list(field string, first, then []slot) (json.RawMessage, error) {
	items, placed := []map[string]json.RawMessage{}, map[slot]bool{}

	for _, k := range slices.Concat(first, then) {
		if placed[k] || s.at(k) != there {
			continue
		}

		placed[k] = true
		item := map[string]json.RawMessage{}

		for member, text := range s.values {
			if member.field == field && member.item == k.item && member.n == k.n && member.member != exists && text != null {
				item[member.member] = json.RawMessage(text)
			}
		}

		items = append(items, item)
	}

	out, err := json.Marshal(items)
	if err != nil {
		return nil, fmt.Errorf("encode field %s: %w", field, err)
	}

	return out, nil
}

// pathField returns the field of the path of a slot.
func pathField(path string) string {
	field, _, _ := strings.Cut(path, "[")
	return field
}

// byPath returns the values of a record by the path of their slot. It fails for values that split refuses.
func byPath(v Values, lists map[string][]string) (map[string]json.RawMessage, error) {
	all, err := split(v, lists)
	if err != nil {
		return nil, err
	}

	out := make(map[string]json.RawMessage, len(all.values))
	for k, text := range all.values {
		out[k.String()] = json.RawMessage(text)
	}

	return out, nil
}

// takeTheirs returns the fields to write so that a record has in some slots, named by their paths, what was last taken
// over from its source. An item of a list that is not here any more comes back as the source has it. It fails for values
// that split refuses.
func takeTheirs(taken, here Values, paths map[string]bool, lists map[string][]string) (Values, error) {
	last, err := split(taken, lists)
	if err != nil {
		return nil, err
	}

	now, err := split(here, lists)
	if err != nil {
		return nil, err
	}

	changed := map[string]bool{}

	for _, k := range mergeOrder(taken, last, now) {
		says := last.at(k)
		if !paths[k.String()] || now.at(k) == says {
			continue
		}

		changed[k.field], now.values[k] = true, says

		if item := k.of(); k.item != "" && says != null && now.at(item) != there || k == item && k.item != "" && says == there {
			now.restore(last, item)
		}
	}

	// A list is written as a whole, with what else is here.
	out := Values{}

	for field := range changed {
		if _, isList := lists[field]; !isList {
			out[field] = json.RawMessage(now.at(slot{field: field}))
			continue
		}

		if out[field], err = now.list(field, last.items[field], now.items[field]); err != nil {
			return nil, err
		}
	}

	return out, nil
}

// restore sets an item of a list to what it was.
func (s *slots) restore(from *slots, item slot) {
	for k, text := range from.values {
		if k.of() == item {
			s.values[k] = text
		}
	}
}
