//go:build unix

package dbtest

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// template is a migrated database that is only ever copied. It is ready when it is marked as a template; one without
// the mark was left unfinished by a process that ended.
//
// An advisory lock guards it across processes: shared while it is copied, exclusive while it is made or removed.
type template struct {
	name    string
	server  string
	migrate Migrate
}

// holdReady returns with the shared lock held on a ready template, which it creates if needed.
func (t template) holdReady(ctx context.Context, conn *pgx.Conn) error {
	const attempts = 5 // Between the two locks another process may remove it, but only after half a day without use.
	for range attempts {
		if _, err := conn.Exec(ctx, "select pg_advisory_lock_shared(hashtextextended($1, 0))", t.name); err != nil {
			return fmt.Errorf("lock the template: %w", err)
		}

		_, ready, err := t.loadState(ctx, conn)
		if err != nil || ready {
			return err
		}

		// Creating it needs the exclusive lock, which cannot be had with the shared one.
		if _, err := conn.Exec(ctx, "select pg_advisory_unlock_shared(hashtextextended($1, 0))", t.name); err != nil {
			return fmt.Errorf("unlock the template: %w", err)
		}

		if err := t.createTemplate(ctx, conn); err != nil {
			return err
		}
	}

	return fmt.Errorf("the template %s vanishes as soon as it is made", t.name)
}

// loadState reports whether the template exists and whether it is ready.
func (t template) loadState(ctx context.Context, conn *pgx.Conn) (exists, ready bool, err error) {
	err = conn.QueryRow(ctx, "select count(*) > 0, coalesce(bool_or(datistemplate), false) from pg_database where "+
		"datname = $1", t.name).
		Scan(&exists, &ready)
	if err != nil {
		return false, false, fmt.Errorf("look up the template: %w", err)
	}

	return exists, ready, nil
}

// createTemplate creates and migrates the template, unless another process did so while we waited for the lock.
func (t template) createTemplate(ctx context.Context, conn *pgx.Conn) error {
	return exclusively(ctx, conn, t.name, func() error {
		exists, ready, err := t.loadState(ctx, conn)
		if err != nil || ready {
			return err
		}

		// An unfinished template is left from a process that died.
		if exists {
			if _, err := conn.Exec(ctx, "drop database "+quote(t.name)+" with (force)"); err != nil {
				return fmt.Errorf("drop the unfinished template: %w", err)
			}
		}

		if _, err := conn.Exec(ctx, "create database "+quote(t.name)+" template template0"); err != nil {
			return fmt.Errorf("create the template: %w", err)
		}

		at, err := withDatabase(t.server, t.name)
		if err != nil {
			return err
		}

		if err := t.migrate(ctx, at); err != nil {
			return fmt.Errorf("migrate the template: %w", err)
		}
		// Refuse connections from here on, because a connected template cannot be copied. The mark comes last.
		for _, statement := range []string{
			"comment on database " + quote(t.name) + " is '" + time.Now().UTC().Format(time.RFC3339) + "'",
			"alter database " + quote(t.name) + " allow_connections false",
			"alter database " + quote(t.name) + " is_template true",
		} {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return fmt.Errorf("finish the template: %w", err)
			}
		}

		return nil
	})
}

// removeTemplate drops a template that is unused.
func removeTemplate(ctx context.Context, conn *pgx.Conn, name string) error {
	return exclusively(ctx, conn, name, func() error {
		var still bool
		if err := conn.QueryRow(ctx,
			"select count(*) > 0 from pg_database where datname = $1",
			name,
		).Scan(&still); err != nil || !still {
			return err
		}

		if _, err := conn.Exec(ctx, "alter database "+quote(name)+" is_template false"); err != nil {
			return err
		}

		_, err := conn.Exec(ctx, "drop database "+quote(name))

		return err
	})
}

// exclusively runs f with the template's lock. It does not queue behind the work of one test for ever: ctx ends the
// waiting.
func exclusively(ctx context.Context, conn *pgx.Conn, name string, f func() error) error {
	if _, err := conn.Exec(ctx, "select pg_advisory_lock(hashtextextended($1, 0))", name); err != nil {
		return fmt.Errorf("lock the template: %w", err)
	}

	if err := f(); err != nil {
		return err // The lock goes with the connection, which its caller gives up.
	}

	if _, err := conn.Exec(ctx, "select pg_advisory_unlock(hashtextextended($1, 0))", name); err != nil {
		return fmt.Errorf("unlock the template: %w", err)
	}

	return nil
}
