package linemapping

import (
	"context"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// endpoints returns the routes of line mappings.
func endpoints() []api.Endpoint {
	const tag = "Transaction line mappings"

	read, write := []string{"line-mappings:read"}, []string{"line-mappings:write"}

	const (
		path    = "/transactions/line-mappings"
		follows = " Imported lines that waited for it are posted afterwards. What is posted already stays."
	)

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    path,
			ID:      "listTransactionLineMappings",
			Tag:     tag,
			Summary: "List line mappings of imported money",
			Scopes:  read,
			Doc:     "Line types that arrived without a mapping are listed with the status unmapped.",
		}, listMappings),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    path + "/{id}",
			ID:      "getTransactionLineMapping",
			Tag:     tag,
			Summary: "Read a line mapping of imported money",
			Scopes:  read,
			OneTrip: true,
		}, getMapping),
		api.Write(api.Endpoint{
			Method:    "POST",
			Path:      path,
			ID:        "createTransactionLineMapping",
			Tag:       tag,
			Summary:   "Map a line type of imported money",
			Errors:    apierr.List{errDuplicate},
			Scopes:    write,
			Status:    201,
			Exclusive: true,
			Doc: "The mapping of a line's app counts, else that of its type for every app. Fails with 400 for an " +
				"unknown account, for a mapped type without an account or assignment and for one with both, with 409 " +
				"when the type is mapped for the app already (reason duplicateName)." + follows,
		}, create),
		api.Write(api.Endpoint{
			Method:    "PUT",
			Path:      path + "/{id}",
			ID:        "updateTransactionLineMapping",
			Tag:       tag,
			Summary:   "Change a line mapping of imported money",
			Errors:    apierr.List{errDuplicate},
			Scopes:    write,
			Exclusive: true,
			Doc: "Fields that are absent stay, save that an account takes the place of an assignment and the other " +
				"way round. Fails as creating does, and with 404." + follows,
		}, update),
		api.Write(api.Endpoint{
			Method:    "DELETE",
			Path:      path + "/{id}",
			ID:        "deleteTransactionLineMapping",
			Tag:       tag,
			Summary:   "Delete a line mapping of imported money",
			Scopes:    write,
			Exclusive: true,
			Doc: "The mapping for every app counts from now on; without one, lines that are imported later wait. " +
				"Fails with 404." + follows,
		}, remove),
	}
}

// Filter selects line mappings.
type Filter struct {
	AppID      []string  `query:"appId" doc:"null selects the mappings for every app."`
	LineType   []string  `query:"lineType" doc:"Case aside."`
	Status     Status    `query:"status"`
	AccountIDs page.Refs `query:"accountIds"`
	Search     string    `query:"search" maxLength:"200" doc:"Part of the line type, the app, the description or the account's name."`
}

// listQuery returns the list of mappings m with their accounts a that a valid filter selects, in rows of Mapping.
func listQuery(tx *db.Tx, f *Filter) page.Query {
	q := page.Query{Columns: columns, From: tables, Default: "lineType", ID: "m.id", Sorts: sorts}

	q.And("m.team_id = @team", db.Args{"team": tx.Team})
	q.Texts("m.app_id", f.AppID)
	q.Narrow("m.line_key = any(?)", lineKeys(f.LineType))
	q.Narrow("m.status = ?", f.Status)
	q.Refs("m.account_id", f.AccountIDs)
	q.Search(f.Search, "m.line_type", "m.app_id", "m.description", "a.name")

	return q
}

var sorts = page.Sorts{
	{Name: "lineType", Expr: "m.line_type", Text: true},
	{Name: "status", Expr: "m.status"},
	{Name: "createdAt", Expr: "m.created_at"},
}

// Sort is an order of line mappings.
type Sort string

// Enum lists the orders.
func (Sort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort Sort `query:"sort" default:"lineType"`
	Filter
}

// listMappings returns a page of line mappings.
func listMappings(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Mapping], error) {
	return page.List[Mapping](ctx, tx, listQuery(tx, &in.Filter), in.Params, in.Sort)
}

type oneInput struct {
	ID id.ID `path:"id"`
}

// getMapping answers with a line mapping.
func getMapping(ctx context.Context, tx *db.Tx, in *oneInput) (*Mapping, error) {
	return loadMapping(ctx, tx, in.ID, "")
}

// Terms are the fields of a mapping except its line type.
type Terms struct {
	AppID       api.Opt[string]             `json:"appId,omitzero" minLength:"1" maxLength:"100"`
	Status      *Status                     `json:"status,omitempty" doc:"Absent: mapped when there is an account or assignment, else unmapped."`
	AccountID   api.Opt[id.ID]              `json:"accountId,omitzero"`
	Assignment  api.Opt[account.Assignment] `json:"assignment,omitzero" doc:"Names the account by its assignment; instead of accountId."`
	Party       api.Opt[ledger.Party]       `json:"party,omitzero"`
	Description api.Opt[string]             `json:"description,omitzero" maxLength:"1000"`
}

