package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"stayledger/platform/api"
	"stayledger/platform/db"
)

// A server that shares the description of another does the work of its own endpoints, and there is none for endpoints
// that are declared otherwise.
func TestAgainSharesOnlyWhatIsDeclaredAlike(t *testing.T) {
	t.Parallel()

	type in struct{}

	type out struct {
		Name string `doc:"Who answers." json:"name"`
	}

	endpoints := func(name string, changes ...func(*api.Endpoint)) []api.Endpoint {
		e := api.Endpoint{Method: http.MethodGet, Path: "/name", ID: "getName", Tag: "Names", Summary: "Get the name", Public: true}
		for _, change := range changes {
			change(&e)
		}

		return []api.Endpoint{api.External(e, func(context.Context, *db.DB, db.Scope, *in) (*out, error) {
			return &out{Name: name}, nil
		})}
	}

	c := api.Config{Title: "test", Log: slog.New(slog.DiscardHandler)}
	first := api.NewServer(c, endpoints("first"))

	second := first.Again(c, endpoints("second"))
	if second == nil {
		t.Fatal("nothing is shared with endpoints that are declared alike")
	}

	for server, want := range map[*api.Server]string{first: `{"name":"first"}`, second: `{"name":"second"}`} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/name", nil))

		if got := w.Body.String(); got != want && got != want+"\n" {
			t.Errorf("answered %s, want %s", got, want)
		}
	}

	for what, other := range map[string][]api.Endpoint{
		"another status":     endpoints("", func(e *api.Endpoint) { e.Status = http.StatusAccepted }),
		"another scope":      endpoints("", func(e *api.Endpoint) { e.Scopes = []string{"names:read"} }),
		"no endpoint at all": {},
	} {
		if first.Again(c, other) != nil {
			t.Errorf("%s: the description is shared", what)
		}
	}

	if c.Title = "other"; first.Again(c, endpoints("first")) != nil {
		t.Error("another title: the description is shared")
	}
}
