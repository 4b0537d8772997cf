package access_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// world is a gate of its own before the real endpoints and some toys, in the package's database.
type world struct {
	t      *testing.T
	db     *db.DB
	gate   *access.Gate
	server *api.Server
}

const elsewhere = "https://eu.example.com"

// newWorld serves us and ca; eu is served elsewhere; ap and sa are served nowhere.
func newWorld(t *testing.T) *world {
	t.Helper()

	return newDeployment(t, map[access.Region]string{"us": "https://us.example.com", "ca": "https://us.example.com"}, map[access.Region]string{"eu": elsewhere})
}

// newDeployment serves some regions, and knows where others are served.
func newDeployment(t *testing.T, regions, others map[access.Region]string) *world {
	t.Helper()
	w := &world{t: t, db: apitest.DB(t)}
	w.gate = access.NewGate(access.Config{DB: w.db, Remember: time.Hour, Regions: regions, Elsewhere: others})
	w.server = api.NewServer(api.Config{
		DB: w.db, Log: slog.New(slog.DiscardHandler), Authenticate: w.gate.Authenticate, Refusals: access.Refusals, Audit: audit.Record,
		CursorKey: []byte("test cursor key"), PublicURL: "https://us.example.com", Title: "test",
	}, append(toys(), append(append(access.Part(access.Portal{URL: "https://us.example.com", Regions: []string{"us", "ca"}}).Endpoints, team.Part(team.Config{
		Admit: access.AdmitMaker, Dismiss: access.DismissPartner, Serves: access.NewRegionCheck(regions, others),
	}).Endpoints...), operation.Part(time.Hour).Endpoints...)...))

	return w
}

// seen is the scope that a toy runs in, as it reports it.
type seen struct {
	Team   string   `json:"team"`
	Teams  []string `json:"teams"`
	User   string   `json:"user"`
	Owner  *id.ID   `json:"owner"`
	Scopes []string `json:"scopes"`
	Reach  []string `json:"reach"`
}

func see[I any](_ context.Context, tx *db.Tx, _ *I) (*seen, error) {
	s := &seen{Team: tx.Team.String(), User: tx.Actor.User.String(), Owner: tx.Actor.Owner, Scopes: tx.Actor.Scopes, Teams: []string{}, Reach: []string{}}
	for _, t := range tx.Teams {
		s.Teams = append(s.Teams, t.String())
	}

	for _, t := range tx.Actor.Teams {
		s.Reach = append(s.Reach, t.String())
	}

	slices.Sort(s.Reach) // ids of one millisecond have no order
	slices.Sort(s.Teams)

	return s, nil
}

type byID struct {
	ID id.ID `path:"id"`
}

