package db_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

const terminate = `select pg_terminate_backend(pg_backend_pid())`

func schedule(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `insert into job_schedule (name, next_at) values (@name, now())`, db.Args{"name": tx.NewID().String()})
	return err
}

func scheduled(t *testing.T, d *db.DB) (n int64) {
	t.Helper()

	err := d.ReadOne(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select count(*) from job_schedule`, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return n
}

// Proves: ERR-96.
func TestALostConnectionIsNotTriedAgain(t *testing.T) {
	t.Parallel()

	for name, lose := range map[string]db.Work{
		"in a statement": func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, terminate, nil)
			return err
		},
		"at the commit": func(_ context.Context, tx *db.Tx) error {
			tx.AtEnd(db.Stmt{SQL: terminate})
			return nil
		},
		"unnoticed": func(ctx context.Context, tx *db.Tx) error {
			_, _ = tx.Exec(ctx, terminate, nil)
			return nil
		},
		"and explained otherwise": func(ctx context.Context, tx *db.Tx) error {
			_, _ = tx.Exec(ctx, terminate, nil)
			return errOurs
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, db.Config{URL: apitest.Database(t)})
			attempts := 0

			err := d.Write(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
				attempts++

				if err := schedule(ctx, tx); err != nil {
					return err
				}

				return lose(ctx, tx)
			})
			if !errors.Is(err, db.ErrUnavailable) || attempts != 1 {
				t.Errorf("%d attempts, %v", attempts, err)
			}

			if n := scheduled(t, d); n != 0 {
				t.Errorf("%d rows are stored", n)
			}
		})
	}
}

// The commit arrives and its answer does not: the row is there once, and the caller learns that the outcome is unknown.
//
// Proves: ERR-96.
func TestACommitWithoutAnAnswerIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	line := apitest.NewLine(t)

	d := open(t, db.Config{URL: line.URL, MaxConnections: 1})
	if err := d.Write(t.Context(), db.AcrossTeams(), schedule); err != nil { // the connection knows all statements after this
		t.Fatal(err)
	}

	attempts := 0

	err := d.Write(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		attempts++

		defer line.Mute()

		return schedule(ctx, tx)
	})
	if !errors.Is(err, db.ErrUnavailable) || attempts != 1 {
		t.Errorf("%d attempts, %v", attempts, err)
	}

	direct := open(t, db.Config{URL: line.Direct})
	if n := scheduled(t, direct); n != 2 {
		t.Errorf("%d rows are stored, want the first and, once, the one whose answer was lost", n)
	}
}

// Proves: ERR-95.
func TestAnUnreachableDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	line := apitest.NewLine(t)
	d := open(t, db.Config{URL: line.URL})
	line.Cut()

	for name, run := range map[string]func(context.Context, db.Scope, db.Work) error{"read": d.Read, "answer": d.ReadAnswer, "one": d.ReadOne, "write": d.Write, "dry": d.DryRun} {
		if err := run(t.Context(), db.AcrossTeams(), schedule); !errors.Is(err, db.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}

	if err := d.Ping(t.Context()); !errors.Is(err, db.ErrUnavailable) {
		t.Errorf("ping: %v", err)
	}

	if err := d.Listen(t.Context(), "x", func() {}); !errors.Is(err, db.ErrUnavailable) {
		t.Errorf("listen: %v", err)
	}

	line.Mend()

	if err := d.Write(t.Context(), db.AcrossTeams(), schedule); err != nil {
		t.Errorf("after the outage: %v", err)
	}
}

// Proves: ERR-95.
func TestExhaustedConnectionsAreUnavailable(t *testing.T) {
	t.Parallel()
	d := open(t, db.Config{URL: apitest.Database(t), MaxConnections: 1, AcquireTimeout: 20 * time.Millisecond})

	err := d.Read(t.Context(), db.AcrossTeams(), func(ctx context.Context, _ *db.Tx) error {
		return d.Read(ctx, db.AcrossTeams(), func(context.Context, *db.Tx) error { return nil })
	})
	if !errors.Is(err, db.ErrUnavailable) {
		t.Error(err)
	}
}

func TestAFailureOfTheWorkItselfIsNoOutage(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for _, own := range []error{io.ErrUnexpectedEOF, &net.OpError{Op: "dial", Err: errOurs}, errors.New("conn closed")} {
		err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(write(ctx, tx, "x"), own)
		})
		if errors.Is(err, db.ErrUnavailable) || !errors.Is(err, own) {
			t.Errorf("%v became %v", own, err)
		}
	}
}
