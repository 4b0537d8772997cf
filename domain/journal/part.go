package journal

import "stayledger/platform/parts"

// Part is manual and historical journals.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints(), Handlers: handlers()}
}
