package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// New describes an operation to start.
type New struct {
	// Type is the public category; empty for internal work, which the API does not show. (OPS-32, OPS-33)
	Type Type
	// Primary is the resource that acknowledgements and lists show; nil when there is no public one.
	Primary *Resource
	// Resources are all visible sources and targets, the primary one included.
	Resources []Resource
	// Tasks are the required sources: the operation completes when all of them have.
	Tasks []Task
}

// check returns an error if the record would contradict the contract. These are mistakes of the program, not of
// callers.
func (n *New) check() error {
	switch {
	case len(n.Tasks) == 0:
		return errors.New("an operation needs a task")
	case (n.Type == CSVImport || n.Type == CSVImportPreview) && (n.Primary != nil || len(n.Resources) > 0):
		return errors.New("a top-level CSV import has no public resource") // (OPS-21, OPS-22)
	case n.Type != "" && !slices.Contains(n.Type.Enum(), string(n.Type)):
		return fmt.Errorf("%q is no operation type", n.Type)
	case n.Primary != nil && !slices.ContainsFunc(n.Resources, func(r Resource) bool {
		return r.Type == n.Primary.Type && r.ID == n.Primary.ID
	}):
		return errors.New("the primary resource is not among the resources")
	}

	return nil
}

// Task is one required piece of an operation's work.
type Task struct {
	Kind job.Kind
	Args any
	// Priority orders waiting work; lower runs first.
	Priority int16
}

// Start records an operation and its jobs in the transaction of the request, in one round trip (OPS-01 … OPS-05,
// OPS-82). It fails only by a mistake of the program, such as an operation without a task.
func Start(ctx context.Context, tx *db.Tx, n New) (*Acknowledgement, error) {
	if err := n.check(); err != nil {
		return nil, fmt.Errorf("start operation: %w", err)
	}

	// The answer is known before anything is written: a new operation is queued.
	ack := &Acknowledgement{OperationID: tx.NewID(), Type: n.Type, Status: Queued, Resource: n.Primary}

	primary := Resource{}
	if n.Primary != nil {
		primary = *n.Primary
	}

	// Then its jobs, which are inserted by the same statement as the operation.
	jobs := make([]job.New, len(n.Tasks))
	for i, t := range n.Tasks {
		jobs[i] = job.New{Kind: t.Kind, Args: t.Args, OperationID: ack.OperationID, Priority: t.Priority}
	}

	start, err := job.Statement(tx, jobs...)
	if err != nil {
		return nil, err
	}

	// Both statements go with the commit, so starting costs no round trip of its own.
	start.SQL = "with started as (" + insertOperation + ")" + start.SQL
	maps.Copy(start.Args, db.Args{
		"team":   tx.Team,
		"id":     ack.OperationID,
		"type":   string(n.Type),
		"user":   tx.Actor.User,
		"action": tx.Action,
		"now":    tx.Now,
		"rtype":  string(primary.Type),
		"rid":    primary.ID,
		"rrole":  string(primary.Role),
		"tasks":  len(n.Tasks),
	})
	tx.AtEnd(start)

	if len(n.Resources) > 0 {
		tx.AtEnd(insertResources(tx, ack.OperationID, n.Resources))
	}

	return ack, nil
}

// Run identifies the operation and the attempt that a task runs for.
type Run struct {
	OperationID id.ID
	Attempt     int
}

// Work returns the handler of a task that does everything in one transaction, including settling its operation. A
// refusal of the contract (a 4xx condition) is final; any other error is tried again.
func Work[A any](timeout time.Duration, do func(ctx context.Context, tx *db.Tx, run Run, args A) error) job.Handler {
	return job.Handler{Timeout: timeout, Exhausted: GiveUp, Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		var args A
		if err := json.Unmarshal(j.Args, &args); err != nil {
			return job.Permanent(fmt.Errorf("decode task arguments: %w", err))
		}

		return final(d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
			if err := do(ctx, tx, Run{OperationID: j.OperationID, Attempt: int(j.Attempt)}, args); err != nil {
				return err
			}

			settle(tx, j)

			return nil
		}))
	}}
}

// External returns the handler of a task that touches the world outside the database. The function do works in its
// own short transactions and returns the writes that must be made when the task settles. It runs at least once.
func External[A any](
	timeout time.Duration,
	do func(ctx context.Context, d *db.DB, scope db.Scope, run Run, args A) (db.Work, error),
) job.Handler {
	return job.Handler{Timeout: timeout, Exhausted: GiveUp, Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		var args A
		if err := json.Unmarshal(j.Args, &args); err != nil {
			return job.Permanent(fmt.Errorf("decode task arguments: %w", err))
		}

		// The work outside, with no transaction open.
		finish, err := do(ctx, d, j.Scope(), Run{OperationID: j.OperationID, Attempt: int(j.Attempt)}, args)
		if err != nil {
			return final(err)
		}

		// Then what it found is written and the task settles, both or neither.
		return final(d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
			if finish != nil {
				if err := finish(ctx, tx); err != nil {
					return err
				}
			}

			settle(tx, j)

			return nil
		}))
	}}
}

