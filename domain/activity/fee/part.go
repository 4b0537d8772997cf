package fee

import (
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Part returns what recurring fees add to the service: routes, tables and how another team copies them.
func Part() parts.Part {
	used := parts.NewUsage("fee", "journalEntries", "reservations", "recurringFees")

	return parts.Part{
		Endpoints: api.RequireBooks(endpoints(used)),
		Tables:    parts.Owns("fee", "fee_condition", "fee_listing_period", "fee_reference"),
		Copy:      &parts.Copy{Name: "recurringFees", NeedsBooks: true, Read: parts.Copying(loadCopyable, copyFees)},
		Uses: []parts.Use{
			{
				Of: "account", Reason: "recurringFees", Columns: []string{
					"fee.credit_account_id", "fee.debit_account_id", "fee_reference.target_account_id", "fee_condition.account_id",
				},
				HoldsIf: `exists (select from fee f where f.team_id = @team and f.status = 'active' and (f.credit_account_id = @id or f.debit_account_id = @id
					or exists (select from fee_reference r where r.team_id = @team and r.fee_id = f.id and r.target_account_id = @id)
					or exists (select from fee_condition c where c.team_id = @team and c.fee_id = f.id and c.account_id = @id)))`,
			},
			{Of: "listing", Reason: "recurringFees", Columns: []string{"fee_listing_period.listing_id"}},
			{Of: "tax_rate", Reason: "recurringFees", Columns: []string{"fee.tax_rate_id"}},
			// Fees can build on another one.
			{Of: "fee", Reason: "recurringFees", Columns: []string{"fee_reference.target_fee_id"}},
		},
		Used: []*parts.Usage{used},
	}
}
