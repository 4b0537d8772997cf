package journal

import (
	"context"
	"maps"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/api"
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
		kindImport: operation.Checked(operation.Work(30*time.Minute, postImport)).WithoutGate(),
	}
	maps.Copy(handlers, Source().Handlers())

	return parts.Part{
		Endpoints: api.RequireBooks(endpoints()), Handlers: handlers,
		Deletion: parts.Deletion{Of: "journal", Do: deleteJournal},
		Tables:   parts.Owns("journal", "journal_line", "historical_import", "historical_txn", "historical_entry"),
		Uses: []parts.Use{
			{Of: "account", Reason: "journals", Columns: []string{"journal_line.account_id", "historical_entry.account_id"}},
			// What is not an account is kept by the lines as it is by the entries that are derived from them.
			{Of: "contact", Reason: "journalEntries", Columns: []string{"journal_line.contact_id", "historical_entry.contact_id"}},
			{Of: "listing", Reason: "journalEntries", Columns: []string{"journal_line.listing_id", "historical_entry.listing_id"}},
			{Of: "reservation", Reason: "journalEntries", Columns: []string{"journal_line.reservation_id"}},
		},
	}
}
