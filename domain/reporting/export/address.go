package export

import (
	"stayledger/platform/csv"
)

// addressColumns spread the postal address in a jsonb expression over columns, so that letters can be made from them.
func addressColumns(address string) []sqlColumn {
	text := func(name, key string) sqlColumn {
		return sqlColumn{csv.Column{Name: name, Kind: csv.Text}, address + " ->> '" + key + "'"}
	}

	return []sqlColumn{
		text("address", "full"), text("addressLine1", "line1"), text("addressLine2", "line2"), text("city", "city"), text("state", "state"),
		text("stateCode", "stateCode"), text("postalCode", "postalCode"), text("countryCode", "countryCode"),
	}
}
