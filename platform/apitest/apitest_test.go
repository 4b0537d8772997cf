package apitest_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

func TestMain(m *testing.M) { apitest.Main(m) }

var (
	errShut = apierr.New(apierr.CodeForbidden, apierr.ReasonBooksClosed, "These books are closed")
	errBare = apierr.New(apierr.CodeForbidden, "", "This may not be changed")
)

type naming struct {
	Body struct {
		Name string `json:"name" minLength:"1"`
	}
}

type discarding struct {
	OnLocked string `query:"onLocked" enum:"archive"`
}

// Named is a team's name.
type Named struct {
	Name string `json:"name"`
}

func endpoints() []api.Endpoint {
	rename := func(ctx context.Context, tx *db.Tx, in *naming) (*Named, error) {
		_, err := tx.Exec(ctx, `update team set name = @name where id = @team`, db.Args{"name": in.Body.Name, "team": tx.Team})
		if err == nil {
			err = job.Insert(ctx, tx, job.New{Kind: apitest.Kind("shout")})
		}

		return &Named{Name: in.Body.Name}, err
	}

	return []api.Endpoint{
		api.Write(api.Endpoint{Method: http.MethodPut, Path: "/name", ID: "rename", DryRun: true}, rename),
		api.Read(api.Endpoint{Method: http.MethodGet, Path: "/name", ID: "name"}, func(ctx context.Context, tx *db.Tx, _ *api.None) (*Named, error) {
			name, err := db.Get[string](ctx, tx, `select name from team where id = @team`, db.Args{"team": tx.Team})
			return &Named{Name: name}, err
		}),
	}
}

func shout(ctx context.Context, d *db.DB, j job.Job) error {
	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `update team set name = upper(name) where id = @team`, db.Args{"team": tx.Team}); err != nil {
			return err
		}

		return job.Done(ctx, tx, j)
	})
}

func TestATeamCallsAndWorks(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true, Endpoints: endpoints(), Handlers: map[job.Kind]job.Handler{apitest.Kind("shout"): {Do: shout}}})
	other := apitest.New(t, apitest.Config{Silent: true, Endpoints: endpoints()})
	other.Put("/name", map[string]any{"name": "b"}).Want(200)

	before := x.Fingerprint()
	x.Put("/name", map[string]any{"name": "a"}).Want(200)

	if x.Fingerprint() == before {
		t.Error("a change leaves no trace in the fingerprint")
	}

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		return job.Insert(ctx, tx, job.New{Kind: apitest.Kind("appointment"), DueAt: tx.Now.Add(time.Hour)})
	})
	x.Work() // waits neither for the appointment nor for the other team

	if got := x.Get("/name").Want(200).String("name"); got != "A" {
		t.Errorf("the name is %s", got)
	}

	if got := other.Get("/name").Want(200).String("name"); got != "b" {
		t.Errorf("the other team's job ran: %s", got)
	}

	x.Put("/name", map[string]any{}).WantError(apierr.CodeBadRequest, "").WantIssue("required", "name")
}

func TestTheCallerReachesItsTeams(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})
	far := id.New(x.DB.Now())
	x.Reach(far)

	if a := x.Scope().Actor; !a.Reaches(x.ID) || !a.Reaches(far) || a.Reaches(x.User) {
		t.Errorf("reaches %v", a.Teams)
	}
}

// Every refusal by a lock that a test meets has one of the two kinds, and a reason.
//
// Proves: ERR-71, OPEN-62.
func TestALockOfAnotherKindFailsTheTest(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		refusal error
		fails   bool
	}{
		{errShut.With(map[string]any{"lockReason": "period"}), false},
		{errShut.With(map[string]any{"lockReason": "statement"}), false},
		{errShut.With(map[string]any{"lockReason": "reconciliation"}), true},
		{errBare.With(map[string]any{"lockReason": "period"}), true},
		{errBare, false},
	} {
		list := []api.Endpoint{api.Read(api.Endpoint{Method: http.MethodGet, Path: "/name", ID: "name"},
			func(context.Context, *db.Tx, *api.None) (*Named, error) { return nil, c.refusal })}
		note := &leak{TB: t}
		apitest.New(note, apitest.Config{Silent: true, Endpoints: list, Undescribed: []string{"name"}}).Get("/name")

		if (len(note.said) > 0) != c.fails {
			t.Errorf("%v: the harness says %q", c.refusal, note.said)
		}
	}
}

// leak is a test that only notes that it failed.
type leak struct {
	testing.TB
	said []string
}

// Helper does nothing.
func (*leak) Helper() {}

// Errorf notes a failure.
func (l *leak) Errorf(format string, _ ...any) { l.said = append(l.said, format) }

// Proves: DRY-15, DRY-25.
func TestALeakingDryRunFailsTheTest(t *testing.T) {
	t.Parallel()

	calls := 0
	list := []api.Endpoint{api.External(api.Endpoint{Method: http.MethodPut, Path: "/name", ID: "rename", DryRun: true},
		func(ctx context.Context, d *db.DB, scope db.Scope, in *naming) (*Named, error) {
			if calls++; calls > 1 {
				return nil, apierr.NotFound
			}

			return &Named{Name: in.Body.Name}, d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, `update team set name = @name where id = @team`, db.Args{"name": in.Body.Name, "team": tx.Team})
				return err
			})
		})}
	note := &leak{TB: t}
	apitest.New(note, apitest.Config{Silent: true, Endpoints: list}).Put("/name", map[string]any{"name": "leaked"})

	said := strings.Join(note.said, "\n")
	for _, want := range []string{"changed rows", "the real call"} {
		if !strings.Contains(said, want) {
			t.Errorf("nobody says %q: %s", want, said)
		}
	}
}

