package transaction

import (
	"context"
	"strings"

	"stayledger/domain/bank"
	"stayledger/domain/ledger"
	"stayledger/domain/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Filter selects transactions: the query parameters of the list and the body of its export alike.
type Filter struct {
	Type                    []Type       `query:"type" json:"type,omitempty" enum:"deposit,expense,transfer,payout"`
	Status                  Status       `query:"status" json:"status,omitempty" enum:"active,inactive"`
	IsOpeningBalance        *bool        `query:"isOpeningBalance" json:"isOpeningBalance,omitempty"`
	IsLocked                *bool        `query:"isLocked" json:"isLocked,omitempty" doc:"Whether anything holds the journal."`
	HasActiveJournalEntries *bool        `query:"hasActiveJournalEntries" json:"hasActiveJournalEntries,omitempty"`
	AccountID               *id.ID       `query:"accountId" json:"accountId,omitempty" doc:"The transaction's own account, its payment's or a line's."`
	Last4                   []string     `query:"last4" json:"last4,omitempty" doc:"Last digits of the transaction's own bank account or its payment's."`
	ContactID               *id.ID       `query:"contactId" json:"contactId,omitempty" doc:"The transaction's contact or a line's."`
	ListingIDs              []id.ID      `query:"listingIds" json:"listingIds,omitempty"`
	DateRange               string       `query:"dateRange" format:"date-range" json:"dateRange,omitempty" doc:"YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD."`
	PaidAtRange             string       `query:"paidAtRange" format:"date-range" json:"paidAtRange,omitempty" doc:"The same for the date on which money moved; an open bill has none."`
	IsDateRangeEndInclusive *bool        `query:"isDateRangeEndInclusive" json:"isDateRangeEndInclusive,omitempty" default:"true"`
	PaidStatus              []PaidStatus `query:"paidStatus" json:"paidStatus,omitempty"`
	Reconciled              *bool        `query:"reconciled" json:"reconciled,omitempty"`
	MatchedByBankRule       *bool        `query:"matchedByBankRule" json:"matchedByBankRule,omitempty" doc:"Whether a bank rule matched a bank record of the transaction."`
	RecurringTemplateID     *id.ID       `query:"recurringTemplateId" json:"recurringTemplateId,omitempty"`
	UniqueRefs              []string     `query:"uniqueRefs" json:"uniqueRefs,omitempty"`
	ShortRefs               []string     `query:"shortRefs" json:"shortRefs,omitempty"`
	IDs                     []string     `query:"ids" json:"ids,omitempty" doc:"Only these; an id with a leading ! is left out."`
	Search                  string       `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the description, a reference or the contact's name."`
	Amount                  string       `query:"amount" json:"amount,omitempty" pattern:"^-?[0-9]{1,16}(\\.\\.\\.-?[0-9]{1,16})?(,-?[0-9]{1,16}(\\.\\.\\.-?[0-9]{1,16})?){0,9}$" doc:"Total in cents, or 100...200 with both ends; several are separated by commas."`
	ConnectionID            string       `query:"connectionId" json:"connectionId,omitempty" enum:"null" doc:"null: not written by a connection."`

	// reader is for whom a soft close does not hold when he is one of its posters; nobody in an export.
	reader id.ID
}

// Resolve refuses what no pattern can check: date ranges, amounts, and the items of lists (PAG-33).
func (f Filter) Resolve() []apierr.Issue {
	var issues []apierr.Issue
	refuse := func(wrong bool, message, code, field string) {
		if wrong {
			issues = append(issues, apierr.Issue{Message: message, Code: code, Path: []any{field}, Schema: "query"})
		}
	}
	_, err := f.dates(f.DateRange)
	refuse(f.DateRange != "" && err != nil, "Value is not a date range", "dateRange", "dateRange")
	_, err = f.dates(f.PaidAtRange)
	refuse(f.PaidAtRange != "" && err != nil, "Value is not a date range", "dateRange", "paidAtRange")
	_, _, ok := money.ParseRanges(f.Amount)
	refuse(f.Amount != "" && !ok, "Value is not an amount or a range of amounts", "malformed", "amount")
	for _, text := range f.IDs {
		_, err := id.Parse(strings.TrimPrefix(text, "!"))
		refuse(err != nil, "Value is not a uuid", "uuid", "ids")
	}
	for _, digits := range f.Last4 {
		refuse(len(digits) != 4 || strings.Trim(digits, "0123456789") != "", "Value is not four digits", "malformed", "last4")
	}
	return issues
}

func (f Filter) dates(given string) (day.Range, error) {
	return day.ParseRange(given, f.IsDateRangeEndInclusive == nil || *f.IsDateRangeEndInclusive)
}

var sorts = page.Sorts{
	"date":        {Expr: "t.date"},
	"amount":      {Expr: "t.total"},
	"createdAt":   {Expr: "t.created_at"},
	"description": {Expr: "t.description", Text: true, Nullable: true},
}

const anyLine = "exists (select from transaction_line l where l.team_id = t.team_id and l.transaction_id = t.id and "

// ListQuery is the list of transactions that a valid filter selects, in rows of Transaction without their lines. The caller sets the argument team.
func ListQuery(f Filter) page.Query {
	q := page.Query{
		Columns: columns(false), From: from, Where: []string{"t.team_id = @team"}, Args: db.Args{}, Sorts: sorts, Default: "-date", ID: "t.id",
	}
	with := func(given bool, condition, name string, value any) {
		if given {
			q.And(condition, db.Args{name: value})
		}
	}
	with(f.Type != nil, "t.type = any(@types)", "types", f.Type)
	with(f.Status != "", "t.status = @status", "status", f.Status)
	with(f.UniqueRefs != nil, "t.unique_ref = any(@unique_refs)", "unique_refs", f.UniqueRefs)
	with(f.ShortRefs != nil, "t.short_ref = any(@short_refs)", "short_refs", f.ShortRefs)
	with(f.RecurringTemplateID != nil, "t.recurring_template_id = @template", "template", f.RecurringTemplateID)
	with(f.AccountID != nil, "(t.account_id = @account or t.payment_account_id = @account or "+anyLine+"l.account_id = @account))", "account", f.AccountID)
	with(f.Last4 != nil, `(a.banking_last4 = any(@last4) or exists (select from account p where p.team_id = t.team_id and p.id = t.payment_account_id
		and p.banking_last4 = any(@last4)))`, "last4", f.Last4)
	with(f.ContactID != nil, "(t.contact_id = @contact or "+anyLine+"l.contact_id = @contact))", "contact", f.ContactID)
	with(f.ListingIDs != nil, anyLine+"l.listing_id = any(@listings))", "listings", f.ListingIDs)
	with(f.Search != "", `(t.description ilike @search or t.unique_ref ilike @search or t.short_ref ilike @search or c.name ilike @search)`,
		"search", page.Like(f.Search))
	with(f.PaidStatus != nil, paidStatus+" = any(@paid_status)", "paid_status", f.PaidStatus)
	f.byState(&q)
	q.Pick(f.IDs)
	if dates, err := f.dates(f.DateRange); f.DateRange != "" && err == nil {
		q.And("t.date >= @from and t.date < @to", db.Args{"from": dates.From, "to": dates.To})
	}
	if dates, err := f.dates(f.PaidAtRange); f.PaidAtRange != "" && err == nil {
		q.And(paidStatus+" = 'paid' and coalesce(t.payment_date, t.date) >= @paid_from and coalesce(t.payment_date, t.date) < @paid_to",
			db.Args{"paid_from": dates.From, "paid_to": dates.To})
	}
	if lows, highs, ok := money.ParseRanges(f.Amount); ok {
		q.And("exists (select from unnest(@lows::bigint[], @highs::bigint[]) as r (low, high) where t.total between r.low and r.high)",
			db.Args{"lows": lows, "highs": highs})
	}
	return q
}

// byState narrows a list by what is or is not the case.
func (f *Filter) byState(q *page.Query) {
	if f.IsLocked != nil {
		q.Args["reader"] = f.reader
	}
	for _, c := range []struct {
		condition string
		wanted    *bool
	}{
		{"t.is_opening_balance", f.IsOpeningBalance},
		{ledger.HeldSource("t.id"), f.IsLocked},
		{"exists (select from ledger_entry e where e.team_id = t.team_id and e.source_id = t.id and e.status = 'active')", f.HasActiveJournalEntries},
		{"exists (" + bank.RecordsOfTransaction + ")", f.Reconciled},
		{"exists (" + bank.RecordsOfTransaction + " and b.matched_by_bank_rule is not null)", f.MatchedByBankRule},
	} {
		switch {
		case c.wanted == nil:
		case *c.wanted:
			q.And(c.condition, nil)
		default:
			q.And("not "+c.condition, nil)
		}
	}
}

type listInput struct {
	page.Params
	Sort string `query:"sort" enum:"date,-date,amount,-amount,createdAt,-createdAt,description,-description" doc:"Default -date."`
	Filter
	IncludeLines bool `query:"includeLines" doc:"With lines; a page of more than 20000 is refused with tooManyLines at limit and context.suggestedLimit."`
	operation.Include
}

func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Transaction], error) {
	in.reader = tx.Actor.User
	q := ListQuery(in.Filter)
	q.Columns, q.Args["team"] = columns(in.IncludeLines), tx.Team
	if in.IncludeLines {
		const lines = "(select count(*) from transaction_line l where l.team_id = t.team_id and l.transaction_id = t.id)"
		if err := page.Bound(ctx, tx, q, in.Params, in.Sort, lines); err != nil {
			return nil, err
		}
	}
	found, err := page.List[Transaction](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}
	if err := show(ctx, tx, found.Data); err != nil || !in.Operations() {
		return found, err
	}
	return found, operation.Embed(ctx, tx, operation.Transaction, found.Data,
		func(t *Transaction) (id.ID, **operation.Summary) { return t.ID, &t.Operations })
}
