package export

import (
	"stayledger/domain/record/export"
	"stayledger/platform/csv"
)

// addressColumns returns columns that spread the postal address in a jsonb expression, so that letters can be made
// from them.
func addressColumns(address string) []export.SQLColumn {
	// A key that the address does not have gives null and so an empty cell.
	text := func(name, key string) export.SQLColumn {
		return export.FromSQL(name, csv.Text, address+" ->> '"+key+"'")
	}

	return []export.SQLColumn{
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
