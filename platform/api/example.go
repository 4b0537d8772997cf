package api

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Example is a body that an operation takes, one that it answers a success with, or both, as decoded JSON. It is
// published with the schema of the body, so operations that share a schema share its example.
type Example struct{ Request, Answer any }

// exemplify adds the examples to the schemas of their bodies. It fails for an operation that does not exist or has
// no such body, and for two examples of one schema.
func (p *publication) exemplify(examples map[string]Example) error {
	bodies := map[string]Example{}

	p.operations(func(op tree) {
		bodies[fmt.Sprint(op["operationId"])] = Example{
			Request: bodySchema(op["requestBody"]),
			Answer:  bodySchema(success(op)),
		}
	})

	for _, id := range slices.Sorted(maps.Keys(examples)) {
		for what, of := range map[string][2]any{
			"takes":   {examples[id].Request, bodies[id].Request},
			"answers": {examples[id].Answer, bodies[id].Answer},
		} {
			example, body := of[0], p.deref("schemas", of[1])
			switch {
			case example == nil:
			case body == nil:
				return fmt.Errorf("there is an example of what %s %s, but it %s no body", id, what, what)
			case body["examples"] != nil && !reflect.DeepEqual(body["examples"], []any{example}):
				return fmt.Errorf("the schema of what %s %s has an example already", id, what)
			default:
				body["examples"] = []any{example}
			}
		}
	}

	return nil
}

// success returns the answer with the lowest status, which is a success.
func success(op tree) any {
	responses := inside(op, "responses")
	return responses[slices.Min(slices.Collect(maps.Keys(responses)))]
}

// bodySchema returns the schema of the body of a request or answer, or nil if there is none or it is a file.
func bodySchema(holder any) any {
	h, _ := holder.(tree)

	content, _ := h["content"].(tree)
	for _, kind := range []string{"application/json", "multipart/form-data"} {
		if media, ok := content[kind].(tree); ok {
			return media["schema"]
		}
	}

	return nil
}

// deref returns a part of the description of a kind, such as schemas, or the target of its reference.
func (p *publication) deref(kind string, part any) tree {
	one, _ := part.(tree)
	if ref, ok := one["$ref"].(string); ok {
		return inside(p.component(kind), ref[strings.LastIndex(ref, "/")+1:])
	}

	return one
}
