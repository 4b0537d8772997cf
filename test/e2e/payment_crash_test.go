package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"
	"time"

	"stayledger/provider/pay"
	"stayledger/provider/sandbox"
)

// scene pays some statements while something goes wrong.
type scene struct {
	*till
	name       string
	statements []owed
	operation  string
	worker     *process
	kills      int
	first      int             // event before the scene
	before     map[string]bool // payments of earlier scenes
	began      time.Time
	states     []string // of our payments at each kill
}

// TestPaymentsAreMadeOnceWhateverDies is the crash matrix of payments: the built binary pays statements through a real
// server while its processes are killed with -9 and its provider fails at every step between our commit and the
// provider's answer. In the end every payment exists once at the provider, our books say what the provider says, and
// every statement is paid exactly.
//
// Proves: OPS-86, OPS-87.
//
//nolint:paralleltest // It needs the machine for itself: what dies when is a matter of seconds.
func TestPaymentsAreMadeOnceWhateverDies(t *testing.T) {
	const rounds, killsPerRound = 4, 3

	scenes := crashScenes()
	w := newTill(t, some*(len(scenes)+rounds))
	t.Logf("%d statements in %s", len(w.unpaid), time.Since(w.began).Round(time.Millisecond))

	var rows [][]string
	defer func() { // also when a scene ends the test
		table(t, []string{"what happens", "kills", "orders sent", "payments", "made", "twice", "lost", "operation", "ours = theirs", "statements paid", "seconds", "ours at the kills"}, rows)
	}()

	kills, payments := 0, 0

	for _, c := range scenes {
		s := w.scene(c.name, some)
		c.play(s)
		rows = append(rows, s.finish(c.operation))
		kills, payments = kills+s.kills, payments+some
	}

	seed := uint64(time.Now().UnixNano())
	t.Logf("killed at moments from seed %d", seed)
	dice := rand.New(rand.NewPCG(1, seed))

	for round := range rounds {
		s := w.scene(fmt.Sprintf("killed at random moments, round %d", round+1), some)
		if round%2 == 1 {
			s.settleAtOnce()
		}

		s.random(dice, killsPerRound)
		rows = append(rows, s.finish("completed"))
		kills, payments = kills+s.kills, payments+some
	}

	t.Logf("%d payments, %d kills, %s with the setup", payments, kills, time.Since(w.began).Round(time.Millisecond))
	w.wantBooks()
}

// some is how many statements a scene pays: one more than are sent at a time.
const some = 5

type crashScene struct {
	name      string
	operation string // what becomes of it; either when empty, since all attempts can be used up
	play      func(*scene)
}

func crashScenes() []crashScene {
	scenes := []crashScene{
		{"nothing goes wrong", "completed", func(s *scene) { s.pay(); s.start() }},
		{"the service dies after our commit", "completed", func(s *scene) {
			s.pay()
			s.die(s.service)
			s.restart()
			s.start()
		}},
		{"the worker dies before anything left", "completed", func(s *scene) {
			taken := s.front.swallow()
			s.pay()
			s.start()
			<-taken
			s.kill()
			s.front.open()
			s.start()
		}},
		{"paid by callbacks while the worker is dead", "completed", func(s *scene) {
			s.settleAtOnce()
			s.pay()
			s.killAt(sandbox.Recorded, some)
			s.eventually("all paid that have arrived", func() bool {
				for key, state := range s.ours() {
					if len(s.tally(key)) > 0 && state != pay.Paid {
						return false
					}
				}

				return true
			})
		}},
		{"the service is down when callbacks come", "completed", func(s *scene) {
			s.settleAtOnce()
			s.pay()
			s.onEvent(func(e sandbox.Event) {
				if e.Point == sandbox.Received && e.On == sandbox.Submit {
					s.service.signal(syscall.SIGKILL)
				}
			})
			s.start()
			<-s.service.done
			s.kills++
			s.onEvent(nil)
			s.restart()
		}},
	}

	for _, point := range []sandbox.Point{sandbox.Received, sandbox.Recorded, sandbox.Answering, sandbox.Answered} {
		for _, nth := range []int{1, some} {
			scenes = append(scenes, crashScene{fmt.Sprintf("killed when order %d is %s", nth, point), "completed", func(s *scene) {
				s.pay()
				s.killAt(point, nth)
				s.start()
			}})
		}
	}

	return append(scenes, faultScenes()...)
}

