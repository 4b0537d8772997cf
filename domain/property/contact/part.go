package contact

import (
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// Part returns the endpoints and the table of contacts.
func Part(box *seal.Box) parts.Part {
	return parts.Part{Endpoints: endpoints(box), Tables: parts.Owns("contact")}
}
