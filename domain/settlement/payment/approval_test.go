package payment_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	"stayledger/domain/settlement/payment"
	"stayledger/domain/tenant/access"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// limit sets the limits of the till.
func (w *till) limit(limits object) *apitest.Response {
	w.tb.Helper()
	return w.Put("/payment-limits", limits).Want(200)
}

// second is another person who may do everything.
func (w *till) second() *apitest.Team { return w.As(access.Scopes(), nil) }

func (w *till) approvalOf(p id.ID) id.ID {
	w.tb.Helper()
	return w.read(p).ID("approvalId")
}

// audited is how often an endpoint is in the audit trail.
func (w *till) audited(endpoint string) int {
	w.tb.Helper()

	var n int

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int](ctx, tx, `select count(*)::integer from audit_action where team_id = @team and endpoint = @endpoint`,
			db.Args{"team": tx.Team, "endpoint": endpoint})

		return err
	})

	return n
}

// Neither an owner's balance nor the account is overdrawn by paying earlier bookings; a bill is paid from the
// balance of the account.
func TestAProviderPaysNoMoreThanThereIs(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	pay := func(transaction id.ID, more object) *apitest.Response {
		body := object{"connectionId": w.connection}
		maps.Copy(body, more)

		return w.Post("/transactions/"+transaction.String()+"/pay", body)
	}
	whole := w.payout(funded)
	most := w.payout(1)

	r := pay(most, nil).WantError(apierr.CodeConflict, "")
	if r.String("context.reason") != "insufficientFunds" || r.Int("context.requested") != 1 || r.Int("context.available") != 0 || r.Int("context.collected") != 0 ||
		r.Int("context.fundingBalance") != 0 || r.String("context.balance") != "owner" {
		t.Errorf("the refusal is %s", r.Body)
	}

	pay(whole, nil).WantError(apierr.CodeConflict, "") // the cent that is booked with it has been taken from the owner
	w.Delete("/transactions/" + most.String()).Want(204)
	pay(whole, nil).Want(202)

	bill := w.bill(5)

	r = pay(bill, nil).WantError(apierr.CodeConflict, "")
	if r.String("context.reason") != "insufficientOwnerFunds" || r.Int("context.available") != 0 || r.Int("context.fundingBalance") != 0 {
		t.Errorf("the refusal is %s", r.Body)
	}

	over := object{"allowOverdraft": true}
	clerk := w.As(slices.DeleteFunc(access.Scopes(), func(s string) bool { return s == "payments:override" }), nil)
	clerk.Post("/transactions/"+bill.String()+"/pay", object{"connectionId": w.connection, "allowOverdraft": true}).WantError(apierr.CodeForbidden, "")
	pay(bill, object{"date": "2026-02-20"}).WantError(apierr.CodeBadRequest, "").WantIssue("dateInPast", "date")
	pay(bill, over).Want(202)
	w.work()

	if len(w.bank.held) != 2 {
		t.Errorf("the bank holds %d payments", len(w.bank.held))
	}
}

// A team limits single payments and days; who has set what stays known.
func TestLimitsOfPayments(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	w.As([]string{"team:read", "team:write"}, nil).Put("/payment-limits", object{"perPayment": 5}).WantError(apierr.CodeForbidden, "")
	w.Put("/payment-limits", object{"perPayment": 0}).WantError(apierr.CodeBadRequest, "")
	w.limit(object{"perPayment": 1000, "perDay": 1500})

	pay := func(transaction id.ID) *apitest.Response {
		return w.Post("/transactions/"+transaction.String()+"/pay", object{"connectionId": w.connection, "allowOverdraft": true})
	}

	r := pay(w.bill(1001)).WantError(apierr.CodeConflict, "")
	if r.String("context.reason") != "paymentLimitExceeded" || r.String("context.limit") != "perPayment" || r.Int("context.allowed") != 1000 || r.Int("context.requested") != 1001 {
		t.Errorf("the refusal is %s", r.Body)
	}

	pay(w.bill(1000)).Want(202)

	r = pay(w.payout(501)).WantError(apierr.CodeConflict, "")
	if r.String("context.limit") != "perDay" || r.Int("context.allowed") != 1500 || r.Int("context.requested") != 501 || r.Int("context.asked") != 1000 {
		t.Errorf("the refusal is %s", r.Body)
	}

	var group sync.WaitGroup

	statuses, bills := make([]int, 6), make([]id.ID, 6)
	for i := range bills {
		bills[i] = w.bill(500)
	}

	for i := range statuses {
		group.Go(func() { statuses[i] = pay(bills[i]).Status })
	}

	group.Wait()
	slices.Sort(statuses)

	if !slices.Equal(statuses, []int{202, 409, 409, 409, 409, 409}) {
		t.Errorf("at the same time: %v", statuses)
	}

	w.limit(object{})
	pay(w.bill(2000)).Want(202)

	h := w.Get("/payment-limits").Want(200)
	if h.Value("perDay") != nil || h.Len("history") != 2 || h.Int("history.1.perDay") != 1500 || h.ID("history.1.changedBy") != w.User {
		t.Errorf("limits %s", h.Body)
	}
}