func faultScenes() []crashScene {
	fault := func(f sandbox.Fault) func(*scene) {
		return func(s *scene) {
			s.sandbox.Break(f)
			s.pay()
			s.start()
		}
	}

	return []crashScene{
		{"killed while held, recorded before the restart", "completed", func(s *scene) { s.killHeld(sandbox.DelayBefore, sandbox.HeldBefore, true) }},
		{"killed while held, recorded after the second order", "completed", func(s *scene) { s.killHeld(sandbox.DelayBefore, sandbox.HeldBefore, false) }},
		{"killed while the answer is held", "completed", func(s *scene) { s.killHeld(sandbox.DelayAfter, sandbox.HeldAfter, true) }},
		{"connection cut before it is recorded", "completed", fault(sandbox.Fault{Mode: sandbox.DropBefore, Times: 2})},
		{"connection cut after it is recorded", "completed", fault(sandbox.Fault{Mode: sandbox.DropAfter, Times: 2})},
		{"times out, recorded after the second order", "completed", fault(sandbox.Fault{Mode: sandbox.DelayBefore, Times: 2, DelayMS: 4500})},
		{"times out, was recorded", "completed", fault(sandbox.Fault{Mode: sandbox.DelayAfter, Times: 2, DelayMS: 3000})},
		{"unavailable for a while", "completed", fault(sandbox.Fault{Mode: sandbox.Unavailable, Times: 3})},
		{"answers nonsense", "completed", fault(sandbox.Fault{Mode: sandbox.Garbage, Times: 2})},
		{"cannot be asked afterwards", "completed", func(s *scene) {
			s.sandbox.Break(sandbox.Fault{Mode: sandbox.Unavailable, On: sandbox.Find, Times: 2})
			fault(sandbox.Fault{Mode: sandbox.DropAfter, Times: 2})(s)
		}},
		{"the provider restarts in the middle", "completed", func(s *scene) {
			s.sandbox.Break(sandbox.Fault{Mode: sandbox.DelayAfter, DelayMS: 100})
			s.pay()
			s.start()
			s.await(sandbox.HeldAfter)
			s.front.close()
			time.Sleep(200 * time.Millisecond)
			s.front.open()
		}},
		{"the provider is away for four seconds", "completed", func(s *scene) {
			s.front.close()
			s.pay()
			s.start()
			time.Sleep(4 * time.Second)
			s.front.open()
		}},
		{"provider and worker restart", "completed", func(s *scene) {
			s.sandbox.Break(sandbox.Fault{Mode: sandbox.DelayAfter, DelayMS: 100})
			s.pay()
			s.start()
			s.await(sandbox.HeldAfter)
			s.front.close()
			s.kill()
			s.front.open()
			s.start()
		}},
		{"five attempts die", "", func(s *scene) {
			s.pay()

			for nth := 1; nth <= 5; nth++ {
				s.killAt(sandbox.Recorded, 1)
				s.start()
			}
		}},
	}
}

func (w *till) scene(name string, n int) *scene {
	w.t.Helper()
	s := &scene{till: w, name: name, statements: w.unpaid[:n], first: w.sandbox.Last(), began: time.Now(), before: map[string]bool{}}
	w.unpaid = w.unpaid[n:]

	for key := range s.ours() {
		s.before[key] = true
	}

	never := int64(-1)
	w.sandbox.Set(sandbox.Settings{SettleAfterMS: &never})

	return s
}

func (s *scene) pay() {
	s.t.Helper()

	ids := make([]string, len(s.statements))
	for i, v := range s.statements {
		ids[i] = v.id
	}

	s.operation = s.post("/statements/pay", map[string]any{"statementIds": ids, "connectionId": s.connection}).want(202).text("operationId")
}

// start starts a worker after what time brings.
func (s *scene) start() {
	s.t.Helper()

	if s.worker != nil {
		select {
		case <-s.worker.done:
		default:
			return
		}
	}

	s.later(true)
	s.worker = s.work()
}

