package payment_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/domain/settlement/payment"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/provider/pay"
)

// lag is how much the real clock may add to the time that Outlast lets pass, on a machine that is busy.
const lag = 10 * time.Minute

// A provider that is away for seconds, minutes or hours is waited for: every payment is made once, no one has to do
// anything, and meanwhile the operation goes on and the money does not read as paid. After a day it is given up with an
// issue.
func TestAProviderThatIsAway(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		away  time.Duration
		given bool
	}{
		"four seconds": {away: 4 * time.Second},
		"five minutes": {away: 5 * time.Minute},
		"ten hours":    {away: 10 * time.Hour},
		"two days":     {away: 48 * time.Hour, given: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTill(t)
			out := w.payout(700)
			answer := w.Post("/transactions/"+out.String()+"/pay", object{"connectionId": w.connection}).Want(202)
			p := w.Get("/transactions/" + out.String() + "/provider-payments").Want(200).ID("data.0.id")
			w.bank.leaves(true)

			looked := false
			passed := w.Outlast(func(passed time.Duration) {
				w.bank.leaves(passed < c.away)

				if looked {
					return
				}

				looked = true

				w.wantStatus(p, payment.Sending)
				w.wantOpen(out, "paymentUnknown", 700)

				if got := w.operation(answer); got != "queued" && got != "running" {
					t.Errorf("meanwhile the operation is %s", got)
				}
			})
			t.Logf("away for %v: settled after %v and %d questions", c.away, passed.Round(time.Millisecond), w.bank.asked)

			if c.given {
				w.wantStatus(p, payment.Sending)
				w.wantIssue(p, "givenUp")
				w.wantOpen(out, "paymentGivenUp", 700)

				if got := w.operation(answer); got != "failed" || passed < 24*time.Hour-lag || passed > 25*time.Hour {
					t.Errorf("the operation is %s after %v", got, passed)
				}

				return
			}

			w.wantStatus(p, payment.Submitted)
			w.wantIssue(p, "")
			w.wantPaid(out)

			if w.bank.count(p) != 1 || len(w.bank.batches) != 1 || w.operation(answer) != "completed" {
				t.Errorf("the bank holds %d payments of %d submissions, the operation is %s", w.bank.count(p), len(w.bank.batches), w.operation(answer))
			}

			if most := 2*c.away + 10*time.Minute; passed < c.away || passed > most {
				t.Errorf("settled after %v", passed)
			}
		})
	}
}

// wantOpen wants a transaction to read as unpaid, with one issue that says how much did not arrive.
func (w *till) wantOpen(transaction id.ID, code string, cents int64) {
	w.tb.Helper()

	t := w.Get("/transactions/" + transaction.String()).Want(200)
	if t.String("paidStatus") != "unpaid" || t.Len("issues") != 1 || t.String("issues.0.code") != code || t.String("issues.0.severity") != "error" ||
		t.Int("issues.0.context.amount") != cents || t.ID("issues.0.context.transactionId") != transaction {
		w.tb.Errorf("the transaction is %s with %v, want unpaid with %s", t.String("paidStatus"), t.Value("issues"), code)
	}

	if got := w.Get("/transactions?paidStatus=unpaid").Want(200); got.Len("data") != 1 || got.ID("data.0.id") != transaction || got.Len("data.0.issues") != 1 {
		w.tb.Errorf("unpaid are %s", got.Body)
	}
}

// wantPaid wants a transaction to read as paid, without issues.
func (w *till) wantPaid(transaction id.ID) {
	w.tb.Helper()

	if t := w.Get("/transactions/" + transaction.String()).Want(200); t.String("paidStatus") != "paid" || t.Len("issues") != 0 {
		w.tb.Errorf("the transaction is %s with %v", t.String("paidStatus"), t.Value("issues"))
	}
}

