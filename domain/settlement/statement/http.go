package statement

import (
	"context"
	"strings"

	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
	"stayledger/platform/ptr"
)

// endpoints returns the reads and the changes of owner statements. With a linker, attachments come with signed
// links, which owners need.
func endpoints(linkers ...Linker) []api.Endpoint {
	var shown detailed
	if len(linkers) > 0 {
		shown.link = linkers[0]
	}

	readers := []api.Credential{api.TeamKey, api.PartnerKey, api.User, api.Owner}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/statements",
			ID:      "listStatements",
			Tag:     "Statements",
			Summary: "List owner statements, drafts included",
			Doc: "One statement per ownership period, month and currency, from the team's first statement month to " +
				"the current one. Owners see the published statements of their ownership periods, and drafts when " +
				"the team shows them. Embedded sessions see published statements, in the owner's view.",
			Scopes: []string{"statements:read"},
			Open:   readers,
			Embed:  true,
		}, listStatements),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/statements/{id}",
			ID:      "getStatement",
			Tag:     "Statements",
			Summary: "Read an owner statement with its lines",
			Doc: "Takes the id of a saved statement or of a draft. Owners always get the owner's view, which " +
				"leaves out the drill-downs.",
			Scopes: []string{"statements:read"},
			Open:   readers,
			Embed:  true,
		}, shown.get),
		api.Read(api.Endpoint{
			Method:     "GET",
			Path:       "/statements/{id}/difference",
			ID:         "getStatementDifference",
			NeedsBooks: true,
			Tag:        "Statements",
			Summary:    "Compare an owner statement with what was published",
			Doc: "What has changed since the owners last saw the statement: figures and lines, against the last " +
				"published version that was reopened. 404 for one that was never published.",
			Scopes: []string{"statements:read"},
		}, readDifference),
		api.Write(api.Endpoint{
			Method:     "POST",
			Path:       "/statements",
			ID:         "createStatements",
			NeedsBooks: true,
			Tag:        "Statements",
			Summary:    "Save the owner statements of a month",
			Errors: apierr.List{
				errBefore, ErrExists, ErrFuture, team.ErrNotDerived, errOpen, ErrImporting, errIssues, ErrRef,
			},
			Doc: "Saves the drafts of the selected ownership periods, all of the month when none is selected, and " +
				"attaches their journal entries. Status published needs statements:publish as well. 400 for an " +
				"unknown ownership period, or one that does not have the month; without a selection, " +
				"statementExists only when all are saved. JOURNAL_RECALCULATION_PENDING names operations to wait " +
				"for (context.operationIds), statementHasBlockingIssues the issues (context.issues). Nothing is " +
				"saved when it fails.",
			Scopes: []string{"statements:write"},
			DryRun: true,
			Status: 201,
		}, createStatements),
		api.Write(api.Endpoint{
			Method:     "PUT",
			Path:       "/statements/{id}",
			ID:         "updateStatement",
			NeedsBooks: true,
			Tag:        "Statements",
			Summary:    "Change the status or the reference of an owner statement",
			Errors:     apierr.List{ErrFuture, team.ErrNotDerived, errOpen, ErrPaid, ErrImporting, errIssues, ErrRef},
			Doc: "draft returns a saved statement to draft and sets its journal entries free; inReview and published " +
				"save a draft. Status published needs statements:publish as well. 400 for an imported statement that " +
				"would become a draft. The status that it has already changes nothing. Reopening keeps what was " +
				"published: see getStatementDifference.",
			Scopes: []string{"statements:write"},
			DryRun: true,
		}, updateStatement),
		api.Write(api.Endpoint{
			Method:     "DELETE",
			Path:       "/statements/{id}",
			ID:         "deleteStatement",
			NeedsBooks: true,
			Tag:        "Statements",
			Summary:    "Return an owner statement to draft",
			Errors:     apierr.List{errLocked, ErrFuture, ErrPaid},
			Doc: "Drafts have no row and are not found. An imported statement is gone with its entries. Fails with " +
				"403 statementPublished for a published statement without onLocked=unlockAndDelete, then as " +
				"returning it to draft does.",
			Scopes: []string{"statements:delete"},
			DryRun: true,
		}, deleteStatement),
		shown.previewEndpoint(),
	}
}

