package job_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"stayledger/platform/job"
)

// slow is a writer that takes a time for each write.
type slow struct {
	bytes.Buffer

	takes time.Duration
}

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(s.takes)
	return s.Buffer.Write(p)
}

// Work of three seconds rests for two seconds after each of them, and everything is written.
func TestRestingWritersRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &slow{takes: time.Second}
		w := job.Resting(t.Context(), to)
		begin := time.Now()

		for _, part := range []string{"a", "b", "c"} {
			if n, err := w.Write([]byte(part)); n != 1 || err != nil {
				t.Fatalf("%d bytes, %v", n, err)
			}
		}

		if took := time.Since(begin); took != 9*time.Second || to.String() != "abc" {
			t.Errorf("%q in %v", to.String(), took)
		}
	})
}

// Many writes that take no time are followed by no rest.
func TestRestingWritersDoNotRestWithoutWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := job.Resting(t.Context(), &slow{})
		begin := time.Now()

		for range 1000 {
			if _, err := w.Write([]byte("a")); err != nil {
				t.Fatal(err)
			}
		}

		if took := time.Since(begin); took != 0 {
			t.Errorf("rested for %v", took)
		}
	})
}

// Waiting for somebody else is no work to rest from.
func TestRestingWritersDoNotRestFromWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()

		if _, err := job.Resting(t.Context(), &slow{takes: 20 * time.Second}).Write([]byte("a")); err != nil {
			t.Fatal(err)
		}

		if took := time.Since(begin); took > 23*time.Second {
			t.Errorf("%v for an answer after 20 s", took)
		}
	})
}

// A rest ends with its context.
func TestRestsEndWithTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()

		begin := time.Now()

		_, err := job.Resting(ctx, &slow{takes: 59 * time.Second}).Write([]byte("a"))
		if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("%v after %v", err, took)
		}
	})
}
