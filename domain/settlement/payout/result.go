package payout

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payment"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// Result is what an operation on the payouts of statements came to (OPS-71 to OPS-80).
type Result struct {
	ProviderOperation *operation.Acknowledgement `json:"providerOperation"`
	Results           []Entry                    `json:"results" doc:"By statement, in the order of the request."`
	Failure           *operation.Failure         `json:"failure"`
}

// Reading is the answer to the question for a result: an acknowledgement while there is none.
type Reading struct {
	pending *operation.Acknowledgement
	result  Result
}

// HTTPStatus is 202 while the operation is pending.
func (r *Reading) HTTPStatus() int {
	if r.pending != nil {
		return http.StatusAccepted
	}

	return http.StatusOK
}

// MarshalJSON gives the one of the two that there is.
func (r *Reading) MarshalJSON() ([]byte, error) {
	if r.pending != nil {
		return json.Marshal(r.pending)
	}

	return json.Marshal(r.result)
}

type resultInput struct{ operation.Ref }

// read finds the result of a payout, of its preview or of a payment; other operations have none (OPEN-34).
func read(ctx context.Context, tx *db.Tx, in *resultInput) (*Reading, error) {
	o, err := operation.Find(ctx, tx, &in.Ref)
	if err != nil {
		return nil, err
	}

	if !slices.Contains([]operation.Type{operation.StatementPayout, operation.StatementPayoutPreview, operation.ProviderPayment}, o.Type) {
		return nil, apierr.NotFound
	}

	if o.FinishedAt == nil {
		return &Reading{pending: o.Acknowledged()}, nil
	}

	entries, err := results(ctx, tx, o.ID)

	return &Reading{result: Result{ProviderOperation: o.Acknowledged(), Results: entries, Failure: o.Failure}}, err
}

// entry tells a stored result. Of payments that were requested the states of today count: one that failed fails the
// statement, and only when all are paid is it more than requested.
func (t *told) entry() Entry {
	const rejected = "rejected"

	status, why := t.Status, t.Cause
	if status == Requested && len(t.Payments) > 0 {
		status = Recorded

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

	return Entry{StatementID: t.StatementID, Status: status, Payouts: t.Payouts, Message: message(status, why, t.Issues), Issues: t.Issues}
}
