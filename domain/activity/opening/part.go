// Package opening keeps the opening balances: the money that was held for the owners of each listing, for guests, and
// at each bank when the books were opened. Each is a deposit marked as an opening balance. The rest of the manager's
// former books is the opening trial balance (package trial).
package opening

import (
	"net/http"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/domain/books/trial"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/parts"
)

// The description names the schemas as it did when they were in other packages.
var (
	_ = api.PublishUnder[Listing]("transaction")
	_ = api.PublishAs[Listing]("TransactionOpening")
	_ = api.PublishAs[PutListing]("TransactionPutOpening")
	_ = api.PublishAs[Guests]("TransactionGuestOpening")
	_ = api.PublishAs[PutGuests]("TransactionPutGuestOpening")
)

// routes has the endpoints of opening balances. Bank rules are applied to the records that another first day brings
// back.
type routes struct{ rules bank.Rules }

// Part returns what opening balances add to the service: routes and tables.
func Part(rules bank.Rules) parts.Part {
	return parts.Part{Endpoints: api.RequireBooks(routes{rules}.endpoints()), Tables: parts.Owns("opening_balance")}
}

// endpoints returns the routes of opening balances.
func (r routes) endpoints() []api.Endpoint {
	const guests = "/teams/opening-balances/accounts-receivable-deferred-revenue"

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/listings/opening-balance",
			ID:      "listListingOpeningBalances",
			Tag:     "Opening balances",
			Summary: "List opening balances of listings",
			Scopes:  []string{"listings:read"},
			Doc:     "Listings that have one, by listing id; one for each currency.",
		}, listOpeningBalances),
		api.Write(api.Endpoint{
			Method:  http.MethodPut,
			Path:    "/listings/{id}/opening-balance",
			ID:      "putListingOpeningBalance",
			Tag:     "Opening balances",
			Summary: "Set a listing's opening balance",
			Errors:  apierr.List{trial.ErrBusy, trial.ErrNoStart, transaction.Refusals()},
			Scopes:  []string{"listings:write"}, DryRun: true,
			Doc: "Keeps one deposit per listing and currency, dated the day before the statement start date. " +
				"Failures in order: 404; `openingBalanceUpdateInProgress`; `generalLedgerStartDateMissing`; those of " +
				"createTransaction.",
		}, putOpeningBalance),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    guests,
			ID:      "getGuestOpeningBalance",
			Tag:     "Opening balances",
			Summary: "Read the opening balance of guests",
			Scopes:  []string{"team:read"},
			OneTrip: true,
			Doc: "Advance deposits and deferred revenue of the day before the statement start date; zero while there " +
				"are none.",
		}, getGuestOpening),
		api.Write(api.Endpoint{
			Method:  http.MethodPut,
			Path:    guests,
			ID:      "putGuestOpeningBalance",
			Tag:     "Opening balances",
			Summary: "Set the opening balance of guests",
			Errors:  apierr.List{trial.ErrNoStart, trial.ErrBusy, transaction.Refusals()},
			Scopes:  []string{"team:write"},
			DryRun:  true,
			Doc: "Keeps one deposit per team, dated the day before the statement start date. " + trial.Failures +
				"those of createTransaction.",
		}, putGuestOpeningBalance),
		api.Write(api.Endpoint{
			Method:  "POST",
			Path:    "/accounts/{id}/banking-init",
			ID:      "initializeBanking",
			Tag:     "Accounts",
			Summary: "Begin the books of a bank account",
			Errors: apierr.List{
				account.ErrNotBank,
				trial.ErrNoStart,
				bank.ErrTooManyRecords,
				account.ErrRequiredMissing,
				transaction.Refusals(),
			},
			Doc: "Books what is missing to the starting balance on the day before the first, against the opening " +
				"balance, and excludes bank records before it that are not reconciled. What is in transit or " +
				"outstanding on the first day is in the books besides. Doing it again moves the beginning. Fails " +
				"with 400 without an account for opening balances (reason requiredAccountMissing), and as a change " +
				"of the opening transaction does.",
			Scopes: []string{"accounts:write"}, DryRun: true,
		}, r.startBanking),
	}
}
