package api_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

// logbook collects log lines from many requests.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds a line.
func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.text.Write(b)
}

// take gives the lines so far and forgets them.
func (l *logbook) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()

	return l.text.String()
}

// Proves: ERR-22, ERR-53, ERR-14.
func TestUnexpectedFaultsAreStaticAndLogged(t *testing.T) {
	t.Parallel()

	var log logbook

	x := apitest.New(t, apitest.Config{Silent: true, Endpoints: toys(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	body := func(halt string) object { return object{"name": "n", "kind": "owner", "halt": halt} }

	for _, call := range []func() *apitest.Response{
		func() *apitest.Response { return x.Get("/panic") },
		func() *apitest.Response { return x.Post("/toys", body("panic")) },
		func() *apitest.Response { return x.Post("/toys", body("cause")) },
	} {
		r := call().WantError(apierr.CodeInternalServerError, "")
		if !strings.HasPrefix(string(r.Body), `{"code":"INTERNAL_SERVER_ERROR","message":"Internal server error","issues":[],"requestId":"`) ||
			r.String("requestId") != r.Header.Get("X-Request-Id") || r.String("docs") != "http://127.0.0.1/docs/chapters/errors#INTERNAL_SERVER_ERROR" {
			t.Errorf("%s", r.Body)
		}

		if lines := log.take(); !strings.Contains(lines, errPrivate.Error()) || !strings.Contains(lines, r.Header.Get("X-Request-Id")) || !strings.Contains(lines, "level=ERROR") {
			t.Errorf("logged %s", lines)
		}
	}

	x.Get("/toys?search=" + marker[:5]).Want(200)
	x.Get("/toys?search=" + marker).Want(400)

	if lines := log.take(); strings.Contains(lines, "ERROR") || strings.Contains(lines, "zq") || !strings.Contains(lines, "endpoint=listToys") || !strings.Contains(lines, x.ID.String()) {
		t.Errorf("logged %s", lines)
	}

	if n := x.Fingerprint(); strings.Contains(n, "contact") {
		t.Errorf("failed writes are stored: %s", n)
	}
}

// Proves: ERR-03, ERR-07, ERR-12, ERR-13, ERR-32.
func TestConditionsAreToldAsTheyAre(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	r := x.Post("/toys", object{"name": "n", "kind": "owner", "halt": "condition"}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateName)
	if r.String("message") != "Toy is halted" || r.ID("context.id").IsZero() || r.Has("retryable") {
		t.Errorf("%s", r.Body)
	}

	if r := x.Get("/toys?limit=0"); r.Has("context") || r.Has("reason") || r.Has("retryable") {
		t.Errorf("%s", r.Body)
	}
}

// Proves: ERR-14, ERR-15, ERR-56, ERR-95.
func TestAnUnreachableDatabaseIsRetryable(t *testing.T) {
	t.Parallel()
	line := apitest.NewLine(t)

	d, err := db.Open(t.Context(), db.Config{URL: line.URL})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	endpoints := toys()
	for i := range endpoints {
		endpoints[i].DryRun = false // the harness would ask the database about it
	}

	x := apitest.New(t, apitest.Config{Silent: true, Endpoints: endpoints, DB: d})
	x.Get("/sleep").Want(204)
	line.Cut()

	for _, r := range []*apitest.Response{x.Get("/sleep"), x.Get("/sleep"), x.Post("/toys", object{"name": "n", "kind": "owner"})} {
		r.WantError(apierr.CodeServiceUnavailable, "")

		if r.String("retryable") != "true" || r.Header.Get("Retry-After") != "5" {
			t.Errorf("%v %s", r.Header, r.Body)
		}
	}

	line.Mend()
	x.Get("/sleep").Want(204)
}

// A write that waits in vain for work that has the team alone is told how long to wait, and has changed nothing.
//
// Proves: ERR-97.
func TestAWriteThatWaitsInVainIsToldTheDelay(t *testing.T) {
	t.Parallel()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t), GateWait: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	endpoints := toys()
	for i := range endpoints {
		endpoints[i].DryRun = false // the harness would ask the database about it
	}

	x := apitest.New(t, apitest.Config{Silent: true, Endpoints: endpoints, DB: d})
	alone := x.Scope()
	alone.Exclusive = true

	err = d.Write(t.Context(), alone, func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `select 1`, nil); err != nil {
			return err
		}

		r := x.Post("/toys", object{"name": "n", "kind": "owner"}).WantError(apierr.CodeServiceUnavailable, "")
		if r.String("retryable") != "true" || r.Header.Get("Retry-After") != "5" || r.String("message") != "Others are changing the same data" {
			t.Errorf("%v %s", r.Header, r.Body)
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	x.Post("/toys", object{"name": "n", "kind": "owner"}).Want(201)
}

// Proves: ERR-58.
func TestOverlongStatementsTimeOut(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	r := x.Get("/sleep?seconds=9").WantError(apierr.CodeGatewayTimeout, "")
	if r.String("retryable") != "true" || r.Header.Get("Retry-After") == "" || strings.Contains(r.String("message"), "Provider") {
		t.Errorf("%s", r.Body)
	}

	if r := x.Post("/sleep?seconds=9", nil).WantError(apierr.CodeGatewayTimeout, ""); r.Has("retryable") || r.Header.Get("Retry-After") != "" {
		t.Errorf("%s", r.Body)
	}
}

// Proves: DRY-01, DRY-14, DRY-15, DRY-16, DRY-17, DRY-24, DRY-25, DRY-27, DRY-28.
func TestADryRunAnswersAndKeepsNothing(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	before := x.Fingerprint()
	for _, halt := range []string{"", "action"} {
		r := x.Post("/toys?dryRun=true", object{"name": "dry", "kind": "owner", "queue": true, "halt": halt}).Want(201)
		if r.String("name") != "dry" || r.ID("id").IsZero() {
			t.Errorf("%s", r.Body)
		}

		if r.Header.Get("X-Service-Audit-Should-Poll") != "false" || r.Header.Values("X-Service-Audit-Action-Id") != nil {
			t.Errorf("%v", r.Header)
		}

		x.Delete("/toys/"+r.String("id")).WantError(apierr.CodeNotFound, "")
	}

	if after := x.Fingerprint(); after != before {
		t.Errorf("stored:\n%s", after)
	}

	for queue, poll := range map[bool]string{false: "false", true: "true"} {
		r := x.Post("/toys?dryRun=false", object{"name": "real", "kind": "owner", "queue": queue}).Want(201)
		if r.Header.Get("X-Service-Audit-Should-Poll") != poll || !strings.HasPrefix(r.Header.Get("X-Service-Audit-Action-Id"), "act_") {
			t.Errorf("%v", r.Header)
		}

		if d := x.Delete("/toys/" + r.String("id")).Want(204); len(d.Body) != 0 || d.Header.Get("Content-Type") != "" || d.Header.Get("X-Service-Audit-Action-Id") == "" {
			t.Errorf("%v %s", d.Header, d.Body)
		}
	}

	if after := x.Fingerprint(); !strings.Contains(after, "audit_action 4 ") {
		t.Errorf("four writes are recorded as:\n%s", after)
	}
}

// Proves: ERR-01.
func TestStreamsServeRangesAndValidators(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	r := x.Get("/file").Want(200)
	if string(r.Body) != "0123456789" || r.Header.Get("Content-Disposition") != "attachment; filename*=utf-8''%C3%A4.txt" || r.Header.Get("ETag") != `"v1"` || r.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("%v %s", r.Header, r.Body)
	}

	if r := x.Get("/file", "Range", "bytes=2-4").Want(http.StatusPartialContent); string(r.Body) != "234" {
		t.Errorf("%s", r.Body)
	}

	x.Get("/file", "If-None-Match", `"v1"`).Want(http.StatusNotModified)

	for _, header := range [][]string{{"If-Match", `"v2"`, "412", "preconditionFailed"}, {"Range", "bytes=10-", "416", "rangeNotSatisfiable"}, {"Range", "bytes=b-a", "416", "rangeNotSatisfiable"}} {
		r := x.Get("/file", header[0], header[1])
		if strconv.Itoa(r.Status) != header[2] || r.String("code") != "BAD_REQUEST" || r.String("issues.0.code") != header[3] || r.Header.Get("Content-Disposition") != "" {
			t.Errorf("%v: %d %v %s", header, r.Status, r.Header, r.Body)
		}
	}

	if r := x.Get("/file", "Range", "bytes=10-"); r.Header.Get("Content-Range") != "bytes */10" {
		t.Errorf("the length is told as %q", r.Header.Get("Content-Range"))
	}
}

// halfway is content of ten bytes that breaks off in the middle.
type halfway struct{ *strings.Reader }

func (h halfway) Read(p []byte) (int, error) {
	if h.Len() < 10 {
		return 0, errPrivate
	}

	return h.Reader.Read(p[:min(len(p), 5)])
}

func (halfway) Close() error { return nil }

func TestAStreamThatBreaksOffIsLogged(t *testing.T) {
	t.Parallel()

	var log logbook

	file := api.Stream(api.Endpoint{Method: http.MethodGet, Path: "/half", ID: "half"},
		func(context.Context, *db.DB, db.Scope, *api.None) (*api.Content, error) {
			return &api.Content{Reader: halfway{strings.NewReader("0123456789")}, Filename: "a.txt", ContentType: "text/plain"}, nil
		})

	x := apitest.New(t, apitest.Config{Silent: true, Endpoints: []api.Endpoint{file}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if r := x.Get("/half").Want(200); string(r.Body) != "01234" {
		t.Errorf("%s", r.Body)
	}

	if lines := log.take(); !strings.Contains(lines, errPrivate.Error()) || !strings.Contains(lines, "level=ERROR") {
		t.Errorf("logged %s", lines)
	}
}

func TestListsThatContradictThemselvesDoNotStart(t *testing.T) {
	t.Parallel()

	type floating struct {
		Ratio float64 `query:"ratio"`
	}

	type several struct {
		IDs *[]string `query:"ids"`
	}

	type bounded struct {
		N int64 `query:"n" minimum:"few"`
	}

	type phone struct {
		Body struct {
			Phone string `json:"phone" format:"phone"`
		}
	}

	none := func(context.Context, *db.Tx, *api.None) (*api.None, error) { return nil, nil }
	get := api.Endpoint{Method: http.MethodGet, Path: "/a", ID: "a"}

	other := api.Endpoint{Method: http.MethodGet, Path: "/a", ID: "b"}
	for name, list := range map[string][]api.Endpoint{
		"same route": {api.Read(get, none), api.Read(other, none)},
		"no id":      {api.Read(api.Endpoint{Method: http.MethodGet, Path: "/a"}, none)},
		"float":      {api.Read(get, func(context.Context, *db.Tx, *floating) (*api.None, error) { return nil, nil })},
		"list":       {api.Read(get, func(context.Context, *db.Tx, *several) (*api.None, error) { return nil, nil })},
		"bound":      {api.Read(get, func(context.Context, *db.Tx, *bounded) (*api.None, error) { return nil, nil })},
		"embed":      {api.Write(api.Endpoint{Method: http.MethodPost, Path: "/a", ID: "a", Embed: true}, none)},
		"preview":    {api.Read(api.Endpoint{Method: http.MethodPost, Path: "/a", ID: "a", Embed: true}, none)},
		"format":     {api.Write(api.Endpoint{Method: http.MethodPost, Path: "/a", ID: "a"}, func(context.Context, *db.Tx, *phone) (*api.None, error) { return nil, nil })},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()

			api.NewServer(api.Config{}, list)
		}()
	}
}

func TestARequestIsObserved(t *testing.T) {
	t.Parallel()

	seen := make(chan string, 3)
	endpoints := toys()
	x := newTeam(t)
	s := api.NewServer(api.Config{DB: x.DB, Log: slog.New(slog.DiscardHandler), Observe: func(endpoint string, status int, took time.Duration) {
		seen <- endpoint + " " + http.StatusText(status)

		if took < 0 {
			t.Error("took less than no time")
		}
	}}, endpoints)

	for path, want := range map[string]string{"/panic": "panic Internal Server Error", "/nothing": "none Not Found"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		if err != nil {
			t.Fatal(err)
		}

		s.ServeHTTP(discard{http.Header{}}, r)

		if got := <-seen; got != want {
			t.Errorf("%s is seen as %s", path, got)
		}
	}
}

// discard is an answer that is not read.
type discard struct{ header http.Header }

// Header is where the edge writes to.
func (d discard) Header() http.Header { return d.header }

// Write drops the bytes.
func (discard) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader drops the status.
func (discard) WriteHeader(int) {}
