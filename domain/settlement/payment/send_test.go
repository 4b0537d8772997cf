package payment_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/domain/settlement/payment"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/provider/pay"
)

// The crash matrix: wherever an attempt ends, the bank holds the payment once at most, and our books say what the bank
// says.
//
// Proves: INIT-22.
func TestEveryFailureOfASubmission(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		submits, finds []fault
		held           int
		status         payment.Status
		operation      string
	}{
		"nothing goes wrong":             {held: 1, status: payment.Submitted, operation: "completed"},
		"lost before, then sent":         {submits: []fault{lostBefore}, held: 1, status: payment.Submitted, operation: "completed"},
		"lost after, then found":         {submits: []fault{lostAfter}, held: 1, status: payment.Submitted, operation: "completed"},
		"dies before":                    {submits: []fault{diesBefore}, held: 1, status: payment.Submitted, operation: "completed"},
		"dies after":                     {submits: []fault{diesAfter}, held: 1, status: payment.Submitted, operation: "completed"},
		"dies twice, on either side":     {submits: []fault{diesBefore, diesAfter}, held: 1, status: payment.Submitted, operation: "completed"},
		"gives no outcome":               {submits: []fault{forgets}, held: 1, status: payment.Submitted, operation: "completed"},
		"lost after, then cannot answer": {submits: []fault{lostAfter}, finds: []fault{"x", "x"}, held: 1, status: payment.Submitted, operation: "completed"},
		"refused":                        {submits: []fault{refuses}, status: payment.Failed, operation: "failed"},
		"not ready":                      {submits: []fault{notReady}, status: payment.Failed, operation: "failed"},
		"taken and failed":               {submits: []fault{fails}, held: 1, status: payment.Failed, operation: "failed"},
		"lost for good, never sent": {
			submits: slices.Repeat([]fault{lostBefore}, 20), status: payment.Sending, operation: "failed",
		},
		"lost for good, sent": {
			submits: []fault{lostAfter}, finds: slices.Repeat([]fault{"x"}, 20), held: 1, status: payment.Sending, operation: "failed",
		},
		"credentials refused": {submits: []fault{credentials}, status: payment.Sending, operation: "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTill(t)
			w.bank.submits, w.bank.finds = c.submits, c.finds
			out := w.payout(50_000)

			answer := w.Post("/transactions/"+out.String()+"/pay", object{"connectionId": w.connection}).Want(202)
			if answer.String("type") != "provider-payment" || answer.ID("resource.id") != out {
				t.Errorf("acknowledgement %s", answer.Body)
			}

			p := w.Get("/transactions/" + out.String() + "/provider-payments").Want(200).ID("data.0.id")
			w.wantStatus(p, payment.Requested)
			w.work()
			w.wantStatus(p, c.status)

			if got := w.bank.count(p); got != c.held {
				t.Errorf("the bank holds %d payments", got)
			}

			if got := w.operation(answer); got != c.operation {
				t.Errorf("the operation is %s", got)
			}

			if c.status == payment.Sending {
				w.wantIssue(p, "givenUp")
			}

			if w.bank.finds = nil; c.status == payment.Sending && c.held == 1 {
				w.ask()
				w.wantStatus(p, payment.Submitted)
				w.wantIssue(p, "")
			}
		})
	}
}

// A batch that the bank takes in part is finished by the next attempt, and no part is sent twice.
func TestABatchIsFinished(t *testing.T) {
	t.Parallel()
	w := newTill(t)

	var orders []payment.Order
	for range 5 {
		orders = append(orders, payment.Order{TransactionID: w.payout(100), ContactID: w.owner, Amount: 100, Currency: "usd"})
	}

	ids := w.request(orders)
	w.bank.submits = []fault{half, half}
	w.work()

	for _, p := range ids {
		w.wantStatus(p, payment.Submitted)

		if w.bank.count(p) != 1 {
			t.Errorf("the bank holds %d payments under one key", w.bank.count(p))
		}
	}

	sent := 0
	for _, b := range w.bank.batches {
		sent += len(b.Payments)
		if b.Sequence != 0 || !b.At.Equal(w.bank.batches[0].At) {
			t.Error("the batch changed its name")
		}
	}

	if len(w.bank.batches) != 3 || sent != 5+4+3 {
		t.Errorf("%d attempts with %d payments", len(w.bank.batches), sent)
	}
}

