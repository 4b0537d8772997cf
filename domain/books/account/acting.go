package account

import "strings"

// assignmentsSQL returns the SQL of the assignments that the account of a transaction line has. It does not matter
// whether the line named its account by the assignment or by its id. If an account has no assignment any more, the
// assignment by which the line named it counts, so that earlier bookings keep their meaning. The line is given by its
// alias, in a query that takes the argument team.
func assignmentsSQL(line string) string {
	return "(select coalesce(array_agg(y.assignment), array[" + line + ".assignment]) from account_assignment y" +
		" where y.team_id = @team and y.account_id = " + line + ".account_id)"
}

// ActingSQL returns the SQL condition that the account of a transaction line has one of the given assignments, as in
// assignmentsSQL.
func ActingSQL(line string, wanted ...Assignment) string {
	quoted := make([]string, len(wanted))
	for i, p := range wanted {
		quoted[i] = "'" + string(p) + "'"
	}

	return assignmentsSQL(line) + " && array[" + strings.Join(quoted, ", ") + "]"
}

// ActingTable is the SQL of the common table expression acting, with the assignments of each account of the team as
// parts. Statements about many lines read the few assignments once.
const ActingTable = `acting as materialized (select account_id, array_agg(assignment) as parts from account_assignment where team_id = @team group by 1)`

// PartsSQL returns the SQL of the assignments that the account of a line has, as in assignmentsSQL, in a statement with
// ActingTable.
func PartsSQL(line string) string {
	return "coalesce((select y.parts from acting y where y.account_id = " + line + ".account_id), array[" + line + ".assignment])"
}

// ActingPartSQL returns the SQL of the one assignment, of some, that a line acts as, null for none. If its account has
// several of them, the line's own assignment counts, and without one the first of those given.
func ActingPartSQL(line string, wanted ...Assignment) string {
	return "(select " + PartSQL("x.parts", line, wanted...) + " from (select " + assignmentsSQL(line) + " as parts) x)"
}

// PartSQL returns the same from the SQL of the parts, which is named several times.
func PartSQL(parts, line string, wanted ...Assignment) string {
	var named, played strings.Builder

	for _, p := range wanted {
		plays := "'" + string(p) + "' = any(" + parts + ")"
		named.WriteString(
			" when " + line + ".assignment = '" + string(p) + "' and " + plays + " then '" + string(p) + "'",
		)
		played.WriteString(" when " + plays + " then '" + string(p) + "'")
	}

	return "case" + named.String() + played.String() + " end"
}
