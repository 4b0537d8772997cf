package account

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

const tag = "Accounts"

// handler has the journals that depend on the assignments of accounts, and looks for what uses them.
type handler struct {
	journals ledger.Sources
	used     *parts.Usage
}

// endpoints returns the routes of accounts and their categories.
func endpoints(journals ledger.Sources, used *parts.Usage) []api.Endpoint {
	h := handler{journals, used}
	all := append(categoryEndpoints(),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/accounts",
			ID:      "listAccounts",
			Tag:     tag,
			Summary: "List the chart of accounts",
			Scopes:  []string{"accounts:read"}, OneTripPage: true,
		}, list),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/accounts", ID: "createAccount", Tag: tag, Summary: "Create an account",
			Errors:    apierr.List{ErrNotBank, ErrDuplicateLast4, errDuplicateName, errDuplicateUniqueRef},
			Exclusive: true,
			Doc:       "Fails with 400 for an unknown category or offset account.",
			Scopes:    []string{"accounts:write"}, DryRun: true, Status: http.StatusCreated,
		}, h.create),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/accounts/{id}", ID: "getAccount", Tag: tag, Summary: "Read an account",
			Scopes: []string{"accounts:read"}, OneTrip: true,
		}, get),
		api.Write(api.Endpoint{
			Method: http.MethodPut, Path: "/accounts/{id}", ID: "updateAccount", Tag: tag, Summary: "Change an account",
			Errors: apierr.List{
				errClassificationLocked,
				ErrNotBank,
				errBankingLocked,
				ErrDuplicateLast4,
				errInUse,
				errDuplicateName,
				errDuplicateUniqueRef,
			},
			Exclusive: true,
			Doc: "Fields that are present change; null clears. Assignments move here from the accounts that hold " +
				"them. Fails with 404 for an unknown account, 400 for a category of another classification while " +
				"ledger entries use the account (reason accountClassificationLocked), as creating does, and with 400 " +
				"when an account that is still used would go inactive (reason accountInUse).",
			Scopes: []string{"accounts:write"}, DryRun: true,
		}, h.put),
		api.Write(api.Endpoint{
			Method:  http.MethodDelete,
			Path:    "/accounts/{id}",
			ID:      "deleteAccount",
			Tag:     tag,
			Summary: "Delete or archive an account",
			Errors:  apierr.List{errInUse},
			Doc:     "Where context.suggestedOnLocked is archive, onLocked=archive archives it instead.",
			Scopes:  []string{"accounts:delete"}, DryRun: true,
		}, h.deleteOrArchive),
	)

	return append(all, summaryEndpoints()...)
}

type getInput struct {
	ID id.ID `path:"id"`
}

// get answers with an account.
func get(ctx context.Context, tx *db.Tx, in *getInput) (*Account, error) { return Get(ctx, tx, in.ID) }

type createInput struct{ Body Create }

// create makes an account.
func (h handler) create(ctx context.Context, tx *db.Tx, in *createInput) (*Account, error) {
	a := &Account{ID: tx.NewID(), Type: in.Body.Type, Status: Active}
	change := &Update{Name: &in.Body.Name, CategoryID: &in.Body.CategoryID, Common: in.Body.Common}

	return h.outdateAfter(ctx, tx, change, func() (*Account, error) { return h.write(ctx, tx, a, change) })
}

type putInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// put changes an account.
func (h handler) put(ctx context.Context, tx *db.Tx, in *putInput) (*Account, error) {
	return h.outdateAfter(ctx, tx, &in.Body, func() (*Account, error) {
		a, err := lockAccount(ctx, tx, in.ID)
		if err != nil {
			return nil, err
		}

		return h.write(ctx, tx, a, &in.Body)
	})
}

// outdateAfter runs a write of an account and outdates the journals that look up assignments which have moved.
func (h handler) outdateAfter(
	ctx context.Context, tx *db.Tx,
	in *Update,
	write func() (*Account, error),
) (*Account, error) {
	// Without assignments no journal can change.
	if in.Assignments == nil {
		return write()
	}

	// Assignments change many journals, so no other write of the team may run at the same time.
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	// Compare the assignments before and after the write.
	before, err := LoadAssigned(ctx, tx)
	if err != nil {
		return nil, err
	}

	a, err := write()
	if err != nil {
		return nil, err
	}

	after, err := LoadAssigned(ctx, tx)
	if err != nil {
		return nil, err
	}

	noteReassignments(tx, a.ID, before, after)

	return a, OutdateJournals(ctx, tx, h.journals, Reassignments(before, after))
}

