package payee

import (
	"stayledger/domain/settlement/payapp"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// Part returns the part of the payment methods of contacts.
func Part(box *seal.Box, open payapp.Opener) parts.Part {
	used := parts.NewUsage("payee_method", "paymentsUnderWay")

	return parts.Part{
		Endpoints: endpoints(box, used), Handlers: handlers(box, open),
		Tables: parts.Owns("payee_method"),
		Used:   []*parts.Usage{used},
	}
}
