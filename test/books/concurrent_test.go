package books_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// How many people change one team's books at the same time, how much each of them does at most, and how often this
// happens to a team.
const (
	people    = 3
	mostSteps = 3
	rounds    = 2
)

// TestBooksHoldWhateverHappensAtOnce has several people change a team's books at the same time, in any order and while
// workers derive: they publish, return to draft, close, reopen, and edit whatever is under it. When all is done every
// journal is the one that would be derived now or is held by a lock that is there, and every saved statement shows the
// sum of its entries. A failure names the seed of the case; the turns that people and workers take are not in it.
func TestBooksHoldWhateverHappensAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("lanes", func(t *testing.T) {
		for lane := range lanes {
			t.Run(strconv.Itoa(lane), func(t *testing.T) {
				t.Parallel()
				x := newTeam(t)
				x.Crowd()
				rapid.Check(t, func(r *rapid.T) { begin(x, r).atOnce() })
			})
		}
	})
	steps.report(t)
}

// atOnce has months published and something changed under them, lets people loose on that, and checks what they leave.
func (h *history) atOnce() {
	for range 5 {
		h.book()
	}

	h.deposit()

	for range rounds {
		h.lateChange()
		h.letLoose()
		h.work()
		h.heldByLocks("after everybody was done")
	}

	h.check()
}

// lateChange publishes what there is, month by month, and changes what journals are derived from, which the statements
// keep them from following.
func (h *history) lateChange() {
	h.work()

	for _, month := range []string{"2026-01", "2026-02", "2026-03", "2026-04"} {
		h.do("save month", "POST", "/statements", object{"month": month, "status": one(h, "month saved as", "published", "inReview")})
	}

	if h.often(4, "closed as well") {
		h.closeBooks()
	}

	h.changeFee()
	h.changeMapping()

	if h.often(2, "followed") {
		h.work()
	}
}

// letLoose has several people change the books at the same time while workers derive, the first of them returning
// statements to draft.
func (h *history) letLoose() {
	seed := rapid.Uint64().Draw(h.r, "seed")

	var (
		hands, workers sync.WaitGroup
		log            sync.Mutex
		told, failures []string
	)

	h.fail = func(format string, args ...any) { // the case may only fail once all have ended
		log.Lock()
		defer log.Unlock()

		failures = append(failures, fmt.Sprintf(format, args...))
	}
	done := make(chan struct{})

	workers.Go(func() {
		for {
			h.work()

			select {
			case <-done:
				return
			// The pause keeps the loop from turning on an empty queue; nothing is decided by its length.
			case <-time.After(time.Millisecond):
			}
		}
	})

	for person := range people {
		p := *h
		p.rnd = rand.New(rand.NewPCG(seed, uint64(person)))
		p.log = func(format string, args ...any) {
			log.Lock()
			defer log.Unlock()

			told = append(told, fmt.Sprintf("%d: ", person)+fmt.Sprintf(format, args...))
		}

		p.stays, p.transactions = append([]string{}, h.stays...), append([]string{}, h.transactions...)
		p.periods, p.fees = append([]string{}, h.periods...), append([]string{}, h.fees...)

		hands.Go(func() {
			if person == 0 {
				p.returnInARow()
			}

			for number := range p.draw(0, mostSteps, "steps") {
				p.stepAtOnce(number)
			}
		})
	}

	hands.Wait()
	close(done)
	workers.Wait()

	for _, line := range told {
		h.r.Logf("%s", line)
	}

	if h.fail = h.r.Fatalf; len(failures) > 0 {
		h.r.Fatalf("%s", strings.Join(failures, "\n"))
	}
}

// stepAtOnce leans to what sets locks and takes them away.
func (h *history) stepAtOnce(number int) {
	switch h.draw(0, 9, "step at once") {
	case 0:
		h.closeBooks()
	case 1, 2:
		h.saveMonth()
	case 3, 4:
		h.returnInARow()
	case 5:
		h.changeFee()
	case 6:
		h.changeMapping()
	case 7:
		h.changeOwnership()
	default:
		h.step(number)
	}
}
