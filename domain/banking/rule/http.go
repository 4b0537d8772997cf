package rule

import (
	"context"
	"fmt"
	"net/http"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
	"stayledger/platform/parts"
)

var (
	errInUse   = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "The bank rule has reconciled bank records")
	errTooMany = apierr.New(apierr.CodeBadRequest, "", "The team has as many bank rules as it can have")
)

// endpoints returns the routes of bank rules.
func endpoints(used *parts.Usage) []api.Endpoint {
	const tag = "Bank rules"

	reads, writes, deletes := []string{"bank:read"}, []string{"bank:write"}, []string{"bank:delete"}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/bank-rules",
			ID:      "listBankRules",
			Tag:     tag,
			Summary: "List bank rules",
			Scopes:  reads,
			Doc:     "In the order in which they take records. A page of rules with more than 20000 lines is refused with `tooManyLines` at limit and `context.suggestedLimit`.",
		}, list),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/bank-rules", ID: "createBankRule", Tag: tag, Summary: "Create a bank rule",
			Errors: apierr.List{errTooMany}, Scopes: writes, Status: http.StatusCreated,
			Doc: "Fails with 400 for conditions with an operator or value that does not fit their field " +
				"(contradiction, malformed), lines that could add up to no record (splitSum), and accounts, " +
				"contacts, listings and tax rates that do not exist or cannot be used there, each with its path; for " +
				"a team that has 1000 rules. A rule of mode auto needs the scope transactions:write too.",
		}, create),
		api.Read(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/bank-rules/preview",
			ID:      "previewBankRules",
			Tag:     tag,
			Summary: "Preview bank rules",
			Scopes:  reads,
			Doc: "What rules would make of the open bank records of some days: movements on bank accounts that " +
				"count and are reconciled with nothing, the newest first. A rule of the body and those of " +
				"bankRuleIds are taken as active; without either, all active rules are. Nothing is booked. At most " +
				"10000 records are looked at, fewer with very many conditions; `cut` says that there are more. " +
				"Fails with 400 as createBankRule does, below rule, and for unknown rules and " +
				"accounts.",
		}, preview),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/bank-rules/{id}",
			ID:      "getBankRule",
			Tag:     tag,
			Summary: "Read a bank rule",
			Scopes:  reads,
			Doc: "With version, as it was then: updatedAt is when it became so. Fails with 404 for a version " +
				"that there never was.",
		}, get),
		api.Write(api.Endpoint{
			Method:  http.MethodPut,
			Path:    "/bank-rules/{id}",
			ID:      "updateBankRule",
			Tag:     tag,
			Summary: "Change a bank rule",
			Scopes:  writes,
			Errors:  apierr.List{errRunning},
			Doc: "Fields that are absent stay. Every change is a new version, a body that changes nothing is " +
				"none. Fails with 404, and as creating does; a reference that leads to nothing any more may stay. A " +
				"rule that is running is refused with LOCKED. A rule of mode auto needs the scope " +
				"transactions:write too.",
		}, update),
		api.Write(api.Endpoint{
			Method:  http.MethodDelete,
			Path:    "/bank-rules/{id}",
			ID:      "deleteBankRule",
			Tag:     tag,
			Summary: "Delete or archive a bank rule",
			Errors:  apierr.List{errRunning, errInUse},
			Scopes:  deletes,
			Doc:     "Its versions go with it. One that has reconciled bank records is refused with `inUse`; `onLocked=archive` keeps it as inactive.",
		}, handler{used}.erase),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/bank-rules/{id}/versions",
			ID:      "listBankRuleVersions",
			Tag:     tag,
			Summary: "List the versions of a bank rule",
			Scopes:  reads,
			Doc:     "The newest first, the current one included. getBankRule reads one.",
		}, versions),
	}
}

// listSort is an order of bank rules.
type listSort string

