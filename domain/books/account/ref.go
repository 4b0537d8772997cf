package account

import "stayledger/platform/id"

// Ref is an account where another record names it.
type Ref struct {
	ID   id.ID   `json:"id"`
	Code *string `json:"code"`
	Name string  `json:"name"`
}

// RefSQL returns the SQL of a Ref as JSON: id is the SQL of the account's id, and row the alias of its joined row,
// which may be missing.
func RefSQL(id, row string) string {
	return `jsonb_build_object('id', ` + id + `, 'code', ` + row + `.code, 'name', coalesce(` + row + `.name, ''))`
}

// NameRef is an account without its number.
type NameRef struct {
	ID   id.ID  `json:"id"`
	Name string `json:"name"`
}

// NameRefSQL returns the SQL of a NameRef of a joined row as JSON, null without one.
func NameRefSQL(row string) string {
	return `case when ` + row + `.id is not null then jsonb_build_object('id', ` + row + `.id, 'name', ` + row + `.name) end`
}
