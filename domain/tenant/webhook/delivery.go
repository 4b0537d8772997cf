package webhook

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// deliveryEndpoints returns the routes of messages.
func deliveryEndpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/webhooks/{id}/deliveries", ID: "listWebhookDeliveries", Tag: tag,
			Summary: "List what was sent to a webhook, the newest first",
			Doc:     "Each message with what became of it. Messages that nothing follows are kept for 90 days.",
			Scopes:  []string{scopeRead},
		}, listDeliveries),

		// Tests and replays are operations, so that a caller sees whether the receiver took the message.
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/webhooks/{id}/test", ID: "testWebhook", Tag: tag,
			Summary: "Send a test to a webhook",
			Doc: "Starts an operation that sends a message of the type webhook.test, once. It completes when the " +
				"receiver answers 2xx within 15 seconds: a webhook that was pending, or that the service had disabled, is " +
				"active from then on. Fails with 409 for one that was deleted.",
			Errors: apierr.List{errDisabled, errRateLimited}, Scopes: []string{scopeManage}, Status: http.StatusAccepted,
		}, startTest),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/webhook-deliveries/{id}/replay", ID: "replayWebhookDelivery", Tag: tag,
			Summary: "Send a message to its webhook again",
			Doc: "Starts an operation that sends the message once, unchanged and with the same webhook-id, also to a " +
				"webhook that is disabled. It completes when the receiver takes it. Fails with 409 for a webhook " +
				"that is pending.",
			Errors: apierr.List{errNotActive, errRateLimited}, Scopes: []string{scopeManage}, Status: http.StatusAccepted,
		}, replayOne),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/webhooks/{id}/replay", ID: "replayWebhook", Tag: tag,
			Summary: "Send the messages of a time to a webhook again",
			Doc: "Starts an operation that queues the messages that were made from one instant to before another, " +
				"unchanged and with the same webhook-id; those that wait are sent at once. It completes when they are " +
				"queued. Fails with 409 for a webhook that is not active.",
			Errors: apierr.List{errNotActive, errRateLimited}, Scopes: []string{scopeManage}, Status: http.StatusAccepted,
		}, replayMany),
	}
}

// deliveriesInput selects a page of messages.
type deliveriesInput struct {
	ID        id.ID          `path:"id"`
	Cursor    api.Cursor     `query:"cursor" doc:"nextCursor of the page before, unchanged, with the same filters."`
	Limit     int64          `query:"limit" minimum:"1" maximum:"250" default:"100"`
	Status    DeliveryStatus `query:"status"`
	EventType EventType      `query:"eventType"`
	From      *day.Instant   `query:"from" doc:"Only messages made from then on."`
	To        *day.Instant   `query:"to" doc:"Only messages made before then."`
}

// position is where a list of messages goes on: after a message.
type position struct {
	created time.Time
	after   id.ID
}

// String returns the form that a cursor carries.
func (p position) String() string {
	return p.created.UTC().Format(time.RFC3339Nano) + " " + p.after.String()
}

// readPosition returns the position that a cursor carries, nil for the first page.
func readPosition(text string) (*position, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // the first page has none
	}

	at, after, _ := strings.Cut(text, " ")

	created, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return nil, fmt.Errorf("position of a cursor: %w", err)
	}

	one, err := id.Parse(after)

	return &position{created, one}, err
}

