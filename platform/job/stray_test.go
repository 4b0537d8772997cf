package job_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/job"
)

// A job that a newer version asked for a moment ago waits for it; one that no worker has taken for long is given up,
// and the log names both.
func TestWorkThatNobodyHandlesIsGivenUp(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})
	late := insert(t, x, job.New{Kind: kind("of nobody")})
	x.Exec(`update job set due_at = due_at - interval '1 hour' where id = @id`, db.Args{"id": late})
	insert(t, x, job.New{Kind: kind("of a newer version")})
	insert(t, x, job.New{Kind: kind("of nobody"), DueAt: x.DB.Now().Add(time.Hour)})

	var told strings.Builder

	causes := make(chan error, 10)
	_, stop := run(t, x, job.Config{
		Log: slog.New(slog.NewTextHandler(&told, nil)), Handlers: map[job.Kind]job.Handler{kind("k"): {Do: finish}},
		GiveUp: func(_ context.Context, _ *db.Tx, j job.Job, cause error) error {
			if j.ID != late || j.Kind != "of nobody" {
				t.Errorf("gives %s up: %s", j.Kind, j.ID)
			}

			causes <- cause

			return nil
		},
	}, time.Second)
	eventually(t, "the end of the job that nobody takes", func() bool { return len(rows(t, x)) == 2 })
	stop()

	if cause := <-causes; !errors.Is(cause, job.ErrNoHandler) {
		t.Errorf("given up for %v", cause)
	}

	for _, r := range rows(t, x) {
		if r.Attempt != 0 || !r.WorkerID.IsZero() {
			t.Errorf("a job that may be for others was taken: %+v", r)
		}
	}

	for _, word := range []string{`kind="of nobody" jobs=1`, `kind="of a newer version" jobs=1`, "level=ERROR", job.ErrNoHandler.Error()} {
		if !strings.Contains(told.String(), word) {
			t.Errorf("the log does not tell %q:\n%s", word, told.String())
		}
	}
}

func TestKindsAreMadeOnce(t *testing.T) {
	t.Parallel()
	kind("made once")

	for _, name := range []string{"made once", ""} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is made", name)
				}
			}()

			job.NewKind(name)
		}()
	}

	x := apitest.New(t, apitest.Config{Silent: true})

	err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error { return job.Insert(ctx, tx, job.New{}) })
	if err == nil {
		t.Error("a job of no kind is taken")
	}
}