func toys() []api.Endpoint {
	everybody := []api.Credential{api.TeamKey, api.PartnerKey, api.User, api.Owner}

	out := []api.Endpoint{
		api.Read(api.Endpoint{Method: "GET", Path: "/toys", ID: "seeToys"}, see[api.None]),
		api.Write(api.Endpoint{Method: "POST", Path: "/toys", ID: "makeToy", Scopes: []string{"transactions:write"}}, see[api.None]),
		api.Write(api.Endpoint{Method: "DELETE", Path: "/toys", ID: "breakToy", Scopes: []string{"transactions:delete"}}, see[api.None]),
		api.Write(api.Endpoint{Method: "POST", Path: "/toys/thaw", ID: "thawToy", Frozen: true}, see[api.None]),
		api.Read(api.Endpoint{Method: "GET", Path: "/toys/inner", ID: "innerToys", Open: []api.Credential{api.TeamKey, api.User}}, see[api.None]),
		api.Read(api.Endpoint{Method: "GET", Path: "/toys/owned", ID: "ownedToys", Open: everybody, Scopes: []string{"statements:read"}}, see[api.None]),
		api.Read(api.Endpoint{Method: "GET", Path: "/toys/either", ID: "eitherToys", Scopes: []string{"contacts:write|contacts:vendors:write", "contacts:read"}}, see[api.None]),
		api.Read(api.Endpoint{Method: "GET", Path: "/toys/after", ID: "toysAfter", Scopes: []string{"team:read"}, Deleted: true}, see[api.None]),
		api.Read(api.Endpoint{Method: "GET", Path: "/toys/managed", ID: "managedToys", Scopes: []string{"team:read"}, Selection: api.ManagedTeams, Region: true}, see[api.None]),
		api.Read(api.Endpoint{Method: "GET", Path: "/toys/teams/{id}", ID: "teamToys", TeamInPath: true}, see[byID]),
		api.Read(api.Endpoint{Method: "GET", Path: "/partner/toys", ID: "partnerToys", Scopes: []string{"partner:read"}, PartnerOnly: true}, see[api.None]),
		api.Write(api.Endpoint{Method: "POST", Path: "/toys/operations", ID: "startToy", Status: 202, Selection: api.OneTeamOrPartner},
			func(ctx context.Context, tx *db.Tx, _ *api.None) (*operation.Acknowledgement, error) {
				return operation.Start(ctx, tx, operation.New{Type: operation.WebhookTest, Tasks: []operation.Task{{Kind: apitest.Kind("toy")}}})
			}),
	}
	for i, s := range access.Scopes() {
		out = append(out, api.External(api.Endpoint{
			Method: "POST", Path: "/needs/" + strings.ReplaceAll(s, ":", "/"), ID: "need" + strconv.Itoa(i), Scopes: []string{s},
		}, func(context.Context, *db.DB, db.Scope, *api.None) (*api.None, error) { return &api.None{}, nil }))
	}

	return out
}

func (w *world) tx(work db.Work) {
	w.t.Helper()

	if err := w.db.Write(w.t.Context(), db.AcrossTeams(), work); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) exec(sql string, args db.Args) {
	w.t.Helper()
	w.tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, sql, args)
		return err
	})
}

// team makes a property manager in a region, under a partner unless that is zero.
func (w *world) team(region string, partner id.ID) (made id.ID) {
	w.t.Helper()
	w.tx(func(ctx context.Context, tx *db.Tx) (err error) {
		made, err = team.Create(ctx, tx, team.New{Name: "Team in " + region, Type: team.PropertyManager, Region: region, PartnerID: partner})
		return err
	})

	return made
}

func (w *world) partner(region string) (made id.ID) {
	w.t.Helper()
	w.tx(func(ctx context.Context, tx *db.Tx) (err error) {
		made, err = team.Create(ctx, tx, team.New{Name: "Partner in " + region, Type: team.Partner, Region: region})
		return err
	})

	return made
}

func (w *world) issue(n access.NewKey) (k *access.Key) {
	w.t.Helper()

	if n.Name == "" {
		n.Name = "Test key"
	}

	w.tx(func(ctx context.Context, tx *db.Tx) (err error) {
		k, err = access.IssueKey(ctx, tx, n)
		return err
	})

	return k
}

// key is the secret of a key with all scopes.
func (w *world) key(teams ...id.ID) string {
	w.t.Helper()
	return w.issue(access.NewKey{Teams: teams, Scopes: []string{"admin"}}).Secret
}

func (w *world) partnerKey(partner id.ID) string {
	w.t.Helper()
	return w.issue(access.NewKey{Teams: []id.ID{partner}, Partner: true, Scopes: []string{"admin"}}).Secret
}

// person is a user with memberships, and the secret of a token.
func (w *world) person(members ...access.Member) (user id.ID, token string) {
	w.t.Helper()
	w.tx(func(ctx context.Context, tx *db.Tx) (err error) {
		if user, err = access.AddUser(ctx, tx, "Robin", "robin-"+tx.NewID().String()+"@example.com"); err != nil {
			return err
		}

		for _, m := range members {
			m.User = user
			if err := access.SetMember(ctx, tx, m); err != nil {
				return err
			}
		}

		token, err = access.IssueToken(ctx, tx, user, nil)

		return err
	})

	return user, token
}

