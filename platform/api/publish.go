package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2/yaml"
)

// Description is the published description in its forms: 3.1 as JSON and YAML, and 3.0 as JSON for older tools.
type Description struct{ JSON, YAML, JSON30 []byte }

// OpenAPI renders the published description. What stands in several places of it is named once among its components and referred to.
func (s *Server) OpenAPI() (d Description, err error) {
	plain, err := json.Marshal(s.published)
	if err != nil {
		return d, fmt.Errorf("encode the description: %w", err)
	}
	p := publication{enumNames: s.enumNames(), fields: s.Fields}
	if p.root, err = decodeTree(plain); err != nil {
		return d, err
	}
	p.share()
	if d.JSON, err = encodeTree(p.root); err != nil {
		return d, err
	}
	var text bytes.Buffer
	if err = yaml.Convert(&text, bytes.NewReader(d.JSON)); err != nil {
		return d, fmt.Errorf("encode the description: %w", err)
	}
	d.YAML = text.Bytes()
	d.JSON30, err = downgrade(d.JSON)
	return d, err
}

// tree is an object of the description.
type tree = map[string]any

func decodeTree(text []byte) (tree, error) {
	var root tree
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&root); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	return root, nil
}

// encodeTree writes an object with its fields in the order of their names, so that the same description is always the same text.
func encodeTree(root tree) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("encode the description: %w", err)
	}
	return text.Bytes(), nil
}

// publication rewrites a description as it is published.
type publication struct {
	root tree
	// enumNames are the names of the types that list some values, by the JSON of the values.
	enumNames map[string][]string
	fields    map[string]string
}

func (p *publication) share() {
	p.eachSchema(p.nameSchema)
	p.describeProperties()
	p.openAnswers()
	p.shareProperties()
	p.shareHeaders()
	p.shareParameters()
	p.shareResponses()
}

// component is the object of the components of a kind, such as schemas.
func (p *publication) component(kind string) tree { return inside(inside(p.root, "components"), kind) }

func inside(of tree, name string) tree {
	in, ok := of[name].(tree)
	if !ok {
		in = tree{}
		of[name] = in
	}
	return in
}

// put names a component by the first name that is free, or has the same content, and gives a reference to it. Without one it gives nil.
func (p *publication) put(kind string, content any, names ...string) tree {
	of := p.component(kind)
	for _, name := range names {
		if there, taken := of[name]; !taken || reflect.DeepEqual(there, content) {
			of[name] = content
			return tree{"$ref": "#/components/" + kind + "/" + name}
		}
	}
	return nil
}

// operations gives every operation in the order of paths and methods.
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

// where says what a schema belongs to: the name of its property or parameter, and the schema or operation that it is one of.
type where struct{ name, owner string }

// eachSchema puts in the place of every schema what f makes of it, from the inside out.
func (p *publication) eachSchema(f func(schema tree, at where) tree) {
	schemas := p.component("schemas")
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		inward(inside(schemas, name), where{owner: name}, f)
	}
	replace := func(holder any, at where) {
		if h, ok := holder.(tree); ok && h["schema"] != nil {
			h["schema"] = replaced(h["schema"], at, f)
		}
	}
	content := func(holder any, at where) {
		h, _ := holder.(tree)
		media, _ := h["content"].(tree)
		for _, kind := range slices.Sorted(maps.Keys(media)) {
			replace(media[kind], at)
		}
	}
	p.operations(func(op tree) {
		owner := upper(fmt.Sprint(op["operationId"]))
		parameters, _ := op["parameters"].([]any)
		for _, parameter := range parameters {
			one, _ := parameter.(tree)
			replace(one, where{name: fmt.Sprint(one["name"]), owner: owner})
		}
		content(op["requestBody"], where{owner: owner})
		responses := inside(op, "responses")
		for _, status := range slices.Sorted(maps.Keys(responses)) {
			content(responses[status], where{owner: owner})
		}
	})
}

func replaced(schema any, at where, f func(tree, where) tree) any {
	s, ok := schema.(tree)
	if !ok {
		return schema
	}
	inward(s, at, f)
	return f(s, at)
}

// inward replaces the schemas inside one.
func inward(s tree, at where, f func(tree, where) tree) {
	if properties, ok := s["properties"].(tree); ok {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			properties[name] = replaced(properties[name], where{name: name, owner: at.owner}, f)
		}
	}
	for _, word := range []string{"items", "additionalProperties"} {
		if s[word] != nil {
			s[word] = replaced(s[word], at, f)
		}
	}
	for _, word := range []string{"anyOf", "allOf", "oneOf"} {
		options, _ := s[word].([]any)
		for i := range options {
			options[i] = replaced(options[i], at, f)
		}
	}
}

// beside are the words of a schema that say something of one place where it stands.
var beside = []string{"description", "default", "deprecated", "examples"}