// final marks refusals as not worth another attempt.
func final(err error) error {
	if db.SQLState(err) == "SL011" {
		return job.Permanent(errSettled)
	}

	var (
		refusal *apierr.Error
		failed  *failureError
	)
	if errors.As(err, &refusal) && refusal.Code().Status() < http.StatusInternalServerError || errors.As(err, &failed) {
		return job.Permanent(err)
	}

	return err
}

type failureError struct {
	code FailureCode
	error
}

func (f *failureError) Unwrap() error { return f.error }

// FailAs ends a task for good with a public failure code; the cause goes to the log only.
func FailAs(code FailureCode, cause error) error { return &failureError{code, cause} }

// Checked returns the handler of a task whose request was checked as the task is. A refusal then means that data have
// changed meanwhile, and the failure says so: sent again, the request is refused with the cause.
func Checked(h job.Handler) job.Handler {
	giveUp := h.Exhausted

	h.Exhausted = func(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
		if apierr.IsRefusal(cause) {
			cause = FailAs(DataChanged, cause)
		}

		return giveUp(ctx, tx, j, cause)
	}

	return h
}

// GiveUp settles a task as failed: after its last attempt, or because its kind has no handler.
func GiveUp(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
	code := OperationFailed
	if failed, ok := errors.AsType[*failureError](cause); ok {
		code = failed.code
	}

	return fail(ctx, tx, j, code)
}

// Settle settles a task as completed, in the transaction that keeps its outcome. Handlers that Work and External make
// do it themselves.
func Settle(tx *db.Tx, j job.Job) { settle(tx, j) }

// Record records an operation whose work was done in the request, so it has no task.
func Record(ctx context.Context, tx *db.Tx, n New) (*Acknowledgement, error) {
	ack := &Acknowledgement{OperationID: tx.NewID(), Type: n.Type, Status: Completed, Resource: n.Primary}

	_, err := tx.Exec(ctx, `
		insert into operation (team_id, id, type, status, initiated_by, action_id, resource_type, resource_id, resource_role, tasks_open, created_at, started_at, finished_at)
		values (@team, @id, @type, 'completed', @user, @action, @rtype, @rid, @rrole, 0, @now, @now, @now)`,
		db.Args{
			"team": tx.Team, "id": ack.OperationID, "type": string(n.Type), "user": tx.Actor.User, "action": tx.Action, "now": tx.Now,
			"rtype": string(n.Primary.Type), "rid": n.Primary.ID, "rrole": string(n.Primary.Role),
		})
	if err != nil {
		return nil, fmt.Errorf("record an operation: %w", err)
	}

	tx.AtEnd(insertResources(tx, ack.OperationID, n.Resources))

	return ack, nil
}

// End settles an operation as completed, or as failed without a failure (OPEN-78), whatever its tasks do. One that has
// settled stays as it is. A task that still runs is refused when it settles.
func End(ctx context.Context, tx *db.Tx, operation id.ID, status Status) error {
	_, err := tx.Exec(ctx, `
		update operation set status = @status, tasks_open = 0, started_at = coalesce(started_at, greatest(@now, created_at)),
			finished_at = greatest(@now, started_at, created_at)
		where team_id = @team and id = @id and tasks_open > 0`,
		db.Args{"team": tx.Team, "id": operation, "status": status, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("end an operation: %w", err)
	}

	tx.MarkSettled()

	return nil
}

// AddResult attaches a resource that the operation made. Call it in the transaction that settles the task.
func AddResult(ctx context.Context, tx *db.Tx, operation id.ID, r Resource) error {
	// Lock the operation in a statement of its own, so that the next statement sees the rows that another task has
	// added until then.
	err := tx.Pipeline(ctx,
		db.Stmt{SQL: `select from operation where team_id = @team and id = @operation for update`, Args: db.Args{"team": tx.Team, "operation": operation}},
		db.Stmt{
			SQL: `
			insert into operation_resource (team_id, operation_id, position, type, resource_id, role)
			select @team, @operation, coalesce(max(position) + 1, 0), @type, @id, @role
			from operation_resource where team_id = @team and operation_id = @operation`,
			Args: db.Args{
				"team":      tx.Team,
				"operation": operation,
				"type":      string(r.Type),
				"id":        r.ID,
				"role":      string(r.Role),
			},
		})
	if err != nil {
		return fmt.Errorf("add result: %w", err)
	}

	return nil
}
