package api

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
)

const (
	// An answer has maxIssues at most: a body can have more mistakes than anyone wants to read.
	maxIssues = 100
	// The longest field name that an issue has in its path is of maxNamed bytes.
	maxNamed = 200
	// An object without named fields in its schema can have maxFields.
	maxFields = 1000
	// A list without a bound in its schema has maxListItems at most.
	maxListItems = 30_000
	// A body can hold maxLoose values in all that no schema describes. Each costs up to 300 bytes when it is decoded.
	maxLoose = 50_000
)

// validator reads a body once and holds it to its schema, a schema of the description, while it does. It builds nothing
// of it and remembers the names of the fields of open objects only, so that the memory it needs does not depend on the
// body. It is stricter than the library's own: names are case-sensitive, null is refused where the schema does not
// allow it, also for fields that can be absent, and an issue inside a nullable object has its own path. Whatever the
// schema says it refuses what Go's decoder lets pass: duplicate fields, NUL characters, and numbers that are not safe
// integers or plain decimals.
type validator struct {
	scanner
	registry huma.Registry
	accepted day.Range
	path     []step
	fields   [][]byte // of the open objects, the innermost last
	loose    int
	strict   []apierr.Issue // what no schema allows; reported before the rest
	issues   []apierr.Issue
}

// step is a field or an index of a path.
type step struct {
	field []byte // nil for an index
	index int
}

// checkBody checks a body against a schema and returns the issues. It fails if the body is no JSON. Dates must be
// among the days of accepted.
func checkBody(registry huma.Registry, schema *huma.Schema, body []byte, accepted day.Range) ([]apierr.Issue, error) {
	if !utf8.Valid(body) {
		return nil, errUTF8
	}

	v := validator{scanner: scanner{text: body}, registry: registry, accepted: accepted}
	if err := v.value(schema, 0); err != nil {
		return nil, err
	}

	if v.peek() != 0 || v.at < len(body) {
		return nil, errTrailer
	}

	if len(v.strict) > 0 {
		return v.strict, nil
	}

	return v.issues, nil
}

func (v *validator) refuse(code apierr.IssueCode) { v.add(&v.issues, code) }

// add adds an issue at the current path, at most maxIssues. The path ends before a field with an overlong name.
func (v *validator) add(to *[]apierr.Issue, code apierr.IssueCode) {
	if len(*to) == maxIssues {
		return
	}

	path := make([]any, 0, len(v.path))
	for _, s := range v.path {
		if len(s.field) > maxNamed {
			break
		}

		if s.field == nil {
			path = append(path, s.index)
		} else {
			path = append(path, string(s.field))
		}
	}

	*to = append(*to, code.InBody(path...))
}

func (v *validator) up() { v.path = v.path[:len(v.path)-1] }

// resolveSchema follows references and looks into "a value or null".
func resolveSchema(registry huma.Registry, s *huma.Schema) (schema *huma.Schema, nullable bool) {
	for s != nil {
		nullable = nullable || s.Nullable
		switch {
		case s.Ref != "":
			s = registry.SchemaFromRef(s.Ref)
		case len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null":
			s, nullable = s.AnyOf[0], true
		default:
			return s, nullable
		}
	}

	return &huma.Schema{}, nullable
}

// mismatches are the issues of a value that is not of the type of its schema.
var mismatches = map[string]apierr.IssueCode{
	huma.TypeBoolean: apierr.IssueBoolean,
	huma.TypeInteger: apierr.IssueInteger,
	huma.TypeNumber:  apierr.IssueNumber,
	huma.TypeString:  apierr.IssueString,
	huma.TypeArray:   apierr.IssueArray,
	huma.TypeObject:  apierr.IssueObject,
}

// is reports whether a value of one of these types fits the schema, and refuses it otherwise. A nil or empty schema
// fits nothing and refuses nothing.
func (v *validator) is(s *huma.Schema, types ...string) bool {
	if s == nil || s.Type == "" {
		return false
	}

	if slices.Contains(types, s.Type) {
		return true
	}

	if code, ok := mismatches[s.Type]; ok {
		v.refuse(code)
	}

	return false
}

