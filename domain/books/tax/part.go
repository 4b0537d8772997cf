package tax

import "stayledger/platform/parts"

// Part is tax rates.
func Part() parts.Part {
	return parts.Part{
		Endpoints: endpoints(),
		Tables:    parts.Owns("tax_rate"),
		Copy:      &parts.Copy{Name: "taxRates", Read: readCopy},
	}
}
