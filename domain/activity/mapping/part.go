package mapping

import (
	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Callers know these schemas by the names of package reservation.
var (
	_ = api.PublishUnder[Mapping]("reservation")
	_ = api.PublishAs[Create]("ReservationCreateMapping")
	_ = api.PublishAs[Update]("ReservationUpdateMapping")
	_ = api.PublishAs[Status]("ReservationMappingStatus")
	_ = api.PublishAs[Sort]("ReservationMappingSort")
)

// Part returns what line mappings add to the service: routes, tables, and how teams start with them or copy them.
func Part() parts.Part {
	return parts.Part{
		Endpoints: api.RequireBooks(endpoints()),
		Tables:    parts.Owns("reservation_line_mapping"),
		Copy: &parts.Copy{
			Name: "lineMappings", NeedsBooks: true, Standard: InstallStandard, Read: parts.Copying(List, copyMappings),
		},
		Uses: []parts.Use{
			{
				Of: "account", Reason: "lineMappings", Columns: []string{"reservation_line_mapping.account_id"},
				Holds: true,
			},
		},
		Exports: export.RequireBooks(export.Declare(mappingsCSV())),
	}
}
