package api

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// downgrade rewrites 3.1 as 3.0.3: null becomes the keyword nullable, and what 3.0 has no word for goes.
func downgrade(asJSON []byte) ([]byte, error) {
	root, err := decodeTree(asJSON)
	if err != nil {
		return nil, err
	}

	schemas := inside(inside(root, "components"), "schemas")
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		spellNull(schemas, schemas[name], true)
	}

	spellNull(schemas, inside(root, "paths"), false)
	dropUnused(root, schemas)
	downgradeNode(root)
	root["openapi"] = "3.0.3"

	return encodeTree(root)
}

// spellNull rewrites schemas that allow a component or null. In OpenAPI 3.0 null is allowed by the schema that has
// the type, not next to a reference. An object gets a component of its own for that, unless the node is one.
func spellNull(schemas tree, node any, component bool) {
	list, _ := node.([]any)
	for _, one := range list {
		spellNull(schemas, one, false)
	}

	n, _ := node.(tree)
	for word, one := range n {
		if _, given := one.([]any); word != "examples" || !given {
			spellNull(schemas, one, false)
		}
	}

	// Look for exactly two choices, the second of them null.
	options, _ := n["anyOf"].([]any)
	if len(options) != 2 || !reflect.DeepEqual(options[1], tree{"type": "null"}) {
		return
	}

	delete(n, "anyOf")

	one, _ := options[0].(tree)
	orNull := withNull(schemas, one)

	ref, _ := one["$ref"].(string)

	// A value is copied in place.
	if orNull["properties"] == nil || component || ref == "" {
		for word, value := range orNull {
			if n[word] == nil {
				n[word] = value
			}
		}

		return
	}

	// An object is shared under a name of its own.
	name := strings.TrimPrefix(ref, refPrefix) + "OrNull"
	if there, taken := schemas[name].(tree); taken && there["properties"] == nil && there["anyOf"] == nil {
		name = strings.TrimPrefix(ref, refPrefix) + "ValueOrNull"
	}

	if schemas[name] == nil {
		schemas[name] = orNull
	}

	n["$ref"] = refPrefix + name
}

// dropUnused removes the schemas without a reference to them, and then those that only these referred to.
func dropUnused(root, schemas tree) {
	for before := -1; before != len(schemas); {
		before = len(schemas)
		used := map[string]bool{}

		var note func(node any)

		note = func(node any) {
			switch n := node.(type) {
			case []any:
				for _, one := range n {
					note(one)
				}
			case tree:
				if ref, ok := n["$ref"].(string); ok {
					used[strings.TrimPrefix(ref, refPrefix)] = true
				}

				for _, one := range n {
					note(one)
				}
			}
		}
		note(root)
		maps.DeleteFunc(schemas, func(name string, _ any) bool { return !used[name] })
	}
}

// withNull returns a copy of a schema that allows null. A reference is replaced by its target and the words next to
// it.
func withNull(schemas, s tree) tree {
	out := tree{}
	if ref, ok := s["$ref"].(string); ok {
		out = withNull(schemas, inside(schemas, strings.TrimPrefix(ref, refPrefix)))
	}

	for word, value := range s {
		switch word {
		case "$ref", "examples":
		case "enum":
			values, _ := value.([]any)
			out[word] = append(slices.Clone(values), nil)
		case "type":
			if _, several := value.([]any); !several {
				value = []any{value, "null"}
			}

			out[word] = value
		default:
			out[word] = value
		}
	}

	return out
}

// downgradeNode rewrites a node and all below it from OpenAPI 3.1 to 3.0.
func downgradeNode(node any) {
	switch n := node.(type) {
	case []any:
		for i := range n {
			downgradeNode(n[i])
		}
	case tree:
		for word, v := range n {
			if _, given := v.([]any); word != "examples" || !given {
				downgradeNode(v)
			}
		}

		downgradeSchema(n)
	}
}

// downgradeSchema rewrites what 3.0 says in another way: nullable types, references beside other words, binary
// bodies, examples.
func downgradeSchema(n tree) {
	if types, ok := n["type"].([]any); ok && len(types) == 2 {
		n["type"], n["nullable"] = types[0], true
	}

	if ref, ok := n["$ref"].(string); ok && len(n) > 1 {
		delete(n, "$ref")
		n["allOf"] = []any{tree{"$ref": ref}}
	}

	if _, ok := n["contentMediaType"].(string); ok && n["format"] == "binary" {
		delete(n, "contentMediaType")
	}

	if examples, ok := n["examples"].([]any); ok && len(examples) > 0 {
		delete(n, "examples")
		n["example"] = examples[0]
	}
}
