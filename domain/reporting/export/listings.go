package export

import (
	"context"
	"slices"

	"stayledger/domain/property/listing"
	"stayledger/platform/csv"
	"stayledger/platform/day"
	"stayledger/platform/db"
)

// listingSelection is the selector of the CSV: the filters of GET /listings, and the columns.
type listingSelection struct {
	listing.Filter
	Sort    listing.Sort    `query:"sort" json:"sort,omitempty" doc:"Default createdAt."`
	Columns []listingColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// listingColumn is a column of the CSV.
type listingColumn string

// Enum returns the names of the columns in their own order.
func (listingColumn) Enum() []string { return columnNames(listingColumns) }

// listingColumns are the columns of the CSV, which has a row per listing. The columns from ownershipPeriodId to
// reserve describe the ownership period that covers today, if there is one.
var listingColumns = slices.Concat([]sqlColumn{
	{csv.Column{Name: "id", Kind: csv.ID}, "l.id"},
	{csv.Column{Name: "shortRef", Kind: csv.ID}, "l.short_ref"},
	{csv.Column{Name: "uniqueRef", Kind: csv.ID}, "l.unique_ref"},
	{csv.Column{Name: "name", Kind: csv.Text}, "l.name"},
	{csv.Column{Name: "status", Kind: csv.Text}, "l.status"},
	{csv.Column{Name: "parentId", Kind: csv.ID}, "g.id"},
	{csv.Column{Name: "parent", Kind: csv.Text}, "g.name"},
}, addressColumns("l.address"), []sqlColumn{
	{csv.Column{Name: "ownershipPeriodId", Kind: csv.ID}, "owned.id"},
	{csv.Column{Name: "owners", Kind: csv.Text}, "owners.names"},
	{csv.Column{Name: "businessModel", Kind: csv.Text}, "owned.business_model"},
	{csv.Column{Name: "ownedFrom", Kind: csv.Date}, "owned.start_at"},
	{csv.Column{Name: "ownedUntil", Kind: csv.Date}, "owned.end_at"},
	{csv.Column{Name: "reserve", Kind: csv.Amount}, "owned.reserve"},
	{csv.Column{Name: "currency", Kind: csv.Currency}, "l.default_currency"},
	{csv.Column{Name: "createdAt", Kind: csv.Instant}, "l.created_at"},
	{csv.Column{Name: "updatedAt", Kind: csv.Instant}, "l.updated_at"},
})

// listingTables joins today's ownership and its owners to the listings l and their groups g. A split of 33333 is
// written as 33.333%.
const listingTables = `
	left join listing_ownership_period owned on owned.team_id = l.team_id and owned.listing_id = l.id
		and daterange(owned.start_at, owned.end_at) @> @today_owned::date
	left join lateral (
		select string_agg(c.name || ' ' || trim_scale(m.split / 1000.0) || '%', '; ' order by m.position) as names
		from listing_ownership_member m join contact c on c.team_id = m.team_id and c.id = m.contact_id
		where m.team_id = owned.team_id and m.period_id = owned.id) owners on true`

// listingsCSV declares EXP-P04, the export of listings.
func listingsCSV() Declaration[listingSelection] {
	return Declaration[listingSelection]{
		Path: "/listings/csv", ID: "ListingsCSV", Tag: "Listings", Summary: "Export listings as CSV",
		Doc: "One row per listing with who owns it today, such as Ann 60%; Ben 40%. ownedFrom is empty from " +
			"inception on; ownedUntil is the first day that is not owned any more. reserve is in the listing's " +
			"currency.",
		Format: CSV, Scopes: []string{"listings:export"}, Name: "listings",
		Count: func(ctx context.Context, tx *db.Tx, s *listingSelection) (Size, error) {
			return countRows(ctx, tx, listing.ListQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *listingSelection, out *Sink) error {
			// The joins are added here and not in Count, since a listing has at most one ownership period on a day.
			q := listing.ListQuery(tx, &s.Filter)
			q.From += listingTables
			q.Args["today_owned"] = day.Of(tx.Now)

			return rowList{
				columns: selectColumns(listingColumns, s.Columns),
				query:   q,
				sort:    string(s.Sort),
			}.write(ctx, tx, out)
		},
	}
}
