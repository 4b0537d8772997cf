package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"

	"stayledger/app"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/migrations"
	"stayledger/platform/api"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/page"
	"stayledger/platform/parts"
	"stayledger/platform/pgserver"
	"stayledger/platform/seal"
)

// connections is the size of the pools of the service and of the bare code. It is the default of the service.
const connections = 24

// tenant is a team with a key and the user that the key acts as.
type tenant struct {
	team, user id.ID
	secret     string
	rows       int
}

// scope returns the scope of a request with the tenant's key.
func (t tenant) scope(tx *db.DB) db.Scope {
	return db.Scope{Team: t.team, Actor: db.Actor{User: t.user}, Action: id.New(tx.Now())}
}

// bed is the environment of the measurements: the service as package app assembles it, and a bare server on the
// same database.
type bed struct {
	folder    string
	server    *pgserver.Server
	db        *db.DB
	bare      *pgxpool.Pool // sees the rows of the large team
	log       *os.File
	large     tenant
	small     tenant
	dailyRows []int    // sizes of the teams of the section daily
	dailyOnly []string // what of it is measured
	mixedFor  time.Duration
	timed     bool       // PostgreSQL records where it spends its time
	entries   int        // of the largest ledger
	books     []tenant   // those of ledgers, once they are filled
	ours      string     // address of the service
	bareHTTP  string     // address of the bare server
	parts     parts.Part // of the whole service
	stop      context.CancelFunc
	closed    sync.WaitGroup

	settled atomic.Int64 // no-op operations completed
	started chan startedJob
}

// startedJob is the time at which the handler of a numbered job was entered.
type startedJob struct {
	number int
	at     time.Time
}

// newBed starts PostgreSQL, creates and fills the two teams of operations, and starts the servers. It closes
// everything again if it fails.
func newBed(ctx context.Context, o options) (b *bed, err error) {
	b = &bed{entries: o.entries, timed: o.timed, started: make(chan startedJob, 1000)}

	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()

	if b.folder, err = os.MkdirTemp("", "stayledger-bench-"); err != nil {
		return b, fmt.Errorf("make a folder: %w", err)
	}

	// If root runs the benchmark, PostgreSQL runs as another account, which must pass through the folder.
	if err := os.Chmod(b.folder, 0o711); err != nil { //nolint:gosec // see above
		return b, fmt.Errorf("open the folder: %w", err)
	}

	// Commits are durable, because most limits compare how long commits take.
	server := pgserver.Options{Dir: b.folder + "/cluster", Durable: true, Logger: slog.New(slog.DiscardHandler)}
	if o.timed {
		server.Settings = map[string]string{
			"shared_preload_libraries":          "pg_stat_statements",
			"pg_stat_statements.track_planning": "on",
			"pg_stat_statements.track":          "all",
		}
	}

	if b.server, err = pgserver.Start(ctx, server); err != nil {
		return b, err
	}

	if o.timed {
		if err := b.asAdministrator(ctx, []string{"create extension pg_stat_statements"}, tenant{}); err != nil {
			return b, err
		}
	}

	// Then the schema and the service's own pool of connections.
	url := b.server.URL(pgserver.Role, pgserver.Role)
	if _, err := db.Migrate(ctx, url, migrations.FS); err != nil {
		return b, err
	}

	if b.db, err = db.Open(ctx, db.Config{URL: url, MaxConnections: connections}); err != nil {
		return b, err
	}

	// One large and one small team: the difference shows what grows with the number of rows.
	for _, t := range []struct {
		*tenant
		rows int
	}{{&b.large, o.rows}, {&b.small, 10_000}} {
		if *t.tenant, err = newTenant(ctx, b.db, t.rows); err != nil {
			return b, err
		}
	}

	if err := b.seed(ctx); err != nil {
		return b, err
	}

	return b, b.serve(ctx)
}

// newTenant creates a team and a key with all rights.
func newTenant(ctx context.Context, d *db.DB, rows int) (t tenant, err error) {
	t.rows = rows
	err = d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		t.team, err = team.Create(ctx, tx, team.New{
			Name:   "Team of " + strconv.Itoa(rows),
			Type:   team.PropertyManager,
			Region: "us",
		})
		if err != nil {
			return err
		}

		// The key has the scope of an administrator, so every request of the benchmark is allowed.
		key, err := access.IssueKey(ctx, tx, access.NewKey{
			Name:   "bench",
			Teams:  []id.ID{t.team},
			Scopes: []string{"admin"},
		})
		if err != nil {
			return err
		}

		t.user, t.secret = key.UserID, key.Secret

		return nil
	})

	return t, err
}