// Enum lists the orders.
func (listSort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort            listSort         `query:"sort" default:"priority"`
	IDs             page.IDs         `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	Status          Status           `query:"status"`
	Mode            Mode             `query:"mode"`
	TransactionType transaction.Type `query:"transactionType" enum:"deposit,expense"`
	AccountIDs      page.IDs         `query:"accountIds" doc:"Rules that name one of the accounts, for records or on a line."`
	ListingIDs      page.IDs         `query:"listingIds" doc:"Rules that name one of the listings."`
	ContactIDs      page.Refs        `query:"contactIds" doc:"Rules with one of the contacts; null selects those without."`
	Search          string           `query:"search" maxLength:"200" doc:"Part of the name, the description or a condition's value."`
	operation.Include
}

// list returns a page of rules with the names of their references and, if the caller asked for them, their
// operations.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Stored], error) {
	q := query(tx)
	q.CountedAs("bank_rule")
	q.IDs("r.id = any(?)", in.IDs)
	q.Narrow("r.status = ?", in.Status)
	q.Narrow("r.mode = ?", in.Mode)
	q.Narrow("r.transaction_type = ?", in.TransactionType)
	q.IDs("r.account_ids && ?::uuid[] or exists (select from jsonb_array_elements(r.lines) l where l ->> "+
		"'accountId' = any(?::uuid[]::text[]))", in.AccountIDs)
	q.IDs(
		"exists (select from jsonb_array_elements(r.lines) l where l ->> 'listingId' = any(?::uuid[]::text[]))",
		in.ListingIDs,
	)
	q.Refs("r.vendor_contact_id", in.ContactIDs)
	q.Search(in.Search, "r.name", "r.description_override", `(select string_agg(c ->> 'value', chr(10)) from jsonb_array_elements(r.conditions) c)`)

	found, err := page.List[Stored](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	if err := completeRules(ctx, tx, found.Data); err != nil || !in.Operations() {
		return found, err
	}

	return found, operation.Embed(ctx, tx,
		operation.BankRule,
		found.Data,
		func(s *Stored) (id.ID, **operation.Summary) {
			return s.ID, &s.Operations
		},
	)
}

type createInput struct{ Body Create }

func create(ctx context.Context, tx *db.Tx, in *createInput) (*Stored, error) {
	return Add(ctx, tx, &in.Body)
}

// Add stores a new rule. It fails with the issues of check, with the refusal of room, and with apierr.MissingScope when
// the rule acts by itself and the caller may not write transactions.
func Add(ctx context.Context, tx *db.Tx, c *Create) (*Stored, error) {
	s := &Stored{Rule: newRule(tx, c), CreatedAt: day.At(tx.Now), UpdatedAt: day.At(tx.Now)}
	if err := checkRule(ctx, tx, nil, &s.Rule); err != nil {
		return nil, err
	}

	if err := s.mayStore(tx); err != nil {
		return nil, err
	}

	if err := checkRoom(ctx, tx); err != nil {
		return nil, err
	}

	if err := s.saveWithVersion(ctx, tx); err != nil {
		return nil, err
	}

	note(tx, nil, &s.Rule)

	return s.render(ctx, tx)
}

// mayStore fails with apierr.MissingScope when the rule acts by itself and the caller may not write transactions.
func (r *Rule) mayStore(tx *db.Tx) error {
	if r.Mode == Auto {
		return needScopeToBook(tx)
	}

	return nil
}

// render returns the rule with the names of its references.
func (s *Stored) render(ctx context.Context, tx *db.Tx) (*Stored, error) {
	all := []Stored{*s}
	return &all[0], completeRules(ctx, tx, all)
}

type getInput struct {
	ID      id.ID  `path:"id"`
	Version *int64 `query:"version" minimum:"1" doc:"The rule as it was in this version."`
}

// get returns a rule, or one of its earlier versions.
func get(ctx context.Context, tx *db.Tx, in *getInput) (*Stored, error) {
	var (
		s   *Stored
		err error
	)
	if in.Version != nil {
		s, err = loadVersion(ctx, tx, in.ID, *in.Version)
	} else {
		s, err = loadRule(ctx, tx, in.ID)
	}

	if err != nil {
		return nil, err
	}

	return s.render(ctx, tx)
}

type updateInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// update changes a rule. It fails if the rule is running, or if the caller may not book transactions and the rule
// would.
func update(ctx context.Context, tx *db.Tx, in *updateInput) (*Stored, error) {
	s, err := lockForChange(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := checkIdle(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	// A rule that names something which has vanished may keep it.
	to := applyUpdate(tx, s.Rule, &in.Body)
	if err := checkRule(ctx, tx, &s.Rule, &to); err != nil {
		return nil, err
	}

	if err := to.mayStore(tx); err != nil {
		return nil, err
	}

	if err := s.saveChange(ctx, tx, to); err != nil {
		return nil, err
	}

	return s.render(ctx, tx)
}

type deleteInput struct {
	ID       id.ID  `path:"id"`
	OnLocked string `query:"onLocked" enum:"archive" doc:"archive keeps the rule as inactive instead of deleting it."`
}

// handler looks for what uses bank rules.
type handler struct{ used *parts.Usage }

// erase deletes a rule that has reconciled nothing, or archives it if the caller asked for that.
func (h handler) erase(ctx context.Context, tx *db.Tx, in *deleteInput) (*api.None, error) {
	s, err := lockForDelete(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := checkIdle(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	if in.OnLocked == apierr.Archive {
		to := s.Rule
		to.Status = Inactive

		return &api.None{}, s.saveChange(ctx, tx, to)
	}

	// Records keep the id of the rule that matched them, so such a rule has to stay.
	used, err := h.used.Load(ctx, tx, s.ID)
	if err != nil {
		return nil, err
	}

	if used.Deletion != nil {
		return nil, errInUse.With(apierr.InUse{LockReasons: used.Deletion, SuggestedOnLocked: apierr.Archive})
	}

	if _, err := tx.Exec(ctx, `delete from bank_rule where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": s.ID}); err != nil {
		return nil, fmt.Errorf("delete a bank rule: %w", err)
	}

	note(tx, &s.Rule, nil)

	return &api.None{}, nil
}

type versionsInput struct {
	ID id.ID `path:"id"`
	page.Params
}

// versions returns a page of the versions of a rule, the newest first.
func versions(ctx context.Context, tx *db.Tx, in *versionsInput) (*page.Page[Version], error) {
	if _, err := loadRule(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	q := page.Query{
		Columns: "v.version, v.rule ->> 'name' as name, v.created_at", From: "bank_rule_version v",
		Sorts: page.Sorts{{Name: "version", Expr: "v.version"}}, Default: "-version", ID: "v.version",
	}
	q.And("v.team_id = @team and v.bank_rule_id = @rule", db.Args{"team": tx.Team, "rule": in.ID})

	return page.List[Version](ctx, tx, q, in.Params, "-version")
}
