package payee

import (
	"stayledger/domain/settlement/payapp"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
	"stayledger/provider/mail"
)

// Part returns the part of the payment methods of contacts. Without a sender every letter fails as refused.
func Part(box *seal.Box, open payapp.Opener, sender mail.Sender) parts.Part {
	used := parts.NewUsage("payee_method", "paymentsUnderWay")

	return parts.Part{
		Endpoints: endpoints(box, used), Handlers: handlers(box, open, sender),
		Tables: append(parts.Owns("payee_method", "payee_change"), parts.Shows("payee_letter")...),
		Used:   []*parts.Usage{used},
	}
}
