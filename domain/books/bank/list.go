package bank

import (
	"strconv"

	"stayledger/platform/db"
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
	HasDuplicates               *bool             `query:"hasDuplicates" json:"hasDuplicates,omitempty" doc:"Whether the record has duplicates."`
	ReservationLineFilter       string            `query:"reservationLineFilter" json:"reservationLineFilter,omitempty" enum:"all,reservationOnly,nonReservationOnly" doc:"reservationOnly selects records that are reconciled with a transaction that has a line of a reservation, nonReservationOnly all others."`
	AccountIDs                  page.Refs         `query:"accountIds" json:"accountIds,omitempty" doc:"null selects records that are not linked to a bank account."`
	AccountID                   *page.Ref         `query:"accountId" json:"accountId,omitempty" deprecated:"true" doc:"Former name of accountIds."`
	ConnectionIDs               page.Refs         `query:"connectionIds" json:"connectionIds,omitempty" doc:"null selects records of no connection."`
	ConnectionID                *page.Ref         `query:"connectionId" json:"connectionId,omitempty" deprecated:"true" doc:"Former name of connectionIds."`
	page.Dates
	Status     Status       `query:"status" json:"status,omitempty"`
	Amount     money.Ranges `query:"amount" json:"amount,omitempty" doc:"Signed amount in cents, or 100...200 with both ends; several are separated by commas."`
	Search     string       `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the description or the uniqueRef."`
	IDs        page.IDs     `query:"ids" json:"ids,omitempty" doc:"Only these; an id with a leading ! is left out."`
	UniqueRefs []string     `query:"uniqueRefs" json:"uniqueRefs,omitempty"`
}

// usualDays is how far a transaction may be from its record: transfers between banks take that long.
const usualDays = 7

// matches returns whether the answer lists matching transactions, and how many days these may be away.
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

// listQuery returns the list of bank records r with their accounts a and the team k that a valid filter selects, in
// rows of Record. The column r.made is the sum of the transactions of a record, state.status its reconcile status.
func listQuery(tx *db.Tx, f *Filter) page.Query {
	q := newQuery(tx)
	if !f.IncludeBalanceRecords {
		q.And("r.type = 'transaction'", nil)
		q.CountedAs("bank_record")
	}

	q.IDs("r.id = any(?)", f.IDs)
	q.Narrow("r.unique_ref = any(?)", f.UniqueRefs)
	q.Refs("r.account_id", f.AccountIDs)
	q.Refs("r.account_id", f.AccountID.List())
	q.Refs("r.connection_id", f.ConnectionIDs)
	q.Refs("r.connection_id", f.ConnectionID.List())
	q.Narrow("r.status = ?", f.Status)
	q.Narrow("state.status = any(?)", f.ReconcileStatus)
	q.Whether("r.matched_by_bank_rule is not null", f.MatchedByBankRule)
	q.Search(f.Search, "r.description", "r.unique_ref")
	q.Dates("r.date", f.Dates)
	q.Amounts("r.amount", f.Amount)
	q.Whether(hasDuplicates, f.HasDuplicates)

	switch f.ReservationLineFilter {
	case "reservationOnly":
		q.And(ofReservation, nil)
	case "nonReservationOnly":
		q.And("not "+ofReservation, nil)
	}

	// This filter needs another search: it starts from the records that have a match.
	if f.HasMatchingTransactions != nil {
		_, days := f.matches()
		q.From, q.Rows = foundTables, ""
		q.Args["days"], q.Args["matching"] = days, *f.HasMatchingTransactions
	}

	return q
}
