package operation

import (
	"time"

	"stayledger/platform/parts"
)

// Part is operations, which are kept for so long.
func Part(keep time.Duration) parts.Part {
	return parts.Part{Endpoints: endpoints(waitPoll), Every: every(keep)}
}
