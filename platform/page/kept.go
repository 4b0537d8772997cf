package page

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// foldBatch bounds what one transaction folds.
const foldBatch = 20_000

// Tables are those that the counts of lists are kept in: triggers of the listed tables note in the first what statements added and removed, and
// what Every lists folds the notes into the second.
func Tables() []string { return []string{"list_delta", "list_count_kept"} }

// Every lists the periodic tasks of the package.
func Every() []job.Every {
	return []job.Every{{Name: "list-fold", Interval: time.Second, Do: Fold}}
}

// keptCount is how many rows of the team are counted under a name: at any moment as many as there are, in the transaction that writes them too.
func keptCount(ctx context.Context, tx *db.Tx, name string) (int64, error) {
	n, err := db.Get[int64](ctx, tx, `select coalesce(sum(rows), 0)::bigint from list_count where team_id = @team and list = @list`, db.Args{"team": tx.Team, "list": name})
	if err != nil {
		return 0, fmt.Errorf("read a kept count: %w", err)
	}
	return n, nil
}

// Fold adds what statements noted to the kept counts, exactly once each and a team at a time. What the counts come to stays the same: readers add up both.
func Fold(ctx context.Context, d *db.DB) error {
	var teams []id.ID
	err := d.ReadOne(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		teams, err = db.Select[id.ID](ctx, tx, `select distinct team_id from list_delta`, nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("find teams with unfolded counts: %w", err)
	}
	var failed []error
	for _, team := range teams {
		if err := foldTeam(ctx, d, team); err != nil {
			failed = append(failed, err) // the others' counts do not wait for it
		}
	}
	return errors.Join(failed...)
}

func foldTeam(ctx context.Context, d *db.DB, team id.ID) error {
	for folded := int64(foldBatch); folded >= foldBatch; {
		err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
			folded, err = db.Get[int64](ctx, tx, `select list_fold(@team, @most)`, db.Args{"team": team, "most": foldBatch})
			return err
		})
		if err != nil {
			return fmt.Errorf("fold the counts of team %s: %w", team, err)
		}
	}
	return nil
}
