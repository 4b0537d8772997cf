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

// SQLColumn is a column that the database fills by itself. SQL is an expression over the tables of the query. Rows
// of such columns go from the server's binary form straight into the file.
type SQLColumn struct {
	csv.Column
	SQL string
}

// GoColumn is a column computed from a row in memory.
type GoColumn[T any] struct {
	csv.Column
	Value func(row *T) any
}

// FromSQL returns a column that the database fills by an expression over the tables of the query.
func FromSQL(name string, kind csv.Kind, sql string) SQLColumn {
	return SQLColumn{csv.Column{Name: name, Kind: kind}, sql}
}

// FromTable returns columns that only name fields of a table, which has the alias in the query. Their kinds are those of
// the table's columns.
func FromTable[T any](t *db.Table[T], alias string, fields ...string) []SQLColumn {
	out := make([]SQLColumn, len(fields))
	for i, field := range fields {
		column, kind := t.Column(field)
		out[i] = FromSQL(field, cellKind(field, kind), alias+"."+column)
	}

	return out
}

// columnKinds are the kinds of cells by the types of columns. Whole numbers that are no amounts have the type int.
var columnKinds = map[string]csv.Kind{
	"uuid": csv.ID, "date": csv.Date, "timestamptz": csv.Instant, "now": csv.Instant, "int": csv.Integer, "bigint": csv.Amount, "boolean": csv.Bool,
}

// cellKind returns the kind of the cells of a field by the type of its column. Texts that name a record are identifiers.
func cellKind(field, column string) csv.Kind {
	isNamed := func(end string) bool { return strings.HasSuffix(field, end) }

	switch kind, isKnown := columnKinds[column]; {
	case isKnown:
		return kind
	case field == "currency":
		return csv.Currency
	case isNamed("Ref"), isNamed("Id"), isNamed("Code"), field == "code":
		return csv.ID
	default:
		return csv.Text
	}
}

// FromRow returns a column that is computed from a row in memory.
func FromRow[T any](name string, kind csv.Kind, value func(row *T) any) GoColumn[T] {
	return GoColumn[T]{csv.Column{Name: name, Kind: kind}, value}
}

// Column is a column of either type, or a noun's own that embeds one.
type Column[C any] interface {
	name() string
	kind() csv.Kind
	// Hide returns the column as one that is read and not written.
	Hide() C
}

// name returns the name of the column, as selectors have it.
func (c SQLColumn) name() string   { return c.Name }
func (c GoColumn[T]) name() string { return c.Name }

// kind returns the kind of values in the column.
func (c SQLColumn) kind() csv.Kind   { return c.Kind }
func (c GoColumn[T]) kind() csv.Kind { return c.Kind }

// Hide returns the column as one that is read and not written.
func (c SQLColumn) Hide() SQLColumn { c.Hidden = true; return c }

// Hide returns the column as one that is read and not written.
func (c GoColumn[T]) Hide() GoColumn[T] { c.Hidden = true; return c }

// ColumnNames returns the names of the columns in their own order, for the Enum of a selector's column type.
func ColumnNames[C Column[C]](columns []C) []string {
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = columns[i].name()
	}

	return names
}

// SelectColumns returns the columns that a selector names, in its order, or all columns if it names none. Amounts need
// the currency, which says how many decimal places they have. If the selector does not name it, it is added as a hidden
// column.
func SelectColumns[C Column[C], N ~string](columns []C, names []N) []C {
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

	return AddCurrency(out, columns)
}

// AddCurrency adds the currency column of all to some, hidden, if some has amounts and no currency.
func AddCurrency[C Column[C]](some, all []C) []C {
	isOf := func(kind csv.Kind) func(C) bool { return func(c C) bool { return c.kind() == kind } }

	currency := slices.IndexFunc(all, isOf(csv.Currency))
	if currency < 0 || !slices.ContainsFunc(some, isOf(csv.Amount)) || slices.ContainsFunc(some, isOf(csv.Currency)) {
		return some
	}

	// Clip the slice: it may be part of the columns of all exports.
	return append(slices.Clip(some), all[currency].Hide())
}

// CountRows returns the size of a CSV with a row for each row of a query, which must select by team.
func CountRows(ctx context.Context, tx *db.Tx, q page.Query) (Size, error) {
	q.Args["team"] = tx.Team

	// The columns and the order of the query do not matter for the count.
	rows, err := db.Get[int64](ctx, tx, "select count(*) from "+q.From+" where "+strings.Join(q.Where, " and "), q.Args)
	if err != nil {
		return Size{}, fmt.Errorf("count the rows of an export: %w", err)
	}

	return Size{Rows: rows}, nil
}

// RowList is a query with the columns to write, row by row as they are read.
type RowList struct {
	Columns []SQLColumn
	// Names are dictionaries by the index of a column of ids, which is written as their texts. If there are few ids,
	// that costs a fraction of a join.
	Names map[int]Dictionary
	Query page.Query
	Sort  string
}

// Dictionary has the text for each id. An id that is missing is written as an empty cell.
type Dictionary map[id.ID][]byte

// Write writes a CSV row for each row of the query, with the columns of the list instead of those of the query.
func (l RowList) Write(ctx context.Context, tx *db.Tx, out *Sink) error {
	head, expressions := make([]csv.Column, len(l.Columns)), make([]string, len(l.Columns))
	for i := range l.Columns {
		head[i], expressions[i] = l.Columns[i].Column, l.Columns[i].SQL
	}

	// The query reads one expression for each column, in the order of the file.
	q := l.Query
	q.Columns, q.Args["team"] = strings.Join(expressions, ", "), tx.Team
	csv := csv.NewWriter(out, head)

	// Rows are written in the form in which the server sends them, so a large file needs little memory and no
	// conversion.
	err := db.EachRaw(ctx, tx, db.Stmt{SQL: q.SQL(l.Sort), Args: q.Args}, func(r *db.RawRows) error {
		for i, names := range l.Names {
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

// WriteTable writes a CSV of computed rows. It stops at the first row that comes with an error.
func WriteTable[T any](out *Sink, columns []GoColumn[T], rows iter.Seq2[*T, error]) error {
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

// YieldRows yields rows that are in memory.
func YieldRows[T any](rows []T) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for i := range rows {
			if !yield(&rows[i], nil) {
				return
			}
		}
	}
}
