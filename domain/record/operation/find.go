package operation

import (
	"context"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Ref is the path parameter that names one operation: a uuid, an op_ identifier, or the act_ identifier of the audit
// action that started it. Embed it in the input (OPS-62, OPEN-27).
type Ref struct {
	ID        string `path:"id"`
	operation id.ID
	action    id.ID
}

// Resolve reads the identifier. One that is malformed, typed or not, names no operation: it is as unknown as any other
// (AUTH-45).
func (r *Ref) Resolve() []apierr.Issue {
	var err error
	if r.operation, err = id.Parse(r.ID); err == nil {
		return nil
	}

	r.operation, _ = id.ParseTyped("op", r.ID)
	r.action, _ = id.ParseTyped("act", r.ID)

	return nil
}

// Find reads the operation that a resolved reference names, as far as the caller may read it; it fails with
// apierr.NotFound.
func Find(ctx context.Context, tx *db.Tx, r *Ref) (*Detail, error) {
	if r.operation.IsZero() && r.action.IsZero() {
		return nil, apierr.NotFound
	}

	return find(ctx, tx, r.operation, r.action)
}

// Acknowledge returns the operation in the shape of an acknowledgement.
func (o *Operation) Acknowledge() *Acknowledgement {
	return &Acknowledgement{OperationID: o.ID, Type: o.Type, Status: o.Status, Resource: o.Resource}
}
