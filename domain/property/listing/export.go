package listing

import (
	"context"
	"slices"

	"stayledger/domain/property/contact"
	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// Callers know these schemas by the names of package export.
var (
	_ = api.PublishAs[exportSelection]("ExportListingSelection")
	_ = api.PublishAs[exportColumn]("ExportListingColumn")
)

// exportSelection is the selector of the CSV: the filters of GET /listings, and the columns.
type exportSelection struct {
	Filter
	Sort    Sort           `query:"sort" json:"sort,omitempty" doc:"Default createdAt."`
	Columns []exportColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// exportColumn is a column of the CSV.
type exportColumn string

// Enum returns the names of the columns in their own order.
func (exportColumn) Enum() []string { return export.ColumnNames(exportColumns) }

// exportColumns are the columns of the CSV, which has a row per listing. The columns from ownershipPeriodId to
// reserve describe the ownership period that covers today, if there is one.
var exportColumns = slices.Concat(
	export.FromTable(listingTable, "l", "id", "shortRef", "uniqueRef", "name", "status"),
	[]export.SQLColumn{
		export.FromSQL("parentId", csv.ID, "g.id"),
		export.FromSQL("parent", csv.Text, "g.name"),
	},
	contact.AddressColumns("l.address"),
	[]export.SQLColumn{
		export.FromSQL("ownershipPeriodId", csv.ID, "owned.id"),
		export.FromSQL("owners", csv.Text, "owners.names"),
		export.FromSQL("businessModel", csv.Text, "owned.business_model"),
		export.FromSQL("ownedFrom", csv.Date, "owned.start_at"),
		export.FromSQL("ownedUntil", csv.Date, "owned.end_at"),
		export.FromSQL("reserve", csv.Amount, "owned.reserve"),
		export.FromSQL("currency", csv.Currency, "l.default_currency"),
	},
	export.FromTable(listingTable, "l", "createdAt", "updatedAt"),
)

// exportTables joins today's ownership and its owners to the listings l and their groups g. A split of 33333 is
// written as 33.333%.
var exportTables = ownedJoin + `
	left join lateral (
		select string_agg(c.name || ' ' || trim_scale(m.split / 1000.0) || '%', '; ' order by m.position) as names
		from listing_ownership_member m join contact c on c.team_id = m.team_id and c.id = m.contact_id
		where m.team_id = owned.team_id and m.period_id = owned.id) owners on true`

// listingsCSV declares EXP-P04, the export of listings.
func listingsCSV() export.Declaration[exportSelection] {
	return export.Declaration[exportSelection]{
		Path: "/listings/csv", ID: "ListingsCSV", Tag: "Listings", Summary: "Export listings as CSV",
		Doc: "One row per listing with who owns it today, such as Ann 60%; Ben 40%. ownedFrom is empty from " +
			"inception on; ownedUntil is the first day that is not owned any more. reserve is in the listing's " +
			"currency.",
		Format: export.CSV, Scopes: []string{"listings:export"}, Name: "listings",
		Count: func(ctx context.Context, tx *db.Tx, s *exportSelection) (export.Size, error) {
			return export.CountRows(ctx, tx, listQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *exportSelection, out *export.Sink) error {
			// The joins are added here and not in Count, since a listing has at most one ownership period on a day.
			q := listQuery(tx, &s.Filter)
			q.From += exportTables
			q.Args["today"] = tx.Today()

			return export.RowList{
				Columns: export.SelectColumns(exportColumns, s.Columns),
				Query:   q,
				Sort:    string(s.Sort),
			}.Write(ctx, tx, out)
		},
	}
}
