package intake

import (
	"encoding/json"
	"fmt"
	"strings"
)

// List says how items of a list field, such as the lines of a stay, are recognized.
type List struct {
	// Key is the member in which two items agree if they can be the same, such as the type of a line.
	Key string
	// Label is the member that words an item. It helps to recognize an item and is never a conflict: sources reword.
	Label string
	// Amount is the member by which items with one key differ.
	Amount string
	// Unit is the field with the unit of the amounts, such as the currency; empty if they have none.
	Unit string
}

// entry is an item of a list field.
type entry struct {
	key, label string
	// n counts the items before it in its list that have the same key and label.
	n int
	// members are its members as canonical JSON, without nulls.
	members map[string]string
}

// member returns a member as canonical JSON; null if it is absent.
func (e *entry) member(name string) string {
	if e == nil {
		return null
	}

	if v, ok := e.members[name]; ok {
		return v
	}

	return null
}

// exists returns the value of the slot for the presence of the item.
func (e *entry) exists() string {
	if e == nil {
		return null
	}

	return there
}

// path returns the path of the item in a field as people read it: lines[rent|Cleaning], lines[rent#2].
func (e *entry) path(field string, n int) string {
	name := strings.TrimRight(e.key+"|"+e.label, "|")
	if name == "" {
		name = "-"
	}

	if n > 0 {
		name += fmt.Sprintf("#%d", n+1)
	}

	return field + "[" + name + "]"
}

// read returns the items of a list field. It fails for a value that is not a list of objects.
func (l List) read(field string, raw json.RawMessage) ([]*entry, error) {
	if len(raw) == 0 {
		return nil, nil
	}

	var items []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, fmt.Errorf("field %s: %w", field, err)
	}

	type name struct{ key, label string }

	out, counts := make([]*entry, len(items)), map[name]int{}

	for i, item := range items {
		e := &entry{members: make(map[string]string, len(item))}

		for member, value := range item {
			text, err := canonical(value)
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", field, err)
			}

			if text != null {
				e.members[member] = text
			}
		}

		// Names use canonical members, so that 1.0 and 1 are one name.
		e.key, e.label = strings.Trim(e.members[l.Key], `"`), strings.Trim(e.members[l.Label], `"`)
		e.n = counts[name{e.key, e.label}]
		counts[name{e.key, e.label}]++
		out[i] = e
	}

	return out, nil
}

// pair maps items of a to equal items of b. Among items with one key it prefers the same label and amount, then the
// same label, then the same amount, then the next in order. Labels written by two different hands prove nothing, so
// with twoHands amounts decide.
func (l List) pair(a, b []*entry, twoHands bool) map[*entry]*entry {
	sameLabel := func(x, y *entry) bool { return x.label == y.label }
	sameAmount := func(x, y *entry) bool { return x.member(l.Amount) == y.member(l.Amount) }

	out, taken := map[*entry]*entry{}, map[*entry]bool{}

	for _, same := range []func(x, y *entry) bool{
		func(x, y *entry) bool { return sameLabel(x, y) && sameAmount(x, y) },
		func(x, y *entry) bool { return !twoHands && sameLabel(x, y) },
		sameAmount,
		func(*entry, *entry) bool { return true },
	} {
		for _, x := range a {
			for _, y := range b {
				if out[x] == nil && !taken[y] && x.key == y.key && same(x, y) {
					out[x], taken[y] = y, true
				}
			}
		}
	}

	return out
}

// triple is one item in three states: as last taken over, as it is here, and as it comes in; nil where it is missing.
type triple struct{ was, is, comes *entry }

// isEdited reports whether the item here differs from its state when last taken over, wording aside.
func (t *triple) isEdited(l *List) bool {
	if t.was == nil || t.is == nil {
		return false
	}

	for member := range t.is.members {
		if member != l.Label && t.was.member(member) != t.is.member(member) {
			return true
		}
	}

	for member := range t.was.members {
		if member != l.Label && t.is.member(member) == null {
			return true
		}
	}

	return false
}

// join returns each item of a list once: first the incoming items in their order, then items that exist only here,
// then items that were only taken over before.
func (l List) join(was, is, comes []*entry) []*triple {
	here, next := l.pair(was, is, false), l.pair(was, comes, false)

	// First match both sides with the items taken over last.
	byIs, byComes := map[*entry]*triple{}, map[*entry]*triple{}

	var before []*triple

	for _, w := range was {
		t := &triple{w, here[w], next[w]}
		before, byIs[t.is], byComes[t.comes] = append(before, t), t, t
	}

	delete(byIs, nil)
	delete(byComes, nil)

	// Then match items that are new on both sides: a person has entered here what the source says now.
	for x, y := range l.pair(listUnpaired(comes, byComes), listUnpaired(is, byIs), true) {
		t := &triple{is: y, comes: x}
		byIs[y], byComes[x] = t, t
	}

	// Last, the order: the source decides, and whatever it lacks follows.
	var out []*triple

	placed := map[*triple]bool{}
	place := func(t *triple) {
		if !placed[t] {
			out, placed[t] = append(out, t), true
		}
	}

	for _, x := range comes {
		if byComes[x] == nil {
			byComes[x] = &triple{comes: x}
		}

		place(byComes[x])
	}

	for _, y := range is {
		if byIs[y] == nil {
			byIs[y] = &triple{is: y}
		}

		place(byIs[y])
	}

	for _, t := range before {
		place(t)
	}

	return out
}

// listUnpaired returns the items without a triple.
func listUnpaired(all []*entry, by map[*entry]*triple) []*entry {
	var out []*entry

	for _, e := range all {
		if by[e] == nil {
			out = append(out, e)
		}
	}

	return out
}
