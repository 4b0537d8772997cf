package delivery

import "stayledger/platform/parts"

// Part returns the part that delivers statements to owners.
func (p Post) Part() parts.Part {
	return parts.Part{Endpoints: p.endpoints(), Handlers: p.handlers(), Tables: parts.Keeps("delivery_email")}
}
