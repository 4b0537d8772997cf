package api

import "strings"

// downgrade rewrites 3.1 as 3.0.3: null becomes the keyword nullable, and what 3.0 has no word for goes.
func downgrade(asJSON []byte) ([]byte, error) {
	root, err := decodeTree(asJSON)
	if err != nil {
		return nil, err
	}
	schemas := inside(inside(root, "components"), "schemas")
	var typeOf func(s tree) any
	typeOf = func(s tree) any {
		if ref, ok := s["$ref"].(string); ok {
			return typeOf(inside(schemas, strings.TrimPrefix(ref, refPrefix)))
		}
		for _, word := range []string{"allOf", "anyOf"} {
			if options, ok := s[word].([]any); ok {
				first, _ := options[0].(tree)
				return typeOf(first)
			}
		}
		if types, ok := s["type"].([]any); ok {
			return types[0]
		}
		return s["type"]
	}
	downgradeNode(root, typeOf)
	root["openapi"] = "3.0.3"
	return encodeTree(root)
}

func downgradeNode(node any, typeOf func(s tree) any) {
	switch n := node.(type) {
	case []any:
		for i := range n {
			downgradeNode(n[i], typeOf)
		}
	case tree:
		for _, v := range n {
			downgradeNode(v, typeOf)
		}
		downgradeSchema(n, typeOf)
	}
}

func downgradeSchema(n tree, typeOf func(s tree) any) {
	if types, ok := n["type"].([]any); ok && len(types) == 2 {
		n["type"], n["nullable"] = types[0], true
	}
	if options, ok := n["anyOf"].([]any); ok && len(options) == 2 {
		if null, ok := options[1].(tree); ok && null["type"] == "null" {
			delete(n, "anyOf")
			one, _ := options[0].(tree)
			n["allOf"], n["nullable"], n["type"] = []any{one}, true, typeOf(one)
		}
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
