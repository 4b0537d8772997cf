package export

import (
	"context"
	"slices"

	"stayledger/domain/property/listing"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/render"
)

// listingSelection are the filters of GET /listings, and the columns.
type listingSelection struct {
	listing.Filter
	Sort    listing.Sort    `query:"sort" json:"sort,omitempty" doc:"Default createdAt."`
	Columns []listingColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// listingColumn is a column of the CSV.
type listingColumn string

// Enum lists the columns in their own order.
func (listingColumn) Enum() []string { return namesOf(listingColumns) }

// listingColumns are a row per listing. From ownershipPeriodId to reserve they tell of the ownership period that covers today, if any.
var listingColumns = slices.Concat([]sqlColumn{
	{render.Column{Name: "id", Kind: render.ID}, "l.id"},
	{render.Column{Name: "shortRef", Kind: render.ID}, "l.short_ref"},
	{render.Column{Name: "uniqueRef", Kind: render.ID}, "l.unique_ref"},
	{render.Column{Name: "name", Kind: render.Text}, "l.name"},
	{render.Column{Name: "status", Kind: render.Text}, "l.status"},
	{render.Column{Name: "parentId", Kind: render.ID}, "g.id"},
	{render.Column{Name: "parent", Kind: render.Text}, "g.name"},
}, addressColumns("l.address"), []sqlColumn{
	{render.Column{Name: "ownershipPeriodId", Kind: render.ID}, "owned.id"},
	{render.Column{Name: "owners", Kind: render.Text}, "owners.names"},
	{render.Column{Name: "businessModel", Kind: render.Text}, "owned.business_model"},
	{render.Column{Name: "ownedFrom", Kind: render.Date}, "owned.start_at"},
	{render.Column{Name: "ownedUntil", Kind: render.Date}, "owned.end_at"},
	{render.Column{Name: "reserve", Kind: render.Amount}, "owned.reserve"},
	{render.Column{Name: "currency", Kind: render.Currency}, "l.default_currency"},
	{render.Column{Name: "createdAt", Kind: render.Instant}, "l.created_at"},
	{render.Column{Name: "updatedAt", Kind: render.Instant}, "l.updated_at"},
})

// listingTables are what the columns take from beside the listings l and their groups g. A split of 33333 is written 33.333%.
const listingTables = `
	left join listing_ownership_period owned on owned.team_id = l.team_id and owned.listing_id = l.id
		and daterange(owned.start_at, owned.end_at) @> @today_owned::date
	left join lateral (
		select string_agg(c.name || ' ' || trim_scale(m.split / 1000.0) || '%', '; ' order by m.position) as names
		from listing_ownership_member m join contact c on c.team_id = m.team_id and c.id = m.contact_id
		where m.team_id = owned.team_id and m.period_id = owned.id) owners on true`

// listingsCSV is EXP-P04.
func listingsCSV() Declaration[listingSelection] {
	return Declaration[listingSelection]{
		Path: "/listings/csv", ID: "ListingsCSV", Tag: "Listings", Summary: "Export listings as CSV",
		Doc: "One row per listing with who owns it today, such as Ann 60%; Ben 40%. ownedFrom is empty from inception on; ownedUntil is the first day " +
			"that is not owned any more. reserve is in the listing's currency.",
		Format: CSV, Scopes: []string{"listings:export"}, Name: "listings",
		Count: func(ctx context.Context, tx *db.Tx, s *listingSelection) (Size, error) {
			return countRows(ctx, tx, listing.ListQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *listingSelection, out *Sink) error {
			q := listing.ListQuery(tx, &s.Filter)
			q.From += listingTables
			q.Args["today_owned"] = day.Of(tx.Now)
			return rowList{columns: chosen(listingColumns, s.Columns), query: q, sort: string(s.Sort)}.write(ctx, tx, out)
		},
	}
}
