package listing

import (
	"stayledger/domain/books/ledger"
	"stayledger/platform/parts"
)

// Part returns the endpoints and tables of listings and their owners, and the journals that follow them.
func Part(journals ledger.Sources) parts.Part {
	return parts.Part{
		Endpoints: endpoints(journals),
		Tables:    parts.Owns("listing", "listing_ownership_period", "listing_ownership_member"),
	}
}
