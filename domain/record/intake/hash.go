package intake

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// hasher hashes changes, one after another, with the same memory.
type hasher struct {
	text   []byte
	fields []string
}

// sum returns a hash of what a change says. It is the same whatever the order of the fields and the white space. A source
// that writes a value in another form, such as 1.0 for 1, has another hash, and merging finds that nothing has changed. It
// fails for values that are no JSON, and for texts that cannot be stored.
func (h *hasher) sum(c *Change) ([]byte, error) {
	h.text = h.text[:0]

	for _, field := range sortedKeys(h, c.Values) {
		h.text = append(strconv.AppendQuote(h.text, field), ':')

		value := c.Values[field]
		if len(value) == 0 {
			value = json.RawMessage(null)
		}

		if isPlain(value) {
			h.text = append(h.text, value...)
			continue
		}

		var err error
		if h.text, err = jsontext.AppendFormat(h.text, jsontext.Value(value), jsontext.AllowDuplicateNames(true)); err != nil {
			return nil, fmt.Errorf("field %s: %w", field, err)
		}
	}

	for _, field := range sortedKeys(h, c.Refs) {
		h.text = append(strconv.AppendQuote(h.text, field), '>')
		h.text = append(strconv.AppendQuote(h.text, c.Refs[field].Kind), ' ')
		h.text = strconv.AppendQuote(h.text, c.Refs[field].ExternalID)
	}

	if err := c.storable(h.text); err != nil {
		return nil, err
	}

	sum := sha256.Sum256(h.text)

	return sum[:], nil
}

// sortedKeys returns the keys of a map in their order, until the next call.
func sortedKeys[V any](h *hasher, of map[string]V) []string {
	h.fields = slices.AppendSeq(h.fields[:0], maps.Keys(of))
	slices.Sort(h.fields)

	return h.fields
}

// isPlain returns true for a text of printable ASCII without escapes and for a whole number, which have one form only.
func isPlain(value json.RawMessage) bool {
	if last := len(value) - 1; last > 0 && value[0] == '"' && value[last] == '"' {
		return !slices.ContainsFunc(value[1:last], func(c byte) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' })
	}

	return value[0] >= '1' && value[0] <= '9' && !slices.ContainsFunc(value, func(c byte) bool { return c < '0' || c > '9' })
}

// storable fails for a change with a text that PostgreSQL does not store: it has no NUL, and nothing but UTF-8. Text has
// all values.
func (c *Change) storable(text []byte) error {
	named := true
	for field := range c.Values {
		named = named && isText(field)
	}

	for field, r := range c.Refs {
		named = named && isText(field) && isText(r.Kind) && isText(r.ExternalID)
	}

	if !named || !utf8.Valid(text) || bytes.Contains(text, []byte(`\u0000`)) && nul.Match(text) {
		return errText
	}

	return nil
}

// isText returns true for a text that PostgreSQL stores.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// nul matches the escape of a NUL in JSON: its backslash is not itself escaped.
var nul = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\\u0000`)

// errText refuses texts that cannot be stored.
var errText = errors.New("a text cannot be stored")
