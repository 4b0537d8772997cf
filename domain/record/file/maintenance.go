package file

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// every lists the periodic tasks of the package: the purge of content after its time, and the sweep of bytes that a
// dead writer left. Both can be stopped anywhere and run again.
func every(store blob.Store) []job.Every {
	return []job.Every{
		{Name: "file-purge", Interval: time.Hour, Do: func(ctx context.Context, d *db.DB) error {
			err := inBatches(ctx, d, func(ctx context.Context, tx *db.Tx) (int64, error) {
				return purge(ctx, tx, `purge_at <= @due`, db.Args{"due": tx.Now})
			})

			return errors.Join(err, deleteDoomed(ctx, d, db.AcrossTeams(), store, ofAllTeams))
		}},
		{
			Name:     "file-sweep",
			Interval: time.Hour,
			Do:       func(ctx context.Context, d *db.DB) error { return sweep(ctx, d, store) },
		},
	}
}

// outside returns the function that removes the content of all files of a team, and of those that are being
// written.
func outside(store blob.Store) func(context.Context, *db.DB, id.ID) error {
	return func(ctx context.Context, d *db.DB, team id.ID) error {
		ofTeam := func() (string, db.Args) { return `team_id = @team`, db.Args{"team": team} }

		files := inBatches(ctx, d, func(ctx context.Context, tx *db.Tx) (int64, error) {
			condition, args := ofTeam()
			return purge(ctx, tx, condition, args)
		})

		drafts := inBatches(ctx, d, func(ctx context.Context, tx *db.Tx) (int64, error) {
			condition, args := ofTeam()
			return giveUp(ctx, tx, condition, args)
		})

		return errors.Join(files, drafts, deleteDoomed(ctx, d, db.AcrossTeams(), store, ofTeam))
	}
}

// sweeper is a store that can find what its own writers never finished.
type sweeper interface {
	Sweep(ctx context.Context, olderThan time.Time) (int, error)
}

// sweep deletes bytes that a dead writer left, and those of files that were deleted.
func sweep(ctx context.Context, d *db.DB, store blob.Store) error {
	err := inBatches(ctx, d, func(ctx context.Context, tx *db.Tx) (int64, error) {
		return giveUp(ctx, tx, `created_at <= @before`, db.Args{"before": tx.Now.Add(-draftAge)})
	})

	err = errors.Join(err, deleteDoomed(ctx, d, db.AcrossTeams(), store, ofAllTeams))

	if s, ok := store.(sweeper); ok {
		_, sweepErr := s.Sweep(ctx, d.Now().Add(-draftAge))
		err = errors.Join(err, sweepErr)
	}

	return err
}

// ofAllTeams is the condition for bytes of any team.
func ofAllTeams() (string, db.Args) { return `true`, db.Args{} }

// inBatches does work on rows of all teams, each time in a transaction of its own, until it takes less than a batch.
func inBatches(ctx context.Context, d *db.DB, do func(ctx context.Context, tx *db.Tx) (int64, error)) error {
	for {
		var taken int64

		err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
			taken, err = do(ctx, tx)
			return err
		})
		if err != nil || taken < batch {
			return err
		}
	}
}

// deleteDoomed deletes bytes that are to be deleted, and then their rows, batch by batch. No transaction is open while
// the store is asked: the rows say that nothing can be made of these bytes. If a row is left, the next run finds the
// blob gone. It goes on after a blob that could not be deleted, and fails with all such errors.
func deleteDoomed(ctx context.Context, d *db.DB, scope db.Scope, store blob.Store, which func() (string, db.Args)) error {
	var (
		failed error
		last   doomed
	)

	for {
		var all []doomed

		err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			condition, args := which()
			all, err = loadDoomed(ctx, tx, last, condition, args)

			return err
		})
		if err != nil || len(all) == 0 {
			return errors.Join(failed, err)
		}

		var teams, ids []id.ID

		for _, last = range all {
			if err := store.Delete(ctx, last.BlobKey); err != nil && !errors.Is(err, blob.ErrNotFound) {
				failed = errors.Join(failed, fmt.Errorf("delete the content of file %v: %w", last.ID, err))
				continue
			}

			teams, ids = append(teams, last.TeamID), append(ids, last.ID)
		}

		err = d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error { return deleteDrafts(ctx, tx, teams, ids) })
		if err != nil || len(all) < batch {
			return errors.Join(failed, err)
		}
	}
}
