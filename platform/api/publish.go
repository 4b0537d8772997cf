package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2/yaml"
)

// Description is the published description in its forms: 3.1 as JSON and YAML, and 3.0 as JSON for older tools.
type Description struct{ JSON, YAML, JSON30 []byte }

// OpenAPI renders the published description. Parts that occur in several places are named once among its components
// and referred to.
func (s *Server) OpenAPI() (d Description, err error) {
	plain, err := json.Marshal(s.published)
	if err != nil {
		return d, fmt.Errorf("encode the description: %w", err)
	}

	// Work on the plain JSON: the types of the generator cannot share parts.
	p := publication{fields: s.Fields}
	if p.root, err = decodeTree(plain); err != nil {
		return d, err
	}

	// Examples first, because shared schemas carry them too.
	if err = p.exemplify(s.Examples); err != nil {
		return d, err
	}

	p.share()

	if d.JSON, err = encodeTree(p.root); err != nil {
		return d, err
	}

	// The same description as YAML, and as OpenAPI 3.0 for older tools.
	if d.YAML, err = encodeYAML(d.JSON); err != nil {
		return d, err
	}

	d.JSON30, err = downgrade(d.JSON)

	return d, err
}

// tree is an object of the description.
type tree = map[string]any

// decodeTree decodes a description and keeps its numbers as they are written.
func decodeTree(text []byte) (tree, error) {
	var root tree

	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()

	if err := decoder.Decode(&root); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}

	return root, nil
}

// encodeTree writes an object with its fields in the order of their names, so that the same description is always the
// same text.
func encodeTree(root tree) ([]byte, error) {
	var text bytes.Buffer

	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)

	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("encode the description: %w", err)
	}

	return text.Bytes(), nil
}

// encodeYAML rewrites JSON as YAML. The library leaves a single = without quotation marks, which is a type of its own
// in YAML 1.1.
func encodeYAML(asJSON []byte) ([]byte, error) {
	var text bytes.Buffer
	if err := yaml.Convert(&text, bytes.NewReader(asJSON)); err != nil {
		return nil, fmt.Errorf("encode the description as YAML: %w", err)
	}

	return bytes.ReplaceAll(text.Bytes(), []byte("- =\n"), []byte("- \"=\"\n")), nil
}

// publication rewrites a description as it is published.
type publication struct {
	root   tree
	fields map[string]string
}

// share moves what has a name into components: types, headers and the parameters of the edge. A schema without a name of
// its own stays where it is, so that no edit changes the name of anything else.
func (p *publication) share() {
	p.eachSchema(p.nameSchema)
	p.describeProperties()
	p.openAnswers()
	p.shareHeaders()
	p.shareParameters()
	p.liftParameters()
}

// component returns the components of a kind, such as schemas.
func (p *publication) component(kind string) tree { return inside(inside(p.root, "components"), kind) }

func inside(of tree, name string) tree {
	in, ok := of[name].(tree)
	if !ok {
		in = tree{}
		of[name] = in
	}

	return in
}

// addComponent names a component and gives a reference to it; nil if another one has the name.
func (p *publication) addComponent(kind string, content any, name string) tree {
	of := p.component(kind)
	if there, taken := of[name]; taken && !reflect.DeepEqual(there, content) {
		return nil
	}

	of[name] = content

	return tree{"$ref": "#/components/" + kind + "/" + name}
}

// operations yields every operation in the order of paths and methods.
func (p *publication) operations(yield func(op tree)) {
	paths := inside(p.root, "paths")
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := inside(paths, path)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			if op, ok := item[method].(tree); ok {
				yield(op)
			}
		}
	}
}

// eachSchema replaces every schema by the result of f, from the inside out, in a fixed order.
func (p *publication) eachSchema(f func(schema tree) tree) {
	schemas := p.component("schemas")
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		inward(inside(schemas, name), f)
	}

	// Operations have schemas in parameters, bodies and answers.
	replace := func(holder any) {
		if h, ok := holder.(tree); ok && h["schema"] != nil {
			h["schema"] = replaceSchema(h["schema"], f)
		}
	}
	content := func(holder any) {
		h, _ := holder.(tree)

		media, _ := h["content"].(tree)
		for _, kind := range slices.Sorted(maps.Keys(media)) {
			replace(media[kind])
		}
	}

	p.operations(func(op tree) {
		parameters, _ := op["parameters"].([]any)
		for _, parameter := range parameters {
			replace(parameter)
		}

		content(op["requestBody"])

		responses := inside(op, "responses")
		for _, status := range slices.Sorted(maps.Keys(responses)) {
			content(responses[status])
		}
	})
}

// replaceSchema returns the result of f for a schema after its inner ones were replaced. Other values stay as they are.
func replaceSchema(schema any, f func(tree) tree) any {
	s, ok := schema.(tree)
	if !ok {
		return schema
	}

	inward(s, f)

	return f(s)
}