type listInput struct {
	Filter
	page.Params
	operation.Include
	ViewAs string `query:"viewAs" enum:"manager,owner" default:"manager" doc:"The view of the manager or of an owner; owners always get their own."`
}

// listStatements returns a page of statements, with the last operation of each if the caller includes operations.
func listStatements(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Statement], error) {
	found, err := list(ctx, tx, &in.Filter, in.Params, in.ViewAs == "owner")
	if err != nil || !in.Operations() {
		return found, err
	}

	return found, operation.Embed(ctx, tx,
		operation.Statement,
		found.Data,
		func(s *Statement) (id.ID, **operation.Summary) {
			return s.ID, &s.Operations
		},
	)
}

type idInput struct {
	ID id.ID `path:"id"`
}

type detailed struct{ link Linker }

type getInput struct {
	ID     id.ID  `path:"id"`
	ViewAs string `query:"viewAs" enum:"manager,owner" default:"manager" doc:"The view of the manager or of an owner; owners always get their own."`
	// Include is what is shown besides.
	Include []string `query:"include" enum:"provenance" doc:"provenance adds where a statement that a migration imported comes from. Not for owners."`
}

// get returns a statement with its lines. Links to files are signed for the reader.
func (s detailed) get(ctx context.Context, tx *db.Tx, in *getInput) (*Detail, error) {
	d, err := read(ctx, tx, in.ID, in.ViewAs == "owner" || tx.Actor.SeesAsOwner())
	if err != nil {
		return nil, err
	}

	s.link.sign(tx, d.Attachments)

	if len(in.Include) > 0 && !tx.Actor.SeesAsOwner() {
		d.Provenance, err = loadOrigin(ctx, tx, in.ID)
	}

	return d, err
}

// Create is the month to save.
type Create struct {
	Month            day.Month `json:"month" doc:"YYYY-MM."`
	Currency         *string   `json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Only statements of this currency."`
	Status           *Status   `json:"status,omitempty" enum:"draft,inReview,published" doc:"inReview when absent; draft is refused, since it is not stored."`
	ListingPeriodIDs []id.ID   `json:"listingPeriodIds,omitempty" maxItems:"5000" doc:"Ownership periods; all of the team's when absent or empty."`
	UniqueRef        *string   `json:"uniqueRef,omitempty" nullable:"true" minLength:"1" maxLength:"180" doc:"Only where one statement is saved."`
	EmailDelivery    bool      `json:"emailDelivery,omitempty" doc:"Informs the owners by e-mail when the statements are published."`
}

// Resolve reports an issue if the status is draft, because drafts are not stored.
func (c *Create) Resolve() []apierr.Issue {
	if c.status() == Draft {
		return []apierr.Issue{apierr.IssueNotStorable.InBody("status")}
	}

	return nil
}

// status returns the requested status, inReview when none is given.
func (c *Create) status() Status {
	if c.Status == nil {
		return InReview
	}

	return *c.Status
}

type createInput struct{ Body Create }

// List is a list of statements.
type List struct {
	Data []Statement `json:"data"`
}

func createStatements(ctx context.Context, tx *db.Tx, in *createInput) (*List, error) {
	return Save(ctx, tx, &in.Body)
}

