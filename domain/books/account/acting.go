package account

import (
	"slices"
	"strings"

	"stayledger/platform/id"
)

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

// ActingPartSQL returns the SQL of the one assignment, of some, that a line acts as, null for none. If its account has
// several of them, the line's own assignment counts, and without one the first of those given.
func ActingPartSQL(line string, wanted ...Assignment) string {
	return "(select " + partSQL("x.parts", line, wanted...) + " from (select " + assignmentsSQL(line) + " as parts) x)"
}

// partSQL returns the same from the SQL of the parts, which is named several times.
func partSQL(parts, line string, wanted ...Assignment) string {
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

// Part returns the one part, of those wanted, that a line of a transaction plays, by its account and the assignment that
// it was booked under; "" for none. ActingPartSQL is the same in SQL.
func (b *Books) Part(account id.ID, booked *Assignment, wanted ...Assignment) Assignment {
	// An account that has no assignment any more keeps the one by which lines named it.
	parts := b.parts[account]
	if parts == nil && booked != nil {
		parts = []Assignment{*booked}
	}

	// Of several, that of the line itself comes first.
	if booked != nil && slices.Contains(wanted, *booked) && slices.Contains(parts, *booked) {
		return *booked
	}

	for _, w := range wanted {
		if slices.Contains(parts, w) {
			return w
		}
	}

	return ""
}
