package mapping

import (
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Callers know these schemas by the names of package reservation.
var (
	_ = api.PublishedUnder[Mapping]("reservation")
	_ = api.PublishedAs[Create]("ReservationCreateMapping")
	_ = api.PublishedAs[Update]("ReservationUpdateMapping")
	_ = api.PublishedAs[Status]("ReservationMappingStatus")
	_ = api.PublishedAs[Sort]("ReservationMappingSort")
)

// Part returns what line mappings add to the service: routes, tables, and how teams start with them or copy them.
func Part() parts.Part {
	return parts.Part{
		Endpoints: endpoints(),
		Tables:    parts.Owns("reservation_line_mapping"),
		Copy:      &parts.Copy{Name: "lineMappings", Standard: InstallStandard, Read: parts.Copying(All, copyMappings)},
	}
}