// nameSchema gives a reference instead of a schema that has a name, and of an enumeration; null, which one place may allow, stands beside it.
func (p *publication) nameSchema(s tree, at where) tree {
	core, around := tree{}, tree{}
	for word, value := range s {
		if slices.Contains(beside, word) {
			around[word] = value
		} else {
			core[word] = value
		}
	}
	null := withoutNull(core)
	var ref tree
	if name, ok := core[namedBy].(string); ok {
		delete(core, namedBy)
		ref = p.nameScalar(name, core)
	} else if values, ok := core["enum"].([]any); ok && len(core) == len(tree{"type": 0, "enum": 0}) {
		ref = p.put("schemas", tree{"type": core["type"], "enum": values}, p.namesOf(values, at)...)
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

// nameScalar gives a reference to a named type, with the bounds that one place sets beside it.
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
	ref := p.put("schemas", basic, name)
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

// namesOf are the names that an enumeration can have, the best first.
func (p *publication) namesOf(values []any, at where) []string {
	text, _ := json.Marshal(values)
	names := slices.Clone(p.enumNames[string(text)])
	for _, name := range slices.Clone(names) {
		names = append(names, name+"Value")
	}
	return append(names, upper(at.name), at.owner+upper(at.name))
}

// repeated is a part that stands in several places.
type repeated struct {
	content any
	size    int
	names   []string
	places  []func(ref tree)
}

// repeats collects parts by their content, in the order in which they are found.
type repeats struct {
	byText map[string]*repeated
	order  []*repeated
}

func (r *repeats) add(content any, place func(ref tree), names ...string) {
	text, _ := json.Marshal(content)
	one := r.byText[string(text)]
	if one == nil {
		if r.byText == nil {
			r.byText = map[string]*repeated{}
		}
		one = &repeated{content: content, size: len(text), names: names}
		r.byText[string(text)] = one
		r.order = append(r.order, one)
	}
	one.places = append(one.places, place)
}

// shareAll names what stands in at least so many places where that makes the description smaller; what saves most has the choice of names.
func (p *publication) shareAll(kind string, r *repeats, least int) {
	reference := func(one *repeated) int { return len(`{"$ref":"#/components//"}`) + len(kind) + len(one.names[0]) }
	saved := func(one *repeated) int {
		return len(one.places)*(one.size-reference(one)) - one.size - len(one.names[0])
	}
	slices.SortStableFunc(r.order, func(a, b *repeated) int { return saved(b) - saved(a) })
	for _, one := range r.order {
		if len(one.places) < least || least > 1 && saved(one) <= 0 {
			continue
		}
		if ref := p.put(kind, one.content, one.names...); ref != nil {
			for _, place := range one.places {
				place(ref)
			}
		}
	}
}

// numbered are names for parts that differ although their first name would be the same.
func numbered(name string, more ...string) []string {
	names := append([]string{name}, more...)
	for i := 2; i < 20; i++ {
		names = append(names, name+"-"+strconv.Itoa(i))
	}
	return names
}

// shareProperties names properties that are the same, description included, in several schemas. What they refer to stays as it is.
func (p *publication) shareProperties() {
	var r repeats
	schemas := p.component("schemas")
	for _, owner := range slices.Sorted(maps.Keys(schemas)) {
		properties, _ := inside(schemas, owner)["properties"].(tree)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			s, ok := properties[name].(tree)
			if !ok || s["description"] == nil {
				continue
			}
			suffix := ""
			if options, ok := s["anyOf"].([]any); ok && len(options) == 2 || fmt.Sprint(s["type"]) == "[string null]" {
				suffix = "OrNull"
			}
			r.add(s, func(ref tree) { properties[name] = ref }, upper(name)+suffix, upper(name)+"Field"+suffix)
		}
	}
	p.shareAll("schemas", &r, 2)
}

// describeProperties gives each property that says nothing of itself the description of its name. One that refers to what is described needs none.
func (p *publication) describeProperties() {
	schemas := p.component("schemas")
	for owner, schema := range schemas {
		s, _ := schema.(tree)
		properties, _ := s["properties"].(tree)
		for name, property := range properties {
			one, ok := property.(tree)
			doc := cmp.Or(p.fields[owner+"."+name], p.fields[name])
			if ok && one["description"] == nil && doc != "" {
				one["description"] = doc
			}
		}
	}
}

// openAnswers lets objects that no request holds have further fields: answers get new ones without a new version.
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
	p.operations(func(op tree) { reach(op["requestBody"]) })
	for name, schema := range schemas {
		if s, ok := schema.(tree); ok && !asked[name] && s["additionalProperties"] == false {
			delete(s, "additionalProperties")
		}
	}
}

func (p *publication) shareHeaders() {
	var r repeats
	p.operations(func(op tree) {
		for _, response := range inside(op, "responses") {
			one, _ := response.(tree)
			headers, _ := one["headers"].(tree)
			for _, name := range slices.Sorted(maps.Keys(headers)) {
				r.add(headers[name], func(ref tree) { headers[name] = ref }, name)
			}
		}
	})
	p.shareAll("headers", &r, 1)
}

func (p *publication) shareParameters() {
	var r repeats
	p.operations(func(op tree) {
		parameters, _ := op["parameters"].([]any)
		tags, _ := op["tags"].([]any)
		of := ""
		if len(tags) > 0 {
			of = "Of" + strings.ReplaceAll(fmt.Sprint(tags[0]), " ", "")
		}
		for i, parameter := range parameters {
			one, _ := parameter.(tree)
			name := fmt.Sprint(one["name"])
			r.add(one, func(ref tree) { parameters[i] = ref }, numbered(name, name+of)...)
		}
	})
	p.shareAll("parameters", &r, 2)
}

func (p *publication) shareResponses() {
	var r repeats
	p.operations(func(op tree) {
		responses := inside(op, "responses")
		for _, status := range slices.Sorted(maps.Keys(responses)) {
			one := inside(responses, status)
			name := fmt.Sprint(one[namedBy])
			delete(one, namedBy)
			r.add(one, func(ref tree) { responses[status] = ref }, numbered(name)...)
		}
	})
	p.shareAll("responses", &r, 2)
}
