package journal

import (
	"context"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Filter selects journals.
type Filter struct {
	IDs                     []id.ID  `query:"ids"`
	UniqueRefs              []string `query:"uniqueRefs"`
	ShortRefs               []string `query:"shortRefs"`
	Ledger                  Books    `query:"ledger"`
	AccountIDs              []id.ID  `query:"accountIds" doc:"Journals with a line on one of these accounts."`
	ListingIDs              []id.ID  `query:"listingIds"`
	ContactIDs              []id.ID  `query:"contactIds"`
	ReservationIDs          []id.ID  `query:"reservationIds"`
	Reversed                *bool    `query:"reversed" doc:"true: only journals that are reversed; false: only those that are not."`
	DateRange               string   `query:"dateRange" format:"date-range" doc:"YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD."`
	IsDateRangeEndInclusive *bool    `query:"isDateRangeEndInclusive" default:"true"`
	Search                  string   `query:"search" maxLength:"200" doc:"Part of a description or a reference."`
}

// Resolve refuses a date range that no pattern can check (PAG-33).
func (f Filter) Resolve() []apierr.Issue {
	if _, err := f.dates(); f.DateRange != "" && err != nil {
		return []apierr.Issue{{Message: "Value is not a date range", Code: "dateRange", Path: []any{"dateRange"}, Schema: "query"}}
	}
	return nil
}

func (f Filter) dates() (day.Range, error) {
	return day.ParseRange(f.DateRange, f.IsDateRangeEndInclusive == nil || *f.IsDateRangeEndInclusive)
}

func (f Filter) query(team id.ID) page.Query {
	q := page.Query{
		Columns: columns, From: "journal j", Where: []string{"j.team_id = @team"}, Args: db.Args{"team": team}, Default: "-date", ID: "j.id",
		Sorts: page.Sorts{
			"date": {Expr: "j.date"}, "total": {Expr: "j.total"}, "createdAt": {Expr: "j.created_at"},
			"description": {Expr: "j.description", Text: true, Nullable: true},
		},
	}
	with := func(given bool, condition, name string, value any) {
		if given {
			q.And(condition, db.Args{name: value})
		}
	}
	const anyLine = "exists (select from journal_line l where l.team_id = j.team_id and l.journal_id = j.id and "
	with(f.IDs != nil, "j.id = any(@ids)", "ids", f.IDs)
	with(f.UniqueRefs != nil, "j.unique_ref = any(@unique_refs)", "unique_refs", f.UniqueRefs)
	with(f.ShortRefs != nil, "j.short_ref = any(@short_refs)", "short_refs", f.ShortRefs)
	with(f.Ledger != "", "j.ledger = @ledger", "ledger", string(f.Ledger))
	with(f.AccountIDs != nil, anyLine+"l.account_id = any(@accounts))", "accounts", f.AccountIDs)
	with(f.ListingIDs != nil, anyLine+"l.listing_id = any(@listings))", "listings", f.ListingIDs)
	with(f.ContactIDs != nil, anyLine+"l.contact_id = any(@contacts))", "contacts", f.ContactIDs)
	with(f.ReservationIDs != nil, anyLine+"l.reservation_id = any(@reservations))", "reservations", f.ReservationIDs)
	with(f.Reversed != nil, "exists (select from journal r where r.team_id = j.team_id and r.reverses_id = j.id) = @reversed", "reversed", f.Reversed)
	with(f.Search != "", "(j.description ilike @search or j.unique_ref ilike @search or j.short_ref ilike @search or "+anyLine+"l.description ilike @search))",
		"search", page.Like(f.Search))
	if dates, err := f.dates(); f.DateRange != "" && err == nil {
		q.And("j.date >= @from and j.date < @to", db.Args{"from": dates.From, "to": dates.To})
	}
	return q
}

type listInput struct {
	page.Params
	Sort string `query:"sort" enum:"date,-date,total,-total,createdAt,-createdAt,description,-description" doc:"Default -date."`
	Filter
}

func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Journal], error) {
	q := in.query(tx.Team)
	const lines = "(select count(*) from journal_line l where l.team_id = j.team_id and l.journal_id = j.id)"
	if err := page.Bound(ctx, tx, q, in.Params, in.Sort, lines); err != nil {
		return nil, err
	}
	found, err := page.List[Journal](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}
	return found, state(ctx, tx, found.Data)
}
