// Package report reads the books: the trial balance, profit and loss, the balance sheet and the journal entries behind
// every figure.
//
// A figure carries its drill-down, a filter of the journal-entry report: sent there, it selects exactly the entries
// that add up to the figure. Reports read whole months from the ledger's month balances and of the broken months at
// their edges the nearer side from its day balances, so their cost follows the length of the period, not the number of
// entries; by listing those edges are read from entries, and the months up to a late one from the sums of all months,
// less those after it. These sums by listing (ledger_listing) belong to this package. Historical entries are never part of a report that does not
// ask for that ledger by name.
//
// The page docs/decisions/report.md says what the contract leaves open and how it is answered here.
package report

import (
	"context"
	"errors"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/money"
)

// Drilldown leads from a figure to the entries behind it.
type Drilldown struct {
	Type   string    `json:"type" enum:"journalEntryReport"`
	Filter Selection `json:"filter" doc:"Query parameters of GET /reports/journal-entries."`
}

// DrilldownTo returns the drill-down to the journal entries of a selection.
func DrilldownTo(f Selection) Drilldown { return Drilldown{Type: "journalEntryReport", Filter: f} }

// CheckCurrency refuses an invalid code with the issue currency. An empty one means the team's currency.
func CheckCurrency(given string) error {
	if _, err := money.ParseCurrency(given); given != "" && errors.Is(err, money.ErrCurrency) {
		return apierr.BadRequest.At(apierr.IssueCurrency.InQuery("currency"))
	}

	return nil
}

// Currency parses a currency, or loads the team's if none is given. It fails as CheckCurrency does.
func Currency(ctx context.Context, tx *db.Tx, given string) (money.Currency, error) {
	if err := CheckCurrency(given); err != nil {
		return "", err
	}

	if given != "" {
		return money.ParseCurrency(given)
	}

	own, err := db.Get[string](ctx, tx, `select default_currency from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return "", fmt.Errorf("read the team: %w", err)
	}

	return money.Currency(own), nil
}

// endpoints returns the routes of the reports.
func endpoints() []api.Endpoint {
	scopes := []string{"reports:read"}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/reports/trial-balance",
			ID:      "getTrialBalance",
			Tag:     "Reports",
			Summary: "Trial balance",
			Errors:  apierr.List{apierr.OperationsDisabled},
			Scopes:  scopes,
			Embed:   true,
			Doc: "Beginning balance, debits, credits and ending balance per account; debits are positive. Accounts " +
				"without any of them are left out. Without `ledger` the trust and the operating ledger together. Of " +
				"one party or of listings it need not balance.",
		}, trialBalance),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/reports/profit-and-loss",
			ID:      "getProfitAndLoss",
			Tag:     "Reports",
			Summary: "Profit and loss",
			Errors:  apierr.List{apierr.OperationsDisabled},
			Scopes:  scopes,
			Embed:   true,
			Doc: "Revenue, expenses and net income of a period by category and account, in columns of the chosen " +
				"view. Revenue and costs are positive. Accounts without entries are left out.",
		}, profitAndLoss),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/reports/balance-sheet",
			ID:      "getBalanceSheet",
			Tag:     "Reports",
			Summary: "Balance sheet",
			Errors:  apierr.List{apierr.OperationsDisabled},
			Scopes:  scopes,
			Embed:   true,
			Doc: "Assets, liabilities and the computed balances of owners and manager at the end of a day. " +
				"Assets equal liabilities and balances.",
		}, balanceSheet),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/reports/journal-entries",
			ID:      "listJournalEntries",
			Tag:     "Reports",
			Summary: "Journal entries",
			Errors:  apierr.List{apierr.OperationsDisabled},
			Scopes:  scopes,
			Embed:   true,
			Doc: "Entries of the ledgers with their totals over all pages; every figure's drill-down is a selection of them. Without `ledger` the historical " +
				"ledger is left out, without `status` inactive entries are.",
		}, listEntries),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/reports/information-returns",
			ID:      "getInformationReturns",
			Tag:     "Reports",
			Summary: "Figures for US information returns",
			Scopes:  []string{"reports:read", "contacts:read"},
			Doc: "Gross rents of owners (1099-MISC) and payments for work by expenses, to vendors and owners alike " +
				"(1099-NEC), of a year, with the thresholds in force. Reportable are the amounts to be filed: those " +
				"from the threshold on, save those of corporations.",
		}, informationReturns),
	}
}

// liveLedger is a ledger with balances. The empty one means both together.
type liveLedger ledger.Ledger

// Enum returns the live ledgers.
func (liveLedger) Enum() []string { return []string{string(ledger.Trust), string(ledger.Operating)} }

// ledgers returns the one ledger, or both.
func (l liveLedger) ledgers() []ledger.Ledger {
	if l == "" {
		return []ledger.Ledger{ledger.Trust, ledger.Operating}
	}

	return []ledger.Ledger{ledger.Ledger(l)}
}
