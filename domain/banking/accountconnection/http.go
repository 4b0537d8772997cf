package accountconnection

import (
	"context"
	"net/http"

	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// endpoints returns the routes of account connections.
func endpoints() []api.Endpoint {
	const tag = "Account connections"

	reads, writes := []string{"bank:read"}, []string{"bank:write"}
	detaching := apierr.List{bank.ErrTooManyRecords, bank.ErrReconciled}
	writing := apierr.List{errAttached, account.ErrNotBank, account.ErrDuplicateLast4, detaching}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/account-connections", ID: "listAccountConnections", Tag: tag,
			Summary: "List accounts at banks", Scopes: reads,
		}, list),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/account-connections/batch", ID: "batchAccountConnections", Tag: tag,
			Summary: "Create and change many accounts at banks",
			Errors:  writing,
			Doc: "Items with an id change that account connection, others make one. All of them land or none: used " +
				"last digits are an issue for each item that has them, and the context names the first.",
			Scopes: writes, DryRun: true, MaxBody: api.MaxBatch,
		}, batch),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/account-connections/{id}", ID: "getAccountConnection", Tag: tag,
			Summary: "Read an account at a bank",
			Scopes:  reads, OneTrip: true,
		}, get),
		api.Write(api.Endpoint{
			Method: http.MethodPut, Path: "/account-connections/{id}", ID: "updateAccountConnection", Tag: tag,
			Summary: "Change, attach or detach an account at a bank",
			Errors:  writing,
			Doc: "Fields that are present change; null clears. Attaching links its bank records that are linked to " +
				"no account, and gives the account its last digits when that has none. What is attached elsewhere " +
				"has to be detached first.",
			Scopes: writes, DryRun: true,
		}, update),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/accounts/{id}/disconnect-bank-account", ID: "disconnectBankAccount",
			Tag: "Accounts", Summary: "Detach an account at a bank",
			Errors: append(apierr.List{account.ErrNotBank}, detaching...),
			Doc:    "Fails with 400 for an account connection that is not attached to the account.",
			Scopes: writes, DryRun: true,
		}, disconnect),
	}
}

type getInput struct {
	ID id.ID `path:"id"`
}

func get(ctx context.Context, tx *db.Tx, in *getInput) (*AccountConnection, error) {
	return loadConnection(ctx, tx, in.ID)
}

type putInput struct {
	ID   id.ID `path:"id"`
	Body Fields
}

// update changes an account connection. It fails with 404 for one that does not exist.
func update(ctx context.Context, tx *db.Tx, in *putInput) (*AccountConnection, error) {
	found, err := lockConnections(ctx, tx, []id.ID{in.ID})
	if err != nil {
		return nil, err
	}

	c, exists := found[in.ID]
	if !exists {
		return nil, apierr.NotFound
	}

	// A single change is a batch of one.
	if err := saveDrafts(ctx, tx, []*draft{newUpdateDraft(c, &in.Body)}); err != nil {
		return nil, err
	}

	return loadConnection(ctx, tx, in.ID)
}

// newUpdateDraft returns the draft of an existing account connection; the path leads to its fields in the body.
func newUpdateDraft(c AccountConnection, in *Fields, path ...any) *draft {
	return &draft{AccountConnection: c, before: audit.See(c), was: c, in: in, path: path}
}

// BatchItem is one account connection of a batch.
type BatchItem struct {
	ID *id.ID `json:"id,omitempty" doc:"The account connection to change; without it a new one is made."`
	Fields
}

// Batch is many account connections at once.
type Batch struct {
	Data []BatchItem `json:"data" minItems:"1" maxItems:"250"`
}

type batchInput struct{ Body Batch }

// batch changes many account connections, all or none.
func batch(ctx context.Context, tx *db.Tx, in *batchInput) (*api.Outcome, error) {
	drafts, err := newDrafts(ctx, tx, in.Body.Data)
	if err != nil {
		return nil, err
	}

	// All of them are saved, or none.
	if err := saveDrafts(ctx, tx, drafts); err != nil {
		return nil, err
	}

	out := &api.Outcome{Data: make([]api.Written, len(drafts)), Issues: []api.Refused{}}
	for i, d := range drafts {
		out.Data[i] = api.Written{ID: d.ID, Index: i}
	}

	return out, nil
}

// newDrafts returns drafts of the items of a batch, with the rows that they change locked. It refuses items with an
// unknown id, or with an id that an earlier item has.
func newDrafts(ctx context.Context, tx *db.Tx, items []BatchItem) ([]*draft, error) {
	ids := []id.ID{}

	for i := range items {
		if v := items[i].ID; v != nil {
			ids = append(ids, *v)
		}
	}

	found, err := lockConnections(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	// Report all bad items at once.
	drafts, issues := make([]*draft, len(items)), []apierr.Issue{}
	seen := map[id.ID]bool{}

	for i := range items {
		item := &items[i]
		if item.ID == nil {
			drafts[i] = &draft{
				AccountConnection: AccountConnection{ID: tx.NewID()}, isNew: true, in: &item.Fields,
				path: []any{"data", i},
			}

			continue
		}

		c, exists := found[*item.ID]
		switch {
		case !exists:
			issues = append(issues, apierr.IssueNotFound.InBody("data", i, "id"))
		case seen[c.ID]:
			issues = append(issues, apierr.IssueUnique.InBody("data", i, "id"))
		}

		seen[*item.ID] = true
		drafts[i] = newUpdateDraft(c, &item.Fields, "data", i)
	}

	if len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	return drafts, nil
}

// Disconnect says which account connection leaves an account.
type Disconnect struct {
	BankAccountID id.ID `json:"bankAccountId" doc:"The account connection."`
	Mode          Mode  `json:"mode,omitempty" doc:"preserve-history (default) leaves its bank records on the account, detach-history takes them along."`
}

type disconnectInput struct {
	ID   id.ID `path:"id"`
	Body Disconnect
}

// disconnect detaches an account connection from the account in the path.
func disconnect(ctx context.Context, tx *db.Tx, in *disconnectInput) (*account.Account, error) {
	// First, the connection and the account, which must be a bank account.
	found, err := lockConnections(ctx, tx, []id.ID{in.Body.BankAccountID})
	if err != nil {
		return nil, err
	}

	accounts, err := account.ByID(ctx, tx, []id.ID{in.ID})
	if err != nil {
		return nil, err
	}

	a, exists := accounts[in.ID]
	if !exists {
		return nil, apierr.NotFound
	}

	if a.Type != account.TypeBank {
		return nil, account.ErrNotBank.At(apierr.IssueNotBankAccount.InPath("id"))
	}

	// The connection must be attached to this very account.
	c, exists := found[in.Body.BankAccountID]
	if !exists || c.AccountID == nil || *c.AccountID != in.ID {
		return nil, apierr.BadRequest.At(apierr.IssueNotFound.InBody("bankAccountId"))
	}

	// Detaching is a change like any other, to no account.
	detached := Fields{AccountID: api.Opt[id.ID]{Present: true}, Mode: in.Body.Mode}
	if err := saveDrafts(ctx, tx, []*draft{newUpdateDraft(c, &detached)}); err != nil {
		return nil, err
	}

	return account.Get(ctx, tx, in.ID)
}
