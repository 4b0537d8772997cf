package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// RefreshArgs name the sources of the journals that a task derives.
type RefreshArgs struct {
	IDs []id.ID `json:"ids,omitempty"`
	// Stretch, instead of ids, is a part of all sources of the noun.
	Stretch *Stretch `json:"stretch,omitempty"`
	// Strict fails on the first journal that a lock holds instead of leaving it as it is.
	Strict bool `json:"strict,omitempty"`
	// Mode narrows what is replaced; empty means full.
	Mode string `json:"mode,omitempty"`
}

// policy returns what the task replaces and which locks it passes.
func (a RefreshArgs) policy() policy { return policy{Lenience{SkipLocked: !a.Strict}, a.Mode} }

// Stretch is the sources from one place (inclusive) to another (exclusive, nil: to the end) in the order of their
// group and id.
type Stretch struct {
	From  Place  `json:"from"`
	Until *Place `json:"until,omitempty"`
}

// Place is the place of a source in that order.
type Place struct {
	GroupID id.ID `json:"groupId"`
	ID      id.ID `json:"id"`
}

// loadBoundaries loads the place of every n-th source, where a task begins, in order.
func (s *Source) loadBoundaries(ctx context.Context, tx *db.Tx) ([]Place, error) {
	places, err := db.Select[Place](ctx, tx, `
		select group_id, id from (
			select `+s.Group+` as group_id, id, row_number() over (order by `+s.Group+`, id) as n from `+string(s.Noun)+` where team_id = @team and `+s.Having+`) r
		where r.n % @n::int = 1 order by group_id, id`, db.Args{"team": tx.Team, "n": together})
	if err != nil {
		return nil, fmt.Errorf("divide the sources of a refresh: %w", err)
	}

	return places, nil
}

// loadStretch loads the sources of a stretch.
func (s *Source) loadStretch(ctx context.Context, tx *db.Tx, stretch *Stretch) ([]id.ID, error) {
	args := db.Args{"team": tx.Team, "group": stretch.From.GroupID, "id": stretch.From.ID}

	until := ""
	if stretch.Until != nil {
		until = ` and ` + s.Group + ` <= @last and (` + s.Group + `, id) < (@last, @last_id)`
		args["last"], args["last_id"] = stretch.Until.GroupID, stretch.Until.ID
	}

	// The conditions on the group alone follow from those on the pairs; they only help the planner.
	ids, err := db.Select[id.ID](ctx, tx, `
		select id from `+string(s.Noun)+` where team_id = @team and `+s.Having+` and `+s.Group+` >= @group and (`+s.Group+`, id) >= (@group, @id)`+until+`
		order by id`, args)
	if err != nil {
		return nil, fmt.Errorf("find the sources of a stretch: %w", err)
	}

	return ids, nil
}

// task returns the task that derives the journals that the arguments name.
func (n Noun) task(args RefreshArgs) operation.Task {
	return operation.Task{Kind: n.refresh(), Args: args, Priority: 1}
}

// tasks returns tasks that derive the journals of ids.
func (n Noun) tasks(ids []id.ID, args RefreshArgs) (tasks []operation.Task) {
	for some := range slices.Chunk(ids, together) {
		args.IDs = some
		tasks = append(tasks, n.task(args))
	}

	return tasks
}

// Handlers returns the handlers of the tasks that derive journals of the noun.
func (s *Source) Handlers() map[job.Kind]job.Handler {
	h := operation.External(10*time.Minute, s.work).InBulk()

	// When a task is given up its operation is settled first, then the journals that it leaves stale are marked.
	settle := h.Exhausted
	h.Exhausted = func(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
		if err := settle(ctx, tx, j, cause); err != nil {
			return err
		}

		return s.abandon(ctx, tx, j, cause)
	}

	return map[job.Kind]job.Handler{s.Noun.refresh(): h}
}

// errUnderived says that some journals stayed as they were, since they cannot be derived.
var errUnderived = errors.New("ledger: journals cannot be derived")

// work derives the journals of a task in one transaction. If some cannot be derived the others still are, and the
// task then fails, so that an incomplete refresh does not count as complete.
func (s *Source) work(
	ctx context.Context,
	d *db.DB,
	scope db.Scope,
	_ operation.Run,
	args RefreshArgs,
) (db.Work, error) {
	// A stretch is resolved only now, so that it has the sources that exist when the task runs.
	if args.Stretch != nil {
		err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			args.IDs, err = s.loadStretch(ctx, tx, args.Stretch)
			return err
		})
		if err != nil {
			return nil, err
		}
	}

	var done refreshResult

	derive := func(how func(ctx context.Context, tx *db.Tx, ids []id.ID, by policy) (refreshResult, error)) error {
		return d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			done, err = how(ctx, tx, args.IDs, args.policy())
			return err
		})
	}

	// First try all together. If one is refused, for example because its amounts are too large, try each by itself.
	err := derive(s.refresh)
	if apierr.IsRefusal(err) && !IsLock(err) {
		err = derive(s.refreshEach)
	}

	if err == nil && done.failed > 0 {
		err = operation.FailAs(
			operation.OperationFailed,
			fmt.Errorf("%w: %d of kind %s: %w", errUnderived, done.failed, s.Noun, done.refusal),
		)
	}

	return nil, err
}

// refreshEach refreshes sources one by one after they were refused together: it derives the faultless sources and marks
// each source that is refused alone as failed.
func (s *Source) refreshEach(ctx context.Context, tx *db.Tx, ids []id.ID, by policy) (total refreshResult, err error) {
	isRefusal := func(err error) bool { return apierr.IsRefusal(err) && !IsLock(err) }

	refusals, err := db.Halves(ctx, tx, len(ids), isRefusal, func(ctx context.Context, tx *db.Tx, from, to int) error {
		done, err := s.refresh(ctx, tx, ids[from:to], by)
		if err == nil {
			total = total.add(done)
		}

		return err
	})
	if err != nil {
		return refreshResult{}, err
	}

	var failed []id.ID

	for i, refusal := range refusals {
		if refusal != nil {
			failed = append(failed, ids[i])
			total = total.add(refreshResult{failed: 1, refusal: refusal})
		}
	}

	return total, markFailed(ctx, tx, s.Noun, failed)
}

// abandon marks journals as failed when their task is given up and leaves them stale, so callers do not wait for them.
// Journals found locked by a strict refresh stay stale, and journals that cannot be derived are marked already.
func (s *Source) abandon(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
	if errors.Is(cause, errUnderived) || IsLock(cause) {
		return nil
	}

	// The task may have failed before it resolved its sources, so they are resolved again.
	var args RefreshArgs
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return fmt.Errorf("decode the journals of a task: %w", err)
	}

	if args.Stretch != nil {
		var err error
		if args.IDs, err = s.loadStretch(ctx, tx, args.Stretch); err != nil {
			return err
		}
	}

	ids, err := db.Select[id.ID](ctx, tx, `select distinct source_id from `+OutstandingSQL()+` s
		where team_id = @team and source_id = any(@ids) and status = 'stale'`, db.Args{"team": tx.Team, "ids": args.IDs})
	if err != nil {
		return fmt.Errorf("find stale journals: %w", err)
	}

	return markFailed(ctx, tx, s.Noun, ids)
}
