package access_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	whole "stayledger/test/world"
)

const portal = "https://us.example.com"

// described is a server of the whole service, from which others take the description.
var described = sync.OnceValue(func() *api.Server {
	return api.NewServer(api.Config{Title: "test"}, app.Parts(app.External{}, serving).Endpoints)
})

var serving = app.Config{PublicURL: portal, Regions: []string{"us", "ca"}}

// embedding is a partner with a customer, before the whole service.
type embedding struct {
	*world

	ahead          *atomic.Int64 // of the time, in a database of the test's own
	own            *db.DB
	partner, team  id.ID
	key            string
	books          *whole.World
	january, other id.ID // published statements of the customer
	draft          id.ID
}

// newEmbedding returns a partner whose customer has no books. Credentials are looked up for each request.
func newEmbedding(t *testing.T) *embedding {
	t.Helper()

	e := &embedding{world: &world{t: t, db: apitest.DB(t)}}
	e.begin()

	return e
}

// newTimedEmbedding returns one at a time that the test sets.
func newTimedEmbedding(t *testing.T) *embedding {
	t.Helper()

	ahead := &atomic.Int64{}

	d, err := db.Open(t.Context(), db.Config{
		URL: apitest.Database(t), Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	e := &embedding{world: &world{t: t, db: d}, ahead: ahead, own: d}
	e.begin()

	return e
}

func (e *embedding) begin() {
	e.t.Helper()
	e.serve(time.Nanosecond)
	e.partner = e.world.partner("us")
	e.team, e.key = e.world.team("us", e.partner), e.partnerKey(e.partner)
}

// serve puts the service behind a gate that remembers credentials for some time.
func (e *embedding) serve(remember time.Duration, changes ...func(*app.Config)) {
	c := serving
	for _, change := range changes {
		change(&c)
	}

	e.gate = access.NewGate(access.Config{
		DB: e.db, Remember: remember, Regions: map[access.Region]string{"us": portal, "ca": portal}, Elsewhere: map[access.Region]string{"eu": elsewhere},
	})
	e.server = described().Again(api.Config{
		DB: e.db, Log: slog.New(slog.DiscardHandler), Authenticate: e.gate.Authenticate, Refusals: access.Refusals, Audit: audit.Record,
		CursorKey: []byte("test cursor key"), PublicURL: portal, Title: "test",
	}, app.Parts(app.External{}, c).Endpoints)
}

// keepBooks makes the customer one with two houses, of which January is published and February a draft.
func (e *embedding) keepBooks() {
	e.t.Helper()

	e.books = whole.In(e.t, e.own)
	e.team = e.books.ID
	villa, hut := e.books.Listing("Villa", e.books.Contact("owner", "Ada")), e.books.Listing("Hut", e.books.Contact("owner", "Ben"))
	e.books.Stay(villa, "2026-01-09", 123_400)
	e.books.Publish("2026-01", villa, hut)
	e.january, e.other, e.draft = e.books.Statement(villa, "2026-01"), e.books.Statement(hut, "2026-01"), e.books.Statement(villa, "2026-02")
	e.settle(`update team set partner_id = @partner where id = @team`, db.Args{"partner": e.partner, "team": e.team})
}

// settle changes what a test starts from, or what the work of another package would.
func (e *embedding) settle(sql string, args db.Args) {
	e.t.Helper()

	if err := e.db.Write(e.t.Context(), db.AcrossTeams(), apitest.SetUp(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, sql, args)
		return err
	})); err != nil {
		e.t.Fatal(err)
	}
}

type fields = map[string]any

// ask is the body of a session of the customer with some other fields; one that is nil is left out.
func (e *embedding) ask(other fields) string {
	body := fields{"teamId": e.team, "view": "report", "allowedOrigins": []string{"https://app.example.com"}}
	for name, v := range other {
		if body[name] = v; v == nil {
			delete(body, name)
		}
	}

	text, err := json.Marshal(body)
	if err != nil {
		e.t.Fatal(err)
	}

	return string(text)
}

