package reservation_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

type object = map[string]any

// published is a published January of the owner.
func (b *books) published() id.ID {
	return fixture.Statement(b.Team, b.period, "published", "2026-01-01", "2026-01-31")
}

// Example G from booking to the settled account: paid 500, refunded 250, kept 250.
// Proves: DRY-43.
func TestCancellation(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Post("/recurring-fees", b.fee("formula", "rent + cancellation", "statusFilter", "all")).Want(201)
	r := b.Post("/reservations", b.stay("lines", []any{object{"type": "rent", "amount": 50_000}})).Want(201)
	path := "/reservations/" + r.String("id")
	b.pay(r.ID("id"), 50_000, 0)
	b.pay(r.ID("id"), -25_000, 0)

	if got := b.Put(path, object{"status": "canceled", "cancelledAt": "2026-01-10"}).Want(200); got.String("lines.0.status") != "inactive" ||
		got.String("lines.0.inactiveReason") != "reservationCancelled" || got.Int("financials.total") != 0 || got.String("payment.status") != "overpaid" {
		t.Errorf("%s", got.Body)
	}

	b.wantEntries()
	got := b.Post(path+"/adjustments", object{"amount": 25_000, "description": "Kept"}).Want(201)
	b.wantEntries("2026-01-10 2000 25000", "2026-01-10 4090o -25000", "2026-01-10 5100o 5000", "2026-01-10 4100m -5000")

	if got.String("adjustments.0.type") != "financial" || got.ID("adjustments.0.accountId") != b.account("4090") || got.String("adjustments.0.status") != "active" ||
		got.Int("financials.total") != 25_000 || got.Int("financials.adjustments") != 25_000 || got.String("payment.status") != "paid" || got.String("id") != r.String("id") {
		t.Errorf("%s", got.Body)
	}

	if got := b.Get("/reservations?paidStatus=paid&amount=25000").Want(200); got.Len("data") != 1 {
		t.Errorf("%s", got.Body)
	}

	b.Put(path, object{"status": "booked"}).Want(200)
	b.wantEntries("2026-01-29 2000 50000", "2026-01-29 4000o -50000", "2026-01-29 2000 25000", "2026-01-29 4090o -25000", "2026-01-29 5100o 15000", "2026-01-29 4100m -15000")

	if got := b.Put(path, object{"status": "canceled"}).Want(200); got.String("cancelledAt") != b.DB.Now().Format("2006-01-02") {
		t.Errorf("%s", got.Body)
	}

	if got := b.Put(path, object{"status": "inactive"}).Want(200); got.String("adjustments.0.inactiveReason") != "reservationInactive" || got.Int("financials.total") != 0 {
		t.Errorf("%s", got.Body)
	}

	b.wantEntries()
}

