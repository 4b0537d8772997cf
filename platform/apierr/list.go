package apierr

import "slices"

// Listed is a condition, or a List of conditions that several endpoints share.
type Listed interface{ Conditions() []*Error }

// List names what something can fail with, in the order in which it is checked.
type List []Listed

// Conditions returns the conditions of a list and of the lists in it, each once.
func (l List) Conditions() []*Error {
	var out []*Error

	for _, listed := range l {
		for _, e := range listed.Conditions() {
			// The description lists a condition once, even if two packages declare it with the same text.
			if !slices.ContainsFunc(out, e.Alike) {
				out = append(out, e)
			}
		}
	}

	return out
}

// Conditions returns the condition alone.
func (e *Error) Conditions() []*Error { return []*Error{e} }

// Alike reports whether callers cannot tell two conditions apart: two packages may each have one of the same text.
func (e *Error) Alike(other *Error) bool {
	return e.code == other.code && e.reason == other.reason && e.message == other.message
}
