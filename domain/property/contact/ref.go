package contact

import "stayledger/platform/id"

// Ref is a contact where another record names it.
type Ref struct {
	ID   id.ID  `json:"id"`
	Name string `json:"name"`
}

// RefSQL returns the SQL of a Ref of a joined row as JSON, null if the join found none.
func RefSQL(row string) string {
	return `case when ` + row + `.id is not null then jsonb_build_object('id', ` + row + `.id, 'name', ` + row + `.name) end`
}
