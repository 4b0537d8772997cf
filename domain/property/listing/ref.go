package listing

import "stayledger/platform/id"

// Ref is a listing where another record names it.
type Ref struct {
	ID        id.ID   `json:"id"`
	Name      string  `json:"name"`
	UniqueRef *string `json:"uniqueRef"`
	ShortRef  string  `json:"shortRef"`
}

// RefSQL returns the SQL of a Ref of a joined row as JSON, null if the join found none.
func RefSQL(row string) string {
	return `case when ` + row + `.id is not null then
		jsonb_build_object('id', ` + row + `.id, 'name', ` + row + `.name, 'uniqueRef', ` + row + `.unique_ref, 'shortRef', ` + row + `.short_ref) end`
}

// NameRef is a listing by its name alone.
type NameRef struct {
	ID   id.ID  `json:"id"`
	Name string `json:"name"`
}

// NameRefSQL returns the SQL of a NameRef of a joined row as JSON, null if the join found none.
func NameRefSQL(row string) string {
	return `case when ` + row + `.id is not null then jsonb_build_object('id', ` + row + `.id, 'name', ` + row + `.name) end`
}
