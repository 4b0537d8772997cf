package tax

import "stayledger/platform/parts"

// Part is tax rates.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints()}
}
