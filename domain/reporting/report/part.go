package report

import "stayledger/platform/parts"

// Part is reports.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints()}
}
