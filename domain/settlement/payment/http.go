package payment

import (
	"net/http"
	"reflect"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payee"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
)

const tag = "Payments"

// endpoints returns the routes of payments: asking for them, reading, recovering and returning them, and the
// callbacks of providers.
func (s *Gateway) endpoints() []api.Endpoint {
	books := api.RequireBooks(slices.Concat(readEndpoints(), payEndpoints(), returnEndpoints(), approvalEndpoints()))

	return append(
		books,
		api.External(api.Endpoint{
			Method:    http.MethodPost,
			Path:      "/payment-callbacks/{connectionId}",
			ID:        "takePaymentCallback",
			Tag:       tag,
			Summary:   "Take news of a payment provider",
			Errors:    apierr.List{errCallback},
			Public:    true,
			Selection: api.NoTeam,
			Status:    http.StatusNoContent,
			Also:      map[int]reflect.Type{http.StatusUnauthorized: reflect.TypeFor[apierr.Body]()},
			Doc: "For payment providers: a message of the type payment.updated, signed with the connection's " +
				"callbackSecret in the headers webhook- id, webhook-timestamp and webhook-signature, at most five " +
				"minutes old. A repetition is answered in the same way and changes nothing. Fails with 401 for an " +
				"unknown connection and for a signature, time or form that is not to be believed.",
		}, s.callback),
	)
}

// readEndpoints returns the routes that read payments.
func readEndpoints() []api.Endpoint {
	read := []string{"transactions:read"}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/payments",
			ID:      "listPayments",
			Tag:     tag,
			Summary: "List payments",
			Scopes:  read, OneTripPage: true,
			Doc: "What was asked of payment providers, newest date first. Fails with 400 when dateRange is none.",
		}, list),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/payments/{id}",
			ID:      "getPayment",
			Tag:     tag,
			Summary: "Read a payment",
			Scopes:  read,
			OneTrip: true,
		}, get),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/transactions/{id}/provider-payments", ID: "listProviderPayments", Tag: tag,
			Summary: "List the payments of a transaction", Scopes: read,
		}, listOfTransaction),
	}
}

// payEndpoints returns the routes that pay and that recover payments.
func payEndpoints() []api.Endpoint {
	pays := []string{"transactions:pay"}

	const recovery = "404 for an unknown payment, or one of another transaction; " +
		"`providerPaymentRecoveryInProgress`; `providerPaymentRecoveryUnavailable`."

	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/transactions/{id}/pay",
			ID:      "payTransaction",
			Tag:     tag,
			Summary: "Pay a bill or a payout",
			Errors: apierr.List{
				errRequiresMark,
				transaction.ErrArchived,
				transaction.ErrOverdraft,
				errNotSupported,
				ErrAlreadyPaid,
				transaction.ErrAttempted,
				errVendorOwner,
				transaction.ErrNotBank,
				errConnection,
				errFunding,
				errRecipient,
				errFunds,
				errLimit,
				transaction.ErrBeforeStart,
				ledger.Refusals,
			},
			Scopes: []string{"transactions:pay|transactions:mark-paid"},
			Status: http.StatusAccepted,
			Also:   operation.Answers[transaction.Transaction](),
			Doc: "With a connection, asks its provider for the payment and answers 202 with an operation of type " +
				"provider-payment; a bill is booked as paid at once. What the team's limits have wait is sent when " +
				"a second person has approved it (listApprovals); until then a bill is open. With nothing but a " +
				"date, records that a bill was paid by hand and answers 200 with it. Failures in order: " +
				"`paymentAccountRequiresMarkPaid`; 404; `transactionInactive`; `payProviderPaymentNotSupported`; " +
				"`alreadyPaid`; `paymentAttempted`; 422 PAYPROVIDER_VENDOR_OWNER_REQUIRED; unknown references; " +
				"`payProviderConnectionInactive`; `payProviderAccountNotReady`; `payProviderRecipientNotReady`; 400 " +
				"(issues dateInPast, dateOutOfRange) for a date before today or more than 60 days ahead; " +
				refusedFunds + "; `beforeStatementStartDate`; the locks of the date of a bill's payment.",
		}, payTransaction),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/transactions/{id}/provider-payments/{providerPaymentId}/cancel",
			ID:      "cancelProviderPayment",
			Tag:     tag,
			Summary: "Take a payment back",
			Errors:  apierr.List{errRecovering, errUnrecoverable},
			Scopes:  pays,
			Status:  http.StatusAccepted,
			Doc: "Asks the provider to take a submitted payment back, then does what archive does. A payment that " +
				"is sending and that the provider does not know is canceled as well. Failures in order: " + recovery,
		}, cancel),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/transactions/{id}/provider-payments/{providerPaymentId}/archive",
			ID:      "archiveProviderPayment",
			Tag:     tag,
			Summary: "Put a payment away that brought nothing",
			Errors:  apierr.List{errRecovering, errUnrecoverable},
			Scopes:  pays,
			Status:  http.StatusAccepted,
			Doc: "Archives the payout of a failed or canceled payment, or opens the bill, so that it can be paid " +
				"again. A payout that a lock holds stays in the books and is returned on the first open day " +
				"instead. Failures in order: " + recovery,
		}, archive),
	}
}

