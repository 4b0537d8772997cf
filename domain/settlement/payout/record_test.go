package payout_test

import (
	"context"
	"testing"

	"stayledger/domain/tenant/access"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

const (
	isRecorded = "recorded: The payouts are recorded"
	canBeMade  = "previewed: The payouts can be made"
	isPaid     = "skipped: Already has a payment"
	notReady   = "skipped: The owner statement is not published"
)

// Example J: what is available is paid out in the members' shares, and the next statement starts from there.
// Proves: OPS-72, OPS-73, OPS-75, OPS-76, OPS-78, OPEN-34, RSN-60.
func TestPayoutsOfExampleJ(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	january := h.january()

	r := h.preview(body("2026-02-05", january))
	wantEntry(t, r, "results.0", canBeMade, 38132, 25422)

	if r.Value("results.0.payouts.0.transactionId") != nil || r.String("providerOperation.type") != "statement-payout-preview" {
		t.Errorf("the preview is %s", r.Body)
	}

	h.wantPayouts(january, 0, 0)

	op := h.Post("/statements/payouts", body("2026-02-05", january)).Want(202)

	pending := h.Get("/operations/" + op.String("operationId") + "/result").Want(202)
	if pending.String("operationId") != op.String("operationId") || pending.String("type") != "statement-payout" || pending.Has("results") {
		t.Errorf("pending: %s", pending.Body)
	}

	h.wantPayouts(january, 0, 0)
	h.Work()
	r = h.Get("/operations/" + op.String("operationId") + "/result").Want(200)
	wantEntry(t, r, "results.0", isRecorded, 38132, 25422)

	if r.ID("results.0.statementId") != january || r.ID("results.0.payouts.0.contactId") != h.ada || r.ID("results.0.payouts.1.contactId") != h.ben {
		t.Errorf("result %s", r.Body)
	}

	if r.String("providerOperation.operationId") != op.String("operationId") || r.String("providerOperation.status") != "completed" || r.Value("failure") != nil {
		t.Errorf("operation %s", r.Body)
	}

	h.wantJournal(map[id.ID]int64{h.ada: 38132, h.ben: 25422})

	p := h.Get("/transactions/" + r.String("results.0.payouts.1.transactionId")).Want(200)
	if p.String("type") != "payout" || p.String("date") != "2026-02-05" || p.Int("total") != 25422 || p.ID("lines.0.ownerStatementId") != january {
		t.Errorf("payout %s", p.Body)
	}

	s := h.Get("/statements/" + january.String()).Want(200)
	if s.String("payment.status") != "paid" || s.Int("payment.received") != 63554 {
		t.Errorf("payment %v", s.Value("payment"))
	}

	february := h.Get("/statements/" + h.Statement(h.villa, "2026-02").String()).Want(200)
	if february.Int("financials.balanceStart") != 83554 || february.Int("financials.payouts") != -63554 || february.Int("financials.available") != 0 {
		t.Errorf("February %v", february.Value("financials"))
	}

	h.Put("/statements/"+january.String(), object{"status": "draft"}).WantError(apierr.CodeConflict, apierr.ReasonStatementHasPayouts)
	h.Delete("/statements/"+january.String()+"?onLocked=unlockAndDelete").WantError(apierr.CodeConflict, apierr.ReasonStatementHasPayouts)
}

// wantJournal compares the payouts' entries of February: debits of the owners, and a credit of the bank over all of
// them.
func (h *house) wantJournal(owners map[id.ID]int64) {
	h.T.Helper()

	type entry struct {
		AccountID, ContactID id.ID
		Party                string
		Cents                int64
	}

	var entries []entry

	h.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		entries, err = db.Select[entry](ctx, tx, `
			select account_id, contact_id, coalesce(party, '') as party, cent_total as cents from ledger_entry
			where team_id = @team and trigger_type = 'payout' and txn_at = '2026-02-05' and ledger = 'trust'`, db.Args{"team": tx.Team})

		return err
	})

	var bank, debits int64

	for _, e := range entries {
		switch e.AccountID {
		case h.Account("1000"):
			bank += e.Cents
		case h.Account("2400"):
			if e.Party != "owners" || owners[e.ContactID] != e.Cents {
				h.T.Errorf("entry %+v", e)
			}

			debits += e.Cents
		default:
			h.T.Errorf("entry %+v", e)
		}
	}

	if bank != -debits || len(entries) != 2*len(owners) {
		h.T.Errorf("the bank pays %d for %d in %d entries", bank, debits, len(entries))
	}
}

