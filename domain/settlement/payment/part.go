package payment

import "stayledger/platform/parts"

// Part returns the part of payments through providers and of their approval.
func (s *Gateway) Part() parts.Part {
	return parts.Part{
		Endpoints: s.endpoints(), Handlers: s.handlers(), Every: s.every(),
		Tables: parts.Owns(
			"payment",
			"payment_approval",
			"payment_batch",
			"payment_batch_counter",
			"payment_callback",
			"payment_limit",
			"payment_return",
		),
	}
}