// Limits are in the team's currency. They say nothing of payments in another one.
func TestLimitsAreInTheTeamsCurrency(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	w.limit(object{"perPayment": 1000, "perDay": 1500, "approvalFrom": 900})

	pay := func(bill id.ID) *apitest.Response {
		return w.Post("/transactions/"+bill.String()+"/pay", object{"connectionId": w.connection, "allowOverdraft": true})
	}
	dollars, more := w.bill(1001), w.bill(2000)
	pay(dollars).WantError(apierr.CodeConflict, "").WantFields("context", object{"reason": "paymentLimitExceeded", "limit": "perPayment"})

	w.Exec(`update team set default_currency = 'eur' where team_id = @team`, nil)
	pay(dollars).Want(202)
	large := w.pay(more)
	w.work()
	w.wantStatus(large, payment.Submitted)
}

// A waiting payment is unpaid and no provider hears of it; a second person sends it, once, however often and whoever
// else approves.
func TestASecondPersonApproves(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	w.limit(object{"approvalFrom": 1000})
	small, bill, out := w.pay(w.bill(999)), w.bill(1000), w.payout(2000)
	forBill, forOut := w.pay(bill), w.pay(out)
	w.work()
	w.wantStatus(small, payment.Submitted)
	w.wantStatus(forBill, payment.Awaiting)
	w.wantStatus(forOut, payment.Awaiting)

	if len(w.bank.held) != 1 || w.Get("/transactions/"+bill.String()).Want(200).String("paidStatus") != "unpaid" {
		t.Errorf("the bank holds %d payments", len(w.bank.held))
	}

	if got := w.warnings(); !slices.Contains(got, warned{"paymentAwaitingApproval", 2000}) || slices.ContainsFunc(got, func(f warned) bool { return f.Code == "paymentStillBooked" }) {
		t.Errorf("warnings %v", got)
	}

	pending := w.Get("/approvals?status=pending&sort=amount").Want(200)
	if pending.Int("pagination.total") != 2 || pending.Int("data.0.amount") != 1000 || pending.Int("data.0.paymentCount") != 1 || pending.ID("data.0.requestedBy") != w.User ||
		w.Get("/payments?approvalIds="+pending.String("data.0.id")).Want(200).ID("data.0.id") != forBill {
		t.Errorf("approvals %s", pending.Body)
	}

	path := "/approvals/" + w.approvalOf(forBill).String()
	w.Post(path+"/approve", nil).WantError(apierr.CodeForbidden, apierr.ReasonSelfModification)
	w.Post(path+"/reject", object{"reason": "No"}).WantError(apierr.CodeForbidden, apierr.ReasonSelfModification)
	w.As([]string{"transactions:read", "transactions:pay"}, nil).Post(path+"/approve", nil).WantError(apierr.CodeForbidden, "")
	w.second().Post("/approvals/"+w.id().String()+"/approve", nil).WantError(apierr.CodeNotFound, "")
	newTill(t).Post(path+"/approve", nil).WantError(apierr.CodeNotFound, "")

	for _, p := range []id.ID{forBill, forOut} {
		path := "/approvals/" + w.approvalOf(p).String()
		statuses := make([]int, 24)

		var group sync.WaitGroup

		for i := range statuses {
			second := w.second()

			group.Go(func() { statuses[i] = second.Post(path+"/approve", nil).Status })
		}

		group.Wait()
		slices.Sort(statuses)

		if statuses[0] != http.StatusOK || statuses[1] != http.StatusConflict || statuses[23] != http.StatusConflict {
			t.Errorf("at the same time: %v", statuses)
		}
	}

	w.work()
	w.wantStatus(forBill, payment.Submitted)
	w.wantStatus(forOut, payment.Submitted)

	a := w.Get(path).Want(200)
	if len(w.bank.held) != 3 || w.Get("/transactions/"+bill.String()).Want(200).String("paidStatus") != "paid" || a.String("status") != "approved" ||
		a.ID("decidedBy") == w.User || w.Get("/operations/"+a.String("operationId")).Want(200).String("status") != "completed" {
		t.Errorf("the bank holds %d payments, %s", len(w.bank.held), a.Body)
	}

	if w.audited("approvePayments") != 2 {
		t.Errorf("%d approvals are in the trail", w.audited("approvePayments"))
	}
}

