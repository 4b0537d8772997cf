package recurring

import (
	"context"
	"fmt"
	"net/http"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

const tag = "Recurring transactions"

// endpoints returns the routes of recurring templates.
func endpoints() []api.Endpoint {
	read, write := []string{"transactions:read"}, []string{"transactions:write"}
	deleting := []string{"transactions:delete"}

	const path = "/transactions/recurring-templates"

	// Runs are started by POST and by PUT alike.
	run := func(method, operationID string) api.Endpoint {
		return api.Queue(api.Endpoint{
			Method:  method,
			Path:    path + "/{id}/run",
			ID:      operationID,
			Tag:     tag,
			Summary: "Make instances of a recurring template",
			Errors:  apierr.List{errArchived, transaction.Refusals()},
			Scopes:  write,
			DryRun:  true,
			Also:    operation.Answers[RunPreview](),
			Doc: "Starts an operation of type recurring-transaction-run that makes a transaction for each of the " +
				"`dates`, or for every due date and those held back when `dates` is null. A date that has one is " +
				"passed over. A date that a lock refuses goes to `heldBack` of the template; any other refusal of " +
				"`dates` that are named refuses the request. Each task makes at most 1000 instances with at most " +
				"20000 lines together; `dates` with more are refused with `tooManyLines`. A dry run answers 200 with " +
				"those of the first task. Failures in order: 404; `tooManyLines`; `transactionInactive` for an " +
				"archived template; of named dates those of createTransaction save the locks.",
		}, startRun, runNow)
	}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    path,
			ID:      "listRecurringTemplates",
			Tag:     tag,
			Summary: "List recurring templates",
			Scopes:  read,
			Doc: "With their lines: a page of more than 20000 is refused with `tooManyLines` at limit and " +
				"`context.suggestedLimit`.",
		}, list),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    path,
			ID:      "createRecurringTemplate",
			Tag:     tag,
			Summary: "Create a recurring template",
			Errors:  apierr.List{transaction.DraftRefusals, errDuplicateRef},
			Scopes:  write,
			DryRun:  true,
			Status:  http.StatusCreated,
			Doc: "The first instance must be one that could be made now, locks aside. Failures in order: malformed " +
				"input; a pattern that contradicts itself; those of createTransaction save the locks; " +
				"`duplicateUniqueRef`.",
		}, create),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    path + "/{id}",
			ID:      "getRecurringTemplate",
			Tag:     tag,
			Summary: "Read a recurring template",
			Scopes:  read,
			OneTrip: true,
		}, get),
		api.Write(api.Endpoint{
			Method:  http.MethodPut,
			Path:    path + "/{id}",
			ID:      "updateRecurringTemplate",
			Tag:     tag,
			Summary: "Change a recurring template",
			Errors:  apierr.List{transaction.DraftRefusals, errDuplicateRef},
			Scopes:  write,
			DryRun:  true,
			Doc: "Fields that are present change, null clears. Instances that were made stay as they are. Fails with " +
				"404, and as creating does.",
		}, update),
		api.Write(api.Endpoint{
			Method:  http.MethodDelete,
			Path:    path + "/{id}",
			ID:      "deleteRecurringTemplate",
			Tag:     tag,
			Summary: "Delete or archive a recurring template",
			Errors:  apierr.List{errInUse},
			Scopes:  deleting,
			DryRun:  true,
			Doc:     "One that has made transactions is refused with `inUse`; `onLocked=archive` keeps it as inactive.",
		}, deleteOrArchive),
		run(http.MethodPost, "runRecurringTemplate"), run(http.MethodPut, "putRecurringTemplateRun"),
	}
}

var (
	errDuplicateRef = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "A recurring template with this reference already exists",
	)
	errArchived = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonTransactionInactive, "The recurring template is archived",
	)
	errInUse = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonInUse, "The recurring template has made transactions",
	)
)