func (e *embedding) make(other fields) *answer {
	e.t.Helper()
	return e.post("POST", "/partner/embed-sessions", e.key, e.ask(other))
}

// open makes a session and returns its id and code.
func (e *embedding) open(other fields) (session, code string) {
	e.t.Helper()

	url := fmt.Sprint(e.make(other).want(201).tree()["url"])

	session, code, found := strings.Cut(strings.TrimPrefix(url, portal+"/embed/"), "#code=")
	if _, err := id.Parse(session); err != nil || !found || !strings.HasPrefix(url, portal) {
		e.t.Fatalf("the address is %s", url)
	}

	return session, code
}

func (e *embedding) exchange(code string, headers ...string) *answer {
	e.t.Helper()
	return e.post("POST", "/embed-sessions/exchange", "", `{"code":"`+code+`"}`, headers...)
}

// token makes a session, exchanges its code and returns the token.
func (e *embedding) token(other fields) string {
	e.t.Helper()

	_, code := e.open(other)

	return fmt.Sprint(e.exchange(code).want(200).tree()["accessToken"])
}

// embedded returns the token of a session that a partner shows of a team.
func (w *world) embedded(partner, customer id.ID, view string) string {
	w.t.Helper()

	e := &embedding{world: w, partner: partner, team: customer, key: w.partnerKey(partner)}
	before := w.server

	defer func() { w.server = before }()

	e.serve(time.Hour)

	return e.token(fields{"view": view})
}

const report = "/reports/trial-balance?startDate=2026-01-01&endDate=2026-01-31"

// Proves: AUTH-03, AUTH-27, AUTH-28, AUTH-29.
func TestAPartnerShowsReportsOrStatements(t *testing.T) {
	t.Parallel()
	e := newEmbedding(t)
	e.keepBooks()

	for _, c := range []struct {
		name   string
		ask    fields
		reads  []string
		closed []string // to the view
		gone   []string // for the session
	}{
		{"report", fields{}, []string{report, "/reports/journal-entries"}, []string{"/statements", "/reports/manager-statements"}, nil},
		{
			"statements",
			fields{"view": "statement"},
			[]string{"/statements", "/statements/" + e.january.String(), "/statements/" + e.other.String(), "/reports/manager-statements"},
			[]string{report},
			[]string{"/statements/" + e.draft.String()},
		},
		{
			"one statement",
			fields{"view": "statement", "resourceId": e.january},
			[]string{"/statements", "/statements/" + e.january.String()},
			[]string{report, "/reports/manager-statements"},
			[]string{"/statements/" + e.other.String(), "/statements/" + e.draft.String()},
		},
	} {
		made := e.make(c.ask).want(201)
		if tree := made.tree(); len(tree) != 2 || tree["url"] == nil || tree["expiresAt"] == nil || strings.Contains(made.body, "es_") {
			t.Errorf("%s: the answer is %s", c.name, made.body)
		}

		_, code, _ := strings.Cut(fmt.Sprint(made.tree()["url"]), "#code=")

		got := e.exchange(code, "Origin", portal).want(200).tree()
		if len(got) != 4 || got["teamId"] != e.team.String() || got["view"] != e.viewOf(c.ask) {
			t.Errorf("%s: the session is %v", c.name, got)
		}

		token := fmt.Sprint(got["accessToken"])
		for _, path := range c.reads {
			e.get(path, token).want(200)
			e.get(path, token, "x-team-id", e.team.String()).want(200)
		}

		for _, path := range c.closed {
			e.get(path, token).refused(apierr.CodeForbidden, "Credential lacks a required scope")
		}

		for _, path := range c.gone {
			e.get(path, token).refused(apierr.CodeNotFound, "")
		}
	}

	// The list has what the session sees, in the owner's view.
	for n, ask := range map[float64]fields{2: {"view": "statement"}, 1: {"view": "statement", "resourceId": e.january}} {
		list := e.get("/statements?viewAs=manager", e.token(ask)).want(200)

		page, _ := list.tree()["pagination"].(fields)
		if page["total"] != n || !strings.Contains(list.body, `"drilldown":null`) {
			t.Errorf("%v statements are listed as %s", n, list.body)
		}
	}
}

