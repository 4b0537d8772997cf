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

// hasher hashes changes one after another, reusing its memory.
type hasher struct {
	text   []byte
	fields []string
}

// sum returns a hash of the content of a change. The order of fields and white space do not matter. A value in
// another form, such as 1.0 for 1, gives another hash; merging then finds no change. It fails for values that are not
// JSON, and for texts that cannot be stored.
func (h *hasher) sum(c *Change) ([]byte, error) {
	h.text = h.text[:0]

	for _, field := range sortKeys(h, c.Values) {
		h.text = append(strconv.AppendQuote(h.text, field), ':')

		value := c.Values[field]
		if len(value) == 0 {
			value = json.RawMessage(null)
		}

		// Most values are plain, and formatting them would cost more than hashing.
		if isPlain(value) {
			h.text = append(h.text, value...)
			continue
		}

		var err error

		h.text, err = jsontext.AppendFormat(h.text, jsontext.Value(value), jsontext.AllowDuplicateNames(true))
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", field, err)
		}
	}

	for _, field := range sortKeys(h, c.Refs) {
		h.text = append(strconv.AppendQuote(h.text, field), '>')
		h.text = append(strconv.AppendQuote(h.text, c.Refs[field].Kind), ' ')
		h.text = strconv.AppendQuote(h.text, c.Refs[field].ExternalID)
	}

	if err := c.checkStorable(h.text); err != nil {
		return nil, err
	}

	sum := sha256.Sum256(h.text)

	return sum[:], nil
}

// sortKeys returns the sorted keys of a map; the next call overwrites them.
func sortKeys[V any](h *hasher, of map[string]V) []string {
	h.fields = slices.AppendSeq(h.fields[:0], maps.Keys(of))
	slices.Sort(h.fields)

	return h.fields
}

// isPlain reports whether a value is a text of printable ASCII without escapes, or a whole number: such values have
// one form only.
func isPlain(value json.RawMessage) bool {
	if last := len(value) - 1; last > 0 && value[0] == '"' && value[last] == '"' {
		isOther := func(c byte) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }

		return !slices.ContainsFunc(value[1:last], isOther)
	}

	isNoDigit := func(c byte) bool { return c < '0' || c > '9' }

	return value[0] >= '1' && value[0] <= '9' && !slices.ContainsFunc(value, isNoDigit)
}

// checkStorable fails for a change with a text that PostgreSQL cannot store: text must be UTF-8 without NUL. The
// argument text holds all values.
func (c *Change) checkStorable(text []byte) error {
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

// isText reports whether PostgreSQL can store a text.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// nul matches the escape of a NUL in JSON: its backslash is not itself escaped.
var nul = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\\u0000`)

// errText refuses texts that cannot be stored.
var errText = errors.New("a text cannot be stored")
