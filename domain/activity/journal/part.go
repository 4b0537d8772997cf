package journal

import (
	"context"
	"maps"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Part returns what manual and historical journals add to the service: routes, tasks and tables.
func Part() parts.Part {
	postImport := func(ctx context.Context, tx *db.Tx, _ operation.Run, args importArgs) error {
		return post(ctx, tx, args.ImportID)
	}

	// Entries of an earlier system are derived from nothing, so the import need not wait for other writes.
	handlers := map[job.Kind]job.Handler{
		kindImport: operation.Work(30*time.Minute, postImport).WithoutGate(),
	}
	maps.Copy(handlers, Source().Handlers())

	return parts.Part{
		Endpoints: endpoints(), Handlers: handlers,
		Tables: parts.Owns("journal", "journal_line", "historical_import", "historical_txn", "historical_entry"),
	}
}
