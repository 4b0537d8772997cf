// Package inside says whether work goes on inside a transaction of the database. Nothing outside is called from there: a
// transaction keeps a connection, its locks and its place in the team's line while somebody else thinks.
package inside

import (
	"context"
	"errors"
)

// ErrTransaction refuses a call to the outside from inside a transaction. It is a defect of the caller.
var ErrTransaction = errors.New("a call to the outside inside a transaction")

type key struct{}

// Transaction returns the context for the work of a transaction.
func Transaction(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Permit returns the context for calls that a transaction may make all the same. Say at the place why nobody waits for it.
func Permit(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, nil) }

// Check fails with ErrTransaction if the context is that of a transaction.
func Check(ctx context.Context) error {
	if ctx.Value(key{}) != nil {
		return ErrTransaction
	}

	return nil
}
