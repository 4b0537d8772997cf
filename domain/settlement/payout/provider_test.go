package payout_test

import (
	"context"
	"sync"
	"testing"

	"stayledger/app"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/provider/pay"
	"stayledger/test/world"
)

// teller is a provider that gives every payment the state that is due to its amount, submitted unless it says
// otherwise.
type teller struct {
	mu     sync.Mutex
	states map[money.Cents]pay.State
	seen   map[string]pay.Outcome
}

func (*teller) Check(context.Context) error { return nil }

func (*teller) VerifyAccount(context.Context, string, pay.Account) (pay.Verification, error) {
	return pay.Verified, nil
}

func (p *teller) Submit(_ context.Context, b pay.Batch) (pay.Receipt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	var r pay.Receipt

	for _, y := range b.Payments {
		state, ok := p.states[y.Amount]
		if !ok {
			state = pay.Submitted
		}

		o := pay.Outcome{Key: y.Key, Ref: "ref-" + y.Key, State: state, Code: "R03"}
		p.seen[y.Key] = o
		r.Outcomes = append(r.Outcomes, o)
	}

	return r, nil
}

func (p *teller) Find(_ context.Context, key string) (pay.Outcome, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if o, ok := p.seen[key]; ok {
		return o, nil
	}

	return pay.Outcome{}, pay.ErrUnknown
}

func (*teller) Cancel(context.Context, string) (pay.Outcome, error) {
	return pay.Outcome{}, pay.ErrRefused
}

// newPayingHouse is a house with owners who can be paid through a connection.
func newPayingHouse(t *testing.T, states map[money.Cents]pay.State) (h *house, c id.ID) {
	t.Helper()

	p := &teller{states: states, seen: map[string]pay.Outcome{}}
	w := world.New(t, func(o *app.External) {
		o.Providers = func(*connection.Connection) (pay.Provider, error) { return p, nil }
	})
	h = furnish(w)
	c = id.New(h.DB.Now())
	h.Exec(`insert into connection (team_id, id, short_ref, app_id, name, status, credentials, created_at, updated_at)
		values (@team, @id, @ref, 'payProvider', 'Pay', 'active', @credentials, now(), now())`, db.Args{
		"id": c, "ref": c.ShortRef(), "credentials": h.Box.Seal([]byte(`{"apiKey":"k","callbackSecret":"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}`), "connection:"+c.String()),
	})
	h.method(h.ada)
	h.method(h.ben)

	return h, c
}

// today is the date of payments that leave now.
func (h *house) today() string { return day.Of(h.DB.Now()).String() }

// method gives a contact a bank account that payments can be sent to.
func (h *house) method(contact id.ID) {
	h.T.Helper()
	m := id.New(h.DB.Now())
	h.Exec(`insert into payee_method (team_id, id, contact_id, status, account_holder, account_type, last4, routing_last4, numbers, is_default, chosen_at, created_at, updated_at)
		values (@team, @id, @contact, 'verified', 'Owner', 'checking', '6789', '0021', @numbers, true, @now::timestamptz - interval '4 days', @now, @now)`, db.Args{
		"now": h.DB.Now(), "id": m, "contact": contact, "numbers": h.Box.Seal([]byte(`{"routing":"021000021","account":"123456789"}`), "payee_method:"+m.String()),
	})
}

// A payment through a provider is acknowledged at once and has the state of its payments; who owes is
// left out.
// Proves: OPS-71, OPS-73, OPS-75, OPS-76, OPS-77, OPS-78, OPS-79, OPEN-03, OPEN-34, INIT-23, INIT-24.
func TestPayThroughAProvider(t *testing.T) {
	t.Parallel()
	h, c := newPayingHouse(t, nil)
	january := h.january()
	owing := h.earn(h.Listing("Cabin", h.ada), "2026-01", -5000)
	even := h.earn(h.Listing("Barn", h.ada), "2026-01", 0)
	o := with(body(h.today(), january, owing, even), object{"connectionId": c})

	r := h.preview(o)
	if r.String("results.0.payouts.0.provider") != "payProvider" || r.Len("results.1.payouts") != 0 {
		t.Errorf("the preview is %s", r.Body)
	}

	ack := h.Post("/statements/pay", o).Want(202)
	if ack.String("type") != "provider-payment" || ack.Has("results") {
		t.Errorf("acknowledgement %s", ack.Body)
	}

	path := "/operations/" + ack.String("operationId") + "/result"
	if pending := h.Get(path).Want(202); pending.String("operationId") != ack.String("operationId") || pending.Has("results") {
		t.Errorf("pending: %s", pending.Body)
	}

	h.wantPayouts(january, 2, 63554)
	h.Work()
	r = h.Get(path).Want(200)
	wantEntry(t, r, "results.0", "requested: The payment was requested", 38132, 25422)
	wantEntry(t, r, "results.1", "skipped: The owner owes 50.00 USD")
	wantEntry(t, r, "results.2", "skipped: Nothing is due")

	if r.String("providerOperation.status") != "completed" || r.Len("results.1.payouts") != 0 {
		t.Errorf("result %s", r.Body)
	}

	var payments []id.ID

	for i, contact := range []id.ID{h.ada, h.ben} {
		at := "results.0.payouts." + string(rune('0'+i))
		payments = append(payments, r.ID(at+".paymentId"))

		p := h.Get("/payments/" + payments[i].String()).Want(200)
		if r.String(at+".provider") != "payProvider" || p.ID("contactId") != contact || p.ID("transactionId") != r.ID(at+".transactionId") || p.Int("amount") != r.Int(at+".amount") {
			t.Errorf("payment %s of %v", p.Body, r.Value(at))
		}
	}

	becomes := func(payment id.ID, status string) *apitest.Response {
		h.Exec(`update payment set status = @status where team_id = @team and id = @id`, db.Args{"id": payment, "status": status})
		return h.Get(path).Want(200)
	}
	wantEntry(t, becomes(payments[0], "paid"), "results.0", "requested: The payment was requested", 38132, 25422)
	wantEntry(t, becomes(payments[1], "paid"), "results.0", isRecorded, 38132, 25422)
	wantEntry(t, becomes(payments[1], "returned"), "results.0", "failed: A payment came back", 38132, 25422)
	wantEntry(t, becomes(payments[1], "failed"), "results.0", "failed: A payment failed", 38132, 25422)

	// There is nothing for the provider to do.
	if r := h.Post("/statements/pay", with(body(h.today(), even), object{"connectionId": c})).Want(200); r.Has("operationId") || r.Len("results") != 1 {
		t.Errorf("nothing was dispatched: %s", r.Body)
	}
}

