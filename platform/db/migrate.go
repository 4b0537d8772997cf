package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver goose uses
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// ErrSchema is a schema that lacks migrations of this program.
var ErrSchema = errors.New("the schema is missing or older than this program; run `stayledger migrate`")

// Migrate brings the schema up to the newest file and returns how many files it applied. Processes that start
// together take turns by a lock of the session.
//
// It fails with the errors of Open: tables that a superuser owns would be closed to the service's own role.
func Migrate(ctx context.Context, url string, files fs.FS) (applied int, err error) {
	// Open checks the role and the settings; its connections are not needed.
	d, err := Open(ctx, Config{URL: url})
	if err != nil {
		return 0, err
	}

	d.Close()

	// Goose needs a connection of database/sql. Its session has the lock.
	conn, err := sql.Open("pgx", url)
	if err != nil {
		return 0, fmt.Errorf("open: %w", redact(err))
	}
	defer func() { err = errors.Join(err, conn.Close()) }()

	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return 0, fmt.Errorf("session lock: %w", err)
	}

	provider, err := goose.NewProvider(goose.DialectPostgres, conn, files, goose.WithSessionLocker(locker))
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}

	// The results say how many were applied, also if one of them failed.
	results, err := provider.Up(ctx)
	if err != nil {
		return len(results), fmt.Errorf("migrate: %w", redact(err))
	}

	return len(results), nil
}

// Schema returns the number of the newest migration that the database has, or zero.
func (d *DB) Schema(ctx context.Context) (int64, error) {
	var there bool
	if err := d.pool.QueryRow(ctx, `select to_regclass('goose_db_version') is not null`).Scan(&there); err != nil {
		return 0, unavailable(err)
	}

	// A database without the table has never been migrated.
	if !there {
		return 0, nil
	}

	var version int64

	err := d.pool.QueryRow(ctx, `select coalesce(max(version_id), 0) from goose_db_version where is_applied`).Scan(&version)
	if err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}

	return version, nil
}

// PoolStats are how the connections of this process stand.
type PoolStats struct {
	// Max is how many there may be, Total how many there are, InUse how many of these work.
	Max, Total, InUse int32
	// Transactions counts how often a connection was taken.
	Transactions int64
	// Waits counts the transactions that had to wait for a connection, WaitSeconds how long they waited together.
	Waits       int64
	WaitSeconds float64
}

// Stats reads how the connections stand.
func (d *DB) Stats() PoolStats {
	s := d.pool.Stat()

	return PoolStats{
		Max: s.MaxConns(), Total: s.TotalConns(), InUse: s.AcquiredConns(), Transactions: s.AcquireCount(),
		Waits: s.EmptyAcquireCount(), WaitSeconds: s.EmptyAcquireWaitTime().Seconds(),
	}
}
