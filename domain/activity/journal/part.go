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

// Part is manual and historical journals.
func Part() parts.Part {
	handlers := map[job.Kind]job.Handler{
		kindImport: operation.Work(30*time.Minute, func(ctx context.Context, tx *db.Tx, _ operation.Run, args importArgs) error {
			return post(ctx, tx, args.ImportID)
		}).BesideAll(), // entries of an earlier system are derived from nothing
	}
	maps.Copy(handlers, Source().Handlers())

	return parts.Part{
		Endpoints: endpoints(), Handlers: handlers,
		Tables: parts.Owns("journal", "journal_line", "historical_import", "historical_txn", "historical_entry"),
	}
}
