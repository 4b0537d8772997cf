package webhook

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// stored is a webhook with its sealed secrets.
type stored struct {
	Webhook

	Secret        []byte
	FormerSecrets []byte // a list of formerSecret as JSON
}

// table declares the columns that requests change. The others are updated by saveHealth and setLease.
var table = db.NewTable[stored]("webhook", `id uuid key, scope text fixed, url text, description text, event_types text[],
	api_version text fixed, status text, disabled_reason text, revision bigint, secret bytea, former_secrets bytea,
	verified_at timestamptz, disabled_at timestamptz, created_at now fixed, updated_at now`)

// shownColumns are the columns of a Webhook.
const shownColumns = `w.id, w.scope, w.url, w.description, w.event_types, w.api_version, w.status, w.disabled_reason, w.revision,
	w.verified_at, w.disabled_at, w.paused_until, w.created_at, w.updated_at`

// load loads a webhook of the team. It fails with apierr.NotFound.
func load(ctx context.Context, tx *db.Tx, webhook id.ID) (*Webhook, error) {
	w, err := db.One[Webhook](ctx, tx, apierr.NotFound, `select `+shownColumns+` from webhook w where w.team_id = @team and w.id = @id`,
		db.Args{"team": tx.Team, "id": webhook})
	if err != nil {
		return nil, fmt.Errorf("read a webhook: %w", err)
	}

	return &w, nil
}

// lock loads a webhook and locks it until the transaction ends. It fails with apierr.NotFound.
func lock(ctx context.Context, tx *db.Tx, webhook id.ID) (*stored, error) {
	w, err := db.One[stored](ctx, tx, apierr.NotFound, `
		select `+shownColumns+`, w.secret, w.former_secrets from webhook w
		where w.team_id = @team and w.id = @id for no key update`, db.Args{"team": tx.Team, "id": webhook})
	if err != nil {
		return nil, fmt.Errorf("lock a webhook: %w", err)
	}

	return &w, nil
}

// view returns the webhook as events show it: of its secret they say that it changed, and a query may be a secret, too.
// How its receiver does is no change of it.
func (w *stored) view() audit.View {
	return audit.See(struct {
		Webhook

		URL         string    `json:"url"`
		Secret      []byte    `json:"secret"`
		PausedUntil *struct{} `json:"pausedUntil,omitempty"`
	}{Webhook: w.Webhook, URL: withoutQuery(w.URL), Secret: w.Secret})
}

// withoutQuery returns an address with a mask in place of its query, which can have a token.
func withoutQuery(address string) string {
	before, _, hasQuery := strings.Cut(address, "?")
	if !hasQuery {
		return address
	}

	return before + "?•••"
}

// save updates a locked webhook as a new revision, and notes the changes since before.
func (w *stored) save(ctx context.Context, tx *db.Tx, before audit.View) error {
	w.Revision++
	w.UpdatedAt = day.At(tx.Now)

	if err := tx.Pipeline(ctx, table.Update(tx, w)); err != nil {
		return fmt.Errorf("save a webhook: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.Webhook, w.ID, before, w.view())

	return nil
}

// disable disables a webhook and ends its messages that wait. It does nothing for one that is disabled for the same
// reason.
func (w *stored) disable(ctx context.Context, tx *db.Tx, reason DisabledReason) error {
	if w.DisabledReason != nil && *w.DisabledReason == reason {
		return nil
	}

	// The instant of the first reason stays.
	before := w.view()
	w.Status, w.DisabledReason = Disabled, &reason

	if w.DisabledAt == nil {
		w.DisabledAt = new(day.At(tx.Now))
	}

	if err := w.save(ctx, tx, before); err != nil {
		return err
	}

	// Nothing more is sent, so messages that wait have an end.
	_, err := tx.Exec(ctx, `
		update webhook_delivery set status = 'exhausted', failure = @failure, due_at = null
		where team_id = @team and webhook_id = @id and due_at is not null`,
		db.Args{"team": tx.Team, "id": w.ID, "failure": string(Ended)})
	if err != nil {
		return fmt.Errorf("end the messages of a webhook: %w", err)
	}

	return nil
}

// verify makes a webhook active, because its receiver has taken a test, and ends its pause. One that a person has deleted
// stays disabled.
func (w *stored) verify(ctx context.Context, tx *db.Tx) error {
	if w.isDeleted() {
		return nil
	}

	r := receiver{TeamID: tx.Team, ID: w.ID}
	if err := r.saveHealth(ctx, tx); err != nil || w.Status == Active {
		return err
	}

	before := w.view()
	w.Status, w.VerifiedAt, w.DisabledAt, w.DisabledReason = Active, new(day.At(tx.Now)), nil, nil

	return w.save(ctx, tx, before)
}

// isDeleted reports whether a person has deleted the webhook.
func (w *stored) isDeleted() bool { return w.DisabledReason != nil && *w.DisabledReason == Deleted }

// listQuery returns the list of webhooks.
func listQuery(tx *db.Tx) page.Query {
	return page.Query{
		Columns: shownColumns,
		From:    "webhook w",
		Where:   []string{"w.team_id = @team"},
		Args:    db.Args{"team": tx.Team},
		Sorts:   sorts,
		Default: "createdAt",
		ID:      "w.id",
	}
}

var sorts = page.Sorts{{Name: "createdAt", Expr: "w.created_at"}, {Name: "updatedAt", Expr: "w.updated_at"}}

// deliveryRow is a message as it is stored.
type deliveryRow struct {
	Delivery

	Payload        string
	DueAt          *time.Time
	ResponseStatus *int64
	ResponseBody   *string
	DurationMS     *int64
}

const deliveryColumns = `d.id, d.webhook_id, d.about_team_id, d.event_id, d.event_type, d.payload, d.status, d.attempts::bigint, d.due_at,
	d.response_status::bigint, d.response_body, d.failure, d.duration_ms::bigint, d.created_at, d.attempted_at, d.delivered_at`

// public returns a message as callers see it.
func (r *deliveryRow) public() Delivery {
	d := r.Delivery
	d.Payload = []byte(r.Payload)

	if r.DueAt != nil {
		d.NextAttemptAt = new(day.At(*r.DueAt))
	}

	if r.ResponseStatus != nil {
		d.Response = &Response{Status: *r.ResponseStatus, Body: *r.ResponseBody, DurationMS: *r.DurationMS}
	}

	return d
}

// loadDelivery loads a message of the team. It fails with apierr.NotFound.
func loadDelivery(ctx context.Context, tx *db.Tx, delivery id.ID) (*deliveryRow, error) {
	r, err := db.One[deliveryRow](ctx, tx, apierr.NotFound, `select `+deliveryColumns+` from webhook_delivery d where d.team_id = @team and d.id = @id`,
		db.Args{"team": tx.Team, "id": delivery})
	if err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}

	return &r, nil
}
