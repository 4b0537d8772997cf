package report

import "stayledger/platform/parts"

// Part returns the endpoints of the reports.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints()}
}
