package export

import (
	"context"
	"slices"

	"stayledger/domain/property/contact"
	"stayledger/domain/record/export"
	"stayledger/platform/csv"
	"stayledger/platform/day"
	"stayledger/platform/db"
)

// contactSelection is the selector of the CSV: the filters of GET /contacts, and the columns.
type contactSelection struct {
	contact.Filter
	Sort    contact.Sort    `query:"sort" json:"sort,omitempty" doc:"Default createdAt."`
	Columns []contactColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// contactColumn is a column of the CSV.
type contactColumn string

// Enum returns the names of the columns in their own order.
func (contactColumn) Enum() []string { return export.ColumnNames(contactColumns) }

// contactColumns are the columns of the CSV, which has a row per contact. A tax identifier is masked as it is in
// the read: only the export of information returns has the whole ones.
var contactColumns = slices.Concat([]export.SQLColumn{
	export.FromSQL("id", csv.ID, "c.id"),
	export.FromSQL("shortRef", csv.ID, "c.short_ref"),
	export.FromSQL("uniqueRef", csv.ID, "c.unique_ref"),
	export.FromSQL("type", csv.Text, "c.type"),
	export.FromSQL("status", csv.Text, "c.status"),
	export.FromSQL("name", csv.Text, "c.name"),
	export.FromSQL("firstName", csv.Text, "c.first_name"),
	export.FromSQL("email", csv.Text, "c.email"),
	export.FromSQL("phone", csv.Text, "c.phone"),
}, addressColumns("c.address"), []export.SQLColumn{
	export.FromSQL("companyType", csv.Text, "c.company_type"),
	export.FromSQL("taxIdentifier", csv.ID, "'***' || c.tax_identifier_last4"),
	export.FromSQL("payoutAccountId", csv.ID, "c.payout_account_id"),
	export.FromSQL("payoutAccountCode", csv.ID, "paying.code"),
	export.FromSQL("payoutAccount", csv.Text, "paying.name"),
	export.FromSQL("ownedListings", csv.Integer, "coalesce(owned.listings, 0)"),
	export.FromSQL("createdAt", csv.Instant, "c.created_at"),
	export.FromSQL("updatedAt", csv.Instant, "c.updated_at"),
})

// contactTables joins the payout account and the count of listings owned today to the contacts c.
const contactTables = `
	left join account paying on paying.team_id = c.team_id and paying.id = c.payout_account_id
	left join (
		select m.contact_id, count(*) as listings
		from listing_ownership_member m join listing_ownership_period p on p.team_id = m.team_id and p.id = m.period_id
		where m.team_id = @team and daterange(p.start_at, p.end_at) @> @today_owned::date
		group by m.contact_id) owned on owned.contact_id = c.id`

// contactsCSV declares EXP-P03, the export of owners and vendors.
func contactsCSV() export.Declaration[contactSelection] {
	return export.Declaration[contactSelection]{
		Path: "/contacts/csv", ID: "ContactsCSV", Tag: "Contacts", Summary: "Export owners and vendors as CSV",
		Doc: "One row per contact. Tax identifiers are masked; ownedListings counts the listings that the " +
			"contact owns today.",
		Format: export.CSV, Scopes: []string{"contacts:export"}, Name: "contacts",
		Count: func(ctx context.Context, tx *db.Tx, s *contactSelection) (export.Size, error) {
			return export.CountRows(ctx, tx, contact.ListQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *contactSelection, out *export.Sink) error {
			// The joins are added here and not in Count, since none of them changes the number of rows.
			q := contact.ListQuery(tx, &s.Filter)
			q.From += contactTables
			q.Args["today_owned"] = day.Of(tx.Now)

			return export.RowList{
				Columns: export.SelectColumns(contactColumns, s.Columns),
				Query:   q,
				Sort:    string(s.Sort),
			}.Write(ctx, tx, out)
		},
	}
}
