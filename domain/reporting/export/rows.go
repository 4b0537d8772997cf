package export

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// sqlColumn is a column that the database fills by itself. SQL is an expression over the tables of the query. Rows
// of such columns go from the server's binary form straight into the file.
type sqlColumn struct {
	csv.Column
	SQL string
}

// goColumn is a column computed from a row in memory.
type goColumn[T any] struct {
	csv.Column
	Value func(row *T) any
}

// named is a column of either type.
type named[C any] interface {
	name() string
	kind() csv.Kind
	// hidden returns the column as one that is read and not written.
	hide() C
}

// name returns the name of the column, as selectors have it.
func (c sqlColumn) name() string   { return c.Name }
func (c goColumn[T]) name() string { return c.Name }

// kind returns the kind of values in the column.
func (c sqlColumn) kind() csv.Kind   { return c.Kind }
func (c goColumn[T]) kind() csv.Kind { return c.Kind }

// hide returns the column as one that is read and not written.
func (c sqlColumn) hide() sqlColumn     { c.Hidden = true; return c }
func (c goColumn[T]) hide() goColumn[T] { c.Hidden = true; return c }

// columnNames returns the names of the columns in their own order, for the Enum of a selector's column type.
func columnNames[C named[C]](columns []C) []string {
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = columns[i].name()
	}

	return names
}

// selectColumns returns the columns that a selector names, in its order, or all columns if it names none. Amounts need
// the currency, which says how many decimal places they have. If the selector does not name it, it is added as a hidden
// column.
func selectColumns[C named[C], N ~string](columns []C, names []N) []C {
	if len(names) == 0 {
		return columns
	}

	out := make([]C, 0, len(names)+1)
	for _, n := range names {
		// Names were validated by the Enum of their type. Others are left out here.
		if i := slices.IndexFunc(columns, func(c C) bool { return c.name() == string(n) }); i >= 0 {
			out = append(out, columns[i])
		}
	}

	return addCurrency(out, columns)
}

// addCurrency adds the currency column of all to some, hidden, if some has amounts and no currency.
func addCurrency[C named[C]](some, all []C) []C {
	isOf := func(kind csv.Kind) func(C) bool { return func(c C) bool { return c.kind() == kind } }

	currency := slices.IndexFunc(all, isOf(csv.Currency))
	if currency < 0 || !slices.ContainsFunc(some, isOf(csv.Amount)) || slices.ContainsFunc(some, isOf(csv.Currency)) {
		return some
	}

	// Clip the slice: it may be part of the columns of all exports.
	return append(slices.Clip(some), all[currency].hide())
}

// countRows returns the size of a CSV with a row for each row of a query, which must select by team.
func countRows(ctx context.Context, tx *db.Tx, q page.Query) (Size, error) {
	q.Args["team"] = tx.Team

	// The columns and the order of the query do not matter for the count.
	rows, err := db.Get[int64](ctx, tx, "select count(*) from "+q.From+" where "+strings.Join(q.Where, " and "), q.Args)
	if err != nil {
		return Size{}, fmt.Errorf("count the rows of an export: %w", err)
	}

	return Size{Rows: rows}, nil
}

// rowList is a query with the columns to write, row by row as they are read.
type rowList struct {
	columns []sqlColumn
	// names are dictionaries by the index of a column of ids, which is written as their texts. If there are few ids,
	// that costs a fraction of a join.
	names map[int]dictionary
	query page.Query
	sort  string
}

// dictionary has the text for each id. An id that is missing is written as an empty cell.
type dictionary map[id.ID][]byte

// write writes a CSV row for each row of the query, with the columns of the list instead of those of the query.
func (l rowList) write(ctx context.Context, tx *db.Tx, out *Sink) error {
	head, expressions := make([]csv.Column, len(l.columns)), make([]string, len(l.columns))
	for i := range l.columns {
		head[i], expressions[i] = l.columns[i].Column, l.columns[i].SQL
	}

	// The query reads one expression for each column, in the order of the file.
	q := l.query
	q.Columns, q.Args["team"] = strings.Join(expressions, ", "), tx.Team
	csv := csv.NewWriter(out, head)

	// Rows are written in the form in which the server sends them, so a large file needs little memory and no
	// conversion.
	err := db.EachRaw(ctx, tx, db.Stmt{SQL: q.SQL(l.sort), Args: q.Args}, func(r *db.RawRows) error {
		for i, names := range l.names {
			// Replace the id by its text. A null is shorter than an id and stays as it is.
			r.Types[i] = db.RawText
			if v := r.Values[i]; len(v) == len(id.Zero) {
				r.Values[i] = names[id.ID(v)]
			}
		}

		if err := csv.Raw(r.Types, r.Values); err != nil {
			return err
		}

		return out.Count(1)
	})
	if err != nil {
		return fmt.Errorf("export rows: %w", err)
	}

	return csv.Flush()
}

// writeTable writes a CSV of computed rows. It stops at the first row that comes with an error.
func writeTable[T any](out *Sink, columns []goColumn[T], rows iter.Seq2[*T, error]) error {
	head, values := make([]csv.Column, len(columns)), make([]any, len(columns))
	for i := range columns {
		head[i] = columns[i].Column
	}

	csv := csv.NewWriter(out, head)

	// One slice of values serves all rows.
	for row, err := range rows {
		if err != nil {
			return err
		}

		for i := range columns {
			values[i] = columns[i].Value(row)
		}

		if err := csv.Row(values...); err != nil {
			return err
		}

		if err := out.Count(1); err != nil {
			return err
		}
	}

	return csv.Flush()
}

// yieldRows yields rows that are in memory.
func yieldRows[T any](rows []T) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for i := range rows {
			if !yield(&rows[i], nil) {
				return
			}
		}
	}
}
