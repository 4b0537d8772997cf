package report

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"stayledger/domain/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Entry is one journal entry.
type Entry struct {
	ID                id.ID         `json:"id"`
	TxnCode           string        `json:"txnCode" doc:"Names the posting; its entries balance."`
	UniqueRef         string        `json:"uniqueRef" doc:"Names the entry within its posting; stable from one derivation to the next."`
	Ledger            ledger.Ledger `json:"ledger" enum:"trust,operating,historical"`
	Status            ledger.Status `json:"status" enum:"active,inactive"`
	TxnAt             day.Day       `json:"txnAt"`
	Account           AccountRef    `json:"account"`
	CentTotal         money.Cents   `json:"centTotal" doc:"Debit positive, credit negative."`
	Debit             money.Cents   `json:"debit"`
	Credit            money.Cents   `json:"credit"`
	Currency          string        `json:"currency"`
	Party             *string       `json:"party" enum:"owners,manager"`
	ListingID         *id.ID        `json:"listingId"`
	OwnershipPeriodID *id.ID        `json:"ownershipPeriodId"`
	ContactID         *id.ID        `json:"contactId"`
	ReservationID     *id.ID        `json:"reservationId"`
	TransactionID     *id.ID        `json:"transactionId"`
	RecurringFeeID    *id.ID        `json:"recurringFeeId"`
	OwnerStatementID  *id.ID        `json:"ownerStatementId"`
	TriggerType       string        `json:"triggerType"`
	Description       string        `json:"description"`
}

// EntryTotals are sums over all entries that match, not over one page.
type EntryTotals struct {
	Debit  money.Cents `json:"debit"`
	Credit money.Cents `json:"credit"`
}

// Entries is a page of journal entries with the totals of all that match.
type Entries struct {
	Data       []Entry         `json:"data"`
	Pagination page.Pagination `json:"pagination"`
	Totals     EntryTotals     `json:"totals"`
}

// Selection says which entries a report is about: query parameters, the filter of a drill-down, and the body of an export.
type Selection struct {
	StartDate           *Start        `query:"startDate" json:"startDate,omitempty" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; a period stands for its first day."`
	EndDate             *End          `query:"endDate" json:"endDate,omitempty" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; a period stands for its last day, which is included."`
	AccountIDs          []id.ID       `query:"accountIds" json:"accountIds,omitempty"`
	NotAccountIDs       []id.ID       `query:"notAccountIds" json:"notAccountIds,omitempty" doc:"Entries of every other account."`
	TransactionTypes    []string      `query:"transactionTypes" json:"transactionTypes,omitempty" enum:"deposit,expense,transfer,payout" doc:"Entries of such transactions."`
	NotTransactionTypes []string      `query:"notTransactionTypes" json:"notTransactionTypes,omitempty" enum:"deposit,expense,transfer,payout" doc:"Entries of other transactions, or of none."`
	ListingIDs          []id.ID       `query:"listingIds" json:"listingIds,omitempty"`
	ContactIDs          []id.ID       `query:"contactIds" json:"contactIds,omitempty"`
	ReservationIDs      []id.ID       `query:"reservationIds" json:"reservationIds,omitempty"`
	TransactionIDs      []id.ID       `query:"transactionIds" json:"transactionIds,omitempty"`
	OwnershipPeriodIDs  []id.ID       `query:"ownershipPeriodIds" json:"ownershipPeriodIds,omitempty"`
	StatementIDs        []id.ID       `query:"statementIds" json:"statementIds,omitempty"`
	RecurringFeeIDs     []id.ID       `query:"recurringFeeIds" json:"recurringFeeIds,omitempty"`
	Party               ledger.Party  `query:"party" json:"party,omitempty" enum:"owners,manager"`
	Ledger              ledger.Ledger `query:"ledger" json:"ledger,omitempty" enum:"trust,operating,historical"`
	Status              ledger.Status `query:"status" json:"status,omitempty" enum:"active,inactive" doc:"Default: active."`
	TxnCode             string        `query:"txnCode" json:"txnCode,omitempty" maxLength:"200"`
	Currency            string        `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$"`
	Range
}

// Range is the pair of parameters that select by one date range (PAG-33 to PAG-35).
type Range struct {
	DateRange               string `query:"dateRange" json:"dateRange,omitempty" doc:"YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD; instead of startDate and endDate."`
	IsDateRangeEndInclusive *bool  `query:"isDateRangeEndInclusive" json:"isDateRangeEndInclusive,omitempty" doc:"Default: true."`
}

func (r Range) days() (day.Range, error) {
	return day.ParseRange(r.DateRange, r.IsDateRangeEndInclusive == nil || *r.IsDateRangeEndInclusive)
}

