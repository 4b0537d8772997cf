// Package fair shares places (slots of a worker, connections, exports that are waited for) between teams, so that the
// work of one team never takes the last place from another's.
//
// A team may hold at most four places for each one that is left free: a team alone gets four fifths, two teams get four
// ninths each, and the last free place goes only to a team that holds none. A place cannot be taken back while its work
// goes on, which is why some stay free for whoever comes next.
package fair

import (
	"context"
	"errors"
	"slices"
	"sync"

	"stayledger/platform/id"
)

// factor is how many places a team may hold for each one that is left free. The function job_claim of the database has
// the same.
const factor = 4

// More returns how many more places a team may take that holds some, if so many are free.
func More(held, free int) int {
	if free <= 0 {
		return 0
	}

	n := max(factor*free-held, 0) / (factor + 1) // the most for which held + n <= factor * (free - n)
	if held == 0 {
		n = max(n, 1)
	}

	return n
}

// Total returns how many places are needed for a team alone to get so many.
func Total(alone int) int { return alone + (alone+factor-1)/factor }

// ErrCrowded refuses to wait: too many of the team wait already.
var ErrCrowded = errors.New("too much of one team waits for a place")

// Places is a number of places that teams take turns in.
type Places struct {
	mu      sync.Mutex
	free    int
	patient int // how many of one team may wait
	held    map[id.ID]int
	// turns are the teams with somebody waiting, in the order in which they are asked; a team that was given a place
	// goes to the end.
	turns   []id.ID
	waiting map[id.ID][]chan struct{}
}

// New returns total places; at most patient requests of one team wait for one.
func New(total, patient int) *Places {
	return &Places{free: total, patient: patient, held: map[id.ID]int{}, waiting: map[id.ID][]chan struct{}{}}
}

// Take waits for the team's turn to have a place, which Give ends. It fails with ErrCrowded, or as the context
// does.
func (p *Places) Take(ctx context.Context, team id.ID) error {
	p.mu.Lock()
	if len(p.waiting[team]) == 0 && More(p.held[team], p.free) > 0 {
		p.occupy(team)
		p.mu.Unlock()

		return nil
	}

	if len(p.waiting[team]) >= p.patient {
		p.mu.Unlock()
		return ErrCrowded
	}

	// Queue behind the team's earlier requests, and the team behind the other teams.
	turn := make(chan struct{})

	if len(p.waiting[team]) == 0 {
		p.turns = append(p.turns, team)
	}

	p.waiting[team] = append(p.waiting[team], turn)
	p.mu.Unlock()

	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	if i := slices.Index(p.waiting[team], turn); i >= 0 {
		p.leave(team, i)
		return ctx.Err()
	}

	p.release(team)

	return ctx.Err()
}

// Give returns a place.
func (p *Places) Give(team id.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.release(team)
}

func (p *Places) occupy(team id.ID) {
	p.free--
	p.held[team]++
}

func (p *Places) release(team id.ID) {
	p.free++
	if p.held[team]--; p.held[team] == 0 {
		delete(p.held, team)
	}

	for p.next() {
	}
}

// next lets the first team in turn in that may take a place, and reports whether there was one.
func (p *Places) next() bool {
	for i, team := range p.turns {
		if More(p.held[team], p.free) == 0 {
			continue
		}

		turn := p.waiting[team][0]
		p.turns = append(slices.Delete(p.turns, i, i+1), team)
		p.leave(team, 0)
		p.occupy(team)
		close(turn)

		return true
	}

	return false
}

// leave takes the i-th request of a team that waits for a place out of the line.
func (p *Places) leave(team id.ID, i int) {
	if p.waiting[team] = slices.Delete(p.waiting[team], i, i+1); len(p.waiting[team]) > 0 {
		return
	}

	delete(p.waiting, team)

	if at := slices.Index(p.turns, team); at >= 0 {
		p.turns = slices.Delete(p.turns, at, at+1)
	}
}
