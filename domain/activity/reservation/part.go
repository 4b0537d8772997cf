package reservation

import "stayledger/platform/parts"

// Part is reservations.
func Part() parts.Part {
	return parts.Part{
		Endpoints: endpoints(), Handlers: Source().Handlers(),
		Tables: parts.Owns("reservation", "reservation_line", "reservation_adjustment"),
	}
}
