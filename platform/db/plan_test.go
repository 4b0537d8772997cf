package db_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

// What runs afresh is planned for its parameters, in the round trip of all else, and what follows is not.
func TestAfresh(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	var before, within, after string

	mode := func(is *string) db.Work {
		return func(ctx context.Context, tx *db.Tx) (err error) {
			*is, err = db.Get[string](ctx, tx, `select current_setting('plan_cache_mode')`, nil)
			return err
		}
	}

	const kept, afresh = "force_generic_plan", "force_custom_plan"

	err := x.DB.ReadOne(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		return tx.Together(ctx, mode(&before), db.Afresh(mode(&within)), mode(&after))
	})
	if err != nil || before != kept || within != afresh || after != before {
		t.Errorf("plans are %q, %q, %q: %v", before, within, after, err)
	}

	// Work of several round trips, with some of its own that is planned either way, and in itself.
	var all [7]string

	err = x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		return errors.Join(
			tx.PlanAfresh(ctx, func(ctx context.Context, tx *db.Tx) error {
				return errors.Join(
					mode(&all[0])(ctx, tx), db.Kept(mode(&all[1]))(ctx, tx), mode(&all[2])(ctx, tx), db.Afresh(mode(&all[3]))(ctx, tx),
					tx.PlanAfresh(ctx, mode(&all[4])), mode(&all[5])(ctx, tx))
			}),
			mode(&all[6])(ctx, tx))
	})
	if want := [...]string{afresh, kept, afresh, afresh, afresh, afresh, kept}; err != nil || all != want {
		t.Errorf("plans are %q, want %q: %v", all, want, err)
	}

	// A failure that is undone takes the setting with it.
	err = x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		failed := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
			return tx.PlanAfresh(ctx, func(context.Context, *db.Tx) error { return io.ErrUnexpectedEOF })
		})
		if !errors.Is(failed, io.ErrUnexpectedEOF) {
			return fmt.Errorf("the failure is %w", failed)
		}

		return errors.Join(mode(&before)(ctx, tx), tx.PlanAfresh(ctx, mode(&within)))
	})
	if err != nil || before != kept || within != afresh {
		t.Errorf("after a failure plans are %q, %q: %v", before, within, err)
	}
}

// A table that has grown is counted, and not again while it grows by little.
func TestTablesThatHaveGrownAreAnalyzed(t *testing.T) {
	t.Parallel()
	d := open(t, db.Config{URL: apitest.Database(t)})

	system := func(work db.Work) {
		t.Helper()

		if err := d.Write(t.Context(), db.AcrossTeams(), work); err != nil {
			t.Fatal(err)
		}
	}
	exec := func(sql string) {
		t.Helper()
		system(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, sql, nil)
			return err
		})
	}
	number := func(sql string) (n int64) {
		t.Helper()
		system(func(ctx context.Context, tx *db.Tx) (err error) {
			n, err = db.Get[int64](ctx, tx, sql, nil)
			return err
		})

		return n
	}

	// noted waits until the server's counters have the rows.
	noted := func(rows int64) {
		t.Helper()

		for deadline := time.Now().Add(time.Minute); number(`select n_live_tup from pg_stat_user_tables where relname = 'grown'`) != rows; {
			if time.Now().After(deadline) {
				t.Fatalf("the server never counts %d rows", rows)
			}
		}
	}
	analyze := func() (rows int64) {
		t.Helper()

		if err := db.AnalyzeGrown(t.Context(), d); err != nil {
			t.Fatal(err)
		}

		return number(`select reltuples::bigint from pg_class where relname = 'grown'`)
	}

	exec(`create table grown (n integer)`)
	exec(`insert into grown select generate_series(1, 5000)`)
	noted(5000)

	if rows := analyze(); rows != 5000 {
		t.Errorf("%d rows are counted, want 5000", rows)
	}

	exec(`insert into grown select generate_series(1, 9000)`)
	noted(14_000)

	if rows := analyze(); rows != 5000 {
		t.Errorf("%d rows are counted after some were added, want 5000", rows)
	}

	exec(`insert into grown select generate_series(1, 3000)`)
	noted(17_000)

	if rows := analyze(); rows != 17_000 {
		t.Errorf("%d rows are counted after many were added, want 17000", rows)
	}

	// Rows that come and go are no growth.
	for range 2 {
		exec(`insert into grown select generate_series(1, 30000)`)
		exec(`delete from grown`)
	}

	exec(`insert into grown select generate_series(1, 2000)`)
	noted(2000)

	if rows := analyze(); rows != 17_000 {
		t.Errorf("%d rows are counted after many came and went, want 17000", rows)
	}
}

// A transaction that adds many rows has them counted before its commit. Few rows are not worth it.
func TestAnalyzeCountsTheRowsOfATransaction(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	for _, ddl := range []string{`create table counted (team_id uuid not null, n integer not null)`, `select stayledger_tenant('counted')`} {
		x.System(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, ddl, nil)
			return err
		})
	}

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `insert into counted select @team, n from generate_series(1, 500) n`, db.Args{"team": tx.Team}); err != nil {
			return err
		}

		for _, step := range []struct {
			added int
			want  float64
		}{{20, -1}, {500, 500}} {
			if err := tx.Analyze(ctx, "counted", step.added); err != nil {
				return err
			}

			known, err := db.Get[float64](ctx, tx, `select reltuples::float8 from pg_class where oid = 'counted'::regclass`, nil)
			if err != nil {
				return err
			}

			if known != step.want {
				t.Errorf("after %d rows were added PostgreSQL knows of %v, want %v", step.added, known, step.want)
			}
		}

		return nil
	})
}
