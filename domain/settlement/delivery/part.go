package delivery

import "stayledger/platform/parts"

// Part is what owners are sent.
func (p Post) Part() parts.Part {
	return parts.Part{Endpoints: p.endpoints(), Handlers: p.handlers(), Tables: parts.Owns("delivery_email")}
}
