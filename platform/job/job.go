// Package job is the queue: a job is a row inserted by the transaction that asks for it, so a rollback takes it back
// and a commit cannot lose it. Workers claim due rows with a lease; work runs at least once and must end with Done in
// the transaction that keeps its outcome, which makes that outcome happen exactly once: a worker that lost its lease
// cannot commit.
//
// Claims are committed without waiting for the disk. If a crash loses one, the job waits again, as after any crash.
package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Lease is how long a silent worker keeps its jobs; a worker that lives renews it well before.
const Lease = 15 * time.Second

// DefaultMaxAttempts is how often a job is tried before it counts as failed.
const DefaultMaxAttempts = 5

// OutsideTime is how long work on the outside is tried before it is given up: providers, mail servers and disks are
// away for hours.
const OutsideTime = 24 * time.Hour

// ErrWorkerDied is the cause of a job that is given up because its workers died before they could report a cause.
var ErrWorkerDied = errors.New("the worker died during every attempt")

// Job is one piece of waiting or running work.
type Job struct {
	ID          id.ID
	TeamID      id.ID
	Zone        day.Zone
	Kind        string
	Args        json.RawMessage
	ActorID     id.ID
	ActorType   db.ActorKind
	ActionID    id.ID
	OperationID id.ID
	Priority    int16
	Attempt     int16
	MaxAttempts int16
	DueAt       time.Time
	CreatedAt   time.Time
	// StartedAt is when this attempt was claimed.
	StartedAt time.Time `db:"-"`
	// Trying is how long before this attempt the first one has failed.
	Trying time.Duration
	// IsFrozen says that the team was frozen at the claim by an operation that the job is no task of.
	IsFrozen  bool
	worker    id.ID
	exclusive bool
	ungated   bool
}

// New describes a job; zero values take the transaction's team, user and instant.
type New struct {
	Kind        Kind
	Args        any
	OperationID id.ID
	// Priority orders due jobs: lower runs first. Work that a person waits for is 0, bulk work is higher.
	Priority    int16
	MaxAttempts int16
	DueAt       time.Time
}

// ErrLeaseLost means that another worker took the job over; the transaction must not commit.
var ErrLeaseLost = errors.New("job lease lost")

// permanent wraps an error that another attempt cannot mend.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent marks a failure as final: the job is not tried again.
func Permanent(err error) error { return permanent{err} }

// IsPermanent reports whether another attempt is pointless.
func IsPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p)
}

// The database's clock decides when a job is due: a process with a fast clock must not delay its jobs.
const insertJobs = `
	insert into job (id, team_id, kind, args, actor_id, actor_type, action_id, operation_id, priority, max_attempts, due_at, created_at)
	select j.id, @job_team, j.kind, j.args::jsonb, @job_actor, @job_actor_type, @job_action, j.operation_id, j.priority, j.max_attempts,
		coalesce(j.due_at, least(@job_now::timestamptz, clock_timestamp())), @job_now::timestamptz
	from unnest(@job_ids::uuid[], @job_kinds::text[], @job_args::text[], @job_operations::uuid[], @job_priorities::smallint[],
		@job_attempts::smallint[], @job_due::timestamptz[]) as j (id, kind, args, operation_id, priority, max_attempts, due_at)`

// Statement returns the statement that inserts jobs, for a pipeline with the rows they belong to, or after a WITH
// that inserts those: its arguments are named job_…. It marks the transaction as leaving work behind.
func Statement(tx *db.Tx, jobs ...New) (db.Stmt, error) {
	n := len(jobs)
	ids, kinds, args, operations := make([]id.ID, n), make([]string, n), make([]string, n), make([]id.ID, n)
	priorities, attempts, due := make([]int16, n), make([]int16, n), make([]*time.Time, n)

	// One array for each column, so that the text of the statement does not depend on the number of jobs.
	for i := range jobs {
		j := &jobs[i]
		if j.Kind == (Kind{}) {
			return db.Stmt{}, errors.New("a job has no kind")
		}

		encoded, err := json.Marshal(j.Args)
		if err != nil {
			return db.Stmt{}, fmt.Errorf("encode job arguments: %w", err)
		}

		ids[i], kinds[i], args[i], operations[i], priorities[i], attempts[i] = tx.NewID(), j.Kind.name, string(encoded), j.OperationID, j.Priority, j.MaxAttempts

		// Zero values mean the defaults: the usual attempts, and due at once.
		if attempts[i] == 0 {
			attempts[i] = DefaultMaxAttempts
		}

		if !j.DueAt.IsZero() {
			due[i] = &j.DueAt
		}
	}

	// Workers are woken after the commit, and not before the jobs can be seen.
	for i := range jobs {
		tx.MarkQueued(jobs[i].Kind.name)
	}

	return db.Stmt{SQL: insertJobs, Args: db.Args{
		"job_team": tx.Team, "job_actor": tx.Actor.User, "job_actor_type": cmp.Or(tx.Actor.Kind, db.Person), "job_action": tx.Action, "job_now": tx.Now, "job_ids": ids, "job_kinds": kinds, "job_args": args,
		"job_operations": operations, "job_priorities": priorities, "job_attempts": attempts, "job_due": due,
	}}, nil
}

// Insert adds a job to the transaction.
func Insert(ctx context.Context, tx *db.Tx, n New) error {
	s, err := Statement(tx, n)
	if err != nil {
		return err
	}

	return tx.Pipeline(ctx, s)
}

// Done ends a job inside the transaction that keeps its outcome.
func Done(ctx context.Context, tx *db.Tx, j Job) error {
	err := tx.Pipeline(ctx, done(j))
	if LeaseLost(err) {
		return ErrLeaseLost
	}

	return err
}

// DoneAtEnd works as Done in the round trip of the commit, followed by a call of a function in the database. A lost
// lease then becomes the error of the transaction: see LeaseLost.
func DoneAtEnd(tx *db.Tx, j Job, call db.Stmt) {
	s := done(j)
	s.SQL += ", " + call.SQL
	maps.Copy(s.Args, call.Args)
	tx.AtEnd(s)
}

func done(j Job) db.Stmt {
	return db.Stmt{
		SQL:  `select job_done(@job_id, @job_worker, @job_attempt)`,
		Args: db.Args{"job_id": j.ID, "job_worker": j.worker, "job_attempt": j.Attempt},
	}
}

// LeaseLost reports that a transaction did not commit because another worker has the job.
func LeaseLost(err error) bool { return errors.Is(err, ErrLeaseLost) || db.SQLState(err) == "SL010" }

// Scope returns the scope in which a job works: the team, user and action that asked for it.
func (j Job) Scope() db.Scope {
	return db.Scope{
		Team: j.TeamID, Zone: j.Zone, Actor: db.Actor{User: j.ActorID, Kind: j.ActorType}, Action: j.ActionID, Work: j.Kind, Operation: j.OperationID,
		Exclusive: j.exclusive, Ungated: j.ungated,
	}
}
