// Package historic imports the owner statements of an earlier system, one or thousands of them. It checks what comes
// in, finds its place among the statements that there are and books its lines; package statement keeps the statements
// themselves. What a bulk import has yet to do waits in statement_import.
package historic

import (
	"stayledger/platform/api"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// The description names the schemas as it did when they were in package statement.
var (
	_ = api.PublishedUnder[Statement]("statementHistoric")
	_ = api.PublishedAs[Import]("StatementHistoric")
)

// Part is the import of statements.
func Part() parts.Part {
	return parts.Part{
		Endpoints: endpoints(), Handlers: map[job.Kind]job.Handler{task: handler()},
		Tables: parts.Owns("statement_import"),
	}
}
