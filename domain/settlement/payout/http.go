package payout

import (
	"context"
	"net/http"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payment"
	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

const (
	mistakes = "Failures in order: malformed input, a statement or a member that is named twice, an amount for a " +
		"statement that is not named; 400 for a bank account or connection that cannot pay; 400 for unknown " +
		"statements and for contacts that are no members; "
	refusing = "`statementNotReadyForPayment` for statements that are not published; `notBankAccount`, an inactive " +
		"account or one of another currency; 409 JOURNAL_RECALCULATION_PENDING while journals of a listing are " +
		"being recalculated (context.operationIds: wait for them, then read the statements again); " +
		"`archiveRequired` for a failed payment that was not recovered; 409 `alreadyPaid`; " +
		"`requiredAccountMissing`. "
	suggesting = "A statement is paid what is available on it less what was paid on it, in the members' shares, and " +
		"no more than later published statements of its ownership period leave; `amounts` replaces that. Where nothing " +
		"is due or owners owe it is skipped: money paid in is recorded by negative `amounts`. "
	warning = "A recorded payout that takes more than the owners of the ownership period have, or than the bank " +
		"account holds, is made with the issue insufficientOwnerFunds. "
	leaving = "With connectionId, payments of more than what is available to the owners, or than what the funding " +
		"account holds, are refused unless allowOverdraft: 409 CONFLICT with context.reason insufficientFunds " +
		"(requested, available, collected, fundingBalance); those beyond the team's limits: paymentLimitExceeded. "
)

// endpoints returns the routes of payouts and of their results.
func endpoints() []api.Endpoint {
	const tag = "Payouts"

	paying := []string{"statements:pay"}

	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method:     http.MethodPost,
			Path:       "/statements/payouts/preview",
			ID:         "previewStatementPayouts",
			NeedsBooks: true,
			Tag:        tag,
			Summary:    "Preview the payouts of owner statements",
			Errors:     apierr.List{team.ErrNotDerived},
			Status:     http.StatusAccepted,
			Scopes:     []string{"statements:read", "statements:pay"},
			Doc: "Starts an operation that computes what would be paid on each statement; nothing is recorded. " +
				"Statements that cannot be paid are skipped with a message, and what payStatements would refuse is an issue of severity " +
				"error. " + mistakes + "409 JOURNAL_RECALCULATION_PENDING.",
		}, preview),
		api.Queue(api.Endpoint{
			Method:     http.MethodPost,
			Path:       "/statements/payouts",
			ID:         "recordStatementPayouts",
			NeedsBooks: true,
			Tag:        tag,
			Summary:    "Record the payouts of owner statements",
			Errors: apierr.List{
				transaction.ErrNotReady,
				transaction.ErrNotBank,
				team.ErrNotDerived,
				payment.ErrArchiveRequired,
				transaction.ErrAttempted,
				payment.ErrAlreadyPaid,
				transaction.Refusals(),
			},
			Status: http.StatusAccepted,
			Scopes: paying,
			DryRun: true,
			Doc: "Starts an operation that records payouts as transactions; no provider moves money. Amounts are those of payStatements. " +
				mistakes + refusing +
				"What the books refuse (closed books, a month under a published statement) fails its statement " +
				"alone, with the cause in the result; a dry run is refused for it.",
		}, record, recordDry),
		api.Write(api.Endpoint{
			Method:     http.MethodPost,
			Path:       "/statements/pay",
			ID:         "payStatements",
			NeedsBooks: true,
			Tag:        tag,
			Summary:    "Pay owner statements",
			Errors: apierr.List{
				transaction.ErrNotReady,
				transaction.ErrNotBank,
				team.ErrNotDerived,
				payment.ErrArchiveRequired,
				transaction.ErrAttempted,
				payment.ErrAlreadyPaid,
				payment.Refusals(),
				transaction.Refusals(),
			},
			Scopes: paying,
			Also:   operation.Answers[Outcome](),
			Doc: "Records payouts as transactions and, with connectionId, has the provider make those to owners: " +
				"then it answers 202, and the result of the operation has their states; else 200 with the " +
				"results. All statements are paid or none. Payments that the team's limits have wait are sent when " +
				"a second person has approved them (listApprovals). " + suggesting + warning + leaving + mistakes +
				refusing + "`payProviderRecipientNotReady`; the failures of createTransaction.",
		}, pay),
		api.Write(api.Endpoint{
			Method:     http.MethodPost,
			Path:       "/statements/manager/pay",
			ID:         "payManager",
			NeedsBooks: true,
			Tag:        tag,
			Summary:    "Pay out the manager's balance",
			Errors:     apierr.List{transaction.ErrNotBank, transaction.Refusals()},
			Status:     http.StatusCreated,
			Scopes:     paying,
			Doc: "Records what the manager draws from the trust. Failures in order: malformed input; " +
				"`requiredAccountMissing`; `notBankAccount`; a line account of the ledger that pays, or of another " +
				"currency; the failures of createTransaction. A draw of more than the manager has is made with an " +
				"issue.",
		}, addDraw),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/operations/{id}/result",
			ID:      "getOperationResult",
			Tag:     "Operations",
			Summary: "Read the result of a payout operation",
			Scopes:  []string{"operations:read", "statements:read"},
			Also:    operation.Answers[Result](),
			Doc: "Takes the identifiers of getOperation. Operations of the types statement-payout, " +
				"statement-payout-preview and provider-payment have a result: 202 with the acknowledgement while it " +
				"is pending; of a failed one, what was done and the failure. 404 for all others.",
		}, getResult),
	}
}

// setDate sets the date of a request to today if it has none, because the request is carried out later.
func (r *Request) setDate(tx *db.Tx) {
	if r.Date == nil {
		today := tx.Today()
		r.Date = &today
	}
}

// preview starts the operation that previews payouts.
func preview(ctx context.Context, tx *db.Tx, in *payInput) (*operation.Acknowledgement, error) {
	in.Body.setDate(tx)

	if err := in.Body.checkOutgoing(tx); err != nil {
		return nil, err
	}

	b, err := preparePlans(ctx, tx, &in.Body, false)
	if err != nil {
		return nil, err
	}

	if err := b.checkPlans(true); err != nil {
		return nil, err
	}

	return start(ctx, tx, operation.StatementPayoutPreview, PreviewKind, &in.Body)
}

// record starts the operation that records payouts. Most refusals are found now, so that the caller need not wait
// for them.
func record(ctx context.Context, tx *db.Tx, in *payInput) (*operation.Acknowledgement, error) {
	if in.Body.ConnectionID != nil {
		return nil, apierr.BadRequest.At(apierr.IssueConnectionNotSupported.InBody("connectionId"))
	}

	in.Body.setDate(tx)

	b, err := preparePlans(ctx, tx, &in.Body, false)
	if err != nil {
		return nil, err
	}

	if err := b.checkPlans(false); err != nil {
		return nil, err
	}

	return start(ctx, tx, operation.StatementPayout, RecordKind, &in.Body)
}

// recordDry does the work of the operation, and fails for the first reason that would fail the operation.
func recordDry(ctx context.Context, tx *db.Tx, in *payInput, _ *operation.Acknowledgement) error {
	b, err := recordTask(ctx, tx, &in.Body)
	if err != nil {
		return err
	}

	// The refusals of the books come with their own errors.
	for _, p := range b.plans {
		if p.refusal != nil {
			return p.refusal
		}
	}

	return b.checkPlans(false)
}
