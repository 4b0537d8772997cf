package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"stayledger/domain/property/contact"
	"stayledger/domain/record/trail"
	"stayledger/domain/tenant/team"
	"stayledger/domain/tenant/webhook"
	"stayledger/platform/apitest"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type object = map[string]any

// world is a team that can subscribe, and a real HTTP receiver.
type world struct {
	*apitest.Team
	t        *testing.T
	config   webhook.Config
	receiver *receiver
}

// message is what the receiver got.
type message struct {
	header http.Header
	body   []byte
	object
}

// receiver keeps what it gets, and answers as the script says: 204 without one.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []message
	answer http.HandlerFunc
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()

	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		m := message{header: q.Header, body: body}
		_ = json.Unmarshal(body, &m.object)

		r.mu.Lock()
		r.got = append(r.got, m)
		answer := r.answer
		r.mu.Unlock()

		if answer != nil {
			answer(w, q)
			return
		}

		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(r.Close)

	return r
}

// script sets how the receiver answers from now on.
func (r *receiver) script(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.answer = answer
}

// status has the receiver answer with a status.
func (r *receiver) status(status int) {
	r.script(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// take returns what the receiver got since it was last asked, of one type, or all for "".
func (r *receiver) take(eventType string) (out []message) {
	r.mu.Lock()
	defer r.mu.Unlock()

	for _, m := range r.got {
		if eventType == "" || m.object["type"] == eventType {
			out = append(out, m)
		}
	}

	r.got = nil

	return out
}

func newWorld(t *testing.T) *world {
	t.Helper()

	box, err := seal.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}

	w := &world{t: t, receiver: newReceiver(t), config: webhook.Config{Box: box, Private: true, Within: 15 * time.Second}}
	w.serve()

	return w
}

// serve makes the team, with the present configuration of webhooks.
func (w *world) serve() {
	w.t.Helper()

	part := webhook.Part(w.config)
	teams := team.Part(team.Config{Waits: parts.Waits(part)})
	w.Team = apitest.New(w.t, apitest.Config{
		Endpoints: append(append(part.Endpoints, contact.Part(w.config.Box).Endpoints...), append(teams.Endpoints, trail.Part().Endpoints...)...), Handlers: part.Handlers,
		Log: slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	})
	w.config.Only = []id.ID{w.ID}
}

// issues returns the codes of what waits for a person in the team, with the reason of each.
func (w *world) issues() (out []string) {
	w.t.Helper()

	var list struct {
		Data []struct {
			Code    string
			Context struct{ Reason string }
		}
	}

	w.Get("/teams/issues?code=webhookDisabled").Want(http.StatusOK).Into(&list)

	for _, i := range list.Data {
		out = append(out, i.Code+" "+i.Context.Reason)
	}

	return out
}

// subscribe makes a webhook that is pending.
func (w *world) subscribe(types ...string) *apitest.Response {
	w.t.Helper()
	return w.Post("/webhooks", object{"url": w.receiver.URL + "/hook", "eventTypes": types}).Want(http.StatusCreated)
}

// active makes a webhook and has its receiver take a test.
func (w *world) active(types ...string) id.ID {
	w.t.Helper()

	hook := w.subscribe(types...).ID("id")
	w.verify(hook)

	return hook
}

// verify has the receiver of a webhook take a test.
func (w *world) verify(hook id.ID) {
	w.t.Helper()
	w.Post("/webhooks/"+hook.String()+"/test", nil).Want(http.StatusAccepted)
	w.Work()
	w.receiver.take("")
}

// send makes and sends what is due.
func (w *world) send() {
	w.t.Helper()
	w.config.SendDue(w.t, w.DB)
}

// addContact creates a contact, which is told as an event.
func (w *world) addContact(name string) id.ID {
	w.t.Helper()
	return w.Post("/contacts", object{"type": "vendor", "name": name}).Want(http.StatusCreated).ID("id")
}

// deliveries returns the messages of a webhook of some types.
func (w *world) deliveries(hook id.ID, query string) *apitest.Response {
	w.t.Helper()
	return w.Get("/webhooks/" + hook.String() + "/deliveries?" + query).Want(http.StatusOK)
}

type (
	ctx       = context.Context
	addresses = []netip.Addr
	response  = apitest.Response
)

var errUnknownName = errors.New("no such name")
