package job

import (
	"slices"
	"sync"

	"stayledger/platform/fair"
	"stayledger/platform/id"
)

// lane is a part of the work that has its own places, which teams share: jobs of some kinds. One goroutine claims for
// it.
type lane struct {
	kinds []string
	wake  chan struct{}
	// after is the team that took its turn last.
	after id.ID

	mu   sync.Mutex
	free int
	held map[id.ID]int32
	// asked says that a claim goes on with places as they were when it began.
	asked bool
}

func newLane(kinds []string, workers int) *lane {
	return &lane{kinds: kinds, wake: make(chan struct{}, 1), free: fair.Total(workers), held: map[id.ID]int32{}}
}

// look wakes the lane, so that it looks for work at once.
func (l *lane) look() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// does reports whether jobs of a kind belong to the lane.
func (l *lane) does(kind string) bool { return slices.Contains(l.kinds, kind) }

// teams returns how many teams hold places.
func (l *lane) teams() int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return len(l.held)
}

// state returns how many places are free, and how many each team holds, for a claim.
func (l *lane) state() (free int, teams []id.ID, held []int32) {
	l.mu.Lock()
	defer l.mu.Unlock()

	teams, held = make([]id.ID, 0, len(l.held)), make([]int32, 0, len(l.held))
	for team, n := range l.held {
		teams, held = append(teams, team), append(held, n)
	}

	l.asked = l.free > 0

	return l.free, teams, held
}

// occupy gives places to claimed jobs, in the order in which their teams took turns.
func (l *lane) occupy(jobs []Job) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.asked = false

	for i := range jobs {
		l.free--
		l.held[jobs[i].TeamID]++
		l.after = jobs[i].TeamID
	}
}

// release returns the place of a job. If a team may have had to wait for one, the lane looks for its work.
func (l *lane) release(team id.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()

	// A claim may have been cut short for three reasons: no place was free at all, it goes on and does not know of
	// this place, or a team had its fair share already.
	waited := l.free == 0 || l.asked
	for _, n := range l.held {
		waited = waited || fair.More(int(n), l.free) == 0
	}

	l.free++
	if l.held[team]--; l.held[team] == 0 {
		delete(l.held, team)
	}

	if waited {
		l.look()
	}
}
