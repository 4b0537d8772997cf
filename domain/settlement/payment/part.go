package payment

import "stayledger/platform/parts"

// Part returns the part of payments through providers and of their approval.
func (s *Gateway) Part() parts.Part {
	return parts.Part{
		Endpoints: s.endpoints(), Handlers: s.handlers(), Every: s.every(),
		Tables: append(parts.Owns(
			"payment_approval",
			"payment_batch",
			"payment_batch_counter",
			"payment_limit",
			"payment_return",
		), parts.Table{Name: "payment_callback", Archived: parts.Shown}, parts.Table{Name: "payment", Instead: map[string]string{"ask_at": "null"}}), // the other team asks
		Uses: uses(),
	}
}

// uses returns the records that payments keep.
func uses() []parts.Use {
	const underWay = ` and status in ('awaitingApproval', 'requested', 'sending', 'submitted'))`

	return []parts.Use{
		{Of: "account", Reason: "payments", Columns: []string{"payment.funding_account_id", "payment_approval.funding_account_id"}},
		{Of: "contact", Reason: "payments", Columns: []string{"payment.contact_id"}},
		{Of: "connection", Reason: "payments", Columns: []string{
			"payment.connection_id", "payment_approval.connection_id", "payment_batch.connection_id",
		}},
		{
			Of: "connection", Reason: "paymentsUnderWay",
			HoldsIf: `exists (select from payment where team_id = @team and connection_id = @id` + underWay,
		},
		// Methods are archived only, because payments show them.
		{
			Of: "payee_method", Reason: "paymentsUnderWay", Columns: []string{"payment.payee_method_id"},
			SQL: `exists (select from payment where team_id = @team and payee_method_id = @id` + underWay, Holds: true,
		},
	}
}
