package export

import (
	"stayledger/platform/csv"
)

// addressColumns returns columns that spread the postal address in a jsonb expression, so that letters can be made
// from them.
func addressColumns(address string) []sqlColumn {
	// A key that the address does not have gives null and so an empty cell.
	text := func(name, key string) sqlColumn {
		return sqlColumn{csv.Column{Name: name, Kind: csv.Text}, address + " ->> '" + key + "'"}
	}

	return []sqlColumn{
		text("address", "full"),
		text("addressLine1", "line1"),
		text("addressLine2", "line2"),
		text("city", "city"),
		text("state", "state"),
		text("stateCode", "stateCode"),
		text("postalCode", "postalCode"),
		text("countryCode", "countryCode"),
	}
}
