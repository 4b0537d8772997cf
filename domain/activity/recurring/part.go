package recurring

import (
	"time"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Callers know these schemas by the names of package transaction.
var (
	_ = api.PublishUnder[Template]("transaction")
	_ = api.PublishAs[Put]("TransactionPutTemplate")
	_ = api.PublishAs[Update]("TransactionUpdateTemplate")
)

// Part returns what recurring templates add to the service: routes, tables, and the tasks that make due instances.
func Part() parts.Part {
	return parts.Part{
		Tables:    parts.Owns("transaction_template"),
		Endpoints: api.RequireBooks(endpoints()),
		Handlers: map[job.Kind]job.Handler{
			RunKind:             operation.Work(10*time.Minute, runTask),
			ledger.HeldBackKind: job.Handler{Timeout: 10 * time.Minute, Do: tryHeldBack}.InBulk(),
		},
		Every: periodicTasks(),
		// Only the accounts of a template are kept: a contact, listing or tax rate that it names can go.
		Uses: []parts.Use{{
			Of: "account", Reason: "recurringTemplates",
			Columns: []string{"transaction_template.account_id", "transaction_template.lines"},
			SQL:     accountUseSQL(""), HoldsIf: accountUseSQL(" and t.status = 'active'"),
		}},
	}
}

// accountUseSQL returns the condition that a template has an account, itself or in one of its lines.
func accountUseSQL(condition string) string {
	return `exists (select from transaction_template t where t.team_id = @team and (t.account_id = @id or exists (
		select from jsonb_array_elements(t.lines) l where l ->> 'account_id' = @id::uuid::text))` + condition + `)`
}
