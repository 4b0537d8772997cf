package db

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// Table declares a table of a team once, with its columns. The statements that select, insert and update its rows follow
// from the declaration. A row is a value of T, with a field for each column (ADR 16).
//
// Sets of rows travel as one array for each column, so a statement has the same text and the same plan for one row
// and for ten thousand.
type Table[T any] struct {
	name    string
	columns []tableColumn
	inserts string
	updates string
	upserts string
}

// tableColumn is a column of a Table.
type tableColumn struct {
	name, kind string
	// field is the index of the field of T; nil if the value is the instant of the transaction.
	field []int
	// inKey columns find the row to update, together with the team; isFixed ones are never updated.
	inKey, isFixed bool
	// isOptional texts are stored as null if they are empty.
	isOptional bool
	// isSent values travel with the rows and have no column in the table: computed ones are made from them.
	isSent bool
	// computed is the SQL of the value, if it is not just the one that was sent.
	computed string
	// merged is the SQL of the value that the column of a stored row gets in an upsert, if it is not just the new one.
	merged string
	// isMergedOnly columns are not inserted: they are only set in the stored row of an upsert.
	isMergedOnly bool
}

// isArray reports whether each row has an array in the column. Arrays of arrays would be flattened on their way, so they
// travel as texts.
func (c *tableColumn) isArray() bool { return strings.HasSuffix(c.kind, "[]") }

// wireKind returns the type as which the values of the column travel.
func (c *tableColumn) wireKind() string {
	if c.isArray() {
		return "text"
	}

	return c.kind
}

// NewTable declares a table. Each of its columns is a name and a type of PostgreSQL, separated by commas, with words
// after them:
//
//	id uuid key, ref text fixed, note text optional, total bigint, lines jsonb, created_at now fixed, updated_at now
//
// A key finds the row to update, with the team. Fixed columns are inserted and never updated, and so are keys. An
// optional text is null if it is empty. The type now is an instant, that of the transaction, and needs no field. A value
// with the word sent has no column in the table, and a column with the word computed has no field: Compute says what it
// is made of. Values of type jsonb are encoded as JSON. The column team_id comes first and is not named. NewTable panics
// if a column has no field in T: that is a defect.
func NewTable[T any](name, columns string) *Table[T] {
	t := &Table[T]{name: name}
	fields := structFields(reflect.TypeFor[T]())

	for text := range strings.SplitSeq(columns, ",") {
		words := strings.Fields(text)
		if len(words) < 2 {
			panic(fmt.Sprintf("table %s: %q is no column", name, text))
		}

		c := tableColumn{name: words[0], kind: words[1]}
		hasField := c.kind != "now"

		for _, word := range words[2:] {
			switch word {
			case "key":
				c.inKey, c.isFixed = true, true
			case "fixed":
				c.isFixed = true
			case "optional":
				c.isOptional = true
			case "sent":
				c.isSent = true
			case "computed":
				hasField = false
			default:
				panic(fmt.Sprintf("table %s: column %s has the unknown word %s", name, c.name, word))
			}
		}

		if hasField {
			if c.field = fields[fold(c.name)]; c.field == nil {
				panic(fmt.Sprintf("table %s: column %s has no field in %s", name, c.name, reflect.TypeFor[T]()))
			}
		}

		t.columns = append(t.columns, c)
	}

	t.prepare()

	return t
}

// Compute sets the SQL from which a column gets its value in inserts and updates. It can use the sent rows r and
// arguments that the caller adds to the statement.
func (t *Table[T]) Compute(column, sql string) *Table[T] {
	at := slices.IndexFunc(t.columns, func(c tableColumn) bool { return c.name == column })
	if at < 0 {
		panic(fmt.Sprintf("table %s has no column %s to compute", t.name, column))
	}

	t.columns[at].computed = sql
	t.prepare()

	return t
}

// Merge sets the SQL that a column of a stored row gets in an upsert. It can use the new row, which is called excluded,
// and the stored one, by the name of the table. The column need not be a declared one.
func (t *Table[T]) Merge(column, sql string) *Table[T] {
	at := slices.IndexFunc(t.columns, func(c tableColumn) bool { return c.name == column })
	if at < 0 {
		at = len(t.columns)
		t.columns = append(t.columns, tableColumn{name: column, isFixed: true, isMergedOnly: true})
	}

	t.columns[at].merged = sql
	t.prepare()

	return t
}

