package report

import (
	"strings"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Reading shows how a period is read: whole months, and days to add or to take off.
type Reading struct {
	Months, Start, End     day.Range
	StartExcess, EndExcess bool
	Direct                 bool
}

// ReadingOf plans a period.
func ReadingOf(from *day.Day, to day.Day) Reading {
	r := planReading(from, to)
	return Reading{r.months, r.start.days, r.end.days, r.start.excess, r.end.excess, r.direct}
}

// EntryStatement returns the statement that writes journal entries with the given columns, and whether an index has
// its order.
func EntryStatement(team id.ID, columns, sort string) (s db.Stmt, inOrder bool) {
	l := EntryList{Query: EntryQuery(Selection{}), Sort: sort, daily: true}

	if columns != "" {
		for c := range strings.SplitSeq(columns, ",") {
			l.Columns = append(l.Columns, EntryColumn(c))
		}
	}

	rows, _ := l.rows()

	expressions := make([]string, len(rows.Columns))
	for i := range rows.Columns {
		expressions[i] = rows.Columns[i].SQL
	}

	rows.Query.Columns, rows.Query.Args["team"] = strings.Join(expressions, ", "), team

	return db.Stmt{SQL: rows.Query.SQL(sort), Args: rows.Query.Args}, l.inOrder()
}
