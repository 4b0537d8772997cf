// Package apitest runs endpoints through the real edge on a real Postgres. Every test gets a fresh team, so tests run
// in parallel in one database. A mutation that declares dryRun is sent dry first: no row of the team may change and the
// status must be the real call's.
package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/migrations"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/dbtest"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// opened is the package's database; Main drops it.
type opened struct {
	db   *db.DB
	drop func()
	err  error
}

var (
	used atomic.Bool
	once = sync.OnceValue(open)
)

// open connects to the package's database, which is migrated once and watched for changes.
func open() opened {
	hash, err := migrations.Hash()
	if err != nil {
		return opened{err: err}
	}

	url, drop := dbtest.ForPackage(migrate, hash+watchHash())

	used.Store(true)

	d, err := db.Open(context.Background(), patient(url))

	return opened{db: d, drop: drop, err: err}
}

// patient returns the configuration of the tests' database. Where the service refuses a request that waits for seconds,
// a test waits: on a busy machine that is no fault. A request that waits in vain is found by the time limit of the
// statement, and one that no connection comes for by the end of the wait for it, which no machine is too slow for.
func patient(url string) db.Config {
	return db.Config{
		URL: url, MaxConnections: 16, AcquireTimeout: 5 * time.Minute, ConnectWait: time.Minute, GateWait: patience,
		RowWait: patience, StatementTimeout: 3 * time.Minute, Tracer: recorder{}, OnQueued: workers.wake,
	}
}

// Main runs a package's tests, drops their database and cleans up; call it from TestMain.
func Main(m *testing.M, cleanups ...func()) {
	code := m.Run()

	for _, cleanup := range cleanups {
		cleanup()
	}

	// Packages that used no database have none to drop.
	if used.Load() {
		o := once()
		if o.db != nil {
			o.db.Close()
		}

		o.drop()
	}

	os.Exit(code)
}

// Kind returns the kind of work with this name for tests, the same for each call.
func Kind(name string) job.Kind {
	kinds.Lock()
	defer kinds.Unlock()

	k, ok := kinds.made[name]
	if !ok {
		k = job.NewKind(name)
		kinds.made[name] = k
	}

	return k
}

var kinds = struct {
	sync.Mutex
	made map[string]job.Kind
}{made: map[string]job.Kind{}}

// DB returns the package's database, opened as the service opens it.
func DB(t testing.TB) *db.DB {
	t.Helper()

	o := once()
	if o.err != nil {
		t.Fatal(o.err)
	}

	return o.db
}

// Config says what a test serves.
type Config struct {
	Endpoints []api.Endpoint
	// Handlers are the jobs that Work runs.
	Handlers map[job.Kind]job.Handler
	// Scopes of the caller; nil holds every scope that an endpoint asks for.
	Scopes []string
	// Undescribed has the ids of test-only endpoints with answers that no description could have.
	Undescribed []string
	// Silent tests do not ask for audit events: their endpoints are not the service's.
	Silent bool
	// Audit records the action of a write; nil records one without what package audit adds.
	Audit func(tx *db.Tx, e *api.Endpoint)
	// Owner makes the caller an owner who sees one contact's listings.
	Owner *id.ID
	// DB is another database than the package's.
	DB *db.DB
	// Log receives what the edge logs; nil drops it.
	Log *slog.Logger
}

// Team is a fresh team with a caller who may do everything.
type Team struct {
	t         testing.TB
	DB        *db.DB
	ID        id.ID
	User      id.ID
	Scopes    []string
	Owner     *id.ID
	config    Config
	reach     []id.ID
	noLedger  bool
	zone      day.Zone
	server    *api.Server
	endpoints []api.Endpoint
	failures  *failures
}

// New creates a team and serves the endpoints to it. After the test it reports changes without an audit event,
// unless the configuration says otherwise.
func New(t testing.TB, c Config) *Team {
	t.Helper()

	d := c.DB
	if d == nil {
		d = DB(t)
	}

	x := &Team{
		t: t, DB: d, ID: id.New(d.Now()), User: id.New(d.Now()), Scopes: c.Scopes, Owner: c.Owner, config: c,
		endpoints: c.Endpoints, failures: newFailures(),
	}

	// Without scopes the caller may do everything that the endpoints ask for.
	if x.Scopes == nil {
		for i := range c.Endpoints {
			for _, s := range c.Endpoints[i].Scopes {
				x.Scopes = append(x.Scopes, strings.Split(s, "|")...)
			}
		}
	}

	x.serve()

	// The team and its caller, as the command line would create them.
	x.System(func(ctx context.Context, tx *db.Tx) error {
		return tx.Pipeline(ctx,
			db.Stmt{SQL: `insert into team (id, type, name, region, statement_start_at, created_at, updated_at)
				values (@id, 'propertyManager', 'Test team', 'us', '2026-01-01', @now, @now)`, Args: db.Args{"id": x.ID, "now": tx.Now}},
			db.Stmt{
				SQL:  `insert into access_user (id, kind, name, created_at) values (@user, 'service', 'Test caller', @now)`,
				Args: db.Args{"user": x.User, "now": tx.Now},
			})
	})

	t.Cleanup(x.checkExpected)

	// Every test also checks the audit trail.
	if !c.Silent {
		t.Cleanup(func() {
			if t.Failed() {
				return
			}

			for _, change := range x.Untold() {
				t.Errorf("changed without an audit event (audit.Note): %s", change)
			}
		})
	}

	return x
}

