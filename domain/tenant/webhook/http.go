package webhook

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/outbound"
	"stayledger/platform/page"
)

const (
	tag         = "Webhooks"
	scopeRead   = "webhooks:read"
	scopeManage = "webhooks:manage"
)

// endpoints returns the routes of webhooks and their messages. A partner key without a selected team works for the
// partner itself.
func (c Config) endpoints() []api.Endpoint {
	all := append([]api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/webhooks", ID: "listWebhooks", Tag: tag, Summary: "List webhooks",
			Scopes: []string{scopeRead},
		}, listWebhooks),
		api.Await(api.Endpoint{
			Method: http.MethodPost, Path: "/webhooks", ID: "createWebhook", Tag: tag, Summary: "Subscribe to events",
			Doc: "The webhook is pending, and gets nothing, until its receiver has taken a test " +
				"(POST /webhooks/{id}/test). The answer shows the secret this once. Fails with 400 for an address that is " +
				"not public, and for the scope managed of a team that is no partner; 409 for a team with 50 webhooks.",
			Errors: apierr.List{errRateLimited, errNoManaged, errTooMany},
			Scopes: []string{scopeManage}, Status: http.StatusCreated, Secret: true,
		}, c.lookCreated, createWebhook),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/webhooks/{id}", ID: "getWebhook", Tag: tag, Summary: "Read a webhook",
			Scopes: []string{scopeRead}, OneTrip: true,
		}, func(ctx context.Context, tx *db.Tx, in *getInput) (*Webhook, error) { return load(ctx, tx, in.ID) }),
		api.Await(api.Endpoint{
			Method: http.MethodPut, Path: "/webhooks/{id}", ID: "updateWebhook", Tag: tag, Summary: "Change a webhook",
			Doc: "Fields that are present change. With another address the webhook is pending again, until the new " +
				"receiver has taken a test. Fails with 409 for one that was deleted.",
			Errors: apierr.List{errRateLimited, errDisabled}, Scopes: []string{scopeManage},
		}, c.lookChanged, updateWebhook),
		api.Write(api.Endpoint{
			Method: http.MethodDelete, Path: "/webhooks/{id}", ID: "deleteWebhook", Tag: tag, Summary: "Disable a webhook",
			Doc:    "Nothing more is sent to it. It can still be read, with its deliveries.",
			Errors: apierr.List{errRateLimited}, Scopes: []string{scopeManage},
		}, deleteWebhook),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/webhooks/{id}/rotate-secret", ID: "rotateWebhookSecret", Tag: tag,
			Summary: "Change the secret of a webhook",
			Doc: "The answer shows the new secret this once. For 24 hours messages are signed with the former one too, " +
				"so that the receiver can be changed meanwhile; with all of the last 24 hours, if it is changed again.",
			Errors: apierr.List{errRateLimited, errDisabled}, Scopes: []string{scopeManage}, Secret: true,
		}, c.rotateSecret),
	}, deliveryEndpoints()...)

	for i := range all {
		all[i].Selection = api.OneTeamOrPartner
	}

	return all
}

// listSort is an order of webhooks.
type listSort string

// Enum lists the orders.
func (listSort) Enum() []string { return sorts.Enum() }

