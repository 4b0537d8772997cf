package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"stayledger/domain/tenant/webhook"
	"stayledger/platform/id"
)

const (
	batchRounds     = 12     // batches of each team
	waitingMessages = 20_000 // messages that wait for the sender
	batchOfEvents   = 200    // reservations of a batch
)

// events measures what grows with the trail, and what webhooks cost: pages of the trail with many events against pages
// of one with few, writes of a team with a subscription against those of one without, and the sender against bare
// calls.
func events(ctx context.Context, b *bed) ([]Metric, error) {
	pages, err := b.trailRatios(ctx)
	if err != nil {
		return nil, err
	}

	// The receiver and the sender run from here on, the latter as it does in each process with workers.
	running, stop := context.WithCancel(ctx)
	defer stop()

	receiver, err := b.listen(running, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)

		w.WriteHeader(http.StatusNoContent)
	}))
	if err != nil {
		return nil, err
	}

	subscription, err := b.subscribe(ctx, "http://"+receiver+"/hook")
	if err != nil {
		return nil, err
	}

	for _, loop := range b.parts.Loops {
		b.closed.Go(func() { loop(running, b.db, slog.New(slog.NewJSONHandler(b.log, nil)), time.Second) })
	}

	cost, err := b.subscriptionCost(ctx)
	if err != nil {
		return nil, err
	}

	sender, err := b.senderRatio(ctx, subscription, "http://"+receiver+"/hook")

	return append(pages, cost, sender), err
}

// trailPages are the pages of a trail that are compared, by the name of their figure: a new read of the trail is a line
// here. The records are those of the seed.
var trailPages = []struct{ name, path string }{
	{"timeline", "/audit/timeline"},
	{"list", "/audit/events"},
	{"followed", "/audit/events?sort=recordedAt"},
	{"reservation", "/audit/events?entityType=reservation&entityId=STAY"},
	{"listing", "/audit/events?entityType=listing&entityId=LISTING"},
	{"override", "/audit/events?isOverride=true"},
	{"override_timeline", "/audit/timeline?isOverride=true"},
}

// trailRatios compares pages of the long trail with those of the short one, in turns.
func (b *bed) trailRatios(ctx context.Context) (metrics []Metric, err error) {
	teams := []tenant{b.teams[fewEventsName], b.teams[manyEventsName]}

	clients := make([]*client, len(teams))
	for i, t := range teams {
		if clients[i], err = dial(ctx, b.ours, t.secret); err != nil {
			return nil, err
		}
		defer clients[i].close()
	}

	// Both trails have these records.
	var record [2]id.ID
	for i, name := range []string{"stay1", "listing1"} {
		if record[i], err = b.loadID(ctx, teams[0], `select distinct md5('`+name+`')::uuid from audit_event where team_id = @team`); err != nil {
			return nil, err
		}
	}

	named := strings.NewReplacer("STAY", record[0].String(), "LISTING", record[1].String())

	for _, p := range trailPages {
		path := named.Replace(p.path)
		if err := checkSameRows(clients, path); err != nil {
			return nil, err
		}

		waits, err := medianInTurns(ctx, clients, path)
		if err != nil {
			return nil, err
		}

		metrics = append(metrics, atMost("events_"+p.name+"_growth", waits[1]/waits[0], 1.5, map[string]any{
			"fewMs": waits[0], "manyMs": waits[1], "few": teams[0].rows, "many": teams[1].rows, "requests": reportRounds,
		}))
	}

	return metrics, nil
}

// checkSameRows fails unless both trails answer with as many rows: a shorter page would be too fast.
func checkSameRows(clients []*client, path string) error {
	var rows [2]int

	for i, c := range clients {
		answer, err := c.send(c.request(http.MethodGet, path, ""), true)
		if err != nil {
			return err
		}

		var page struct{ Data []json.RawMessage }
		if err := json.Unmarshal(answer, &page); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}

		rows[i] = len(page.Data)
	}

	if rows[0] != rows[1] {
		return fmt.Errorf("%s: %d rows of the short trail, %d of the long one", path, rows[0], rows[1])
	}

	return nil
}

// subscribe has a team subscribe to its events at an address and returns the subscription.
func (b *bed) subscribe(ctx context.Context, address string) (id.ID, error) {
	t := b.teams[toldName]

	c, err := dial(ctx, b.ours, t.secret)
	if err != nil {
		return id.ID{}, err
	}
	defer c.close()

	answer, err := c.send(c.request(http.MethodPost, "/webhooks", `{"url": "`+address+`", "eventTypes": ["audit.event.changed"]}`), true)
	if err != nil {
		return id.ID{}, err
	}

	var made struct{ ID id.ID }
	if err := json.Unmarshal(answer, &made); err != nil {
		return id.ID{}, fmt.Errorf("read a subscription: %w", err)
	}

	// The test that makes it active is not measured.
	return made.ID, b.asAdministrator(ctx, []string{`update webhook set status = 'active', verified_at = now() where team_id = $1`}, t)
}

