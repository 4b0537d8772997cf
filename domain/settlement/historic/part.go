// Package historic imports the owner statements of an earlier system, one or thousands of them. It checks them, finds
// their places among the existing statements and books their lines; package statement stores the statements themselves.
// The statements of a bulk import wait in statement_import until its task imports them.
//
// The page docs/decisions/historic.md says what the contract leaves open and how it is answered here.
package historic

import (
	"stayledger/platform/api"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// The description names the schemas as it did when they were in package statement.
var (
	_ = api.PublishUnder[Statement]("statementHistoric")
	_ = api.PublishAs[Import]("StatementHistoric")
)

// Part returns the part that imports statements.
func Part() parts.Part {
	return parts.Part{
		Endpoints: api.RequireBooks(endpoints()), Handlers: map[job.Kind]job.Handler{task: handler()},
		Tables: parts.Owns("statement_import"),
	}
}