// Proves: DRY-43, ERR-108, ERR-109, ERR-110.
func TestAdjustmentsOverHTTP(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	management := b.Post("/recurring-fees", b.fee("defaultRate", 0)).Want(201).String("id")
	old := b.Post("/recurring-fees", b.fee("name", "Old", "status", "inactive")).Want(201).String("id")
	r := b.Post("/reservations", b.stay("lines", []any{})).Want(201)
	path := "/reservations/" + r.String("id") + "/adjustments"

	b.Exec(`update account set unique_ref = 'damages' where team_id = @team and code = '4030'`, nil)

	got := b.Post(path, object{
		"amount": 8_000, "accountRef": "damages", "uniqueRef": "a-1", "reservationRef": "HM1", "metadata": object{"a": 1}, "generalLedgerPostingAt": "2026-03-01", "party": nil,
	}).Want(201)
	one := path + "/" + got.String("adjustments.0.id")

	b.wantEntries("2026-03-01 2000 8000", "2026-03-01 4030o -8000")
	b.Put(one, object{"accountRef": "4020", "party": "manager", "generalLedgerPostingAt": nil}).Want(200)
	b.wantEntries("2026-01-29 2000 8000", "2026-01-29 4020m -8000")

	if got := b.Put(one, object{"amount": 9_000, "metadata": nil}).Want(200); got.String("adjustments.0.reservationRef") != "HM1" || got.Int("adjustments.0.amount") != 9_000 {
		t.Errorf("%s", got.Body)
	}

	b.Put(one, object{"recurringFeeId": management, "type": "financial"}).WantError(apierr.CodeBadRequest, "").WantIssue("contradiction", "type")

	if got := b.Put(one, object{"recurringFeeId": management}).Want(200); got.String("adjustments.0.accountId") != "null" ||
		got.String("adjustments.0.party") != "null" || got.Int("financials.total") != 0 {
		t.Errorf("%s", got.Body)
	}

	b.wantEntries("2026-01-29 5100o 9000", "2026-01-29 4100m -9000")
	two := b.Post(path, object{"amount": 100, "type": "fee", "party": "manager", "accountId": b.account("4100")}).Want(201)
	b.wantEntries("2026-01-29 5100o 9000", "2026-01-29 4100m -9000", "2026-01-29 4100o 100", "2026-01-29 4100m -100")

	if got := b.Delete(one).Want(200); got.Len("adjustments") != 1 || got.String("adjustments.0.id") != two.String("adjustments.1.id") {
		t.Errorf("%s", got.Body)
	}

	b.wantEntries("2026-01-29 4100o 100", "2026-01-29 4100m -100")

	foreign := newBooks(t)
	theirs := foreign.Post("/recurring-fees", foreign.fee()).Want(201).String("id")

	unknown := id.New(b.DB.Now()).String()
	for _, feeID := range []string{unknown, old, theirs} {
		b.Post(path, object{"amount": 1, "recurringFeeId": feeID}).WantError(apierr.CodeNotFound, "")
	}

	b.Post("/reservations/"+unknown+"/adjustments", object{"amount": 1}).WantError(apierr.CodeNotFound, "")
	b.Put(one, object{"amount": 1}).WantError(apierr.CodeNotFound, "")
	b.Delete(one).WantError(apierr.CodeNotFound, "")
	b.Post("/reservations", b.stay("lines", []any{})).Want(201)

	for issue, body := range map[[2]string]object{
		{"required", "accountId"}:       {"amount": 1},
		{"notFound", "accountId"}:       {"amount": 1, "accountId": unknown},
		{"notFound", "accountRef"}:      {"amount": 1, "accountRef": "nothing"},
		{"contradiction", "accountRef"}: {"amount": 1, "accountRef": "4000", "accountId": b.account("4000")},
		{"contradiction", "accountId"}:  {"amount": 1, "recurringFeeId": management, "accountId": b.account("4000")},
		{"contradiction", "party"}:      {"amount": 1, "recurringFeeId": management, "party": "owners"},
		{"contradiction", "type"}:       {"amount": 1, "recurringFeeId": management, "type": "financial"},
		{"required", "party"}:           {"amount": 1, "type": "fee", "accountId": b.account("4000")},
		{"required", "amount"}:          {"accountId": b.account("4000")},
		{"enum", "type"}:                {"amount": 1, "type": "other"},
	} {
		b.Post(path, body).WantError(apierr.CodeBadRequest, "").WantIssue(issue[0], issue[1])
	}

	b.Post(path, object{"amount": 1, "accountRef": "4000", "uniqueRef": "same"}).Want(201)
	b.Post(path, object{"amount": 1, "accountRef": "4000", "uniqueRef": "same"}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
}

// An adjustment with an open date goes through on a locked stay, and what a lock holds stays as it is and says so.
// Proves: RSN-53, STM-11.
func TestAdjustmentsOfALockedStay(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Post("/recurring-fees", b.fee("formula", "rent + cancellation")).Want(201)
	r := b.Post("/reservations", b.stay("lines", []any{object{"type": "rent", "amount": 1_000}})).Want(201)
	path := "/reservations/" + r.String("id")
	stay := []string{"2026-01-29 2000 1000", "2026-01-29 4000o -1000", "2026-01-29 5100o 200", "2026-01-29 4100m -200"}
	statement := b.published()

	refused := b.Post(path+"/adjustments", object{"amount": 500, "accountRef": "4030"}).WantError(apierr.CodeForbidden, apierr.ReasonReservationLocked)
	if refused.String("context.lockReason") != "statement" || refused.String("context.statementIds.0") != statement.String() {
		t.Errorf("%s", refused.Body)
	}

	b.Put(path, object{"lines": []any{}}).WantError(apierr.CodeForbidden, apierr.ReasonReservationLocked)
	b.wantEntries(stay...)

	open := b.Post(path+"/adjustments", object{"amount": 500, "accountRef": "4030", "generalLedgerPostingAt": "2026-02-10"}).Want(201)
	b.wantEntries(append(stay, "2026-02-10 2000 500", "2026-02-10 4030o -500")...)

	if open.String("journalStatus.status") != "current" {
		t.Errorf("%s", open.Body)
	}

	fee := b.Post(path+"/adjustments", object{"amount": 100, "accountRef": "4090", "generalLedgerPostingAt": "2026-02-10"}).Want(201)
	b.wantEntries(append(stay, "2026-02-10 2000 500", "2026-02-10 4030o -500", "2026-02-10 2000 100", "2026-02-10 4090o -100")...)

	if fee.String("journalStatus.status") != "stale" || fee.String("journalStatus.reason") != "journalLocked" || fee.String("journalStatus.action") != "unlock" {
		t.Errorf("%s", fee.Body)
	}

	b.Delete(path + "/adjustments/" + fee.String("adjustments.1.id")).Want(200)

	if got := b.Get(path).Want(200); got.String("journalStatus.status") != "current" {
		t.Errorf("%s", got.Body)
	}
}

// A stay that transactions name is not deleted but archived.
// Proves: RSN-24.
func TestDelete(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	free := b.Post("/reservations", b.stay()).Want(201).String("id")
	b.Post("/reservations/"+free+"/adjustments", object{"amount": 1, "accountRef": "4000"}).Want(201)
	paid := b.Post("/reservations", b.stay()).Want(201).ID("id")
	b.pay(paid, 100, 0)
	b.Delete("/reservations/" + free + "?onLocked=archive").Want(204)
	b.Get("/reservations/"+free).WantError(apierr.CodeNotFound, "")
	b.Delete("/reservations/"+free).WantError(apierr.CodeNotFound, "")

	path := "/reservations/" + paid.String()
	if got := b.Delete(path).WantError(apierr.CodeBadRequest, apierr.ReasonInUse); got.String("context.lockReasons.0") != "transactions" ||
		got.String("context.suggestedOnLocked") != "archive" {
		t.Errorf("%s", got.Body)
	}

	b.Exec(`update team set books_closed_at = '2026-02-01' where id = @team`, nil)
	b.Delete(path+"?onLocked=archive").WantError(apierr.CodeForbidden, apierr.ReasonReservationLocked)
	b.Exec(`update team set books_closed_at = null where id = @team`, nil)
	b.Delete(path + "?onLocked=archive").Want(204)

	if got := b.Get(path).Want(200); got.String("status") != "inactive" {
		t.Errorf("%s", got.Body)
	}

	b.wantEntries()
}

// Each mode replaces its own postings and leaves the others as they are stored; what stays behind shows.
func TestRefreshModes(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Post("/recurring-fees", b.fee()).Want(201)
	r := b.Post("/reservations", b.stay("lines", []any{object{"type": "rent", "amount": 1_000}})).Want(201)
	b.Post("/reservations/"+r.String("id")+"/adjustments", object{"amount": 500, "accountRef": "4030"}).Want(201)
	b.Exec(`update team set default_revenue_recognition = 'checkOut' where id = @team`, nil)

	refreshed := func(mode, status string) {
		t.Helper()

		got := b.Post("/reservations/journal-entries", object{"ids": []string{r.String("id")}, "mode": mode}).Want(200)
		if got.String("data.0.journalStatus.status") != status {
			t.Errorf("%s: %s", mode, got.Body)
		}
	}
	refreshed("recurringFeesOnly", "stale")
	b.wantEntries("2026-01-29 2000 1000", "2026-01-29 4000o -1000", "2026-01-29 2000 500", "2026-01-29 4030o -500", "2026-02-03 5100o 200", "2026-02-03 4100m -200")
	refreshed("decoupledAdjustmentsOnly", "stale")
	b.wantEntries("2026-01-29 2000 1000", "2026-01-29 4000o -1000", "2026-02-03 2000 500", "2026-02-03 4030o -500", "2026-02-03 5100o 200", "2026-02-03 4100m -200")
	refreshed("arOnly", "current")
	b.wantEntries("2026-02-03 2000 1000", "2026-02-03 4000o -1000", "2026-02-03 2000 500", "2026-02-03 4030o -500", "2026-02-03 5100o 200", "2026-02-03 4100m -200")
	b.Post("/reservations/journal-entries", object{"lockPolicy": "bypassStatementPeriod"}).WantError(apierr.CodeBadRequest, "").WantIssue("enum", "lockPolicy")
	refreshed("full", "current")
}

// What a guest owes stays in the range that JSON numbers keep exactly.
func TestAdjustmentsStayInTheSafeRange(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	const most = 1<<53 - 1

	path := "/reservations/" + b.Post("/reservations", b.rent("one", most)).Want(201).String("id")
	b.Post(path+"/adjustments", object{"amount": 1, "accountRef": "4000"}).WantError(apierr.CodeBadRequest, "")
	b.Put(path, object{"lines": []any{}}).Want(200)
	b.Post(path+"/adjustments", object{"amount": -most, "accountRef": "4000"}).Want(201)
	b.Put(path, object{"lines": []any{object{"type": "rent", "amount": 1}}}).WantError(apierr.CodeBadRequest, "")
}
