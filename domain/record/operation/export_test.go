package operation

import (
	"time"

	"stayledger/platform/api"
)

// PauseAfter is pauseAfter.
var PauseAfter = pauseAfter

// EndpointsPolling are the endpoints with another time between two looks at what has settled.
func EndpointsPolling(poll time.Duration) []api.Endpoint { return endpoints(poll) }
