// Package outside_test has the whole world outside of the service answer after 20 seconds, to everything that calls it
// at the same time, and sees that nobody else waits for it: no transaction is open meanwhile, other requests take their
// usual time, and half of the connections to the database stay free.
package outside_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/s3test"
	"stayledger/test/world"
)

// answerTime is how long the world takes to answer: nearly as long as the service waits for most of it.
const answerTime = 20 * time.Second

// outside is the world of this package's only scene, because a process has one name service.
var outside = slowWorld{objects: map[string]string{}}

func TestMain(m *testing.M) {
	net.DefaultResolver = outside.names()

	apitest.Main(m, s3test.Stop)
}

func TestASlowWorldHoldsNothing(t *testing.T) {
	t.Parallel()

	s, calm := newScene(t, &outside), world.New(t)
	requests := append(s.usualRequests(), request{calm.Team, "POST", "/contacts", vendor, 201}, request{calm.Team, "GET", "/contacts", "", 200})

	usual := s.measure(requests)
	w := s.begin()

	// While all of them wait, nothing else does.
	s.awaitCalls()
	s.wantNoTransaction()

	most := s.watchPool()
	meanwhile := s.measure(requests)

	if used, half := most(), s.DB.Stats().Max/2; used > half {
		t.Errorf("%d connections were used, more than half: %d", used, half)
	}

	for i := range requests {
		t.Logf("%s %s: %v, with a slow world %v", requests[i].method, requests[i].path, usual[i], meanwhile[i])

		if most := 3*usual[i] + 50*time.Millisecond; meanwhile[i] > most {
			t.Errorf("%s %s takes %v, more than %v", requests[i].method, requests[i].path, meanwhile[i], most)
		}
	}

	s.wantNoTransaction()
	w.end()
}

// request is a request with the status that is wanted.
type request struct {
	*apitest.Team

	method, path, body string
	want               int
}

const vendor = `{"type":"vendor","name":"Fix-It"}`

// usualRequests returns requests of the team that have nothing to do with the world, although some are about the
// connections that wait for it. A %d in the body is another number each time.
func (s *scene) usualRequests() []request {
	s.T.Helper()

	again, read, other := "/connections/"+s.systems["again"].String(), "/connections/"+s.systems["read"].String(), s.Listing("Other", s.owner)

	return []request{
		{s.Team, "GET", "/connections", "", 200},
		{s.Team, "GET", again, "", 200},
		{s.Team, "PUT", again, `{"name":"Again %d"}`, 200},
		{s.Team, "PUT", read, `{"name":"Read %d"}`, 200},
		{s.Team, "GET", "/contacts", "", 200},
		{s.Team, "POST", "/contacts", vendor, 201},
		{s.Team, "POST", "/transactions", fmt.Sprintf(`{"type":"expense","date":"2026-02-10","accountId":%q,"lines":[{"accountId":%q,"amount":5,"listingId":%q}]}`,
			s.Account("1000"), s.Account("5200"), s.villa.ID), 201},

		// These have the team for themselves.
		{s.Team, "PUT", "/accounts/" + s.Account("5200").String(), `{"name":"Repairs %d"}`, 200},
		{s.Team, "POST", "/recurring-fees", fmt.Sprintf(`{"name":"Fee %%d","type":"managementFee","formula":"rent","rateType":"percentage","defaultRate":20000,
			"creditParty":"manager","debitParty":"owners","creditAccountId":%q,"debitAccountId":%q}`, s.Account("4100"), s.Account("5200")), 201},
		{s.Team, "POST", "/listings/" + other.ID.String() + "/merge?dryRun=true", fmt.Sprintf(`{"intoId":%q}`, s.villa.ID), 200},
	}
}

// numbers makes the texts of requests differ.
var numbers atomic.Int64

// measure returns the median times that requests take.
func (s *scene) measure(requests []request) []time.Duration {
	s.T.Helper()

	out := make([]time.Duration, len(requests))

	for i := range requests {
		r := &requests[i]

		times := make([]time.Duration, 5)
		for n := range times {
			body := strings.ReplaceAll(r.body, "%d", strconv.FormatInt(numbers.Add(1), 10))
			began := time.Now()

			if got := send(r.Team, r.method, r.path, body, "application/json"); got.Code != r.want {
				s.T.Errorf("%s %s answered %d: %s", r.method, r.path, got.Code, got.Body)
			}

			times[n] = time.Since(began)
		}

		slices.Sort(times)
		out[i] = times[len(times)/2]
	}

	return out
}

// awaitCalls returns when every caller waits for its answer.
func (s *scene) awaitCalls() {
	s.T.Helper()

	wanted := map[string]int{}
	for _, c := range callers {
		wanted[c.call]++
	}

	for deadline := time.Now().Add(answerTime / 2); ; time.Sleep(5 * time.Millisecond) {
		calls, _ := s.outside.calls()

		missing := maps.Clone(wanted)
		maps.DeleteFunc(missing, func(call string, n int) bool { return calls[call] >= n })

		if len(missing) == 0 {
			return
		}

		if time.Now().After(deadline) {
			s.T.Errorf("calls that have not come: %v; those that have: %v", missing, calls)
			return
		}
	}
}

// wantNoTransaction fails if a transaction stays open that began before the last call came.
func (s *scene) wantNoTransaction() {
	s.T.Helper()

	_, last := s.outside.calls()

	type transaction struct {
		Query string
		Age   float64 // seconds
	}

	for deadline := time.Now().Add(2 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var open []transaction

		s.System(func(ctx context.Context, tx *db.Tx) (err error) {
			open, err = db.Select[transaction](ctx, tx, `
				select query, extract(epoch from clock_timestamp() - xact_start)::float8 as age from pg_stat_activity
				where datname = current_database() and xact_start < @last and pid <> pg_backend_pid()`, db.Args{"last": last})

			return err
		})

		if len(open) == 0 {
			return
		}

		if time.Now().After(deadline) {
			for _, x := range open {
				s.T.Errorf("a transaction is open for %.1f s: %s", x.Age, strings.Join(strings.Fields(x.Query), " "))
			}

			return
		}
	}
}

// watchPool begins to look how many connections to the database are used. The function that it returns stops that and
// returns the most.
func (s *scene) watchPool() (most func() int32) {
	ended, result := make(chan struct{}), make(chan int32)

	go func() {
		var most int32

		for {
			most = max(most, s.DB.Stats().InUse)

			select {
			case <-ended:
				result <- most
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()

	return func() int32 {
		close(ended)
		return <-result
	}
}
