package reservation

import "stayledger/platform/parts"

// Part returns what reservations add to the service: routes, tasks and tables.
func Part() parts.Part {
	return parts.Part{
		Endpoints: endpoints(), Handlers: Source().Handlers(),
		Tables: parts.Owns("reservation", "reservation_line", "reservation_adjustment"),
	}
}
