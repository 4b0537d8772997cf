package report

import (
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// Part returns the endpoints and the exports of the reports. The box opens the tax identifiers of information returns.
func Part(box *seal.Box) parts.Part {
	return parts.Part{Endpoints: endpoints(), Exports: exports(box)}
}
