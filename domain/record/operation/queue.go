package operation

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"stayledger/platform/api"
	"stayledger/platform/db"
)

// Queue declares an initiating endpoint: check refuses what it can and describes the operation; work is what its tasks
// do, and runs at once, to be rolled back, in a dry run. Both see the same transaction.
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
	}, func(ctx context.Context, tx *db.Tx, in *I, _ *Acknowledgement) error { return work(ctx, tx, in) })
}

// Answer is that of an endpoint which leaves work to an operation in some cases: the acknowledgement, or else what the
// endpoint answers with when it is done at once.
type Answer[O any] struct {
	started *Acknowledgement
	done    *O
	status  int
}

// HTTPStatus is 202 when work was queued.
func (a *Answer[O]) HTTPStatus() int {
	if a.started != nil {
		return http.StatusAccepted
	}

	return a.status
}

// MarshalJSON gives the one of the two that there is.
func (a *Answer[O]) MarshalJSON() ([]byte, error) {
	if a.started != nil {
		return json.Marshal(a.started)
	}

	return json.Marshal(a.done)
}

// QueueOr declares an endpoint that changes something at once and may leave further work to an operation: where do
// describes one it is started and acknowledged with 202, else the endpoint answers with what do returns. A dry run also
// does the work of an operation that was started, which it finds by the acknowledgement.
func QueueOr[I, O any](e api.Endpoint, do func(ctx context.Context, tx *db.Tx, in *I) (*O, *New, error),
	work func(ctx context.Context, tx *db.Tx, started *Acknowledgement) error,
) api.Endpoint {
	none := reflect.TypeFor[O]() == reflect.TypeFor[api.None]()
	switch {
	case none:
		e.Status = http.StatusNoContent
	case e.Status == 0:
		e.Status = http.StatusOK
	}

	e.Also = map[int]reflect.Type{e.Status: reflect.TypeFor[O](), http.StatusAccepted: reflect.TypeFor[Acknowledgement]()}

	return api.Queue(e, func(ctx context.Context, tx *db.Tx, in *I) (*Answer[O], error) {
		done, n, err := do(ctx, tx, in)
		if err != nil || n == nil && none {
			return nil, err
		}

		a := &Answer[O]{done: done, status: e.Status}
		if n != nil {
			a.started, err = Start(ctx, tx, *n)
		}

		return a, err
	}, func(ctx context.Context, tx *db.Tx, _ *I, a *Answer[O]) error {
		if a == nil || a.started == nil {
			return nil
		}

		return work(ctx, tx, a.started)
	})
}