// Save saves the owner statements of a month and returns them. It fails as createStatements does.
func Save(ctx context.Context, tx *db.Tx, c *Create) (*List, error) {
	// First the checks that need no lock.
	if err := checkPublishScope(tx, c.status()); err != nil {
		return nil, err
	}

	if err := checkMonth(ctx, tx, c.Month); err != nil {
		return nil, err
	}

	// Then lock the ownership periods, so that drafts do not change between the checks and the writes.
	drafts, err := lockDrafts(ctx, tx, c)
	if err != nil {
		return nil, err
	}

	// All or none: one refused draft refuses the request.
	if c.UniqueRef != nil && len(drafts) > 1 {
		return nil, apierr.BadRequest.At(apierr.IssueContradiction.InBody("uniqueRef"))
	}

	in := intent{to: c.status(), email: c.EmailDelivery, ref: c.UniqueRef}
	if err := refuse(ctx, tx, drafts, in); err != nil {
		return nil, err
	}

	if err := apply(ctx, tx, drafts, in); err != nil {
		return nil, err
	}

	// Read them again: the answer shows the stored figures.
	rows, err := loadRows(ctx, tx, rowKeys(drafts))
	if err != nil {
		return nil, err
	}

	statements, err := render(ctx, tx, rows, false)
	if err != nil {
		return nil, err
	}

	return &List{Data: statements}, nil
}

// checkMonth refuses months that have no statements: those before the team's first (errBefore) and those to come.
func checkMonth(ctx context.Context, tx *db.Tx, month day.Month) error {
	terms, err := loadTerms(ctx, tx)
	if err != nil {
		return err
	}

	if start := terms.StatementStartAt; start != nil && month.Compare(start.Month()) < 0 {
		return errBefore.With(map[string]any{"statementStartAt": *start})
	}

	if month.Compare(tx.Today().Month()) > 0 {
		return apierr.BadRequest.At(apierr.IssueDateInFuture.InBody("month"))
	}

	return nil
}

// lockDrafts locks the ownership periods of a request and returns the drafts to save. If periods are selected, each
// must exist and have a draft of the month. Otherwise statements that are saved already are passed over, and it
// fails with ErrExists if nothing else is left.
func lockDrafts(ctx context.Context, tx *db.Tx, c *Create) ([]row, error) {
	locked, err := lockPeriods(ctx, tx, c.ListingPeriodIDs)
	if err != nil {
		return nil, err
	}

	// Select after the lock was taken.
	f := Filter{Month: &c.Month, PeriodIDs: page.Only(c.ListingPeriodIDs...), Sort: "listing"}
	if c.Currency != nil {
		f.Currency = strings.ToLower(*c.Currency)
	}

	rows, err := selectRows(ctx, tx, &f)
	if err != nil {
		return nil, err
	}

	if issues := c.checkPeriods(locked, rows); len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	// Split the statements of the month into drafts and saved ones.
	var (
		drafts []row
		saved  []id.ID
	)

	for i := range rows {
		if rows[i].Status == Draft {
			drafts = append(drafts, rows[i])
		} else {
			saved = append(saved, rows[i].ID)
		}
	}

	// A caller who names periods expects to save them all; without names, one new draft is enough.
	if len(saved) > 0 && (len(c.ListingPeriodIDs) > 0 || len(drafts) == 0) {
		return nil, ErrExists.With(map[string]any{"statementIds": saved})
	}

	return drafts, nil
}

// checkPeriods returns an issue for each selected period that does not exist or has no statement of the month.
func (c *Create) checkPeriods(locked []id.ID, rows []row) []apierr.Issue {
	exists, has := map[id.ID]bool{}, map[id.ID]bool{}
	for _, period := range locked {
		exists[period] = true
	}

	for i := range rows {
		has[rows[i].OwnershipPeriodID] = true
	}

	// Report each period at its place in the request.
	var issues []apierr.Issue

	for i, period := range c.ListingPeriodIDs {
		switch {
		case !exists[period]:
			issues = append(issues, apierr.IssueNotFound.InBody("listingPeriodIds", i))
		case !has[period]:
			issues = append(issues, apierr.IssueOutsidePeriod.InBody("listingPeriodIds", i))
		}
	}

	return issues
}

