// Package report reads the books: the trial balance and the journal entries behind every figure.
//
// A figure carries its drill-down, a filter of the journal-entry report: sent there, it selects exactly the entries that add up to the
// figure. Reports read whole months from the ledger's month balances and only the broken months at their edges from entries, so their cost
// follows the length of the period in months, not the number of entries. Historical entries are never part of a report that does not ask
// for that ledger by name.
package report

import (
	"context"
	"errors"
	"fmt"

	"stayledger/domain/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// AccountRef names an account.
type AccountRef struct {
	ID   id.ID   `json:"id"`
	Code *string `json:"code"`
	Name string  `json:"name"`
}

// Drilldown leads from a figure to the entries behind it.
type Drilldown struct {
	Type   string    `json:"type" enum:"journalEntryReport"`
	Filter Selection `json:"filter" doc:"Query parameters of GET /reports/journal-entries."`
}

func drilldown(f Selection) Drilldown { return Drilldown{Type: "journalEntryReport", Filter: f} }

// Start is the query parameter startDate: a day, a month or a year, which stands for its first day (PAG-36).
type Start struct{ day.Day }

// End is the query parameter endDate: a day, a month or a year, which stands for its last day (PAG-36).
type End struct{ day.Day }

// UnmarshalText reads YYYY, YYYY-MM or YYYY-MM-DD as its first day.
func (s *Start) UnmarshalText(text []byte) error {
	first, _, err := day.ParseBoundary(string(text))
	s.Day = first
	return err
}

// UnmarshalText reads YYYY, YYYY-MM or YYYY-MM-DD as its last day.
func (e *End) UnmarshalText(text []byte) error {
	_, last, err := day.ParseBoundary(string(text))
	e.Day = last
	return err
}

// UnmarshalJSON reads the same from a body.
func (s *Start) UnmarshalJSON(data []byte) error {
	text, err := boundaryText(data)
	if err != nil {
		return err
	}
	return s.UnmarshalText(text)
}

// UnmarshalJSON reads the same from a body.
func (e *End) UnmarshalJSON(data []byte) error {
	text, err := boundaryText(data)
	if err != nil {
		return err
	}
	return e.UnmarshalText(text)
}

func boundaryText(data []byte) ([]byte, error) {
	if len(data) < 2 || data[0] != '"' || data[len(data)-1] != '"' {
		return nil, day.ErrFormat
	}
	return data[1 : len(data)-1], nil
}

func queryIssue(message, code, name string) apierr.Issue {
	return apierr.Issue{Message: message, Code: code, Path: []any{name}, Schema: "query"}
}

// currencyOr parses a currency, or takes the team's when none is given.
func currencyOr(ctx context.Context, tx *db.Tx, given string) (money.Currency, error) {
	if given == "" {
		own, err := db.Get[string](ctx, tx, `select default_currency from team where team_id = @team`, db.Args{"team": tx.Team})
		if err != nil {
			return "", fmt.Errorf("read the team: %w", err)
		}
		return money.Currency(own), nil
	}
	c, err := money.ParseCurrency(given)
	if errors.Is(err, money.ErrCurrency) {
		return "", apierr.BadRequest.At(queryIssue("Value is not an active currency code", "currency", "currency"))
	}
	return c, err
}

// Endpoints are the routes of the reports.
func Endpoints() []api.Endpoint {
	scopes := []string{"reports:read"}
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: "GET", Path: "/reports/trial-balance", ID: "getTrialBalance", Tag: "Reports", Summary: "Trial balance", Scopes: scopes,
			Doc: "Beginning balance, debits, credits and ending balance per account; debits are positive. Accounts without any of them are left out. " +
				"Without `ledger` the trust and the operating ledger together.",
		}, trialBalance),
		api.Read(api.Endpoint{
			Method: "GET", Path: "/reports/journal-entries", ID: "listJournalEntries", Tag: "Reports", Summary: "Journal entries", Scopes: scopes,
			Doc: "Entries of the ledgers with their totals over all pages. Without `ledger` the historical ledger is left out, without `status` inactive entries are.",
		}, entries),
	}
}

// liveLedger is a ledger that a trial balance can be read of.
type liveLedger ledger.Ledger

// Enum lists the live ledgers.
func (liveLedger) Enum() []string { return []string{string(ledger.Trust), string(ledger.Operating)} }
