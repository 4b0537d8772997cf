package db_test

import (
	"context"
	"testing"

	"stayledger/platform/db"
)

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
