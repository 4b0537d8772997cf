package payment_test

import (
	"context"
	"strings"
	"testing"

	"stayledger/domain/settlement/payment"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/provider/pay"
)

// published makes a statement of January that owes the owner money, and a payout of it.
func (w *till) published(cents int64) (statement, payout id.ID) {
	w.tb.Helper()
	w.Stay(w.villa, "2026-01-09", cents)
	w.Publish("2026-01", w.villa)
	statement = w.Statement(w.villa, "2026-01")
	payout = w.Post("/transactions", object{
		"type": "payout", "date": "2026-02-05", "contactId": w.owner,
		"lines": list{object{"amount": cents, "listingId": w.villa.ID, "contactId": w.owner, "ownerStatementId": statement}},
	}).Want(201).ID("id")

	return statement, payout
}

// received is the amount that payouts brought on a statement.
func (w *till) received(statement id.ID) int64 {
	w.tb.Helper()
	return w.Get("/statements/" + statement.String()).Want(200).Int("payment.received")
}

// Proves: RSN-05, RSN-06, RSN-39, RSN-40.
func TestReturnsAndReplacementsByHand(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	statement, out := w.published(70_000)
	path := "/transactions/" + out.String()
	w.Post(path+"/replacements", object{}).WantError(apierr.CodeBadRequest, apierr.ReasonArchiveRequired)
	w.Post(path+"/returns", object{"amount": 70_001}).WantError(apierr.CodeBadRequest, apierr.ReasonAmountExceedsReturnable)
	w.Post(path+"/returns", object{"amount": 0}).WantError(apierr.CodeBadRequest, "")

	back := w.Post(path+"/returns", object{"amount": 20_000, "date": "2026-02-20", "description": "Cheque came back"}).Want(201)
	if back.Int("total") != -20_000 || back.String("date") != "2026-02-20" || back.ID("contactId") != w.owner || back.ID("lines.0.ownerStatementId") != statement ||
		back.ID("lines.0.listingId") != w.villa.ID {
		t.Errorf("the return is %s", back.Body)
	}

	if w.received(statement) != 50_000 {
		t.Errorf("the statement received %d", w.received(statement))
	}

	w.Post(path+"/returns", object{"amount": 50_001}).WantError(apierr.CodeBadRequest, apierr.ReasonAmountExceedsReturnable)
	w.Post(path+"/returns", object{}).Want(201)
	w.Post(path+"/returns", object{}).WantError(apierr.CodeBadRequest, apierr.ReasonAmountExceedsReturnable)

	if w.received(statement) != 0 || w.balance("1000") != 70_000 {
		t.Errorf("the statement received %d", w.received(statement))
	}

	w.Post(path+"/replacements", object{"amount": 70_001}).WantError(apierr.CodeBadRequest, apierr.ReasonAmountExceedsReturnable)
	anew := w.Post(path+"/replacements", object{"amount": 60_000}).Want(201)
	w.Post(path+"/replacements", object{"amount": 10_001}).WantError(apierr.CodeBadRequest, apierr.ReasonAmountExceedsReturnable)

	if w.received(statement) != 60_000 || anew.Int("total") != 60_000 {
		t.Errorf("the statement received %d", w.received(statement))
	}

	for _, part := range []id.ID{out, back.ID("id"), anew.ID("id")} {
		w.Put("/transactions/"+part.String(), object{"date": "2026-02-21"}).WantError(apierr.CodeBadRequest, apierr.ReasonPaymentReturnInvolved)
		w.Delete("/transactions/"+part.String()).WantError(apierr.CodeBadRequest, apierr.ReasonPaymentReturnInvolved)
		w.Delete("/transactions/"+part.String()+"?onLocked=archive").WantError(apierr.CodeBadRequest, apierr.ReasonPaymentReturnInvolved)
		w.Put("/transactions/"+part.String(), object{"uniqueRef": part.String()}).Want(200)
	}

	for _, one := range []id.ID{back.ID("id"), w.bill(5)} {
		w.Post("/transactions/"+one.String()+"/returns", object{}).WantError(apierr.CodeBadRequest, apierr.ReasonPaymentReturnNotEligible)
	}

	archived := w.payout(40)
	w.Delete("/transactions/" + archived.String() + "?onLocked=archive").Want(204)
	w.Post("/transactions/"+archived.String()+"/returns", object{}).WantError(apierr.CodeBadRequest, apierr.ReasonPaymentReturnNotEligible)
	w.Post("/transactions/"+archived.String()+"/replacements", object{}).Want(201)
}

