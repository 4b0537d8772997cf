package delivery_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/access"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/provider/mail"
	"stayledger/test/world"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type (
	object = world.Object
	array  = world.Array
)

// outbox is a mail server that a test can script: it keeps what it takes.
type outbox struct {
	mu   sync.Mutex
	took []mail.Message
	// answer is asked for every message, from the first one (0); nil takes it.
	answer func(n int) error
}

func (o *outbox) Send(_ context.Context, m mail.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.took = append(o.took, m)
	if o.answer == nil {
		return nil
	}

	return o.answer(len(o.took) - 1)
}

func (o *outbox) messages() []mail.Message {
	o.mu.Lock()
	defer o.mu.Unlock()

	return slices.Clone(o.took)
}

// fixture is a team with a villa of Ada and Ben and a hut of Cleo, with January published, before the real gate as
// well.
type fixture struct {
	*world.World
	t             *testing.T
	box           *outbox
	outside       app.External
	ada, ben      id.ID
	cleo          id.ID
	villa, hut    world.Listing
	january, hers id.ID // the statements of the villa and the hut
	server        *api.Server
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, box: &outbox{}}
	f.World = world.New(t, func(o *app.External) {
		o.Mail = f.box
		f.outside = *o
	})
	f.ada, f.ben, f.cleo = f.Contact("owner", "Ada"), f.Contact("owner", "Ben"), f.Contact("owner", "Cleo")
	f.villa, f.hut = f.Listing("Villa", f.ada, f.ben), f.Listing("Hut", f.cleo)
	f.Stay(f.villa, "2026-01-09", 123_400)
	f.Stay(f.hut, "2026-01-10", 50_000)
	f.Expense(f.villa, "2026-01-20", 2_300)
	f.Publish("2026-01", f.villa, f.hut)
	f.january, f.hers = f.Statement(f.villa, "2026-01"), f.Statement(f.hut, "2026-01")
	f.serve(0)

	return f
}

// serve puts the service behind a fresh gate, as a restart does; it remembers credentials for so long, a moment when
// that is zero.
func (f *fixture) serve(remember time.Duration) {
	if remember == 0 {
		remember = time.Nanosecond
	}

	gate := access.NewGate(access.Config{DB: f.DB, Remember: remember, Regions: map[access.Region]string{"us": "http://127.0.0.1"}})
	f.server = api.NewServer(api.Config{
		DB: f.DB, Log: slog.New(slog.DiscardHandler), Authenticate: gate.Authenticate, Audit: audit.Record, CursorKey: world.Keys,
		PublicURL: "http://127.0.0.1", Title: "test",
	}, app.Parts(f.outside, app.Config{PublicURL: "http://127.0.0.1"}).Endpoints)
}

// link makes a link to a statement and gives its secret.
func (f *fixture) link(statement, contact id.ID) string {
	f.t.Helper()

	_, token, found := strings.Cut(f.Post("/statements/"+statement.String()+"/owner-links", object{"contactId": contact}).Want(201).String("url"), "/owner#")
	if !found {
		f.t.Fatal("a link without a fragment")
	}

	return token
}

type answer struct {
	t      *testing.T
	call   string
	status int
	header http.Header
	body   string
}

// call sends a request through the real gate with a bearer token, none when it is empty. Headers are name, value pairs.
func (f *fixture) call(method, path, token, body string, headers ...string) *answer {
	f.t.Helper()

	r := httptest.NewRequestWithContext(f.t.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}

	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}

	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}

	w := httptest.NewRecorder()
	f.server.ServeHTTP(w, r)

	return &answer{t: f.t, call: method + " " + path, status: w.Code, header: w.Header(), body: w.Body.String()}
}

func (f *fixture) exchange(token string) *answer {
	f.t.Helper()

	body, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		f.t.Fatal(err)
	}

	return f.call("POST", "/owner-statement-links/exchange", "", string(body))
}

// session exchanges a link and gives the access token.
func (f *fixture) session(link string) string {
	f.t.Helper()

	token, _ := f.exchange(link).want(200).tree()["accessToken"].(string)
	if token == "" {
		f.t.Fatal("no access token")
	}

	return token
}

func (a *answer) want(status int) *answer {
	a.t.Helper()

	if a.status != status {
		a.t.Fatalf("%s answered %d, want %d: %s", a.call, a.status, status, a.body)
	}

	return a
}

// refused fails unless the answer is the envelope of a code, with a request id.
func (a *answer) refused(code apierr.Code, message string) {
	a.t.Helper()
	a.want(code.Status())

	tree := a.tree()
	if tree["code"] != string(code) || message != "" && tree["message"] != message || a.header.Get("X-Request-Id") == "" {
		a.t.Errorf("%s: want %s %q: %s %v", a.call, code, message, a.body, a.header)
	}
}

func (a *answer) tree() map[string]any {
	a.t.Helper()

	var tree map[string]any
	if err := json.Unmarshal([]byte(a.body), &tree); err != nil {
		a.t.Fatalf("%s: %v: %s", a.call, err, a.body)
	}

	return tree
}

// ids are the ids of a list.
func (a *answer) ids() []string {
	a.t.Helper()

	var list struct{ Data []struct{ ID string } }
	if err := json.Unmarshal([]byte(a.want(200).body), &list); err != nil {
		a.t.Fatal(err)
	}

	out := []string{}
	for _, s := range list.Data {
		out = append(out, s.ID)
	}

	slices.Sort(out)

	return out
}

// rows are the rows of tables as text, over all teams, as somebody with the database would read them.
func (f *fixture) rows(tables ...string) string {
	f.t.Helper()

	var all []string

	f.System(func(ctx context.Context, tx *db.Tx) error {
		for _, table := range tables {
			rows, err := db.Select[string](ctx, tx, `select encode(convert_to(x::text, 'UTF8'), 'escape') from `+table+` x where team_id = @team`, db.Args{"team": f.ID})
			if err != nil {
				return err
			}

			all = append(all, rows...)
		}

		return nil
	})

	return strings.Join(all, "\n")
}
