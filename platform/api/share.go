package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// repeated is a part that occurs in several places.
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

// add counts an occurrence of content, where place can put a reference. Of the names that it can have, the best is
// first.
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

// shareAll names the parts that occur in at least so many places, if that makes the description smaller. Parts that
// save the most choose their names first.
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

		if ref := p.addComponent(kind, one.content, one.names...); ref != nil {
			for _, place := range one.places {
				place(ref)
			}
		}
	}
}

// withNumbers returns names for parts that differ although their first name would be the same.
func withNumbers(name string, more ...string) []string {
	names := append([]string{name}, more...)
	for i := 2; i < 20; i++ {
		names = append(names, name+"-"+strconv.Itoa(i))
	}

	return names
}

// shareProperties names properties that are equal, with their description, in several schemas. Their targets stay
// as they are.
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

// shareForms names lists of a component, and a component or null, that occur in several places.
func (p *publication) shareForms() {
	var r repeats

	note := func(s tree, _ where) tree {
		form, _ := splitSchema(s)
		if names := formNames(form); names != nil {
			r.add(form, func(ref tree) {
				for word := range form {
					delete(s, word)
				}

				maps.Copy(s, ref)
			}, names...)
		}

		return s
	}

	schemas := p.component("schemas")
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		note(inside(schemas, name), where{})
	}

	p.eachSchema(note)
	p.shareAll("schemas", &r, 2)
}

// formNames returns names for a list of a component, with its bounds, or for a component or null. It returns nil
// for any other schema.
func formNames(form tree) []string {
	last := func(of any) string {
		one, _ := of.(tree)

		ref, _ := one["$ref"].(string)
		if len(one) > 1 {
			return ""
		}

		return ref[strings.LastIndex(ref, "/")+1:]
	}
	if options, ok := form["anyOf"].([]any); ok && len(form) == 1 && len(options) == 2 &&
		reflect.DeepEqual(options[1], tree{"type": "null"}) {
		if name := last(options[0]); name != "" {
			return []string{name + "OrNull", name + "ValueOrNull"}
		}
	}

	// Lists that differ in their bounds need different names.
	name := last(form["items"])
	if name == "" || form["type"] != "array" {
		return nil
	}

	name += "List"
	if least := form["minItems"]; least != nil {
		name += "From" + fmt.Sprint(least)
	}

	if most := form["maxItems"]; most != nil {
		name += "To" + fmt.Sprint(most)
	}

	return []string{name}
}

// liftParameters moves parameters that all methods of a path have, in the path and in headers, to the path. Query
// parameters stay with their operation, because refusals of undeclared ones point there; an operation has a list of
// them even if it takes none.
func (p *publication) liftParameters() {
	among := func(list []any) func(any) bool {
		return func(one any) bool {
			return slices.ContainsFunc(list, func(o any) bool { return reflect.DeepEqual(o, one) })
		}
	}

	for _, one := range inside(p.root, "paths") {
		item, _ := one.(tree)

		var common []any

		// Keep those that every method has.
		for i, method := range slices.Sorted(maps.Keys(item)) {
			taken, _ := inside(item, method)["parameters"].([]any)
			if i == 0 {
				common = slices.DeleteFunc(slices.Clone(taken), func(one any) bool {
					return p.deref("parameters", one)["in"] == "query"
				})
			}

			common = slices.DeleteFunc(common, func(c any) bool { return !among(taken)(c) })
		}

		// A path with a single method gains nothing.
		lifted := len(item) > 1 && len(common) > 0
		for method := range item {
			op := inside(item, method)

			own, _ := op["parameters"].([]any)
			if lifted {
				own = slices.DeleteFunc(own, among(common))
			}

			op["parameters"] = append([]any{}, own...) // an empty list, not null
		}

		if lifted {
			item["parameters"] = common
		}
	}
}

// shareHeaders moves response headers into components, under their names without the service's prefix.
func (p *publication) shareHeaders() {
	var r repeats

	p.operations(func(op tree) {
		for _, response := range inside(op, "responses") {
			one, _ := response.(tree)

			headers, _ := one["headers"].(tree)
			for _, name := range slices.Sorted(maps.Keys(headers)) {
				r.add(headers[name], func(ref tree) { headers[name] = ref }, strings.TrimPrefix(name, "X-Service-"))
			}
		}
	})
	p.shareAll("headers", &r, 1)
}

// shareParameters moves parameters that occur twice into components.
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
			r.add(one, func(ref tree) { parameters[i] = ref }, withNumbers(name, name+of)...)
		}
	})
	p.shareAll("parameters", &r, 2)
}

// shareResponses moves responses that occur twice into components.
func (p *publication) shareResponses() {
	var r repeats

	p.operations(func(op tree) {
		responses := inside(op, "responses")
		for _, status := range slices.Sorted(maps.Keys(responses)) {
			one := inside(responses, status)
			name := fmt.Sprint(one[namedBy])
			delete(one, namedBy)
			r.add(one, func(ref tree) { responses[status] = ref }, withNumbers(name)...)
		}
	})
	p.shareAll("responses", &r, 2)
}