// value reads one value. A nil schema accepts everything, for values that were refused already. An empty one
// describes values that are stored as they come; their number is bounded.
func (v *validator) value(schema *huma.Schema, depth int) error {
	var s *huma.Schema

	nullable := true
	if schema != nil {
		s, nullable = resolveSchema(v.registry, schema)
		if s.Type == "" {
			if v.loose++; v.loose == maxLoose+1 {
				v.refuse(apierr.IssueTooManyValues)
			}
		}
	}

	// The first byte says what kind of value it is.
	switch b := v.peek(); b {
	case '{', '[':
		if depth == maxDepth {
			return errTooDeep
		}

		v.at++
		if b == '{' {
			return v.object(s, depth)
		}

		return v.array(s, depth)
	case '"':
		t, err := v.string()
		if t.nul {
			v.add(&v.strict, apierr.IssueNulCharacter)
		}

		if err == nil && v.is(s, huma.TypeString) {
			v.text(s, t)
		}

		return err
	case 't', 'f':
		v.is(s, huma.TypeBoolean)

		if b == 't' {
			return v.literal("true")
		}

		return v.literal("false")
	case 'n':
		if !nullable {
			v.is(s)
		}

		return v.literal("null")
	default:
		raw, err := v.number()
		if err == nil {
			v.amount(s, raw)
		}

		return err
	}
}

// amount validates a number against its schema: kind and range.
func (v *validator) amount(s *huma.Schema, raw []byte) {
	n, whole, ok := plain(raw)
	if !ok {
		v.add(&v.strict, apierr.IssueUnsafeNumber)
		return
	}

	types := []string{huma.TypeNumber, huma.TypeInteger}
	if !whole {
		types = types[:1]
	}

	if !v.is(s, types...) {
		return
	}

	if s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum ||
		s.ExclusiveMinimum != nil && n <= *s.ExclusiveMinimum || s.ExclusiveMaximum != nil && n >= *s.ExclusiveMaximum {
		v.refuse(apierr.IssueRange)
	}
}

// text checks a string against the enumeration, length, format and pattern of its schema.
func (v *validator) text(s *huma.Schema, t token) {
	if len(s.Enum) > 0 {
		if !slices.Contains(s.Enum, any(t.String())) {
			v.refuse(apierr.IssueEnum)
		}

		return
	}

	if s.MinLength != nil || s.MaxLength != nil {
		if n := t.length(); s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
			v.refuse(apierr.IssueLength)
			return
		}
	}

	if s.Format == "" && s.Pattern == "" {
		return
	}

	// A format that we know is stricter than the pattern, which is for readers of the description.
	text := t.String()

	known, code := format(s.Format, text)
	switch {
	case code != "":
		v.refuse(code)
	case !known && s.Pattern != "" && !compilePattern(s.Pattern).MatchString(text):
		v.refuse(apierr.IssueMalformed)
	case outside(s.Format, text, v.accepted):
		v.refuse(apierr.IssueDateOutOfRange)
	}
}

// array reads a list and checks its items, their number and whether they are unique.
func (v *validator) array(s *huma.Schema, depth int) error {
	list := v.is(s, huma.TypeArray)
	limit, lowest := maxListItems, 0

	var (
		items *huma.Schema
		seen  map[string]bool
	)

	switch {
	case list:
		if items = s.Items; items == nil {
			items = anything
		}

		if s.MaxItems != nil {
			limit = *s.MaxItems
		}

		if s.MinItems != nil {
			lowest = *s.MinItems
		}

		if s.UniqueItems {
			seen = map[string]bool{}
		}
	case s != nil && s.Type == "":
		items = s
	}

	// The number of items outranks their issues: a list that is too long gets one issue, not thousands.
	before := len(v.issues)

	n := 0
	for going := v.peek() != ']'; going; n++ {
		if list && n == limit {
			items, seen = nil, nil // the list is refused: nothing more is asked of it
			v.issues = v.issues[:before]
		}

		v.peek()
		start := v.at
		v.path = append(v.path, step{index: n})
		err := v.value(items, depth+1)
		v.up()

		if err != nil {
			return err
		}

		// Compare items as they were written.
		if seen != nil {
			item := string(bytes.TrimSpace(v.scanner.text[start:v.at]))
			if seen[item] {
				v.refuse(apierr.IssueUnique)

				seen = nil
			} else {
				seen[item] = true
			}
		}

		if going, err = v.more(']'); err != nil {
			return err
		}
	}

	if n == 0 {
		v.at++
	}

	if list && (n < lowest || n > limit) {
		v.issues = v.issues[:before]
		v.refuse(apierr.IssueItems)
	}

	return nil
}

// anything is the schema of values that are kept as they come.
var anything = &huma.Schema{}

