package payment_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stayledger/platform/id"
	"stayledger/provider/pay"
)

// Whatever goes wrong, in whatever order: the bank holds at most one payment under a key, no payout is paid by two
// payments that live, and in the end every payment is as the bank says; one that the bank has never seen can
// be canceled.
func TestNoPaymentIsMadeTwiceOrLost(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	rounds := 0

	rapid.Check(t, func(r *rapid.T) {
		if rounds++; rounds > 12 { // each is a whole life of payments against the database
			return
		}

		newLife(w, rapid.IntRange(1, 3).Draw(r, "payouts")).live(r)
	})
}

// life is the history of some payouts and the payments that are asked for them.
type life struct {
	*till
	payouts  []id.ID
	payments map[id.ID][]id.ID // by payout
	messages int
}

func newLife(w *till, n int) *life {
	l := &life{till: w, payments: map[id.ID][]id.ID{}}
	for range n {
		l.payouts = append(l.payouts, w.payout(100))
	}

	return l
}

func (l *life) live(r *rapid.T) {
	sends := []fault{lostBefore, lostAfter, diesBefore, diesAfter, half, forgets, refuses, fails}

	for range rapid.IntRange(3, 8).Draw(r, "steps") {
		out := rapid.SampledFrom(l.payouts).Draw(r, "payout")
		switch rapid.SampledFrom([]string{"pay", "pay", "work", "work", "ask", "call", "bank", "cancel", "archive", "calm"}).Draw(r, "step") {
		case "pay":
			answer := l.Post("/transactions/"+out.String()+"/pay", object{"connectionId": l.connection})
			if answer.Status == 202 {
				l.payments[out] = append(l.payments[out], l.latest(out))
			}
		case "work":
			l.bank.mu.Lock()
			l.bank.submits = rapid.SliceOfN(rapid.SampledFrom(sends), 0, 6).Draw(r, "submits")
			l.bank.finds = rapid.SliceOfN(rapid.Just(fault("x")), 0, 4).Draw(r, "finds")
			l.bank.cancels = rapid.SliceOfN(rapid.SampledFrom([]fault{lostBefore, lostAfter, diesAfter}), 0, 3).Draw(r, "cancels")
			l.bank.mu.Unlock()
			l.work()
		case "ask":
			l.ask()
		case "call":
			l.call(r, out)
		case "bank":
			l.progress(r, out)
		case "cancel", "archive":
			if p := l.latest(out); !p.IsZero() {
				how := rapid.SampledFrom([]string{"cancel", "archive"}).Draw(r, "how")
				l.Post("/transactions/"+out.String()+"/provider-payments/"+p.String()+"/"+how, nil)
			}
		case "calm":
			l.calm()
		}

		l.check(r)
	}

	l.settle(r)
}

func (l *life) latest(out id.ID) id.ID {
	found := l.Get("/transactions/" + out.String() + "/provider-payments").Want(200)
	if found.Len("data") == 0 {
		return id.Zero
	}

	return found.ID("data.0.id")
}

// call repeats true news: the state that the bank has, or one that it had before.
func (l *life) call(r *rapid.T, out id.ID) {
	p := l.latest(out)
	if p.IsZero() || l.bank.count(p) == 0 {
		return
	}

	l.bank.mu.Lock()
	o := l.bank.outcome(p.String())
	l.bank.mu.Unlock()

	if rapid.Bool().Draw(r, "old") {
		o.State = pay.Submitted
	}

	o.Duplicate = false
	l.messages++
	l.callBack("life-"+l.id().String(), o).Want(204)
}

// progress lets the bank go on with a payment.
func (l *life) progress(r *rapid.T, out id.ID) {
	p := l.latest(out)
	if p.IsZero() || l.bank.count(p) == 0 {
		return
	}

	l.bank.mu.Lock()
	state := l.bank.held[p.String()][0].state
	l.bank.mu.Unlock()

	switch state {
	case pay.Submitted:
		l.bank.becomes(p, rapid.SampledFrom([]pay.State{pay.Paid, pay.Failed, pay.Returned}).Draw(r, "becomes"))
	case pay.Paid:
		l.bank.becomes(p, rapid.SampledFrom([]pay.State{pay.Paid, pay.Returned}).Draw(r, "becomes"))
	case pay.Failed, pay.Canceled, pay.Returned:
	}
}

// check wants no payment twice, at any moment.
func (l *life) check(r *rapid.T) {
	l.bank.mu.Lock()
	defer l.bank.mu.Unlock()

	for out, payments := range l.payments {
		alive := 0

		for _, p := range payments {
			held := l.bank.held[p.String()]
			if len(held) > 1 {
				r.Fatalf("the bank holds %d payments under one key", len(held))
			}

			if len(held) == 1 && (held[0].state == pay.Submitted || held[0].state == pay.Paid) {
				alive++
			}
		}

		if alive > 1 {
			r.Fatalf("payout %v is paid %d times", out, alive)
		}
	}
}

// settle lets everything be heard, then compares.
func (l *life) settle(r *rapid.T) {
	l.bank.mu.Lock()
	l.bank.submits, l.bank.finds, l.bank.cancels = nil, nil, nil
	l.bank.mu.Unlock()
	l.work()
	l.ask()
	l.calm()

	for out, payments := range l.payments {
		for _, p := range payments {
			status := l.read(p).String("status")
			switch {
			case l.bank.count(p) > 0:
				if want := string(l.bank.held[p.String()][0].state); status != want {
					r.Fatalf("payment %v is %s, at the bank %s", p, status, want)
				}
			case status == "sending":
				if got := l.recover("cancel", out, p); got != "completed" || l.read(p).String("status") != "canceled" {
					r.Fatalf("payment %v was never sent; its recovery is %s", p, got)
				}
			case !slices.Contains([]string{"failed", "canceled"}, status):
				r.Fatalf("payment %v is %s, the bank has never seen it", p, status)
			}

			if n := l.read(p).Len("issues"); n != 0 {
				r.Fatalf("payment %v has issues: %s", p, l.read(p).Body)
			}
		}
	}

	l.check(r)
}
