package operation_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type object = map[string]any

// toy is a team with the operation reads, POST /toys, which starts an operation of whatever type, resources and tasks
// the test asks for, and POST /toys/none, which starts none.
type toy struct {
	*apitest.Team
	t *testing.T
	// ended counts the attempts of worker that have ended, whatever became of them.
	ended atomic.Int64
}

type toyBody struct {
	Type      string               `json:"type,omitempty"`
	Primary   *operation.Resource  `json:"primary,omitempty"`
	Resources []operation.Resource `json:"resources,omitempty"`
	Tasks     []task               `json:"tasks,omitempty"`
	// Twice starts a second operation in the same audit action.
	Twice bool `json:"twice,omitempty"`
}

// task says what a test task does, in the order of the fields.
type task struct {
	// Outside works outside its transaction.
	Outside bool `json:"outside,omitempty"`
	// Note is kept in the operation's transaction; notes counts what landed.
	Note string `json:"note,omitempty"`
	// File is attached as a result.
	File *id.ID `json:"file,omitempty"`
	// Gate is waited for; only by the first attempt with GateFirst.
	Gate      string `json:"gate,omitempty"`
	GateFirst bool   `json:"gateFirst,omitempty"`
	// Flaky fails the first attempt.
	Flaky bool `json:"flaky,omitempty"`
	// Code ends the task with FailAs, Refuse with a condition of the contract, Break with any error, Panic with a
	// panic; each holds the text.
	Code   string `json:"code,omitempty"`
	Refuse bool   `json:"refuse,omitempty"`
	Break  string `json:"break,omitempty"`
	Panic  bool   `json:"panic,omitempty"`
	Slow   bool   `json:"slow,omitempty"`
}

type toyInput struct{ Body toyBody }

type queuedInput struct{ Body task }

var errToy = apierr.New(apierr.CodeConflict, "", "Toy is broken")

func endpoints() []api.Endpoint {
	return append(operation.Part(time.Hour).Endpoints,
		api.Write(api.Endpoint{Method: "POST", Path: "/toys", ID: "startToy", Status: 202, DryRun: true},
			func(ctx context.Context, tx *db.Tx, in *toyInput) (*operation.Acknowledgement, error) {
				n := operation.New{Type: operation.Type(in.Body.Type), Primary: in.Body.Primary, Resources: in.Body.Resources}
				for _, t := range in.Body.Tasks {
					kind := apitest.Kind("toy")
					if t.Outside {
						kind = apitest.Kind("toy.outside")
					}

					n.Tasks = append(n.Tasks, operation.Task{Kind: kind, Args: t})
				}

				if in.Body.Twice {
					if _, err := operation.Start(ctx, tx, n); err != nil {
						return nil, err
					}
				}

				return operation.Start(ctx, tx, n)
			}),
		operation.Queue(api.Endpoint{Method: "POST", Path: "/toys/queued", ID: "queueToy", DryRun: true, Errors: apierr.List{errToy}},
			func(_ context.Context, _ *db.Tx, in *queuedInput) (operation.New, error) {
				if in.Body.Code != "" {
					return operation.New{}, errToy
				}

				return operation.New{Type: operation.Export, Tasks: []operation.Task{{Kind: apitest.Kind("toy"), Args: in.Body}}}, nil
			}, func(ctx context.Context, tx *db.Tx, in *queuedInput) error {
				if err := in.Body.land(ctx, tx, operation.Run{}); err != nil {
					return err
				}

				return in.Body.outcome(ctx, operation.Run{})
			}),
		api.Write(api.Endpoint{Method: "POST", Path: "/toys/none", ID: "startNone"},
			func(context.Context, *db.Tx, *api.None) (*api.None, error) { return &api.None{}, nil }),
	)
}

func handlers() map[job.Kind]job.Handler {
	return map[job.Kind]job.Handler{
		apitest.Kind("toy"): operation.Work(time.Minute, func(ctx context.Context, tx *db.Tx, run operation.Run, t task) error {
			if err := t.land(ctx, tx, run); err != nil {
				return err
			}

			return t.outcome(ctx, run)
		}),
		apitest.Kind("toy.outside"): operation.External(time.Minute, func(ctx context.Context, _ *db.DB, _ db.Scope, run operation.Run, t task) (db.Work, error) {
			if err := t.outcome(ctx, run); err != nil {
				return nil, err
			}

			return func(ctx context.Context, tx *db.Tx) error { return t.land(ctx, tx, run) }, nil
		}),
	}
}