// subscriptionCost compares batches of reservations of the team with a subscription with those of the team without, in
// turns. Messages of a batch are sent before the next one begins: what they cost the machine is the sender's figure.
func (b *bed) subscriptionCost(ctx context.Context) (Metric, error) {
	kind := intakeKinds()[0]
	teams := []tenant{b.teams[untoldName], b.teams[toldName]}
	took := make([][]float64, len(teams))
	ratios := make([]float64, 0, batchRounds)

	for round := range batchRounds + 2 {
		for i := range teams {
			at := (i + round) % len(teams) // each begins in turn

			seconds, err := b.timeReservations(ctx, &kind, teams[at], round*batchOfEvents)
			if err != nil {
				return Metric{}, err
			}

			if round >= 2 { // the first ones plan and fill the caches
				took[at] = append(took[at], seconds)
			}

			if err := b.awaitMessages(ctx); err != nil {
				return Metric{}, err
			}

			if _, err := b.awaitFolds(ctx, teams[at]); err != nil {
				return Metric{}, err
			}
		}

		if n := len(took[1]); n > 0 {
			ratios = append(ratios, took[1][n-1]/took[0][n-1])
		}
	}

	// A subscription without messages would cost nothing.
	sent, err := b.count(ctx, b.teams[toldName], `select count(*) from webhook_delivery where team_id = @team and status = 'succeeded'`)
	if err == nil && sent < batchRounds*batchOfEvents {
		err = fmt.Errorf("%d messages were sent", sent)
	}

	return atMost("events_subscription_cost", median(ratios), 1.15, map[string]any{
		"reservations": batchOfEvents, "withoutMs": 1000 * median(took[0]), "withMs": 1000 * median(took[1]), "roundRatios": ratios, "messages": sent,
	}), err
}

// timeReservations returns how many seconds a batch with new reservations of a team takes.
func (b *bed) timeReservations(ctx context.Context, k *intakeKind, t tenant, from int) (float64, error) {
	listings, err := b.loadIDs(ctx, t, `select id from listing where team_id = @team order by name`)
	if err != nil {
		return 0, err
	}

	items := make([]item, batchOfEvents)
	for i := range items {
		items[i] = k.field(listed{listings: listings}, from+i, true)
	}

	text, err := json.Marshal(map[string]any{"data": items})
	if err != nil {
		return 0, fmt.Errorf("encode a batch: %w", err)
	}

	begin := time.Now()
	err = b.sendBatch(ctx, t, k.batch, string(text))

	return time.Since(begin).Seconds(), err
}

// awaitMessages waits until all messages were sent.
func (b *bed) awaitMessages(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()

	for {
		left, err := b.count(ctx, b.teams[toldName], `select (select count(*) from webhook_note where team_id = @team)
			+ (select count(*) from webhook_delivery where team_id = @team and due_at is not null)`)
		if err != nil || left == 0 {
			return err
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// messageText is a message of an event as receivers get it.
const messageText = `{"id":"0198c3a2-7b1e-7f2f-8a11-95c1f6a0a001","type":"audit.event.changed","apiVersion":"1","timestamp":"2026-01-15T09:30:00.000Z",` +
	`"teamId":"0198c3a2-7b1e-7ca1-9d0e-d3f4a5b6c7d8","data":{"eventId":"0198c3a2-7b1e-7f2f-8a11-95c1f6a0a002","revision":1,"entityType":"reservation",` +
	`"entityId":"0198c3a2-7b1e-7f2f-8a11-95c1f6a0a003","action":"created","changedKeys":["checkIn","checkOut","guestName","lines","listingId"]}}`

// senderRatio compares how many waiting messages a second the sender sends with a loop that signs and sends the same
// text over one connection, without a database.
func (b *bed) senderRatio(ctx context.Context, subscription id.ID, address string) (Metric, error) {
	bare, err := bareCalls(ctx, address, waitingMessages/4)
	if err != nil {
		return Metric{}, err
	}

	begin := time.Now()

	if err := b.asAdministrator(ctx, []string{`
		insert into webhook_delivery (team_id, id, webhook_id, about_team_id, event_id, event_type, payload, status, due_at, created_at)
		select $1::uuid, gen_random_uuid(), '` + subscription.String() + `', $1::uuid, gen_random_uuid(), 'audit.event.changed', '` + messageText + `', 'pending', now(), now()
		from generate_series(1, ` + strconv.Itoa(waitingMessages) + `)`}, b.teams[toldName]); err != nil {
		return Metric{}, err
	}

	inserted := time.Since(begin)
	begin = time.Now()

	if err := b.awaitMessages(ctx); err != nil {
		return Metric{}, err
	}

	sent := waitingMessages / time.Since(begin).Seconds()

	return atLeast("events_sender_ratio", sent/bare, 0.5, map[string]any{
		"messages": waitingMessages, "sentPerSecond": sent, "barePerSecond": bare, "insertMs": inserted.Milliseconds(),
	}), nil
}

// bareCalls returns how many signed messages a second a loop gets answered.
func bareCalls(ctx context.Context, address string, n int) (float64, error) {
	secret := webhook.NewSecret()
	client := &http.Client{}
	begin := time.Now()

	for i := range n {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(messageText))
		if err != nil {
			return 0, fmt.Errorf("bare call: %w", err)
		}

		r.Header.Set("Content-Type", "application/json")

		if err := webhook.Sign(r.Header, strconv.Itoa(i), time.Now(), []byte(messageText), secret); err != nil {
			return 0, fmt.Errorf("bare call: %w", err)
		}

		answer, err := client.Do(r)
		if err != nil {
			return 0, fmt.Errorf("bare call: %w", err)
		}

		_, err = io.Copy(io.Discard, answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			return 0, fmt.Errorf("bare call: %w", err)
		}
	}

	return float64(n) / time.Since(begin).Seconds(), nil
}
