package outbound

import "errors"

// ErrEndless says that a list of another system has more pages or rows than are read of it.
var ErrEndless = errors.New("the list has more than is read of it")

// Reading is how much is still read of a list that another system gives page by page: where the list ends is for that
// system to say, and it may never say so.
type Reading struct{ Pages, Rows int }

// Take counts a page with its rows. It fails with ErrEndless if that is more than is left.
func (r *Reading) Take(rows int) error {
	// Both count: pages can be empty, and long.
	r.Pages--
	r.Rows -= rows

	if r.Pages < 0 || r.Rows < 0 {
		return ErrEndless
	}

	return nil
}
