package layout

import (
	"context"

	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// endpoints returns the routes of statement layouts.
func endpoints() []api.Endpoint {
	const tag = "Statement layouts"

	reads, writes, deletes := []string{"layouts:read"}, []string{"layouts:write"}, []string{"layouts:delete"}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/statement-layouts",
			ID:      "listStatementLayouts",
			Tag:     tag,
			Summary: "List statement layouts",
			Scopes:  reads,
		}, list),
		api.Write(api.Endpoint{
			Method:  "POST",
			Path:    "/statement-layouts",
			ID:      "createStatementLayout",
			Tag:     tag,
			Summary: "Create a statement layout",
			Errors:  apierr.List{errDuplicateName},
			Scopes:  writes,
			Status:  201,
			Doc: "Sections that are absent are those of the standard layout, with their locks; the team's first " +
				"layout is its default unless isDefault says otherwise. Fails with 400 for an unknown account, " +
				"column or listing (notFound), an id or name that is there twice (duplicate), an account that two " +
				"columns of a kind of sections show to the same viewer (accountTwice), columns that build on each " +
				"other in a ring (ring) and values of another type of column (contradiction), each with its path; " +
				"for a formula that cannot be read (formulaInvalid, context.position counts characters from 1).",
		}, create),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/statement-layouts/{id}",
			ID:      "getStatementLayout",
			Tag:     tag,
			Summary: "Read a statement layout",
			Scopes:  reads,
		}, get),
		api.Write(api.Endpoint{
			Method:  "PUT",
			Path:    "/statement-layouts/{id}",
			ID:      "updateStatementLayout",
			Tag:     tag,
			Summary: "Change a statement layout",
			Errors:  apierr.List{errInUse, errDuplicateName},
			Scopes:  writes,
			Doc: "Fields that are absent stay; sections and listingIds, when given, replace all. Sections and " +
				"columns keep what refers to them by their id. Saved statements keep the layout that they were " +
				"saved with. Fails with 404 for an unknown layout, as creating does, with 400 for what the standard " +
				"layout has locked (locked), and with 400 for a default that gives its place up to none while " +
				"listings without a layout of their own rely on it (reason inUse).",
		}, update),
		api.Write(api.Endpoint{
			Method:  "DELETE",
			Path:    "/statement-layouts/{id}",
			ID:      "deleteStatementLayout",
			Tag:     tag,
			Summary: "Delete a statement layout",
			Errors:  apierr.List{errInUse},
			Scopes:  deletes,
			Doc: "Saved statements keep it. Fails with 400 while listings rely on it: those that have it as their " +
				"own and, when it is the default, those without a layout of their own (reason inUse, " +
				"context.listingIds has at most 100).",
		}, remove),
	}
}

// listSort is an order of layouts.
type listSort string

// Enum lists the orders.
func (listSort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort       listSort `query:"sort" default:"name"`
	IDs        page.IDs `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	ListingIDs page.IDs `query:"listingIds" doc:"Layouts that one of the listings has as its own."`
	AccountIDs page.IDs `query:"accountIds" doc:"Layouts that name one of the accounts in a column."`
	IsDefault  *bool    `query:"isDefault"`
	Search     string   `query:"search" maxLength:"200" doc:"Part of the name."`
}

// list returns a page of layouts.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Layout], error) {
	q := layoutQuery(tx)
	q.IDs("y.id = any(?)", in.IDs)
	q.IDs("exists (select from layout_listing u "+
		"where u.team_id = y.team_id and u.layout_id = y.id and u.listing_id = any(?))", in.ListingIDs)

	// Accounts are in the columns' values and in the references of formulas.
	q.IDs(`exists (select from jsonb_array_elements_text(
			jsonb_path_query_array(y.net_revenue_sections || y.other_sections, '$[*].columns[*].value.accountIds[*]') ||
			jsonb_path_query_array(y.net_revenue_sections || y.other_sections, '$[*].columns[*].value.references[*].id')) named
		where named = any(?::uuid[]::text[]))`, in.AccountIDs)
	q.Whether("y.is_default", in.IsDefault)
	q.Search(in.Search, "y.name")

	// Names in formulas are those of now, so the layouts are completed after reading.
	found, err := page.List[Layout](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	return found, setCurrentNames(ctx, tx, tx.Team, found.Data)
}

type byID struct {
	ID id.ID `path:"id"`
}

// get returns a layout.
func get(ctx context.Context, tx *db.Tx, in *byID) (*Layout, error) { return loadOne(ctx, tx, in.ID) }

// remove deletes a layout. It fails with errInUse while listings rely on it.
func remove(ctx context.Context, tx *db.Tx, in *byID) (*api.None, error) {
	if err := lockTeam(ctx, tx); err != nil {
		return nil, err
	}

	l, err := loadOne(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// Under the lock no listing can choose it in between.
	listings, err := loadRelying(ctx, tx, l, true)
	if err != nil {
		return nil, err
	}

	if len(listings) > 0 {
		return nil, errInUse.With(inUse{apierr.InUse{LockReasons: []string{"listings"}}, listings})
	}

	audit.Note(tx, audit.Deleted, audit.StatementLayout, l.ID, l.design(), nil)
	_, err = tx.Exec(ctx, `delete from layout where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": l.ID})

	return &api.None{}, err
}
