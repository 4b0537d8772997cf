package transaction

import (
	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Part returns what transactions add to the service: routes, tasks and tables.
func Part() parts.Part {
	return parts.Part{
		Endpoints: api.RequireBooks(endpoints()),
		Handlers:  Source().Handlers(),
		Tables:    parts.Owns("transaction", "transaction_line"),
		Uses: []parts.Use{
			{Of: "account", Reason: "transactions", Columns: []string{
				"transaction.account_id", "transaction.payment_account_id", "transaction_line.account_id",
			}},
			{
				Of: "contact", Reason: "transactions",
				Columns: []string{"transaction.contact_id", "transaction_line.contact_id"},
			},
			{Of: "connection", Reason: "transactions", Columns: []string{"transaction.connection_id"}},
			{Of: "listing", Reason: "transactions", Columns: []string{"transaction_line.listing_id"}},
			{Of: "reservation", Reason: "transactions", Columns: []string{"transaction_line.reservation_id"}},
			// A line can have the rate on its amount or on its markup.
			{
				Of: "tax_rate", Reason: "transactions",
				Columns: []string{"transaction_line.tax_rate_id", "transaction_line.markup_tax_rate_id"},
			},
		},
		Deletion: parts.Deletion{Of: "transaction", Do: Delete},
		Exports:  export.RequireBooks(export.Declare(transactionsCSV())),
	}
}
