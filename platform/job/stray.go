package job

import (
	"context"
	"errors"
	"time"

	"stayledger/platform/db"
)

// ErrNoHandler is the cause of a job that is given up because no process handles its kind.
var ErrNoHandler = errors.New("nobody handles jobs of this kind")

// A job of an unknown kind can be for a newer version of the service that runs at the same time while it replaces this
// one. So the job is left alone for a while, but the log already mentions it.
const (
	strayPatience = 15 * time.Minute
	strayInterval = time.Minute
	strayBatch    = 100
)

// watchStrays looks for such jobs as long as the worker runs.
func (w *Worker) watchStrays(ctx context.Context) {
	tick := time.NewTicker(strayInterval)
	defer tick.Stop()

	for {
		// Work off all that wait before the next pause. Not with ctx: a statement that is cut off takes its connection
		// with it, and all the plans that the connection has kept.
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = w.strays(context.WithoutCancel(ctx)); err != nil && ctx.Err() == nil {
				w.Log.Error("look for jobs that nobody handles", "error", err)
			}
		}

		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// strays logs the kinds that no handler of this process takes, and gives up some of the jobs that have waited too
// long. It reports whether there are more.
func (w *Worker) strays(ctx context.Context) (more bool, err error) {
	known := make([]string, 0, len(w.handlers))
	for kind := range w.handlers {
		known = append(known, kind)
	}

	type waiting struct {
		Kind string
		Jobs int64
	}

	var (
		kinds []waiting
		late  []Job
	)

	// Claim the late ones, so that no other process gives them up too.
	err = w.DB.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		kinds, err = db.Select[waiting](ctx, tx, `
			select kind, count(*) as jobs from job
			where kind <> all(@known::text[]) and due_at <= clock_timestamp() and (@only::uuid is null or team_id = @only) group by kind order by kind`,
			db.Args{"known": known, "only": w.Only})
		if err != nil || len(kinds) == 0 {
			return err
		}

		late, err = db.Select[Job](ctx, tx, `
			with stray as materialized (
				select id from job c
				where kind <> all(@known::text[]) and due_at <= clock_timestamp() - @patience::interval and (@only::uuid is null or team_id = @only)
					and not exists (`+freeze+`)
				order by due_at, id limit @some for update skip locked)
			update job j set worker_id = @worker, due_at = clock_timestamp() + @lease::interval, attempt = least(j.attempt + 1, 32767)
			from stray where j.id = stray.id
			returning j.id, team_id, coalesce((select t.time_zone from team t where t.id = j.team_id), '') as zone, kind, args, actor_id, actor_type, action_id,
				operation_id, priority, attempt, max_attempts, due_at, created_at, interval '0' as trying, false as is_frozen`,
			db.Args{"known": known, "only": w.Only, "worker": w.id, "lease": Lease, "patience": strayPatience, "some": strayBatch})

		return err
	})
	if err != nil {
		return false, err
	}

	for _, k := range kinds {
		w.Log.WarnContext(ctx, "jobs wait that nobody handles", "kind", k.Kind, "jobs", k.Jobs, "patience", strayPatience.String())
	}

	// They end as a job that has failed for good.
	for _, j := range late {
		j.worker, j.StartedAt = w.id, w.DB.Now()
		w.finish(ctx, j, Handler{Exhausted: w.GiveUp}, Permanent(ErrNoHandler))
	}

	return len(late) == strayBatch, nil
}
