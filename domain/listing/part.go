package listing

import "stayledger/platform/parts"

// Part is listings and their owners; journals follow them.
func Part(journals Journals) parts.Part {
	return parts.Part{Endpoints: endpoints(journals)}
}