type listInput struct {
	page.Params
	Sort   transaction.Sort   `query:"sort" doc:"Default -createdAt."`
	IDs    page.IDs           `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	Status transaction.Status `query:"status" enum:"active,inactive"`
	Type   []transaction.Type `query:"type"`
	Search string             `query:"search" maxLength:"200" doc:"Part of the description, the reference or the contact's name."`
}

// list returns a page of recurring templates with their lines.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Template], error) {
	q := page.Query{
		Columns: columns(),
		From:    from,
		Rows:    "transaction_template t",
		Joined:  "a c",
		Lines:   "jsonb_array_length(t.lines)",
		Sorts:   transaction.Sorts,
		Default: "-createdAt",
		ID:      "t.id",
		Where:   []string{"t.team_id = @team"},
		Args:    db.Args{"team": tx.Team},
	}
	q.IDs("t.id = any(?)", in.IDs)
	q.Narrow("t.status = ?", in.Status)
	q.Narrow("t.type = any(?)", in.Type)
	q.Search(in.Search, "t.description", "t.unique_ref", "c.name")

	found, err := page.List[Template](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	for i := range found.Data {
		found.Data[i].describe()
	}

	return found, nil
}

// get answers with a recurring template.
func get(ctx context.Context, tx *db.Tx, in *oneInput) (*Template, error) {
	return loadShown(ctx, tx, in.ID)
}

// loadShown loads a recurring template with the fields that follow from its pattern, or fails with apierr.NotFound.
func loadShown(ctx context.Context, tx *db.Tx, one id.ID) (*Template, error) {
	t, err := loadTemplate(ctx, tx, one, false)
	if err == nil {
		t.describe()
	}

	return t, err
}

type oneInput struct {
	ID id.ID `path:"id"`
}

type createInput struct{ Body Put }

// create makes a recurring template.
func create(ctx context.Context, tx *db.Tx, in *createInput) (*Template, error) {
	return Add(ctx, tx, &in.Body)
}

// Add stores a new recurring template. It fails as the transactions that it will make would.
func Add(ctx context.Context, tx *db.Tx, b *Put) (*Template, error) {
	if b.Type == "" {
		b.Type = transaction.Expense
	}

	t := Template{
		ID:            tx.NewID(),
		UniqueRef:     b.UniqueRef.Value,
		Status:        transaction.Active,
		Type:          b.Type,
		Date:          b.Date,
		PaymentStatus: b.PaymentStatus,
		Pattern:       b.Pattern.pattern(),
		HeldBack:      []HeldBack{},
	}
	t.skip(b.SkippedDates)

	// The first instance is checked like a transaction of the first date.
	d, err := checkTemplate(ctx, tx, &t, &transaction.Create{
		Type:        b.Type,
		Date:        b.Date,
		Description: b.Description,
		Currency:    b.Currency,
		AccountID:   b.AccountID,
		ContactID:   b.ContactID,
		Lines:       b.Lines,
	})
	if err != nil {
		return nil, err
	}

	if err := d.save(ctx, tx, true); err != nil {
		return nil, err
	}

	made, err := loadShown(ctx, tx, t.ID)
	if err != nil {
		return nil, err
	}

	note(tx, audit.Created, nil, made)

	return made, nil
}

type updateInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// update changes a recurring template. Instances that were made stay as they are.
func update(ctx context.Context, tx *db.Tx, in *updateInput) (*Template, error) {
	t, err := loadTemplate(ctx, tx, in.ID, true)
	if err != nil {
		return nil, err
	}

	before := *t
	before.describe()

	u := &in.Body
	if u.Date != nil {
		t.Date = *u.Date
	}

	// The change is applied to the first instance, which is then checked like a new transaction. It must not count
	// as an instance itself.
	c := t.instance(t.Date)
	c.RecurringTemplateID = api.Opt[id.ID]{}

	t.UniqueRef = u.UniqueRef.Or(t.UniqueRef)
	if u.Status != "" {
		t.Status = u.Status
	}

	if u.Description.Present {
		c.Description = u.Description
	}

	if u.Currency.Present {
		c.Currency = u.Currency
	}

	// Whether bills are paid at once follows from the account, so it is settled again.
	if u.AccountID.Present {
		c.AccountID, t.PaymentStatus = u.AccountID, ""
	}

	if u.ContactID.Present {
		c.ContactID = u.ContactID
	}

	if u.PaymentStatus != "" {
		t.PaymentStatus = u.PaymentStatus
	}

	if u.Pattern.Value != nil {
		t.Pattern = u.Pattern.Value.pattern()
	}

	if u.Lines != nil {
		c.Lines = u.Lines
	}

	if u.SkippedDates.Present {
		t.skip(u.SkippedDates)
	}

	d, err := checkTemplate(ctx, tx, t, &c)
	if err != nil {
		return nil, err
	}

	if err := d.save(ctx, tx, false); err != nil {
		return nil, err
	}

	changed, err := loadShown(ctx, tx, t.ID)
	if err != nil {
		return nil, err
	}

	note(tx, audit.Updated, &before, changed)

	return changed, nil
}

type deleteInput struct {
	ID       id.ID  `path:"id"`
	OnLocked string `query:"onLocked" enum:"archive" doc:"archive keeps the template as inactive instead of deleting it."`
}

// deleteOrArchive deletes a recurring template, or archives it if the caller asks for that. It fails with inUse for one
// that has made transactions.
func deleteOrArchive(ctx context.Context, tx *db.Tx, in *deleteInput) (*api.None, error) {
	t, err := loadTemplate(ctx, tx, in.ID, true)
	if err != nil {
		return nil, err
	}

	sql := `delete from transaction_template where team_id = @team and id = @id`
	args := db.Args{"team": tx.Team, "id": in.ID}

	switch {
	case in.OnLocked == "archive":
		sql = `update transaction_template set status = 'inactive', next_at = null, updated_at = @now where team_id = @team and id = @id`
		args["now"] = tx.Now
	case t.InstancesCount > 0:
		return nil, errInUse.With(
			apierr.InUse{LockReasons: []string{"transactions"}, SuggestedOnLocked: apierr.Archive},
		)
	}

	if _, err := tx.Exec(ctx, sql, args); err != nil {
		return nil, fmt.Errorf("remove a recurring template: %w", err)
	}

	if in.OnLocked == "archive" {
		archived := *t
		archived.Status = transaction.Inactive
		note(tx, audit.Updated, t, &archived)
	} else {
		note(tx, audit.Deleted, t, nil)
	}

	return &api.None{}, nil
}
