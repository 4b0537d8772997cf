package api

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Opt is a body field that can be absent, null or a value. Declare it with `omitzero`.
type Opt[T any] struct {
	Present bool
	Value   *T
}

// Set returns an Opt with a value.
func Set[T any](v T) Opt[T] { return Opt[T]{Present: true, Value: &v} }

// SetIf returns an Opt with the value, or an absent one for nil.
func SetIf[T any](v *T) Opt[T] { return Opt[T]{Present: v != nil, Value: v} }

// UnmarshalJSON reads null or a value; a field that is absent is never unmarshalled.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	o.Present, o.Value = true, nil

	if bytes.Equal(b, []byte("null")) {
		return nil
	}

	o.Value = new(T)

	return json.Unmarshal(b, o.Value)
}

// MarshalJSON writes null for null and for absent.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	return json.Marshal(o.Value)
}

// IsZero lets `omitzero` leave an absent field out.
func (o Opt[T]) IsZero() bool { return !o.Present }

// Or returns the value, or old if the field is absent. Null gives nil.
func (o Opt[T]) Or(old *T) *T {
	if o.Present {
		return o.Value
	}

	return old
}

// Schema describes the value, or null.
func (Opt[T]) Schema(r huma.Registry) *huma.Schema {
	s := r.Schema(reflect.TypeFor[T](), true, "")
	if s.Ref != "" {
		return &huma.Schema{AnyOf: []*huma.Schema{s, {Type: "null"}}}
	}

	copied := *s

	copied.Nullable = true
	if t := reflect.TypeFor[T](); enumValues(t) != nil {
		describeValues(t, &copied)
		copied.Enum = append(copied.Enum, nil)
	}

	return &copied
}
