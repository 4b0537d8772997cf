package api

import (
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
)

// maxIssues bounds an answer: a body can hold more mistakes than anyone wants to read.
const maxIssues = 100

// validator checks a JSON tree against a schema of the description. It is stricter than the library's own: names are case-sensitive, null
// is refused where the schema does not allow it, also for fields that can be absent, and an issue inside a nullable object has its own path.
type validator struct {
	registry huma.Registry
	path     []any
	issues   []apierr.Issue
}

func (v *validator) refuse(message, code string) {
	if len(v.issues) < maxIssues {
		v.issues = append(v.issues, apierr.Issue{Message: message, Code: code, Path: append([]any{}, v.path...), Schema: "body"})
	}
}

func (v *validator) at(segment any, check func()) {
	v.path = append(v.path, segment)
	check()
	v.path = v.path[:len(v.path)-1]
}

// resolve follows references and looks into "a value or null".
func (v *validator) resolve(s *huma.Schema) (schema *huma.Schema, nullable bool) {
	for s != nil {
		nullable = nullable || s.Nullable
		switch {
		case s.Ref != "":
			s = v.registry.SchemaFromRef(s.Ref)
		case len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null":
			s, nullable = s.AnyOf[0], true
		default:
			return s, nullable
		}
	}
	return &huma.Schema{}, nullable
}

func (v *validator) check(schema *huma.Schema, value any) {
	s, nullable := v.resolve(schema)
	if value == nil && (nullable || s.Type == "") {
		return
	}
	switch s.Type {
	case huma.TypeBoolean:
		if _, ok := value.(bool); !ok {
			v.refuse("Value is not true or false", "boolean")
		}
	case huma.TypeInteger, huma.TypeNumber:
		v.number(s, value)
	case huma.TypeString:
		v.text(s, value)
	case huma.TypeArray:
		v.array(s, value)
	case huma.TypeObject:
		v.object(s, value)
	}
}

func (v *validator) number(s *huma.Schema, value any) {
	var n float64
	switch given := value.(type) {
	case int64:
		n = float64(given) // exact: the scanner refuses what is not safe
	case float64:
		if s.Type == huma.TypeInteger {
			v.refuse("Value is not an integer", "integer")
			return
		}
		n = given
	default:
		if s.Type == huma.TypeInteger {
			v.refuse("Value is not an integer", "integer")
			return
		}
		v.refuse("Value is not a number", "number")
		return
	}
	if s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum ||
		s.ExclusiveMinimum != nil && n <= *s.ExclusiveMinimum || s.ExclusiveMaximum != nil && n >= *s.ExclusiveMaximum {
		v.refuse("Value is out of range", "range")
	}
}

func (v *validator) text(s *huma.Schema, value any) {
	text, ok := value.(string)
	if !ok {
		v.refuse("Value is not text", "string")
		return
	}
	if len(s.Enum) > 0 {
		if !slices.Contains(s.Enum, any(text)) {
			v.refuse("Value is not one of the allowed values", "enum")
		}
		return
	}
	if n := utf8.RuneCountInString(text); s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
		v.refuse("Text is too short or too long", "length")
		return
	}
	known, message, code := format(s.Format, text)
	switch {
	case message != "":
		v.refuse(message, code)
	case !known && s.Pattern != "" && !compiled(s.Pattern).MatchString(text):
		v.refuse("Value is malformed", "malformed")
	}
}

// format checks the formats that inputs use; known means that the format says more than a pattern could.
func format(name, text string) (known bool, message, code string) {
	var err error
	switch name {
	case "uuid":
		message, code = "Value is not a uuid", "uuid"
		_, err = id.Parse(text)
	case "date":
		message, code = "Value is not a date", "date"
		var d day.Day
		err = d.UnmarshalText([]byte(text))
	case "date-time":
		message, code = "Value is not a date-time", "dateTime"
		_, err = time.Parse(time.RFC3339Nano, text)
	case "email":
		message, code = "Value is not an e-mail address", "email"
		var a *mail.Address
		if a, err = mail.ParseAddress(text); err == nil && a.Address != text {
			err = mail.ErrHeaderNotPresent
		}
	default:
		return false, "", ""
	}
	if err == nil {
		return name != "email", "", ""
	}
	return true, message, code
}