// An operation with one failed payment has failed, whichever attempt heard of it, once the others have settled;
// those are sent all the same.
// Proves: OPS-84, OPS-85.
func TestAnOperationFailsWithOneOfItsPayments(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		submits   []fault
		operation string
		failed    int
	}{
		"all go through, none is lost": {operation: "completed"},
		"one of the two fails":         {submits: []fault{failsOne}, operation: "failed", failed: 1},
		"lost, and one has failed":     {submits: []fault{lostBefore, failsOne}, operation: "failed", failed: 1},
		"our process dies after all":   {submits: []fault{diesAfter}, operation: "completed"},
		"an earlier attempt sent one":  {submits: []fault{half, fails}, operation: "failed", failed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTill(t)
			w.bank.submits = c.submits

			var orders []payment.Order
			for range 2 {
				orders = append(orders, payment.Order{TransactionID: w.payout(100), ContactID: w.owner, Amount: 100, Currency: "usd"})
			}

			ids := w.request(orders)
			w.work()

			failed := 0

			for _, p := range ids {
				switch status := w.read(p).String("status"); status {
				case string(payment.Failed):
					failed++
				case string(payment.Submitted):
				default:
					t.Errorf("a payment is %s", status)
				}
			}

			if failed != c.failed {
				t.Errorf("%d payments have failed, want %d", failed, c.failed)
			}

			if r := w.Get("/operations?type=provider-payment").Want(200); r.Len("items") != 1 || r.String("items.0.status") != c.operation {
				t.Errorf("the operation is %s", r.Body)
			}
		})
	}
}

// request asks for payments as the payouts of statements do: many at once.
func (w *till) request(orders []payment.Order) (ids []id.ID) {
	w.tb.Helper()
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		d, err := payment.LoadPayer(ctx, tx, w.connection, id.Zero, []id.ID{w.owner, w.vendor})
		if err != nil {
			return err
		}

		for i := range orders {
			if orders[i].Date.IsZero() {
				orders[i].Date = mustDay("2026-02-05")
			}
		}

		made, tasks, err := d.Request(ctx, tx, orders, payment.Terms{})
		if err != nil {
			return err
		}

		ids = made

		return start(ctx, tx, tasks)
	})

	return ids
}

// worker runs the team's jobs until stop, which kills it: what it was doing ends at once, and goes back to the queue.
func (w *till) worker() (stop func()) {
	ctx, cancel := context.WithCancel(w.tb.Context())
	parts := app.Parts(app.External{Providers: open, Box: w.Box, Store: w.store}, app.Config{})
	j := job.NewWorker(job.Config{
		DB: w.DB, Log: slog.New(slog.NewTextHandler(w.tb.Output(), nil)), Workers: 2, Handlers: parts.Handlers, Poll: 5 * time.Millisecond, Only: w.ID,
	})

	done := make(chan struct{})
	go func() { defer close(done); j.Run(ctx, 0) }()

	return func() { cancel(); <-done }
}

