package api

import (
	"strings"
)

// sharedFile has what is not of one tag alone.
const sharedFile = "document.yaml"

// Files returns the description in YAML, in one file per tag and in document.yaml, by the name of the file. The file of
// a tag has its paths and the components that no other tag uses; document.yaml has the rest. Merged, the objects of all
// files are the description.
func (d Description) Files() (map[string][]byte, error) {
	root, err := decodeTree(d.JSON)
	if err != nil {
		return nil, err
	}

	files := splitPaths(inside(root, "paths"))
	splitComponents(inside(root, "components"), files)

	delete(root, "paths")
	files[sharedFile] = root

	texts := map[string][]byte{}

	for name, file := range files {
		asJSON, err := encodeTree(file)
		if err != nil {
			return nil, err
		}

		if texts[name], err = encodeYAML(asJSON); err != nil {
			return nil, err
		}
	}

	return texts, nil
}

// splitPaths returns a file for each tag with its operations, each together with the parameters of its path.
func splitPaths(paths tree) map[string]tree {
	files := map[string]tree{}

	for path := range paths {
		item := inside(paths, path)

		for method, node := range item {
			operation, _ := node.(tree)
			tags, _ := operation["tags"].([]any)

			if len(tags) == 0 {
				continue
			}

			tag, _ := tags[0].(string)
			name := strings.ReplaceAll(strings.ToLower(tag), " ", "-") + ".yaml"

			if files[name] == nil {
				files[name] = tree{"paths": tree{}, "components": tree{}}
			}

			part, _ := inside(files[name], "paths")[path].(tree)
			if part == nil {
				part = tree{}
				inside(files[name], "paths")[path] = part
			}

			part[method] = operation

			if shared := item["parameters"]; shared != nil {
				part["parameters"] = shared
			}
		}
	}

	return files
}

// splitComponents moves each component that one file alone uses to that file.
func splitComponents(components tree, files map[string]tree) {
	users := map[string][]string{}

	for name, file := range files {
		used := map[string]bool{}
		noteReferences(components, file["paths"], used)

		for reference := range used {
			users[reference] = append(users[reference], name)
		}
	}

	for reference, names := range users {
		kind, component, _ := strings.Cut(reference, "/")

		if len(names) > 1 {
			continue
		}

		target := inside(files[names[0]], "components")
		if target[kind] == nil {
			target[kind] = tree{}
		}

		inside(target, kind)[component] = inside(components, kind)[component]
		delete(inside(components, kind), component)
	}
}

// noteReferences adds to used the components, as kind/name, that a node refers to, itself or through others.
func noteReferences(components tree, node any, used map[string]bool) {
	switch n := node.(type) {
	case []any:
		for _, one := range n {
			noteReferences(components, one, used)
		}
	case tree:
		target, _ := n["$ref"].(string)
		reference := strings.TrimPrefix(target, "#/components/")
		kind, name, _ := strings.Cut(reference, "/")

		if target != "" && !used[reference] {
			used[reference] = true
			noteReferences(components, inside(components, kind)[name], used)
		}

		for _, one := range n {
			noteReferences(components, one, used)
		}
	}
}