// Proves: ERR-74, ERR-79.
func TestASuggestionThatIsNotTrueFailsTheTest(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		suggested string
		archives  bool
		wrong     bool
	}{
		"works":                  {"archive", true, false},
		"does not work":          {"archive", false, true},
		"is no outcome":          {"archived", true, true},
		"is missing":             {"", true, true},
		"is rightly not given":   {"", false, false},
		"of what can never work": {"none", false, true},
	} {
		refuse := func(_ context.Context, _ *db.Tx, in *discarding) (*api.None, error) {
			if in.OnLocked == "archive" && c.archives {
				return &api.None{}, nil
			}

			told := map[string]any{"lockReasons": []string{"toys"}}
			if c.suggested != "" {
				told["suggestedOnLocked"] = c.suggested
			}

			return nil, apierr.BadRequest.With(told)
		}
		note := &leak{TB: t}

		x := apitest.New(note, apitest.Config{Silent: true, Endpoints: []api.Endpoint{
			api.Write(api.Endpoint{Method: http.MethodDelete, Path: "/name", ID: "discard", DryRun: true}, refuse),
		}})
		if x.Delete("/name").Want(http.StatusBadRequest); (len(note.said) > 0) != c.wrong {
			t.Errorf("%s: said %v", name, note.said)
		}
	}
}

// A change that no event names is found, whether an endpoint or a job makes it and whatever the row says; one that
// changes nothing in the end, or that the test itself prepares, is not.
func TestAChangeWithoutEventIsFound(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true, Endpoints: endpoints(), Handlers: map[job.Kind]job.Handler{apitest.Kind("shout"): {Do: shout}}})
	x.Exec(`update team set name = 'Prepared' where id = @team`, nil)

	if found := x.Untold(); len(found) != 0 {
		t.Errorf("prepared: %v", found)
	}

	x.Put("/name", map[string]any{"name": "PREPARED"}).Want(200)

	want := "team " + x.ID.String() + " (team) by "
	if found := x.Untold(); len(found) != 1 || found[0] != want+"rename" {
		t.Errorf("by the endpoint: %v", found)
	}

	x.Work() // shouts what is loud already

	if found := x.Untold(); len(found) != 1 {
		t.Errorf("of the same: %v", found)
	}

	x.Put("/name", map[string]any{"name": "quiet"}).Want(200)
	x.Work()

	if found := x.Untold(); len(found) != 3 || found[2] != want+"the service itself" {
		t.Errorf("by the job: %v", found)
	}
}

// An operation that fails and says nothing but that it failed is one that the test has announced, and the log names it.
func TestAFailureWithoutAReasonFailsTheTest(t *testing.T) {
	t.Parallel()

	for _, c := range []struct { //nolint:paralleltest // What a test notes is read when it has ended.
		name, kind, code   string
		announced, unnamed bool
		want               string
	}{
		{name: "not announced", kind: "export", code: "operationFailed", want: "operation %s %s failed, and its resource does not say why"},
		{name: "announced", kind: "export", code: "operationFailed", announced: true},
		{name: "announced and not in the log", kind: "export", code: "operationFailed", announced: true, unnamed: true, want: "operation %s %s failed, and the log does not say why"},
		{name: "announced and completed", kind: "export", announced: true, want: "no operation %s failed because %s"},
		{name: "a code of its own", kind: "csv-import", code: "csvImportFailed"},
		{name: "canceled", kind: "csv-import", code: "none"},
		{name: "neither failure nor cancellation", kind: "export", code: "none", want: "operation %s %s failed, and its resource does not say why"},
		{name: "its resource says nothing", kind: "connection-sync", code: "operationFailed", want: "operation %s %s failed, and its resource does not say why"},
		{name: "without a type", code: "operationFailed", want: "operation %s %s failed, and its resource does not say why"},
	} {
		note := &leak{TB: t}

		t.Run(c.name, func(t *testing.T) {
			note.TB = t
			refuse := job.Handler{Exhausted: func(ctx context.Context, tx *db.Tx, j job.Job, _ error) error {
				_, err := tx.Exec(ctx, `update operation set status = 'failed', failure_code = nullif(@code, 'none'), tasks_open = 0, started_at = @now, finished_at = @now
					where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": j.OperationID, "code": c.code, "now": tx.Now})

				return err
			}}
			refuse.Do = func(ctx context.Context, d *db.DB, j job.Job) error {
				if c.code != "" && !c.unnamed {
					return job.Permanent(errBare)
				}

				return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
					if c.unnamed {
						if err := refuse.Exhausted(ctx, tx, j, nil); err != nil {
							return err
						}
					}

					return job.Done(ctx, tx, j)
				})
			}

			x := apitest.New(note, apitest.Config{Silent: true, Handlers: map[job.Kind]job.Handler{apitest.Kind("refuse"): refuse}})
			if c.announced {
				x.ExpectInternal(c.kind, "the test refuses")
			}

			x.Tx(func(ctx context.Context, tx *db.Tx) error {
				one := tx.NewID()

				_, err := tx.Exec(ctx, `insert into operation (team_id, id, type, status, initiated_by, tasks_open, created_at)
					values (@team, @id, nullif(@type, ''), 'queued', @user, 1, @now)`,
					db.Args{"team": tx.Team, "id": one, "type": c.kind, "user": x.User, "now": tx.Now})
				if err != nil {
					return err
				}

				return job.Insert(ctx, tx, job.New{Kind: apitest.Kind("refuse"), OperationID: one})
			})
			x.Work()
			x.Work() // each failure is looked at once
		})

		if said := strings.Join(note.said, "\n"); said != c.want {
			t.Errorf("%s: %q, want %q", c.name, said, c.want)
		}
	}
}