// refusedFunds describes the refusals of CheckFunds.
const refusedFunds = "409 CONFLICT with context.reason insufficientFunds (requested, available and collected of the " +
	"owners, fundingBalance) when a payout takes more than what is available to the owners of its ownership period, " +
	"or a payment more than what the funding account holds, unless allowOverdraft; 409 CONFLICT with context.reason " +
	"paymentLimitExceeded (limit perPayment or perDay, allowed, requested)"

// approvalEndpoints returns the routes of approvals and limits.
func approvalEndpoints() []api.Endpoint {
	decides := []string{"payments:approve"}

	const failures = "Failures in order: malformed input; 404; `selfModification` for whoever has asked for the " +
		"payments, with whatever key; 409 CONFLICT with context.reason approvalDecided when nothing is left to decide"

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/approvals",
			ID:      "listApprovals",
			Tag:     tag,
			Summary: "List what a second person decides on",
			Scopes:  []string{"transactions:read"},
			Doc: "Payments of at least the team's approvalFrom wait: nothing is sent, and what they pay is " +
				"unpaid. The payments of one request are decided on together.",
		}, listApprovals),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/approvals/{id}",
			ID:      "getApproval",
			Tag:     tag,
			Summary: "Read an approval",
			Scopes:  []string{"transactions:read"},
			OneTrip: true,
		}, getApproval),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/approvals/{id}/approve",
			ID:      "approvePayments",
			Tag:     tag,
			Summary: "Approve payments",
			Errors: apierr.List{
				payee.ErrSelf,
				errDecided,
				errConnection,
				errFunding,
				errRecipient,
				errFunds,
				errLimit,
				ledger.Refusals,
			},
			Scopes: decides,
			Doc: "Books bills as paid and starts the operation that sends the payments, dated today when their date " +
				"has passed. The reasons against paying them are checked again first. " + failures +
				"; `payProviderConnectionInactive`; `payProviderAccountNotReady`; " + refusedFunds +
				"; the locks of the date of a bill's payment.",
		}, approve),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/approvals/{id}/reject",
			ID:      "rejectPayments",
			Tag:     tag,
			Summary: "Reject payments",
			Errors:  apierr.List{payee.ErrSelf, errDecided},
			Scopes:  decides,
			Doc: "Cancels the payments. Their payouts are archived, or given back on the first open day when a " +
				"lock holds them; bills stay open. " + failures + ".",
		}, reject),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/payment-limits",
			ID:      "getPaymentLimits",
			Tag:     tag,
			Summary: "Read the limits of payments",
			Scopes:  []string{"team:read"},
			OneTrip: true,
			Doc:     "The limits of the team now, and the earlier ones with the users who set them.",
		}, readLimits),
		api.Write(api.Endpoint{
			Method:  http.MethodPut,
			Path:    "/payment-limits",
			ID:      "setPaymentLimits",
			Tag:     tag,
			Summary: "Set the limits of payments",
			Scopes:  []string{"payments:manage"},
			Doc: "Replaces all limits; what is absent is without limit. Payments that wait already are judged " +
				"by the limits of the day on which they are approved.",
		}, setLimits),
	}
}

// returnEndpoints returns the routes of returns and replacements.
func returnEndpoints() []api.Endpoint {
	const failures = "Failures in order: malformed input; 404; `paymentReturnNotEligible`; "

	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/transactions/{id}/returns",
			ID:      "returnPayout",
			Tag:     tag,
			Summary: "Record that a payout came back",
			Errors:  apierr.List{errNotEligible, errExceeds, transaction.Refusals()},
			Scopes:  []string{"transactions:pay"},
			DryRun:  true,
			Status:  http.StatusCreated,
			Doc: "Books a negative payout of the same contact, listing and statement, which is unpaid by that much " +
				"again. " + failures + "`amountExceedsReturnable`; those of createTransaction.",
		}, returnPayout),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/transactions/{id}/replacements",
			ID:      "replacePayout",
			Tag:     tag,
			Summary: "Pay again what came back",
			Errors: apierr.List{
				transaction.ErrArchived,
				errNotEligible,
				ErrArchiveRequired,
				errExceeds,
				transaction.Refusals(),
			},
			Scopes: []string{"transactions:pay"},
			DryRun: true,
			Status: http.StatusCreated,
			Doc: "Books a new payout for money that was returned, or of a payout that was archived. " + failures +
				"`archiveRequired`; `amountExceedsReturnable`; those of createTransaction.",
		}, replacePayout),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/connections/{id}/return-files",
			ID:      "takeReturnFile",
			Tag:     tag,
			Summary: "Take in a bank's file of returns",
			Errors:  apierr.List{errNoReturnFiles},
			Scopes:  []string{"transactions:pay"},
			MaxBody: 20 << 20,
			Also:    map[int]reflect.Type{http.StatusNotImplemented: reflect.TypeFor[apierr.Body]()},
			Doc: "The body is the file, for connections to the app nacha. Each payment that came back is booked as " +
				"a return; the same file again changes nothing. Failures in order: 404; 501 for another app; 400 " +
				"when the file cannot be read.",
		}, returnFile),
	}
}
