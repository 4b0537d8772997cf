package payment_test

import (
	"slices"
	"testing"

	"stayledger/domain/settlement/payment"
	"stayledger/platform/apierr"
	"stayledger/provider/pay"
)

// Proves: INIT-25, INIT-26, AUTH-44, RSN-44, RSN-45.
func TestRecovery(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	out := w.payout(700)
	p := w.pay(out)

	path := "/transactions/" + out.String() + "/provider-payments/" + p.String()
	for _, action := range []string{"/cancel", "/archive"} { // requested
		w.Post(path+action, nil).WantError(apierr.CodeBadRequest, apierr.ReasonProviderPaymentRecoveryUnavailable)
	}

	w.work()
	w.Post(path+"/archive", nil).WantError(apierr.CodeBadRequest, apierr.ReasonProviderPaymentRecoveryUnavailable)
	w.Post("/transactions/"+w.bill(1).String()+"/provider-payments/"+p.String()+"/cancel", nil).WantError(apierr.CodeNotFound, "")

	answer := w.Post(path+"/cancel", nil).Want(202)
	if answer.String("type") != "provider-payment-recovery" || answer.ID("resource.id") != out {
		t.Errorf("acknowledgement %s", answer.Body)
	}

	busy := w.Post(path+"/cancel", nil).WantError(apierr.CodeConflict, apierr.ReasonProviderPaymentRecoveryInProgress)
	if busy.String("context.operationId") != answer.String("operationId") {
		t.Errorf("context %s", busy.Body)
	}

	w.Post(path+"/archive", nil).WantError(apierr.CodeConflict, apierr.ReasonProviderPaymentRecoveryInProgress)
	w.work()

	if got := w.operation(answer); got != "completed" {
		t.Errorf("the recovery is %s", got)
	}

	newTill(t).Get("/operations/"+answer.String("operationId")).WantError(apierr.CodeNotFound, "")
	w.wantStatus(p, payment.Canceled)

	if got := w.Get("/transactions/" + out.String()).Want(200).String("status"); got != "inactive" || w.balance("1000") != 0 {
		t.Errorf("the payout is %s, the account has %d", got, w.balance("1000"))
	}

	for _, action := range []string{"/cancel", "/archive"} { // recovered
		w.Post(path+action, nil).WantError(apierr.CodeBadRequest, apierr.ReasonProviderPaymentRecoveryUnavailable)
	}

	paid := w.payout(5)
	q := w.pay(paid)
	w.work()
	w.bank.becomes(q, pay.Paid)
	w.ask()

	for _, action := range []string{"cancel", "archive"} {
		w.Post("/transactions/"+paid.String()+"/provider-payments/"+q.String()+"/"+action, nil).
			WantError(apierr.CodeBadRequest, apierr.ReasonProviderPaymentRecoveryUnavailable)
	}
}

// However a cancellation breaks off, it can be done again and the payment is as the bank says.
func TestEveryFailureOfACancellation(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		faults    []fault
		late      bool
		status    payment.Status
		operation string
		reason    string
	}{
		"in time":              {status: payment.Canceled, operation: "completed"},
		"lost before":          {faults: []fault{lostBefore}, status: payment.Canceled, operation: "completed"},
		"lost after":           {faults: []fault{lostAfter}, status: payment.Canceled, operation: "completed"},
		"dies before":          {faults: []fault{diesBefore}, status: payment.Canceled, operation: "completed"},
		"dies after":           {faults: []fault{diesAfter}, status: payment.Canceled, operation: "completed"},
		"refused":              {faults: []fault{refuses}, status: payment.Submitted, operation: "failed", reason: "refused"},
		"too late":             {late: true, status: payment.Paid, operation: "failed"},
		"lost for good, done":  {faults: slices.Repeat([]fault{lostAfter}, 20), status: payment.Submitted, operation: "failed", reason: "unavailable"},
		"lost for good, never": {faults: slices.Repeat([]fault{lostBefore}, 20), status: payment.Submitted, operation: "failed", reason: "unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTill(t)
			out := w.payout(700)
			p := w.pay(out)
			w.work()

			if c.late {
				w.bank.becomes(p, pay.Paid)
			}

			w.bank.cancels = c.faults
			if got := w.recover("cancel", out, p); got != c.operation {
				t.Errorf("the recovery is %s", got)
			}

			w.wantStatus(p, c.status)

			// A person reads at the payment why it was not taken back, until it is.
			if c.status != payment.Submitted {
				w.wantIssue(p, "")
				return
			}

			w.read(p).WantFields("issues.0", object{"code": "notTakenBack", "severity": "error", "context": object{"error": c.reason}})

			w.bank.cancels = nil
			w.ask() // what became of it is heard, and another recovery is possible

			again := "cancel"
			if w.read(p).String("status") == "canceled" {
				again = "archive"
			}

			if got := w.recover(again, out, p); got != "completed" {
				t.Errorf("the second recovery is %s", got)
			}

			w.wantStatus(p, payment.Canceled)
			w.wantIssue(p, "")
		})
	}
}