// inward replaces the schemas inside one.
func inward(s tree, f func(tree) tree) {
	if properties, ok := s["properties"].(tree); ok {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			properties[name] = replaceSchema(properties[name], f)
		}
	}

	for _, word := range []string{"items", "additionalProperties"} {
		if s[word] != nil {
			s[word] = replaceSchema(s[word], f)
		}
	}

	for _, word := range []string{"anyOf", "allOf", "oneOf"} {
		options, _ := s[word].([]any)
		for i := range options {
			options[i] = replaceSchema(options[i], f)
		}
	}
}

// placeWords are the words of a schema that describe one place where it is used.
var placeWords = []string{"description", "default", "deprecated", "examples"}

// splitSchema divides a schema into the words about its values and those about the place where it is used.
func splitSchema(s tree) (core, around tree) {
	core, around = tree{}, tree{}

	for word, value := range s {
		if slices.Contains(placeWords, word) {
			around[word] = value
		} else {
			core[word] = value
		}
	}

	return core, around
}

// nameSchema returns a reference in place of a schema that has a name. Null, which one place may allow, stays next to it.
func (p *publication) nameSchema(s tree) tree {
	name, ok := s[namedBy].(string)
	if !ok {
		return s
	}

	delete(s, namedBy)

	core, around := splitSchema(s)
	null := withoutNull(core)

	var ref tree
	if core["enum"] != nil {
		ref = p.addComponent("schemas", core, name)
	} else {
		ref = p.nameScalar(name, core)
	}

	switch {
	case ref == nil:
		return s
	case null:
		around["anyOf"] = []any{ref, tree{"type": "null"}}
	default:
		maps.Copy(around, ref)
	}

	return around
}

// nameScalar returns a reference to a named type, with the bounds that one place sets.
func (p *publication) nameScalar(name string, core tree) tree {
	basic, bounds := tree{"description": namedDocs[name]}, tree{}

	for word, value := range core {
		switch word {
		case "type", "format", "pattern":
			basic[word] = value
		default:
			bounds[word] = value
		}
	}

	ref := p.addComponent("schemas", basic, name)
	if ref != nil {
		maps.Copy(ref, bounds)
	}

	return ref
}

// withoutNull takes null out of the types and values of a schema, and reports whether it was there.
func withoutNull(s tree) bool {
	types, _ := s["type"].([]any)
	if len(types) != 2 || types[1] != "null" {
		return false
	}

	s["type"] = types[0]
	if values, ok := s["enum"].([]any); ok {
		s["enum"] = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })
	}

	return true
}

// selfExplaining is the text of a field that its name describes well enough.
const selfExplaining = "-"

// describeProperties gives each property without a description the one of its name. A property that refers to a
// described schema needs none.
func (p *publication) describeProperties() {
	schemas := p.component("schemas")
	for owner, schema := range schemas {
		s, _ := schema.(tree)

		properties, _ := s["properties"].(tree)
		for name, property := range properties {
			one, ok := property.(tree)

			doc := cmp.Or(p.fields[owner+"."+name], p.fields[name])
			if ok && one["description"] == nil && doc != "" && doc != selfExplaining {
				one["description"] = doc
			}
		}
	}
}

// openAnswers lets objects that no request contains have further fields, and their texts further values, so that answers
// can get new ones without a new version.
func (p *publication) openAnswers() {
	schemas, asked := p.component("schemas"), map[string]bool{}

	var reach func(node any)

	reach = func(node any) {
		switch n := node.(type) {
		case []any:
			for _, one := range n {
				reach(one)
			}
		case tree:
			for _, one := range n {
				reach(one)
			}

			ref, _ := n["$ref"].(string)
			if name := strings.TrimPrefix(ref, refPrefix); ref != "" && !asked[name] {
				asked[name] = true
				reach(schemas[name])
			}
		}
	}

	// Find every schema that a request can contain.
	p.operations(func(op tree) { reach(op["requestBody"]); reach(op["parameters"]) })

	for name, schema := range schemas {
		if s, ok := schema.(tree); ok && !asked[name] {
			if s["additionalProperties"] == false {
				delete(s, "additionalProperties")
			}

			openValues(s)
		}
	}
}

// knownValues lists the values that a text of answers has today. It can get others without a new version, so clients
// must not treat the list as closed.
const knownValues = "x-known-values"

// openValues makes the enumerations in a schema of answers lists of known values.
func openValues(node any) {
	switch n := node.(type) {
	case []any:
		for _, one := range n {
			openValues(one)
		}
	case tree:
		if values, ok := n["enum"].([]any); ok {
			delete(n, "enum")
			n[knownValues] = slices.DeleteFunc(values, func(v any) bool { return v == nil })
		}

		for word, one := range n {
			if word != "examples" {
				openValues(one)
			}
		}
	}
}
