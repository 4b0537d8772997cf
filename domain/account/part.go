package account

import "stayledger/platform/parts"

// Part is accounts; follow hears of assignments that moved.
func Part(follow Follow) parts.Part {
	return parts.Part{Endpoints: endpoints(follow)}
}
