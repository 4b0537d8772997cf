package statement

import (
	"slices"

	"stayledger/platform/parts"
)

// Part returns the part of statements, single and in batches. A linker makes links to their attachments.
func Part(linkers ...Linker) parts.Part {
	return parts.Part{
		Endpoints: slices.Concat(endpoints(linkers...), batchEndpoints()), Handlers: handlers(),
		Tables: parts.Owns("statement", "statement_version", "statement_batch", "statement_batch_item"),
	}
}