func (s *scene) die(p *process) {
	p.kill()

	s.kills++
}

// kill kills the worker and notes how far our payments are.
func (s *scene) kill() {
	s.t.Helper()
	s.die(s.worker)
	s.states = append(s.states, states(s.ours()))
}

func (s *scene) await(p sandbox.Point) {
	s.t.Helper()

	if _, err := s.sandbox.Await(s.t.Context(), p, s.first); err != nil {
		s.t.Fatal(err)
	}
}

// killAt kills the worker from within the n-th order that reaches a point, counted from now, and waits for that if a
// worker runs; else the next worker is killed.
func (s *scene) killAt(point sandbox.Point, nth int) {
	s.t.Helper()
	s.later(true)

	count, hit := 0, make(chan struct{})

	var worker *process

	ready := make(chan struct{})

	s.onEvent(func(e sandbox.Event) {
		if e.Point != point || (e.On != sandbox.Submit && e.On != sandbox.Find) {
			return
		}

		s.mu.Lock()
		count++
		now := count == nth
		s.mu.Unlock()

		if now {
			<-ready
			worker.signal(syscall.SIGKILL)
			close(hit)
		}
	})
	worker = s.work()

	close(ready)

	select {
	case <-hit:
	case <-time.After(patience):
		s.t.Errorf("%s: no such order", s.name)
	}

	s.onEvent(nil)
	s.worker = worker
	s.kill()
}

// killHeld kills the worker while its orders are held, and lets go of them before or after the next worker has sent
// them again.
func (s *scene) killHeld(mode sandbox.Mode, point sandbox.Point, before bool) {
	s.t.Helper()
	s.sandbox.Break(sandbox.Fault{Mode: mode, Times: 4})
	s.pay()
	s.start()
	s.await(point)
	s.kill()

	if before {
		s.sandbox.Release()
		s.eventually("recorded", func() bool { return len(s.theirs()) > 0 })
	}

	s.start()

	if !before {
		s.eventually("sent again", func() bool { return len(s.theirs()) == len(s.statements) })
		s.sandbox.Release()
	}
}

// random kills workers at random moments of their lives.
func (s *scene) random(dice *rand.Rand, kills int) {
	s.t.Helper()
	s.sandbox.Break(sandbox.Fault{Mode: sandbox.DelayAfter, DelayMS: 60})
	s.sandbox.Break(sandbox.Fault{Mode: sandbox.DelayAfter, DelayMS: 30, On: sandbox.Find})
	s.pay()

	for range kills {
		s.start()
		s.worker.untilReady()
		time.Sleep(time.Duration(dice.IntN(200)) * time.Millisecond)
		s.kill()
	}

	s.start()
}

// ours is how far the payments of the scene are in our books, by their keys.
func (s *scene) ours() map[string]pay.State {
	s.t.Helper()

	out := map[string]pay.State{}

	for _, y := range s.get("/payments?limit=250&sort=-createdAt").want(200).list("data") {
		if key := fmt.Sprint(y["id"]); !s.before[key] {
			out[key] = pay.State(fmt.Sprint(y["status"]))
		}
	}

	return out
}

// settleAtOnce has the sandbox pay at once and tell of it, while the scene goes on.
func (s *scene) settleAtOnce() {
	soon := int64(1)
	s.sandbox.Set(sandbox.Settings{SettleAfterMS: &soon})
}

// theirs is how often the sandbox holds each payment of the scene.
func (s *scene) theirs() map[string]int {
	s.t.Helper()

	out := map[string]int{}

	for key := range s.ours() {
		if n := len(s.tally(key)); n > 0 {
			out[key] = n
		}
	}

	return out
}

