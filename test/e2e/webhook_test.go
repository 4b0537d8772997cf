package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// allTypes are the event types that the contract has (decisions, webhooks).
var allTypes = []string{
	"audit.event.changed", "connection.changed", "operation.completed", "operation.failed", "payment.updated", "statement.published", "statement.reopened",
}

// told is a message as a receiver reads it.
type told struct {
	ID, Type, APIVersion, Timestamp, TeamID string
	Data                                    map[string]any
}

// inbox is a receiver that verifies each message.
type inbox struct {
	*httptest.Server
	t      *testing.T
	mu     sync.Mutex
	secret string
	got    []told
	at     []time.Time // when each was taken
}

func newInbox(t *testing.T) *inbox {
	t.Helper()

	in := &inbox{t: t}
	in.Server = httptest.NewServer(in)
	t.Cleanup(in.Close)

	return in
}

// ServeHTTP keeps a message. One whose signature is wrong fails the test.
func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}

	in.mu.Lock()
	defer in.mu.Unlock()

	verifier, err := standardwebhooks.NewWebhook(in.secret)
	if err == nil {
		err = verifier.Verify(body, r.Header)
	}

	var m told
	if err == nil {
		err = json.Unmarshal(body, &m)
	}

	if err != nil || m.ID != r.Header.Get("webhook-id") {
		in.t.Errorf("message %s: %v", body, err)
	}

	in.got, in.at = append(in.got, m), append(in.at, time.Now())

	w.WriteHeader(http.StatusNoContent)
}

// messages returns what was taken, of one type, or all for "".
func (in *inbox) messages(eventType string) (out []told) {
	in.mu.Lock()
	defer in.mu.Unlock()

	for _, m := range in.got {
		if eventType == "" || m.Type == eventType {
			out = append(out, m)
		}
	}

	return out
}

// subscribe makes a webhook of some types and has its receiver take a test.
func (in *inbox) subscribe(c *client, types ...string) string {
	in.t.Helper()

	made := c.post("/webhooks", map[string]any{"url": in.URL, "eventTypes": types}).want(201)
	in.mu.Lock()
	in.secret = made.text("secret")
	in.mu.Unlock()

	test := c.post("/webhooks/"+made.text("id")+"/test", nil).want(202)
	if s := c.settled(test.text("operationId")); s.text("status") != "completed" {
		in.t.Fatalf("the test of a webhook: %s", s.body)
	}

	return made.text("id")
}

// trail returns the id and revision of all events of the team since an instant, in their order.
func trailSince(c *client, from time.Time) (out []string) {
	c.t.Helper()

	path := "/audit/events?sort=recordedAt&limit=250&includeDiff=false&from=" + from.UTC().Format(time.RFC3339Nano)

	for cursor := ""; ; {
		page := c.get(path + cursor).want(200)
		for i := range page.list("data") {
			out = append(out, page.text(fmt.Sprintf("data.%d.id", i))+" "+page.text(fmt.Sprintf("data.%d.revision", i)))
		}

		if page.at("page.hasMore") != true {
			return out
		}

		cursor = "&cursor=" + page.text("page.nextCursor")
	}
}

