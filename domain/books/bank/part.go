package bank

import "stayledger/platform/parts"

// Part is what banks say.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints()}
}
