package db

import "context"

// Halves does work on n items together, and if that is refused on each half of them, down to the items that are to
// blame: one that is refused keeps no other from being done. It returns the refusal of each item, nil for one that was
// done. It fails with an error that isRefusal does not accept.
func Halves(
	ctx context.Context, tx *Tx,
	n int,
	isRefusal func(error) bool,
	work func(ctx context.Context, tx *Tx, from, to int) error,
) ([]error, error) {
	refusals := make([]error, n)

	var try func(from, to int) error

	try = func(from, to int) error {
		if from == to {
			return nil
		}

		// A savepoint undoes what a refused attempt has written.
		err := tx.Try(ctx, func(ctx context.Context, tx *Tx) error { return work(ctx, tx, from, to) })
		switch {
		case err == nil:
			return nil
		case !isRefusal(err):
			return err
		case to-from == 1:
			refusals[from] = err
			return nil
		}

		middle := from + (to-from)/2
		if err := try(from, middle); err != nil {
			return err
		}

		return try(middle, to)
	}

	return refusals, try(0, n)
}