// A month goes by over the built binary: each thing that happens is told once, signed, and as the trail tells it. The
// receivers are ours and one in Node with the library that its authors use.
//
// Proves: WHK-01..WHK-07, WHK-15, OPEN-19..OPEN-22, AUD-12.
func TestWhatHappensIsTold(t *testing.T) {
	t.Parallel()
	w := newTill(t, 2)
	w.work()

	in, node := newInbox(t), startNode(t)
	hook := in.subscribe(w.client, allTypes...)

	if node != nil {
		node.subscribe(w.client)
	}

	began := time.Now()

	// A stay, a bill that is refused, and the statement of a month: published and reopened.
	listing := w.get("/listings?limit=1&sort=name").want(200).text("data.0.id")
	stay := w.post("/reservations", map[string]any{
		"listingId": listing, "checkIn": "2026-03-05", "checkOut": "2026-03-07", "lines": []any{map[string]any{"type": "rent", "amount": 30000}},
	}).want(201).text("id")
	w.post("/reservations", map[string]any{"listingId": listing, "checkIn": "2026-03-07", "checkOut": "2026-03-05"}).want(400)
	w.post("/contacts?dryRun=true", map[string]any{"type": "vendor", "name": "Nobody"}).want(201)

	statement := w.post("/statements", map[string]any{"month": "2026-02", "status": "published"}).want(201).text("data.0.id")
	w.put("/statements/"+statement, map[string]any{"status": "inReview"}).want(200)

	// A payment through the provider, an operation that fails, and a connection that changes.
	w.completed(w.post("/statements/pay", map[string]any{"statementIds": []any{w.unpaid[0].id}, "connectionId": w.connection}))

	closed := w.post("/webhooks", map[string]any{"url": "http://127.0.0.1:1/", "eventTypes": []any{"webhook.test"}}).want(201).text("id")
	failed := w.settled(w.post("/webhooks/"+closed+"/test", nil).want(202).text("operationId"))
	w.put("/connections/"+w.connection, map[string]any{"name": "Sandbox of ours"}).want(200)

	// An event can come in several revisions, so events are counted and not messages.
	heard := func() (latest map[any]float64) {
		latest = map[any]float64{}

		for _, m := range in.messages("audit.event.changed") {
			if at, err := time.Parse(time.RFC3339, m.Timestamp); err == nil && at.After(began.Add(-time.Millisecond)) {
				revision, _ := m.Data["revision"].(float64)
				latest[m.Data["eventId"]] = max(latest[m.Data["eventId"]], revision)
			}
		}

		return latest
	}

	eventually(t, "all events told", func() bool { return len(heard()) >= len(trailSince(w.client, began)) })
	eventually(t, "the failed operation told", func() bool { return len(in.messages("operation.failed")) > 0 })

	// Each event of the trail once in each of its revisions, of which the trail lists the latest, and nothing else.
	latest, ids := heard(), map[string]int{}

	for _, m := range in.messages("") {
		ids[m.ID]++

		if m.APIVersion != "2026-11-01" || m.TeamID == "" || m.Timestamp == "" {
			t.Errorf("message %+v", m)
		}
	}

	for message, n := range ids {
		if n != 1 {
			t.Errorf("message %s came %d times", message, n)
		}
	}

	events := make([]string, 0, len(latest))
	for event, revision := range latest {
		events = append(events, fmt.Sprintf("%v %v", event, revision))
	}

	want := trailSince(w.client, began)

	slices.Sort(events)
	slices.Sort(want)

	if !slices.Equal(events, want) {
		t.Errorf("told %d events, the trail has %d", len(events), len(want))
	}

	// What each type says, by the records that the API named.
	for eventType, has := range map[string]map[string]any{
		"audit.event.changed": {"entityType": "reservation", "entityId": stay, "action": "created"},
		"connection.changed":  {"connectionId": w.connection, "action": "updated"},
		"operation.failed":    {"operationId": failed.text("id"), "operationType": "webhook-test", "status": "failed", "failureCode": "operationFailed"},
		"operation.completed": {"operationType": "provider-payment", "status": "completed"},
		"payment.updated":     {"status": "submitted"},
		"statement.published": {"statementId": statement, "listingId": listing},
		"statement.reopened":  {"statementId": statement, "listingId": listing},
	} {
		if !slices.ContainsFunc(in.messages(eventType), func(m told) bool {
			for field, value := range has {
				if m.Data[field] != value {
					return false
				}
			}

			return true
		}) {
			t.Errorf("no message %s with %v: %v", eventType, has, in.messages(eventType))
		}
	}

	// No amount and nothing personal leaves.
	for _, m := range in.messages("") {
		text := fmt.Sprint(m.Data)
		for _, secret := range []string{"30000", "Anna", "anna@example.com", "123456789", "Sandbox of ours"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s tells %s: %s", m.Type, secret, text)
			}
		}
	}

	// The timeline tells the same story with cents.
	story := w.get("/audit/events?entityType=reservation&entityId=" + stay).want(200)
	if !strings.Contains(string(story.body), "30000") {
		t.Errorf("the trail of the stay has no cents: %s", story.body)
	}

	if got := w.get("/webhooks/" + hook + "/deliveries?status=exhausted").want(200); len(got.list("data")) != 0 {
		t.Errorf("given up: %s", got.body)
	}

	if node != nil {
		eventually(t, "all told to the receiver in Node", func() bool { return node.verified() >= len(want) })

		if node.refused() > 0 {
			t.Errorf("the receiver in Node refused messages: %s", node.out)
		}
	}
}

// Events are forwarded to a developer's machine as a webhook would send them, with the same ids.
func TestListenForwardsWhatAWebhookSends(t *testing.T) {
	t.Parallel()
	w := newTill(t, 1)
	w.work()

	sent := newInbox(t)
	sent.subscribe(w.client, "audit.event.changed")

	forwarded := newInbox(t)
	forwarded.secret = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

	listener := w.spawn("", "listen", "--base-url", w.base, "--api-key", w.key, "--forward-to", forwarded.URL, "--secret", forwarded.secret)

	eventually(t, "listening", func() bool { return strings.Contains(listener.log.String(), "signing with") })

	// It begins with what happens from then on, which the first event that it forwards shows.
	var made []string

	eventually(t, "the first event forwarded", func() bool {
		made = append(made, w.post("/contacts", map[string]any{"type": "vendor", "name": "Vendor"}).want(201).text("id"))
		return len(forwarded.messages("")) > 0
	})

	last := made[len(made)-1]
	find := func(in *inbox) (ids []string) {
		for _, m := range in.messages("audit.event.changed") {
			if m.Data["entityId"] == last {
				ids = append(ids, m.ID)
			}
		}

		return ids
	}

	eventually(t, "the last event told to both", func() bool { return len(find(sent)) > 0 && len(find(forwarded)) > 0 })

	if a, b := find(sent), find(forwarded); !slices.Equal(a, b) || len(a) != 1 {
		t.Errorf("sent as %v, forwarded as %v", a, b)
	}

	if !strings.Contains(listener.log.String(), "created contact "+last) || !strings.Contains(listener.log.String(), "204 No Content") {
		t.Errorf("printed %s", listener.log)
	}
}

