package fee

import "stayledger/platform/parts"

// Part is recurring fees.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints()}
}