// prepare builds the statements of the table, which are the same for all rows.
func (t *Table[T]) prepare() {
	var arrays, sources, names, values, keys, updated, merged []string

	for i := range t.columns {
		c := &t.columns[i]

		if c.field != nil {
			arrays, sources = append(arrays, "@"+c.name+"::"+c.wireKind()+"[]"), append(sources, c.name)
		}

		if !c.isSent && !c.isMergedOnly {
			names, values = append(names, c.name), append(values, c.valueSQL())
		}

		if c.inKey {
			keys = append(keys, c.name)
		}

		if !c.isFixed && !c.isSent {
			updated = append(updated, c.name+" = "+c.valueSQL())
		}

		switch {
		case c.merged != "":
			merged = append(merged, c.name+" = "+c.merged)
		case !c.isFixed && !c.isSent:
			merged = append(merged, c.name+" = excluded."+c.name)
		}
	}

	from := "unnest(" + strings.Join(arrays, ", ") + ") as r (" + strings.Join(sources, ", ") + ")"
	t.inserts = "insert into " + t.name + " (team_id, " + strings.Join(names, ", ") + ") select @team::uuid, " +
		strings.Join(values, ", ") + " from " + from

	// A table without a key, or with nothing that changes, is only inserted into.
	if keys == nil || updated == nil {
		return
	}

	t.updates = "update " + t.name + " t set " + strings.Join(updated, ", ") + " from " + from + " where t.team_id = @team"
	for _, key := range keys {
		t.updates += " and t." + key + " = r." + key
	}

	t.upserts = t.inserts + " on conflict (team_id, " + strings.Join(keys, ", ") + ") do update set " + strings.Join(merged, ", ")
}

// valueSQL is the SQL of the value that a column gets from a row r.
func (c *tableColumn) valueSQL() string {
	switch {
	case c.computed != "":
		return c.computed
	case c.field == nil:
		return "@now::timestamptz"
	case c.isArray():
		return "r." + c.name + "::" + c.kind
	case c.isOptional:
		return "nullif(r." + c.name + ", '')"
	default:
		return "r." + c.name
	}
}

// ColumnsSQL lists the columns of the table under an alias, for a select: "r.id, r.ref". An optional text that is null
// is read as the empty text. Columns in without are left out.
func (t *Table[T]) ColumnsSQL(alias string, without ...string) string {
	names := make([]string, 0, len(t.columns))
	for _, c := range t.columns {
		switch {
		case c.isSent || c.isMergedOnly || slices.Contains(without, c.name):
		case c.isOptional:
			names = append(names, "coalesce("+alias+"."+c.name+", '') as "+c.name)
		default:
			names = append(names, alias+"."+c.name)
		}
	}

	return strings.Join(names, ", ")
}

// Column returns the name and the type of the column that holds a field, such as created_at for createdAt. It panics for
// a field that the table does not have: that is a defect.
func (t *Table[T]) Column(field string) (name, kind string) {
	for _, c := range t.columns {
		if fold(c.name) == fold(field) {
			return c.name, c.kind
		}
	}

	panic(fmt.Sprintf("table %s has no column of the field %s", t.name, field))
}

// TypesSQL lists the columns with their types, as jsonb_to_recordset takes them to read what Records returned.
func (t *Table[T]) TypesSQL() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name + " " + c.kind
	}

	return strings.Join(names, ", ")
}

// Records returns rows as objects of JSON with the names of the columns, for a column of another table that stores them.
func (t *Table[T]) Records(rows ...*T) []map[string]any {
	out := make([]map[string]any, len(rows))
	for i, row := range rows {
		out[i] = make(map[string]any, len(t.columns))
		for _, c := range t.columns {
			out[i][c.name] = reflect.ValueOf(row).Elem().FieldByIndex(c.field).Interface()
		}
	}

	return out
}

// Insert returns the statement that inserts rows. Text can be appended to it, such as an "on conflict" or a "returning".
func (t *Table[T]) Insert(tx *Tx, rows ...*T) Stmt { return t.statement(tx, t.inserts, rows) }

// Update returns the statement that updates rows found by their key. Conditions on the stored row t and the new row r
// can be appended to it.
func (t *Table[T]) Update(tx *Tx, rows ...*T) Stmt { return t.statement(tx, t.updates, rows) }

// Upsert returns the statement that inserts rows and updates the ones that exist. Further columns to set can be
// appended to it. No key may be among the rows twice.
func (t *Table[T]) Upsert(tx *Tx, rows ...*T) Stmt { return t.statement(tx, t.upserts, rows) }