// Money that failed, was canceled or came back is open again at once, bill and payout, also where a lock keeps the
// books from saying so, and is no payment to a vendor of the year.
func TestRefusedMoneyIsOpenAgain(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		state  pay.State
		code   string
		bill   bool
		closed bool
	}{
		"a failed payout":               {state: pay.Failed, code: "paymentFailed"},
		"a canceled payout":             {state: pay.Canceled, code: "paymentCanceled"},
		"a returned payout":             {state: pay.Returned, code: "paymentReturned"},
		"a failed bill":                 {state: pay.Failed, code: "paymentFailed", bill: true},
		"a canceled bill":               {state: pay.Canceled, code: "paymentCanceled", bill: true},
		"a returned bill":               {state: pay.Returned, code: "paymentReturned", bill: true},
		"a failed bill, books closed":   {state: pay.Failed, code: "paymentFailed", bill: true, closed: true},
		"a returned bill, books closed": {state: pay.Returned, code: "paymentReturned", bill: true, closed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTill(t)

			one := w.payout(70_000)
			if c.bill {
				w.Exec(`update transaction set status = 'inactive' where team_id = @team`, nil)
				one = w.bill(70_000)
			}

			p := w.pay(one)
			w.work()
			w.wantPaid(one)

			if c.bill {
				w.wantVendorPaid(70_000)
			}

			if c.closed {
				w.Exec(`update team set books_closed_at = '2100-01-01' where id = @team`, nil)
			}

			w.bank.becomes(p, c.state)
			w.ask()
			w.wantOpen(one, c.code, 70_000)

			if c.bill {
				w.wantVendorPaid(0)
			}

			var still int64

			for _, found := range w.warnings() {
				if found.Code == "paymentStillBooked" {
					still += found.Total
				}
			}

			if booked := c.closed || !c.bill && c.state != pay.Returned; booked != (still == 70_000) {
				t.Errorf("the trust report says that %d is booked and was not moved", still)
			}

			if c.state == pay.Returned && !c.closed {
				return
			}

			w.Post("/transactions/"+one.String()+"/pay", object{"connectionId": w.connection}).Want(409) // not before it was put away
			w.Exec(`update team set books_closed_at = null where id = @team`, nil)

			if got := w.recover("archive", one, p); got != "completed" {
				t.Errorf("the recovery is %s", got)
			}

			if got := w.Get("/transactions/" + one.String()).Want(200).Len("issues"); got != 0 && c.state != pay.Returned {
				t.Errorf("%d issues are left", got)
			}
		})
	}
}

type warned struct {
	Code  string
	Total int64
}

// warnings are those of the trust reconciliation of today.
func (w *till) warnings() []warned {
	w.tb.Helper()

	var out struct{ Warnings []warned }
	w.Get("/reports/trust-reconciliation?date=" + w.DB.Now().Format("2006-01-02")).Want(200).Into(&out)

	return out.Warnings
}

// wantVendorPaid compares what the information return of the year says that the vendor was paid.
func (w *till) wantVendorPaid(cents int64) {
	w.tb.Helper()
	r := w.Get("/reports/information-returns?form=1099-NEC&year=" + w.DB.Now().Format("2006")).Want(200)

	var got int64
	for i := range r.Len("data") {
		got += r.Int("data." + string(rune('0'+i)) + ".amount")
	}

	if got != cents {
		w.tb.Errorf("the vendor was paid %d in the year, want %d: %s", got, cents, r.Body)
	}
}

// A payment about which nothing is known can be taken back while its job waits for the next attempt, and is not sent
// after that.
func TestTakingBackWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	w.bank.leaves(true)
	out := w.payout(700)
	p := w.pay(out)
	stop := w.worker()
	w.await(`select unknown_since is not null from payment where team_id = @team`)
	stop()
	w.bank.leaves(false)

	if got := w.recover("cancel", out, p); got != "completed" {
		t.Errorf("the recovery is %s", got)
	}

	w.wantStatus(p, payment.Canceled)

	if w.bank.count(p) != 0 || w.balance("1000") != 0 || w.jobs() != 0 {
		t.Errorf("the bank holds %d payments, the account has %d, %d jobs are left", w.bank.count(p), w.balance("1000"), w.jobs())
	}
}