// A payment that was given up can be canceled at once when the bank does not know it, and when it does.
func TestCancelingWhatWasNeverSent(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	out := w.payout(700)
	p := w.pay(out)
	w.bank.leaves(true)
	w.work()
	w.bank.leaves(false)
	w.wantStatus(p, payment.Sending)
	w.wantIssue(p, "givenUp")

	if got := w.recover("cancel", out, p); got != "completed" {
		t.Errorf("the recovery is %s", got)
	}

	w.wantStatus(p, payment.Canceled)
	// Late news of it do not pass in silence.
	w.callBack("m1", pay.Outcome{Key: p.String(), Ref: "r", State: pay.Submitted}).Want(204)
	w.wantStatus(p, payment.Canceled)
	w.wantIssue(p, "contradictoryNews")

	known := w.payout(900)
	q := w.pay(known)
	w.bank.submits, w.bank.finds = []fault{lostAfter}, slices.Repeat([]fault{"x"}, 20)
	w.work()
	w.bank.finds = nil
	w.wantStatus(q, payment.Sending)
	w.calm() // the bank may have been slow

	if got := w.recover("cancel", known, q); got != "completed" || w.bank.held[q.String()][0].state != pay.Canceled {
		t.Errorf("the recovery is %s", got)
	}
}

// The payout of a closed period stays as it was reported; what did not leave is given back on the first open day.
func TestArchivingALockedPayout(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	out := w.payout(700)
	p := w.pay(out)
	w.bank.submits = []fault{refuses}
	w.work()
	w.Exec(`update team set books_closed_at = '2026-03-01' where id = @team`, nil)

	if got := w.recover("archive", out, p); got != "completed" {
		t.Errorf("the recovery is %s", got)
	}

	back := w.read(p).ID("returnTransactionId")

	got := w.Get("/transactions/" + back.String()).Want(200)
	if got.Int("total") != -700 || w.balance("1000") != 0 || w.Get("/transactions/"+out.String()).Want(200).String("status") != "active" {
		t.Errorf("the return is %s", got.Body)
	}

	w.Post("/transactions/"+out.String()+"/pay", object{"connectionId": w.connection}).WantError(apierr.CodeConflict, apierr.ReasonAlreadyPaid)
}

// A payout that is part of a return is not archived: what is left of it is given back, so that its statement can be
// paid again.
func TestArchivingAPayoutThatIsPartOfAReturn(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	out := w.payout(70_000)
	p := w.pay(out)
	w.work()
	w.bank.becomes(p, pay.Paid)
	w.ask()
	w.Post("/transactions/"+out.String()+"/returns", object{"amount": 10_000}).Want(201)
	w.Exec(`update listing set status = 'inactive' where team_id = @team`, nil) // so that the rest cannot be booked
	w.bank.becomes(p, pay.Returned)
	w.ask()
	w.wantIssue(p, "returnNotBooked")
	w.Exec(`update listing set status = 'active' where team_id = @team`, nil)

	if got := w.recover("archive", out, p); got != "completed" || w.balance("1000") != 0 {
		t.Errorf("the recovery is %s, the account has %d", got, w.balance("1000"))
	}

	anew := w.Post("/transactions/"+out.String()+"/replacements", object{}).Want(201).ID("id")
	q := w.pay(anew)
	w.bank.submits = []fault{refuses}
	w.work()

	if got := w.recover("archive", anew, q); got != "completed" || w.balance("1000") != 0 {
		t.Errorf("the recovery is %s, the account has %d", got, w.balance("1000"))
	}

	w.Post("/transactions/"+anew.String()+"/replacements", object{}).Want(201)

	if w.balance("1000") != -70_000 {
		t.Errorf("the account has %d", w.balance("1000"))
	}
}

// A payment that failed and was paid all the same is not put away, since it would be paid twice, until the provider
// says that it has failed.
//
// Proves: RSN-45.
func TestADoubtfulFailureIsNotArchived(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	out := w.payout(700)
	p := w.pay(out)
	w.bank.submits = []fault{fails}
	w.work()
	w.wantStatus(p, payment.Failed)
	w.bank.becomes(p, pay.Paid)
	w.callBack("m1", pay.Outcome{Key: p.String(), Ref: "ref-" + p.String() + "-0", State: pay.Paid}).Want(204)
	w.wantIssue(p, "contradictoryNews")

	if got := w.recover("archive", out, p); got != "failed" {
		t.Errorf("the recovery is %s", got)
	}

	if got := w.Get("/transactions/" + out.String()).Want(200).String("status"); got != "active" {
		t.Errorf("the payout is %s", got)
	}

	w.bank.becomes(p, pay.Failed)

	if got := w.recover("archive", out, p); got != "completed" {
		t.Errorf("the recovery is %s", got)
	}
}
