package app_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// tree is a part of the description, its references resolved.
type tree = map[string]any

// Whoever reads a record and sends it back, or copies it, sends null where it was null. So a property of a request takes
// null where the record has null, in nested objects and items of lists too. A required property is exempt: null says that
// there is nothing.
func TestNullThatIsReadCanBeSent(t *testing.T) {
	t.Parallel()

	var root struct {
		Paths      map[string]map[string]tree
		Components struct{ Schemas tree }
	}

	described(t, &root)

	n := nulls{t: t, schemas: root.Components.Schemas}

	for _, path := range slices.Sorted(maps.Keys(root.Paths)) {
		for _, method := range []string{"post", "put", "patch"} {
			op := root.Paths[path][method]

			body := schemaIn(op["requestBody"])
			if body == nil {
				continue
			}

			// The bodies of batches are no record; their items are.
			single, isBatch := strings.CutSuffix(path, "/batch")

			for _, record := range n.records(root.Paths, op, single) {
				if !isBatch {
					n.compare(method+" "+path, body, record)
					continue
				}

				for name, list := range n.properties(body) {
					if items := n.items(list); items != nil {
						n.compare(method+" "+path+" "+name+"[]", items, record)
					}
				}
			}
		}
	}

	if n.compared < 200 {
		t.Errorf("%d properties are too few to be all", n.compared)
	}
}

// nulls compares requests with records.
type nulls struct {
	t        *testing.T
	schemas  tree // by name: objects are references to them
	compared int  // properties of requests that can be null in the record
}

// records returns the schemas of what an operation answers with and of what the endpoints that read the same show: the
// record itself, or the items of a page.
func (n *nulls) records(paths map[string]map[string]tree, op tree, path string) (out []tree) {
	answers, _ := op["responses"].(tree)
	for status, answer := range answers {
		if schema := schemaIn(answer); strings.HasPrefix(status, "2") && schema != nil {
			out = append(out, schema)
		}
	}

	for at, item := range paths {
		rest, below := strings.CutPrefix(at, path)
		if !below || rest != "" && (!strings.HasPrefix(rest, "/{") || strings.Count(rest, "/") > 1) {
			continue
		}

		answers, _ := item["get"]["responses"].(tree)

		schema := schemaIn(answers["200"])
		if items := n.items(n.properties(schema)["data"]); items != nil {
			schema = items
		}

		if schema != nil {
			out = append(out, schema)
		}
	}

	// An answer that lists records has them under the name of the list.
	for _, schema := range slices.Clone(out) {
		if items := n.items(n.properties(schema)["data"]); items != nil {
			out = append(out, items)
		}
	}

	return out
}

// compare fails for each property of a request that refuses null and can be null in the record.
func (n *nulls) compare(at string, request, record any) {
	n.t.Helper()

	asked, _ := n.withoutNull(request)
	shown, _ := n.withoutNull(record)

	// Items are compared with items, and each of several forms by itself.
	if items, shownItems := n.items(asked), n.items(shown); items != nil && shownItems != nil {
		n.compare(at+"[]", items, shownItems)
		return
	}

	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		for _, form := range list(asked[word]) {
			n.compare(at, form, shown)
		}

		for _, form := range list(shown[word]) {
			n.compare(at, asked, form)
		}
	}

	// Properties are the same by their names. An object that contains itself is compared once.
	mine, theirs := n.properties(asked), n.properties(shown)

	for _, name := range slices.Sorted(maps.Keys(mine)) {
		field, isShown := theirs[name]
		if !isShown || strings.Count(at, "."+name) > 1 {
			continue
		}

		_, takesNull := n.withoutNull(mine[name])
		_, isNull := n.withoutNull(field)

		if isNull && !slices.Contains(list(asked["required"]), any(name)) {
			n.compared++

			if !takesNull {
				n.t.Errorf("%s.%s refuses null, which the record has", at, name)
			}
		}

		n.compare(at+"."+name, mine[name], field)
	}
}

// schemaIn returns the schema of the JSON of a body or answer, nil for none.
func schemaIn(body any) tree {
	of, _ := body.(tree)
	content, _ := of["content"].(tree)
	json, _ := content["application/json"].(tree)
	schema, _ := json["schema"].(tree)

	return schema
}

// withoutNull returns the schema of what is no null, and whether null is allowed.
func (n *nulls) withoutNull(schema any) (rest tree, allowed bool) {
	rest, _ = schema.(tree)

	if ref, isRef := rest["$ref"].(string); isRef {
		return n.withoutNull(n.schemas[strings.TrimPrefix(ref, "#/components/schemas/")])
	}

	for _, word := range []string{"oneOf", "anyOf"} {
		forms := list(rest[word])
		if len(forms) != 2 {
			continue
		}

		for i, form := range forms {
			if one, _ := form.(tree); one["type"] == "null" {
				inner, _ := n.withoutNull(forms[1-i])
				return inner, true
			}
		}
	}

	return rest, slices.Contains(list(rest["type"]), any("null"))
}

func (n *nulls) properties(schema any) tree {
	of, _ := n.withoutNull(schema)
	out, _ := of["properties"].(tree)

	return out
}

func (n *nulls) items(schema any) tree {
	of, _ := n.withoutNull(schema)
	out, _ := of["items"].(tree)

	return out
}

func list(v any) []any {
	out, _ := v.([]any)
	return out
}
