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
	"stayledger/domain/exchange/pms"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/connection"
	"stayledger/domain/tenant/team"
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

// bed is the environment of a section: a database with the rows of a seed, the service as package app assembles it, and
// a bare server on the same database.
type bed struct {
	*cluster

	database string
	sizes    sizes
	options  options
	db       *db.DB
	bare     *pgxpool.Pool // sees the rows of the large team
	log      *os.File
	teams    map[string]tenant // of the seed, by name
	large    tenant            // has many operations
	small    tenant            // has few
	source   intake.Source     // what connections give; nil for what their apps do
	ours     string            // address of the service
	bareHTTP string            // address of the bare server
	parts    parts.Part        // of the whole service
	stop     context.CancelFunc
	closed   sync.WaitGroup

	settled atomic.Int64 // no-op operations completed
	started chan startedJob
}

// startedJob is the time at which the handler of a numbered job was entered.
type startedJob struct {
	number int
	at     time.Time
}

// open opens the service's own pool of connections to a database, and loads the teams of its seed. It closes everything
// again if it fails.
func (c *cluster) open(ctx context.Context, database string) (b *bed, err error) {
	b = &bed{cluster: c, database: database, started: make(chan startedJob, 1000)}

	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()

	if b.db, err = db.Open(ctx, db.Config{URL: b.url(pgserver.Role), MaxConnections: connections}); err != nil {
		return b, err
	}

	if err := b.loadTeams(ctx); err != nil {
		return b, err
	}

	b.large, b.small = b.teams["large"], b.teams["small"]

	return b, nil
}

// url returns the URL of the bed's database for a role.
func (b *bed) url(role string) string { return b.server.URL(role, b.database) }

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

// publicURL is the address that the service says is its own.
const publicURL = "http://127.0.0.1"

// serve starts the worker and both servers, wired as package app does.
func (b *bed) serve(ctx context.Context) (err error) {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop

	// The log is written, as that of the service is. Without the system call the service would look faster.
	if b.log, err = os.OpenFile(b.cluster.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
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

	// The systems of the section sync are on this machine.
	systems := pms.New(box, pms.Options{AllowPrivate: true, PublicURL: publicURL})
	b.parts = app.Parts(app.External{
		Store:   store,
		Signer:  signer,
		Box:     box,
		Systems: systems,
		Sources: func(ctx context.Context, d *db.DB, scope db.Scope, one id.ID) (intake.Source, error) {
			if b.source == nil {
				return systems.Open(ctx, d, scope, one)
			}

			return b.source, nil
		},
	}, app.Config{PublicURL: publicURL, LocalProviders: true, KeepOperations: keep})

	return nil
}

// protocolApp returns the app of systems that speak our own protocol, the first one.
func protocolApp() connection.AppID { return pms.New(nil, pms.Options{}).Apps()[0].ID }

// listenAsService serves the service on the connections of d until the context ends, wired as package app does.
func (b *bed) listenAsService(ctx context.Context, d *db.DB) (address string, err error) {
	gate := access.NewGate(access.Config{DB: d, Regions: map[access.Region]string{"us": publicURL}})

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
		PublicURL:    publicURL,
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

// close stops everything that was started, in the opposite order.
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

	if b.log == nil {
		return nil
	}

	return b.log.Close()
}