// finish brings the scene to its end and checks that everything is there once. It gives the row of the table.
func (s *scene) finish(operation string) []string {
	s.t.Helper()
	s.start()

	var ended *answer

	s.eventually(s.name+": settled", func() bool {
		ended = s.get("/operations/" + s.operation).want(200)
		if status := ended.text("status"); status == "completed" || status == "failed" {
			return true
		}

		s.later(false)

		return false
	})

	if got := ended.text("status"); operation != "" && got != operation {
		s.t.Errorf("%s: the operation is %s, want %s", s.name, got, operation)
	}

	s.sandbox.Reset()

	for key := range s.ours() {
		if held := s.tally(key); len(held) > 0 && held[0].State == pay.Submitted {
			s.sandbox.Settle(key, pay.Paid, "")
		}
	}

	var ours map[string]pay.State

	s.eventually(s.name+": paid", func() bool {
		ours = s.ours()
		for _, state := range ours {
			if state != pay.Paid {
				s.later(false)
				return false
			}
		}

		return true
	})
	s.worker.kill()

	made, twice, lost, same := 0, 0, 0, 0

	for key, state := range ours {
		held := s.tally(key)
		switch {
		case len(held) == 0:
			lost++
		default:
			made, twice = made+1, twice+len(held)-1
			if held[0].State == state {
				same++
			}
		}
	}

	paid := s.wantStatements()

	n := len(s.statements)
	if len(ours) != n || made != n || twice != 0 || lost != 0 || same != n || paid != n {
		s.t.Errorf("%s: %d payments of %d statements: %d made, %d twice, %d lost, %d as the provider has them, %d statements paid", s.name, len(ours), n, made, twice, lost, same, paid)
	}

	text := strconv.Itoa

	return []string{
		s.name, text(s.kills), text(s.requests(s.first)), text(len(ours)), text(made), text(twice), text(lost), ended.text("status"), text(same), text(paid),
		fmt.Sprintf("%.1f", time.Since(s.began).Seconds()), fmt.Sprint(s.states),
	}
}

// wantStatements counts the statements that are paid exactly, by one payout of the right amount which the sandbox has
// made.
func (s *scene) wantStatements() int {
	s.t.Helper()

	payments := map[string][]map[string]any{}

	for _, y := range s.get("/payments?limit=250&sort=-createdAt").want(200).list("data") {
		transaction := fmt.Sprint(y["transactionId"])
		payments[transaction] = append(payments[transaction], y)
	}

	paid := 0

	for _, v := range s.statements {
		a := s.get("/statements/" + v.id).want(200)

		payouts := a.list("payouts")
		if a.text("payment.status") != "paid" || a.text("payment.received") != v.cents || len(payouts) != 1 {
			s.t.Errorf("%s: statement of %s: %s received with %d payouts, %s", s.name, v.cents, a.text("payment.received"), len(payouts), a.text("payment.status"))
			continue
		}

		made := payments[fmt.Sprint(payouts[0]["id"])]
		if len(made) != 1 {
			s.t.Errorf("%s: statement of %s: payments %v", s.name, v.cents, made)
			continue
		}

		held := s.tally(fmt.Sprint(made[0]["id"]))

		issues, _ := made[0]["issues"].([]any)
		if len(held) != 1 || strconv.FormatInt(held[0].Amount, 10) != v.cents || len(issues) != 0 {
			s.t.Errorf("%s: statement of %s: payment %v, provider %+v", s.name, v.cents, made[0], held)
			continue
		}

		paid++
	}

	return paid
}

// wantBooks checks that the provider has paid the amount that left the bank, to the cent.
func (w *till) wantBooks() {
	w.t.Helper()

	var paid, earned int64

	for _, p := range w.sandbox.Payments() {
		if p.State == pay.Paid {
			paid += p.Amount
		}
	}

	ending := map[string]int64{}

	a := w.get("/reports/trial-balance?startDate=2020-01-01&endDate=2030-01-01").want(200)
	for _, row := range a.list("data") {
		account, _ := row["account"].(map[string]any)

		n, err := strconv.ParseInt(fmt.Sprint(row["ending"]), 10, 64)
		if err != nil {
			w.t.Fatal(err)
		}

		ending[fmt.Sprint(account["code"])] = n
	}

	earned = -ending["4000"]
	if ending["2400"] != paid || ending["1000"] != earned-paid || a.text("totals.ending") != "0" {
		w.t.Errorf("the provider paid %d of %d: books %v", paid, earned, ending)
	}
}
