package transaction

import (
	"context"
	"strconv"
	"strings"

	"stayledger/domain/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Filter selects transactions: the query parameters of the list and the body of its export alike.
type Filter struct {
	Type                    []Type   `query:"type" json:"type,omitempty" enum:"deposit,expense,transfer,payout"`
	Status                  Status   `query:"status" json:"status,omitempty" enum:"active,inactive"`
	IsOpeningBalance        *bool    `query:"isOpeningBalance" json:"isOpeningBalance,omitempty"`
	AccountID               *id.ID   `query:"accountId" json:"accountId,omitempty" doc:"The transaction's own account, its payment's or a line's."`
	ContactID               *id.ID   `query:"contactId" json:"contactId,omitempty" doc:"The transaction's contact or a line's."`
	ListingIDs              []id.ID  `query:"listingIds" json:"listingIds,omitempty"`
	DateRange               string   `query:"dateRange" json:"dateRange,omitempty" doc:"YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD."`
	IsDateRangeEndInclusive *bool    `query:"isDateRangeEndInclusive" json:"isDateRangeEndInclusive,omitempty" default:"true"`
	UniqueRefs              []string `query:"uniqueRefs" json:"uniqueRefs,omitempty"`
	ShortRefs               []string `query:"shortRefs" json:"shortRefs,omitempty"`
	IDs                     []id.ID  `query:"ids" json:"ids,omitempty"`
	Search                  string   `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the description, a reference or the contact's name."`
	Amount                  string   `query:"amount" json:"amount,omitempty" pattern:"^-?[0-9]{1,16}(\\.\\.\\.-?[0-9]{1,16})?$" doc:"Total in cents, or 100...200 with both ends."`
	ConnectionID            string   `query:"connectionId" json:"connectionId,omitempty" enum:"null" doc:"null: not written by a connection."`
	IncludeLines            bool     `query:"includeLines" json:"includeLines,omitempty"`
}

// Resolve refuses a date range or an amount that no pattern can check (PAG-33).
func (f Filter) Resolve() []apierr.Issue {
	var issues []apierr.Issue
	if _, err := f.dates(); f.DateRange != "" && err != nil {
		issues = append(issues, apierr.Issue{Message: "Value is not a date range", Code: "dateRange", Path: []any{"dateRange"}, Schema: "query"})
	}
	if low, high, ok := f.amounts(); !ok || low > high {
		issues = append(issues, apierr.Issue{Message: "Value is not an amount or a range of amounts", Code: "malformed", Path: []any{"amount"}, Schema: "query"})
	}
	return issues
}

func (f Filter) dates() (day.Range, error) {
	return day.ParseRange(f.DateRange, f.IsDateRangeEndInclusive == nil || *f.IsDateRangeEndInclusive)
}

func (f Filter) amounts() (low, high int64, ok bool) {
	if f.Amount == "" {
		return 0, 0, true
	}
	from, to, isRange := strings.Cut(f.Amount, "...")
	if !isRange {
		to = from
	}
	low, lowErr := strconv.ParseInt(from, 10, 64)
	high, highErr := strconv.ParseInt(to, 10, 64)
	return low, high, lowErr == nil && highErr == nil
}

var sorts = page.Sorts{
	"date":        {Expr: "t.date"},
	"amount":      {Expr: "t.total"},
	"createdAt":   {Expr: "t.created_at"},
	"description": {Expr: "t.description", Text: true, Nullable: true},
}

// ListQuery is the list of transactions that a valid filter selects, in rows of Transaction. The caller sets the argument team.
func ListQuery(f Filter) page.Query {
	q := page.Query{
		Columns: columns(f.IncludeLines), From: from, Where: []string{"t.team_id = @team"}, Args: db.Args{}, Sorts: sorts, Default: "-date", ID: "t.id",
	}
	with := func(given bool, condition, name string, value any) {
		if given {
			q.And(condition, db.Args{name: value})
		}
	}
	with(f.Type != nil, "t.type = any(@types)", "types", f.Type)
	with(f.Status != "", "t.status = @status", "status", f.Status)
	with(f.IsOpeningBalance != nil, "t.is_opening_balance = @opening", "opening", f.IsOpeningBalance)
	with(f.UniqueRefs != nil, "t.unique_ref = any(@unique_refs)", "unique_refs", f.UniqueRefs)
	with(f.ShortRefs != nil, "t.short_ref = any(@short_refs)", "short_refs", f.ShortRefs)
	with(f.IDs != nil, "t.id = any(@ids)", "ids", f.IDs)
	const anyLine = "exists (select from transaction_line l where l.team_id = t.team_id and l.transaction_id = t.id and "
	with(f.AccountID != nil, "(t.account_id = @account or t.payment_account_id = @account or "+anyLine+"l.account_id = @account))", "account", f.AccountID)
	with(f.ContactID != nil, "(t.contact_id = @contact or "+anyLine+"l.contact_id = @contact))", "contact", f.ContactID)
	with(f.ListingIDs != nil, anyLine+"l.listing_id = any(@listings))", "listings", f.ListingIDs)
	with(f.Search != "", `(t.description ilike @search or t.unique_ref ilike @search or t.short_ref ilike @search or c.name ilike @search)`,
		"search", page.Like(f.Search))
	if dates, err := f.dates(); f.DateRange != "" && err == nil {
		q.And("t.date >= @from and t.date < @to", db.Args{"from": dates.From, "to": dates.To})
	}
	if low, high, ok := f.amounts(); f.Amount != "" && ok {
		q.And("t.total between @low and @high", db.Args{"low": low, "high": high})
	}
	return q
}

type listInput struct {
	page.Params
	Sort string `query:"sort" enum:"date,-date,amount,-amount,createdAt,-createdAt,description,-description" doc:"Default -date."`
	Filter
	operation.Include
}

func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Transaction], error) {
	q := ListQuery(in.Filter)
	q.Args["team"] = tx.Team
	found, err := page.List[Transaction](ctx, tx, q, in.Params, in.Sort)
	if err != nil || !in.Operations() {
		return found, err
	}
	return found, operation.Embed(ctx, tx, operation.Transaction, found.Data,
		func(t *Transaction) (id.ID, **operation.Summary) { return t.ID, &t.Operations })
}