// Create is the body of a new mapping.
type Create struct {
	LineType string `json:"lineType" minLength:"1" maxLength:"100" doc:"Type of the imported lines, case aside."`
	Terms
}

// Update is the body of a changed mapping; absent fields stay as they are.
type Update struct {
	LineType *string `json:"lineType,omitempty" minLength:"1" maxLength:"100" doc:"Type of the imported lines, case aside."`
	Terms
}

type createInput struct{ Body Create }

// create maps a line type.
func create(ctx context.Context, tx *db.Tx, in *createInput) (*Mapping, error) {
	m := &Mapping{ID: tx.NewID(), LineType: in.Body.LineType, CreatedAt: day.At(tx.Now)}

	return saveMapping(ctx, tx, nil, m, &in.Body.Terms)
}

type updateInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// update changes a line mapping.
func update(ctx context.Context, tx *db.Tx, in *updateInput) (*Mapping, error) {
	m, err := loadMapping(ctx, tx, in.ID, " for update of m")
	if err != nil {
		return nil, err
	}

	old := *m
	if in.Body.LineType != nil {
		m.LineType = *in.Body.LineType
	}

	return saveMapping(ctx, tx, &old, m, &in.Body.Terms)
}

// saveMapping checks and saves a mapping, and has lines posted that waited for it. A nil old means a new one. It fails
// unless the transaction has its team to itself: an import that found the type unmapped must be over, so that the job
// sees what it left waiting.
func saveMapping(ctx context.Context, tx *db.Tx, old, m *Mapping, t *Terms) (*Mapping, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	m.apply(t)

	if err := m.check(ctx, tx); err != nil {
		return nil, err
	}

	// An unmapped row of the same lines would be a duplicate.
	if err := deleteUnmapped(ctx, tx, m); err != nil {
		return nil, err
	}

	if err := upsertMapping(ctx, tx, m); err != nil {
		return nil, err
	}

	note(tx, old, m)

	// Lines of an unmapped type go on waiting.
	if m.Status != StatusUnmapped {
		if err := insertJobs(ctx, tx, m); err != nil {
			return nil, err
		}
	}

	return loadMapping(ctx, tx, m.ID, "")
}

// apply sets the fields that are present, and derives the status if the caller does not set it.
func (m *Mapping) apply(t *Terms) {
	m.AppID, m.Party = t.AppID.Or(m.AppID), t.Party.Or(m.Party)
	m.Description = t.Description.Or(m.Description)

	// An account takes the place of an assignment, and the other way round. A caller who names both is refused.
	isNamed := t.AccountID.Value != nil || t.Assignment.Value != nil
	if isNamed {
		m.AccountID, m.Assignment = t.AccountID.Value, t.Assignment.Value
	} else {
		m.AccountID, m.Assignment = t.AccountID.Or(m.AccountID), t.Assignment.Or(m.Assignment)
	}

	// Without a status an account or assignment means mapped; without one the type waits, unless it was excluded.
	switch {
	case t.Status != nil:
		m.Status = *t.Status
	case m.isNamed():
		m.Status = StatusMapped
	case m.Status != StatusExcluded:
		m.Status = StatusUnmapped
	}

	// A mapping that is no longer mapped loses its account, unless the caller names one, which check refuses.
	if m.Status != StatusMapped && !isNamed {
		m.AccountID, m.Assignment = nil, nil
	}
}

// check refuses an account or assignment that is missing or not wanted, and an unknown account. An assignment that no
// account has yet is fine: it is looked up when a line is posted.
func (m *Mapping) check(ctx context.Context, tx *db.Tx) error {
	field := "accountId"
	if m.AccountID == nil && m.Assignment != nil {
		field = "assignment"
	}

	switch {
	case m.Status == StatusMapped && !m.isNamed():
		return apierr.BadRequest.At(apierr.IssueRequired.InBody(field))
	case m.Status != StatusMapped && m.isNamed():
		return apierr.BadRequest.At(apierr.IssueContradiction.InBody(field))
	case m.AccountID != nil && m.Assignment != nil:
		return apierr.BadRequest.At(apierr.IssueContradiction.InBody("assignment"))
	case m.AccountID == nil:
		return nil
	}

	return account.CheckExists(ctx, tx, *m.AccountID)
}

// remove deletes a line mapping. The mapping for every app applies from then on.
func remove(ctx context.Context, tx *db.Tx, in *oneInput) (*api.None, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	m, err := loadMapping(ctx, tx, in.ID, " for update of m")
	if err != nil {
		return nil, err
	}

	// The row was locked when it was read, so it is still the same.
	if err := deleteMapping(ctx, tx, m.ID); err != nil {
		return nil, err
	}

	note(tx, m, nil)

	return &api.None{}, insertJobs(ctx, tx, m)
}
