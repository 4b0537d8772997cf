package onboarding

import (
	"stayledger/domain/books/ledger"
	"stayledger/platform/parts"
)

// Part is what a team begins with; journals follow it.
func Part(journals ledger.Sources) parts.Part {
	h := handler{journals}
	return parts.Part{Endpoints: h.endpoints(), Handlers: h.handlers()}
}
