package statement

import (
	"slices"

	"stayledger/platform/parts"
)

// Part is statements, one by one and in batches; a linker makes links to their attachments.
func Part(linkers ...Linker) parts.Part {
	return parts.Part{
		Endpoints: slices.Concat(endpoints(linkers...), batchEndpoints()), Handlers: handlers(),
		Tables: parts.Owns("statement", "statement_version", "statement_batch", "statement_batch_item"),
	}
}
