package export_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/parts"
)

// selection is a selector for renderers of the tests.
type selection struct {
	Word string `query:"word" json:"word,omitempty"`
}

// probe declares an export that is rendered by a test.
func probe(render func(ctx context.Context, tx *db.Tx, s *selection, out *export.Sink) error) parts.Export {
	return export.Declare(export.Declaration[selection]{
		Path: "/probes/csv", ID: "ProbesCSV", Tag: "Probes", Summary: "Export probes", Format: export.CSV, Scopes: []string{"reports:export"}, Name: "probes",
		Count:  func(context.Context, *db.Tx, *selection) (export.Size, error) { return export.Size{Rows: 1}, nil },
		Render: render,
	})
}

func (w *world) files() int64 {
	w.t.Helper()

	var n int64

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select count(*) from file where team_id = @team`, db.Args{"team": tx.Team})
		return err
	})

	return n
}

// open counts the bytes that writers neither kept nor dropped.
func (w *world) open() int {
	w.t.Helper()

	n, err := w.store.Sweep(w.t.Context(), time.Now().Add(time.Hour))
	if err != nil {
		w.t.Fatal(err)
	}

	return n
}

// Proves: EXP-16, EXP-17, ERR-55.
func TestRendererFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, export.Config{}, probe(func(_ context.Context, _ *db.Tx, _ *selection, to *export.Sink) error {
		_, _ = io.WriteString(to, "half")
		return errors.New("the printer is on fire")
	}))

	answer := w.Get("/probes/csv").WantError(apierr.CodeBadGateway, "")
	if answer.Status != 502 || answer.Has("context") || strings.Contains(string(answer.Body), "fire") || w.files() != 0 || w.open() != 0 {
		t.Errorf("answer %s, %d files, %d open", answer.Body, w.files(), w.open())
	}
}

// Proves: EXP-16, EXP-18, ERR-58, OPEN-44.
func TestRendererHangs(t *testing.T) {
	t.Parallel()

	for name, render := range map[string]func(context.Context, *db.Tx, *selection, *export.Sink) error{
		"waits": func(ctx context.Context, _ *db.Tx, _ *selection, _ *export.Sink) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"in the database": func(ctx context.Context, tx *db.Tx, _ *selection, _ *export.Sink) error {
			_, err := tx.Exec(ctx, "select pg_sleep(60)", nil)
			return err
		},
		"never looks at its context": func(_ context.Context, _ *db.Tx, _ *selection, to *export.Sink) error {
			for {
				if _, err := io.WriteString(to, "again\n"); err != nil {
					return err
				}

				time.Sleep(time.Millisecond)
			}
		},
		"ends too late": func(ctx context.Context, _ *db.Tx, _ *selection, _ *export.Sink) error {
			<-ctx.Done()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, export.Config{Budget: 300 * time.Millisecond}, probe(render))
			start := time.Now()

			answer := w.Get("/probes/csv").WantError(apierr.CodeGatewayTimeout, "")
			if took := time.Since(start); took > 5*time.Second || answer.Has("context") || w.files() != 0 || w.open() != 0 {
				t.Errorf("after %v: %s, %d files, %d open", took, answer.Body, w.files(), w.open())
			}
		})
	}
}

func TestQueuedRendererFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, export.Config{}, probe(func(context.Context, *db.Tx, *selection, *export.Sink) error {
		return apierr.BadRequest // what another attempt cannot mend
	}))
	operation := w.Post("/probes/csv", object{}).Want(202).ID("operationId")
	w.ExpectInternal("export", "the probe cannot be rendered")
	w.Work()

	got := w.Get("/operations/" + operation.String()).Want(200)
	if got.String("status") != "failed" || got.String("failure.code") != "operationFailed" || got.Len("resources") != 0 || w.files() != 0 {
		t.Errorf("operation %s, %d files", got.Body, w.files())
	}
}

// Proves: OPS-62.
func TestProgressOfAQueuedExport(t *testing.T) {
	t.Parallel()

	half, read := make(chan error, 1), make(chan struct{})
	w := newWorld(t, export.Config{}, export.Declare(export.Declaration[selection]{
		Path: "/probes/csv", ID: "ProbesCSV", Tag: "Probes", Summary: "Export probes", Format: export.CSV, Scopes: []string{"reports:export"}, Name: "probes",
		Count: func(context.Context, *db.Tx, *selection) (export.Size, error) { return export.Size{Rows: 40}, nil },
		Render: func(_ context.Context, _ *db.Tx, _ *selection, out *export.Sink) error {
			// Progress is saved once a second has gone by on the clock, so a longer pause always lets it be saved.
			time.Sleep(1100 * time.Millisecond)

			half <- out.Count(20)

			<-read

			return out.Count(20)
		},
	}))

	path := "/operations/" + w.Post("/probes/csv", object{}).Want(202).String("operationId") + "/progress"
	if waiting := w.Get(path).Want(200); waiting.String("status") != "queued" || waiting.Value("total") != nil || waiting.Int("done") != 0 {
		t.Errorf("waiting %s", waiting.Body)
	}

	worked := make(chan struct{})
	go func() { defer close(worked); w.Work() }()

	if err := <-half; err != nil {
		t.Error(err)
	}

	if running := w.Get(path).Want(200); running.Int("total") != 40 || running.Int("done") != 20 {
		t.Errorf("running %s", running.Body)
	}

	close(read)
	<-worked

	if done := w.Get(path).Want(200); done.String("status") != "completed" || done.Int("total") != 40 || done.Int("done") != 40 || done.Value("updatedAt") == nil {
		t.Errorf("done %s", done.Body)
	}

	newWorld(t, export.Config{}).Get(path).WantError(apierr.CodeNotFound, "")
	w.Get("/operations/op_00000000000000000000000000/progress").WantError(apierr.CodeNotFound, "")
}

// Proves: EXP-08, EXP-09, EXP-11, EXP-26, OPS-26, OPS-27, OPS-28, OPS-29, OPS-30, OPS-88, OPEN-48.
func TestQueuedExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, export.Config{}, probe(func(_ context.Context, _ *db.Tx, s *selection, to *export.Sink) error {
		_, err := io.WriteString(to, "word\r\n"+s.Word+"\r\n")
		return err
	}))

	ack := w.Post("/probes/csv", object{"word": "boat"}).Want(202)
	if ack.String("type") != "export" || ack.String("status") != "queued" || ack.String("resource") != "null" || strings.Contains(string(ack.Body), "boat") ||
		ack.Has("url") || ack.Header.Get("X-Service-Audit-Should-Poll") != "true" {
		t.Errorf("acknowledgement %s", ack.Body)
	}

	path := "/operations/" + ack.String("operationId")

	waiting := w.Get(path).Want(200)
	if waiting.String("status") != "queued" || waiting.Len("resources") != 0 || strings.Contains(string(waiting.Body), "url") {
		t.Errorf("waiting %s", waiting.Body)
	}

	w.Work()
	done := w.Get(path).Want(200)

	file := done.String("resources.0.id")
	if done.String("status") != "completed" || done.String("finishedAt") == "null" || done.Len("resources") != 1 || done.String("resources.0.type") != "file" ||
		done.String("resources.0.role") != "result" || done.String("resources.0.url") != "/files/"+file+"/download" {
		t.Errorf("done %s", done.Body)
	}

	for range 2 {
		got := w.Get(w.Get(path).String("resources.0.url")).Want(200)
		if string(got.Body) != "word\r\nboat\r\n" {
			t.Errorf("file %q", got.Body)
		}
	}

	meta := w.Get("/files/" + file).Want(200)

	made, _ := time.Parse(time.RFC3339, meta.String("createdAt"))
	if purge, err := time.Parse(time.RFC3339, meta.String("purgeAt")); err != nil || purge.Sub(made) != 30*24*time.Hour {
		t.Errorf("it stays until %v, %v: %s", purge, err, meta.Body)
	}

	if w.files() != 1 || w.open() != 0 {
		t.Errorf("%d files, %d open", w.files(), w.open())
	}
}

func TestQueuedExportIsRenderedAgainAfterAFailure(t *testing.T) {
	t.Parallel()

	var runs atomic.Int64

	w := newWorld(t, export.Config{}, probe(func(_ context.Context, _ *db.Tx, _ *selection, to *export.Sink) error {
		_, _ = fmt.Fprintf(to, "run %d", runs.Load())
		if runs.Add(1) == 1 {
			return errors.New("out of paper")
		}

		return nil
	}))
	if got := w.queued("/probes/csv", object{}); string(got.Body) != "run 1" || w.files() != 1 {
		t.Errorf("file %q, %d files", got.Body, w.files())
	}
}

// A client that hangs up stops the work, and nothing is kept.
func TestClientIsGone(t *testing.T) {
	t.Parallel()

	var hangUp sync.Once

	rendering, stopped := make(chan struct{}), make(chan struct{})
	w := newWorld(t, export.Config{}, probe(func(ctx context.Context, _ *db.Tx, _ *selection, to *export.Sink) error {
		_, _ = io.WriteString(to, "half")

		hangUp.Do(func() { close(rendering) })
		<-ctx.Done()
		close(stopped)

		return ctx.Err()
	}))
	server := api.NewServer(api.Config{
		DB: w.DB, Log: slog.New(slog.DiscardHandler), PublicURL: address,
		Authenticate: func(context.Context, *http.Request, *api.Endpoint) (db.Scope, error) { return w.Scope(), nil },
	}, w.endpoints)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan *httptest.ResponseRecorder)

	go func() {
		recorder := httptest.NewRecorder()
		server.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodGet, "/probes/csv", nil))

		answered <- recorder
	}()

	<-rendering
	cancel()

	select {
	case <-stopped:
	case <-time.After(2 * time.Minute):
		t.Fatal("the renderer goes on")
	}

	if answer := <-answered; answer.Body.Len() != 0 || w.files() != 0 || w.open() != 0 {
		t.Errorf("answer %s, %d files, %d open", answer.Body, w.files(), w.open())
	}
}

// One export is waited for at a time here; the second waits for its turn within its own budget.
func TestAwaitedExportsTakeTurns(t *testing.T) {
	t.Parallel()

	begun, release := make(chan struct{}, 2), make(chan struct{})
	w := newWorld(t, export.Config{Budget: time.Second, Limits: export.Limits{AtOnce: 1}}, probe(
		func(_ context.Context, _ *db.Tx, s *selection, to *export.Sink) error {
			begun <- struct{}{}

			if s.Word == "slow" {
				<-release
			}

			_, err := io.WriteString(to, s.Word)

			return err
		}))

	slow := make(chan int)
	go func() { slow <- w.Get("/probes/csv?word=slow").Status }()

	<-begun
	w.Get("/probes/csv?word=late").WantError(apierr.CodeGatewayTimeout, "")
	close(release)
	<-slow
	w.awaited("/probes/csv", "word", "next")
}

func TestLinkOfAnExportExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t, export.Config{Linked: time.Nanosecond}, probe(func(context.Context, *db.Tx, *selection, *export.Sink) error { return nil }))
	w.follow(w.Get("/probes/csv")).WantError(apierr.CodeGone, "")
}

// foreign is an export that Declare did not make.
type foreign struct{}

func (foreign) Route() string { return "/foreign/csv" }

func TestExportsAreMadeByDeclare(t *testing.T) {
	t.Parallel()

	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "/foreign/csv") {
			t.Errorf("an export of another kind: %s", got)
		}
	}()

	export.New(export.Config{}, foreign{})
}
