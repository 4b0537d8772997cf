package intake

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// bound is the most characters that a text may have: a field, or a member of an object or of the items of a list.
type bound struct {
	field, member string
	most          int
}

// readBounds returns the bounds of a kind, sorted by field.
func (k *Kind) readBounds() []bound {
	out := make([]bound, 0, len(k.Lengths))

	for name, most := range k.Lengths {
		field, member, _ := strings.Cut(name, ".")
		out = append(out, bound{field, member, most})
	}

	slices.SortFunc(out, func(a, b bound) int {
		return cmp.Or(strings.Compare(a.field, b.field), strings.Compare(a.member, b.member))
	})

	return out
}

// shorten returns values with overlong texts cut, and the names of their fields. A source that writes more than a
// field can store is no reason to lose a record.
func (k *Kind) shorten(v Values) (out Values, cut []string) {
	out = v
	longest, of := 0, ""

	for _, b := range k.bounds {
		raw := v[b.field]
		if len(raw) <= b.most {
			continue
		}

		// Decoding lists is slow, and nearly all their texts are shorter than any bound.
		if of != b.field {
			longest, of = longestText(raw), b.field
		}

		if longest <= b.most {
			continue
		}

		// Values of a wrong type are refused when they are saved.
		short, is := shortenText(out[b.field], b.most)
		if b.member != "" {
			short, is = shortenMembers(out[b.field], b)
		}

		if !is {
			continue
		}

		if cut == nil {
			out = maps.Clone(v)
		}

		out[b.field], cut = short, append(cut, strings.TrimSuffix(b.field+"."+b.member, "."))
	}

	return out, cut
}

// shortenText returns a text with at most this many characters, and reports whether it was longer.
func shortenText(raw json.RawMessage, most int) (json.RawMessage, bool) {
	var text string
	if json.Unmarshal(raw, &text) != nil || utf8.RuneCountInString(text) <= most {
		return raw, false
	}

	return encodeJSON(strings.TrimSpace(string([]rune(text)[:most]))), true
}

// shortenMembers returns an object, or a list of objects, with a member cut to its bound, and reports whether any was
// longer.
func shortenMembers(raw json.RawMessage, b bound) (out json.RawMessage, cut bool) {
	var one map[string]json.RawMessage
	if json.Unmarshal(raw, &one) == nil && one != nil {
		short, is := shortenText(one[b.member], b.most)
		if !is {
			return raw, false
		}

		one[b.member] = short

		return encodeJSON(one), true
	}

	var items []map[string]json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return raw, false
	}

	for _, item := range items {
		short, is := shortenText(item[b.member], b.most)
		if is {
			item[b.member], cut = short, true
		}
	}

	if !cut {
		return raw, false
	}

	return encodeJSON(items), true
}

// longestText returns an upper bound for the bytes of any text in JSON.
func longestText(raw json.RawMessage) (longest int) {
	last := 0

	for i, c := range raw {
		if c == '"' && (i == 0 || raw[i-1] != '\\') {
			longest, last = max(longest, i-last), i
		}
	}

	return longest
}
