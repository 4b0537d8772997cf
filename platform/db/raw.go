package db

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// RawText is the type of text among the types of raw rows.
const RawText = pgtype.TextOID

// RawRows has the rows of a query, undecoded: values in PostgreSQL's binary format, except those of types that only
// have a text form here.
type RawRows struct {
	// Types are the object ids of the columns' types.
	Types []uint32
	// Values are those of the current row, nil for null. They are overwritten by the next row.
	Values [][]byte
}

// EachRaw hands rows over as they arrive and as they came, for what only passes them on: decoding every value costs
// more than all else an export does. Memory does not grow with their number.
func EachRaw(ctx context.Context, tx *Tx, s Stmt, f func(*RawRows) error) error {
	_, err := tx.send(ctx, []Stmt{s}, func(rows pgx.Rows) error {
		columns := rows.FieldDescriptions()

		raw := &RawRows{Types: make([]uint32, len(columns))}
		for i := range columns {
			raw.Types[i] = columns[i].DataTypeOID
		}

		// The values are those of the driver's buffer: they are valid until the next row.
		for rows.Next() {
			raw.Values = rows.RawValues()
			if err := f(raw); err != nil {
				return err
			}
		}

		return rows.Err()
	})

	return err
}