// checkPublishScope checks the scope that publishing needs in addition to that of the route.
func checkPublishScope(tx *db.Tx, status Status) error {
	if status == Published && !tx.Actor.Has("statements:publish") {
		return apierr.MissingScope.With(map[string]any{"requiredScopes": []string{"statements:publish"}})
	}

	return nil
}

// Update asks for the status of a statement, or its reference.
type Update struct {
	Status        *Status         `json:"status,omitempty"`
	UniqueRef     api.Opt[string] `json:"uniqueRef,omitzero" minLength:"1" maxLength:"180" doc:"Of a saved statement that was not imported."`
	EmailDelivery bool            `json:"emailDelivery,omitempty" doc:"Informs the owners by e-mail when this publishes the statement."`
}

// status returns the requested status, or that which the statement has.
func (u *Update) status(r *row) Status {
	if u.Status == nil {
		return r.Status
	}

	return *u.Status
}

// checkRef returns an error if the statement cannot have the requested reference: a draft is not stored, and imports
// find their statements by it.
func (u *Update) checkRef(r *row) error {
	ref := u.UniqueRef.Or(r.UniqueRef)

	switch {
	case !u.UniqueRef.Present:
		return nil
	case r.Imported && !ptr.Equal(ref, r.UniqueRef):
		return apierr.BadRequest.At(apierr.IssueContradiction.InBody("uniqueRef"))
	case ref != nil && u.status(r) == Draft:
		return apierr.BadRequest.At(apierr.IssueNotStorable.InBody("uniqueRef"))
	}

	return nil
}

type updateInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// updateStatement moves a statement to another status, changes its reference, and returns it.
func updateStatement(ctx context.Context, tx *db.Tx, in *updateInput) (*Statement, error) {
	if in.Body.Status != nil {
		if err := checkPublishScope(tx, *in.Body.Status); err != nil {
			return nil, err
		}
	}

	// The row is locked by its ownership period until the end of the transaction.
	r, err := lockOne(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := in.Body.checkRef(r); err != nil {
		return nil, err
	}

	// A draft gets the reference with its row.
	ref := in.Body.UniqueRef.Or(r.UniqueRef)

	to := in.Body.status(r)
	if err := change(ctx, tx, r, intent{to: to, email: in.Body.EmailDelivery, ref: ref}); err != nil {
		return nil, err
	}

	if r.Status != Draft && to != Draft {
		if err := updateRef(ctx, tx, r, ref); err != nil {
			return nil, err
		}
	}

	// Show the result as a new read would.
	rows, err := loadRows(ctx, tx, []key{r.key()})
	if err != nil {
		return nil, err
	}

	if len(rows) == 0 { // returned to draft in a month that the team's statements do not reach any more
		r.ID, r.ShortRef, r.UniqueRef, r.Status, r.PublishedAt = id.Zero, nil, nil, Draft, nil
		rows = []row{*r}
	}

	statements, err := render(ctx, tx, rows, false)
	if err != nil {
		return nil, err
	}

	return &statements[0], nil
}

type deleteInput struct {
	ID       id.ID  `path:"id"`
	OnLocked string `query:"onLocked" enum:"unlockAndDelete" doc:"Needed for a published and for an imported statement."`
}

// deleteStatement returns a saved statement to draft; an imported one is removed with its entries. Drafts are not
// found. A published or imported statement needs onLocked=unlockAndDelete.
func deleteStatement(ctx context.Context, tx *db.Tx, in *deleteInput) (*api.None, error) {
	r, err := lockOne(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if r.Status == Draft {
		return nil, apierr.NotFound
	}

	// Deleting a published or imported statement loses something that owners may have seen, so the caller must
	// confirm it.
	if (r.Status == Published || r.Imported) && in.OnLocked == "" {
		return nil, errLocked.With(map[string]any{"lockReason": "statement", "statementIds": []id.ID{r.ID}})
	}

	if err := change(ctx, tx, r, intent{to: Draft, discard: true}); err != nil {
		return nil, err
	}

	return &api.None{}, nil
}
