package fair

import "stayledger/platform/id"

// Waiting is how many of a team wait for a place.
func (p *Places) Waiting(team id.ID) int {
	p.mu.Lock()
	defer p.mu.Unlock()

	return len(p.waiting[team])
}
