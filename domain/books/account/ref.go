package account

import "stayledger/platform/id"

// Ref is an account where another record names it.
type Ref struct {
	ID   id.ID   `json:"id"`
	Code *string `json:"code"`
	Name string  `json:"name"`
}

// RefSQL is a Ref as JSON: id tells the account, and row is the joined row of it, which may be missing.
func RefSQL(id, row string) string {
	return `jsonb_build_object('id', ` + id + `, 'code', ` + row + `.code, 'name', coalesce(` + row + `.name, ''))`
}

// NameRef is an account where its number is not told.
type NameRef struct {
	ID   id.ID  `json:"id"`
	Name string `json:"name"`
}

// NameRefSQL is a NameRef of a joined row as JSON, null without one.
func NameRefSQL(row string) string {
	return `case when ` + row + `.id is not null then jsonb_build_object('id', ` + row + `.id, 'name', ` + row + `.name) end`
}