// keep is how long operations are kept: longer than any run.
const keep = 9600 * time.Hour

// serve starts the worker and both servers, wired as package app does.
func (b *bed) serve(ctx context.Context) (err error) {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop

	// The log is written, as that of the service is. Without the system call the service would look faster.
	if b.log, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		return fmt.Errorf("open the log: %w", err)
	}

	log := slog.New(slog.NewJSONHandler(b.log, nil))
	if err := b.assemble(); err != nil {
		return err
	}

	// The worker also folds counts and sums from time to time, as in production.
	w := job.NewWorker(job.Config{
		DB:       b.db,
		Log:      log,
		Workers:  workers,
		Handlers: b.handlers(),
		Every:    slices.Concat(operation.Part(keep).Every, ledger.Part().Every, []job.Every{page.Counts.Every()}),
		Started: func(ctx context.Context, jobs []job.Job, at time.Time) error {
			return operation.MarkRunning(ctx, b.db, jobs, at)
		},
	})
	b.closed.Go(func() { w.Run(working, 5*time.Second) })

	// Jobs start when they are committed, not at the next poll.
	waker := job.NewWaker(b.db, w.Wake)
	b.db.SetOnQueued(waker.Wake)
	b.closed.Go(func() { waker.Run(working) })

	// Last, the two servers, each on a port of its own.
	if b.ours, err = b.listenAsService(working, b.db); err != nil {
		return err
	}

	bare, err := b.bareHandler(ctx)
	if err != nil {
		return err
	}

	b.bareHTTP, err = b.listen(working, bare)

	return err
}

// assemble makes all parts of the service, with a store in the bed's folder.
func (b *bed) assemble() error {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails

	// Files go to a folder: the benchmark needs no object store.
	store, err := blob.Local(filepath.Join(b.folder, "files"))
	if err != nil {
		return err
	}

	signer, err := blob.NewSigner(key)
	if err != nil {
		return err
	}

	box, err := seal.New(key)
	if err != nil {
		return err
	}

	b.parts = app.Parts(app.External{
		Store:  store,
		Signer: signer,
		Box:    box,
	}, app.Config{PublicURL: "http://127.0.0.1", KeepOperations: keep})

	return nil
}

// listenAsService serves the service on the connections of d until the context ends, wired as package app does.
func (b *bed) listenAsService(ctx context.Context, d *db.DB) (address string, err error) {
	gate := access.NewGate(access.Config{DB: d, Regions: map[access.Region]string{"us": "http://127.0.0.1"}})

	b.closed.Go(func() { gate.Watch(ctx) })

	// Metrics and compression are part of every request in production, so they are here too.
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "request_seconds"}, []string{
		"endpoint",
		"status",
	})
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	service := api.NewServer(api.Config{
		DB:           d,
		Log:          slog.New(slog.NewJSONHandler(b.log, nil)),
		Authenticate: gate.Authenticate,
		Audit:        audit.Record,
		CursorKey:    key,
		PublicURL:    "http://127.0.0.1",
		Observe: func(endpoint string, status int, took time.Duration) {
			requests.WithLabelValues(endpoint, strconv.Itoa(status)).Observe(took.Seconds())
		},
		Title:       "bench",
		Description: "The service and an endpoint that starts an operation.",
	}, append(slices.Clone(b.parts.Endpoints), startEndpoint()))

	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(1400), gzhttp.ContentTypes([]string{"application/json"}))
	if err != nil {
		return "", fmt.Errorf("response compression: %w", err)
	}

	return b.listen(ctx, compress(service))
}

// listen serves on a loopback port until the context ends.
func (b *bed) listen(ctx context.Context, h http.Handler) (address string, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}

	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
	}
	go func() { _ = server.Serve(listener) }()

	b.closed.Go(func() { <-ctx.Done(); _ = server.Close() })

	return listener.Addr().String(), nil
}

// close stops everything that was started, in the opposite order, and removes the folder.
func (b *bed) close() error {
	// First the servers and the worker, which use the pools.
	if b.stop != nil {
		b.stop()
		b.closed.Wait()
	}

	if b.bare != nil {
		b.bare.Close()
	}

	if b.db != nil {
		b.db.Close()
	}

	// Then the log, PostgreSQL and its files. One failure does not keep the rest from being closed.
	var err error
	if b.log != nil {
		err = b.log.Close()
	}

	if b.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()

		err = errors.Join(err, b.server.Stop(ctx))
	}

	return errors.Join(err, os.RemoveAll(b.folder))
}