// listInput selects a page of webhooks.
type listInput struct {
	page.Params
	Sort   listSort `query:"sort" default:"createdAt"`
	IDs    page.IDs `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	Scope  Scope    `query:"scope"`
	Status Status   `query:"status"`
	operation.Include
}

// listWebhooks answers with a page of webhooks, with their operations if the caller asked for them.
func listWebhooks(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Webhook], error) {
	q := listQuery(tx)
	q.IDs("w.id = any(?)", in.IDs)
	q.Narrow("w.scope = ?", in.Scope)
	q.Narrow("w.status = ?", in.Status)

	found, err := page.List[Webhook](ctx, tx, q, in.Params, in.Sort)
	if err != nil || !in.Operations() {
		return found, err
	}

	return found, operation.Embed(ctx, tx, operation.Webhook, found.Data,
		func(w *Webhook) (id.ID, **operation.Summary) { return w.ID, &w.Operations })
}

type getInput struct {
	ID id.ID `path:"id"`
}

// Create is a webhook to be.
type Create struct {
	URL         string          `json:"url" minLength:"1" maxLength:"2000" doc:"A public https address that takes POST requests; its query may carry a token."`
	EventTypes  []EventType     `json:"eventTypes" minItems:"1" maxItems:"100" doc:"What to tell of."`
	Description api.Opt[string] `json:"description,omitzero" maxLength:"1000"`
	Scope       Scope           `json:"scope,omitempty" default:"self" doc:"managed tells of all teams that the partner manages."`
}

// Update has the changes of a webhook.
type Update struct {
	URL         *string         `json:"url,omitempty" minLength:"1" maxLength:"2000" doc:"As in POST /webhooks."`
	EventTypes  []EventType     `json:"eventTypes,omitempty" minItems:"1" maxItems:"100" doc:"What to tell of from now on."`
	Description api.Opt[string] `json:"description,omitzero" maxLength:"1000"`
}

type createInput struct{ Body Create }

type putInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// checkURL checks the address of a receiver without asking the name service. Its fragment would not be sent, and a name
// and password in it would be shown to whoever reads the webhook.
func (c Config) checkURL(text string) apierr.IssueCode {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || u.User != nil || u.Fragment != "" {
		return apierr.IssueURL
	}

	// A port that no machine has would fail at each call.
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return apierr.IssueURL
		}
	}

	if !outbound.Permits(u, c.Private) {
		return apierr.IssueAddressNotAllowed
	}

	return ""
}

// lookUp checks the address of a receiver, and that its name has a public address.
func (c Config) lookUp(ctx context.Context, text string) error {
	// First the text, then the addresses behind its name.
	code := c.checkURL(text)

	if u, err := url.Parse(text); code == "" && err == nil && !c.Private && !c.Lookup.IsPublic(ctx, u.Hostname()) {
		code = apierr.IssueAddressNotAllowed
	}

	if code == "" {
		return nil
	}

	return apierr.BadRequest.At(code.InBody("url"))
}

// newKeys has the secret of a new webhook and the configuration that seals it.
type newKeys struct {
	Config

	secret string
}

// lookCreated checks the address of a new webhook.
func (c Config) lookCreated(ctx context.Context, _ *db.DB, _ db.Scope, in *createInput) (newKeys, error) {
	return newKeys{c, NewSecret()}, c.lookUp(ctx, in.Body.URL)
}

// lookChanged checks the new address of a webhook.
func (c Config) lookChanged(ctx context.Context, _ *db.DB, _ db.Scope, in *putInput) (*api.None, error) {
	if in.Body.URL == nil {
		return nil, nil //nolint:nilnil // nothing was asked, and there is no fault
	}

	return nil, c.lookUp(ctx, *in.Body.URL)
}

// createWebhook inserts a webhook, pending and with a new secret.
func createWebhook(ctx context.Context, tx *db.Tx, in *createInput, keys newKeys) (*WithSecret, error) {
	if err := changeLimit().take(ctx, tx); err != nil {
		return nil, err
	}

	// Only partners have managed teams.
	type team struct {
		IsPartner bool
		Webhooks  int64
	}

	t, err := db.Get[team](ctx, tx, `select t.type = 'partner' as is_partner,
		(select count(*) from webhook w where w.team_id = t.id and w.status <> 'disabled') as webhooks
		from team t where t.id = @team`, db.Args{"team": tx.Team})

	switch {
	case err != nil:
		return nil, err
	case in.Body.Scope == Managed && !t.IsPartner:
		return nil, errNoManaged.At(apierr.IssueContradiction.InBody("scope"))
	case t.Webhooks >= mostWebhooks:
		return nil, errTooMany
	}

	// The version of today is frozen in the webhook: its messages keep their form.
	w := &stored{Webhook: Webhook{
		ID:          tx.NewID(),
		Scope:       cmp.Or(in.Body.Scope, Self),
		URL:         in.Body.URL,
		Description: in.Body.Description.Value,
		EventTypes:  sortDistinct(in.Body.EventTypes),
		APIVersion:  api.Version,
		Status:      Pending,
		Revision:    1,
		CreatedAt:   day.At(tx.Now),
		UpdatedAt:   day.At(tx.Now),
	}}
	w.Secret = keys.Box.Seal([]byte(keys.secret), label(w.ID))

	if err := tx.Pipeline(ctx, table.Insert(tx, w)); err != nil {
		return nil, err
	}

	audit.Note(tx, audit.Created, audit.Webhook, w.ID, nil, w.view())

	return &WithSecret{Webhook: w.Webhook, Secret: keys.secret}, nil
}

// sortDistinct returns the types in order, each once.
func sortDistinct(types []EventType) []EventType {
	sorted := slices.Clone(types)
	slices.Sort(sorted)

	return slices.Compact(sorted)
}

// updateWebhook changes a webhook. With a new address it is pending again.
func updateWebhook(ctx context.Context, tx *db.Tx, in *putInput, _ *api.None) (*Webhook, error) {
	w, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := changeLimit().take(ctx, tx); err != nil {
		return nil, err
	}

	if w.isDeleted() {
		return nil, errDisabled
	}

	before, was := w.view(), w.Webhook

	// Another receiver must be verified before it gets anything.
	if in.Body.URL != nil && *in.Body.URL != w.URL {
		w.URL, w.Status, w.VerifiedAt, w.DisabledAt, w.DisabledReason = *in.Body.URL, Pending, nil, nil, nil
	}

	if in.Body.EventTypes != nil {
		w.EventTypes = sortDistinct(in.Body.EventTypes)
	}

	w.Description = in.Body.Description.Or(w.Description)

	// Values that the webhook has already are no change.
	if reflect.DeepEqual(was, w.Webhook) {
		return &w.Webhook, nil
	}

	return &w.Webhook, w.save(ctx, tx, before)
}

// deleteWebhook disables a webhook (WHK-10, WHK-13).
func deleteWebhook(ctx context.Context, tx *db.Tx, in *getInput) (*Webhook, error) {
	w, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := changeLimit().take(ctx, tx); err != nil {
		return nil, err
	}

	return &w.Webhook, w.disable(ctx, tx, Deleted)
}

// rotateSecret gives a webhook a new secret; the present one becomes the former.
func (c Config) rotateSecret(ctx context.Context, tx *db.Tx, in *getInput) (*WithSecret, error) {
	w, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := changeLimit().take(ctx, tx); err != nil {
		return nil, err
	}

	if w.isDeleted() {
		return nil, errDisabled
	}

	before := w.view()

	secret, err := c.rotate(w, tx.Now)
	if err != nil {
		return nil, err
	}

	out := &WithSecret{Secret: secret, FormerSecretUntil: new(day.At(tx.Now.Add(formerTime)))}
	err = w.save(ctx, tx, before)
	out.Webhook = w.Webhook

	return out, err
}
