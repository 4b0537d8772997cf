package audit_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type row struct {
	ActorID   id.ID
	Endpoint  string
	RequestID string
}

var errBroken = errors.New("broken")

// Proves: AUD-10, AUD-11.
func TestAWriteRecordsOneActionAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	d := apitest.DB(t)

	var one id.ID

	if err := d.Write(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		one, err = team.Create(ctx, tx, team.New{Name: "Team", Type: team.PropertyManager, Region: "us"})
		return err
	}); err != nil {
		t.Fatal(err)
	}

	scope := db.Scope{Team: one, Actor: db.Actor{User: id.New(d.Now())}}
	do := func(err error) func(context.Context, *db.Tx, *api.None) (*api.None, error) {
		return func(context.Context, *db.Tx, *api.None) (*api.None, error) { return &api.None{}, err }
	}
	server := api.NewServer(api.Config{
		DB: d, Log: slog.New(slog.DiscardHandler), Audit: audit.Record,
		Authenticate: func(context.Context, *http.Request, *api.Endpoint) (db.Scope, error) { return scope, nil },
	}, []api.Endpoint{
		api.Read(api.Endpoint{Method: "GET", Path: "/toys", ID: "seeToys"}, do(nil)),
		api.Write(api.Endpoint{Method: "POST", Path: "/toys", ID: "makeToy", DryRun: true}, do(nil)),
		api.Write(api.Endpoint{Method: "DELETE", Path: "/toys", ID: "breakToy"}, do(errBroken)),
	})

	call := func(method, path string) http.Header {
		r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
		r.Header.Set("x-request-id", "request-1")

		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)

		return w.Header()
	}
	for method, path := range map[string]string{"GET": "/toys", "DELETE": "/toys", "POST": "/toys?dryRun=true"} {
		if h := call(method, path); h.Get("X-Service-Audit-Action-Id") != "" {
			t.Errorf("%s %s: %v", method, path, h)
		}
	}

	header := call("POST", "/toys")

	action, err := id.ParseTyped("act", header.Get("X-Service-Audit-Action-Id"))
	if err != nil || header.Get("X-Service-Audit-Should-Poll") != "false" {
		t.Fatalf("headers: %v", header)
	}

	var rows []row

	if err := d.Read(t.Context(), scope, func(ctx context.Context, tx *db.Tx) (err error) {
		var all int64
		if all, err = db.Get[int64](ctx, tx, `select count(*) from audit_action where team_id = @team and actor_type <> 'system'`, db.Args{"team": one}); err != nil || all != 1 {
			t.Errorf("%d actions", all)
			return err
		}

		rows, err = db.Select[row](ctx, tx, `select actor_id, endpoint, request_id from audit_action where team_id = @team and id = @id`, db.Args{"team": one, "id": action})

		return err
	}); err != nil {
		t.Fatal(err)
	}

	if len(rows) != 1 || rows[0] != (row{scope.Actor.User, "makeToy", "request-1"}) {
		t.Errorf("recorded %+v", rows)
	}
}
