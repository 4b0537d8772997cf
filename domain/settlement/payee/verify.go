package payee

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payapp"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/seal"
	"stayledger/provider/mail"
	"stayledger/provider/pay"
)

var verifyKind = job.NewKind("payee.verify")

// jobArgs name the method; its numbers are read from its row.
type jobArgs struct {
	MethodID id.ID `json:"methodId"`
}

var (
	errRejected   = errors.New("the account was rejected")
	errNoQuestion = errors.New("the payment method is no longer to be verified")
)

// refusedError says that a provider has refused the credentials of a connection.
type refusedError struct {
	connection id.ID
	error
}

// Unwrap returns the error of the provider.
func (r *refusedError) Unwrap() error { return r.error }

// handlers returns the handlers of the jobs of payment methods.
func handlers(box *seal.Box, open payapp.Opener, sender mail.Sender) map[job.Kind]job.Handler {
	v := verifier{box: box, open: open}
	h := operation.External(
		pay.Timeout+10*time.Second,
		func(ctx context.Context, d *db.DB, scope db.Scope, _ operation.Run, args jobArgs) (db.Work, error) {
			return v.verify(ctx, d, scope, args.MethodID)
		},
	).OnOutside()

	// When the operation fails, its cause also changes the method or the connection, in the same transaction.
	fail := h.Exhausted
	h.Exhausted = func(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
		var args jobArgs
		if err := json.Unmarshal(j.Args, &args); err != nil {
			return fmt.Errorf("decode task arguments: %w", err)
		}

		if err := saveFailure(ctx, tx, args.MethodID, cause); err != nil {
			return err
		}

		return fail(ctx, tx, j, cause)
	}

	return map[job.Kind]job.Handler{verifyKind: h, letterKind: {Do: postman{sender}.send, Exhausted: giveUp}}
}

// saveFailure saves the consequences of a failed verification. Unless the provider rejected the account, it is still
// unknown: the method says why, and can be verified again.
func saveFailure(ctx context.Context, tx *db.Tx, method id.ID, cause error) error {
	// The provider rejected the account itself.
	if errors.Is(cause, errRejected) {
		m, err := loadMethod(ctx, tx, id.Zero, method)
		if errors.Is(err, apierr.NotFound) {
			return nil
		}

		if err != nil {
			return err
		}

		// The contact is locked, since its default may change.
		if err := lockContact(ctx, tx, m.ContactID); err != nil {
			return err
		}

		_, err = updateStatus(ctx, tx, method, Rejected)

		return err
	}

	// The provider rejected our credentials: nothing else is asked with them.
	if refused, ok := errors.AsType[*refusedError](cause); ok {
		if err := connection.RequireReconnect(ctx, tx, refused.connection); err != nil {
			return err
		}
	}

	return saveFault(ctx, tx, method, payapp.ReadFault(cause))
}

// verifier verifies accounts.
type verifier struct {
	box  *seal.Box
	open payapp.Opener
}

// verify asks the team's payment provider about the account. Without a provider the check of the numbers when they
// came in is enough. Asking again does no harm, because the method is the key of the question.
func (v verifier) verify(ctx context.Context, d *db.DB, scope db.Scope, method id.ID) (db.Work, error) {
	var (
		m  *Method
		by *connection.Connection
	)

	// First load the method and the connection that can verify it.
	err := d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		if m, err = loadMethod(ctx, tx, id.Zero, method); err != nil {
			return err
		}

		by, err = payapp.Verifier(ctx, tx)

		return err
	})
	if err != nil {
		return nil, err
	}

	// It may have been archived or rejected meanwhile.
	if m.Status != Pending && m.Status != Verified {
		return nil, operation.FailAs(operation.OperationFailed, errNoQuestion)
	}

	// Then ask, outside of any transaction.
	if by != nil {
		if err := v.ask(ctx, by, m); err != nil {
			return nil, err
		}
	}

	// Last, save the result when the task settles. The method may have gone in between.
	return func(ctx context.Context, tx *db.Tx) error {
		if err := lockContact(ctx, tx, m.ContactID); err != nil {
			return err
		}

		inUse, err := updateStatus(ctx, tx, m.ID, Verified)
		if err != nil {
			return err
		}

		if !inUse {
			return operation.FailAs(operation.OperationFailed, errNoQuestion)
		}

		return setFirstDefault(ctx, tx, m)
	}, nil
}

// ask fails if the provider does not verify the account. Refusals are final; if the provider cannot be reached, it
// is asked again later.
func (v verifier) ask(ctx context.Context, by *connection.Connection, m *Method) error {
	account, err := m.Account(v.box)
	if err != nil {
		return operation.FailAs(operation.OperationFailed, err)
	}

	provider, err := v.open(by)
	if err != nil {
		return operation.FailAs(operation.OperationFailed, err)
	}

	// The method id is the key of the question, so the provider knows a repeated one.
	asking, cancel := context.WithTimeout(ctx, pay.Timeout)
	defer cancel()

	answer, err := provider.VerifyAccount(asking, m.ID.String(), account)

	// Only an error that is none of these is tried again.
	switch {
	case errors.Is(err, pay.ErrCredentials):
		return operation.FailAs(operation.OperationFailed, &refusedError{connection: by.ID, error: err})
	case errors.Is(err, pay.ErrRefused), errors.Is(err, pay.ErrNotReady):
		return operation.FailAs(operation.OperationFailed, err)
	case err != nil:
		return fmt.Errorf("verify account: %w", err)
	case answer != pay.Verified:
		return operation.FailAs(operation.OperationFailed, errRejected)
	}

	return nil
}
