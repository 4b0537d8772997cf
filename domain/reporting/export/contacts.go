package export

import (
	"context"
	"slices"

	"stayledger/domain/property/contact"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/render"
)

// contactSelection are the filters of GET /contacts, and the columns.
type contactSelection struct {
	contact.Filter
	Sort    contact.Sort    `query:"sort" json:"sort,omitempty" doc:"Default createdAt."`
	Columns []contactColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// contactColumn is a column of the CSV.
type contactColumn string

// Enum lists the columns in their own order.
func (contactColumn) Enum() []string { return namesOf(contactColumns) }

// contactColumns are a row per contact. A tax identifier is masked as it is in the read; the whole ones are in the export of information
// returns only.
var contactColumns = slices.Concat([]sqlColumn{
	{render.Column{Name: "id", Kind: render.ID}, "c.id"},
	{render.Column{Name: "shortRef", Kind: render.ID}, "c.short_ref"},
	{render.Column{Name: "uniqueRef", Kind: render.ID}, "c.unique_ref"},
	{render.Column{Name: "type", Kind: render.Text}, "c.type"},
	{render.Column{Name: "status", Kind: render.Text}, "c.status"},
	{render.Column{Name: "name", Kind: render.Text}, "c.name"},
	{render.Column{Name: "firstName", Kind: render.Text}, "c.first_name"},
	{render.Column{Name: "email", Kind: render.Text}, "c.email"},
	{render.Column{Name: "phone", Kind: render.Text}, "c.phone"},
}, addressColumns("c.address"), []sqlColumn{
	{render.Column{Name: "companyType", Kind: render.Text}, "c.company_type"},
	{render.Column{Name: "taxIdentifier", Kind: render.ID}, "'***' || c.tax_identifier_last4"},
	{render.Column{Name: "payoutAccountId", Kind: render.ID}, "c.payout_account_id"},
	{render.Column{Name: "payoutAccountCode", Kind: render.ID}, "paying.code"},
	{render.Column{Name: "payoutAccount", Kind: render.Text}, "paying.name"},
	{render.Column{Name: "ownedListings", Kind: render.Integer}, "coalesce(owned.listings, 0)"},
	{render.Column{Name: "createdAt", Kind: render.Instant}, "c.created_at"},
	{render.Column{Name: "updatedAt", Kind: render.Instant}, "c.updated_at"},
})

// contactTables are what the columns take from beside the contacts c.
const contactTables = `
	left join account paying on paying.team_id = c.team_id and paying.id = c.payout_account_id
	left join (
		select m.contact_id, count(*) as listings
		from listing_ownership_member m join listing_ownership_period p on p.team_id = m.team_id and p.id = m.period_id
		where m.team_id = @team and daterange(p.start_at, p.end_at) @> @today_owned::date
		group by m.contact_id) owned on owned.contact_id = c.id`

// contactsCSV is EXP-P03.
func contactsCSV() Declaration[contactSelection] {
	return Declaration[contactSelection]{
		Path: "/contacts/csv", ID: "ContactsCSV", Tag: "Contacts", Summary: "Export owners and vendors as CSV",
		Doc:    "One row per contact. Tax identifiers are masked; ownedListings counts the listings that the contact owns today.",
		Format: CSV, Scopes: []string{"contacts:export"}, Name: "contacts",
		Count: func(ctx context.Context, tx *db.Tx, s *contactSelection) (Size, error) {
			return countRows(ctx, tx, contact.ListQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *contactSelection, out *Sink) error {
			q := contact.ListQuery(tx, &s.Filter)
			q.From += contactTables
			q.Args["today_owned"] = day.Of(tx.Now)
			return rowList{columns: chosen(contactColumns, s.Columns), query: q, sort: string(s.Sort)}.write(ctx, tx, out)
		},
	}
}
