package contact

import (
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// Part is contacts.
func Part(box *seal.Box) parts.Part {
	return parts.Part{Endpoints: endpoints(box), Tables: parts.Owns("contact")}
}
