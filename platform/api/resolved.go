package api

import (
	"maps"
	"slices"
	"strings"
)

// Resolve returns the 3.1 description with its parts in their places: parameters of a path are added to each of
// its methods, and of all references only those to objects stay, which have a name of their own and can contain
// themselves.
func (d Description) Resolve() (map[string]any, error) {
	root, err := decodeTree(d.JSON)
	if err != nil {
		return nil, err
	}

	for part, content := range root {
		root[part] = resolveRefs(root, content)
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

// resolveRefs returns a copy of a node with its references replaced by their targets, except references to objects.
func resolveRefs(root tree, node any) any {
	switch n := node.(type) {
	case []any:
		out := make([]any, len(n))
		for i := range n {
			out[i] = resolveRefs(root, n[i])
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

			// Copy both: other places refer to the same component. Words next to a reference win over those of its
			// target.
			one, around := maps.Clone(target), maps.Clone(n)
			delete(around, "$ref")
			maps.Copy(one, around)

			return resolveRefs(root, one)
		}

		out := make(tree, len(n))
		for name, content := range n {
			out[name] = resolveRefs(root, content)
		}

		return out
	}

	return node
}