// As returns the same team for another caller: with other scopes, or an owner.
func (x *Team) As(scopes []string, owner *id.ID) *Team {
	other := *x
	other.Scopes, other.Owner, other.User = scopes, owner, id.New(x.DB.Now())
	other.serve()

	return &other
}

// In returns another team for the same caller.
func (x *Team) In(team id.ID) *Team {
	other := *x
	other.ID = team
	other.serve()

	return &other
}

// serve builds the server for the team's caller.
func (x *Team) serve() {
	log := x.config.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}

	record := x.config.Audit
	if record == nil {
		record = audit
	}

	x.server = prepare(api.Config{
		DB: x.DB, Log: log, Authenticate: x.authenticate, Refusals: refusals, Audit: record,
		CursorKey: []byte("test cursor key"),
		PublicURL: "http://127.0.0.1", Title: "test",
	}, x.endpoints)
}

// prepared are the first servers of each list of endpoints.
var prepared struct {
	sync.Mutex
	all []*api.Server
}

// prepare returns a server of the endpoints, and describes them only once for all teams of the package.
func prepare(c api.Config, endpoints []api.Endpoint) *api.Server {
	prepared.Lock()
	defer prepared.Unlock()

	for _, s := range prepared.all {
		if again := s.Again(c, endpoints); again != nil {
			return again
		}
	}

	s := api.NewServer(c, endpoints)
	prepared.all = append(prepared.all, s)

	return s
}

// Server returns the server of the team's requests, for a test that serves it on a listener.
func (x *Team) Server() *api.Server { return x.server }

// authenticate replaces package access, which has tests of its own.
func (x *Team) authenticate(_ context.Context, _ *http.Request, e *api.Endpoint) (db.Scope, error) {
	scope := x.Scope()

	kind := api.User
	if x.Owner != nil {
		kind = api.Owner
	}

	// The kind of the caller must be admitted before its scopes count.
	if !e.Public && !slices.Contains(e.Credentials(), kind) {
		return db.Scope{}, apierr.RouteClosed
	}

	for _, s := range e.Scopes {
		// Each entry is a choice: one of its scopes is enough.
		held := false
		for alternative := range strings.SplitSeq(s, "|") {
			held = held || scope.Actor.Has(alternative)
		}

		if !held {
			return db.Scope{}, apierr.MissingScope.With(map[string]any{"requiredScopes": e.Scopes})
		}
	}

	return scope, nil
}

func refusals(*api.Endpoint) apierr.List { return apierr.List{apierr.RouteClosed, apierr.MissingScope} }

// audit returns the statement that inserts the action of a write.
func audit(tx *db.Tx, e *api.Endpoint) {
	tx.AtEnd(db.Stmt{
		SQL: `insert into audit_action (team_id, id, actor_id, endpoint, request_id, created_at) values (@team, @id, @actor, @endpoint, @request, @now)`,
		Args: db.Args{
			"team": tx.Team, "id": tx.Action, "actor": tx.Actor.User, "endpoint": e.ID,
			"request": tx.RequestID, "now": tx.Now,
		},
	})
}

// Reach lets the team's caller reach further teams, as a key of several teams or a partner's would.
func (x *Team) Reach(teams ...id.ID) { x.reach = append(x.reach, teams...) }

// Scope returns the scope of the team's caller.
func (x *Team) Scope() db.Scope {
	return db.Scope{Team: x.ID, NoLedger: x.noLedger, Zone: x.zone, Actor: db.Actor{
		User: x.User, Scopes: x.Scopes,
		Owner: x.Owner, Teams: append([]id.ID{x.ID}, x.reach...),
	}}
}

// KeepLedger has the team keep a general ledger, as new ones do, or none.
func (x *Team) KeepLedger(keep bool) {
	x.t.Helper()
	x.Exec(`update team set is_general_ledger = @keep where team_id = @team`, db.Args{"keep": keep})

	x.noLedger = !keep
}

