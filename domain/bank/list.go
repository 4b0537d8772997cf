package bank

import (
	"strconv"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Filter selects bank records: the query parameters of the list and the body of its export alike.
type Filter struct {
	ReconcileStatus             []ReconcileStatus `query:"reconcileStatus" json:"reconcileStatus,omitempty" doc:"Movements only."`
	MatchedByBankRule           *bool             `query:"matchedByBankRule" json:"matchedByBankRule,omitempty" doc:"Whether a bank rule reconciled the record."`
	IncludeBalanceRecords       bool              `query:"includeBalanceRecords" json:"includeBalanceRecords,omitempty" doc:"With the balances that banks stated."`
	IncludeMatchingTransactions string            `query:"includeMatchingTransactions" json:"includeMatchingTransactions,omitempty" pattern:"^(true|false|0|[1-9][0-9]{0,2})$" doc:"With matchingTransactions: true, or the most days between record and transaction, which is 7 otherwise. The days hold for hasMatchingTransactions too."`
	HasMatchingTransactions     *bool             `query:"hasMatchingTransactions" json:"hasMatchingTransactions,omitempty"`
	ReservationLineFilter       string            `query:"reservationLineFilter" json:"reservationLineFilter,omitempty" enum:"all,reservationOnly,nonReservationOnly" doc:"reservationOnly selects records that are reconciled with a transaction that has a line of a reservation, nonReservationOnly all others."`
	AccountID                   string            `query:"accountId" json:"accountId,omitempty" pattern:"^(null|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$" doc:"null selects records that are not linked to a bank account."`
	AccountIDs                  []id.ID           `query:"accountIds" json:"accountIds,omitempty"`
	ConnectionID                string            `query:"connectionId" json:"connectionId,omitempty" pattern:"^(null|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$" doc:"null selects records of no connection."`
	DateRange                   string            `query:"dateRange" format:"date-range" json:"dateRange,omitempty" doc:"YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD."`
	IsDateRangeEndInclusive     *bool             `query:"isDateRangeEndInclusive" json:"isDateRangeEndInclusive,omitempty" default:"true"`
	Status                      Status            `query:"status" json:"status,omitempty"`
	Amount                      string            `query:"amount" json:"amount,omitempty" pattern:"^-?[0-9]{1,16}(\\.\\.\\.-?[0-9]{1,16})?(,-?[0-9]{1,16}(\\.\\.\\.-?[0-9]{1,16})?){0,9}$" doc:"Signed amount in cents, or 100...200 with both ends; several are separated by commas."`
	Search                      string            `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the description or the uniqueRef."`
	IDs                         []string          `query:"ids" json:"ids,omitempty" pattern:"^!?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$" doc:"Only these; an id with a leading ! is left out."`
	UniqueRefs                  []string          `query:"uniqueRefs" json:"uniqueRefs,omitempty"`
}

// Resolve refuses date ranges and amounts that are none.
func (f *Filter) Resolve() []apierr.Issue {
	var issues []apierr.Issue
	if _, err := f.dates(); f.DateRange != "" && err != nil {
		issues = append(issues, apierr.Issue{Message: "Value is not a date range", Code: "dateRange", Path: []any{"dateRange"}, Schema: "query"})
	}
	if _, _, ok := money.ParseRanges(f.Amount); f.Amount != "" && !ok {
		issues = append(issues, apierr.Issue{Message: "Value is not an amount or a range of amounts", Code: "malformed", Path: []any{"amount"}, Schema: "query"})
	}
	return issues
}

func (f *Filter) dates() (day.Range, error) {
	return day.ParseRange(f.DateRange, f.IsDateRangeEndInclusive == nil || *f.IsDateRangeEndInclusive)
}

// usualDays is how far a transaction may be from its record: transfers between banks take that long.
const usualDays = 7

// matches are whether the answer lists matching transactions, and how many days these may be away.
func (f *Filter) matches() (listed bool, days int) {
	switch f.IncludeMatchingTransactions {
	case "", "false":
		return false, usualDays
	case "true":
		return true, usualDays
	}
	days, err := strconv.Atoi(f.IncludeMatchingTransactions)
	if err != nil { // the edge has checked the form
		return false, usualDays
	}
	return true, days
}

// ListQuery is the list of bank records r with their accounts a and the team k that a valid filter selects, in rows of Record. The sum of a
// record's transactions is in made.cents, its reconcile status in state.status.
func ListQuery(tx *db.Tx, f *Filter) page.Query {
	q := query(tx)
	with := func(given bool, condition, name string, value any) {
		if given {
			q.And(condition, db.Args{name: value})
		}
	}
	if !f.IncludeBalanceRecords {
		q.And("r.type = 'transaction'", nil)
	}
	q.Pick(f.IDs)
	with(f.UniqueRefs != nil, "r.unique_ref = any(@unique_refs)", "unique_refs", f.UniqueRefs)
	with(f.AccountIDs != nil, "r.account_id = any(@accounts)", "accounts", f.AccountIDs)
	orNull(&q, "r.account_id", "account", f.AccountID)
	orNull(&q, "r.connection_id", "connection", f.ConnectionID)
	with(f.Status != "", "r.status = @status", "status", f.Status)
	with(f.ReconcileStatus != nil, "state.status = any(@reconciled)", "reconciled", f.ReconcileStatus)
	with(f.MatchedByBankRule != nil, "(r.matched_by_bank_rule is not null) = @by_rule", "by_rule", f.MatchedByBankRule)
	with(f.Search != "", "(r.description ilike @search or r.unique_ref ilike @search)", "search", page.Like(f.Search))
	switch f.ReservationLineFilter {
	case "reservationOnly":
		q.And(ofReservation, nil)
	case "nonReservationOnly":
		q.And("not "+ofReservation, nil)
	}
	if f.HasMatchingTransactions != nil {
		_, days := f.matches()
		q.From, q.Args["days"], q.Args["matching"] = foundTables, days, *f.HasMatchingTransactions
	}
	if dates, err := f.dates(); f.DateRange != "" && err == nil {
		q.And("r.date >= @from and r.date < @to", db.Args{"from": dates.From, "to": dates.To})
	}
	if lows, highs, ok := money.ParseRanges(f.Amount); ok {
		q.And("exists (select from unnest(@lows::bigint[], @highs::bigint[]) as w (low, high) where r.amount between w.low and w.high)",
			db.Args{"lows": lows, "highs": highs})
	}
	return q
}

// orNull narrows a list to a reference, where null stands for none.
func orNull(q *page.Query, column, name, value string) {
	switch value {
	case "":
	case "null":
		q.And(column+" is null", nil)
	default:
		q.And(column+" = @"+name+"::uuid", db.Args{name: value})
	}
}
