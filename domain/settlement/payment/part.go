package payment

import "stayledger/platform/parts"

// Part is payments through providers, and who approves them.
func (s *Service) Part() parts.Part {
	return parts.Part{Endpoints: s.endpoints(), Handlers: s.handlers(), Every: s.every()}
}
