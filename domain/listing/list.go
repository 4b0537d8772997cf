package listing

import (
	"context"

	"stayledger/domain/operation"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Filter selects listings: the query parameters of the list and the body of its export alike.
type Filter struct {
	IDs             []string `query:"ids" json:"ids,omitempty" pattern:"^!?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$" doc:"Only these; an id with a leading ! is left out."`
	ShortRefs       []string `query:"shortRefs" json:"shortRefs,omitempty"`
	Status          Status   `query:"status" json:"status,omitempty"`
	Search          string   `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the name, reference or short reference."`
	ContactID       *id.ID   `query:"contactId" json:"contactId,omitempty" doc:"Listings that the contact owns, owned or is going to own."`
	ActiveOwnership *bool    `query:"activeOwnership" json:"activeOwnership,omitempty" doc:"Whether an ownership period covers today."`
	Parent          string   `query:"parent" json:"parent,omitempty" pattern:"^(null|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$" doc:"Listings of a group; null for those in none."`
}

// ListQuery is the list of listings l with their groups g that a valid filter selects, in rows of Listing without ownership and fees.
func ListQuery(tx *db.Tx, f *Filter) page.Query {
	q := page.Query{
		Columns: listingColumns, From: listingFrom, Where: []string{"l.team_id = @team"}, Args: db.Args{"team": tx.Team},
		Sorts:   page.Sorts{"name": {Expr: "l.name", Text: true}, "createdAt": {Expr: "l.created_at"}},
		Default: "createdAt", ID: "l.id",
	}
	q.Pick(f.IDs)
	if f.ShortRefs != nil {
		q.And("l.short_ref = any(@refs)", db.Args{"refs": f.ShortRefs})
	}
	if f.Status != "" {
		q.And("l.status = @status", db.Args{"status": f.Status})
	}
	if f.Search != "" {
		q.And("(l.name ilike @search or l.unique_ref ilike @search or l.short_ref ilike @search)", db.Args{"search": page.Like(f.Search)})
	}
	if f.ContactID != nil {
		q.And(ownedBy, db.Args{"contact": *f.ContactID})
	}
	if f.ActiveOwnership != nil {
		q.And(ownedToday+" = @owned", db.Args{"today": day.Of(tx.Now), "owned": *f.ActiveOwnership})
	}
	switch f.Parent {
	case "":
	case "null":
		q.And("l.parent_id is null", nil)
	default:
		q.And("l.parent_id = @parent::uuid", db.Args{"parent": f.Parent})
	}
	return q
}

type listInput struct {
	page.Params
	Sort string `query:"sort" enum:"name,-name,createdAt,-createdAt" default:"createdAt"`
	Filter
	operation.Include
}

func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Listing], error) {
	found, err := page.List[Listing](ctx, tx, ListQuery(tx, &in.Filter), in.Params, in.Sort)
	if err != nil {
		return nil, err
	}
	if err := complete(ctx, tx, found.Data); err != nil || !in.Operations() {
		return found, err
	}
	return found, operation.Embed(ctx, tx, operation.Listing, found.Data, func(l *Listing) (id.ID, **operation.Summary) { return l.ID, &l.Operations })
}