var patterns sync.Map // of *regexp.Regexp by text

func compiled(pattern string) *regexp.Regexp {
	if known, ok := patterns.Load(pattern); ok {
		return known.(*regexp.Regexp) //nolint:errcheck,forcetypeassert // Nothing else is stored.
	}
	made := regexp.MustCompile(pattern)
	patterns.Store(pattern, made)
	return made
}

func (v *validator) array(s *huma.Schema, value any) {
	list, ok := value.([]any)
	if !ok {
		v.refuse("Value is not a list", "array")
		return
	}
	if s.MinItems != nil && len(list) < *s.MinItems || s.MaxItems != nil && len(list) > *s.MaxItems {
		v.refuse("List has too few or too many items", "items")
		return
	}
	if s.UniqueItems {
		seen := make(map[string]bool, len(list))
		for _, item := range list {
			key := fmt.Sprintf("%T %v", item, item)
			if seen[key] {
				v.refuse("List holds an item twice", "unique")
				break
			}
			seen[key] = true
		}
	}
	if s.Items == nil {
		return
	}
	for i, item := range list {
		v.at(i, func() { v.check(s.Items, item) })
	}
}

func (v *validator) object(s *huma.Schema, value any) {
	fields, ok := value.(map[string]any)
	if !ok {
		v.refuse("Value is not an object", "object")
		return
	}
	if s.MinProperties != nil && len(fields) < *s.MinProperties || s.MaxProperties != nil && len(fields) > *s.MaxProperties {
		v.refuse("Object has too few or too many fields", "fields")
		return
	}
	for _, name := range s.Required {
		if _, given := fields[name]; !given {
			v.at(name, func() { v.refuse("Required field is missing", "required") })
		}
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		v.at(name, func() {
			if property := s.Properties[name]; property != nil {
				v.check(property, fields[name])
				return
			}
			switch further := s.AdditionalProperties.(type) {
			case *huma.Schema:
				v.check(further, fields[name])
			case bool:
				if !further {
					v.refuse("Field is not known", "unknownField")
				}
			}
		})
	}
}

// checkable refuses at the start what the validator would skip in silence.
func checkable(r huma.Registry, name string, s *huma.Schema, seen map[string]bool) {
	if s == nil || s.Ref != "" && seen[s.Ref] {
		return
	}
	if s.Ref != "" {
		seen[s.Ref] = true
		checkable(r, strings.TrimPrefix(s.Ref, refPrefix), r.SchemaFromRef(s.Ref), seen)
		return
	}
	v := validator{registry: r}
	target, _ := v.resolve(s)
	if len(s.AnyOf) > 0 && target == s || len(s.Enum) > 0 && s.Type != huma.TypeString ||
		len(s.OneOf) > 0 || len(s.AllOf) > 0 || s.Not != nil || s.Const != nil || s.MultipleOf != nil || len(s.DependentRequired) > 0 || s.ContentEncoding != "" {
		panic("schema " + name + " uses a keyword that bodies are not checked against")
	}
	if len(s.AnyOf) > 0 {
		checkable(r, name, s.AnyOf[0], seen)
	}
	switch s.Format {
	case "", "uuid", "date", "date-time", "email", "int32", "int64", "double", "float":
	default:
		panic("schema " + name + " uses the format " + s.Format + ", which bodies are not checked against")
	}
	if s.Pattern != "" {
		compiled(s.Pattern)
	}
	for field, property := range s.Properties {
		checkable(r, name+"."+field, property, seen)
	}
	checkable(r, name, s.Items, seen)
	if further, ok := s.AdditionalProperties.(*huma.Schema); ok {
		checkable(r, name, further, seen)
	}
}
