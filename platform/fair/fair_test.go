package fair_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/platform/fair"
	"stayledger/platform/id"
)

// patience is how long a test waits for what must happen; nothing is measured by it.
const patience = 2 * time.Minute

// line is a number of goroutines that take a place and tell in which order they did.
type line struct {
	t      *testing.T
	places *fair.Places
	took   chan string
	end    sync.WaitGroup
}

func newLine(t *testing.T, total int) *line {
	t.Helper()
	l := &line{t: t, places: fair.New(total, 100), took: make(chan string, 100)}
	t.Cleanup(l.end.Wait)

	return l
}

// take takes a place and gives it back when leave is closed.
func (l *line) take(team id.ID, name string, leave <-chan struct{}) {
	l.end.Go(func() {
		if err := l.places.Take(context.Background(), team); err != nil {
			l.t.Errorf("%s: %v", name, err)
			return
		}

		l.took <- name

		<-leave
		l.places.Give(team)
	})
}

func (l *line) next() string {
	l.t.Helper()

	select {
	case name := <-l.took:
		return name
	case <-time.After(patience):
		l.t.Fatal("nobody gets a place")
		return ""
	}
}

func (l *line) untilWaiting(team id.ID, n int) {
	l.t.Helper()

	for deadline := time.Now().Add(patience); l.places.Waiting(team) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("%d wait, want %d", l.places.Waiting(team), n)
		}
	}
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)

	return c
}

func TestATeamAloneLeavesPlaces(t *testing.T) {
	t.Parallel()

	for alone := 1; alone <= 100; alone++ {
		total := fair.Total(alone)

		held := 0
		for fair.More(held, total-held) > 0 {
			held++
		}

		if held != alone || total <= alone {
			t.Errorf("of %d places one team gets %d, want %d", total, held, alone)
		}

		if got := fair.More(0, total); got != alone {
			t.Errorf("of %d places one team gets %d at once, want %d", total, got, alone)
		}

		if fair.More(0, 1) != 1 || fair.More(1, 1) != 0 {
			t.Error("the last place is not kept for a team that has none")
		}
	}
}

func TestOneTeamDoesNotHoldUpAnother(t *testing.T) {
	t.Parallel()
	l := newLine(t, 5)
	many, few := id.New(time.Now()), id.New(time.Now())

	leave := make(chan struct{})
	for range 40 {
		l.take(many, "many", leave)
	}

	for range 4 {
		l.next()
	}

	l.untilWaiting(many, 36)
	l.take(few, "few", closed())

	if got := l.next(); got != "few" {
		t.Errorf("the free place went to %s", got)
	}

	close(leave)
}

// With one place, everything is a matter of turns: whoever comes second with one piece of work gets the second turn.
func TestTeamsTakeTurns(t *testing.T) {
	t.Parallel()
	l := newLine(t, 1)
	a, b, c := id.New(time.Now()), id.New(time.Now()), id.New(time.Now())
	leave := make(chan struct{})
	l.take(a, "a", leave)
	l.next()

	for _, w := range []struct {
		team id.ID
		name string
		n    int
	}{{a, "a", 5}, {b, "b", 2}, {c, "c", 1}} {
		for range w.n {
			l.take(w.team, w.name, closed())
		}

		l.untilWaiting(w.team, w.n)
	}

	close(leave)

	var order strings.Builder
	for range 8 {
		order.WriteString(l.next())
	}

	if order.String() != "abcabaaa" {
		t.Errorf("turns %s", &order)
	}
}

func TestWaitingEnds(t *testing.T) {
	t.Parallel()

	p := fair.New(1, 1)

	a, b := id.New(time.Now()), id.New(time.Now())
	if err := p.Take(t.Context(), a); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())

	gone := make(chan error)
	go func() { gone <- p.Take(ctx, a) }()

	for p.Waiting(a) < 1 {
		time.Sleep(time.Millisecond)
	}

	if err := p.Take(t.Context(), a); !errors.Is(err, fair.ErrCrowded) {
		t.Errorf("a second one waits: %v", err)
	}

	cancel()

	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	p.Give(a)

	if err := p.Take(t.Context(), b); err != nil {
		t.Error(err)
	}
}

// Whatever happens at the same moment, no place is lost and none is given twice.
func TestPlacesAreNeitherLostNorGivenTwice(t *testing.T) {
	t.Parallel()

	const total = 5

	p := fair.New(total, 1000)
	teams := []id.ID{id.New(time.Now()), id.New(time.Now()), id.New(time.Now())}

	var (
		now atomic.Int32
		all sync.WaitGroup
	)
	for i := range 300 {
		all.Go(func() {
			ctx := t.Context()

			if i%3 == 0 {
				var cancel context.CancelFunc

				ctx, cancel = context.WithTimeout(ctx, time.Duration(i)*10*time.Microsecond)
				defer cancel()
			}

			if p.Take(ctx, teams[i%len(teams)]) != nil {
				return
			}

			if now.Add(1) > total {
				t.Error("too many have a place")
			}

			time.Sleep(50 * time.Microsecond)
			now.Add(-1)
			p.Give(teams[i%len(teams)])
		})
	}

	all.Wait()

	fresh := make([]id.ID, total)
	for i := range fresh {
		fresh[i] = id.New(time.Now())

		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := p.Take(ctx, fresh[i]); err != nil {
			t.Errorf("place %d of %d is lost", i+1, total)
		}

		cancel()
	}
}