// A payment that is just being sent is not taken for unknown: the recovery waits for the attempt, and then takes back
// what the bank has.
func TestTakingBackWaitsForTheSender(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	out := w.payout(700)
	p := w.pay(out)
	entered, wake := make(chan struct{}), make(chan struct{})

	var once atomic.Bool

	w.bank.entered = func(context.Context) {
		if once.CompareAndSwap(false, true) {
			close(entered)
			<-wake
		}
	}
	stop := w.worker()

	<-entered

	answer := w.Post("/transactions/"+out.String()+"/provider-payments/"+p.String()+"/cancel", nil).Want(202)
	w.await(`select exists (select from job where team_id = @team and kind = 'payment.recover' and attempt >= 2)`)
	w.wantStatus(p, payment.Sending)
	close(wake)
	w.await(`select status = 'canceled' from payment where team_id = @team`)
	stop()
	w.work()
	w.bank.mu.Lock()
	state := w.bank.held[p.String()][0].state
	w.bank.mu.Unlock()

	if got := w.operation(answer); got != "completed" || state != pay.Canceled || w.bank.count(p) != 1 {
		t.Errorf("the recovery is %s, the bank has %d payments, %s", got, w.bank.count(p), state)
	}
}

// A payment that is left sending without a job, since the workers died of it, is asked for and sent again under its
// key; after a day a person is asked.
func TestWhatIsLeftSendingIsSentAgain(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		sent   string
		held   bool
		silent bool // a bank that takes files cannot be asked
	}{
		"never arrived": {sent: "1 hour"}, "has arrived": {sent: "1 hour", held: true}, "a day ago": {sent: "25 hours"},
		"nobody can be asked": {silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTill(t)
			out := w.payout(700)
			p := w.pay(out)
			w.bank.leaves(true)
			stop := w.worker()
			w.await(`select unknown_since is not null from payment where team_id = @team`)
			stop()
			w.bank.leaves(false)

			if c.silent {
				w.Exec(`update payment set ask_at = null where team_id = @team`, nil)
			}

			w.Exec(`update job set attempt = max_attempts, due_at = clock_timestamp() where team_id = @team`, nil)
			w.Work()
			w.wantStatus(p, payment.Sending)

			if c.silent {
				w.wantIssue(p, "givenUp")
				return
			}

			w.wantIssue(p, "")
			w.Exec(`update payment set sent_at = now() - @ago::interval where team_id = @team`, db.Args{"ago": c.sent})

			if c.held {
				w.bank.take(pay.Payment{Key: p.String(), Amount: 700}, "")
			}

			w.ask()
			w.ask() // asking again queues nothing again

			if c.sent == "25 hours" {
				w.wantIssue(p, "givenUp")

				if w.jobs() != 0 {
					t.Errorf("%d jobs", w.jobs())
				}

				return
			}

			if want := int64(1); !c.held && w.jobs() != want {
				t.Errorf("%d jobs, want %d", w.jobs(), want)
			}

			w.Work()
			w.wantStatus(p, payment.Submitted)

			if w.bank.count(p) != 1 || w.jobs() != 0 {
				t.Errorf("the bank holds %d payments, %d jobs are left", w.bank.count(p), w.jobs())
			}
		})
	}
}

// jobs are how many are left.
func (w *till) jobs() (n int64) {
	w.tb.Helper()
	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select count(*) from job where team_id = @team`, db.Args{"team": tx.Team})
		return err
	})

	return n
}

// await waits until a statement gives true.
func (w *till) await(sql string) {
	w.tb.Helper()

	for began := time.Now(); time.Since(began) < 2*time.Minute; {
		var yes bool

		w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			yes, err = db.Get[bool](ctx, tx, sql, db.Args{"team": tx.Team})
			return err
		})

		if yes {
			return
		}

		time.Sleep(5 * time.Millisecond)
	}

	w.tb.Fatalf("never: %s", sql)
}
