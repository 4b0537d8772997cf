package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/access"
	"stayledger/migrations"
	"stayledger/platform/api"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/job"
	"stayledger/platform/parts"
	"stayledger/platform/pdf"
	"stayledger/platform/seal"
)

// App is the assembled service.
type App struct {
	Config Config
	DB     *db.DB
	Log    *slog.Logger
	API    *api.Server
	gate   *access.Gate
	parts  parts.Part
	store  blob.Store
	watch  *metrics
	traces *traces
	// ready is set while connections are taken, stopping once the process has to stop, prepared once the schema and the
	// file store have been checked: endpoints answer 503 until then.
	ready    atomic.Bool
	stopping atomic.Bool
	prepared atomic.Bool
}

// Open connects and assembles the service. It neither migrates nor serves, and does not check the schema:
// CheckSchema does.
func Open(ctx context.Context, c Config, log *slog.Logger) (*App, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}

	keys, err := c.keys()
	if err != nil {
		return nil, err
	}

	// The same keys sign links and seal secrets; each use derives keys of its own.
	signer, err := blob.NewSigner(keys...)
	if err != nil {
		return nil, fmt.Errorf("secret keys: %w", err)
	}

	box, err := seal.New(keys...)
	if err != nil {
		return nil, fmt.Errorf("secret keys: %w", err)
	}

	systems, err := c.openSystems(box)
	if err != nil {
		return nil, err
	}

	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}

	// Then the world outside: files, mail, traces and the database.
	store, err := c.store(ctx, log)
	if err != nil {
		return nil, err
	}

	if err := pdf.UseFallbackFont(c.FallbackFonts); err != nil {
		return nil, fmt.Errorf("--fallback-fonts: %w", err)
	}

	post, err := c.mail(log)
	if err != nil {
		return nil, err
	}

	spans, err := newTraces(ctx, &c)
	if err != nil {
		return nil, err
	}

	log = spans.traceLogs(log)

	d, err := db.Open(ctx, db.Config{URL: c.DatabaseURL, MaxConnections: c.MaxConnections, Tracer: spans.traceStatements()})
	if err != nil {
		return nil, err
	}

	// Put the domain together, with the gate in front of it.
	here, elsewhere := c.regions()
	a := &App{Config: c, DB: d, Log: log, store: store, traces: spans}
	a.gate = access.NewGate(access.Config{DB: d, Regions: here, Elsewhere: elsewhere})
	a.parts = Parts(External{Store: store, Signer: signer, Box: box, Mail: post, Systems: systems}, c)

	// Metrics are by lane, which handlers declare.
	lanes := map[string]string{}
	for kind, h := range a.parts.Handlers {
		lanes[kind.String()] = string(cmp.Or(h.Lane, job.Quick))
	}

	a.watch = newMetrics(d, log, lanes)

	// Last the edge, with all endpoints and the pages for people.
	a.API = api.NewServer(withDescription(api.Config{
		DB:           d,
		Log:          log,
		Authenticate: a.gate.Authenticate,
		Audit:        audit.Record,
		CursorKey:    keys[0],
		FormerKeys:   keys[1:],
		PublicURL:    c.PublicURL,
		Prepared:     a.prepared.Load,
		Trace:        spans.traceRequests(),
		Observe:      a.watch.observeRequest,
	}), a.parts.Endpoints)
	if err := a.pages(); err != nil {
		d.Close()
		return nil, err
	}

	return a, nil
}

// Close gives the connections back.
func (a *App) Close() { a.DB.Close() }

// Migrate brings the schema up to date.
func Migrate(ctx context.Context, databaseURL string) (int, error) {
	return db.Migrate(ctx, databaseURL, migrations.FS)
}

// httpHandler returns the service as an HTTP handler, which compresses large answers.
func (a *App) httpHandler() (http.Handler, error) {
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(1400), gzhttp.ContentTypes([]string{
		"application/json",
		"application/yaml",
		"text/html",
		"text/css",
		"text/javascript",
		"text/markdown",
	}))
	if err != nil {
		return nil, fmt.Errorf("response compression: %w", err)
	}

	return compress(a.API), nil
}

