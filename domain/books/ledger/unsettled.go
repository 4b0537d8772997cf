package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// UnsettledSQL is the SQL of the stays u on which guests may owe something, by ownership period: reservation_id of each
// stay with entries of the period's owners. A stay that is missing is settled. What is owed on the others, and whether
// anything is, their entries say. Triggers add a stay with everything that is posted on it, and settleAll takes it away.
const UnsettledSQL = `ledger_unsettled u where u.team_id = @team and u.ownership_period_id = any(@periods)`

// settledAtOnce bounds what one transaction looks at.
const settledAtOnce = 2_000

// settlings are the tables of stays that are looked at when they are due, each with the database's function that looks at
// up to so many stays of a team and says at how many: (team uuid, most integer) bigint.
var settlings = []struct{ table, function string }{
	{"ledger_unsettled", "ledger_settle"},
	{"ledger_guest", "ledger_guest_settle"},
}

// settling is the periodic task that takes settled stays away, and adds them to the sums of guests.
func settling() job.Every {
	return job.Every{Name: "ledger_settle", Interval: time.Second, Do: settleAll}
}

// settleAll looks at the stays on which something was posted, and takes away those on which nothing is open any more. No
// reader waits for it: it changes what they look at and not what they find.
func settleAll(ctx context.Context, d *db.DB) error {
	var teams []id.ID

	err := d.ReadOne(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		due := make([]string, len(settlings))
		for i, s := range settlings {
			due[i] = `(select team_id from ` + s.table + ` where due <= current_date order by due limit @most)`
		}

		teams, err = db.Select[id.ID](ctx, tx, `select distinct team_id from (`+strings.Join(due, " union all ")+`) u order by 1`,
			db.Args{"most": settledAtOnce})

		return err
	})
	if err != nil {
		return fmt.Errorf("find stays that may be settled: %w", err)
	}

	var failed []error

	// A team that fails does not keep the others waiting.
	for _, team := range teams {
		if err := SettleTeam(ctx, d, team); err != nil {
			failed = append(failed, fmt.Errorf("settle the stays of team %s: %w", team, err))
		}
	}

	return errors.Join(failed...)
}

// SettleTeam does the same for one team.
func SettleTeam(ctx context.Context, d *db.DB, team id.ID) error {
	for _, s := range settlings {
		err := d.Repeat(ctx, settledAtOnce, db.Stmt{
			SQL:  `select ` + s.function + `(@team, @most)`,
			Args: db.Args{"team": team, "most": settledAtOnce},
		})
		if err != nil {
			return err
		}
	}

	return nil
}
