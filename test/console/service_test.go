package console_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/migrations"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/dbtest"
	"stayledger/platform/id"
	"stayledger/web"
)

type (
	object = map[string]any
	array  = []any
)

// service is the whole service on a loopback port, without workers: what is queued stays so until work starts some.
type service struct {
	app    *app.App
	config app.Config
	base   string
}

// serve starts a service; the changes are those of its configuration.
func serve(t *testing.T, changes ...func(*app.Config)) *service {
	t.Helper()

	hash, err := migrations.Hash()
	if err != nil {
		t.Fatal(err)
	}

	migrate := func(ctx context.Context, url string) error {
		_, err := app.Migrate(ctx, url)
		return err
	}
	database := dbtest.URL(t, migrate, hash)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	s := &service{base: "http://" + listener.Addr().String(), config: app.Config{
		DatabaseURL: database, Listen: listener.Addr().String(), Regions: []string{"us"}, LocalProviders: true, DataDir: t.TempDir(), MaxConnections: 12,
		SecretKeys: []string{base64.StdEncoding.EncodeToString([]byte("test keys of at least 32 bytes, not for use"))}, ShutdownGrace: 5 * time.Second, KeepOperations: time.Hour,
	}}
	for _, change := range changes {
		change(&s.config)
	}

	s.app = s.run(t, s.config, listener)

	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()

	for late := time.After(patience); ; {
		answer := s.fetch(t, "/readyz", "")

		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return s
		}

		select {
		case <-late:
			t.Fatalf("the service is not ready after %s", patience)
		case <-tick.C:
		}
	}
}

// work adds a process that works on jobs until the test ends.
func (s *service) work(t *testing.T) {
	t.Helper()

	c := s.config
	c.Workers = 2
	s.run(t, c, nil)
}

func (s *service) run(t *testing.T, c app.Config, listener net.Listener) *app.App {
	t.Helper()

	a, err := app.Open(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background()) // the test's own context ends before its cleanups

	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, listener) }()

	t.Cleanup(func() {
		stop()

		if err := <-ended; err != nil {
			t.Errorf("the service ended with %v", err)
		}

		a.Close()
	})

	return a
}

// across changes the database as the command line does.
func (s *service) across(t *testing.T, work db.Work) {
	t.Helper()

	if err := s.app.DB.Write(t.Context(), db.AcrossTeams(), work); err != nil {
		t.Fatal(err)
	}
}

// office is a team with a key that may do everything.
type office struct {
	*service
	t    *testing.T
	name string
	id   id.ID
	key  string
}

func (s *service) office(t *testing.T, name string) *office {
	t.Helper()
	o := &office{service: s, t: t, name: name}
	start := day.Of(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

	s.across(t, func(ctx context.Context, tx *db.Tx) (err error) {
		o.id, err = team.Create(ctx, tx, team.New{Name: name, Type: team.PropertyManager, Region: "us", StatementStartAt: &start})
		return err
	})
	o.key = s.keyOf(t, o)
	o.call("PATCH", "/teams/"+o.id.String()+"/init", object{}, 200)

	return o
}

// keyOf issues a key that reaches some teams.
func (s *service) keyOf(t *testing.T, offices ...*office) string {
	t.Helper()

	n := access.NewKey{Scopes: access.Scopes()}
	for _, o := range offices {
		n.Teams = append(n.Teams, o.id)
	}

	var secret string

	s.across(t, func(ctx context.Context, tx *db.Tx) error {
		k, err := access.IssueKey(ctx, tx, n)
		if err == nil {
			secret = k.Secret
		}

		return err
	})

	return secret
}

// send sends a request with the key of the office, and returns the status and the answer.
func (o *office) send(method, path string, content []byte) (status int, text []byte) {
	o.t.Helper()

	r, err := http.NewRequestWithContext(o.t.Context(), method, o.base+path, bytes.NewReader(content))
	if err != nil {
		o.t.Fatal(err)
	}

	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("x-api-key", o.key)

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}

	defer func() { _ = answer.Body.Close() }()

	if text, err = io.ReadAll(answer.Body); err != nil {
		o.t.Fatal(err)
	}

	return answer.StatusCode, text
}

// call asks the API with the office's key and gives the answer.
func (o *office) call(method, path string, body any, status int) object {
	o.t.Helper()

	content, err := json.Marshal(body)
	if err != nil {
		o.t.Fatal(err)
	}

	got, text := o.send(method, path, content)
	if got != status {
		o.t.Fatalf("%s %s: %d %s", method, path, got, text)
	}

	var out object
	if err := json.Unmarshal(text, &out); err != nil {
		o.t.Fatal(err)
	}

	return out
}

// hostile is a name that an attacker would give a listing.
const hostile = `<img src=x onerror="window.hit=1"><script>window.hit=1</script>`

