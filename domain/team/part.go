package team

import "stayledger/platform/parts"

// Part is teams and their settings.
func Part(hooks Hooks) parts.Part {
	return parts.Part{Endpoints: endpoints(hooks)}
}
