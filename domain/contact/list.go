package contact

import (
	"context"

	"stayledger/domain/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Filter selects contacts: the query parameters of the list and the body of its export alike.
type Filter struct {
	IDs        []string `query:"ids" json:"ids,omitempty" pattern:"^!?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$" doc:"Only these; an id with a leading ! is left out."`
	Type       Type     `query:"type" json:"type,omitempty"`
	Status     Status   `query:"status" json:"status,omitempty"`
	Search     string   `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the name, first name or e-mail address."`
	UniqueRefs []string `query:"uniqueRefs" json:"uniqueRefs,omitempty"`
}

// ListQuery is the list of contacts c that a valid filter selects, in rows of Contact.
func ListQuery(tx *db.Tx, f *Filter) page.Query {
	q := page.Query{
		Columns: columns, From: "contact c", Where: []string{"c.team_id = @team"}, Args: db.Args{"team": tx.Team},
		Sorts: page.Sorts{
			"name": {Expr: "c.name", Text: true}, "email": {Expr: "c.email", Text: true, Nullable: true}, "createdAt": {Expr: "c.created_at"},
		},
		Default: "createdAt", ID: "c.id",
	}
	q.Pick(f.IDs)
	if f.Type != "" {
		q.And("c.type = @type", db.Args{"type": f.Type})
	}
	if f.Status != "" {
		q.And("c.status = @status", db.Args{"status": f.Status})
	}
	if f.Search != "" {
		q.And("(c.name ilike @search or c.first_name ilike @search or c.email ilike @search)", db.Args{"search": page.Like(f.Search)})
	}
	if f.UniqueRefs != nil {
		q.And("c.unique_ref = any(@refs)", db.Args{"refs": f.UniqueRefs})
	}
	return q
}

type listInput struct {
	page.Params
	Sort string `query:"sort" enum:"name,-name,email,-email,createdAt,-createdAt" default:"createdAt"`
	Filter
	operation.Include
}

func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Contact], error) {
	found, err := page.List[Contact](ctx, tx, ListQuery(tx, &in.Filter), in.Params, in.Sort)
	if err != nil || !in.Operations() {
		return found, err
	}
	return found, operation.Embed(ctx, tx, operation.Contact, found.Data, func(c *Contact) (id.ID, **operation.Summary) { return c.ID, &c.Operations })
}
