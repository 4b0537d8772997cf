package statement

import (
	"slices"

	"stayledger/platform/parts"
)

// Part is statements, one by one, in batches and imported; a linker makes links to their attachments.
func Part(linkers ...Linker) parts.Part {
	return parts.Part{Endpoints: slices.Concat(endpoints(linkers...), batchEndpoints(), historicEndpoints()), Handlers: handlers()}
}