// books gives the office two owners, the hostile listing with a stay of 1,234.56, a fee-free January that is published
// and a plain listing.
func (o *office) books() {
	o.t.Helper()

	people := array{}

	for _, name := range []string{"Ann " + hostile, "Ben Brandt"} {
		owner := o.call("POST", "/contacts", object{"type": "owner", "name": name}, 201)["id"]
		people = append(people, object{"contactId": owner, "split": 50000})
	}

	for _, name := range []string{hostile, "Beach House"} {
		listing := o.call("POST", "/listings", object{"name": name, "initialOwnership": object{"members": people}}, 201)["id"]
		stay := o.call("POST", "/reservations", object{
			"listingId": listing, "checkIn": "2026-01-05", "checkOut": "2026-01-09", "bookedAt": "2026-01-02", "guestName": "Grace " + hostile,
			"confirmationCode": "HM1", "lines": array{object{"type": "rent", "amount": 123456}},
		}, 201)["id"]
		o.call("POST", "/transactions", object{
			"type": "deposit", "date": "2026-01-05", "lines": array{object{"assignment": "accountsReceivable", "amount": 123456, "reservationId": stay}},
		}, 201)
	}

	o.call("POST", "/statements", object{"month": "2026-01", "status": "published"}, 201)
}

// settled puts operations that have ended in the team's past, oldest first: failed ones have a code.
func (o *office) settled(n int, failure string) {
	o.t.Helper()
	o.across(o.t, func(ctx context.Context, tx *db.Tx) error {
		ids := make([]id.ID, n)
		for i := range ids {
			ids[i] = id.New(tx.Now.Add(time.Duration(i-n) * time.Minute))
		}

		_, err := tx.Exec(ctx, `
			insert into operation (team_id, id, type, status, initiated_by, failure_code, tasks_open, created_at, started_at, finished_at)
			select @team, x, 'transaction-journal-refresh', case when @code::text = '' then 'completed' else 'failed' end, x, nullif(@code::text, ''), 0,
				@now::timestamptz, @now::timestamptz, @now::timestamptz + interval '4 seconds'
			from unnest(@ids::uuid[]) x`, db.Args{"team": o.id, "ids": ids, "code": failure, "now": tx.Now})

		return err
	})
}

// advance says of the running operations of the office that they are so far.
func (o *office) advance(done, total int64) {
	o.t.Helper()
	o.across(o.t, func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `
			update operation set status = 'running', started_at = @now where team_id = @team and status = 'queued'`, db.Args{"team": o.id, "now": tx.Now}); err != nil {
			return err
		}

		_, err := tx.Exec(ctx, `
			insert into operation_progress (team_id, operation_id, done, total, updated_at)
			select team_id, id, @done, @total, @now from operation where team_id = @team and status = 'running'
			on conflict (team_id, operation_id) do update set done = excluded.done, updated_at = excluded.updated_at`,
			db.Args{"team": o.id, "done": done, "total": total, "now": tx.Now})

		return err
	})
}

// revoke ends all keys of the office.
func (o *office) revoke() {
	o.t.Helper()
	o.across(o.t, func(ctx context.Context, tx *db.Tx) error {
		keys, err := access.Keys(ctx, tx, o.id)
		if err != nil {
			return err
		}

		for _, k := range keys {
			if _, err := access.RevokeKey(ctx, tx, k.ID); err != nil {
				return err
			}
		}

		return nil
	})
}

// What opens first must be light; the other places are fetched when somebody goes there.
func TestConsoleIsServedWithValidatorsAndAPolicy(t *testing.T) {
	t.Parallel()
	s := serve(t)

	assets, err := web.Console()
	if err != nil {
		t.Fatal(err)
	}

	first, later, records, imports, months := 0, 0, 0, 0, 0

	for _, asset := range assets {
		fresh := s.fetch(t, asset.Path, "")

		body, err := io.ReadAll(fresh.Body)
		if err != nil {
			t.Fatal(err)
		}

		_ = fresh.Body.Close()

		switch asset.Path {
		case "/console/exports.js", "/console/fields.js", "/console/statements.js", "/console/months.js":
			later += len(body)
		case "/console/monthend.js", "/console/monthend.css":
			months += len(body)
		case "/console/webhooks.js", "/console/trail.js":
			records += len(body)
		case "/console/imports.js", "/console/imports.css", "/console/importcolumns.js", "/console/importrows.js":
			imports += len(body)
		default:
			first += len(body)
		}

		policy := fresh.Header.Get("Content-Security-Policy")
		if fresh.StatusCode != 200 || fresh.Header.Get("Content-Type") != asset.ContentType || fresh.Header.Get("Cache-Control") != "no-cache" ||
			fresh.Header.Get("X-Content-Type-Options") != "nosniff" || fresh.Header.Get("Referrer-Policy") != "no-referrer" ||
			!strings.Contains(policy, "script-src 'self';") || !strings.Contains(policy, "connect-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d %v", asset.Path, fresh.StatusCode, fresh.Header)
		}

		again := s.fetch(t, asset.Path, fresh.Header.Get("ETag"))

		_ = again.Body.Close()
		if again.StatusCode != 304 {
			t.Errorf("%s: %d for what the browser has", asset.Path, again.StatusCode)
		}
	}

	if first > 50_000 || first+later > 72_500 || records > 10_500 || imports > 40_000 || months > 8_000 {
		t.Errorf("the console weighs %d bytes at first, %d with exports and statements; webhooks and history weigh %d, imports %d, the end of a month %d",
			first, first+later, records, imports, months)
	}
}

func (s *service) fetch(t *testing.T, path, tag string) *http.Response {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}

	if tag != "" {
		r.Header.Set("If-None-Match", tag)
	}

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}

	return answer
}
