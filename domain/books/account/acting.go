package account

import "strings"

// partsOf is SQL for the assignments that the account of a transaction line has. It does not matter whether the line
// named its account by the assignment or by its id. When an account has no assignment any more, the assignment by which
// the line named it counts, so that what was booked there keeps its meaning. The line is given by its alias, in a query
// that takes the argument team.
func partsOf(line string) string {
	return "(select coalesce(array_agg(y.assignment), array[" + line + ".assignment]) from account_assignment y" +
		" where y.team_id = @team and y.account_id = " + line + ".account_id)"
}

// Acting is a condition in SQL: the account of a transaction line has one of the given assignments, as partsOf has
// them.
func Acting(line string, wanted ...Assignment) string {
	quoted := make([]string, len(wanted))
	for i, p := range wanted {
		quoted[i] = "'" + string(p) + "'"
	}

	return partsOf(line) + " && array[" + strings.Join(quoted, ", ") + "]"
}

// ActingPart is SQL for the one part, of some, that a line acts as, null for none. Where its account plays several of
// them, the line is what its own assignment says, and without one the first of those given.
func ActingPart(line string, wanted ...Assignment) string {
	var named, played strings.Builder

	for _, p := range wanted {
		plays := "'" + string(p) + "' = any(x.parts)"
		named.WriteString(" when " + line + ".assignment = '" + string(p) + "' and " + plays + " then '" + string(p) + "'")
		played.WriteString(" when " + plays + " then '" + string(p) + "'")
	}

	return "(select case" + named.String() + played.String() + " end from (select " + partsOf(line) + " as parts) x)"
}
