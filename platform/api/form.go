package api

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
)

// Form holds JSON to the description of an input, as the edge does with the body of a request. It is for records that
// come another way, such as from a file or another system.
type Form[T any] struct {
	registry huma.Registry
	schema   *huma.Schema
}

// NewForm returns the form of an input. Make it once: describing a type takes a while.
func NewForm[T any]() *Form[T] {
	registry := newRegistry()
	f := &Form[T]{registry: registry, schema: registry.Schema(reflect.TypeFor[T](), true, "Form")}

	nullable(registry)

	return f
}

// Decode decodes values into an input. It fails with 400 and the issues that a request with these values has.
func (f *Form[T]) Decode(values []byte, today day.Day, into *T) error {
	issues, err := checkBody(f.registry, f.schema, values, day.RequestRange(today))
	if err != nil {
		return apierr.MalformedJSON.Because(err)
	}

	if len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	if err := json.Unmarshal(values, into); err != nil {
		return apierr.BadRequest.At(decodeIssue(err))
	}

	// What no tag can express.
	if r, ok := any(into).(Resolver); ok {
		if issues := r.Resolve(); len(issues) > 0 {
			return apierr.BadRequest.At(issues...)
		}
	}

	return nil
}

// Lengths returns how many characters each text of the input may have, by its field; that of a member of an object,
// or of a list of objects, by field and member, such as lines.type. Fields without a bound are left out, and those in except.
func (f *Form[T]) Lengths(except ...string) map[string]int {
	out := map[string]int{}

	for name, property := range f.resolve(f.schema).Properties {
		// An object that can be null is one of two.
		if len(property.AnyOf) > 0 {
			property = property.AnyOf[0]
		}

		property = f.resolve(property)
		if property.MaxLength != nil {
			out[name] = *property.MaxLength
		}

		// The members of an object, or of the items of a list.
		members := property.Properties
		if property.Items != nil {
			members = f.resolve(property.Items).Properties
		}

		for member, of := range members {
			if of = f.resolve(of); of.MaxLength != nil {
				out[name+"."+member] = *of.MaxLength
			}
		}
	}

	for _, name := range except {
		delete(out, name)
	}

	return out
}

// resolve returns the schema that a reference leads to.
func (f *Form[T]) resolve(s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		return f.registry.SchemaFromRef(s.Ref)
	}

	return s
}
