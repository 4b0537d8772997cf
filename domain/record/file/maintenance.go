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
			return remove(ctx, d, store, loadDue, markPurged)
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
		files := func(ctx context.Context, tx *db.Tx) ([]doomed, error) { return loadStored(ctx, tx, team) }
		unfinished := func(ctx context.Context, tx *db.Tx) ([]doomed, error) { return loadDrafts(ctx, tx, team) }

		return errors.Join(remove(ctx, d, store, files, markPurged), remove(ctx, d, store, unfinished, deleteDrafts))
	}
}

// sweeper is a store that can find what its own writers never finished.
type sweeper interface {
	Sweep(ctx context.Context, olderThan time.Time) (int, error)
}

func sweep(ctx context.Context, d *db.DB, store blob.Store) error {
	err := remove(ctx, d, store, loadAbandoned, deleteDrafts)
	if s, ok := store.(sweeper); ok {
		_, sweepErr := s.Sweep(ctx, d.Now().Add(-draftAge))
		err = errors.Join(err, sweepErr)
	}

	return err
}

// remove deletes blobs and then marks their rows, batch by batch. The blob goes first: if the mark is lost, the
// next run finds the blob gone and marks it. The rows stay locked meanwhile, so a file that is being inserted from
// a draft is either kept or refused, never broken. It goes on after a blob that could not be deleted, and fails
// with all such errors.
func remove(ctx context.Context, d *db.DB, store blob.Store, find func(context.Context, *db.Tx) ([]doomed, error),
	mark func(ctx context.Context, tx *db.Tx, teams, ids []id.ID) error,
) error {
	for {
		found, failed := 0, error(nil)

		err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
			all, err := find(ctx, tx)
			if err != nil || len(all) == 0 {
				return err
			}

			var teams, ids []id.ID

			found, failed = len(all), nil
			for _, one := range all {
				if err := store.Delete(ctx, one.BlobKey); err != nil && !errors.Is(err, blob.ErrNotFound) {
					failed = errors.Join(failed, fmt.Errorf("delete the content of file %v: %w", one.ID, err))
					continue
				}

				// Mark only the rows with no content left.
				teams, ids = append(teams, one.TeamID), append(ids, one.ID)
			}

			return mark(ctx, tx, teams, ids)
		})

		// A batch that was not full was the last one. After an error the next run tries again.
		if err := errors.Join(err, failed); err != nil || found < batch {
			return err
		}
	}
}