// Run serves until ctx ends (unless listener is nil) and works on jobs (unless Workers is 0). Then it stops in
// order: it says that it is not ready, and answers requests that only wait; after the drain time it takes no new
// connections; requests in hand end, jobs in hand end or go back to the queue.
func (a *App) Run(ctx context.Context, listener net.Listener) error {
	defer a.traces.close(ctx)

	// What other goroutines need to the very end has a context of its own.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()

	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)

	context.AfterFunc(ctx, func() { a.stopping.Store(true) })

	var group sync.WaitGroup

	if a.Config.MetricsListen != "" {
		operators, err := new(net.ListenConfig).Listen(ctx, "tcp", a.Config.MetricsListen)
		if err != nil {
			return fmt.Errorf("--metrics-listen: %w", err)
		}

		group.Go(func() { a.serveOperators(background, operators) })
	}

	// A process without workers only notifies others of new work.
	var wakeWorker func(kinds ...string)

	work := func() {}

	if a.Config.Workers > 0 {
		w := job.NewWorker(job.Config{
			DB: a.DB, Log: a.Log, Workers: a.Config.Workers, Handlers: a.parts.Handlers, Every: a.parts.Every,
			Started: func(ctx context.Context, jobs []job.Job, at time.Time) error {
				return operation.MarkRunning(ctx, a.DB, jobs, at)
			},
			Attempt: a.attempt, GiveUp: operation.GiveUp,
		})
		wakeWorker = w.Wake
		work = func() {
			for _, loop := range a.parts.Loops {
				group.Go(func() { loop(ctx, a.DB, a.Log, a.Config.ShutdownGrace) })
			}

			w.Run(ctx, a.Config.ShutdownGrace)
		}
	}

	group.Go(func() {
		if err := a.prepare(ctx); err != nil {
			fail(err)
			return
		}

		a.prepared.Store(true)
		work()
	})

	// After a commit, wake the workers and the requests that wait.
	waker := job.NewWaker(a.DB, wakeWorker)
	a.DB.SetOnQueued(waker.Wake)
	group.Go(func() { waker.Run(background) })

	settled := operation.NewWaker(a.DB)
	a.DB.SetOnSettled(func() { settled.Wake() })
	group.Go(func() { settled.Run(background) })
	group.Go(func() { a.gate.Watch(background) })

	// Serve, or wait for the end.
	var err error
	if listener != nil {
		err = a.serve(ctx, listener)
	} else {
		<-ctx.Done()
	}

	stop() // the worker ends by itself, after its jobs in hand
	group.Wait()

	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}

	return err
}

// serve answers requests until ctx ends, then drains.
func (a *App) serve(ctx context.Context, listener net.Listener) error {
	handler, err := a.httpHandler()
	if err != nil {
		return err
	}

	server := &http.Server{
		Handler:           a.closeWhenStopping(handler),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(a.Log.Handler(), slog.LevelWarn),
	}

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()

	a.ready.Store(true)

	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}

	// First say that no more requests should come, and give balancers time to notice.
	a.ready.Store(false)
	a.API.Drain()

	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.Config.ShutdownGrace)
	defer cancel()

	drain := a.Config.DrainTime
	if !a.prepared.Load() {
		drain = 0 // it has not served anyone yet
	}

	a.Log.Info("stopping", "drain", drain.String())

	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-time.After(drain):
	}

	if err := server.Shutdown(grace); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("stop serving: %w", err)
	}

	return nil
}

// closeWhenStopping asks clients to disconnect with each answer while the service is not ready, so that none sends its
// next request on a connection that is about to close.
func (a *App) closeWhenStopping(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.ready.Load() {
			w.Header().Set("Connection", "close")
		}

		h.ServeHTTP(w, r)
	})
}
