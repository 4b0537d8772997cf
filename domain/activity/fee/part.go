package fee

import "stayledger/platform/parts"

// Part returns what recurring fees add to the service: routes, tables and how another team copies them.
func Part() parts.Part {
	return parts.Part{
		Endpoints: endpoints(),
		Tables:    parts.Owns("fee", "fee_condition", "fee_listing_period", "fee_reference"),
		Copy:      &parts.Copy{Name: "recurringFees", Read: parts.Copying(loadActive, copyFees)},
	}
}
