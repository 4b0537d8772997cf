// Package trial keeps the opening trial balance: the closing balances of the manager's former books, and the operating
// ledger's part of them, which follows the opening balances of the trust. It also has the day when the books begin,
// which all opening balances of a team need.
package trial

import (
	"net/http"

	"stayledger/domain/books/account"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/parts"
)

// The description names the schemas as it did when they were in package transaction.
var (
	_ = api.PublishAs[Balance]("TransactionOpeningTrialBalance")
	_ = api.PublishAs[Origin]("TransactionTrialSource")
	_ = api.PublishAs[Totals]("TransactionTrialTotals")
	_ = api.PublishAs[Row]("TransactionTrialRow")
	_ = api.PublishAs[Reversal]("TransactionTrialReversal")
	_ = api.PublishAs[Put]("TransactionPutTrialBalance")
	_ = api.PublishAs[PutRow]("TransactionPutTrialRow")
)

// Part returns what the opening trial balance adds to the service: routes and tables.
func Part() parts.Part {
	return parts.Part{Endpoints: api.RequireBooks(endpoints()), Tables: parts.Owns("opening_trial_balance", "opening_trial_balance_row")}
}

// Failures are those of every change of an opening balance of a team, for descriptions.
const Failures = "Failures in order: `generalLedgerStartDateMissing`; `openingBalanceUpdateInProgress`; "

// endpoints returns the routes of the opening trial balance.
func endpoints() []api.Endpoint {
	const path = "/teams/opening-trial-balance"

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    path,
			ID:      "getOpeningTrialBalance",
			Tag:     "Opening balances",
			Summary: "Read the opening trial balance",
			Scopes:  []string{"team:read"},
		}, get),
		api.Write(api.Endpoint{
			Method:  http.MethodPut,
			Path:    path + "/manual",
			ID:      "putOpeningTrialBalance",
			Tag:     "Opening balances",
			Summary: "Set the opening trial balance by hand",
			Errors:  apierr.List{ErrNoStart, ErrBusy, errLocked, account.ErrRequiredMissing},
			Scopes:  []string{"team:write"},
			DryRun:  true,
			Doc: "The rows replace all that were given before. The operating ledger opens with them less what the " +
				"trust has; the account assigned to " +
				"openingBalance balances them. " + Failures + "403 `openingTrialBalanceLocked` once the books were closed over the opening date or an " +
				"owner statement was saved; `requiredAccountMissing`; unknown, repeated or computed accounts.",
		}, put),
	}
}
