package payment_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/domain/settlement/payment"
	"stayledger/platform/apierr"
	"stayledger/provider/pay"
)

func TestCallbacks(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	p := w.pay(w.payout(700))
	w.work()

	news := func(s pay.State) pay.Outcome {
		return pay.Outcome{Key: p.String(), Ref: "ref-" + p.String() + "-0", State: s}
	}
	w.callBack("m1", news(pay.Paid)).Want(204)
	w.wantStatus(p, payment.Paid)
	w.callBack("m2", news(pay.Submitted)).Want(204) // older news
	w.wantStatus(p, payment.Paid)
	w.wantIssue(p, "")
	w.callBack("m3", news(pay.Failed)).Want(204) // cannot follow
	w.wantStatus(p, payment.Paid)
	w.wantIssue(p, "contradictoryNews")
	w.callBack("m4", news(pay.Returned)).Want(204)
	w.wantStatus(p, payment.Returned)

	if w.balance("1000") != 0 {
		t.Errorf("the account has %d", w.balance("1000"))
	}

	before := w.Fingerprint()
	w.callBack("m4", news(pay.Returned)).Want(204)
	w.callBack("m1", news(pay.Paid)).Want(204)

	if w.Fingerprint() != before {
		t.Error("a repetition changed something")
	}
}

// A provider that made a second payment under our key reports it by another reference.
func TestACallbackOfASecondPayment(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	p := w.pay(w.payout(700))
	w.work()
	w.callBack("m1", pay.Outcome{Key: p.String(), Ref: "another", State: pay.Paid}).Want(204)
	w.wantStatus(p, payment.Paid)
	w.wantIssue(p, "duplicatePayment")
}

func TestCallbacksThatAreNotBelieved(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	p := w.pay(w.payout(700))
	w.work()
	before := w.Fingerprint()
	now := w.DB.Now()
	o := pay.Outcome{Key: p.String(), Ref: "r", State: pay.Paid}

	s, body, err := pay.SignCallback(secret, pay.Callback{ID: "m1", Outcome: o}, now)
	if err != nil {
		t.Fatal(err)
	}

	send := func(connection, body string, s pay.Signature) {
		t.Helper()
		w.Post("/payment-callbacks/"+connection, body, "webhook-id", s.ID, "webhook-timestamp", s.Timestamp, "webhook-signature", s.Value).
			WantError(apierr.CodeUnauthorized, "")
	}
	send(w.connection.String(), string(body)+" ", s)
	send(w.connection.String(), string(body), pay.Signature{ID: "m2", Timestamp: s.Timestamp, Value: s.Value})
	send(w.id().String(), string(body), s)
	send(w.connect("nacha", w.bank).String(), string(body), s)
	w.Post("/payment-callbacks/"+w.connection.String(), string(body)).WantError(apierr.CodeUnauthorized, "")

	for _, at := range []time.Duration{-6 * time.Minute, 6 * time.Minute} {
		w.callBackAt("m1", o, now.Add(at)).WantError(apierr.CodeUnauthorized, "")
	}

	w.callBack("m1", pay.Outcome{Key: w.id().String(), Ref: "r", State: pay.Paid}).WantError(apierr.CodeNotFound, "")
	w.callBack("m1", pay.Outcome{Key: "something", Ref: "r", State: pay.Paid}).WantError(apierr.CodeNotFound, "")
	w.Exec(`delete from connection where team_id = @team and app_id = 'nacha'`, nil)

	if w.Fingerprint() != before {
		t.Error("something changed")
	}

	w.callBack("m1", o).Want(204)
	w.wantStatus(p, payment.Paid)
}

// The bank is quicker than our own note: its callback comes while the submission is still under way.
func TestACallbackOvertakesTheCommit(t *testing.T) {
	t.Parallel()

	for state, want := range map[pay.State]payment.Status{pay.Submitted: payment.Submitted, pay.Paid: payment.Paid, pay.Failed: payment.Failed, pay.Returned: payment.Returned} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			w := newTill(t)
			p := w.pay(w.payout(700))

			var once atomic.Bool

			w.bank.entered = func(context.Context) {
				if once.CompareAndSwap(false, true) {
					w.callBack("m1", pay.Outcome{Key: p.String(), Ref: "ref-" + p.String() + "-0", State: state}).Want(204)
				}
			}
			w.work()
			w.wantStatus(p, want)
			w.wantIssue(p, "")
		})
	}
}

// Many copies of the same news at once make one return.
func TestReturnsAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	p := w.pay(w.payout(700))
	w.work()
	w.bank.becomes(p, pay.Returned)

	var group sync.WaitGroup
	for _, message := range []string{"a", "b", "a", "b", "c", "d"} {
		group.Go(func() { w.callBack(message, pay.Outcome{Key: p.String(), Ref: "r", State: pay.Returned}).Want(204) })
	}

	group.Go(w.ask)
	group.Wait()
	w.wantStatus(p, payment.Returned)

	if got := w.Get("/transactions?type=payout").Want(200).Len("data"); got != 2 || w.balance("1000") != 0 {
		t.Errorf("%d payouts, the account has %d", got, w.balance("1000"))
	}
}
