package budget

// Ask counts a call, or returns how long the team has to wait, without a line.
var Ask = ask

// Hosts returns how many hosts have a line.
func (b *Budgets) Hosts() int {
	b.mu.Lock()
	defer b.mu.Unlock()

	return len(b.lines)
}

// Calls returns how many calls wait for a host or have a place.
func (b *Budgets) Calls(host string) int {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.lines[host] == nil {
		return 0
	}

	return b.lines[host].calls
}
