// Package fold moves what writers noted into sums that are kept, so that no writer waits for another at a row that many
// add to. Triggers note in one table what a statement added and removed, by rows of its own; a periodic task takes the
// notes of a team, a batch at a time, and adds them to the sums. Readers add up both and see the same at any moment.
package fold

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// batch bounds what one transaction folds.
const batch = 20_000

// Sums are kept sums with changes that are noted first and added later.
type Sums struct {
	// Notes is the table of the notes; its primary key begins with team_id.
	Notes string
	// Function is the database's function that folds up to so many notes of a team and says how many it folded: (team
	// uuid, most integer) bigint.
	Function string
}

// Every returns the periodic task that folds.
func (s Sums) Every() job.Every {
	return job.Every{Name: s.Function, Interval: time.Second, Do: s.Fold}
}

// Fold moves the noted changes into the sums, each exactly once, team by team. A team with notes that cannot be
// folded does not keep the others waiting.
func (s Sums) Fold(ctx context.Context, d *db.DB) error {
	var teams []id.ID

	err := d.ReadOne(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		// Jump from team to team over the primary key, because a team can have many notes.
		teams, err = db.Select[id.ID](ctx, tx, `
			with recursive next (team_id) as (
				(select team_id from `+s.Notes+` order by team_id limit 1)
				union all
				select (select d.team_id from `+s.Notes+` d where d.team_id > n.team_id order by d.team_id limit 1) from next n where n.team_id is not null)
			select team_id from next where team_id is not null`, nil)

		return err
	})
	if err != nil {
		return fmt.Errorf("find the teams of %s: %w", s.Notes, err)
	}

	var failed []error

	for _, team := range teams {
		if err := s.foldTeam(ctx, d, team); err != nil {
			failed = append(failed, err)
		}
	}

	return errors.Join(failed...)
}

// foldTeam adds up the notes of a team, a batch per transaction, until few are left.
func (s Sums) foldTeam(ctx context.Context, d *db.DB, team id.ID) error {
	for folded := int64(batch); folded >= batch; {
		err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
			folded, err = db.Get[int64](ctx, tx, `select `+s.Function+`(@team, @most)`, db.Args{"team": team, "most": batch})
			return err
		})
		if err != nil {
			return fmt.Errorf("fold %s of team %s: %w", s.Notes, team, err)
		}
	}

	return nil
}