// Resolve refuses dates that contradict each other.
func (f Selection) Resolve() []apierr.Issue {
	var issues []apierr.Issue
	if f.DateRange != "" {
		if _, err := f.days(); err != nil {
			issues = append(issues, queryIssue("Value is not a date range", "dateRange", "dateRange"))
		}
		if f.StartDate != nil || f.EndDate != nil {
			issues = append(issues, queryIssue("Dates are given either as a range or by start and end", "dateConflict", "dateRange"))
		}
	}
	if f.StartDate != nil && f.EndDate != nil && f.EndDate.Before(f.StartDate.Day) {
		issues = append(issues, queryIssue("The period ends before it starts", "dateOrder", "endDate"))
	}
	if _, err := money.ParseCurrency(f.Currency); f.Currency != "" && errors.Is(err, money.ErrCurrency) {
		issues = append(issues, queryIssue("Value is not an active currency code", "currency", "currency"))
	}
	return issues
}

const entryColumns = `e.id, e.txn_code, e.ref as unique_ref, e.ledger, e.status, e.txn_at,
	jsonb_build_object('id', e.account_id, 'code', a.code, 'name', a.name) as account, e.cent_total, greatest(e.cent_total, 0) as debit,
	greatest(-e.cent_total, 0) as credit, e.currency, e.party, e.listing_id, e.ownership_period_id, e.contact_id, e.reservation_id,
	e.transaction_id, e.recurring_fee_id, e.statement_id as owner_statement_id, e.trigger_type, e.description`

// EntryQuery is the list of entries that a valid selection selects, in rows of Entry. The caller sets the argument team.
func EntryQuery(f Selection) page.Query {
	q := page.Query{
		Columns: entryColumns, From: "ledger_entry e left join account a on a.team_id = e.team_id and a.id = e.account_id",
		Where: []string{"e.team_id = @team"}, Args: db.Args{},
		Sorts: page.Sorts{"txnAt": {Expr: "e.txn_at"}, "amount": {Expr: "e.cent_total"}}, Default: "txnAt", ID: "e.id",
	}
	anyOf := func(ids []id.ID, column string) {
		if ids != nil {
			q.And("e."+column+" = any(@"+column+"s)", db.Args{column + "s": ids})
		}
	}
	equal := func(value, column string) {
		if value != "" {
			q.And("e."+column+" = @"+column, db.Args{column: value})
		}
	}
	anyOf(f.AccountIDs, "account_id")
	anyOf(f.ListingIDs, "listing_id")
	anyOf(f.ContactIDs, "contact_id")
	anyOf(f.ReservationIDs, "reservation_id")
	anyOf(f.TransactionIDs, "transaction_id")
	anyOf(f.OwnershipPeriodIDs, "ownership_period_id")
	anyOf(f.StatementIDs, "statement_id")
	anyOf(f.RecurringFeeIDs, "recurring_fee_id")
	if f.NotAccountIDs != nil {
		q.And("e.account_id <> all(@not_accounts)", db.Args{"not_accounts": f.NotAccountIDs})
	}
	const ofType = "exists (select from transaction t where t.team_id = e.team_id and t.id = e.transaction_id and t.type = any(@"
	if f.TransactionTypes != nil {
		q.And(ofType+"types))", db.Args{"types": f.TransactionTypes})
	}
	if f.NotTransactionTypes != nil {
		q.And("not "+ofType+"not_types))", db.Args{"not_types": f.NotTransactionTypes})
	}
	equal(string(f.Party), "party")
	equal(string(f.Ledger), "ledger")
	if f.Ledger == "" {
		q.And("e.ledger <> 'historical'", nil)
	}
	status := f.Status
	if status == "" {
		status = ledger.Active
	}
	equal(string(status), "status")
	equal(f.TxnCode, "txn_code")
	equal(strings.ToLower(f.Currency), "currency")
	if f.StartDate != nil {
		q.And("e.txn_at >= @start", db.Args{"start": f.StartDate.Day})
	}
	if f.EndDate != nil {
		q.And("e.txn_at <= @end", db.Args{"end": f.EndDate.Day})
	}
	if days, err := f.days(); f.DateRange != "" && err == nil {
		q.And("e.txn_at >= @from and e.txn_at < @to", db.Args{"from": days.From, "to": days.To})
	}
	return q
}

type entriesInput struct {
	page.Params
	Sort string `query:"sort" enum:"txnAt,-txnAt,amount,-amount" doc:"Default txnAt."`
	Selection
}

func entries(ctx context.Context, tx *db.Tx, in *entriesInput) (*Entries, error) {
	q := EntryQuery(in.Selection)
	q.Args["team"] = tx.Team
	listed, err := page.List[Entry](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}
	totals, err := db.Get[EntryTotals](ctx, tx, `
		select coalesce(sum(e.cent_total) filter (where e.cent_total > 0), 0)::bigint as debit,
			coalesce(-sum(e.cent_total) filter (where e.cent_total < 0), 0)::bigint as credit
		from ledger_entry e where `+strings.Join(q.Where, " and "), q.Args)
	if err != nil {
		return nil, fmt.Errorf("add up journal entries: %w", err)
	}
	return &Entries{Data: listed.Data, Pagination: listed.Pagination, Totals: totals}, nil
}