// statement returns a statement with the team and an array for each column; with the instant of the transaction too, if
// a column takes it.
func (t *Table[T]) statement(tx *Tx, sql string, rows []*T) Stmt {
	if sql == "" {
		panic(fmt.Sprintf("rows of table %s are only inserted: it has no key, or nothing that changes", t.name))
	}

	args := t.rowArgs(tx, rows...)
	if strings.Contains(sql, "@now") {
		args["now"] = tx.Now
	}

	return Stmt{SQL: sql, Args: args}
}

// rowArgs returns an array for each column with its values in the order of the rows, and the team.
func (t *Table[T]) rowArgs(tx *Tx, rows ...*T) Args {
	values := make([]reflect.Value, len(rows))
	for i, row := range rows {
		values[i] = reflect.ValueOf(row).Elem()
	}

	args := Args{"team": tx.Team}

	for _, c := range t.columns {
		if c.field != nil {
			args[c.name] = c.array(reflect.TypeFor[T](), values)
		}
	}

	return args
}

// array returns the values of a column in the order of the rows, as a slice that the driver encodes.
func (c *tableColumn) array(row reflect.Type, rows []reflect.Value) any {
	if c.kind == "jsonb" {
		return c.documents(rows)
	}

	if c.isArray() {
		return c.arrays(rows)
	}

	kind := wireType(row.FieldByIndex(c.field).Type)

	out := reflect.MakeSlice(reflect.SliceOf(kind), len(rows), len(rows))
	for i, r := range rows {
		v := r.FieldByIndex(c.field)
		if v.Type() != kind {
			v = v.Convert(kind)
		}

		out.Index(i).Set(v)
	}

	return out.Interface()
}

// documents returns the values of a column of type jsonb as texts, nil for null. The driver would take a list in each
// row for an array of two dimensions.
func (c *tableColumn) documents(rows []reflect.Value) []*string {
	out := make([]*string, len(rows))

	for i, r := range rows {
		v := r.FieldByIndex(c.field)

		switch v.Kind() { //nolint:exhaustive // other kinds have no null
		case reflect.Map, reflect.Slice, reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				continue
			}
		default:
		}

		// A document that is encoded already stays as it is.
		if raw, ok := reflect.TypeAssert[json.RawMessage](v); ok {
			text := string(raw)
			out[i] = &text

			continue
		}

		encoded, err := json.Marshal(v.Interface())
		if err != nil {
			panic(fmt.Sprintf("column %s: %v", c.name, err)) // a type that has no JSON is a defect
		}

		text := string(encoded)
		out[i] = &text
	}

	return out
}

// arrayTypes are the types of PostgreSQL that a column with an array in each row can have.
var arrayTypes = map[string]uint32{
	"text[]": pgtype.TextArrayOID, "uuid[]": pgtype.UUIDArrayOID, "date[]": pgtype.DateArrayOID, "bigint[]": pgtype.Int8ArrayOID,
}

// arrays returns the arrays of a column as texts in the form of PostgreSQL, nil for null.
func (c *tableColumn) arrays(rows []reflect.Value) []*string {
	out, types := make([]*string, len(rows)), pgtype.NewMap()

	for i, r := range rows {
		encoded, err := types.Encode(arrayTypes[c.kind], pgtype.TextFormatCode, r.FieldByIndex(c.field).Interface(), nil)
		if err != nil {
			panic(fmt.Sprintf("column %s: %v", c.name, err)) // a type that is no array is a defect
		}

		if encoded != nil {
			text := string(encoded)
			out[i] = &text
		}
	}

	return out
}

// plainTypes are the types for which the driver knows the fastest way.
var plainTypes = map[reflect.Kind]reflect.Type{
	reflect.String: reflect.TypeFor[string](),
	reflect.Int64:  reflect.TypeFor[int64](),
	reflect.Bool:   reflect.TypeFor[bool](),
}

// wireType returns the type as which values of a type are sent: text for a type of texts, a number for cents.
func wireType(t reflect.Type) reflect.Type {
	elem := t
	if t.Kind() == reflect.Pointer {
		elem = t.Elem()
	}

	plain, ok := plainTypes[elem.Kind()]

	switch {
	case !ok:
		return t
	case elem != t:
		return reflect.PointerTo(plain)
	default:
		return plain
	}
}

// Refs returns the addresses of rows, as the statements of a Table take them.
func Refs[T any](rows []T) []*T {
	out := make([]*T, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}

	return out
}