func (e *embedding) viewOf(ask fields) any {
	if v, given := ask["view"]; given {
		return v
	}

	return "report"
}

// Proves: AUTH-30, AUTH-31, AUTH-32, AUTH-33.
func TestAnEmbeddedTokenIsBoundToItsTeamAndReads(t *testing.T) {
	t.Parallel()
	e := newEmbedding(t)
	e.keepBooks()

	stranger := newEmbedding(t)
	stranger.keepBooks()

	sibling := e.world.team("us", e.partner)

	for _, view := range []string{"report", "statement"} {
		token := e.token(fields{"view": view})
		path := map[string]string{"report": report, "statement": "/statements"}[view]

		for _, other := range []string{sibling.String(), stranger.team.String(), e.partner.String(), e.unreached()} {
			e.get(path, token, "x-team-id", other).refused(apierr.CodeForbidden, "Team header conflicts with the credential")
		}

		for _, call := range []string{
			"POST /transactions", "POST /statements", "PUT /statements/" + e.january.String(), "DELETE /statements/" + e.january.String(),
			"GET /me", "GET /team", "GET /teams", "GET /transactions", "GET /listings", "GET /operations", "GET /audit/events", "GET /files/" + e.unreached(),
			"POST /partner/embed-sessions", "GET /partner/audit-events", "GET /statements/pdf", "GET /statements/" + e.january.String() + "/difference",
			"GET /reports/trial-balance/csv", "GET /reports/information-returns",
		} {
			method, route, _ := strings.Cut(call, " ")
			e.post(method, route, token, e.ask(nil)).refused(apierr.CodeForbidden, "Route is not open to this kind of credential")
		}

		e.get(path, "", "x-api-key", token).refused(apierr.CodeUnauthorized, "")
		e.get(path, token+"A").refused(apierr.CodeUnauthorized, "")
	}

	e.get("/statements/"+stranger.january.String(), e.token(fields{"view": "statement"})).refused(apierr.CodeNotFound, "")
}

// Proves: LIM-09, LIM-11.
func TestAnEmbeddedSessionIsShort(t *testing.T) {
	t.Parallel()

	e := newTimedEmbedding(t)
	e.keepBooks()

	for after, status := range map[time.Duration]int{59 * time.Second: 200, 61 * time.Second: 401} {
		e.ahead.Store(0)

		_, code := e.open(nil)

		e.ahead.Store(int64(after))
		e.exchange(code).want(status)
	}

	for after, status := range map[time.Duration]int{14 * time.Minute: 200, 16 * time.Minute: 401} {
		e.ahead.Store(0)

		token := e.token(nil)

		e.ahead.Store(int64(after))
		e.get(report, token).want(status)
	}
}

// The gate would remember the token for an hour: what ends it is the announcement.
//
// Proves: LIM-10.
func TestACodeThatComesAgainEndsItsSession(t *testing.T) {
	t.Parallel()
	e := newEmbedding(t)
	e.keepBooks()
	e.serve(time.Hour)
	e.watch()

	_, code := e.open(nil)
	token := fmt.Sprint(e.exchange(code).want(200).tree()["accessToken"])
	e.get(report, token).want(200)
	e.exchange(code).refused(apierr.CodeUnauthorized, "Code is not valid")
	e.eventually(func() bool { return e.get(report, token).status == 401 })
	e.exchange(code).refused(apierr.CodeUnauthorized, "Code is not valid")
}

// watch has the gate listen until the test ends.
func (e *embedding) watch() {
	e.t.Helper()

	ctx, stop := context.WithCancel(context.Background())

	done := make(chan struct{})
	go func() { defer close(done); e.gate.Watch(ctx) }()

	e.t.Cleanup(func() { stop(); <-done })

	// It listens once a change of a person reaches it.
	user, token := e.person(access.Member{Team: e.team, Scopes: []string{"team:read"}})
	e.eventually(func() bool {
		e.get("/team", token).want(200)
		e.exec(`update access_token set revoked_at = now() where user_id = @user`, db.Args{"user": user})
		e.tx(team.Announce)

		return e.get("/team", token).status == 401 || e.again(user)
	})
}

