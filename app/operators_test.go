package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"stayledger/app"
	"stayledger/domain/record/file"
	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/dbtest"
	"stayledger/platform/id"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// running is a service in this process.
type running struct {
	t    *testing.T
	app  *app.App
	log  *lines
	base string // of the API
	ops  string // of the address for operators
	stop func()
	// ended has what the service ended with, when it did.
	ended chan error
}

const patience = time.Minute

// lines is a log that two goroutines may use.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.b.String()
}

// run starts a service before a database; change adjusts its settings.
func run(t *testing.T, database string, change func(*app.Config)) *running {
	t.Helper()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	operators, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	_ = operators.Close()
	c := app.Config{
		DatabaseURL: database, Listen: listener.Addr().String(), Regions: []string{"us"}, DataDir: t.TempDir(), MaxConnections: 8, Workers: 2,
		MetricsListen: operators.Addr().String(), ShutdownGrace: 5 * time.Second, KeepOperations: time.Hour,
		SecretKeys: []string{base64.StdEncoding.EncodeToString([]byte("test keys of at least 32 bytes, not for use"))},
	}
	change(&c)

	r := &running{t: t, log: &lines{}, base: "http://" + c.Listen, ops: "http://" + c.MetricsListen}
	if r.app, err = app.Open(t.Context(), c, slog.New(slog.NewJSONHandler(r.log, nil))); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())

	r.ended = make(chan error, 1)
	go func() { r.ended <- r.app.Run(ctx, listener); close(r.ended) }()

	r.stop = sync.OnceFunc(func() {
		cancel()

		if err := <-r.ended; err != nil {
			t.Errorf("the service ended with %v", err)
		}

		r.app.Close()
	})
	t.Cleanup(r.stop)

	return r
}

func (r *running) get(address, key string) (status int, body string) {
	r.t.Helper()

	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}

	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error() // not listening yet
	}

	defer func() { _ = resp.Body.Close() }()

	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}

	return resp.StatusCode, string(text)
}

// until asks an address until it answers a status with a text in its body.
func (r *running) until(address string, want int, text string) {
	r.t.Helper()

	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		status, body := r.get(address, "")
		if status == want && strings.Contains(body, text) {
			return
		}

		if time.Now().After(deadline) {
			r.t.Fatalf("%s goes on answering %d %s", address, status, body)
		}
	}
}

// office makes a team with a key that may do everything.
func (r *running) office() (made id.ID, key string) {
	r.t.Helper()

	err := r.app.DB.Write(r.t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		if made, err = team.Create(ctx, tx, team.New{Name: "Office", Type: team.PropertyManager, Region: "us"}); err != nil {
			return err
		}

		k, err := access.IssueKey(ctx, tx, access.NewKey{Name: "Key", Teams: []id.ID{made}, Scopes: []string{"admin"}})
		if err == nil {
			key = k.Secret
		}

		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}

	return made, key
}

// export queues an export and waits until it is done.
func (r *running) export(key string) {
	r.t.Helper()

	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.base+"/accounts/csv", strings.NewReader("{}"))
	if err != nil {
		r.t.Fatal(err)
	}

	req.Header.Set("X-Api-Key", key)
	req.Header.Set("Content-Type", "application/json")

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}

	defer func() { _ = resp.Body.Close() }()

	var queued struct{ OperationID id.ID }
	if err := json.NewDecoder(resp.Body).Decode(&queued); err != nil || resp.StatusCode != http.StatusAccepted {
		r.t.Fatalf("an export answers %d, %v", resp.StatusCode, err)
	}

	for deadline := time.Now().Add(patience); ; {
		_, body := r.get(r.base+"/operations/"+queued.OperationID.String()+"?waitSeconds=5", key)
		if strings.Contains(body, `"status":"completed"`) {
			return
		}

		if time.Now().After(deadline) {
			r.t.Fatalf("the export goes on: %s", body)
		}
	}
}

func TestNothingIsReadyBeforeTheSchema(t *testing.T) {
	t.Parallel()
	database := dbtest.URL(t, func(context.Context, string) error { return nil }, "empty")

	r := run(t, database, func(*app.Config) {})
	if err := r.app.CheckSchema(t.Context()); !errors.Is(err, db.ErrSchema) {
		t.Errorf("an empty database says %v", err)
	}

	for _, address := range []string{r.base, r.ops} {
		r.until(address+"/readyz", http.StatusServiceUnavailable, "schema")
		r.until(address+"/healthz", http.StatusOK, "ok")
	}

	r.until(r.base+"/team", http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE")

	if _, err := app.Migrate(t.Context(), database); err != nil {
		t.Fatal(err)
	}

	for _, address := range []string{r.base, r.ops} {
		r.until(address+"/readyz", http.StatusOK, "ok")
	}

	older := `delete from goose_db_version where version_id = (select max(version_id) from goose_db_version)`

	if err := r.app.DB.Write(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, older, nil)
		return err
	}); err != nil {
		t.Fatal(err)
	}

	if err := r.app.CheckSchema(t.Context()); !errors.Is(err, db.ErrSchema) {
		t.Errorf("an older schema says %v", err)
	}
}

