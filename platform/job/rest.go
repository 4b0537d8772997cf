package job

import (
	"context"
	"io"
	"time"
)

// restAfter is how long a resting writer works at a time: no longer than a short request takes.
const restAfter = 2 * time.Millisecond

// restTimes is how many times as long as it has worked long work rests.
const restTimes = 2

// restMost is the most time between two writes that counts as work. What takes longer is waiting, such as for a store that
// does not answer.
const restMost = time.Second

// Rest rests after a part of long work that may take a few times as long, so that requests of other teams find the
// processors and the database free. It fails when the context ends.
func Rest(ctx context.Context, worked time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(restTimes * worked):
		return nil
	}
}

// Resting returns a writer for long work, whose writes Rest when the work since the last rest has taken a moment. They fail
// when the context ends.
func Resting(ctx context.Context, w io.Writer) io.Writer {
	return &resting{ctx: ctx, to: w, since: time.Now()}
}

// resting is a writer that rests.
type resting struct {
	ctx   context.Context //nolint:containedctx // A writer has no context of its own, and a rest has to end with the work.
	to    io.Writer
	since time.Time // of the end of the last rest
}

// Write implements io.Writer.
func (r *resting) Write(p []byte) (int, error) {
	n, err := r.to.Write(p)

	worked := time.Since(r.since)
	if err != nil || worked < restAfter {
		return n, err
	}

	err = Rest(r.ctx, min(worked, restMost))
	r.since = time.Now()

	return n, err
}
