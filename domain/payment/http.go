package payment

import (
	"net/http"
	"reflect"
	"slices"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
)

const tag = "Payments"

// Endpoints are the routes of payments: asking for them, reading, recovering and returning them, and the callbacks of providers.
func (s *Service) Endpoints() []api.Endpoint {
	return slices.Concat(readEndpoints(), payEndpoints(), returnEndpoints(), []api.Endpoint{
		api.External(api.Endpoint{
			Method: http.MethodPost, Path: "/payment-callbacks/{connectionId}", ID: "takePaymentCallback", Tag: tag, Summary: "Take news of a payment provider",
			Public: true, Selection: api.NoTeam, Status: http.StatusNoContent,
			Also: map[int]reflect.Type{http.StatusUnauthorized: reflect.TypeFor[apierr.Envelope]()},
			Doc: "For payment providers: a message of the type payment.updated, signed with the connection's callbackSecret in the headers webhook-id, " +
				"webhook-timestamp and webhook-signature, at most five minutes old. A repetition is answered in the same way and changes nothing. Fails " +
				"with 401 for an unknown connection and for a signature, time or form that is not to be believed, with 404 for an unknown payment.",
		}, s.callback),
	})
}

func readEndpoints() []api.Endpoint {
	read := []string{"transactions:read"}
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/payments", ID: "listPayments", Tag: tag, Summary: "List payments", Scopes: read,
			Doc: "What was asked of payment providers, newest date first. Fails with 400 when dateRange is none.",
		}, list),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/payments/{id}", ID: "getPayment", Tag: tag, Summary: "Read a payment", Scopes: read, OneStatement: true,
			Doc: "404 when the team has no such payment.",
		}, get),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/transactions/{id}/provider-payments", ID: "listProviderPayments", Tag: tag,
			Summary: "List the payments of a transaction", Scopes: read, Doc: "404 when the team has no such transaction.",
		}, ofTransaction),
	}
}

func payEndpoints() []api.Endpoint {
	pays := []string{"transactions:pay"}
	const recovery = "404 for an unknown payment, or one of another transaction; `providerPaymentRecoveryInProgress`; `providerPaymentRecoveryUnavailable`."
	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/transactions/{id}/pay", ID: "payTransaction", Tag: tag, Summary: "Pay a bill or a payout",
			Scopes: []string{"transactions:pay|transactions:mark-paid"}, Status: http.StatusAccepted, Also: payAnswers(),
			Doc: "With a connection, asks its provider for the payment and answers 202 with an operation of type provider-payment; a bill is booked as " +
				"paid at once. With nothing but a date, records that a bill was paid by hand and answers 200 with it. Failures in order: " +
				"`paymentAccountRequiresMarkPaid`; 404; `transactionInactive`; `payProviderPaymentNotSupported`; `alreadyPaid`; `paymentAttempted`; 422 " +
				"PAYPROVIDER_VENDOR_OWNER_REQUIRED; unknown references; `payProviderConnectionInactive`; `payProviderAccountNotReady`; " +
				"`payProviderRecipientNotReady`; `beforeStatementStartDate`; the locks of the date of a bill's payment.",
		}, payTransaction),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/transactions/{id}/provider-payments/{providerPaymentId}/cancel", ID: "cancelProviderPayment", Tag: tag,
			Summary: "Take a payment back", Scopes: pays, Status: http.StatusAccepted,
			Doc: "Asks the provider to take a submitted payment back, then does what archive does. A payment of which nothing was heard for ten minutes " +
				"and that the provider does not know is canceled as well. Failures in order: " + recovery,
		}, cancel),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/transactions/{id}/provider-payments/{providerPaymentId}/archive", ID: "archiveProviderPayment", Tag: tag,
			Summary: "Put a payment away that brought nothing", Scopes: pays, Status: http.StatusAccepted,
			Doc: "Archives the payout of a failed or canceled payment, or opens the bill, so that it can be paid again. A payout that a lock holds stays in " +
				"the books and is returned on the first open day instead. Failures in order: " + recovery,
		}, archive),
	}
}

func returnEndpoints() []api.Endpoint {
	const failures = "Failures in order: malformed input; 404; `paymentReturnNotEligible`; "
	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/transactions/{id}/returns", ID: "returnPayout", Tag: tag, Summary: "Record that a payout came back",
			Scopes: []string{"transactions:pay"}, DryRun: true, Status: http.StatusCreated,
			Doc: "Books a negative payout of the same contact, listing and statement, which is unpaid by that much again. " + failures +
				"`amountExceedsReturnable`; those of createTransaction.",
		}, returnPayout),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/transactions/{id}/replacements", ID: "replacePayout", Tag: tag, Summary: "Pay again what came back",
			Scopes: []string{"transactions:pay"}, DryRun: true, Status: http.StatusCreated,
			Doc: "Books a new payout for money that was returned, or of a payout that was archived. " + failures +
				"`archiveRequired`; `amountExceedsReturnable`; those of createTransaction.",
		}, replacePayout),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/connections/{id}/return-files", ID: "takeReturnFile", Tag: tag, Summary: "Take in a bank's file of returns",
			Scopes: []string{"transactions:pay"}, MaxBody: 20 << 20,
			Also: map[int]reflect.Type{http.StatusNotImplemented: reflect.TypeFor[apierr.Envelope]()},
			Doc: "The body is the file, for connections to the app nacha. Each payment that came back is booked as a return; the same file again changes " +
				"nothing. Failures in order: 404; 501 for another app; 400 when the file cannot be read.",
		}, returnFile),
	}
}