// A service ends at once when its file store belongs to another database, however long its drain, and answers no
// request of the API before.
func TestAForeignFileStoreEndsTheService(t *testing.T) {
	t.Parallel()
	database := apitest.Database(t)
	first := run(t, database, func(*app.Config) {})
	first.until(first.base+"/readyz", http.StatusOK, "ok")

	_, key := first.office()
	if status, body := first.get(first.base+"/team", key); status != http.StatusOK {
		t.Fatalf("GET /team answers %d: %s", status, body)
	}

	second := run(t, database, func(c *app.Config) { c.DrainTime, c.ShutdownGrace = time.Hour, 2*time.Hour })
	for deadline := time.After(patience); ; {
		if status, body := second.get(second.base+"/team", key); status != 0 && status != http.StatusServiceUnavailable {
			t.Fatalf("with the store of another, GET /team answers %d: %s", status, body)
		}

		select {
		case err := <-second.ended:
			if !errors.Is(err, file.ErrForeignStore) {
				t.Errorf("the service ended with %v", err)
			}

			return
		case <-deadline:
			t.Fatal("the service goes on")
		default:
		}
	}
}

// A file store that cannot be read is waited for.
func TestAFileStoreOutOfReachIsWaitedFor(t *testing.T) {
	t.Parallel()

	var marker string

	r := run(t, apitest.Database(t), func(c *app.Config) {
		sum := sha256.Sum256([]byte("stayledger-store"))

		marker = filepath.Join(c.DataDir, "files", hex.EncodeToString(sum[:1]), hex.EncodeToString(sum[1:2]), "stayledger-store")
		if err := os.MkdirAll(marker, 0o700); err != nil { // a folder where the file should be
			t.Fatal(err)
		}
	})
	r.until(r.ops+"/readyz", http.StatusServiceUnavailable, "file store")

	for deadline := time.Now().Add(patience); !strings.Contains(r.log.String(), "read the marker of the file store"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nobody tried the store: %s", r.log)
		}
	}

	if err := os.Remove(marker); err != nil {
		t.Fatal(err)
	}

	r.until(r.ops+"/readyz", http.StatusOK, "ok")
}

// Metrics have an address of their own, which callers of the API do not reach.
func TestMetricsTellOfTheQueueAndThePool(t *testing.T) {
	t.Parallel()
	r := run(t, apitest.Database(t), func(*app.Config) {})
	r.until(r.base+"/readyz", http.StatusOK, "ok")

	if status, _ := r.get(r.base+"/metrics", ""); status != http.StatusNotFound {
		t.Errorf("the API answers /metrics with %d", status)
	}

	_, key := r.office()
	if status, body := r.get(r.base+"/team", key); status != http.StatusOK {
		t.Fatalf("GET /team answers %d: %s", status, body)
	}

	waiting := `insert into job (id, team_id, kind, args, actor_id, max_attempts, due_at, created_at)
		select gen_random_uuid(), id, 'nobody.knows', '{}', id, 1, now() - interval '1 hour', now() from team limit 1`

	if err := r.app.DB.Write(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, waiting, nil)
		return err
	}); err != nil {
		t.Fatal(err)
	}

	_, body := r.get(r.ops+"/metrics", "")
	for _, want := range []string{
		`stayledger_request_seconds_count{endpoint="getTeam",status="200"} 1`, `stayledger_database_up 1`, `stayledger_jobs{lane="none",state="due"} 1`,
		`stayledger_jobs{lane="quick",state="due"} 0`, `stayledger_jobs{lane="bulk",state="running"} 0`, `stayledger_job_oldest_due_seconds{lane="none"} 360`,
		`stayledger_operations_open{status="queued"} 0`, `stayledger_pool_connections{state="most"} 8`, `stayledger_pool_waits_total`, `stayledger_build_info{`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}

	if t.Failed() {
		t.Log(body)
	}
}

// spanCollector takes spans as OpenTelemetry collectors do.
type spanCollector struct {
	mu    sync.Mutex
	spans []*spans.Span
}

func (c *spanCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)

	var sent collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/collect/v1/traces" || proto.Unmarshal(body, &sent) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	for _, resource := range sent.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

func TestTracesNameRoutesJobsAndStatementsButNoTeam(t *testing.T) {
	t.Parallel()

	taken := &spanCollector{}
	server := httptest.NewServer(taken)
	t.Cleanup(server.Close)
	r := run(t, apitest.Database(t), func(c *app.Config) { c.OTLPEndpoint = server.URL + "/collect" })
	r.until(r.base+"/readyz", http.StatusOK, "ok")

	office, key := r.office()
	if status, body := r.get(r.base+"/accounts/"+office.String(), key); status != http.StatusNotFound {
		t.Fatalf("an unknown account answers %d: %s", status, body)
	}

	r.export(key)
	r.stop() // sends what is left

	names := map[string]*spans.Span{}
	for _, s := range taken.spans {
		names[s.GetName()] = s
		for _, a := range s.GetAttributes() {
			if strings.Contains(a.GetValue().String(), office.String()) {
				t.Errorf("span %s tells the team: %v", s.GetName(), a)
			}
		}
	}

	read := names["GET /accounts/{id}"]

	job := slices.ContainsFunc(slices.Collect(maps.Keys(names)), func(name string) bool { return strings.HasPrefix(name, "job export") })
	if read == nil || !job || names["SELECT"] == nil {
		t.Fatalf("spans are %v", slices.Sorted(maps.Keys(names)))
	}

	if line := `"trace":"` + hex.EncodeToString(read.GetTraceId()); !strings.Contains(r.log.String(), line) {
		t.Errorf("no line of the log has %s", line)
	}
}
