package operation_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

const patience = 20 * time.Second

// newWaitingToy is a toy in a database of its own, which hears of settled operations and does not look for them by
// itself.
func newWaitingToy(t *testing.T, poll time.Duration) *toy {
	t.Helper()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t)})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)
	waker := operation.NewWaker(d)
	d.SetOnSettled(func() { waker.Wake() })

	ctx, stop := context.WithCancel(context.Background())

	var running sync.WaitGroup
	running.Go(func() { waker.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })

	all := append(operation.EndpointsPolling(poll), endpoints()[len(operation.Part(time.Hour).Endpoints):]...)

	return &toy{Team: apitest.New(t, apitest.Config{DB: d, Endpoints: all, Handlers: handlers(), Undescribed: []string{"startToy"}}), t: t}
}

// wait asks for the operation in the background, as many times as given, and returns what gives the answers.
func (x *toy) wait(one string, times int) (answers chan *apitest.Response) {
	answers = make(chan *apitest.Response, times)
	for range times {
		go func() { answers <- x.Get("/operations/" + one + "?waitSeconds=20") }()
	}

	return answers
}

// untilListened waits until somebody listens for settled operations: what settles after that is heard.
func (x *toy) untilListened() {
	x.t.Helper()

	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var n int64

		x.System(func(ctx context.Context, tx *db.Tx) (err error) {
			n, err = db.Get[int64](ctx, tx, `
				select count(*) from pg_stat_activity where datname = current_database() and state = 'idle' and query = @query`,
				db.Args{"query": `listen "` + operation.Channel + `"`})

			return err
		})

		if n > 0 {
			return
		}
	}

	x.t.Fatal("nobody listens")
}

func answered(t *testing.T, c <-chan *apitest.Response) *apitest.Response {
	t.Helper()

	select {
	case r := <-c:
		return r.Want(200)
	case <-time.After(patience - 2*time.Second): // before the request's own time is over
		t.Fatal("the request is not answered")
		return nil
	}
}

// Forty requests wait for operations of their own for seconds: they cost what they cost at their begin and end, and a
// look now and then for all of them together.
func TestWaitingRequestsShareTheirLooks(t *testing.T) {
	t.Parallel()
	x := newWaitingToy(t, 500*time.Millisecond)

	const requests, seconds = 40, 3

	ids := make([]string, requests)
	for i := range ids {
		ids[i] = x.start(object{"type": "export", "tasks": []object{{}}})
	}

	before := x.DB.Stats().Transactions

	var all sync.WaitGroup
	for _, one := range ids {
		all.Go(func() {
			if r := x.Get("/operations/" + one + "?waitSeconds=3").Want(200); r.String("status") != "queued" {
				t.Errorf("answered %s", r.Body)
			}
		})
	}

	all.Wait()

	looks := x.DB.Stats().Transactions - before - 2*requests
	if looks > 3*seconds*2+requests/2 { // some of them come with requests that begin
		t.Errorf("%d looks at what %d requests waited for", looks, requests)
	}
}

// A look that was held up for seconds does not keep the next one waiting for ten times as long.
func TestASlowLookIsFollowedSoon(t *testing.T) {
	t.Parallel()

	for took, want := range map[time.Duration]time.Duration{
		0: 10 * time.Millisecond, 20 * time.Millisecond: 200 * time.Millisecond, 30 * time.Second: time.Second,
	} {
		if got := operation.PauseAfter(took); got != want {
			t.Errorf("after a look of %v: %v, want %v", took, got, want)
		}
	}
}

// No waiter polls here: a notification ends the wait of all who wait for the operation, and of no one else.
//
// Proves: OPEN-04.
func TestASettledOperationIsHeardOf(t *testing.T) {
	t.Parallel()
	x := newWaitingToy(t, time.Hour)
	other := x.start(object{"type": "export", "tasks": []object{{"break": "never done"}}})
	name, open := newGate(t)
	one := x.start(object{"type": "export", "tasks": []object{{"gate": name}}})
	x.Exec(`update job set due_at = due_at + interval '1 hour' where team_id = @team and operation_id = '`+other+`'`, nil)
	waits, otherWaits := x.wait(one, 3), x.wait(other, 1)
	x.untilListened()
	open()
	x.Work()

	for range 3 {
		if r := answered(t, waits); r.String("status") != "completed" {
			t.Errorf("answered %s", r.Body)
		}
	}

	select {
	case r := <-otherWaits:
		t.Errorf("the other operation was answered %s", r.Body)
	default:
	}

	x.Server().Drain()
	answered(t, otherWaits)
}

// A server that is about to stop answers those who wait with what it has, and lets no one wait from then on.
func TestAStoppingServerHoldsNobody(t *testing.T) {
	t.Parallel()
	x := newWaitingToy(t, time.Hour)
	one := x.start(object{"type": "export", "tasks": []object{{}}})
	waits := x.wait(one, 5)
	x.untilListened()
	x.Server().Drain()

	for range 5 {
		if r := answered(t, waits); r.String("status") != "queued" {
			t.Errorf("answered %s", r.Body)
		}
	}

	if r := answered(t, x.wait(one, 1)); r.String("status") != "queued" {
		t.Errorf("answered %s", r.Body)
	}
}