// Paying at once without a provider gives the results in the answer; a second time everything is paid already.
// Proves: RSN-04, OPEN-03, OPEN-34.
func TestPayRecordsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	january := h.january()
	r := h.Post("/statements/pay", body("2026-02-05", january)).Want(200)
	wantEntry(t, r, "results.0", isRecorded, 38132, 25422)

	if r.Value("results.0.payouts.0.provider") != nil || r.Value("results.0.payouts.0.paymentId") != nil {
		t.Errorf("answer %s", r.Body)
	}

	h.wantPayouts(january, 2, 63554)

	for _, path := range []string{"/statements/pay", "/statements/payouts"} {
		e := h.Post(path, body("2026-02-05", january)).WantError(apierr.CodeConflict, apierr.ReasonAlreadyPaid).WantIssue("alreadyPaid", "statementIds.0")
		if e.ID("context.statementIds.0") != january {
			t.Errorf("context %s", e.Body)
		}
	}

	wantEntry(t, h.preview(body("2026-02-05", january)), "results.0", isPaid)
	h.wantPayouts(january, 2, 63554)
}

// amount asks for an amount to a contact on a statement.
func amount(statement, contact id.ID) object {
	return object{"statementId": statement, "contactId": contact, "centTotal": 100}
}

// Only published statements are paid; a preview shows what is not ready. Proves: RSN-62.
func TestOnlyPublishedStatementsArePaid(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.Stay(h.villa, "2026-01-20", 50000)
	draft, stranger := h.Statement(h.villa, "2026-01"), h.Contact("owner", "Eve")

	for range 2 {
		// The members of a draft are known: one who is none is refused first.
		h.Post("/statements/pay", with(body("2026-02-05", draft), object{"amounts": array{amount(draft, stranger)}})).
			WantError(apierr.CodeBadRequest, "").WantIssue("notMember", "amounts.0.contactId")
		h.Post("/statements/pay", with(body("2026-02-05", draft), object{"amounts": array{amount(draft, h.ada)}})).
			WantError(apierr.CodeBadRequest, apierr.ReasonStatementNotReadyForPayment)

		for _, path := range []string{"/statements/pay", "/statements/payouts"} {
			h.Post(path, body("2026-02-05", draft)).WantError(apierr.CodeBadRequest, apierr.ReasonStatementNotReadyForPayment).
				WantIssue("statementNotReadyForPayment", "statementIds.0")
		}

		wantEntry(t, h.preview(body("2026-02-05", draft)), "results.0", notReady)
		h.Post("/statements", object{"month": "2026-01", "listingPeriodIds": array{h.villa.Period}}) // in review the second time
	}

	h.wantPayouts(draft, 0, 0)
}

// What is asked for twice, of statements that are not there or of people who own nothing is refused with its place.
func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	january, stranger := h.january(), h.Contact("owner", "Eve")
	foreign := newHouse(t).january()

	for _, c := range map[string]struct {
		body        object
		code, where string
	}{
		"twice":           {body("2026-02-05", january, january), "unique", "statementIds.1"},
		"other team":      {body("2026-02-05", january, foreign), "notFound", "statementIds.1"},
		"not selected":    {with(body("2026-02-05", january), object{"amounts": array{amount(foreign, h.ada)}}), "notSelected", "amounts.0.statementId"},
		"member twice":    {with(body("2026-02-05", january), object{"amounts": array{amount(january, h.ada), amount(january, h.ada)}}), "unique", "amounts.1.contactId"},
		"no member":       {with(body("2026-02-05", january), object{"amounts": array{amount(january, h.ada), amount(january, stranger)}}), "notMember", "amounts.1.contactId"},
		"unknown account": {with(body("2026-02-05", january), object{"bankAccountId": january}), "notFound", "bankAccountId"},
	} {
		for _, path := range []string{"/statements/pay", "/statements/payouts", "/statements/payouts/preview"} {
			h.Post(path, c.body).WantError(apierr.CodeBadRequest, "").WantIssue(c.code, c.where)
		}
	}

	h.Post("/statements/pay", with(body("2026-02-05", january), object{"bankAccountId": h.Account("2400")})).
		WantError(apierr.CodeBadRequest, apierr.ReasonNotBankAccount).WantIssue("notBankAccount", "bankAccountId")
	h.Post("/statements/payouts", with(body("2026-02-05", january), object{"connectionId": january})).
		WantError(apierr.CodeBadRequest, "").WantIssue("connectionNotSupported", "connectionId")
	h.Post("/statements/pay", body("2026-02-05")).WantError(apierr.CodeBadRequest, "")
	h.wantPayouts(january, 0, 0)
}

// An amount that the request names replaces what is suggested for its statement, down into the reserve; the rest is due
// later.
func TestAmountsReplaceTheSuggestion(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	january := h.january()
	amounts := func(ada, ben int64) object {
		return with(body("2026-02-05", january), object{"amounts": array{
			object{"statementId": january, "contactId": h.ben, "centTotal": ben}, object{"statementId": january, "contactId": h.ada, "centTotal": ada},
		}})
	}
	wantEntry(t, h.Post("/statements/pay", amounts(0, 0)).Want(200), "results.0", "skipped: Nothing is due")
	wantEntry(t, h.Post("/statements/pay", amounts(0, 50000)).Want(200), "results.0", isRecorded, 50000)
	// Ben has more than his share, so what is left is Ada's.
	wantEntry(t, h.preview(body("2026-02-05", january)), "results.0", canBeMade, 13554)
	r := h.Post("/statements/pay", amounts(60000, -20000)).Want(200)
	wantEntry(t, r, "results.0", isRecorded, -20000, 60000)

	if r.Len("results.0.issues") != 2 || r.String("results.0.issues.0.code") != "insufficientOwnerFunds" {
		t.Errorf("issues %v", r.Value("results.0.issues"))
	}

	h.wantPayouts(january, 3, 90000)
	h.Post("/statements/pay", amounts(100, 0)).WantError(apierr.CodeConflict, apierr.ReasonAlreadyPaid)
}

