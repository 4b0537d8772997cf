// Package ptr reads and sets optional values, which are pointers in the structs of domain packages.
package ptr

// Value returns the value that p points to, or the zero value if p is nil.
func Value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}

	return *p
}

// Equal reports whether two pointers are nil, or point to equal values.
func Equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// Set sets a value if a new one is given.
func Set[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}
