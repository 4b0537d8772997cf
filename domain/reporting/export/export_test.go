package export

import (
	"strings"

	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// EntryStatements are the statement that writes journal entries with the given columns, and the one before it.
func EntryStatements(team id.ID, columns, sort string) (before string, s db.Stmt) {
	l := entryList{query: report.EntryQuery(report.Selection{}), sort: sort, daily: true}

	if columns != "" {
		for c := range strings.SplitSeq(columns, ",") {
			l.columns = append(l.columns, entryColumn(c))
		}
	}

	rows, _ := l.rows()

	expressions := make([]string, len(rows.columns))
	for i := range rows.columns {
		expressions[i] = rows.columns[i].SQL
	}

	before = "select true"
	if l.inOrder() {
		before = keepOrderSQL
	}

	rows.query.Columns, rows.query.Args["team"] = strings.Join(expressions, ", "), team

	return before, db.Stmt{SQL: rows.query.SQL(sort), Args: rows.query.Args}
}
