package export

import (
	"strings"

	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// EntryStatement returns the statement that writes journal entries with the given columns, and whether an index has
// its order.
func EntryStatement(team id.ID, columns, sort string) (s db.Stmt, inOrder bool) {
	l := entryList{query: report.EntryQuery(report.Selection{}), sort: sort, daily: true}

	if columns != "" {
		for c := range strings.SplitSeq(columns, ",") {
			l.columns = append(l.columns, entryColumn(c))
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