// listDeliveries answers with a page of the messages of a webhook.
func listDeliveries(ctx context.Context, tx *db.Tx, in *deliveriesInput) (*DeliveryList, error) {
	from, err := readPosition(in.Cursor.Position)
	if err != nil {
		return nil, err
	}

	if _, err := load(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	// Filters that are absent add nothing to the statement.
	args := db.Args{"team": tx.Team, "webhook": in.ID, "most": in.Limit + 1}
	where := "d.team_id = @team and d.webhook_id = @webhook"
	add := func(given bool, condition, name string, value any) {
		if given {
			where += " and " + condition
			args[name] = value
		}
	}

	add(in.Status != "", "d.status = @status", "status", in.Status)
	add(in.EventType != "", "d.event_type = @type", "type", in.EventType)

	if in.From != nil {
		add(true, "d.created_at >= @from", "from", in.From.Time)
	}

	if in.To != nil {
		add(true, "d.created_at < @to", "to", in.To.Time)
	}

	if from != nil {
		add(true, "(d.created_at, d.id) < (@at, @after)", "at", from.created)
		args["after"] = from.after
	}

	// One message more than the page holds, to see whether another page follows.
	found, err := db.Select[deliveryRow](ctx, tx, `select * from (select `+deliveryColumns+` from webhook_delivery d where `+where+`
		order by d.created_at desc, d.id desc limit 251) d limit @most`, args)
	if err != nil {
		return nil, fmt.Errorf("list messages: %w", err)
	}

	out := &DeliveryList{Data: []Delivery{}, Page: DeliveryPage{Limit: in.Limit}}

	if int64(len(found)) > in.Limit {
		found = found[:in.Limit]
		last := &found[in.Limit-1]
		out.Page.HasMore, out.Page.NextCursor = true, in.Cursor.Next(position{last.CreatedAt.Time, last.ID}.String())
	}

	for i := range found {
		out.Data = append(out.Data, found[i].public())
	}

	return out, nil
}

var (
	sendKind   = job.NewKind("webhook.send")
	replayKind = job.NewKind("webhook.replay")
)

// sendArgs name the message that an operation sends once.
type sendArgs struct {
	DeliveryID id.ID `json:"deliveryId"`
}

// testPayload is the message of a test.
var testPayload = payload{
	id:        "@event::uuid",
	eventType: "'webhook.test'",
	version:   "w.api_version",
	at:        "@now::timestamptz",
	team:      "w.team_id",
	data:      "json_build_object('webhookId', w.id)",
}

// startTest inserts a message of the type webhook.test and starts the operation that sends it (INIT-51, WHK-15).
func startTest(ctx context.Context, tx *db.Tx, in *getInput) (*operation.Acknowledgement, error) {
	w, err := lock(ctx, tx, in.ID)
	switch {
	case err != nil:
		return nil, err
	case w.isDeleted():
		return nil, errDisabled
	}

	if err := testLimit(w.ID).take(ctx, tx); err != nil {
		return nil, err
	}

	// The message has no due instant: the operation sends it, not the sender.
	delivery := tx.NewID()

	_, err = tx.Exec(ctx, `
		insert into webhook_delivery (team_id, id, webhook_id, about_team_id, event_id, event_type, payload, status, created_at)
		select w.team_id, @delivery, w.id, w.team_id, @event, 'webhook.test', `+testPayload.textSQL()+`, 'delivering', @now
		from webhook w where w.team_id = @team and w.id = @id`,
		db.Args{"team": tx.Team, "id": w.ID, "delivery": delivery, "event": tx.NewID(), "now": tx.Now})
	if err != nil {
		return nil, fmt.Errorf("insert a test: %w", err)
	}

	return start(ctx, tx, w.ID, operation.Task{Kind: sendKind, Args: sendArgs{delivery}})
}

// start starts an operation with a task for a webhook.
func start(ctx context.Context, tx *db.Tx, webhook id.ID, task operation.Task) (*operation.Acknowledgement, error) {
	target := operation.Resource{Type: operation.Webhook, ID: webhook, Role: operation.Target}

	return operation.Start(ctx, tx, operation.New{
		Type: operation.WebhookTest, Primary: &target, Resources: []operation.Resource{target}, Tasks: []operation.Task{task},
	})
}

// replayOne starts the operation that sends a message again (INIT-52, WHK-16).
func replayOne(ctx context.Context, tx *db.Tx, in *getInput) (*operation.Acknowledgement, error) {
	d, err := loadDelivery(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// A receiver that was not verified gets nothing but a test.
	w, err := load(ctx, tx, d.WebhookID)
	switch {
	case err != nil:
		return nil, err
	case w.Status == Pending:
		return nil, errNotActive
	}

	if err := replayLimit().take(ctx, tx); err != nil {
		return nil, err
	}

	return start(ctx, tx, w.ID, operation.Task{Kind: sendKind, Args: sendArgs{d.ID}})
}

// Replay selects messages to send again.
type Replay struct {
	From   day.Instant    `json:"from" doc:"Messages made from then on."`
	To     day.Instant    `json:"to" doc:"Messages made before then."`
	Status DeliveryStatus `json:"status,omitempty" doc:"Only messages with this status."`
}

// Resolve refuses a time that ends before it begins.
func (r *Replay) Resolve() []apierr.Issue {
	if r.To.Before(r.From.Time) {
		return []apierr.Issue{apierr.IssueDateOrder.InBody("to")}
	}

	return nil
}

type replayInput struct {
	ID   id.ID `path:"id"`
	Body Replay
}

// replayArgs say which messages are queued again.
type replayArgs struct {
	WebhookID id.ID `json:"webhookId"`
	Replay
}

// replayMany starts the operation that queues messages again.
func replayMany(ctx context.Context, tx *db.Tx, in *replayInput) (*operation.Acknowledgement, error) {
	w, err := load(ctx, tx, in.ID)
	switch {
	case err != nil:
		return nil, err
	case w.Status != Active:
		return nil, errNotActive
	}

	if err := replayLimit().take(ctx, tx); err != nil {
		return nil, err
	}

	return start(ctx, tx, w.ID, operation.Task{Kind: replayKind, Args: replayArgs{w.ID, in.Body}})
}

// queueAgain queues messages again, without tests.
func queueAgain(ctx context.Context, tx *db.Tx, _ operation.Run, args replayArgs) error {
	w, err := lock(ctx, tx, args.WebhookID)
	switch {
	case err != nil:
		return err
	case w.Status != Active:
		return errNotActive
	}

	_, err = tx.Exec(ctx, `
		update webhook_delivery set status = 'pending', attempts = 0, due_at = clock_timestamp()
		where team_id = @team and webhook_id = @id and created_at >= @from and created_at < @to
			and (@status = '' or status = @status) and event_type <> 'webhook.test'`,
		db.Args{"team": tx.Team, "id": w.ID, "from": args.From.Time, "to": args.To.Time, "status": string(args.Status)})
	if err != nil {
		return fmt.Errorf("queue messages again: %w", err)
	}

	return nil
}
