package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"stayledger/domain/record/file"
	"stayledger/migrations"
	"stayledger/platform/db"
)

// preparePoll is how often a process that cannot work yet tries again.
const preparePoll = time.Second

// CheckSchema fails with db.ErrSchema if the database lacks migrations that this program needs. A newer schema is
// fine: during a deployment older processes run at the same time as newer ones.
func (a *App) CheckSchema(ctx context.Context) error {
	newest, err := migrations.Newest()
	if err != nil {
		return err
	}

	there, err := a.DB.Schema(ctx)
	if err != nil {
		return err
	}

	if there < newest {
		return db.ErrSchema
	}

	return nil
}

// prepare waits until the database is migrated and the file store belongs to it. Until then the process is not
// ready, answers no request and takes no jobs. It fails only for a store that belongs to another database, which
// waiting does not change.
func (a *App) prepare(ctx context.Context) error {
	for logged := ""; ; {
		err := a.CheckSchema(ctx)
		if err == nil {
			err = file.Claim(ctx, a.DB, a.store, a.Config.AdoptStore)
		}

		if err == nil || errors.Is(err, file.ErrForeignStore) {
			return err
		}

		if cause := err.Error(); cause != logged {
			a.Log.WarnContext(ctx, "not ready", "cause", cause)
			logged = cause
		}

		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(preparePoll):
		}
	}
}

// serveOperators serves metrics and probes on the address for operators until ctx ends. A process that only works
// on jobs has them too.
func (a *App) serveOperators(ctx context.Context, listener net.Listener) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.watch.handler())
	mux.HandleFunc("GET /healthz", answerHealth)
	mux.HandleFunc("GET /readyz", a.readiness(func() bool { return ctx.Err() == nil && !a.stopping.Load() }))
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
	}

	context.AfterFunc(ctx, func() { _ = server.Close() })

	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		a.Log.Error("serve operators", "error", err)
	}
}

// answerHealth reports that the process lives, whatever the state of its database.
func answerHealth(w http.ResponseWriter, _ *http.Request) { answerProbe(w, "") }

// readiness returns a handler that says whether requests should be sent here; on reports whether the process is
// neither starting nor stopping.
func (a *App) readiness(on func() bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()

		switch {
		case !on():
			answerProbe(w, "starting or stopping")
		case a.DB.Ping(ctx) != nil:
			answerProbe(w, "the database is out of reach")
		case !a.prepared.Load():
			answerProbe(w, "the schema is missing or older than this program, or the file store is out of reach")
		default:
			answerProbe(w, "")
		}
	}
}

// answerProbe answers a probe: 503 with the cause, or 200 if there is none.
func answerProbe(w http.ResponseWriter, cause string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")

	if cause != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("not ready: " + cause + "\n"))

		return
	}

	_, _ = w.Write([]byte("ok\n"))
}