// land does the lasting part of the task: an audit action instead of the work of a real task.
func (t task) land(ctx context.Context, tx *db.Tx, run operation.Run) error {
	if t.Note != "" {
		_, err := tx.Exec(ctx, `insert into audit_action (team_id, id, actor_id, endpoint, request_id, created_at) values (@team, @id, @user, @note, @attempt::int, @now)`,
			db.Args{"team": tx.Team, "id": tx.NewID(), "user": tx.Actor.User, "note": "note " + t.Note, "attempt": run.Attempt, "now": tx.Now})
		if err != nil {
			return err
		}
	}

	if t.Slow { // and records when it was done
		_, err := tx.Exec(ctx, `with slept as materialized (select pg_sleep(0.05))
			insert into audit_action (team_id, id, actor_id, endpoint, request_id, created_at)
			select @team, @id, @user, 'slow work ended', '', clock_timestamp() from slept`, db.Args{"team": tx.Team, "id": tx.NewID(), "user": tx.Actor.User})
		if err != nil {
			return err
		}
	}

	if t.File != nil {
		return operation.AddResult(ctx, tx, run.OperationID, operation.Resource{Type: operation.File, ID: *t.File, Role: operation.Result})
	}

	return nil
}

func (t task) outcome(ctx context.Context, run operation.Run) error {
	if t.Gate != "" && (!t.GateFirst || run.Attempt == 1) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-gate(t.Gate):
		}
	}

	switch {
	case t.Flaky && run.Attempt == 1:
		return errors.New("first attempt " + t.Break)
	case t.Flaky:
		return nil
	case t.Code != "":
		return operation.FailAs(operation.FailureCode(t.Code), errors.New(t.Break))
	case t.Refuse:
		return errToy.Because(errors.New(t.Break))
	case t.Panic:
		panic(t.Break)
	case t.Break != "":
		return errors.New(t.Break)
	}

	return nil
}

var gates sync.Map

func gate(name string) chan struct{} {
	c, _ := gates.LoadOrStore(name, make(chan struct{}))
	return c.(chan struct{})
}

// newGate names a gate that no other test knows, and opens it at the end whatever happens.
func newGate(t *testing.T) (name string, open func()) {
	t.Helper()

	name = id.New(time.Now()).String()
	open = sync.OnceFunc(func() { close(gate(name)) })
	t.Cleanup(open)

	return name, open
}

func newToy(t *testing.T) *toy {
	t.Helper()
	return &toy{Team: apitest.New(t, apitest.Config{Endpoints: endpoints(), Handlers: handlers(), Undescribed: []string{"startToy"}}), t: t}
}

// start starts an operation and gives its id.
func (x *toy) start(b object) string {
	x.t.Helper()
	return x.Post("/toys", b).Want(202).String("operationId")
}

// read is the single read.
func (x *toy) read(operation string) *apitest.Response {
	x.t.Helper()
	return x.Get("/operations/" + operation).Want(200)
}

// worker runs a worker as the service does, which marks operations as running, until the test ends.
func (x *toy) worker() {
	x.t.Helper()

	ctx, stop := context.WithCancel(context.Background())
	w := job.NewWorker(job.Config{
		DB: x.DB, Log: slog.New(slog.DiscardHandler), Workers: 4, Handlers: handlers(), Poll: 10 * time.Millisecond, Only: x.ID,
		Started: func(ctx context.Context, jobs []job.Job, at time.Time) error {
			return operation.MarkRunning(ctx, x.DB, jobs, at)
		},
		Attempt: func(ctx context.Context, _ job.Job) (context.Context, func(error)) {
			return ctx, func(error) { x.ended.Add(1) }
		},
	})

	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx, 0) }()

	x.t.Cleanup(func() { stop(); <-done })
}

// until reads an operation until its status is one of those given, and fails when it takes too long.
func (x *toy) until(operation string, statuses ...string) *apitest.Response {
	x.t.Helper()

	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		r := x.read(operation)
		if slices.Contains(statuses, r.String("status")) {
			return r
		}

		if time.Now().After(deadline) {
			x.t.Fatalf("operation stays %s, want %v", r.Body, statuses)
		}
	}
}

// untilOpen waits until so many tasks of an operation have not settled.
func (x *toy) untilOpen(operation string, tasks int64) {
	x.t.Helper()
	x.eventually("the other tasks settle", func() bool {
		return x.count(`select tasks_open from operation where team_id = @team and id = @id::uuid`, db.Args{"id": operation}) <= tasks
	})
}

// eventually waits until something holds, and fails when it takes too long.
func (x *toy) eventually(what string, holds func() bool) {
	x.t.Helper()

	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Fatalf("it never comes that %s", what)
		}
	}
}

// notes counts what tasks have landed.
func (x *toy) notes(note string) int64 {
	x.t.Helper()
	return x.count(`select count(*) from audit_action where team_id = @team and endpoint = 'note ' || @note`, db.Args{"note": note})
}

func (x *toy) count(sql string, args db.Args) int64 {
	x.t.Helper()

	var n int64

	args = maps.Clone(args)
	if args == nil {
		args = db.Args{}
	}

	args["team"] = x.ID
	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, sql, args)
		return err
	})

	return n
}

func keys(t *testing.T, v any) []string {
	t.Helper()

	o, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("%v is no object", v)
	}

	return slices.Sorted(maps.Keys(o))
}

func ref(typ operation.ResourceType, role operation.Role) (id.ID, object) {
	v := id.New(time.Now())
	return v, object{"type": typ, "id": v, "role": role}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()

	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}

	return string(b)
}
