package budget_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/budget"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/outbound"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// host is what a test calls.
type host struct {
	*testing.T

	db    *db.DB
	name  string
	limit outbound.Limit
}

func newHost(t *testing.T, l outbound.Limit) *host {
	t.Helper()

	return (&host{T: t, db: process(t, apitest.Database(t))}).another(l)
}

// another returns a further host that the same processes call.
func (h *host) another(l outbound.Limit) *host {
	return &host{T: h.T, db: h.db, name: id.New(time.Now()).String() + ".example.com", limit: l}
}

// process returns a database as one more process has it.
func process(t *testing.T, url string) *db.DB {
	t.Helper()

	d, err := db.Open(t.Context(), db.Config{URL: url, MaxConnections: 8})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	return d
}

// ask counts a call and returns 0, or how long the team has to wait.
func (h *host) ask(d *db.DB, team id.ID) time.Duration {
	h.Helper()

	wait, err := budget.Ask(h.Context(), d, team, h.name, h.limit)
	if err != nil {
		h.Error(err)
	}

	return wait
}

// system runs a statement of the service, which touches a row.
func (h *host) system(sql string, args db.Args) {
	h.Helper()

	err := h.db.Write(h.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		n, err := tx.Exec(ctx, sql, args)
		if n == 0 {
			h.Error("there is no such row")
		}

		return err
	})
	if err != nil || h.Failed() {
		h.Fatal(err)
	}
}

// pass lets a time pass: whatever the row says is that much longer ago.
func (h *host) pass(by time.Duration) {
	h.Helper()
	h.system(`update call_budget set next_at = next_at - @by::interval, used_at = used_at - @by::interval, forget_at = forget_at - @by::interval where name = @name`,
		db.Args{"by": by, "name": h.name})
}