// A run records no money that came in: who owes is skipped, with the amount, and a reserve is never owed. What an owner
// has paid in is recorded by amounts. Proves: OPS-79.
func TestOwnersWhoOweAreSkipped(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	owing := h.earn(h.villa, "2026-01", -10001) // with a reserve of 20000
	kept := h.Listing("Barn", h.ada)
	h.Put("/listings/ownership-periods/"+kept.Period.String(), object{"reserve": 30000})
	h.Work()
	even, nothing := h.earn(kept, "2026-01", 0), h.earn(h.Listing("Cabin", h.ada), "2026-01", 0)

	for _, run := range []func(object) *apitest.Response{h.preview, h.record} {
		r := run(body("2026-02-05", nothing, owing, even))
		wantEntry(t, r, "results.0", "skipped: Nothing is due")
		wantEntry(t, r, "results.1", "skipped: The owner owes 100.01 USD")
		r.WantFields("results.1.issues.0.context", object{"amount": 10001, "currency": "usd"})
		wantEntry(t, r, "results.2", "skipped: Nothing is due")
	}

	h.Get("/statements/"+even.String()).WantFields("", object{"payment.open": 0, "payment.expected": 0, "financials.available": -30000})
	h.Get("/statements/"+owing.String()).WantFields("", object{"payment.open": -10001, "payment.expected": -10001})

	// Ada pays what she owes.
	in := with(body("2026-02-05", owing), object{"amounts": array{object{"statementId": owing, "contactId": h.ada, "centTotal": -10001}}})
	wantEntry(t, h.record(in), "results.0", isRecorded, -10001)
	h.Get("/statements/"+owing.String()).WantFields("", object{"payment.status": "paid", "payment.open": 0})

	// The reserve of months in which nothing was earned is no debt of the month in which something is.
	march := h.earn(kept, "2026-03", 39000)
	h.Get("/statements/"+march.String()).WantFields("", object{
		"financials.available": 9000, "payment.expected": 9000, "payment.open": 9000, "payment.broughtForward": 0,
	})
	wantEntry(t, h.preview(body("2026-04-05", march)), "results.0", canBeMade, 9000)
}

// Cents that do not divide go to the largest remainders, among equals to the first member.
func TestRemainingCents(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	thirds := h.Listing("Barn", h.ada, h.ben, h.Contact("owner", "Cleo"))
	january := h.earn(thirds, "2026-01", 20000)
	wantEntry(t, h.Post("/statements/pay", body("2026-02-05", january)).Want(200), "results.0", isRecorded, 6667, 6667, 6666)
}

// The result needs both scopes, is none of an owner's, and no other team's; other operations have none. Proves: OPS-70,
// OPEN-34.
func TestWhoReadsResults(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	january := h.january()
	op := h.Post("/statements/payouts", body("2026-02-05", january)).Want(202)
	h.Work()

	path := "/operations/" + op.String("operationId") + "/result"
	h.As([]string{"operations:read", "statements:read"}, nil).Get(path).Want(200)

	for _, scopes := range [][]string{{"operations:read"}, {"statements:read"}} {
		h.As(scopes, nil).Get(path).WantError(apierr.CodeForbidden, "")
	}

	h.As(access.Scopes(), &h.ada).Get(path).WantError(apierr.CodeForbidden, "")
	newHouse(t).Get(path).WantError(apierr.CodeNotFound, "")
	h.Get("/operations/"+id.New(h.DB.Now()).String()+"/result").WantError(apierr.CodeNotFound, "")
	h.Get("/operations/nonsense/result").WantError(apierr.CodeNotFound, "")
	h.Get("/operations/op_nonsense/result").WantError(apierr.CodeNotFound, "")
	h.Get("/operations/" + op.Header.Get("X-Service-Audit-Action-Id") + "/result").Want(200)
	h.Get("/operations/" + op.ID("operationId").TypeID("op") + "/result").Want(200)
	other := h.Post("/transactions/journal-entries", object{}).Want(202).String("operationId")
	h.Get("/operations/"+other+"/result").WantError(apierr.CodeNotFound, "")

	for path, scopes := range map[string][]string{
		"/statements/pay": {"statements:read", "transactions:pay"}, "/statements/payouts": {"statements:write"}, "/statements/payouts/preview": {"statements:read"},
	} {
		h.As(scopes, nil).Post(path+"?", body("2026-02-05", january)).WantError(apierr.CodeForbidden, "")
	}
}
