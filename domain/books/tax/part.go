package tax

import (
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Part returns what tax rates add to the service: routes, tables and how another team copies them.
func Part() parts.Part {
	used := parts.NewUsage("tax_rate", "transactions", "recurringFees")

	return parts.Part{
		Endpoints: api.RequireBooks(endpoints(used)),
		Tables:    parts.Owns("tax_rate"),
		Copy:      &parts.Copy{Name: "taxRates", NeedsBooks: true, Read: readCopy},
		Used:      []*parts.Usage{used},
	}
}
