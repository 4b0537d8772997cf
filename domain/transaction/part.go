package transaction

import "stayledger/platform/parts"

// Part is transactions and what they are made from.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints(), Handlers: handlers(), Every: every()}
}