// What was rejected, taken back or archived never leaves, and can be paid anew.
func TestPaymentsThatAreNotApproved(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	w.limit(object{"approvalFrom": 1000})
	bill, out := w.bill(1000), w.payout(2000)
	rejected, archived := w.pay(bill), w.pay(out)
	w.Put("/transactions/"+out.String(), object{"date": "2026-02-11"}).WantError(apierr.CodeConflict, apierr.ReasonPaymentAttempted)

	a := w.second().Post("/approvals/"+w.approvalOf(rejected).String()+"/reject", object{"reason": "Wrong vendor"}).Want(200)
	if a.String("status") != "rejected" || a.String("reason") != "Wrong vendor" || w.read(rejected).String("failure.code") != "paymentRejected" {
		t.Errorf("the approval is %s, the payment %s", a.Body, w.read(rejected).Body)
	}

	w.wantStatus(rejected, payment.Canceled)
	w.second().Post("/approvals/"+w.approvalOf(rejected).String()+"/approve", nil).WantError(apierr.CodeConflict, "")
	w.Delete("/transactions/" + out.String() + "?onLocked=archive").Want(204)
	w.wantStatus(archived, payment.Canceled)
	// Its payment keeps an archived payout; that it stays archived is all that can be done.
	if r := w.Delete("/transactions/"+out.String()).WantError(apierr.CodeBadRequest, apierr.ReasonInUse); r.String("context.suggestedOnLocked") != "archive" {
		t.Errorf("the refusal is %s", r.Body)
	}

	refused := w.second().Post("/approvals/"+w.approvalOf(archived).String()+"/approve", nil).WantError(apierr.CodeConflict, "")
	if refused.String("context.reason") != "approvalDecided" || refused.String("context.status") != "canceled" {
		t.Errorf("the refusal is %s", refused.Body)
	}

	other := w.payout(1500)
	inactive := w.pay(other)
	w.Put("/transactions/"+other.String(), object{"status": "inactive", "date": "2026-02-11"}).WantError(apierr.CodeConflict, apierr.ReasonPaymentAttempted)
	w.Put("/transactions/"+other.String(), object{"status": "inactive"}).Want(200)
	w.wantStatus(inactive, payment.Canceled)

	taken := w.pay(bill)
	if got := w.recover("cancel", bill, taken); got != "completed" {
		t.Errorf("the recovery is %s", got)
	}

	w.wantStatus(taken, payment.Canceled)
	again := w.payout(3000)
	back := w.pay(again)
	w.second().Post("/approvals/"+w.approvalOf(back).String()+"/reject", object{"reason": "No"}).Want(200)

	if w.Get("/transactions/"+again.String()).Want(200).String("status") != "inactive" || w.balance("1000") != 0 {
		t.Errorf("the account has %d", w.balance("1000"))
	}

	w.work()

	if len(w.bank.held) != 0 || w.Get("/approvals?status=pending").Want(200).Int("pagination.total") != 0 || w.Get("/approvals?status=canceled").Want(200).Int("pagination.total") != 3 {
		t.Errorf("the bank holds %d payments", len(w.bank.held))
	}

	w.limit(object{})
	w.pay(bill)
	w.work()

	if len(w.bank.held) != 1 {
		t.Errorf("the bank holds %d payments", len(w.bank.held))
	}
}

// An approval looks at the funds, the limits and the recipients' accounts of its own day: what is gone is not sent.
func TestAnApprovalLooksAtTheFundsAgain(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	w.limit(object{"approvalFrom": 1000})
	bill, out := w.pay(w.bill(5000)), w.pay(w.payout(4000))
	w.Expense(w.villa, "2026-02-10", funded-5000)

	approve := func(p id.ID) *apitest.Response {
		return w.second().Post("/approvals/"+w.approvalOf(p).String()+"/approve", nil)
	}
	for p, reason := range map[id.ID]string{bill: "insufficientOwnerFunds", out: "insufficientFunds"} {
		approve(p).WantError(apierr.CodeConflict, "").WantFields("context", object{"reason": reason})

		w.wantStatus(p, payment.Awaiting)
	}

	w.Stay(w.villa, "2026-02-12", 4000)
	w.limit(object{"approvalFrom": 1000, "perDay": 4999})

	if r := approve(bill).WantError(apierr.CodeConflict, ""); r.String("context.limit") != "perDay" {
		t.Errorf("the refusal is %s", r.Body)
	}

	w.limit(object{"approvalFrom": 1000, "perDay": 9000})

	verified := func(status string) {
		w.Exec(`update payee_method set status = @status, is_default = @status = 'verified' where team_id = @team and contact_id = @contact`, db.Args{"status": status, "contact": w.vendor})
	}
	verified("rejected")

	if r := approve(bill).WantError(apierr.CodeBadRequest, apierr.ReasonPayProviderRecipientNotReady); r.ID("context.contactIds.0") != w.vendor {
		t.Errorf("the refusal is %s", r.Body)
	}

	w.wantStatus(bill, payment.Awaiting)
	verified("verified")
	approve(bill).Want(200)
	approve(out).Want(200)
}
