package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// readExample returns the example that the description gives of a schema, parameter or body, or otherwise if it gives
// none. It fails for a reference that leads nowhere.
func (d *Document) readExample(n node, otherwise any) (any, error) {
	if one, has := n["example"]; has {
		return one, nil
	}

	if list, is := n["examples"].([]any); is && len(list) > 0 {
		return list[0], nil
	}

	named := n.child("examples")
	if len(named) == 0 {
		return otherwise, nil
	}

	first, err := d.resolveReference(named.child(slices.Sorted(maps.Keys(named))[0]))

	return first["value"], err
}

// answerExample fills every field; requestExample only those that a request must have, or one when there is none of
// these.
func answerExample(f *Field) any { return f.example(false) }

func requestExample(f *Field) any { return f.example(true) }

// pairs is a JSON object that keeps the order of its fields.
type pairs []pair

type pair struct {
	name  string
	value any
}

// MarshalJSON encodes the fields in their order.
func (p pairs) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}

	for i, one := range p {
		name, err := json.Marshal(one.name)
		if err != nil {
			return nil, fmt.Errorf("encode a field: %w", err)
		}

		value, err := compact(one.value)
		if err != nil {
			return nil, err
		}

		if i > 0 {
			out = append(out, ',')
		}

		out = append(append(append(out, name...), ':'), value...)
	}

	return append(out, '}'), nil
}

// compact encodes a value as JSON and leaves the characters of HTML as they are.
func compact(v any) ([]byte, error) {
	var out bytes.Buffer

	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)

	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode an example: %w", err)
	}

	return bytes.TrimSpace(out.Bytes()), nil
}

// indentJSON returns a value as indented JSON.
func indentJSON(v any) (string, error) {
	raw, err := compact(v)
	if err != nil {
		return "", err
	}

	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return "", fmt.Errorf("indent an example: %w", err)
	}

	return out.String(), nil
}

// example returns an example of the field, with only the required fields for a request.
func (f *Field) example(request bool) any {
	switch {
	case f.sample != nil:
		return f.sortFields(f.sample)
	case f.kind == "array":
		if f.Same && len(f.Fields) == 0 {
			return []any{}
		}

		// As many items as the list needs.
		items := []any{f.items.withListName(f.Name).example(request)}
		for i := 1; i < f.least; i++ {
			items = append(items, items[0])
		}

		return items
	case f.kind == "object":
		return f.object(request)
	case len(f.Values) > 0:
		return f.Values[0]
	case f.kind == "boolean":
		return strings.HasPrefix(f.Name, "is") || strings.HasPrefix(f.Name, "has")
	case f.kind == "integer", f.kind == "number":
		return f.number()
	default:
		return f.text()
	}
}

// withListName returns the field with the name of its list, which decides about its example.
func (f *Field) withListName(list string) *Field {
	one := *f
	one.Name = strings.TrimSuffix(list, "s")

	return &one
}

// sortFields puts the fields of an example of the description into the order of the list of fields.
func (f *Field) sortFields(value any) any {
	if list, is := value.([]any); is && f.items != nil {
		out := make([]any, len(list))
		for i, one := range list {
			out[i] = f.items.sortFields(one)
		}

		return out
	}

	given, is := value.(map[string]any)
	if !is {
		return value
	}

	var out pairs

	for _, inner := range f.Fields {
		if one, has := given[inner.Name]; has {
			out = append(out, pair{inner.Name, inner.sortFields(one)})
		}
	}

	if len(out) != len(given) {
		return value
	}

	return out
}

// object returns an example of an object, with only the required fields for a request.
func (f *Field) object(request bool) pairs {
	out := pairs{}
	if f.Same {
		return out
	}

	fields := f.Fields
	if request {
		fields = slices.DeleteFunc(slices.Clone(fields), func(f *Field) bool { return !f.Required })

		// A body without required fields still shows one.
		if len(fields) == 0 {
			at := slices.IndexFunc(f.Fields, func(f *Field) bool { return f.Name == "name" })
			if at < 0 {
				at = slices.IndexFunc(f.Fields, func(f *Field) bool { return !f.Deprecated && f.Name != "(any name)" })
			}

			if at >= 0 {
				fields = f.Fields[at : at+1]
			}
		}
	}

	for _, one := range fields {
		if one.Deprecated || one.Same {
			continue
		}

		name := one.Name
		if name == "(any name)" {
			name = "name"
		}

		value := one.example(request)
		if one.Nullable && nullInExamples(one) && !request {
			value = nil
		}

		out = append(out, pair{name, value})
	}

	return out
}

