package reference

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// node is an object of the description.
type node map[string]any

func (n node) child(name string) node {
	c, _ := n[name].(map[string]any)
	return c
}

func (n node) text(name string) string {
	s, _ := n[name].(string)
	return s
}

func (n node) flag(name string) bool {
	b, _ := n[name].(bool)
	return b
}

// list returns the objects in the list of a name, none without it.
func (n node) list(name string) []node {
	raw, _ := n[name].([]any)

	var out []node

	for _, one := range raw {
		if object, is := one.(map[string]any); is {
			out = append(out, object)
		}
	}

	return out
}

// words returns the texts of a list. Other values, such as null in an enumeration, are left out.
func (n node) words(name string) []string {
	raw, _ := n[name].([]any)

	var out []string

	for _, one := range raw {
		switch v := one.(type) {
		case string:
			out = append(out, v)
		case float64:
			out = append(out, strconv.FormatFloat(v, 'f', -1, 64))
		}
	}

	return out
}

func (n node) number(name string) (string, bool) {
	f, is := n[name].(float64)
	return strconv.FormatFloat(f, 'f', -1, 64), is
}

const deepestReference = 20

// resolveReference follows references inside of the description. Words next to a reference win over those of its
// target, as OpenAPI 3.1 says. It fails for a reference that leads nowhere or in a circle.
func (d *Document) resolveReference(n node) (node, error) {
	for range deepestReference {
		ref := n.text("$ref")
		if ref == "" {
			return n, nil
		}

		target := d.root
		for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			target = target.child(strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
		}

		if target == nil || !strings.HasPrefix(ref, "#/") {
			return nil, fmt.Errorf("the reference %s leads nowhere", ref)
		}

		merged := maps.Clone(target)

		for name, value := range n {
			if name != "$ref" {
				merged[name] = value
			}
		}

		n = merged
	}

	return nil, fmt.Errorf("the reference %s leads in a circle", n.text("$ref"))
}

// Field is a value that a schema describes, with its name in the object, list or parameter.
type Field struct {
	Name, Type, About                                 string
	Required, Nullable, Deprecated, ReadOnly, Written bool
	// Bounds has the rules that a value must follow, in words.
	Bounds []string
	Values []string
	// Fields are those of an object, of the objects of a list, or of the objects that are the values of a map.
	Fields []*Field
	// Same says that the fields stand further up already: the schema contains itself.
	Same bool

	format, pattern, kind string
	sample                any
	items                 *Field
	least                 int // of items or characters
}

// readField reads a schema. The schemas that it is inside of are in inside.
func (d *Document) readField(name string, raw node, inside []string) (*Field, error) {
	f := &Field{Name: name}
	model := raw.text("$ref")

	n, err := d.resolveReference(raw)
	if err != nil {
		return nil, err
	}

	if n, f.Nullable, err = d.flattenSchema(n); err != nil {
		return nil, err
	}

	if ref := n.text("x-model"); ref != "" {
		model = ref
	}

	// What every kind of schema can say.
	f.About = n.text("description")
	f.Deprecated = n.flag("deprecated")
	f.ReadOnly = n.flag("readOnly")
	f.Written = n.flag("writeOnly")

	f.format, f.pattern, f.Values = n.text("format"), n.text("pattern"), append(n.words("enum"), n.words("x-known-values")...)
	if constant, is := n["const"].(string); is {
		f.Values = []string{constant}
	}

	f.kind = kind(n)
	if f.sample, err = d.readExample(n, nil); err != nil {
		return nil, err
	}

	f.bound(n)

	// Then its type, and what is inside.
	short := model[strings.LastIndex(model, "/")+1:]

	switch f.kind {
	case "array":
		if f.items, err = d.readField("", n.child("items"), inside); err != nil {
			return nil, err
		}

		f.Fields, f.Same, f.Values = f.items.Fields, f.items.Same, cmpSlices(f.Values, f.items.Values)
		f.Type = "list of " + f.items.Type
		f.Bounds = append(f.Bounds, f.items.Bounds...)
		f.About = cmp.Or(f.About, f.items.About)
	case "object":
		f.Type = cmp.Or(short, "object")

		// An object that contains itself is shown once.
		if model != "" && slices.Contains(inside, model) {
			f.Same = true
			return f, nil
		}

		if model != "" {
			inside = append(slices.Clone(inside), model)
		}

		if f.Fields, err = d.readFields(n, inside); err != nil {
			return nil, err
		}

		if values := n.child("additionalProperties"); len(values) > 0 {
			one, err := d.readField("(any name)", values, inside)
			if err != nil {
				return nil, err
			}

			f.Fields = append(f.Fields, one)
		}
	default:
		f.Type = cmp.Or(formats[f.format], f.kind, "any value")
	}

	return f, nil
}