// A worker that is killed while it submits leaves the payment to another, who asks first.
func TestAKilledWorker(t *testing.T) {
	t.Parallel()

	for name, reached := range map[string]bool{"before the bank heard": false, "after the bank heard": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTill(t)
			p := w.pay(w.payout(700))
			entered := make(chan struct{})

			var killed atomic.Bool

			w.bank.entered = func(ctx context.Context) {
				if !killed.CompareAndSwap(false, true) {
					return
				}

				if reached {
					w.bank.mu.Lock()
					w.bank.take(pay.Payment{Key: p.String(), Amount: 700}, "")
					w.bank.mu.Unlock()
				}

				close(entered)
				<-ctx.Done()
				panic("killed")
			}
			stop := w.worker()

			<-entered
			stop()
			w.wantStatus(p, payment.Sending)
			w.work()
			w.wantStatus(p, payment.Submitted)

			if w.bank.count(p) != 1 {
				t.Errorf("the bank holds %d payments", w.bank.count(p))
			}
		})
	}
}

// A worker that stalls beyond its lease and wakes up after another has taken its job over submits the same key, and its
// note is not kept.
func TestTwoWorkersWithOneBatch(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	p := w.pay(w.payout(700))
	stalled, wake := make(chan struct{}), make(chan struct{})

	var entered atomic.Bool

	w.bank.entered = func(context.Context) {
		if entered.CompareAndSwap(false, true) {
			close(stalled)
			<-wake
		}
	}
	stop := w.worker()

	<-stalled
	w.Exec(`update job set due_at = clock_timestamp() - interval '1 minute', worker_id = null where team_id = @team`, nil)
	second := w.worker()
	w.await(`select status = 'submitted' from payment where team_id = @team`)
	w.bank.becomes(p, pay.Paid)
	w.ask()
	close(wake)
	stop()
	second()
	w.wantStatus(p, payment.Paid)
	w.wantIssue(p, "")

	if w.bank.count(p) != 1 || len(w.bank.batches) != 2 {
		t.Errorf("the bank holds %d payments of %d submissions", w.bank.count(p), len(w.bank.batches))
	}
}

// No one is paid twice by asking twice at the same time.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	out := w.payout(900)

	var group sync.WaitGroup

	statuses := make([]int, 8)
	for i := range statuses {
		group.Go(func() {
			statuses[i] = w.Post("/transactions/"+out.String()+"/pay", object{"connectionId": w.connection}).Status
		})
	}

	group.Wait()

	accepted := 0

	for _, s := range statuses {
		if s == 202 {
			accepted++
		} else if s != 409 {
			t.Errorf("status %d", s)
		}
	}

	if accepted != 1 || w.Get("/transactions/"+out.String()+"/provider-payments").Want(200).Len("data") != 1 {
		t.Errorf("%d requests were accepted", accepted)
	}
}

// A connection that was switched off before the batch was sent pays nothing; what was never sent has failed.
func TestAConnectionThatWasSwitchedOff(t *testing.T) {
	t.Parallel()
	w := newTill(t)

	p := w.pay(w.bill(300))
	if got := w.balance("1000"); got != -300 {
		t.Errorf("the bank account has %d", got)
	}

	w.Exec(`update connection set status = 'disabled' where team_id = @team`, nil)
	w.work()
	w.wantStatus(p, payment.Failed)

	if w.bank.count(p) != 0 || w.balance("1000") != 0 {
		t.Errorf("the bank holds %d payments, the account has %d", w.bank.count(p), w.balance("1000"))
	}
}

// A payment that the bank holds twice is shown as such, and the bank's own words are shown to no one.
//
// Proves: ERR-100.
func TestABankThatPaysTwice(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	w.bank.twice = true
	w.bank.submits = []fault{lostAfter}
	w.bank.finds = []fault{}
	p := w.pay(w.payout(700))
	w.bank.held[p.String()] = []*slip{{ref: "marker-1", state: pay.Paid}, {ref: "marker-2", state: pay.Paid}}
	w.work()
	got := w.read(p)
	w.wantIssue(p, "duplicatePayment")

	for _, private := range []string{"marker", "R01-private"} {
		if contains(got.Body, private) {
			t.Errorf("the answer tells %s: %s", private, got.Body)
		}
	}

	w.wantStatus(p, payment.Paid)
}
