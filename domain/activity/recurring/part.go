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
		Endpoints: endpoints(),
		Handlers: map[job.Kind]job.Handler{
			RunKind:             operation.Work(10*time.Minute, runTask),
			ledger.HeldBackKind: job.Handler{Timeout: 10 * time.Minute, Do: tryHeldBack}.InBulk(),
		},
		Every: periodicTasks(),
	}
}
