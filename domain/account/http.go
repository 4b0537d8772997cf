package account

import (
	"context"
	"net/http"

	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

const tag = "Accounts"

// Endpoints are the routes of accounts and their categories.
func Endpoints() []api.Endpoint {
	return append(categoryEndpoints(),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/accounts", ID: "listAccounts", Tag: tag, Summary: "List the chart of accounts",
			Scopes: []string{"accounts:read"},
		}, list),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/accounts", ID: "createAccount", Tag: tag, Summary: "Create an account",
			Doc: "Fails with 400 for an unknown category or offset account, 400 for banking data or a payout assignment on an account that is no" +
				" bank account (reason notBankAccount), 400 for last digits in use (reason duplicateLast4), 409 for a name or code in use (reason" +
				" duplicateName), 409 for a reference in use (reason duplicateUniqueRef).",
			Scopes: []string{"accounts:write"}, DryRun: true, Status: http.StatusCreated,
		}, create),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/accounts/{id}", ID: "getAccount", Tag: tag, Summary: "Read an account",
			Doc: "Fails with 404 for an unknown account.", Scopes: []string{"accounts:read"}, OneStatement: true,
		}, get),
		api.Write(api.Endpoint{
			Method: http.MethodPut, Path: "/accounts/{id}", ID: "updateAccount", Tag: tag, Summary: "Change an account",
			Doc: "Fields that are present change; null clears. Assignments move here from the accounts that hold them. Fails with 404 for an unknown" +
				" account, 400 for a category of another classification while ledger entries use the account (reason" +
				" accountClassificationLocked), as creating does, and with 400 when an account that is still used would go inactive (reason" +
				" accountInUse).",
			Scopes: []string{"accounts:write"}, DryRun: true,
		}, put),
		api.Write(api.Endpoint{
			Method: http.MethodDelete, Path: "/accounts/{id}", ID: "deleteAccount", Tag: tag, Summary: "Delete or archive an account",
			Doc: "Fails with 404 for an unknown account, 400 for one in use (reason accountInUse, context.lockReasons). Where" +
				" context.suggestedOnLocked is archive, onLocked=archive archives it instead.",
			Scopes: []string{"accounts:delete"}, DryRun: true,
		}, del),
	)
}

type listInput struct {
	page.Params
	Sort           string         `query:"sort" enum:"name,-name,code,-code,createdAt,-createdAt" default:"code"`
	IDs            []string       `query:"ids" pattern:"^!?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$" doc:"A leading ! excludes the ids."`
	Type           Type           `query:"type"`
	Classification Classification `query:"classification"`
	Status         Status         `query:"status"`
	Assignment     Assignment     `query:"assignment"`
	Search         string         `query:"search" maxLength:"200" doc:"Part of the name or code."`
}

func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Account], error) {
	q := accountQuery(tx)
	byIDs(&q, "a.id", in.IDs)
	if in.Type != "" {
		q.And("a.type = @type", db.Args{"type": in.Type})
	}
	if in.Classification != "" {
		q.And("c.classification = @classification", db.Args{"classification": in.Classification})
	}
	if in.Status != "" {
		q.And("a.status = @status", db.Args{"status": in.Status})
	}
	if in.Assignment != "" {
		q.And("a.id = (select s.account_id from account_assignment s where s.team_id = a.team_id and s.assignment = @assignment)",
			db.Args{"assignment": in.Assignment})
	}
	if in.Search != "" {
		q.And("(a.name ilike @search or a.code ilike @search)", db.Args{"search": page.Like(in.Search)})
	}
	return page.List[Account](ctx, tx, q, in.Params, in.Sort)
}

type getInput struct {
	ID id.ID `path:"id"`
}

func get(ctx context.Context, tx *db.Tx, in *getInput) (*Account, error) { return one(ctx, tx, in.ID) }

type createInput struct{ Body Create }

func create(ctx context.Context, tx *db.Tx, in *createInput) (*Account, error) {
	a := &Account{ID: tx.NewID(), Type: in.Body.Type, Status: Active}
	return write(ctx, tx, a, &Update{Name: &in.Body.Name, CategoryID: &in.Body.CategoryID, Common: in.Body.Common})
}

type putInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

func put(ctx context.Context, tx *db.Tx, in *putInput) (*Account, error) {
	a, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}
	return write(ctx, tx, a, &in.Body)
}

func write(ctx context.Context, tx *db.Tx, a *Account, in *Update) (*Account, error) {
	isNew, was := a.CreatedAt.IsZero(), a.Status
	k, err := loadKnown(ctx, tx, in)
	if err != nil {
		return nil, err
	}
	if err := in.apply(a, k); err != nil {
		return nil, err
	}
	if in.Banking != nil && in.Banking.Last4.Value != nil {
		holders, err := last4Holders(ctx, tx, a)
		if err != nil {
			return nil, err
		}
		if len(holders) > 0 {
			return nil, last4Taken(a, holders)
		}
	}
	if a.Status == Inactive && (was == Active || len(a.Assignments) > 0) {
		used, err := usage(ctx, tx, a.ID)
		if err != nil {
			return nil, err
		}
		used.Assignments = len(a.Assignments) > 0
		if err := used.checkArchive(); err != nil {
			return nil, err
		}
	}
	err = tx.Pipeline(ctx, save(tx, a, isNew)...)
	if db.Constraint(err) == "account_last4" {
		// Somebody took the digits since they were looked up; the holder cannot be read in a failed transaction.
		return nil, last4Taken(a, []id.ID{}).Because(err)
	}
	if err != nil {
		return nil, conflict(err)
	}
	return one(ctx, tx, a.ID)
}

type deleteInput struct {
	ID       id.ID  `path:"id"`
	OnLocked string `query:"onLocked" enum:"archive" doc:"What to do with an account in use."`
}

func del(ctx context.Context, tx *db.Tx, in *deleteInput) (*api.None, error) {
	if _, err := lock(ctx, tx, in.ID); err != nil {
		return nil, err
	}
	used, err := usage(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}
	refused := used.checkDelete()
	switch {
	case refused == nil:
		err = remove(ctx, tx, in.ID)
	case in.OnLocked == "archive" && used.checkArchive() == nil:
		err = archive(ctx, tx, in.ID)
	default:
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	return &api.None{}, nil
}
