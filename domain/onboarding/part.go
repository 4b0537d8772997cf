package onboarding

import "stayledger/platform/parts"

// Part is what a team begins with.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints(), Handlers: handlers()}
}
