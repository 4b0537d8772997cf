package completion

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// API has the operations of the service.
type API struct{ operations []operation }

// operation is one operation as a command line names it.
type operation struct {
	method string
	steps  []string // of the path
	values []string // name= of each parameter and field
}

// ReadAPI reads the operations of a description in OpenAPI, as JSON.
func ReadAPI(description []byte) *API {
	var known API

	// References lead to one place: parameters and schemas that operations share.
	resolve := func(value gjson.Result) gjson.Result {
		if ref := value.Get("$ref").String(); ref != "" {
			return gjson.GetBytes(description, strings.ReplaceAll(strings.TrimPrefix(ref, "#/"), "/", "."))
		}

		return value
	}

	gjson.GetBytes(description, "paths").ForEach(func(path, item gjson.Result) bool {
		item.ForEach(func(method, about gjson.Result) bool {
			// A path has parameters and texts, too, which no method is.
			if !about.Get("responses").Exists() {
				return true
			}

			o := operation{method: strings.ToUpper(method.String()), steps: strings.Split(path.String(), "/")}
			hasBody := about.Get("requestBody").Exists()

			for _, p := range about.Get("parameters").Array() {
				if p = resolve(p); p.Get("in").String() == "query" {
					o.values = append(o.values, p.Get("name").String()+operator(hasBody))
				}
			}

			schema := resolve(about.Get("requestBody.content.application/json.schema"))
			schema.Get("properties").ForEach(func(name, _ gjson.Result) bool {
				o.values = append(o.values, name.String()+"=")
				return true
			})

			known.operations = append(known.operations, o)

			return true
		})

		return true
	})

	return &known
}

// operator returns what separates a parameter of the query from its value.
func operator(hasBody bool) string {
	if hasBody {
		return "=="
	}

	return "="
}

// next returns what can follow the method, the path and the values that are there already. Paths have the ids that were
// typed, and the names of the others in braces.
func (a *API) next(words []string, typed string) []string {
	var found []string

	for _, o := range a.operations {
		switch {
		case len(words) == 0:
			found = append(found, o.method)
		case !strings.EqualFold(words[0], o.method):
		case len(words) == 1:
			found = append(found, o.pathLike(typed))
		case o.isAt(words[1]):
			found = append(found, o.values...)
		}
	}

	return found
}

// pathLike returns the path of the operation with the ids of a path of which the last step is not whole yet.
func (o *operation) pathLike(typed string) string {
	steps, ids := slices.Clone(o.steps), strings.Split(typed, "/")

	for i := range min(len(steps), len(ids)-1) {
		if strings.HasPrefix(steps[i], "{") {
			steps[i] = ids[i]
		}
	}

	return strings.Join(steps, "/")
}

// isAt reports whether a path with ids leads to the operation.
func (o *operation) isAt(path string) bool {
	path, _, _ = strings.Cut(path, "?")

	steps := strings.Split("/"+strings.TrimPrefix(path, "/"), "/")
	if len(steps) != len(o.steps) {
		return false
	}

	for i, step := range o.steps {
		if step != steps[i] && !strings.HasPrefix(step, "{") {
			return false
		}
	}

	return true
}
