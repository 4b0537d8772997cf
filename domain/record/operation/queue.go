package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"stayledger/platform/api"
	"stayledger/platform/db"
)

// Queue declares an endpoint that starts an operation. The function check refuses what it can and describes the
// operation; work does what its tasks will do, and runs at once, to be rolled back, in a dry run. Both run in the
// same transaction.
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

// Answer is either the result of a request (200 unless the endpoint has another status) or the acknowledgement of an
// operation that goes on with it (202). Exactly one of the two is set.
type Answer[O any] struct {
	Started *Acknowledgement
	Done    *O
	status  int // of the result; 0 means 200
}

// Answers returns the types of an Answer by status.
func Answers[O any]() map[int]reflect.Type {
	return map[int]reflect.Type{
		http.StatusOK:       reflect.TypeFor[O](),
		http.StatusAccepted: reflect.TypeFor[Acknowledgement](),
	}
}

// HTTPStatus returns 202 for an acknowledgement, else the status of the result.
func (a *Answer[O]) HTTPStatus() int {
	if a.Started != nil {
		return http.StatusAccepted
	}

	return cmp.Or(a.status, http.StatusOK)
}

// MarshalJSON encodes the acknowledgement or the result.
func (a *Answer[O]) MarshalJSON() ([]byte, error) {
	if a.Started != nil {
		return json.Marshal(a.Started)
	}

	return json.Marshal(a.Done)
}

// Preview replaces the acknowledgement by the result of a dry run, which starts nothing.
func (a *Answer[O]) Preview(done *O) { a.Started, a.Done = nil, done }

// QueueOr declares an endpoint that changes something at once and may leave further work to an operation. If do
// describes an operation, it is started and acknowledged with 202; if not, the endpoint answers with the result of
// do. In a dry run work does what the started operation would do; it gets the acknowledgement.
func QueueOr[I, O any](e api.Endpoint, do func(ctx context.Context, tx *db.Tx, in *I) (*O, *New, error),
	work func(ctx context.Context, tx *db.Tx, started *Acknowledgement) error,
) api.Endpoint {
	// An endpoint without a result answers 204 when it queues nothing.
	none := reflect.TypeFor[O]() == reflect.TypeFor[api.None]()
	switch {
	case none:
		e.Status = http.StatusNoContent
	case e.Status == 0:
		e.Status = http.StatusOK
	}

	// The description lists both answers.
	e.Also = map[int]reflect.Type{
		e.Status:            reflect.TypeFor[O](),
		http.StatusAccepted: reflect.TypeFor[Acknowledgement](),
	}

	return api.Queue(e, func(ctx context.Context, tx *db.Tx, in *I) (*Answer[O], error) {
		done, n, err := do(ctx, tx, in)
		if err != nil || n == nil && none {
			return nil, err
		}

		a := &Answer[O]{Done: done, status: e.Status}
		if n != nil {
			a.Started, err = Start(ctx, tx, *n)
		}

		return a, err
	}, func(ctx context.Context, tx *db.Tx, _ *I, a *Answer[O]) error {
		if a == nil || a.Started == nil {
			return nil
		}

		return work(ctx, tx, a.Started)
	})
}
