package transaction

import (
	"context"

	"stayledger/domain/books/bank"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Filter selects transactions: the query parameters of the list and the body of its export alike.
type Filter struct {
	Type                    []Type     `query:"type" json:"type,omitempty"`
	Status                  Status     `query:"status" json:"status,omitempty" enum:"active,inactive"`
	IsOpeningBalance        *bool      `query:"isOpeningBalance" json:"isOpeningBalance,omitempty"`
	IsLocked                *bool      `query:"isLocked" json:"isLocked,omitempty" doc:"Whether anything holds the journal."`
	HasActiveJournalEntries *bool      `query:"hasActiveJournalEntries" json:"hasActiveJournalEntries,omitempty"`
	AccountIDs              page.IDs   `query:"accountIds" json:"accountIds,omitempty" doc:"The transaction's own account, its payment's or a line's."`
	AccountID               *page.Pick `query:"accountId" json:"accountId,omitempty" deprecated:"true" doc:"Former name of accountIds."`
	Last4                   []string   `query:"last4" json:"last4,omitempty" pattern:"^[0-9]{4}$" doc:"Last digits of the transaction's own bank account or its payment's."`
	ContactIDs              page.IDs   `query:"contactIds" json:"contactIds,omitempty" doc:"The transaction's contact or a line's."`
	ContactID               *page.Pick `query:"contactId" json:"contactId,omitempty" deprecated:"true" doc:"Former name of contactIds."`
	ListingIDs              page.IDs   `query:"listingIds" json:"listingIds,omitempty"`
	page.Dates
	PaidAtRange          day.Span     `query:"paidAtRange" json:"paidAtRange,omitzero" doc:"The same for the date on which money moved; an open bill has none."`
	PaidStatus           []PaidStatus `query:"paidStatus" json:"paidStatus,omitempty"`
	Reconciled           *bool        `query:"reconciled" json:"reconciled,omitempty"`
	MatchedByBankRule    *bool        `query:"matchedByBankRule" json:"matchedByBankRule,omitempty" doc:"Whether a bank rule matched a bank record of the transaction."`
	RecurringTemplateIDs page.IDs     `query:"recurringTemplateIds" json:"recurringTemplateIds,omitempty"`
	RecurringTemplateID  *page.Pick   `query:"recurringTemplateId" json:"recurringTemplateId,omitempty" deprecated:"true" doc:"Former name of recurringTemplateIds."`
	UniqueRefs           []string     `query:"uniqueRefs" json:"uniqueRefs,omitempty"`
	ShortRefs            []string     `query:"shortRefs" json:"shortRefs,omitempty"`
	IDs                  page.IDs     `query:"ids" json:"ids,omitempty" doc:"Only these; an id with a leading ! is left out."`
	Search               string       `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the description, a reference or the contact's name."`
	Amount               money.Ranges `query:"amount" json:"amount,omitempty" doc:"Total in cents, or 100...200 with both ends; several are separated by commas."`
	ConnectionIDs        page.Refs    `query:"connectionIds" json:"connectionIds,omitempty" doc:"null selects those of no connection."`
	ConnectionID         *page.Ref    `query:"connectionId" json:"connectionId,omitempty" deprecated:"true" doc:"Former name of connectionIds."`

	// reader is the user who asks: a soft close that lists him as a poster does not lock for him. Zero in an export.
	reader id.ID
}

// Sorts are the orders of transactions and of the transactions that templates list.
var Sorts = page.Sorts{
	{Name: "date", Expr: "t.date"},
	{Name: "amount", Expr: "t.total"},
	{Name: "createdAt", Expr: "t.created_at"},
	{Name: "description", Expr: "t.description", Text: true, Nullable: true},
}

// Sort is an order of transactions.
type Sort string

// Enum lists the orders.
func (Sort) Enum() []string { return Sorts.Enum() }

const anyLine = "exists (select from transaction_line l where l.team_id = @team and l.transaction_id = t.id and "

// listQuery returns the list of transactions that a valid filter selects, in rows of Transaction without their
// lines. The caller sets the argument team.
func listQuery(f Filter) page.Query {
	q := page.Query{
		Columns: shownSQL(false),
		From:    from,
		Rows:    "transaction t",
		Joined:  "a c",
		Where:   []string{"t.team_id = @team"},
		Args:    db.Args{},
		Sorts:   Sorts,
		Default: "-date",
		ID:      "t.id",
	}
	q.CountedAs("transaction")

	// A bill moves money on its payment date, everything else on its own date, and an open bill on none.
	const (
		onAccount = "t.account_id = any(?) or t.payment_account_id = any(?) or " + anyLine + "l.account_id = any(?))"
		ofContact = "t.contact_id = any(?) or " + anyLine + "l.contact_id = any(?))"
		moved     = "case when " + paidStatus + " = 'paid' then coalesce(t.payment_date, t.date) end"
	)

	// The deprecated names of parameters narrow the list just like their successors.
	q.IDs("t.id = any(?)", f.IDs)
	q.Narrow("t.type = any(?)", f.Type)
	q.Narrow("t.status = ?", f.Status)
	q.Narrow("t.unique_ref = any(?)", f.UniqueRefs)
	q.Narrow("t.short_ref = any(?)", f.ShortRefs)
	q.IDs("t.recurring_template_id = any(?)", f.RecurringTemplateIDs)
	q.IDs("t.recurring_template_id = any(?)", f.RecurringTemplateID.List())
	q.IDs(onAccount, f.AccountIDs)
	q.IDs(onAccount, f.AccountID.List())
	q.Narrow(`(a.banking_last4 = any(?) or exists (select from account p where p.team_id = @team and p.id = t.payment_account_id
		and p.banking_last4 = any(?)))`, f.Last4)
	q.IDs(ofContact, f.ContactIDs)
	q.IDs(ofContact, f.ContactID.List())
	q.IDs(anyLine+"l.listing_id = any(?))", f.ListingIDs)
	q.Refs("t.connection_id", f.ConnectionIDs)
	q.Refs("t.connection_id", f.ConnectionID.List())
	q.Search(f.Search, "t.description", "t.unique_ref", "t.short_ref", "c.name")
	q.Narrow(paidStatus+" = any(?)", f.PaidStatus)
	f.narrowByState(&q)
	q.Dates("t.date", f.Dates)
	q.Days(moved, f.PaidAtRange, f.IsDateRangeEndInclusive)
	q.Amounts("t.total", f.Amount)

	return q
}

// narrowByState narrows a list by the yes-or-no parameters.
func (f *Filter) narrowByState(q *page.Query) {
	// Only the condition on locks knows the argument reader.
	if f.IsLocked != nil {
		q.Args["reader"] = f.reader
	}

	q.Whether("t.is_opening_balance", f.IsOpeningBalance)
	q.Whether(ledger.SourceLockSQL("t.id"), f.IsLocked)
	q.Whether(`exists (select from ledger_entry e
		where e.team_id = @team and e.source_id = t.id and e.status = 'active')`, f.HasActiveJournalEntries)
	q.Whether("exists ("+bank.RecordsOfTransaction+")", f.Reconciled)
	q.Whether("exists ("+bank.RecordsOfTransaction+" and b.matched_by_bank_rule is not null)", f.MatchedByBankRule)
}

type listInput struct {
	page.Params
	Sort Sort `query:"sort" doc:"Default -date."`
	Filter
	IncludeLines bool `query:"includeLines" doc:"With lines; a page of more than 20000 is refused with tooManyLines at limit and context.suggestedLimit."`
	operation.Include
}

// list returns a page of transactions with their locks and issues, on request with their lines and operations.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Transaction], error) {
	// An export has no reader, so only the list of a user sets one.
	in.reader = tx.Actor.User
	q := listQuery(in.Filter)

	q.Columns, q.From, q.Joined = rowColumns(in.IncludeLines), rowTables, q.Joined+" first closing"
	q.Args["team"], q.Args["reader"] = tx.Team, tx.Actor.User

	// A page with lines is bounded by their number, so the query has to count them.
	if in.IncludeLines {
		q.Lines = "(select count(*) from transaction_line l where l.team_id = t.team_id and l.transaction_id = t.id)"
	}

	rows, err := page.List[row](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	found := &page.Page[Transaction]{Pagination: rows.Pagination}
	if found.Data, err = showRows(ctx, tx, rows.Data); err != nil {
		return nil, err
	}

	// Without lines the columns have lines with listings only, for Show; the answer has none.
	if !in.IncludeLines {
		for i := range found.Data {
			found.Data[i].Lines = nil
		}
	}

	if !in.Operations() {
		return found, nil
	}

	return found, operation.Embed(ctx, tx, operation.Transaction, found.Data,
		func(t *Transaction) (id.ID, **operation.Summary) { return t.ID, &t.Operations })
}
