package operation

import (
	"time"

	"stayledger/platform/parts"
)

// Part returns the endpoints, periodic tasks and tables of operations. Settled operations are kept for the given
// time.
func Part(keep time.Duration) parts.Part {
	// The operation that deletes a team stays readable and says how that went (OPEN-81).
	return parts.Part{Endpoints: endpoints(waitPoll), Every: every(keep), Tables: append(
		parts.Keeps("operation_count"),
		parts.Table{Name: "operation_progress", Archived: parts.Left, Keep: `r.operation_id = @operation`},
		parts.Table{Name: "operation_resource", Archived: parts.Shown, Keep: `r.operation_id = @operation`},
		parts.Table{Name: "operation", Archived: parts.Shown, Keep: `r.id = @operation`},
	)}
}