func cmpSlices(a, b []string) []string {
	if len(a) > 0 {
		return a
	}

	return b
}

// readFields returns the fields of an object: the required ones as the description lists them, then the others by name.
func (d *Document) readFields(n node, inside []string) ([]*Field, error) {
	required, all := n.words("required"), n.child("properties")

	names := slices.DeleteFunc(slices.Clone(required), func(name string) bool { return all[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}

	out := make([]*Field, 0, len(names))
	for _, name := range names {
		f, err := d.readField(name, all.child(name), inside)
		if err != nil {
			return nil, err
		}

		f.Required = slices.Contains(required, name)
		out = append(out, f)
	}

	return out, nil
}

// flattenSchema removes null from a schema and joins allOf, so that one kind is left. It reports whether null was
// allowed.
func (d *Document) flattenSchema(n node) (node, bool, error) {
	null := n.flag("nullable")
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		options := n.list(word)
		if len(options) == 0 {
			continue
		}

		merged := maps.Clone(n)
		delete(merged, word)

		for _, option := range options {
			if option.text("type") == "null" {
				null = true
				continue
			}

			// Choices can contain choices.
			resolved, err := d.resolveReference(option)
			if err != nil {
				return nil, false, err
			}

			inner, innerNull, err := d.flattenSchema(resolved)
			if err != nil {
				return nil, false, err
			}

			null = null || innerNull

			if ref := option.text("$ref"); ref != "" && merged["x-model"] == nil {
				merged["x-model"] = ref
			}

			merge(merged, inner)
		}

		n = merged
	}

	if types := n.words("type"); slices.Contains(types, "null") {
		null = true
	}

	return n, null, nil
}

// merge adds the words of another schema. Existing words stay, but objects get the fields of both.
func merge(into, more node) {
	for name, value := range more {
		switch {
		case into[name] == nil:
			into[name] = value
		case name == "properties":
			both := maps.Clone(more.child(name))
			maps.Copy(both, into.child(name))
			into[name] = map[string]any(both)
		case name == "required":
			a, _ := into[name].([]any)
			b, _ := value.([]any)
			into[name] = append(slices.Clone(a), b...)
		}
	}
}

// kind returns the type of a schema without null.
func kind(n node) string {
	if one := n.text("type"); one != "" {
		return one
	}

	for _, one := range n.words("type") {
		if one != "null" {
			return one
		}
	}

	if n["properties"] != nil {
		return "object"
	}

	return ""
}

var formats = map[string]string{
	"uuid":             "uuid",
	"date":             "date",
	"date-time":        "date-time",
	"month":            "month",
	"email":            "e-mail address",
	"uri":              "address",
	"binary":           "file",
	"uuid-filter":      "uuid, or !uuid to leave it out",
	"reference-filter": "uuid or null, or with ! to leave it out",
	"date-boundary":    "YYYY, YYYY-MM or YYYY-MM-DD",
	"date-range":       "date range",
	"amount-range":     "cents, or a range of cents",
	"amount-ranges":    "cents, or ranges of cents",
}

// bound puts the rules of a schema into words.
func (f *Field) bound(n node) {
	say := func(form string, values ...any) { f.Bounds = append(f.Bounds, fmt.Sprintf(form, values...)) }
	between := func(low, high, unit string) {
		from, hasFrom := n.number(low)

		to, hasTo := n.number(high)
		switch {
		case hasFrom && hasTo && from == to:
			say("exactly %s%s", from, unit)
		case hasFrom && hasTo:
			say("%s to %s%s", from, to, unit)
		case hasFrom && from != "0":
			say("at least %s%s", from, unit)
		case hasFrom && unit == "":
			say("not negative")
		case hasTo:
			say("at most %s%s", to, unit)
		}

		if hasFrom && unit != "" {
			f.least, _ = strconv.Atoi(from)
		}
	}

	// All pairs of bounds, and the least number of items for examples.
	between("minimum", "maximum", "")
	between("minLength", "maxLength", " characters")
	between("minItems", "maxItems", " items")
	between("minProperties", "maxProperties", " fields")

	if n.flag("uniqueItems") {
		say("each once")
	}

	if f.pattern != "" && f.format == "" {
		say("matches %s", f.pattern)
	}

	// Defaults of lists are written as the query takes them.
	switch v := n["default"].(type) {
	case nil:
	case []any:
		if len(v) > 0 {
			say("default %s", strings.Join(n.words("default"), ","))
		}
	default:
		say("default %v", v)
	}
}
