package contact

import (
	"context"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Filter selects contacts: the query parameters of the list and the body of its export alike.
type Filter struct {
	IDs        page.IDs `query:"ids" json:"ids,omitempty" doc:"Only these; an id with a leading ! is left out."`
	Type       Type     `query:"type" json:"type,omitempty"`
	Status     Status   `query:"status" json:"status,omitempty"`
	Search     string   `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the name, first name or e-mail address."`
	UniqueRefs []string `query:"uniqueRefs" json:"uniqueRefs,omitempty"`

	ConnectionIDs page.Refs `query:"connectionIds" json:"connectionIds,omitempty" doc:"null selects those of no connection."`
}

// listQuery returns the query of contacts c that a valid filter selects, in rows of Contact.
func listQuery(tx *db.Tx, f *Filter) page.Query {
	q := page.Query{
		Columns: columns, From: "contact c", Rows: "contact c", Where: []string{"c.team_id = @team"},
		Args:  db.Args{"team": tx.Team},
		Sorts: sorts, Default: "createdAt", ID: "c.id",
	}
	q.CountedAs("contact")
	q.IDs("c.id = any(?)", f.IDs)
	q.Narrow("c.type = ?", f.Type)
	q.Narrow("c.status = ?", f.Status)
	q.Search(f.Search, "c.name", "c.first_name", "c.email")
	q.Narrow("c.unique_ref = any(?)", f.UniqueRefs)
	q.Refs("c.connection_id", f.ConnectionIDs)

	return q
}

var sorts = page.Sorts{
	{Name: "name", Expr: "c.name", Text: true},
	{Name: "email", Expr: "c.email", Text: true, Nullable: true},
	{Name: "createdAt", Expr: "c.created_at"},
}

// Sort is an order of contacts.
type Sort string

// Enum lists the orders.
func (Sort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort Sort `query:"sort" default:"createdAt"`
	Filter
	operation.Include
}

func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Contact], error) {
	found, err := page.List[Contact](ctx, tx, listQuery(tx, &in.Filter), in.Params, in.Sort)
	if err != nil || !in.Operations() {
		return found, err
	}

	return found, operation.Embed(
		ctx, tx, operation.Contact, found.Data,
		func(c *Contact) (id.ID, **operation.Summary) { return c.ID, &c.Operations },
	)
}
