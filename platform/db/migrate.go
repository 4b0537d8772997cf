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

// Migrate brings the schema up to the newest file and returns how many files it applied. Processes that start together take turns.
func Migrate(ctx context.Context, url string, files fs.FS) (applied int, err error) {
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
	results, err := provider.Up(ctx)
	if err != nil {
		return len(results), fmt.Errorf("migrate: %w", redact(err))
	}
	return len(results), nil
}
