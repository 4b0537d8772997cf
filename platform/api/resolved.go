package api

import (
	"maps"
	"slices"
	"strings"
)

// Resolved is the description in 3.1 with its parts where they belong: what all methods of a path take is with each of
// them, and of all references only those to objects are left, which have a name of their own and can hold themselves.
func (d Description) Resolved() (map[string]any, error) {
	root, err := decodeTree(d.JSON)
	if err != nil {
		return nil, err
	}

	for part, content := range root {
		root[part] = resolved(root, content)
	}

	for _, one := range inside(root, "paths") {
		item, _ := one.(tree)
		common, _ := item["parameters"].([]any)
		delete(item, "parameters")

		for method := range item {
			op := inside(item, method)

			own, _ := op["parameters"].([]any)
			if all := slices.Concat(common, own); len(all) > 0 {
				op["parameters"] = all
			}
		}
	}

	return root, nil
}

func resolved(root tree, node any) any {
	switch n := node.(type) {
	case []any:
		out := make([]any, len(n))
		for i := range n {
			out[i] = resolved(root, n[i])
		}

		return out
	case tree:
		if ref, ok := n["$ref"].(string); ok {
			target := root
			for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
				target, _ = target[name].(tree)
			}

			if target["properties"] != nil {
				return n
			}

			one, around := maps.Clone(target), maps.Clone(n) // the reference itself is met again, from wherever its component is referred to
			delete(around, "$ref")
			maps.Copy(one, around) // what stands beside a reference holds for its place

			return resolved(root, one)
		}

		out := make(tree, len(n))
		for name, content := range n {
			out[name] = resolved(root, content)
		}

		return out
	}

	return node
}
