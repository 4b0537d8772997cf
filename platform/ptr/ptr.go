// Package ptr reads optional values, which are pointers in the structs of domain packages.
package ptr

// Value returns the value that p points to, or the zero value if p is nil.
func Value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}

	return *p
}
