package account

import "strings"

// Acting is a condition in SQL: the account of a transaction line has one of the given assignments. It does not matter whether the line named its
// account by the assignment or by its id. When an account has no assignment any more, the assignment by which the line named it counts, so that
// what was booked there keeps its meaning. The line is given by its alias, in a query that takes the argument team.
func Acting(line string, parts ...Assignment) string {
	quoted := make([]string, len(parts))
	for i, p := range parts {
		quoted[i] = "'" + string(p) + "'"
	}
	list := strings.Join(quoted, ", ")
	plays := "exists (select from account_assignment y where y.team_id = @team and y.account_id = " + line + ".account_id"
	return "(" + plays + " and y.assignment in (" + list + ")) or " + line + ".assignment in (" + list + ") and not " + plays + "))"
}

// ActingPart is SQL for the one part, of some, that a line acts as, null for none. Where its account plays several of them, the line is what its
// own assignment says, and without one the first of those given.
func ActingPart(line string, parts ...Assignment) string {
	var named, played strings.Builder
	for _, p := range parts {
		named.WriteString(" when " + line + ".assignment = '" + string(p) + "' and " + Acting(line, p) + " then '" + string(p) + "'")
		played.WriteString(" when " + Acting(line, p) + " then '" + string(p) + "'")
	}
	return "case" + named.String() + played.String() + " end"
}