// nodeReceiver is a receiver in Node that verifies with the npm library standardwebhooks.
type nodeReceiver struct {
	t       *testing.T
	address string
	secret  io.Writer
	out     *buffer
}

// startNode starts the receiver in Node, nil where Node is not here.
func startNode(t *testing.T) *nodeReceiver {
	t.Helper()

	folder := filepath.Join("..", "..", "clients", "typescript")
	_, missing := exec.LookPath("node")
	_, unpacked := os.Stat(filepath.Join(folder, "node_modules", "standardwebhooks"))

	if missing != nil || unpacked != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("Node or its packages are not here")
		}

		t.Log("Node or its packages are not here: run npm ci in clients/typescript")

		return nil
	}

	cmd := exec.CommandContext(t.Context(), "node", filepath.Join("test", "receiver.mjs"))
	cmd.Dir = folder

	secret, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	lines, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = secret.Close(); _ = cmd.Wait() })

	n := &nodeReceiver{t: t, secret: secret, out: &buffer{}}
	first := bufio.NewReader(lines)

	line, err := first.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}

	var said struct{ Address string }
	if err := json.Unmarshal([]byte(line), &said); err != nil {
		t.Fatal(err)
	}

	n.address = said.Address
	go func() { _, _ = io.Copy(n.out, first) }()

	return n
}

// subscribe makes a webhook for the receiver.
func (n *nodeReceiver) subscribe(c *client) {
	n.t.Helper()

	made := c.post("/webhooks", map[string]any{"url": n.address, "eventTypes": []any{"audit.event.changed"}}).want(201)
	if _, err := fmt.Fprintln(n.secret, made.text("secret")); err != nil {
		n.t.Fatal(err)
	}

	test := c.post("/webhooks/"+made.text("id")+"/test", nil).want(202)
	if s := c.settled(test.text("operationId")); s.text("status") != "completed" {
		n.t.Fatalf("the test of the receiver in Node: %s, %s", s.body, n.out)
	}
}

// verified counts the messages that the receiver has verified.
func (n *nodeReceiver) verified() int { return strings.Count(n.out.String(), `{"verified"`) }

// refused counts those that it has refused.
func (n *nodeReceiver) refused() int { return strings.Count(n.out.String(), `{"refused"`) }

// Whatever dies while messages are made and sent, each event is told. Senders are killed with -9 at moments of chance.
//
// Proves: OPEN-22.
func TestMessagesSurviveTheirSenders(t *testing.T) {
	t.Parallel()

	const kills = 20

	w := newTill(t, 1)
	worker := w.work()
	in := newInbox(t)
	in.subscribe(w.client, "audit.event.changed")

	began := time.Now()
	seed := uint64(began.UnixNano())
	dice := rand.New(rand.NewPCG(7, seed))
	t.Logf("seed %d", seed)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()

	var (
		writers sync.WaitGroup
		written int
	)

	writers.Go(func() {
		for ; ctx.Err() == nil; written++ {
			time.Sleep(4 * time.Millisecond) // a steady load; nothing is concluded from it
			w.post("/contacts", map[string]any{"type": "vendor", "name": fmt.Sprintf("Vendor %d", written)}).want(201)
		}
	})

	for range kills {
		worker.untilReady()
		time.Sleep(time.Duration(dice.IntN(600)) * time.Millisecond) // the moment of the kill is the chance that is tried
		worker.signal(syscall.SIGKILL)
		<-worker.done

		worker = w.work()
	}

	stop()
	writers.Wait()

	want := map[string]bool{}
	for _, e := range trailSince(w.client, began) {
		want[e] = true
	}

	got := map[string]int{}

	eventually(t, "everything told", func() bool {
		clear(got)

		for _, m := range in.messages("audit.event.changed") {
			got[fmt.Sprintf("%v %v", m.Data["eventId"], m.Data["revision"])]++
		}

		for e := range want {
			if got[e] == 0 {
				return false
			}
		}

		return true
	})

	again := 0
	for e := range maps.Keys(got) {
		again += got[e] - 1
	}

	t.Logf("%d contacts, %d events, %d told again after %d kills", written, len(want), again, kills)
}
