package db

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// structScan reads rows into structs by column name. Fields are found once per result, not once per row as the
// library's own does it: on a page of fifty rows that was a third of the time spent outside the database.
type structScan[T any] struct {
	fields  [][]int
	targets []any
}

// newStructScan matches columns to fields, underscores and case aside. Every column needs a field and every field a
// column, but for fields marked `db:"-"`.
func newStructScan[T any](columns []pgconn.FieldDescription) (*structScan[T], error) {
	known := structFields(reflect.TypeFor[T]())

	s := &structScan[T]{fields: make([][]int, len(columns)), targets: make([]any, len(columns))}
	for i, c := range columns {
		index, ok := known[fold(c.Name)]
		if !ok {
			return nil, fmt.Errorf("column %s has no field in %s", c.Name, reflect.TypeFor[T]())
		}

		s.fields[i] = index
	}

	// Every column has a field by now, so other numbers mean a field without a column.
	if len(columns) != len(known) {
		return nil, fmt.Errorf("%d columns for the %d fields of %s", len(columns), len(known), reflect.TypeFor[T]())
	}

	return s, nil
}

// collect reads all rows. Structs are scanned in place, because copying them took three times as long for wide
// rows.
func collect[T any](rows pgx.Rows) ([]T, error) {
	if !isStruct[T]() {
		return pgx.AppendRows([]T{}, rows, into[T]())
	}

	defer rows.Close()

	s, err := newStructScan[T](rows.FieldDescriptions())
	if err != nil {
		return nil, err
	}

	// Grow in large steps and scan into the slice itself.
	out := []T{}
	for rows.Next() {
		if len(out) == cap(out) {
			out = slices.Grow(out, max(16, len(out)))
		}

		out = out[:len(out)+1]
		if err := s.scan(rows, &out[len(out)-1]); err != nil {
			return nil, err
		}
	}

	return out, rows.Err()
}

func (s *structScan[T]) scan(row pgx.CollectableRow, into *T) error {
	v := reflect.ValueOf(into).Elem()
	for i, index := range s.fields {
		s.targets[i] = v.FieldByIndex(index).Addr().Interface()
	}

	return row.Scan(s.targets...)
}

func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

var fieldCache sync.Map // reflect.Type → map[string][]int

// structFields returns the fields of a struct by column name, computed once for each type.
func structFields(t reflect.Type) map[string][]int {
	if known, ok := fieldCache.Load(t); ok {
		return known.(map[string][]int) //nolint:errcheck,forcetypeassert // only this function stores
	}

	known := map[string][]int{}
	addFields(known, t, nil)
	fieldCache.Store(t, known)

	return known
}

// addFields adds the fields of a struct by the names of their columns. The index of each begins with prefix, that of
// the struct in the outer one.
func addFields(known map[string][]int, t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		f := t.Field(i)

		index := append(append([]int{}, prefix...), i)

		// The fields of an embedded struct count as fields of the outer one. Type parameters cannot be embedded: their
		// fields have the tag `db:"*"` instead.
		isEmbedded := f.Anonymous && f.Tag.Get("db") == "" || f.Tag.Get("db") == "*"
		if isEmbedded && f.Type.Kind() == reflect.Struct {
			addFields(known, f.Type, index)
			continue
		}

		name := f.Tag.Get("db")
		if name == "-" || !f.IsExported() {
			continue
		}

		if name == "" {
			name = f.Name
		}

		known[fold(name)] = index
	}
}
