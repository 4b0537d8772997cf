package ledger

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

// every lists the periodic tasks of the package.
func every() []job.Every {
	return []job.Every{{Name: "ledger-fold", Interval: time.Second, Do: Fold}}
}

// Fold moves what postings added and took into the kept sums, exactly once each and a team at a time. What the sums come to stays the same:
// readers add up both.
func Fold(ctx context.Context, d *db.DB) error {
	var teams []id.ID
	err := d.ReadOne(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		// From team to team over the primary key: the deltas of a team can be many.
		teams, err = db.Select[id.ID](ctx, tx, `
			with recursive next (team_id) as (
				(select team_id from ledger_delta order by team_id limit 1)
				union all
				select (select d.team_id from ledger_delta d where d.team_id > n.team_id order by d.team_id limit 1) from next n where n.team_id is not null)
			select team_id from next where team_id is not null`, nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("find teams with unfolded sums: %w", err)
	}
	var failed []error
	for _, team := range teams {
		if err := foldTeam(ctx, d, team); err != nil {
			failed = append(failed, err) // the others' sums do not wait for it
		}
	}
	return errors.Join(failed...)
}

func foldTeam(ctx context.Context, d *db.DB, team id.ID) error {
	for folded := int64(foldBatch); folded >= foldBatch; {
		err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
			folded, err = db.Get[int64](ctx, tx, `select ledger_fold(@team, @most)`, db.Args{"team": team, "most": foldBatch})
			return err
		})
		if err != nil {
			return fmt.Errorf("fold the sums of team %s: %w", team, err)
		}
	}
	return nil
}
