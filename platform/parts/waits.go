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
	// Count is the SQL of a kept number of rows; if empty, the rows are counted.
	Count string
}

// CountSQL returns the SQL of how many rows of the kind a team has.
func (w *Wait) CountSQL() string {
	if w.Count != "" {
		return "(" + w.Count + ")"
	}

	return "(select count(*) from " + w.From + ")"
}

// Waits returns the kinds that nouns declare, in their order.
func Waits(nouns ...Part) (all []Wait) {
	for _, p := range nouns {
		all = append(all, p.Waits...)
	}

	return all
}
