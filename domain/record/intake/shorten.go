package intake

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// shorten returns values with the texts cut that are longer than their fields hold, and the names of these fields. A source
// that writes more than a field holds is no reason to lose a record.
func (k *Kind) shorten(v Values) (out Values, cut []string) {
	out = v

	for _, name := range slices.Sorted(maps.Keys(k.Lengths)) {
		field, member, isList := strings.Cut(name, ".")

		raw := v[field]
		if len(raw) <= k.Lengths[name] {
			continue
		}

		// Values that do not fit otherwise are refused when they are saved.
		short, is := shortenText(raw, k.Lengths[name])
		if isList {
			short, is = shortenMembers(out[field], member, k.Lengths[name])
		}

		if !is {
			continue
		}

		if cut == nil {
			out = maps.Clone(v)
		}

		out[field], cut = short, append(cut, name)
	}

	return out, cut
}

// shortenText returns a text of at most so many characters, and reports whether it was longer.
func shortenText(raw json.RawMessage, most int) (json.RawMessage, bool) {
	var text string
	if json.Unmarshal(raw, &text) != nil || utf8.RuneCountInString(text) <= most {
		return raw, false
	}

	return encodeJSON(strings.TrimSpace(string([]rune(text)[:most]))), true
}

// shortenMembers returns a list of objects with a member of at most so many characters, and reports whether any was longer.
func shortenMembers(raw json.RawMessage, member string, most int) (out json.RawMessage, cut bool) {
	if longestText(raw) <= most {
		return raw, false
	}

	var items []map[string]json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return raw, false
	}

	for _, item := range items {
		short, is := shortenText(item[member], most)
		if is {
			item[member], cut = short, true
		}
	}

	if !cut {
		return raw, false
	}

	return encodeJSON(items), true
}

// longestText returns a bound of the bytes of the texts in JSON: no text is longer.
func longestText(raw json.RawMessage) (longest int) {
	last := 0

	for i, c := range raw {
		if c == '"' && (i == 0 || raw[i-1] != '\\') {
			longest, last = max(longest, i-last), i
		}
	}

	return longest
}