// nullInExamples reports whether examples show null: a reference to something optional, a lock or a deletion, is
// usually absent.
func nullInExamples(f *Field) bool {
	return f.kind == "object" || strings.HasSuffix(f.Name, "nextCursor") || f.Name == "nextPage" || f.Name == "failure"
}

// number returns a number that the bounds allow and that fits the name.
func (f *Field) number() any {
	for _, bound := range f.Bounds {
		if given, is := strings.CutPrefix(bound, "default "); is {
			return json.Number(given)
		}
	}

	name := strings.ToLower(f.Name)
	switch {
	case name == "year":
		return 2026
	case name == "expires":
		return 1798761600
	case strings.Contains(
		name,
		"rate",
	), strings.Contains(name, "split"), strings.Contains(name, "percent"), strings.Contains(name, "share"):
		return 15000
	case strings.Contains(
		name,
		"total",
	), strings.Contains(name, "amount"), strings.Contains(name, "cent"), strings.Contains(name, "balance"):
		return 125000
	}

	for _, bound := range f.Bounds {
		low, _, _ := strings.Cut(strings.TrimPrefix(bound, "at least "), " ")
		if n, err := strconv.Atoi(low); err == nil {
			return max(n, 1)
		}
	}

	return 1
}

var upperCase = regexp.MustCompile(`[A-Z]`)

// text returns a text that the format and the pattern allow and that fits the name.
func (f *Field) text() string {
	name := strings.ToLower(f.Name)
	late := strings.HasPrefix(name, "end") || strings.HasSuffix(name, "to") ||
		strings.Contains(name, "checkout") || strings.HasSuffix(name, "endat")

	switch f.format {
	case "uuid", "uuid-filter", "reference-filter":
		return SampleID(f.Name)
	case "date", "date-boundary":
		if late {
			return "2026-01-31"
		}

		return "2026-01-01"
	case "date-time":
		return "2026-01-31T09:30:00.000Z"
	case "month", "date-range":
		return "2026-01"
	case "email":
		return "ada@example.com"
	case "amount-range", "amount-ranges":
		return "125000"
	}

	// Try common values against the pattern.
	candidates := []string{"usd", "1234", "12-3456789", "021000021", "2026-01-01", "2026-01", "en-US", "active", "true"}

	if f.pattern != "" {
		if form, err := regexp.Compile(f.pattern); err == nil {
			if at := slices.IndexFunc(candidates, form.MatchString); at >= 0 {
				return candidates[at]
			}
		}
	}

	// Then values by name, and last the name itself in words.
	known := map[string]string{
		"name":            "Beach House",
		"currency":        "usd",
		"description":     "Cleaning in January",
		"message":         "Not found",
		"address":         "1 Ocean Drive",
		"url":             "https://example.com/",
		"uniqueref":       "ref-1",
		"code":            "4000",
		"region":          "us",
		"filename":        "invoice.pdf",
		"contenttype":     "application/pdf",
		"timezone":        "America/New_York",
		"x-request-id":    "0198c3a2",
		"idempotency-key": SampleID("Idempotency-Key"),
	}
	if text, has := known[name]; has {
		return text
	}

	words := strings.ToLower(upperCase.ReplaceAllString(f.Name, " $0"))
	for len(words) < f.least {
		words += " text"
	}

	return strings.TrimSpace(words)
}

// SampleID returns the id that examples use for a name such as listingId: the same everywhere.
func SampleID(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, "s"), "Id")
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(name))
	tail := fmt.Sprintf("%016x", sum.Sum64())

	return "0198c3a2-7b1e-7" + tail[:3] + "-9" + tail[3:6] + "-" + tail[4:16]
}
