package pms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/record/intake"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

const (
	// The time between two scheduled syncs.
	every = time.Hour
	// After this time a scheduled sync reads all records: systems do not report all deletions.
	completely = 24 * time.Hour
	// One round starts at most this many syncs; the next round starts the others.
	dueAtOnce = 500
)

// periodicTasks returns the task that reads connections by their schedule.
func periodicTasks() []job.Every {
	return []job.Every{{Name: "connection-sync", Interval: time.Minute, Do: startDue}}
}

// startDue starts the due syncs, each in its own transaction: one failure does not stop the others.
func startDue(ctx context.Context, d *db.DB) error {
	var due []connection.Due

	err := d.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		due, err = connection.ListDue(ctx, tx, dueAtOnce)
		return err
	})
	if err != nil {
		return fmt.Errorf("find due syncs: %w", err)
	}

	var failures []error

	for _, v := range due {
		scope := db.Scope{Team: v.TeamID, Zone: v.Zone, Actor: db.Service}

		err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error { return startScheduled(ctx, tx, v.ID) })
		if err != nil {
			failures = append(failures, err)
		}
	}

	return errors.Join(failures...)
}

// startScheduled starts the sync of a connection if it is still due, and schedules the next one.
func startScheduled(ctx context.Context, tx *db.Tx, one id.ID) error {
	c, err := lock(ctx, tx, one)
	if errors.Is(err, apierr.NotFound) {
		return nil
	}

	if err != nil {
		return err
	}

	// Another worker may have started it meanwhile, or a person may have paused it.
	due := c.IsSyncEnabled && c.NextSyncAt != nil && !c.NextSyncAt.After(tx.Now)
	if syncable := checkSyncable(c) == nil; !syncable || !due {
		return nil
	}

	// Once a day all records are read.
	read, err := db.Get[bool](ctx, tx, `
		select exists (select from sync where team_id = @team and source_id = @source and view = 'automate' and mode = 'full' and status <> 'failed' and queued_at > @since)`,
		db.Args{"team": tx.Team, "source": one, "since": tx.Now.Add(-completely)})
	if err != nil {
		return fmt.Errorf("find out when a source was last read completely: %w", err)
	}

	n := intake.New{ConnectionID: one, View: intake.Automate, Mode: intake.Incremental, Trigger: intake.Schedule}
	if !read {
		n.Mode = intake.Full
	}

	if _, err := intake.Start(ctx, tx, n); err != nil {
		return err
	}

	return connection.Schedule(ctx, tx, one, tx.Now.Add(every))
}