// A payout with a failed payment counts as paid until it is archived, so its statement is not paid over it. Proves:
// RSN-06, OPS-74, OPS-80.
func TestAFailedPaymentIsArchivedFirst(t *testing.T) {
	t.Parallel()
	h, c := newPayingHouse(t, map[money.Cents]pay.State{38132: pay.Failed})
	january := h.january()
	through := func(date string) object { return with(body(date, january), object{"connectionId": c}) }
	op := h.Post("/statements/pay", through(h.today())).Want(202).String("operationId")
	h.Work()
	r := h.Get("/operations/" + op + "/result").Want(200)
	wantEntry(t, r, "results.0", "failed: A payment failed", 38132, 25422)
	original := r.ID("results.0.payouts.0.transactionId")

	for _, path := range []string{"/statements/pay", "/statements/payouts"} {
		e := h.Post(path, body("2026-02-06", january)).WantError(apierr.CodeBadRequest, apierr.ReasonArchiveRequired)
		if e.ID("context.transactionIds.0") != original || e.ID("context.statementIds.0") != january {
			t.Errorf("context %s", e.Body)
		}
	}

	wantEntry(t, h.preview(body("2026-02-06", january)), "results.0", "skipped: The original has to be archived or returned first")
	h.Post("/transactions/"+original.String()+"/provider-payments/"+r.String("results.0.payouts.0.paymentId")+"/archive", nil).Want(202)
	h.Work()
	wantEntry(t, h.Post("/statements/pay", body("2026-02-06", january)).Want(200), "results.0", isRecorded, 38132)
	h.wantPayouts(january, 2, 63554)
}

// The preview shows a payment that can never be made by its data, as it is refused (decision of 2026-11-25): a name
// that no bank's file can hold, and money in another currency.
func TestAPreviewTellsWhatCanNeverBePaid(t *testing.T) {
	t.Parallel()
	h, connected := newPayingHouse(t, nil)
	h.Exec(`update connection set app_id = 'nacha', credentials = null where team_id = @team`, nil)
	h.Exec(`update payee_method set account_holder = '李小龍' where team_id = @team and contact_id = @ben`, db.Args{"ben": h.ben})
	january, euros := h.january(), h.bank("Euro", "eur")
	h.Post("/transactions", object{"type": "deposit", "date": "2026-02-05", "currency": "eur", "accountId": euros, "lines": array{
		object{"accountId": h.Account("4000"), "amount": 70000, "listingId": h.villa.ID, "party": "owners"},
	}}).Want(201)
	h.Post("/statements", object{"month": "2026-02", "currency": "eur", "status": "published", "listingPeriodIds": array{h.villa.Period}}).Want(201)
	euro := h.Get("/statements?month=2026-02&currency=eur").Want(200).ID("data.0.id")

	for _, c := range []struct {
		statement id.ID
		bank      id.ID
		reason    apierr.Reason
		context   object
	}{
		{january, h.Account("1000"), apierr.ReasonPayProviderRecipientNotReady, object{"cause": "holderInvalid"}},
		{euro, euros, apierr.ReasonPayProviderPaymentNotSupported, object{"cause": "currencyNotSupported", "currency": "eur"}},
	} {
		through := with(body(h.today(), c.statement), object{"connectionId": connected, "bankAccountId": c.bank})
		h.preview(through).WantFields("results.0", object{"status": "previewed", "message": "The payouts cannot be made: see the issues"}).
			WantFields("results.0.issues.0", object{"code": c.reason, "severity": "error"}).
			WantFields("results.0.issues.0.context", c.context)
		h.Post("/statements/pay", through).WantError(apierr.CodeBadRequest, c.reason).WantFields("context", c.context)
		h.wantPayouts(c.statement, 0, 0)
	}
}

// All people that the provider is to pay have a bank account there; a preview says who has none.
func TestRecipientsMustBeReady(t *testing.T) {
	t.Parallel()
	h, c := newPayingHouse(t, nil)
	eve := h.Contact("owner", "Eve")
	cabin, january := h.earn(h.Listing("Cabin", eve), "2026-01", 5000), h.january()
	o := with(body(h.today(), january, cabin), object{"connectionId": c})

	r := h.preview(o)
	if r.Len("results.0.issues") != 0 || r.String("results.1.issues.0.code") != "payProviderRecipientNotReady" || r.ID("results.1.issues.0.context.contactId") != eve {
		t.Errorf("the preview is %s", r.Body)
	}

	h.Post("/statements/pay", o).WantError(apierr.CodeBadRequest, apierr.ReasonPayProviderRecipientNotReady)
	h.wantPayouts(january, 0, 0)

	o["connectionId"] = january
	for _, path := range []string{"/statements/pay", "/statements/payouts/preview"} {
		h.Post(path, o).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "connectionId")
	}
}
