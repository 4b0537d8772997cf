package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// copyTables measures how long COPY takes for a team's rows of tables, from files in the format that costs the
// server least, into tables with the same indexes.
func (b *bed) copyTables(
	ctx context.Context,
	t tenant,
	tables ...string,
) (rows map[string]int64, took time.Duration, err error) {
	conn, err := pgx.Connect(ctx, b.url(superuser))
	if err != nil {
		return nil, 0, fmt.Errorf("copy: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()

	rows = map[string]int64{}

	for _, table := range tables {
		file, failure := os.Create(filepath.Join(b.folder, table)) //nolint:gosec // The folder is the bed's.
		if failure != nil {
			return nil, 0, fmt.Errorf("copy: %w", failure)
		}
		defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()

		// COPY takes no generated columns: the new table computes them.
		var columns string
		if err := conn.QueryRow(ctx, `select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
			where attrelid = $1::regclass and attnum > 0 and attgenerated = '' and not attisdropped`, table).Scan(&columns); err != nil {
			return nil, 0, fmt.Errorf("copy: %w", err)
		}

		// First write the rows to a file, which is not timed.
		if _, err := conn.PgConn().CopyTo(ctx, file, fmt.Sprintf(`copy (select %s from %s where team_id = '%s') to stdout (format binary)`, columns, table, t.team)); err != nil {
			return nil, 0, fmt.Errorf("copy: %w", err)
		}

		if _, err := conn.Exec(ctx,
			strings.ReplaceAll("create table bench_copy_$ (like $ including all)", "$", table),
		); err != nil {
			return nil, 0, fmt.Errorf("copy: %w", err)
		}

		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, 0, fmt.Errorf("copy: %w", err)
		}

		// Only this direction is the write that the service is compared with.
		begin := time.Now()
		tag, err := conn.PgConn().CopyFrom(ctx, file, `copy bench_copy_`+table+` from stdin (format binary)`)
		took += time.Since(begin)

		if err != nil {
			return nil, 0, fmt.Errorf("copy: %w", err)
		}

		rows[table] = tag.RowsAffected()
	}

	return rows, took, nil
}