// SetZone has the days of the team be those of a time zone, in requests and in jobs. They are those of UTC before.
func (x *Team) SetZone(zone day.Zone) {
	x.t.Helper()
	x.Exec(`update team set time_zone = @zone where team_id = @team`, db.Args{"zone": string(zone)})

	x.zone = zone
}

// Tx runs work in the team's scope and commits it, also if the team is frozen.
func (x *Team) Tx(work db.Work) {
	x.t.Helper()

	scope := x.Scope()
	scope.Frozen = true

	if err := x.DB.Write(x.t.Context(), scope, SetUp(work)); err != nil {
		x.t.Fatal(err)
	}
}

// System runs work across teams and commits it.
func (x *Team) System(work db.Work) {
	x.t.Helper()

	if err := x.DB.Write(x.t.Context(), db.AcrossTeams(), SetUp(work)); err != nil {
		x.t.Fatal(err)
	}
}

// Exec runs one statement in the team's scope; @team is the team.
func (x *Team) Exec(sql string, args db.Args) {
	x.t.Helper()

	if args == nil {
		args = db.Args{}
	}

	if strings.Contains(sql, "@team") {
		args["team"] = x.ID
	}

	// Tx fails the test if the statement fails.
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, sql, args)
		return err
	})
}

// Get sends GET.
func (x *Team) Get(path string, headers ...string) *Response {
	x.t.Helper()
	return x.Call(http.MethodGet, path, nil, headers...)
}

// Post sends POST with a JSON body: a value to encode, or a string or a reader to send as it is.
func (x *Team) Post(path string, body any, headers ...string) *Response {
	x.t.Helper()
	return x.Call(http.MethodPost, path, body, headers...)
}

// Put sends PUT.
func (x *Team) Put(path string, body any, headers ...string) *Response {
	x.t.Helper()
	return x.Call(http.MethodPut, path, body, headers...)
}

// Patch sends PATCH.
func (x *Team) Patch(path string, body any, headers ...string) *Response {
	x.t.Helper()
	return x.Call(http.MethodPatch, path, body, headers...)
}

// Delete sends DELETE.
func (x *Team) Delete(path string, headers ...string) *Response {
	x.t.Helper()
	return x.Call(http.MethodDelete, path, nil, headers...)
}

// Call sends a request; headers are name, value pairs. A mutation that declares dryRun is first sent as a dry run,
// unless it is one.
func (x *Team) Call(method, path string, body any, headers ...string) *Response {
	x.t.Helper()

	if x.declaresDryRun(method, path) && !strings.Contains(path, "dryRun=") {
		dry := x.dryFirst(method, path, body, headers)

		// The dry run must have answered with the same status.
		kept := x.send(method, path, body, headers)
		if kept.Status != dry.Status {
			x.t.Errorf("%s %s: dry run answered %d %s, the real call %d %s", method, path, dry.Status, dry.Body,
				kept.Status, kept.Body)
		}

		// A refused deletion must suggest what works.
		if method == http.MethodDelete && kept.Status == http.StatusBadRequest && kept.Has("context.lockReasons") {
			x.holdToSuggestion(path, kept, headers)
		}

		return kept
	}

	return x.send(method, path, body, headers)
}

// dryFirst sends a request as a dry run and checks that it changes no row.
func (x *Team) dryFirst(method, path string, body any, headers []string) *Response {
	x.t.Helper()

	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}

	// All rows of the team before and after must be the same.
	before := x.Fingerprint()

	dry := x.send(method, path+separator+"dryRun=true", body, headers)
	if after := x.Fingerprint(); after != before {
		x.t.Errorf("%s %s: the dry run changed rows:\n%s\n%s", method, path, before, after)
	}

	// A dry run has no audit events to wait for, and says so.
	if dry.Status < http.StatusBadRequest {
		if dry.Header.Get("X-Service-Audit-Should-Poll") != "false" ||
			dry.Header.Get("X-Service-Audit-Action-Id") != "" {
			x.t.Errorf("%s %s: dry run audit headers: %v", method, path, dry.Header)
		}
	}

	return dry
}

