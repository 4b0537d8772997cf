package access

import "stayledger/platform/parts"

// Part is credentials, people and links.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints(), Every: every()}
}
