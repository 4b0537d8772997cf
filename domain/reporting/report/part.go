package report

import (
	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// Part returns the endpoints and the exports of the reports. The box opens the tax identifiers of information returns.
func Part(box *seal.Box) parts.Part {
	return parts.Part{Endpoints: api.RequireBooks(endpoints()), Exports: export.RequireBooks(exports(box)...)}
}
