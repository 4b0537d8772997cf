package db

import (
	"context"
	"fmt"
	"io"
)

// CopyOut writes the rows of a query as CSV with a header, as they arrive. An empty field that is not quoted is null. The
// query has no arguments, so what it names must be safe.
func (tx *Tx) CopyOut(ctx context.Context, w io.Writer, query string) (rows int64, err error) {
	if err := tx.begin(ctx); err != nil {
		return 0, err
	}

	tag, err := tx.conn.Conn().PgConn().CopyTo(ctx, w, `copy (`+query+`) to stdout with (format csv, header)`)
	if err != nil {
		return 0, fmt.Errorf("copy rows out: %w", err)
	}

	return tag.RowsAffected(), nil
}

// CopyIn reads rows as CopyOut writes them into a table without row-level security, such as a temporary one.
func (tx *Tx) CopyIn(ctx context.Context, r io.Reader, table string) (rows int64, err error) {
	if err := tx.begin(ctx); err != nil {
		return 0, err
	}

	tag, err := tx.conn.Conn().PgConn().CopyFrom(ctx, r, `copy `+table+` from stdin with (format csv, header)`)
	if err != nil {
		return 0, fmt.Errorf("copy rows into %s: %w", table, err)
	}

	return tag.RowsAffected(), nil
}

// begin begins the transaction, which otherwise begins with its first statement.
func (tx *Tx) begin(ctx context.Context) error {
	if tx.started {
		return nil
	}

	_, err := tx.Exec(ctx, `select`, nil)

	return err
}