// object reads an object and checks its fields, their number and the required ones.
func (v *validator) object(s *huma.Schema, depth int) error {
	typed := v.is(s, huma.TypeObject)
	if !typed && s != nil && s.Type != "" {
		s = nil
	}

	limit := maxFields
	if typed && s.MaxProperties != nil {
		limit = *s.MaxProperties
	}

	// The names of all open objects share one stack.
	mark := len(v.fields)
	defer func() { v.fields = v.fields[:mark] }()

	var index map[string]bool

	n := 0
	for going := v.peek() != '}'; going; n++ {
		t, err := v.string()
		if err != nil {
			return err
		}

		// Names may be written with escapes.
		name := t.raw
		if t.escaped {
			name = []byte(t.String())
		}

		v.path = append(v.path, step{field: name})
		if t.nul {
			v.add(&v.strict, apierr.IssueNulCharacter)
		}

		if n < maxFields {
			index = v.once(mark, name, index)
		}

		if err := v.expect(':'); err != nil {
			return err
		}

		if err := v.value(v.property(s, name), depth+1); err != nil {
			return err
		}

		v.up()

		if going, err = v.more('}'); err != nil {
			return err
		}
	}

	if n == 0 {
		v.at++
	}

	if s == nil {
		return nil
	}

	if open := s.Properties == nil; s.MinProperties != nil && n < *s.MinProperties ||
		n > limit && (open || s.MaxProperties != nil) {
		v.refuse(apierr.IssueFields)
	}

	v.checkRequired(s, mark)

	return nil
}

// few is how many fields are compared one by one before an index of them pays.
const few = 24

// once refuses a field that the open object has already, and remembers it. Objects with many fields get an index.
func (v *validator) once(mark int, name []byte, index map[string]bool) map[string]bool {
	open := v.fields[mark:]

	var seen bool

	switch {
	case index != nil:
		seen = index[string(name)]
	default:
		seen = slices.ContainsFunc(open, func(other []byte) bool { return bytes.Equal(other, name) })
	}

	if seen {
		v.add(&v.strict, apierr.IssueDuplicateField)
		return index
	}

	v.fields = append(v.fields, name)

	if index == nil && len(open) == few {
		index = make(map[string]bool, 2*few)
		for _, other := range v.fields[mark:] {
			index[string(other)] = true
		}
	} else if index != nil {
		index[string(name)] = true
	}

	return index
}

// property returns the schema of a field. A field that the object does not have is refused.
func (v *validator) property(s *huma.Schema, name []byte) *huma.Schema {
	if s == nil {
		return nil
	}

	if known := s.Properties[string(name)]; known != nil {
		return known
	}

	switch further := s.AdditionalProperties.(type) {
	case *huma.Schema:
		return further
	case bool:
		if !further {
			v.refuse(apierr.IssueUnknownField)
			return nil
		}
	}

	return anything
}

// checkRequired refuses the open object for each required field that is missing.
func (v *validator) checkRequired(s *huma.Schema, mark int) {
	for _, name := range s.Required {
		if !slices.ContainsFunc(v.fields[mark:], func(given []byte) bool { return string(given) == name }) {
			v.path = append(v.path, step{field: []byte(name)})
			v.refuse(apierr.IssueRequired)
			v.up()
		}
	}
}

// checkable panics at the start for a schema with keywords that the validator would ignore.
func checkable(r huma.Registry, name string, s *huma.Schema, seen map[string]bool) {
	if s == nil || s.Ref != "" && seen[s.Ref] {
		return
	}

	if s.Ref != "" {
		seen[s.Ref] = true
		checkable(r, strings.TrimPrefix(s.Ref, refPrefix), r.SchemaFromRef(s.Ref), seen)

		return
	}

	// Optional references are the only choice that the validator knows.
	target, _ := resolveSchema(r, s)
	if len(s.AnyOf) > 0 && target == s || len(s.Enum) > 0 && s.Type != huma.TypeString ||
		len(s.OneOf) > 0 || len(s.AllOf) > 0 || s.Not != nil || s.Const != nil || s.MultipleOf != nil ||
		len(s.DependentRequired) > 0 || s.ContentEncoding != "" {
		panic("schema " + name + " uses a keyword that bodies are not checked against")
	}

	if len(s.AnyOf) > 0 {
		checkable(r, name, s.AnyOf[0], seen)
	}

	switch s.Format {
	case "", "uuid", "date", "date-time", monthFormat, rangeFormat, boundaryFormat, pickFormat, refFormat, amountFormat, amountsFormat, "email", "int32", "int64",
		"double", "float":
	default:
		panic("schema " + name + " uses the format " + s.Format + ", which bodies are not checked against")
	}

	if s.Pattern != "" {
		compilePattern(s.Pattern)
	}

	// Go on with everything inside.
	for field, property := range s.Properties {
		checkable(r, name+"."+field, property, seen)
	}

	checkable(r, name, s.Items, seen)

	if further, ok := s.AdditionalProperties.(*huma.Schema); ok {
		checkable(r, name, further, seen)
	}
}
