package demo

import (
	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Part returns the endpoint and tasks of sample books. Journals follow what they install.
func Part(journals ledger.Sources) parts.Part {
	f := filler{journals}
	return parts.Part{Endpoints: api.RequireBooks([]api.Endpoint{f.endpoint()}), Handlers: handlers()}
}
