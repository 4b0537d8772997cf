package operation

import (
	"context"

	"stayledger/platform/api"
	"stayledger/platform/db"
)

// Queue declares an initiating endpoint. check refuses what it can and describes the operation; work is what its tasks do, and runs at
// once, to be rolled back, in a dry run. Both see the same transaction.
func Queue[I any](e api.Endpoint, check func(ctx context.Context, tx *db.Tx, in *I) (New, error),
	work func(ctx context.Context, tx *db.Tx, in *I) error,
) api.Endpoint {
	e.Status = 202
	return api.Queue(e, func(ctx context.Context, tx *db.Tx, in *I) (*Acknowledgement, error) {
		n, err := check(ctx, tx, in)
		if err != nil {
			return nil, err
		}
		return Start(ctx, tx, n)
	}, work)
}
