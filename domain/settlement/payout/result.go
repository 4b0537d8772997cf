package payout

import (
	"context"
	"slices"

	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payment"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// Result is the result of an operation on the payouts of statements (OPS-71 to OPS-80).
type Result struct {
	ProviderOperation *operation.Acknowledgement `json:"providerOperation"`
	Results           []Entry                    `json:"results" doc:"By statement, in the order of the request."`
	Failure           *operation.Failure         `json:"failure"`
}

type resultInput struct{ operation.Ref }

// getResult returns the result of a payout, of its preview or of a payment. Other operations have none and are not
// found (OPEN-34).
func getResult(ctx context.Context, tx *db.Tx, in *resultInput) (*operation.Answer[Result], error) {
	o, err := operation.Find(ctx, tx, &in.Ref)
	if err != nil {
		return nil, err
	}

	if !slices.Contains([]operation.Type{
		operation.StatementPayout,
		operation.StatementPayoutPreview,
		operation.ProviderPayment,
	}, o.Type) {
		return nil, apierr.NotFound
	}

	// The stored results of a pending operation may still change.
	if o.FinishedAt == nil {
		return &operation.Answer[Result]{Started: o.Acknowledge()}, nil
	}

	entries, err := loadResults(ctx, tx, o.ID)

	result := Result{ProviderOperation: o.Acknowledge(), Results: entries, Failure: o.Failure}

	return &operation.Answer[Result]{Done: &result}, err
}

// entry returns a stored result as the API shows it. For requested payments the current states count: one that
// failed fails the statement, and the statement is recorded only when all are paid.
func (t *storedResult) entry() Entry {
	const rejected = "rejected"

	status, why := t.Status, t.Cause
	if status == Requested && len(t.Payments) > 0 {
		status = Recorded

		// Start from recorded and take the worst state: failed before waiting, waiting before requested.
		for _, state := range t.Payments {
			switch payment.Status(state) {
			case rejected:
				status, why = Failed, causeRejected
			case payment.Awaiting:
				if status != Failed {
					status, why = Requested, causeAwaiting
				}
			case payment.Failed, payment.Canceled:
				status, why = Failed, causePayment
			case payment.Returned:
				if status != Failed {
					status, why = Failed, causeReturned
				}
			case payment.Requested, payment.Sending, payment.Submitted:
				if status == Recorded {
					status = Requested
				}
			case payment.Paid:
			}
		}
	}

	return Entry{
		StatementID: t.StatementID,
		Status:      status,
		Payouts:     t.Payouts,
		Message:     message(status, why, t.Issues),
		Issues:      t.Issues,
	}
}
