package team

import (
	"stayledger/domain/books/ledger"
	"stayledger/platform/parts"
)

// Part is teams and their settings; journals follow these.
func Part(journals ledger.Sources) parts.Part {
	return parts.Part{Endpoints: endpoints(journals)}
}
