package fee

import "stayledger/platform/parts"

// Part is recurring fees.
func Part() parts.Part {
	return parts.Part{
		Endpoints: endpoints(),
		Tables:    parts.Owns("fee", "fee_condition", "fee_listing_period", "fee_reference"),
		Copy:      &parts.Copy{Name: "recurringFees", Read: parts.Copying(inUse, add)},
	}
}