// Proves: RSN-06, RSN-40.
func TestAFailedPaymentIsArchivedBeforeItIsReplaced(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	statement, out := w.published(70_000)
	p := w.pay(out)
	path := "/transactions/" + out.String()
	w.Post(path+"/returns", object{}).WantError(apierr.CodeBadRequest, apierr.ReasonPaymentReturnNotEligible)
	w.bank.submits = []fault{refuses}
	w.work()
	w.Post(path+"/returns", object{}).WantError(apierr.CodeBadRequest, apierr.ReasonPaymentReturnNotEligible)
	w.Post(path+"/replacements", object{}).WantError(apierr.CodeBadRequest, apierr.ReasonArchiveRequired)

	if got := w.recover("archive", out, p); got != "completed" || w.received(statement) != 0 {
		t.Errorf("the recovery is %s", got)
	}

	anew := w.Post(path+"/replacements", object{}).Want(201)
	q := w.pay(anew.ID("id"))
	w.work()
	w.wantStatus(q, payment.Submitted)

	if w.received(statement) != 70_000 {
		t.Errorf("the statement received %d", w.received(statement))
	}
}

// Money that a bank gives back is booked once, and leaves the statement unpaid.
func TestTheBankReturnsAPayment(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	statement, out := w.published(70_000)
	p := w.pay(out)
	w.work()
	w.Post("/transactions/"+out.String()+"/returns", object{}).WantError(apierr.CodeBadRequest, apierr.ReasonPaymentReturnNotEligible) // it may still arrive
	w.bank.becomes(p, pay.Paid)
	w.ask()
	w.Post("/transactions/"+out.String()+"/returns", object{"amount": 10_000}).Want(201) // somebody was quicker by hand
	w.bank.becomes(p, pay.Returned)
	w.Exec(`update team set books_closed_at = '2030-01-01' where id = @team`, nil)
	w.ask()
	w.wantStatus(p, payment.Returned)
	w.wantIssue(p, "")

	back := w.Get("/transactions/" + w.read(p).String("returnTransactionId")).Want(200)
	if back.Int("total") != -60_000 || back.String("date") != "2030-01-01" || w.received(statement) != 0 {
		t.Errorf("the return is %s", back.Body)
	}

	w.Post("/transactions/"+out.String()+"/pay", object{"connectionId": w.connection}).WantError(apierr.CodeConflict, apierr.ReasonAlreadyPaid)
	w.Post("/transactions/"+out.String()+"/provider-payments/"+p.String()+"/archive", nil).
		WantError(apierr.CodeBadRequest, apierr.ReasonProviderPaymentRecoveryUnavailable)
}

// A bill is open when its payment comes back, and can be paid again at once.
func TestTheBankReturnsThePaymentOfABill(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	bill := w.bill(300)
	p := w.pay(bill)
	w.work()
	w.bank.becomes(p, pay.Returned)
	w.ask()
	w.wantStatus(p, payment.Returned)

	if got := w.Get("/transactions/" + bill.String()).Want(200).String("paidStatus"); got != "unpaid" || w.balance("1000") != 0 {
		t.Errorf("the bill is %s, the account has %d", got, w.balance("1000"))
	}

	q := w.pay(bill)
	w.work()
	w.wantStatus(q, payment.Submitted)
}

