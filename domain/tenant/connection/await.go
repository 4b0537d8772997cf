package connection

import (
	"context"
	"errors"
	"time"

	"stayledger/platform/apierr"
)

// awaitTime is how long a caller waits for an app (LIM-08).
const awaitTime = 25 * time.Second

// await makes a call to an app for a caller who waits. It passes on what the app has decided, ErrCredentials and
// ErrUnusable. It fails with apierr.GatewayTimeout for an app that does not answer in time, and with apierr.BadGateway
// for one that fails in another way (ERR-98, ERR-99).
func await(ctx context.Context, call func(ctx context.Context) error) error {
	ctx, stop := context.WithTimeout(ctx, awaitTime)
	defer stop()

	err := call(ctx)

	switch {
	case err == nil, isFinal(err):
		return err
	case errors.Is(err, ErrTimeout), errors.Is(ctx.Err(), context.DeadlineExceeded):
		return apierr.GatewayTimeout.Because(err)
	}

	return apierr.BadGateway.Because(err)
}

// isFinal returns true for an error that asking the app again does not change.
func isFinal(err error) bool { return errors.Is(err, ErrCredentials) || errors.Is(err, ErrUnusable) }
