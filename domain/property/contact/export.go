package contact

import (
	"context"
	"slices"

	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// Callers know these schemas by the names of package export.
var (
	_ = api.PublishAs[exportSelection]("ExportContactSelection")
	_ = api.PublishAs[exportColumn]("ExportContactColumn")
)

// exportSelection is the selector of the CSV: the filters of GET /contacts, and the columns.
type exportSelection struct {
	Filter
	Sort    Sort           `query:"sort" json:"sort,omitempty" doc:"Default createdAt."`
	Columns []exportColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// exportColumn is a column of the CSV.
type exportColumn string

// Enum returns the names of the columns in their own order.
func (exportColumn) Enum() []string { return export.ColumnNames(exportColumns) }

// exportColumns are the columns of the CSV, which has a row per contact. A tax identifier is masked as it is in
// the read: only the export of information returns has the whole ones.
var exportColumns = slices.Concat(
	export.FromTable(contactTable, "c", "id", "shortRef", "uniqueRef", "type", "status", "name", "firstName",
		"email", "phone"),
	AddressColumns("c.address"),
	[]export.SQLColumn{
		export.FromSQL("companyType", csv.Text, "c.company_type"),
		export.FromSQL("taxIdentifier", csv.ID, "'***' || c.tax_identifier_last4"),
		export.FromSQL("payoutAccountId", csv.ID, "c.payout_account_id"),
		export.FromSQL("payoutAccountCode", csv.ID, "paying.code"),
		export.FromSQL("payoutAccount", csv.Text, "paying.name"),
		export.FromSQL("ownedListings", csv.Integer, "coalesce(owned.listings, 0)"),
	},
	export.FromTable(contactTable, "c", "createdAt", "updatedAt"),
)

// exportTables joins the payout account and the count of listings owned today to the contacts c.
const exportTables = `
	left join account paying on paying.team_id = c.team_id and paying.id = c.payout_account_id
	left join (
		select m.contact_id, count(*) as listings
		from listing_ownership_member m join listing_ownership_period p on p.team_id = m.team_id and p.id = m.period_id
		where m.team_id = @team and daterange(p.start_at, p.end_at) @> @today_owned::date
		group by m.contact_id) owned on owned.contact_id = c.id`

// contactsCSV declares EXP-P03, the export of owners and vendors.
func contactsCSV() export.Declaration[exportSelection] {
	return export.Declaration[exportSelection]{
		Path: "/contacts/csv", ID: "ContactsCSV", Tag: "Contacts", Summary: "Export owners and vendors as CSV",
		Doc: "One row per contact. Tax identifiers are masked; ownedListings counts the listings that the " +
			"contact owns today.",
		Format: export.CSV, Scopes: []string{"contacts:export"}, Name: "contacts",
		Count: func(ctx context.Context, tx *db.Tx, s *exportSelection) (export.Size, error) {
			return export.CountRows(ctx, tx, listQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *exportSelection, out *export.Sink) error {
			// The joins are added here and not in Count, since none of them changes the number of rows.
			q := listQuery(tx, &s.Filter)
			q.From += exportTables
			q.Args["today_owned"] = tx.Today()

			return export.RowList{
				Columns: export.SelectColumns(exportColumns, s.Columns),
				Query:   q,
				Sort:    string(s.Sort),
			}.Write(ctx, tx, out)
		},
	}
}

// AddressColumns returns columns that spread the postal address in a jsonb expression, so that letters can be made
// from them.
func AddressColumns(address string) []export.SQLColumn {
	// A key that the address does not have gives null and so an empty cell.
	text := func(name, key string) export.SQLColumn {
		return export.FromSQL(name, csv.Text, address+" ->> '"+key+"'")
	}

	return []export.SQLColumn{
		text("address", "full"),
		text("addressLine1", "line1"),
		text("addressLine2", "line2"),
		text("city", "city"),
		text("state", "state"),
		text("stateCode", "stateCode"),
		text("postalCode", "postalCode"),
		text("countryCode", "countryCode"),
	}
}