// noteReassignments writes the audit events of the other accounts that lost assignments to the written one.
func noteReassignments(tx *db.Tx, written id.ID, before, after map[Assignment]id.ID) {
	type parts struct {
		Assignments []Assignment `json:"assignments"`
	}

	// The events show all assignments of an account, before and after.
	plays := func(by map[Assignment]id.ID) map[id.ID]parts {
		out := map[id.ID]parts{}
		for _, part := range slices.Sorted(maps.Keys(by)) {
			p := out[by[part]]
			p.Assignments = append(p.Assignments, part)
			out[by[part]] = p
		}

		return out
	}

	was, now := plays(before), plays(after)
	for _, part := range slices.Sorted(maps.Keys(before)) {
		if holder := before[part]; holder != written && holder != after[part] {
			audit.Note(tx, audit.Updated, audit.Account, holder, was[holder], now[holder])
		}
	}
}

// write applies a change to an account, saves it and returns it as the API shows it.
func (h handler) write(ctx context.Context, tx *db.Tx, a *Account, in *Update) (*Account, error) {
	isNew, before, was := a.CreatedAt.IsZero(), audit.See(a), a.Banking

	// First apply the change, with the records that it names.
	k, err := loadReferences(ctx, tx, in)
	if err != nil {
		return nil, err
	}

	if err := in.apply(a, k); err != nil {
		return nil, err
	}

	if err := checkBanking(ctx, tx, a, was); err != nil {
		return nil, err
	}

	if err := tx.Pipeline(ctx, saveSQL(tx, a, isNew)...); err != nil {
		return nil, constraintError(err)
	}

	// Uses are checked after the write, because the account may have lost its assignments with it.
	if a.Status == Inactive && (in.Status != nil || in.Assignments != nil) {
		used, err := h.used.Load(ctx, tx, a.ID)
		if err != nil {
			return nil, err
		}

		if err := checkArchive(used); err != nil {
			return nil, err
		}
	}

	slices.Sort(a.Assignments)

	if isNew {
		audit.Note(tx, audit.Created, audit.Account, a.ID, nil, a)
	} else {
		audit.Note(tx, audit.Updated, audit.Account, a.ID, before, a)
	}

	return Get(ctx, tx, a.ID)
}

// checkBanking refuses changed last digits that others have, and a changed currency that differs from the account
// at the bank. No other transaction writes either meanwhile: those that do are alone in the team, or hold the
// account.
func checkBanking(ctx context.Context, tx *db.Tx, a *Account, was *Banking) error {
	if a.Banking == nil {
		return nil
	}

	// Only digits that change are checked.
	if digits := a.Banking.Last4; digits != nil && (was == nil || was.Last4 == nil || *was.Last4 != *digits) {
		if err := tx.Exclusively(); err != nil {
			return err
		}

		if err := CheckLast4(
			ctx, tx, Last4{Digits: *digits, AccountID: a.ID, Path: []any{"banking", "last4"}},
		); err != nil {
			return err
		}
	}

	if was == nil || was.Currency == a.Banking.Currency {
		return nil
	}

	// What the bank has stated is in the currency of the account, without saying so.
	if stated, err := hasStatedAmounts(ctx, tx, a); err != nil {
		return err
	} else if stated {
		return errBankingLocked.At(apierr.IssueAccountClassificationLocked.InBody("banking", "currency"))
	}

	if other, err := hasForeignFeed(ctx, tx, a); err != nil || !other {
		return err
	}

	return apierr.BadRequest.At(apierr.IssueCurrencyMismatch.InBody("banking", "currency"))
}

type deleteInput struct {
	ID       id.ID  `path:"id"`
	OnLocked string `query:"onLocked" enum:"archive" doc:"What to do with an account in use."`
}

// deleteOrArchive deletes an account, or archives it if it is in use and the caller asks for that.
func (h handler) deleteOrArchive(ctx context.Context, tx *db.Tx, in *deleteInput) (*api.None, error) {
	a, err := lockAccount(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	used, err := h.used.Load(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// Delete it if nothing refers to it, else archive it if that is asked for and allowed.
	refused := checkDelete(used)
	switch {
	case refused == nil:
		err = deleteAccount(ctx, tx, a)
	case in.OnLocked == "archive" && checkArchive(used) == nil:
		before := audit.See(a)
		a.Status = Inactive
		audit.Note(tx, audit.Updated, audit.Account, a.ID, before, a)
		err = archive(ctx, tx, in.ID)
	default:
		return nil, refused
	}

	if err != nil {
		return nil, err
	}

	return &api.None{}, nil
}