// again lets a person sign in once more.
func (e *embedding) again(user id.ID) bool {
	e.exec(`update access_token set revoked_at = null where user_id = @user`, db.Args{"user": user})
	return false
}

// Two exchanges at the same time: one spends the code.
//
// Proves: LIM-10.
func TestACodeIsSpentOnceAtATime(t *testing.T) {
	t.Parallel()
	e := newEmbedding(t)
	_, code := e.open(nil)

	var (
		group sync.WaitGroup
		began atomic.Int64
	)

	for range 8 {
		group.Go(func() {
			if e.exchange(code).status == 200 {
				began.Add(1)
			}
		})
	}

	group.Wait()

	if began.Load() != 1 {
		t.Errorf("%d exchanges of one code", began.Load())
	}
}

// Proves: AUTH-28.
func TestACodeIsOfNoUseElsewhere(t *testing.T) {
	t.Parallel()
	e := newEmbedding(t)
	e.keepBooks()

	session, code := e.open(nil)
	other, _ := e.open(nil)

	// A page of another origin, and a frame without one.
	for _, origin := range []string{"https://app.example.com", "null", "http://us.example.com", "https://us.example.com.evil.example", "https://us.example.com:444"} {
		e.exchange(code, "Origin", origin).refused(apierr.CodeForbidden, "Page of another origin cannot exchange a code")
	}

	// The code of one session in the page of another.
	e.post("POST", "/embed-sessions/exchange", "", `{"code":"`+code+`","sessionId":"`+other+`"}`).refused(apierr.CodeUnauthorized, "Code is not valid")

	// Guesses, and what is no code.
	token := e.token(nil)
	for _, guess := range []string{"", "ec_us_" + strings.Repeat("A", 43), code[:len(code)-1], code + "A", session, token, e.key, strings.ToUpper(code)} {
		e.exchange(guess).refused(apierr.CodeUnauthorized, "Code is not valid")
	}

	e.get(report, "", "Authorization", "Bearer "+code).refused(apierr.CodeUnauthorized, "")

	// Nobody asks for more than the session has.
	for _, field := range []string{"scopes", "role", "teamId", "view", "userId"} {
		a := e.post("POST", "/embed-sessions/exchange", "", `{"code":"`+code+`","`+field+`":"admin"}`).refused(apierr.CodeBadRequest, "")
		if !strings.Contains(a.body, `"unknownField"`) {
			t.Errorf("%s: %s", field, a.body)
		}
	}

	// None of that spent it.
	e.post("POST", "/embed-sessions/exchange", "", `{"code":"`+code+`","sessionId":"`+session+`"}`, "Origin", portal).want(200)
}

// ends checks that a token and a code that was not spent yet are of use until end, and not afterwards.
func (e *embedding) ends(token, code string, end func()) {
	e.t.Helper()

	e.get(report, token).want(200)
	end()
	e.eventually(func() bool { return e.get(report, token).status == 401 })
	e.exchange(code).refused(apierr.CodeUnauthorized, "Code is not valid")
}

