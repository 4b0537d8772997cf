package operation_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

var instantForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)$`)

// Proves: OPS-08, OPS-15, OPS-17, OPS-18, OPS-19, OPS-20, OPS-83, OPS-84, OPS-86, OPEN-06, OPEN-29.
func TestQueuedRunningCompleted(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	name, open := newGate(t)

	one := x.start(object{"type": "export", "tasks": []object{{"gate": name}, {}, {}}})
	if q := x.read(one); q.String("status") != "queued" || q.Value("startedAt") != nil || q.Value("finishedAt") != nil || q.Value("failure") != nil {
		t.Errorf("queued: %s", q.Body)
	}

	x.worker()

	running := x.until(one, "running", "completed", "failed")
	x.untilOpen(one, 1)

	if r := x.read(one); r.String("status") != "running" || r.Value("finishedAt") != nil || r.Value("failure") != nil ||
		r.String("startedAt") != running.String("startedAt") {
		t.Fatalf("with an open task: %s after %s", r.Body, running.Body)
	}

	open()

	done := x.until(one, "completed", "failed")

	created, started, finished := done.String("createdAt"), done.String("startedAt"), done.String("finishedAt")
	for _, instant := range []string{created, started, finished} {
		if !instantForm.MatchString(instant) {
			t.Errorf("instant %q", instant)
		}
	}

	if done.String("status") != "completed" || done.Value("failure") != nil || started != running.String("startedAt") || created > started || started > finished {
		t.Errorf("completed: %s", done.Body)
	}
}

// The work of a task in its own transaction takes as long as it takes; the operation has finished after it.
// Proves: OPS-20, OPS-88.
func TestAnOperationFinishesWhenItsWorkIsDone(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	one := x.start(object{"type": "export", "tasks": []object{{"note": "slow", "slow": true}}})
	x.Work()

	var ended time.Time

	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		ended, err = db.Get[time.Time](ctx, tx, `select created_at from audit_action where team_id = @team and endpoint = 'slow work ended'`, db.Args{"team": tx.Team})
		return err
	})

	finished, err := time.Parse(time.RFC3339, x.read(one).String("finishedAt"))
	if err != nil || finished.Before(ended.Truncate(time.Millisecond)) {
		t.Errorf("finished at %v, its work ended at %v (%v)", finished, ended, err)
	}
}

// A single task can settle before its start is known.
// Proves: OPS-19, OPS-87, OPS-88, OPS-89.
func TestQueuedCanSettleAtOnce(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	x.ExpectInternal("export", "the toy refuses")
	good := x.start(object{"type": "export", "tasks": []object{{"note": "good"}}})
	bad := x.start(object{"type": "export", "tasks": []object{{"note": "bad", "refuse": true}}})
	x.Work()

	for one, status := range map[string]string{good: "completed", bad: "failed"} {
		r := x.read(one)
		if r.String("status") != status || !instantForm.MatchString(r.String("startedAt")) || !instantForm.MatchString(r.String("finishedAt")) {
			t.Errorf("want %s: %s", status, r.Body)
		}
	}

	if x.notes("good") != 1 || x.notes("bad") != 0 {
		t.Error("a task keeps its work when it completes, and only then")
	}
}

// Proves: OPS-14, OPS-15, OPS-85, OPS-89.
func TestFailedOnlyWhenEveryTaskHasSettled(t *testing.T) {
	t.Parallel()

	for name, slow := range map[string]object{"slow one completes": {}, "slow one fails too": {"code": "csvImportFailed"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToy(t)
			name, open := newGate(t)
			slow["gate"] = name
			one := x.start(object{"type": "csv-import", "tasks": []object{{"code": "csvEmpty", "note": "lost"}, slow, {"note": "kept"}}})
			x.worker()

			x.untilOpen(one, 1)

			if r := x.read(one); r.String("status") != "running" || r.Value("failure") != nil || r.Value("finishedAt") != nil {
				t.Fatalf("with an open task: %s", r.Body)
			}

			open()

			r := x.until(one, "completed", "failed")
			if r.String("status") != "failed" || r.Value("finishedAt") == nil || r.String("failure.code") != "csvEmpty" ||
				!slices.Equal(keys(t, r.Value("failure")), []string{"code", "message"}) {
				t.Errorf("settled: %s", r.Body)
			}

			if x.notes("kept") != 1 || x.notes("lost") != 0 {
				t.Error("completed tasks keep their work, failed ones do not")
			}
		})
	}
}

// The first attempt loses its lease in the middle of its work, a second one does the work, then the first goes on. The
// operation has started with the first.
// Proves: OPEN-06, OPS-19, OPS-86.
func TestATaskThatRunsTwiceLandsOnce(t *testing.T) {
	t.Parallel()

	for _, outside := range []bool{false, true} {
		t.Run(fmt.Sprintf("outside %t", outside), func(t *testing.T) {
			t.Parallel()
			x := newToy(t)
			name, open := newGate(t)
			other, openOther := newGate(t)
			one := x.start(object{"type": "export", "tasks": []object{{"note": "n", "gate": name, "gateFirst": true, "outside": outside}, {"gate": other}}})
			x.worker()
			started := x.until(one, "running").String("startedAt")
			x.Exec(`update job set due_at = clock_timestamp() where team_id = @team and args ->> 'gateFirst' = 'true'`, nil)

			x.eventually("the job of a silent worker is taken again", func() bool { return x.notes("n") > 0 })
			open()
			x.eventually("both attempts end", func() bool { return x.ended.Load() == 2 })

			r := x.read(one)
			if r.String("status") != "running" || x.notes("n") != 1 {
				t.Fatalf("after both attempts %d notes: %s", x.notes("n"), r.Body)
			}

			if got := r.String("startedAt"); started == "null" || got != started {
				t.Errorf("the attempt that landed moved the start from %s to %s", started, got)
			}

			openOther()

			if r := x.until(one, "completed", "failed"); r.String("status") != "completed" || x.notes("n") != 1 {
				t.Errorf("%d notes: %s", x.notes("n"), r.Body)
			}
		})
	}

	if job.Lease > time.Minute {
		t.Errorf("a dead worker keeps its tasks for %s", job.Lease)
	}
}

// Proves: OPS-86, OPS-87.
func TestASettledOperationNeverChanges(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	x.ExpectInternal("export", "the toy refuses")
	ids := map[string]string{
		"completed": x.start(object{"type": "export", "tasks": []object{{}}}),
		"failed":    x.start(object{"type": "export", "tasks": []object{{"refuse": true}}}),
	}
	x.Work()

	for status, one := range ids {
		before := x.read(one)
		if before.String("status") != status {
			t.Fatalf("want %s: %s", status, before.Body)
		}

		operationID := before.ID("id")

		for _, left := range []task{{Note: "late"}, {Note: "late", Outside: true}, {Refuse: true}} {
			x.Tx(func(ctx context.Context, tx *db.Tx) error {
				kind := apitest.Kind("toy")
				if left.Outside {
					kind = apitest.Kind("toy.outside")
				}

				return job.Insert(ctx, tx, job.New{Kind: kind, Args: left, OperationID: operationID})
			})
		}

		x.Work()

		stale := job.Job{TeamID: x.ID, OperationID: operationID}
		if err := operation.MarkRunning(t.Context(), x.DB, []job.Job{stale}, x.DB.Now()); err != nil {
			t.Fatal(err)
		}

		if after := x.read(one); string(after.Body) != string(before.Body) {
			t.Errorf("%s became %s", before.Body, after.Body)
		}
	}

	if x.notes("late") != 0 {
		t.Error("work landed on a settled operation")
	}
}

// Proves: OPEN-06.
func TestMarkRunningMarksWhatIsQueued(t *testing.T) {
	t.Parallel()
	x, stranger := newToy(t), newToy(t)
	one, other := x.start(object{"type": "export", "tasks": []object{{}}}), x.start(object{"type": "export", "tasks": []object{{}}})
	operationID := x.read(one).ID("id")
	mark := func(team id.ID, at time.Time) {
		t.Helper()

		if err := operation.MarkRunning(t.Context(), x.DB, []job.Job{{TeamID: team, OperationID: operationID}}, at); err != nil {
			t.Fatal(err)
		}
	}
	mark(stranger.ID, x.DB.Now())

	if r := x.read(one); r.String("status") != "queued" {
		t.Errorf("marked for another team: %s", r.Body)
	}

	mark(x.ID, x.DB.Now().Add(-time.Hour)) // a clock that is behind
	first := x.read(one)
	mark(x.ID, x.DB.Now().Add(time.Hour))

	if again := x.read(one); first.String("status") != "running" || first.String("startedAt") != first.String("createdAt") || string(again.Body) != string(first.Body) {
		t.Errorf("marked: %s, again: %s", first.Body, again.Body)
	}

	if r := x.read(other); r.String("status") != "queued" || r.Value("startedAt") != nil {
		t.Errorf("not marked: %s", r.Body)
	}

	x.Work()

	if r := x.read(one); r.String("status") != "completed" || r.String("startedAt") != first.String("startedAt") || r.String("finishedAt") < r.String("startedAt") {
		t.Errorf("completed: %s", r.Body)
	}
}

// Proves: OPS-26, OPS-27, OPS-28, OPS-30, OPS-88.
func TestAFileResultIsLinkedOnceTheOperationHasCompleted(t *testing.T) {
	t.Parallel()

	x := newToy(t)
	x.ExpectInternal("export", "one of its tasks fails")

	for _, fails := range []bool{false, true} {
		made, source := id.New(x.DB.Now()), id.New(x.DB.Now())
		name, open := newGate(t)

		slow := object{"gate": name}
		if fails {
			slow["code"] = "operationFailed"
		}

		primary := object{"type": "file", "id": source, "role": "source"}
		one := x.start(object{"type": "export", "primary": primary, "resources": []object{primary}, "tasks": []object{{"file": made}, slow}})
		check := func(linked bool) {
			t.Helper()

			r := x.read(one)
			if r.Has("resource.url") || r.Has("resources.0.url") {
				t.Errorf("a source is linked: %s", r.Body)
			}

			if r.Len("resources") == 2 && r.ID("resources.1.id") != made || r.Has("resources.1.url") != linked {
				t.Errorf("want a link %t: %s", linked, r.Body)
			}

			if linked && (r.String("resources.1.url") != "/files/"+made.String()+"/download" || string(x.read(one).Body) != string(r.Body)) {
				t.Errorf("link: %s", r.Body)
			}
		}
		check(false)

		done := make(chan struct{})
		go func() { defer close(done); x.Work() }()

		x.until(one, "running")

		x.eventually("the file is a result", func() bool { return x.read(one).Len("resources") == 2 })
		check(false)
		open()
		<-done
		check(!fails)
	}

	made := id.New(x.DB.Now())
	primary := object{"type": "file", "id": made, "role": "result"}
	x.start(object{"type": "export", "primary": primary, "resources": []object{primary}, "tasks": []object{{}}})

	if list := x.Get("/operations?status=queued").Want(200); list.ID("items.0.resource.id") != made || list.Has("items.0.resource.url") {
		t.Errorf("queued: %s", list.Body)
	}

	x.Work()

	if list := x.Get("/operations?limit=1").Want(200); list.String("items.0.resource.url") != "/files/"+made.String()+"/download" {
		t.Errorf("completed: %s", list.Body)
	}
}

func TestTasksCanAddResultsAtTheSameTime(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	name, open := newGate(t)

	tasks := make([]object, 4)
	for i := range tasks {
		tasks[i] = object{"note": "n", "file": id.New(x.DB.Now()), "gate": name}
	}

	one := x.start(object{"type": "export", "tasks": tasks})

	// One task has added its result and has not committed; the others wait for it.
	worked := make(chan struct{})
	go func() { defer close(worked); x.Work() }()

	x.eventually("three tasks wait for the fourth", func() bool {
		return x.count(`select count(*) from pg_stat_activity where @team::uuid is not null and wait_event_type = 'Lock'
			and datname = current_database() and query like '%from operation where team_id = % for update%'`, nil) >= 3
	})
	open()
	<-worked

	if r := x.read(one); r.String("status") != "completed" || r.Len("resources") != len(tasks) {
		t.Errorf("settled: %s", r.Body)
	}

	if again := x.count(`select count(*) from audit_action where team_id = @team and endpoint = 'note n' and request_id <> '1'`, nil); again != 0 {
		t.Errorf("%d tasks got in each other's way", again)
	}
}

// Proves: OPS-34, OPS-35, OPS-36, OPS-37, OPS-38, OPS-39, OPS-40, OPS-41, OPS-42, OPS-43, OPS-44, OPEN-02, OPEN-32.
func TestFailuresHaveFixedTextsAndCarryNothingElse(t *testing.T) {
	t.Parallel()
	x := newToy(t)

	const marker = "Kilroy"

	texts := map[string]string{
		"operationFailed": "Operation failed", "alreadyConnected": "Another active connection has the account", "csvPreviewFailed": "CSV preview failed", "csvImportFailed": "CSV import failed",
		"csvImportRecordFailed": "CSV import has record failures", "csvBlankHeader": "CSV has a blank column header",
		"csvDuplicateHeader": "CSV has a duplicate column header", "csvMissingColumn": "CSV lacks a required column", "csvEmpty": "CSV has no rows",
		"csvTooLarge": "CSV is too large", "csvEncoding": "CSV is not valid UTF-8", "csvMalformed": "CSV is malformed",
		"csvDelimiter": "CSV delimiter was not recognized", "csvTooManyColumns": "CSV has too many columns", "csvOfTomorrow": "CSV preview failed",
	}
	want := map[string]string{} // operation to code

	for code := range texts {
		for i := range 2 {
			want[x.start(object{"type": "csv-import-preview", "tasks": []object{{"code": code, "break": fmt.Sprint(marker, i), "note": marker, "outside": i == 1}}})] = code
		}
	}

	for _, broken := range []object{{"refuse": true, "break": marker}, {"break": marker}, {"panic": true, "break": marker}, {"outside": true, "break": marker}} {
		want[x.start(object{"type": "export", "tasks": []object{broken}})] = "operationFailed"
	}

	x.Exec(`update job set max_attempts = 1 where team_id = @team`, nil)

	var secrets []string

	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		secrets, err = db.Select[string](ctx, tx, `select id::text from job where team_id = @team`, db.Args{"team": tx.Team})
		return err
	})

	if len(secrets) != len(want) {
		t.Fatalf("%d jobs", len(secrets))
	}

	secrets = append(secrets, marker, "panic", "Toy is broken", "goroutine", "gate", "toy", "args", "attempt", "worker")
	check := func() {
		t.Helper()

		answers := []string{string(x.Get("/operations?limit=100").Want(200).Body)}
		for one := range want {
			answers = append(answers, string(x.read(one).Body), string(x.Get("/operations/"+one+"?waitSeconds=0").Want(200).Body))
		}

		for _, answer := range answers {
			for _, secret := range secrets {
				if strings.Contains(answer, secret) {
					t.Fatalf("%q is in %s", secret, answer)
				}
			}
		}
	}
	check()
	x.ExpectInternal("export", "the toy is broken")
	x.ExpectInternal("csv-import-preview", "the toy is broken")
	x.Work()
	check()

	for one, code := range want {
		r := x.read(one)
		if r.String("status") != "failed" || r.String("failure.code") != code || r.String("failure.message") != texts[code] {
			t.Errorf("want %s: %s", code, r.Body)
		}
	}

	if x.notes(marker) != 0 {
		t.Error("failed tasks kept their work")
	}
}

// Proves: OPEN-06.
func TestAnAttemptThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	one := x.start(object{"type": "export", "tasks": []object{{"flaky": true, "note": "n"}, {"flaky": true, "note": "n", "outside": true}}})
	x.Work()

	if r := x.read(one); r.String("status") != "completed" || r.Value("failure") != nil || x.notes("n") != 2 {
		t.Errorf("%d notes: %s", x.notes("n"), r.Body)
	}
}

// A worker that dies takes no leave: its job stays claimed until the lease ends.
// Proves: OPEN-06.
func TestAJobWhoseWorkersDieIsTakenAgainAndGivenUpInTheEnd(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	x.ExpectInternal("export", "its workers die")
	again, over := x.start(object{"type": "export", "tasks": []object{{"note": "again"}}}), x.start(object{"type": "export", "tasks": []object{{"note": "over"}}})
	x.Exec(`update job set worker_id = gen_random_uuid(), due_at = clock_timestamp() - interval '1 second',
		attempt = case when operation_id = @again::uuid then 1 else max_attempts end where team_id = @team`, db.Args{"again": again})
	x.Work()

	if r := x.read(again); r.String("status") != "completed" || x.notes("again") != 1 {
		t.Errorf("taken again: %s", r.Body)
	}

	if r := x.read(over); r.String("status") != "failed" || r.String("failure.code") != "operationFailed" || x.notes("over") != 0 {
		t.Errorf("given up: %s", r.Body)
	}
}

// Proves: OPS-67, OPEN-04.
func TestWaitSecondsReturnsWhenTheOperationHasSettledOrTheTimeIsOver(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	name, open := newGate(t)

	one := x.start(object{"type": "export", "tasks": []object{{"gate": name}}})
	for _, bad := range []string{"-1", "21", "1.5", "x", ""} {
		x.Get("/operations/" + one + "?waitSeconds=" + bad).Want(400)
	}

	x.Get("/operations/" + one + "?wait=1").Want(400)

	// No wait, and a short one, are far from the longest. How long a request takes by itself is up to the machine.
	const far = 15 * time.Second

	start := time.Now()

	x.Get("/operations/" + one + "?waitSeconds=0").Want(200)

	if took := time.Since(start); took > far {
		t.Errorf("no wait took %s", took)
	}

	start = time.Now()

	r := x.Get("/operations/" + one + "?waitSeconds=1").Want(200)
	if took := time.Since(start); took < 990*time.Millisecond || took > far || r.String("status") != "queued" {
		t.Errorf("a wait of 1 s took %s: %s", took, r.Body)
	}

	// A request that waits while the operation runs is answered when it settles.
	x.worker()
	x.until(one, "running")

	start = time.Now()
	answers := x.wait(one, 1)
	x.untilListened()
	open()

	r = answered(t, answers)
	if took := time.Since(start); took > far || r.String("status") != "completed" {
		t.Errorf("answered after %s: %s", took, r.Body)
	}

	start = time.Now()

	x.Get("/operations/" + one + "?waitSeconds=20").Want(200)
	x.Get("/operations/" + id.New(x.DB.Now()).String() + "?waitSeconds=20").Want(404)

	if took := time.Since(start); took > far {
		t.Errorf("nothing to wait for, answered after %s", took)
	}
}

// Work of a kind that no worker handles does not leave its operation queued for ever.
func TestOperationThatNobodyHandlesFails(t *testing.T) {
	t.Parallel()
	x := newToy(t)

	var started *operation.Acknowledgement

	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		started, err = operation.Start(ctx, tx, operation.New{Type: operation.Export, Tasks: []operation.Task{{Kind: apitest.Kind("toy.lost")}}})
		return err
	})
	x.Exec(`update job set due_at = due_at - interval '1 hour' where team_id = @team`, nil)

	ctx, stop := context.WithCancel(t.Context())
	w := job.NewWorker(job.Config{
		DB: x.DB, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Workers: 1, Handlers: handlers(), GiveUp: operation.GiveUp, Only: x.ID,
	})

	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx, time.Second) }()

	got := x.Get("/operations/" + started.OperationID.String() + "?waitSeconds=20").Want(200)

	stop()
	<-done

	if got.String("status") != "failed" || got.String("failure.code") != "operationFailed" {
		t.Errorf("%s", got.Body)
	}
}