// call sends a request with a credential: a key, or a bearer token when it starts with ut_ or es_. Headers are name, value
// pairs.
func (w *world) call(method, path, secret string, headers ...string) *answer {
	w.t.Helper()

	return w.post(method, path, secret, "", headers...)
}

// post is call with a body, JSON unless it is empty.
func (w *world) post(method, path, secret, body string, headers ...string) *answer {
	w.t.Helper()

	r := httptest.NewRequestWithContext(w.t.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}

	switch {
	case strings.HasPrefix(secret, "ut_"), strings.HasPrefix(secret, "es_"):
		r.Header.Set("Authorization", "Bearer "+secret)
	case secret != "":
		r.Header.Set("X-Api-Key", secret)
	}

	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}

	recorder := httptest.NewRecorder()
	w.server.ServeHTTP(recorder, r)

	return &answer{t: w.t, call: method + " " + path, status: recorder.Code, header: recorder.Header(), body: recorder.Body.String()}
}

func (w *world) get(path, secret string, headers ...string) *answer {
	w.t.Helper()
	return w.call(http.MethodGet, path, secret, headers...)
}

type answer struct {
	t      *testing.T
	call   string
	status int
	header http.Header
	body   string
}

// told returns the body without what names the request.
func (a *answer) told() string { return requestID.ReplaceAllString(a.body, "") }

var requestID = regexp.MustCompile(`"requestId":"[^"]*"`)

func (a *answer) want(status int) *answer {
	a.t.Helper()

	if a.status != status {
		a.t.Fatalf("%s answered %d, want %d: %s", a.call, a.status, status, a.body)
	}

	return a
}

// refused fails unless the answer is the envelope of a code without a reason, with a request id.
func (a *answer) refused(code apierr.Code, message string) *answer {
	a.t.Helper()
	a.want(code.Status())

	tree := a.tree()
	if tree["code"] != string(code) || message != "" && tree["message"] != message || a.header.Get("X-Request-Id") == "" {
		a.t.Fatalf("%s: want %s %q with a request id: %s %v", a.call, code, message, a.body, a.header)
	}

	if _, has := tree["reason"]; has {
		a.t.Fatalf("%s: an access error has no reason: %s", a.call, a.body)
	}

	if _, has := tree["issues"].([]any); !has {
		a.t.Fatalf("%s: no issues: %s", a.call, a.body)
	}

	return a
}

// context is the error's context as JSON, or the empty string.
func (a *answer) context() string {
	a.t.Helper()

	v, has := a.tree()["context"]
	if !has {
		return ""
	}

	b, err := json.Marshal(v)
	if err != nil {
		a.t.Fatal(err)
	}

	return string(b)
}

func (a *answer) tree() map[string]any {
	a.t.Helper()

	var tree map[string]any
	if err := json.Unmarshal([]byte(a.body), &tree); err != nil {
		a.t.Fatalf("%s: %v: %s", a.call, err, a.body)
	}

	return tree
}

func (a *answer) seen() (s seen) {
	a.t.Helper()
	a.want(http.StatusOK)

	if err := json.Unmarshal([]byte(a.body), &s); err != nil {
		a.t.Fatalf("%s: %v: %s", a.call, err, a.body)
	}

	return s
}

// selectionMissing fails unless the answer asks for x-team-id.
func (a *answer) selectionMissing() {
	a.t.Helper()
	a.refused(apierr.CodeBadRequest, "")

	if !strings.Contains(a.body, `"path":["x-team-id"]`) || !strings.Contains(a.body, `"schema":"header"`) {
		a.t.Fatalf("%s: %s", a.call, a.body)
	}
}

// unreached is a random id: no team has it.
func (w *world) unreached() string { return id.New(w.db.Now()).String() }
