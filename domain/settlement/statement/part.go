package statement

import (
	"slices"

	"stayledger/platform/parts"
)

// Part returns the part of statements, single and in batches. A linker makes links to their attachments.
func Part(linkers ...Linker) parts.Part {
	return parts.Part{
		Endpoints: slices.Concat(endpoints(linkers...), batchEndpoints()), Handlers: handlers(),
		Exports: exports(), MonthEnd: findUnpublished,
		Tables: append(
			parts.Owns("statement_origin", "statement", "statement_version"),
			parts.Shows("statement_batch", "statement_batch_item")...,
		),
		Uses: []parts.Use{
			{Of: "listing", Reason: "ownerStatements", Columns: []string{"statement.listing_id"}},
			{
				Of: "listing_ownership_period", Reason: "ownerStatements",
				Columns: []string{"statement.ownership_period_id"},
			},
		},
	}
}