// Proves: AUTH-30.
func TestAnEmbeddedSessionEndsWithWhatItRestsOn(t *testing.T) {
	t.Parallel()

	for name, end := range map[string]func(e *embedding, member id.ID){
		"left its partner": func(e *embedding, _ id.ID) {
			e.settle(`update team set partner_id = null where id = @team`, db.Args{"team": e.team})
		},
		"of another partner": func(e *embedding, _ id.ID) {
			e.settle(`update team set partner_id = @other where id = @team`, db.Args{"team": e.team, "other": e.world.partner("us")})
		},
		"deleted": func(e *embedding, _ id.ID) {
			e.settle(`update team set status = 'deleted' where id = @team`, db.Args{"team": e.team})
		},
		"frozen for its deletion": func(e *embedding, _ id.ID) {
			e.settle(`update team set freeze_reason = 'deletion' where id = @team`, db.Args{"team": e.team})
		},
		"without the key": func(e *embedding, _ id.ID) {
			e.tx(func(ctx context.Context, tx *db.Tx) error {
				keys, err := access.Keys(ctx, tx, e.partner)
				if err == nil {
					_, err = access.RevokeKey(ctx, tx, keys[0].ID)
				}

				return err
			})
		},
		"without the member": func(e *embedding, member id.ID) {
			e.tx(func(ctx context.Context, tx *db.Tx) error {
				_, err := access.RevokeGrant(ctx, tx, member, e.team)
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEmbedding(t)
			e.keepBooks()
			e.serve(time.Hour)
			e.watch()

			member, _ := e.person(access.Member{Team: e.team, Scopes: []string{"reporting"}})
			_, code := e.open(fields{"userId": member})
			e.ends(e.token(fields{"userId": member}), code, func() {
				end(e, member)
				e.tx(team.Announce) // as whatever changes a team does
			})
		})
	}
}

// Proves: AUTH-27.
func TestOnlyPartnersMakeEmbeddedSessions(t *testing.T) {
	t.Parallel()
	e := newEmbedding(t)
	route := func(secret, team string) *answer {
		return e.post("POST", "/partner/embed-sessions", secret, e.ask(nil), "x-team-id", team)
	}

	_, staff := e.person(access.Member{Team: e.partner, Scopes: []string{"admin"}}, access.Member{Team: e.team, Scopes: []string{"admin"}})
	route(staff, e.partner.String()).want(201)
	route(staff, e.team.String()).refused(apierr.CodeForbidden, "Selected team is not a partner team")
	route(e.world.key(e.team), "").refused(apierr.CodeNotFound, "Not a partner API key")
	route("", "").refused(apierr.CodeUnauthorized, "")

	// Nobody hands out what he does not hold.
	for scopes, status := range map[string]int{"partner:manage": 403, "partner:manage reports:read": 201, "reports:read": 403, "partner:manage statements:read": 403} {
		key := e.issue(access.NewKey{Teams: []id.ID{e.partner}, Partner: true, Scopes: strings.Fields(scopes)}).Secret
		route(key, "").want(status)
	}
}

func TestAnEmbeddedSessionIsRefusedForWhatCannotBeShown(t *testing.T) {
	t.Parallel()
	e := newEmbedding(t)
	e.keepBooks()

	stranger := newEmbedding(t)
	stranger.keepBooks()

	gone := e.world.team("us", e.partner)
	e.settle(`update team set status = 'deleted' where id = @team`, db.Args{"team": gone})

	contact := id.New(e.db.Now())
	owner, _ := e.person(access.Member{Team: e.team, Contact: &contact, Scopes: []string{"admin"}})
	weak, _ := e.person(access.Member{Team: e.team, Scopes: []string{"statements:read"}})
	outsider, _ := e.person(access.Member{Team: stranger.team, Scopes: []string{"admin"}})
	origins := func(list ...string) fields { return fields{"allowedOrigins": append([]string{}, list...)} }

	for name, c := range map[string]struct {
		ask         fields
		issue, path string
	}{
		"no customer":               {fields{"teamId": stranger.team}, "notFound", "teamId"},
		"unknown team":              {fields{"teamId": e.unreached()}, "notFound", "teamId"},
		"the partner itself":        {fields{"teamId": e.partner}, "notFound", "teamId"},
		"deleted team":              {fields{"teamId": gone}, "notFound", "teamId"},
		"team elsewhere":            {fields{"teamId": e.world.team("eu", e.partner)}, "notFound", "teamId"},
		"no view":                   {fields{"view": nil}, "required", "view"},
		"other view":                {fields{"view": "team"}, "enum", "view"},
		"report of a record":        {fields{"resourceId": e.january}, "contradiction", "resourceId"},
		"draft":                     {fields{"view": "statement", "resourceId": e.draft}, "notFound", "resourceId"},
		"statement of another team": {fields{"view": "statement", "resourceId": stranger.january}, "notFound", "resourceId"},
		"unknown user":              {fields{"userId": e.unreached()}, "notFound", "userId"},
		"user of another team":      {fields{"userId": outsider}, "notFound", "userId"},
		"owner":                     {fields{"userId": owner}, "notFound", "userId"},
		"user without the scope":    {fields{"userId": weak}, "notFound", "userId"},
		"unknown external user":     {fields{"externalUserId": "u-1"}, "notFound", "externalUserId"},
		"two users":                 {fields{"userId": weak, "externalUserId": "u-1"}, "contradiction", "externalUserId"},
		"provision of nobody":       {fields{"autoProvision": true}, "contradiction", "autoProvision"},
		"scopes":                    {fields{"scopes": []string{"admin"}}, "unknownField", "scopes"},
		"role":                      {fields{"role": "admin"}, "unknownField", "role"},
		"no origin":                 {origins(), "items", "allowedOrigins"},
		"eleven origins": {origins("https://a.example", "https://b.example", "https://c.example", "https://d.example", "https://e.example", "https://f.example",
			"https://g.example", "https://h.example", "https://i.example", "https://j.example", "https://k.example"), "items", "allowedOrigins"},
		"twice": {origins("https://a.example", "https://a.example"), "unique", "allowedOrigins"},
	} {
		a := e.make(c.ask).refused(apierr.CodeBadRequest, "")
		if !strings.Contains(a.body, `"code":"`+c.issue+`"`) || !strings.Contains(a.body, `"path":["`+c.path) {
			t.Errorf("%s: %s", name, a.body)
		}
	}

	for _, origin := range []string{
		"http://app.example.com", "https://*", "https://*.example.com", "*", "https://app.example.com/", "https://app.example.com/x", "https://app.example.com?x", "null",
		"https://app.example.com#x", "https://user@app.example.com", "https://app.example.com; script-src *", "https://a.example https://b.example", "'self'", "https:",
		"https://App.example.com", "https://app.example.com:443", "https://app.example.com:0", "javascript:alert(1)", "data:,", "", "http://localhost:3000", "http://localhost",
	} {
		if a := e.make(origins(origin)).refused(apierr.CodeBadRequest, ""); !strings.Contains(a.body, `"addressNotAllowed"`) {
			t.Errorf("%s: %s", origin, a.body)
		}
	}

	e.make(origins("https://app.example.com", "https://app.example.com:8443", "https://a", "https://xn--bcher-kva.example")).want(201)
	e.serve(time.Nanosecond, func(c *app.Config) { c.LocalProviders = true })
	e.make(origins("http://localhost:3000", "http://localhost")).want(201)

	for _, origin := range []string{"http://127.0.0.1:3000", "http://localhost.example.com", "http://localhost:80", "http://localhost:3000/"} {
		e.make(origins(origin)).refused(apierr.CodeBadRequest, "")
	}
}

// Proves: AUTH-30.
func TestAnEmbeddedSessionActsAsOneUser(t *testing.T) {
	t.Parallel()
	e := newEmbedding(t)
	member, _ := e.person(access.Member{Team: e.team, Scopes: []string{"reporting"}})
	staff, _ := e.person(access.Member{Team: e.partner, Scopes: []string{"reporting"}})

	as := func(e *embedding, ask fields) (user id.ID) {
		t.Helper()

		session, _ := e.open(ask)
		e.tx(func(ctx context.Context, tx *db.Tx) (err error) {
			user, err = db.Get[id.ID](ctx, tx, `select user_id from access_embed_session where id = @id`, db.Args{"id": session})
			return err
		})

		return user
	}

	for _, user := range []id.ID{member, staff} {
		if got := as(e, fields{"userId": user}); got != user {
			t.Errorf("the session of %s acts as %s", user, got)
		}
	}

	first := as(e, fields{"externalUserId": "u-1", "autoProvision": true})
	if again := as(e, fields{"externalUserId": "u-1"}); again != first || first == as(e, fields{"externalUserId": "u-2", "autoProvision": true}) {
		t.Errorf("the same user is %s and %s", first, again)
	}

	other := newEmbedding(t)
	other.make(fields{"externalUserId": "u-1"}).refused(apierr.CodeBadRequest, "")

	if as(other, fields{"externalUserId": "u-1", "autoProvision": true}) == first {
		t.Error("two partners share a user")
	}
}

// Nothing of a session but hashes is kept, and whoever reads the trail sees that it was made.
func TestEmbeddedSessionsAreKeptAsHashesAndTold(t *testing.T) {
	t.Parallel()
	e := newEmbedding(t)
	session, code := e.open(nil)
	token := fmt.Sprint(e.exchange(code).want(200).tree()["accessToken"])

	var rows []string

	e.tx(func(ctx context.Context, tx *db.Tx) (err error) {
		rows, err = db.Select[string](ctx, tx, `select to_jsonb(x)::text from access_embed_session x where id = @id`, db.Args{"id": session})
		return err
	})

	for _, secret := range []string{code, code[6:], token, token[6:]} {
		if len(rows) != 1 || strings.Contains(rows[0], secret) {
			t.Errorf("%s is kept in %s", secret, rows)
		}
	}

	trail := e.get("/audit/events", e.world.key(e.team)).want(200)
	if !strings.Contains(trail.body, `"embed-session"`) || !strings.Contains(trail.body, session) || strings.Contains(trail.body, code[6:]) {
		t.Errorf("the trail is %s", trail.body)
	}
}

func TestEmbeddedSessionsAreForgottenAfterAnHour(t *testing.T) {
	t.Parallel()
	e := newTimedEmbedding(t)
	session, _ := e.open(nil)
	kept, err := id.Parse(session)

	for _, c := range []struct {
		after time.Duration
		n     int
	}{{59 * time.Minute, 1}, {61 * time.Minute, 0}} {
		e.ahead.Store(int64(c.after))

		for _, task := range access.Part(access.Portal{}).Every {
			if err == nil {
				err = task.Do(t.Context(), e.db)
			}
		}

		origins, failed := access.EmbedOrigins(t.Context(), e.db, kept)
		if err != nil || failed != nil || len(origins) != c.n {
			t.Errorf("after %s: %v, %v, %v", c.after, origins, err, failed)
		}
	}
}

// A session that a person of the partner made ends with what the person may do there, and with the person's tokens.
//
// Proves: AUTH-30.
func TestAnEmbeddedSessionEndsWithItsMaker(t *testing.T) {
	t.Parallel()

	for name, end := range map[string]func(ctx context.Context, tx *db.Tx, e *embedding, maker id.ID) error{
		"who leaves the partner": func(ctx context.Context, tx *db.Tx, e *embedding, maker id.ID) error {
			_, err := access.RevokeGrant(ctx, tx, maker, e.partner)
			return err
		},
		"who may read less": func(ctx context.Context, tx *db.Tx, e *embedding, maker id.ID) error {
			return access.SetMember(ctx, tx, access.Member{Team: e.partner, User: maker, Scopes: []string{"partner:manage"}})
		},
		"whose tokens are revoked": func(ctx context.Context, tx *db.Tx, _ *embedding, maker id.ID) error {
			_, err := access.RevokeTokens(ctx, tx, maker, id.Zero)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEmbedding(t)
			e.keepBooks()
			e.serve(time.Hour)
			e.watch()

			maker, secret := e.person(access.Member{Team: e.partner, Scopes: []string{"admin"}})
			code := func() string {
				made := e.post("POST", "/partner/embed-sessions", secret, e.ask(nil), "x-team-id", e.partner.String()).want(201)
				_, code, _ := strings.Cut(fmt.Sprint(made.tree()["url"]), "#code=")

				return code
			}

			spent, left := code(), code()
			e.ends(fmt.Sprint(e.exchange(spent).want(200).tree()["accessToken"]), left, func() {
				e.tx(func(ctx context.Context, tx *db.Tx) error { return end(ctx, tx, e, maker) })
			})
		})
	}
}
