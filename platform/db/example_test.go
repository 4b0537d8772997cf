package db_test

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// A write names its team once; the same work runs dry when it is given to DryRun.
func Example() {
	rename := func(name string) db.Work {
		return func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `update team set name = @name, updated_at = @now where id = @team`,
				db.Args{"name": name, "now": tx.Now, "team": tx.Team})

			return err
		}
	}
	serve := func(ctx context.Context, url string, team id.ID) error {
		d, err := db.Open(ctx, db.Config{URL: url})
		if err != nil {
			return fmt.Errorf("start: %w", err)
		}
		defer d.Close()

		if err := d.DryRun(ctx, db.Scope{Team: team}, rename("Seaside")); err != nil {
			return fmt.Errorf("would fail: %w", err)
		}

		return d.Write(ctx, db.Scope{Team: team}, rename("Seaside"))
	}
	fmt.Println(serve(context.Background(), "not a url", id.Zero) != nil)
	// Output: true
}