// rows counts the rows of hosts whose names end in something.
func (h *host) rows(end string) (n int64) {
	h.Helper()

	err := h.db.Read(h.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select count(*) from call_budget where name like '%' || @end`, db.Args{"end": end})
		return err
	})
	if err != nil {
		h.Fatal(err)
	}

	return n
}

// An hour is so long that nothing becomes free while a test runs: time passes by pass alone.
var slow = outbound.Limit{Calls: 15, Within: 12 * time.Hour}

// Three processes with 24 callers each together stay within the limit in any stretch of its time. The instant of a call
// lies between the two at which it was asked for and allowed, so two of them are at most so far apart.
func TestProcessesShareALimit(t *testing.T) {
	t.Parallel()
	url := apitest.Database(t)
	h := (&host{T: t, db: process(t, url)}).another(outbound.Limit{Calls: 15, Within: time.Second})

	type call struct{ asked, allowed time.Time }

	var (
		mu    sync.Mutex
		calls []call
		all   sync.WaitGroup
	)

	began := time.Now()

	for range 3 {
		d := process(t, url)

		for range 24 {
			all.Go(func() {
				team := id.New(time.Now())

				for {
					asked := time.Now()
					wait := h.ask(d, team)
					allowed := time.Now()

					mu.Lock()
					if wait == 0 {
						calls = append(calls, call{asked, allowed})
					}

					enough := len(calls) >= 60
					mu.Unlock()

					if enough || t.Failed() {
						return
					}

					time.Sleep(wait) // as callers do; what is proved are the times
				}
			})
		}
	}

	all.Wait()

	took := time.Since(began)

	slices.SortFunc(calls, func(a, b call) int { return a.allowed.Compare(b.allowed) })

	for i := h.limit.Calls; i < len(calls); i++ {
		if apart := calls[i].allowed.Sub(calls[i-h.limit.Calls].asked); apart < h.limit.Within {
			t.Fatalf("calls %d to %d within %v", i-h.limit.Calls, i, apart)
		}
	}

	// A limit that lets nothing through holds, too.
	if every, burst := h.limit.Pace(); len(calls) < 60 || took > 3*60*every {
		t.Errorf("%d calls in %v, at a burst of %d and one every %v", len(calls), took, burst, every)
	}
}

// While a team calls as often as it can, another's few calls go out as if it were alone: by at most one call of the
// other team in between for each, and no time that a call takes to get free.
func TestATeamWithManyCallsLeavesTheNextToOthers(t *testing.T) {
	t.Parallel()
	h := newHost(t, slow)

	for _, l := range []outbound.Limit{slow, {Calls: 300, Within: 300 * time.Hour}, {Calls: 10, Within: 12 * time.Hour}} {
		for _, few := range []int{1, 5, 8} {
			idle, loaded := h.another(l), h.another(l)
			alone := idle.callAll(id.New(time.Now()), few)

			many := id.New(time.Now())
			loaded.callAll(many, 300)

			between, took := loaded.callAgainst(id.New(time.Now()), many, few)

			every, _ := l.Pace()
			if limit := max(3*alone, every); took > limit {
				t.Errorf("%d calls of %d take %v next to a team with many, %v alone", few, l.Calls, took, alone)
			}

			if between > few {
				t.Errorf("%d calls of %d let %d of the other team in between", few, l.Calls, between)
			}
		}
	}
}

// callAll makes a number of calls one after another and returns how long they had to wait.
func (h *host) callAll(team id.ID, n int) (took time.Duration) {
	h.Helper()

	for n > 0 {
		wait := h.ask(h.db, team)
		if wait == 0 {
			n--
			continue
		}

		h.pass(wait)

		if took += wait; took > 10_000*time.Hour {
			h.Fatal("calls wait for ever")
		}
	}

	return took
}

// callAgainst makes calls of a team while another asks again as soon as it was said to, and first at each moment. It
// returns how many calls of the other went out before the last one, and how long that took.
func (h *host) callAgainst(team, other id.ID, n int) (between int, took time.Duration) {
	h.Helper()

	for n > 0 {
		theirs := h.ask(h.db, other)
		if theirs == 0 {
			if between++; between > 1000 {
				h.Fatal("the other team gets all calls")
			}

			continue
		}

		ours := h.ask(h.db, team)
		if ours == 0 {
			n--
			continue
		}

		// Each waits as long as it was said to; who comes first is decided by the times alone.
		step := min(ours, theirs)
		h.pass(step)
		took += step
	}

	return between, took
}

// A team alone gets all that the limit has.
func TestATeamAloneGetsTheWholeLimit(t *testing.T) {
	t.Parallel()
	h := newHost(t, slow)
	team := id.New(time.Now())

	// At first the burst, of which a team with some calls leaves the end.
	every, burst := slow.Pace()
	if took := h.callAll(team, burst); took > every/10 {
		t.Errorf("a burst of %d took %v", burst, took)
	}

	h.callAll(team, 200)

	if took := h.callAll(team, 100); took > 101*every {
		t.Errorf("100 calls took %v, want one every %v", took, every)
	}
}

// Two teams that ask for all they can get about half each, whoever asks first.
func TestTwoTeamsWithManyCallsShareThem(t *testing.T) {
	t.Parallel()
	h := newHost(t, slow)
	a, b := id.New(time.Now()), id.New(time.Now())
	h.callAll(a, 200)

	// The first half brings both to the same share.
	h.callAgainst(b, a, 50)

	if got, _ := h.callAgainst(b, a, 50); got < 40 || got > 60 {
		t.Errorf("one team got %d calls and the other 50", got)
	}
}

// A clock that was set back by hours keeps no host closed.
func TestAClockThatWasSetBackClosesNoHost(t *testing.T) {
	t.Parallel()
	h := newHost(t, slow)
	team := id.New(time.Now())
	h.ask(h.db, team)
	h.pass(-1000 * time.Hour)

	every, burst := slow.Pace()
	if wait := h.ask(h.db, team); wait > time.Duration(burst+1)*every {
		t.Errorf("a team has to wait for %v", wait)
	}
}

// A call waits no longer than its patience, here because the next one is hours away; then it says when to come back.
// Those that are refused together come back at different times.
func TestACallThatWaitsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t, slow)
	lines := budget.New()
	team := id.New(time.Now())
	h.callAll(team, 3)

	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		times = map[time.Duration]bool{}
	)

	every, _ := slow.Pace()
	began := time.Now()

	for range 20 {
		all.Go(func() {
			err := lines.Take(t.Context(), h.db, team, h.name, h.limit)

			limited, is := errors.AsType[*outbound.LimitedError](err)
			if !is || limited.Until.Before(began.Add(every/4)) {
				t.Errorf("refused with %v", err)
				return
			}

			mu.Lock()
			times[limited.Until.Sub(began).Truncate(time.Second)] = true
			mu.Unlock()
		})
	}

	all.Wait()

	if len(times) < 10 {
		t.Errorf("20 calls come back at %d times", len(times))
	}
}

// While 300 calls of a team wait in one process, those of another one reach the database at once: they are not behind.
func TestACrowdDoesNotHoldUpAnotherTeam(t *testing.T) {
	t.Parallel()
	h := newHost(t, outbound.Limit{Calls: 15, Within: 2 * time.Second})
	lines := budget.New()
	many, few := id.New(time.Now()), id.New(time.Now())

	ctx, stop := context.WithCancel(t.Context())

	var (
		crowd  sync.WaitGroup
		theirs atomic.Int64
	)

	for range 300 {
		crowd.Go(func() {
			for ctx.Err() == nil {
				if err := lines.Take(ctx, h.db, many, h.name, h.limit); err == nil {
					theirs.Add(1)
				} else if _, is := errors.AsType[*outbound.LimitedError](err); !is && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}

	t.Cleanup(func() { stop(); crowd.Wait() })

	// The crowd is there, and has used up the burst and more.
	for deadline := time.Now().Add(time.Minute); lines.Calls(h.name) < 300 || theirs.Load() < 10; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d wait, %d called", lines.Calls(h.name), theirs.Load())
		}
	}

	before := theirs.Load()

	for i := range 8 {
		if err := lines.Take(t.Context(), h.db, few, h.name, h.limit); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}

	if between := theirs.Load() - before; between > 8 {
		t.Errorf("8 calls let %d of the crowd in between", between)
	}
}

// Whatever names teams write into their settings, memory has those that are called now, and the database those of the
// last minutes. A row that still says something stays.
func TestHostsThatAreNotCalledLeaveNothing(t *testing.T) {
	t.Parallel()
	h := newHost(t, slow)
	lines := budget.New()
	team := id.New(time.Now())

	const most = 10_000

	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := i; n < 1000; n += 4 {
				if err := lines.Take(t.Context(), h.db, team, fmt.Sprintf("%d.%s", n, h.name), h.limit); err != nil {
					t.Error(err)
				}
			}
		})
	}

	all.Wait()

	if n := lines.Hosts(); n != 0 {
		t.Errorf("%d hosts that are not called have a line", n)
	}

	// The others are written as calls of them would be.
	h.system(`
		insert into call_budget select n || '.' || @name, c.next_at, c.uses, c.used_at, c.forget_at from generate_series(1000, @most - 1) n, call_budget c
		where c.name = '0.' || @name`, db.Args{"name": h.name, "most": most})

	if n := h.rows("." + h.name); n != most {
		t.Fatalf("%d rows, want %d", n, most)
	}

	// Nothing of them is over yet; then the bucket of each is full and its uses are gone.
	forget(t, h.db)

	if n := h.rows("." + h.name); n != most {
		t.Errorf("%d rows are left while they count, want %d", n, most)
	}

	every, _ := slow.Pace()
	h.system(`update call_budget set forget_at = forget_at - @by::interval where name like '%.' || @name`, db.Args{"by": 301 * every, "name": h.name})
	forget(t, h.db)

	if n := h.rows("." + h.name); n != 0 {
		t.Errorf("%d rows of hosts that nobody calls are left", n)
	}
}

func forget(t *testing.T, d *db.DB) {
	t.Helper()

	if err := budget.Every().Do(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// The row of a host that very many teams call does not grow with them.
func TestARowHasTheTeamsOfTheLastCallsOnly(t *testing.T) {
	t.Parallel()
	h := newHost(t, slow)

	for range 400 {
		h.callAll(id.New(time.Now()), 1)
	}

	err := h.db.Read(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Get[int64](ctx, tx, `select count(*) from call_budget c, jsonb_each(c.uses) where c.name = @name`, db.Args{"name": h.name})
		if n > 50 || n < 10 {
			t.Errorf("the row has %d teams", n)
		}

		return err
	})
	if err != nil {
		t.Error(err)
	}
}