// A return that cannot be booked is an issue; the recovery books it when it can be.
func TestAReturnThatCannotBeBooked(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	out := w.payout(700)
	p := w.pay(out)
	w.work()
	w.Exec(`update listing set status = 'inactive' where team_id = @team`, nil)
	w.bank.becomes(p, pay.Returned)
	w.ask()
	w.wantStatus(p, payment.Returned)
	w.wantIssue(p, "returnNotBooked")

	if w.balance("1000") != -700 {
		t.Errorf("the account has %d", w.balance("1000"))
	}

	w.Exec(`update listing set status = 'active' where team_id = @team`, nil)

	if got := w.recover("archive", out, p); got != "completed" || w.balance("1000") != 0 {
		t.Errorf("the recovery is %s, the account has %d", got, w.balance("1000"))
	}

	w.wantIssue(p, "")
}

// A provider that works by files makes one file per batch, whatever happens, and gets returns by a file.
func TestFilesForABank(t *testing.T) {
	t.Parallel()

	for name, faults := range map[string][]fault{
		"at once": nil, "dies before": {diesBefore}, "dies after": {diesAfter}, "lost": {lostBefore, diesAfter},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTill(t)
			w.bank.files, w.bank.submits = true, faults
			w.connection = w.connect("nacha", w.bank)
			first, second := w.payout(700), w.payout(800)
			ids := w.request([]payment.Order{
				{TransactionID: first, ContactID: w.owner, Amount: 700, Currency: "usd"}, {TransactionID: second, ContactID: w.owner, Amount: 800, Currency: "usd"},
			})
			w.work()

			got := w.read(ids[0])
			if got.String("status") != "submitted" || got.String("fileId") == "null" || got.String("fileId") != w.read(ids[1]).String("fileId") {
				t.Errorf("payment %s", got.Body)
			}

			file := w.Get("/files/" + got.String("fileId")).Want(200)
			if file.String("kind") != "payment" || !strings.HasSuffix(file.String("filename"), "-0.txt") {
				t.Errorf("file %s", file.Body)
			}

			var files int64
			w.count(&files, `select count(*) from file where team_id = @team and kind = 'payment'`)

			if files != 1 {
				t.Errorf("%d files", files)
			}

			o := w.Get("/operations/" + got.String("operationId")).Want(200)
			if !contains(o.Body, got.String("fileId")) || o.String("status") != "completed" {
				t.Errorf("operation %s", o.Body)
			}

			w.Get(got.String("fileUrl")).Want(200)
			next := w.pay(w.payout(5))
			w.work()

			if name := w.Get("/files/" + w.read(next).String("fileId")).Want(200).String("filename"); !strings.HasSuffix(name, "-1.txt") {
				t.Errorf("the next file is %s", name)
			}
		})
	}
}

func (w *till) count(n *int64, sql string) {
	w.tb.Helper()
	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		*n, err = db.Get[int64](ctx, tx, sql, db.Args{"team": tx.Team})
		return err
	})
}

// Money that came back and was paid again with the statement is not replaced as well.
//
// Proves: RSN-05.
func TestWhatWasPaidAgainIsNotReplaced(t *testing.T) {
	t.Parallel()

	for name, back := range map[string]func(w *till, out id.ID){
		"returned": func(w *till, out id.ID) { w.Post("/transactions/"+out.String()+"/returns", object{}).Want(201) },
		"archived": func(w *till, out id.ID) { w.Delete("/transactions/" + out.String() + "?onLocked=archive").Want(204) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTill(t)
			statement, out := w.published(70_000)
			back(w, out)
			w.Post("/statements/pay", object{"statementIds": list{statement}, "date": "2026-02-25", "amounts": list{
				object{"statementId": statement, "contactId": w.owner, "centTotal": 60_000},
			}}).Want(200)

			path := "/transactions/" + out.String() + "/replacements"
			w.Post(path, object{"amount": 10_001}).WantError(apierr.CodeBadRequest, apierr.ReasonAmountExceedsReturnable)
			w.Post(path, object{}).Want(201)
			w.Post(path, object{}).WantError(apierr.CodeBadRequest, apierr.ReasonAmountExceedsReturnable)

			if w.received(statement) != 70_000 {
				t.Errorf("the statement received %d", w.received(statement))
			}
		})
	}
}
