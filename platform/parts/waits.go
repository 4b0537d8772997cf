package parts

// Wait is a kind of row that waits for a person until the row is deleted, such as a record that a sync could not apply.
// The noun that owns the rows declares it in its Part. In the SQL the team is g.team_id.
type Wait struct {
	// ID is the SQL of the id of a row. Rows are listed in the order of their ids, which an index of the table has.
	ID string
	// Columns are the SQL of the columns since, code, severity, entity_type, entity_id and context of a row.
	Columns string
	// From is the SQL of the rows with their condition: sync_issue i where i.team_id = g.team_id.
	From string
	// Kept is the counter in list_count of all rows of the table, if there is one, and Settled the SQL of how many of them do
	// not wait, if some do not. Rows of a kind without a counter are counted.
	Kept, Settled string
}

// Waits returns the kinds that nouns declare, in their order.
func Waits(nouns ...Part) (all []Wait) {
	for _, p := range nouns {
		all = append(all, p.Waits...)
	}

	return all
}