// holdToSuggestion checks a refused deletion: the outcome that context.suggestedOnLocked names must work, and if
// none is named, none must work (ERR-74, ERR-79).
func (x *Team) holdToSuggestion(path string, refused *Response, headers []string) {
	x.t.Helper()

	to, err := url.Parse(path)
	if err != nil {
		x.t.Fatal(err)
	}

	// Without a suggestion archiving must fail too.
	named, outcome := refused.Has("context.suggestedOnLocked"), "archive"
	if named {
		outcome = refused.String("context.suggestedOnLocked")
	}

	works := false

	for _, parameter := range []string{"onLocked", "outcome"} { // connections have the second
		values := to.Query()

		// As a dry run, because the test goes on with the record.
		values.Set("dryRun", "true")
		values.Set(parameter, outcome)

		if refused.Has("context.suggestedOnLast") {
			values.Set("onLast", refused.String("context.suggestedOnLast"))
		}

		works = works || x.send(http.MethodDelete, to.Path+"?"+values.Encode(), nil,
			headers).Status < http.StatusBadRequest
	}

	if works != named {
		x.t.Errorf("DELETE %s: %s is suggested: %v; it works: %v; refused with %s", path, outcome, named, works,
			refused.Body)
	}
}

func (x *Team) declaresDryRun(method, path string) bool {
	e := x.server.Find(method, path)
	if e != nil && DryRuns(e) && !e.DryRun {
		x.t.Errorf("%s %s offers no dry run, which the contract has it do", method, path)
	}

	return e != nil && e.DryRun
}

// Fingerprint returns a sum of every row of the team in every table.
func (x *Team) Fingerprint() string {
	x.t.Helper()

	sums, err := Fingerprint(x.t.Context(), x.DB, x.ID)
	if err != nil {
		x.t.Fatal(err)
	}

	return sums
}

// Fingerprint returns a sum of every row of a team in every table, a line for each table that has some.
func Fingerprint(ctx context.Context, d *db.DB, team id.ID) (string, error) {
	var out strings.Builder

	err := d.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		// Every table that has rows of teams, so that new tables are compared too.
		tables, err := db.Select[string](ctx, tx, `
			select c.table_name::text from information_schema.columns c
			join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
			where c.table_schema = 'public' and c.column_name = 'team_id' and t.table_type = 'BASE TABLE' order by 1`, nil)
		if err != nil {
			return err
		}

		// A mistake in the query above would make every comparison succeed.
		if len(tables) < 10 {
			return errors.New("too few tables to compare")
		}

		// One statement for all tables; empty ones are left out.
		parts := make([]string, len(tables))
		for i, table := range tables {
			parts[i] = fmt.Sprintf(`select '%[1]s ' || count(*) || ' ' || coalesce(sum(hashtextextended(t::text, 0)), 0) from %[1]s t where team_id = @team having count(*) > 0`, table)
		}

		sums, err := db.Select[string](ctx, tx, strings.Join(parts, " union all "), db.Args{"team": team})
		out.WriteString(strings.Join(sums, "\n"))

		return err
	})

	return out.String(), err
}

// send sends a request and checks the envelope, the audit headers and the description of the answer.
func (x *Team) send(method, path string, body any, headers []string) *Response {
	x.t.Helper()

	// A text is sent as it is, so that tests can send malformed JSON.
	var reader io.Reader

	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	case io.Reader:
		reader = b
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			x.t.Fatal(err)
		}

		reader = bytes.NewReader(encoded)
	}

	// Record the statements that the request sends to the database.
	sent := &Sent{}

	r := httptest.NewRequestWithContext(context.WithValue(x.t.Context(), sentKey{}, sent), method, path, reader)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}

	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}

	// Every answer of every test must be as the description says.
	w := httptest.NewRecorder()
	x.server.ServeHTTP(w, r)
	answer := &Response{
		t: x.t, Status: w.Code, Header: w.Header(), Body: w.Body.Bytes(), call: method + " " + path,
		Sent: sent,
	}
	answer.checkEnvelope()
	x.checkAudit(method, path, answer)

	if e := x.server.Find(method, path); e != nil && !slices.Contains(x.config.Undescribed, e.ID) {
		if err := x.server.Conforms(e, answer.Status, answer.Body); err != nil {
			x.t.Errorf("%s %s: %v: %s", method, path, err, answer.Body)
		}
	}

	return answer
}

// checkAudit checks the audit headers of every mutation that needs a credential (AUD-10, AUD-11).
func (x *Team) checkAudit(method, path string, answer *Response) {
	x.t.Helper()

	e := x.server.Find(method, path)
	if e == nil || !e.Mutates() || e.Public || answer.Status >= http.StatusBadRequest {
		return
	}

	kept := !strings.Contains(path, "dryRun=true")
	if h := answer.Header; h.Get("X-Service-Audit-Should-Poll") == "" ||
		(h.Get("X-Service-Audit-Action-Id") != "") != kept {
		x.t.Errorf("%s %s: audit headers: %v", method, path, h)
	}
}
