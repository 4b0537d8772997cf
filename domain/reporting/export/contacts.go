package export

import (
	"context"
	"slices"

	"stayledger/domain/property/contact"
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
func (contactColumn) Enum() []string { return columnNames(contactColumns) }

// contactColumns are the columns of the CSV, which has a row per contact. A tax identifier is masked as it is in
// the read: only the export of information returns has the whole ones.
var contactColumns = slices.Concat([]sqlColumn{
	{csv.Column{Name: "id", Kind: csv.ID}, "c.id"},
	{csv.Column{Name: "shortRef", Kind: csv.ID}, "c.short_ref"},
	{csv.Column{Name: "uniqueRef", Kind: csv.ID}, "c.unique_ref"},
	{csv.Column{Name: "type", Kind: csv.Text}, "c.type"},
	{csv.Column{Name: "status", Kind: csv.Text}, "c.status"},
	{csv.Column{Name: "name", Kind: csv.Text}, "c.name"},
	{csv.Column{Name: "firstName", Kind: csv.Text}, "c.first_name"},
	{csv.Column{Name: "email", Kind: csv.Text}, "c.email"},
	{csv.Column{Name: "phone", Kind: csv.Text}, "c.phone"},
}, addressColumns("c.address"), []sqlColumn{
	{csv.Column{Name: "companyType", Kind: csv.Text}, "c.company_type"},
	{csv.Column{Name: "taxIdentifier", Kind: csv.ID}, "'***' || c.tax_identifier_last4"},
	{csv.Column{Name: "payoutAccountId", Kind: csv.ID}, "c.payout_account_id"},
	{csv.Column{Name: "payoutAccountCode", Kind: csv.ID}, "paying.code"},
	{csv.Column{Name: "payoutAccount", Kind: csv.Text}, "paying.name"},
	{csv.Column{Name: "ownedListings", Kind: csv.Integer}, "coalesce(owned.listings, 0)"},
	{csv.Column{Name: "createdAt", Kind: csv.Instant}, "c.created_at"},
	{csv.Column{Name: "updatedAt", Kind: csv.Instant}, "c.updated_at"},
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
func contactsCSV() Declaration[contactSelection] {
	return Declaration[contactSelection]{
		Path: "/contacts/csv", ID: "ContactsCSV", Tag: "Contacts", Summary: "Export owners and vendors as CSV",
		Doc: "One row per contact. Tax identifiers are masked; ownedListings counts the listings that the " +
			"contact owns today.",
		Format: CSV, Scopes: []string{"contacts:export"}, Name: "contacts",
		Count: func(ctx context.Context, tx *db.Tx, s *contactSelection) (Size, error) {
			return countRows(ctx, tx, contact.ListQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *contactSelection, out *Sink) error {
			// The joins are added here and not in Count, since none of them changes the number of rows.
			q := contact.ListQuery(tx, &s.Filter)
			q.From += contactTables
			q.Args["today_owned"] = day.Of(tx.Now)

			return rowList{
				columns: selectColumns(contactColumns, s.Columns),
				query:   q,
				sort:    string(s.Sort),
			}.write(ctx, tx, out)
		},
	}
}
