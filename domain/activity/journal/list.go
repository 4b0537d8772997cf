package journal

import (
	"context"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Filter selects journals.
type Filter struct {
	IDs            page.IDs `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	UniqueRefs     []string `query:"uniqueRefs"`
	ShortRefs      []string `query:"shortRefs"`
	Ledger         Books    `query:"ledger"`
	AccountIDs     page.IDs `query:"accountIds" doc:"Journals with a line on one of these accounts."`
	ListingIDs     page.IDs `query:"listingIds"`
	ContactIDs     page.IDs `query:"contactIds"`
	ReservationIDs page.IDs `query:"reservationIds"`
	Reversed       *bool    `query:"reversed" doc:"true: only journals that are reversed; false: only those that are not."`
	page.Dates
	Search string `query:"search" maxLength:"200" doc:"Part of a description or a reference."`
}

// query returns the list of journals that a valid filter selects.
func (f Filter) query(team id.ID) page.Query {
	q := page.Query{
		Columns: columns,
		From:    "journal j",
		Rows:    "journal j",
		Where:   []string{"j.team_id = @team"},
		Args:    db.Args{"team": team},
		Sorts:   sorts,
		Default: "-date",
		ID:      "j.id",
	}
	q.CountedAs("journal")

	const anyLine = "exists (select from journal_line l where l.team_id = @team and l.journal_id = j.id and "

	q.IDs("j.id = any(?)", f.IDs)
	q.Narrow("j.unique_ref = any(?)", f.UniqueRefs)
	q.Narrow("j.short_ref = any(?)", f.ShortRefs)
	q.Narrow("j.ledger = ?", f.Ledger)
	q.IDs(anyLine+"l.account_id = any(?))", f.AccountIDs)
	q.IDs(anyLine+"l.listing_id = any(?))", f.ListingIDs)
	q.IDs(anyLine+"l.contact_id = any(?))", f.ContactIDs)
	q.IDs(anyLine+"l.reservation_id = any(?))", f.ReservationIDs)
	q.Whether("exists (select from journal r where r.team_id = @team and r.reverses_id = j.id)", f.Reversed)

	// The text may be in the journal itself or in one of its lines.
	if f.Search != "" {
		head := page.ContainsSQL("@search", "j.description", "j.unique_ref", "j.short_ref")
		line := page.ContainsSQL("@search", "l.description")
		q.And("("+head+" or "+anyLine+line+"))", db.Args{"search": f.Search})
	}

	q.Dates("j.date", f.Dates)

	return q
}

var sorts = page.Sorts{
	{Name: "date", Expr: "j.date"},
	{Name: "total", Expr: "j.total"},
	{Name: "createdAt", Expr: "j.created_at"},
	{Name: "description", Expr: "j.description", Text: true, Nullable: true},
}

// listSort is an order of journals.
type listSort string

// Enum lists the orders.
func (listSort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort listSort `query:"sort" doc:"Default -date."`
	Filter
}

// list returns a page of journals with their lines, locks and statuses. A page is bounded by the number of lines as
// well.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Journal], error) {
	q := in.query(tx.Team)
	q.Lines = "(select count(*) from journal_line l where l.team_id = j.team_id and l.journal_id = j.id)"

	q.Columns, q.From, q.Joined = rowColumns, rowTables, q.Joined+" first closing"
	q.Args["reader"] = tx.Actor.User

	rows, err := page.List[row](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	found := &page.Page[Journal]{Pagination: rows.Pagination}
	found.Data, err = fillRows(ctx, tx, rows.Data)

	return found, err
}
