package transaction_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

const journals = "/transactions/journal-entries"

// Proves: INIT-39, INIT-40, DRY-54, OPEN-74.
func TestRefreshJournals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.Post("/transactions", w.deposit("2026-01-15", 100)).Want(201).ID("id")
	two := w.Post("/transactions", w.expense("2026-01-15", 100)).Want(201).ID("id")
	w.forget()

	done := w.Post(journals, object{"ids": list{one}}).Want(200)
	if done.Int("total") != 1 || done.ID("data.0.id") != one || done.String("data.0.journalStatus.status") != "current" || done.Has("operationId") {
		t.Errorf("done %s", done.Body)
	}

	wantBalances(t, w, map[string]int64{"1000": 100, "2000": -100})

	if got := w.Get("/operations").Want(200); got.Int("total") != 0 {
		t.Errorf("operations %s", got.Body)
	}

	w.Post(journals, object{"ids": list{one, one}}).Want(200)

	ack := w.Post(journals, object{"ids": list{one, two}, "mode": "full", "lockPolicy": "strict"}).Want(202)
	if ack.String("type") != "transaction-journal-refresh" || ack.Has("data") {
		t.Errorf("acknowledged %s", ack.Body)
	}

	pending := w.Get("/transactions/" + two.String()).Want(200)
	if pending.String("journalStatus.status") != "recalculating" || pending.String("journalStatus.operationIds.0") != ack.String("operationId") {
		t.Errorf("pending %s", pending.Body)
	}

	w.Work()
	wantBalances(t, w, map[string]int64{"2000": -100, "5200": 100})
	w.forget()
	all := w.Post(journals, object{}).Want(202)
	w.Work()
	wantBalances(t, w, map[string]int64{"2000": -100, "5200": 100})

	if got := w.Get("/operations/" + all.String("operationId")).Want(200); got.String("status") != "completed" {
		t.Errorf("operation %s", got.Body)
	}

	w.Post(journals+"?dryRun=true", object{"ids": list{one}}).WantError(apierr.CodeBadRequest, "")
	w.Post(journals, object{"ids": list{one, w.id()}}).WantIssue("notFound", "ids.1")
	w.Post(journals, object{"ids": list{}}).Want(400)
	w.Post(journals, object{"mode": "some"}).Want(400)
	w.As([]string{"transactions:write"}, nil).Post(journals, object{}).WantError(apierr.CodeForbidden, "")
	newWorld(t).Post(journals, object{"ids": list{one}}).WantIssue("notFound", "ids.0")
}

// forget takes all journals out of the books behind the service's back.
func (w *world) forget() { w.Exec(`delete from ledger_entry where team_id = @team`, nil) }

func TestRefreshUnderLocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.Post("/transactions", w.deposit("2026-01-15", 100)).Want(201).ID("id")
	w.forget()
	fixture.CloseBooks(w.Team, "2026-02-01")
	w.stale(one)
	w.Post(journals, object{"ids": list{one}, "lockPolicy": "strict"}).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)

	done := w.Post(journals, object{"ids": list{one}}).Want(200)
	if done.String("data.0.journalStatus.status") != "stale" || done.String("data.0.journalStatus.reason") != "journalLocked" ||
		done.String("data.0.journalStatus.action") != "unlock" {
		t.Errorf("done %s", done.Body)
	}

	wantBalances(t, w, map[string]int64{})
	other := w.Post("/transactions", w.deposit("2026-02-15", 7)).Want(201).ID("id")
	ack := w.Post(journals, object{"ids": list{one, other}, "lockPolicy": "strict"}).Want(202)
	w.Work()

	if got := w.Get("/operations/" + ack.String("operationId")).Want(200); got.String("status") != "failed" {
		t.Errorf("operation %s", got.Body)
	}
}

// stale marks a transaction's journal as one that is to be derived anew.
func (w *world) stale(transaction id.ID) {
	w.Exec(`insert into ledger_stale (team_id, source_id, source, reason, since) values (@team, @id, 'transaction', 'mappingChanged', now())`,
		db.Args{"id": transaction})
}

// A journal that cannot be derived any more is kept and says so, until it can.
func TestUnderivableJournals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.Post("/transactions", w.expense("2026-01-15", 100)).Want(201).ID("id")
	other := w.Post("/transactions", w.deposit("2026-01-15", 100)).Want(201).ID("id")
	w.Exec(`update listing_ownership_period set end_at = '2026-01-01' where team_id = @team and id = @id`, db.Args{"id": w.period})
	w.Post(journals, object{"ids": list{one}}).WantError(apierr.CodeBadRequest, "").WantIssue("ownershipPeriodMissing", "lines.0.listingId")
	ack := w.Post(journals, object{"ids": list{one, other}}).Want(202)
	w.Work()

	if got := w.Get("/operations/" + ack.String("operationId")).Want(200); got.String("status") != "failed" {
		t.Errorf("operation %s", got.Body)
	}

	if got := w.Get("/transactions/" + one.String()).Want(200); got.String("journalStatus.status") != "failed" || got.String("status") != "active" {
		t.Errorf("got %s", got.Body)
	}

	wantBalances(t, w, map[string]int64{"5200": 100, "2000": -100})
	w.ownership(w.villa, "2026-01-01", "")

	if done := w.Post(journals, object{"ids": list{one}}).Want(200); done.String("data.0.journalStatus.status") != "current" {
		t.Errorf("done %s", done.Body)
	}
}

// coded gives the stay a confirmation code, and a reference of the processor.
func (w *world) coded(stay id.ID, code string) {
	w.Exec(`update reservation set confirmation_code = @code, metadata = jsonb_build_object('stripeGuestRef', 'cus_' || @code::text)
		where team_id = @team and id = @id`, db.Args{"id": stay, "code": code})
}

func TestLinesWaitForTheirReservation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fees()

	waiting := func(pairs ...any) object {
		ar := fixture.With(object{"assignment": "accountsReceivable", "amount": 64400, "matchLineTypeClassification": "payout"}, pairs...)
		return fixture.With(w.deposit("2026-01-05", 1), "lines", list{ar, fixture.With(ar, "assignment", "deposit_merchantFee", "amount", -1898)})
	}

	w.coded(w.stay, "HM1")

	now := w.Post("/transactions", waiting("matchReservationConfirmationCode", "HM1")).Want(201)
	if now.ID("lines.0.reservationId") != w.stay || now.ID("lines.0.listingId") != w.villa || now.String("lines.0.matchStatus") != "matched" ||
		now.String("lines.0.reservation.confirmationCode") != "HM1" || now.String("lines.1.party") != "manager" {
		t.Errorf("linked %s", now.Body)
	}

	guest := w.Post("/transactions", waiting("matchReservationStripeGuestRef", "cus_HM1")).Want(201)
	if guest.ID("lines.0.reservationId") != w.stay || guest.String("lines.0.matchReservationStripeGuestRef") != "cus_HM1" {
		t.Errorf("linked %s", guest.Body)
	}

	w.Delete("/transactions/" + guest.String("id")).Want(204)

	later := w.Post("/transactions", waiting("matchReservationConfirmationCode", "HM2")).Want(201)
	if later.String("lines.0.reservationId") != "null" || later.String("lines.0.matchStatus") != "unmatched" || later.String("lines.0.listingId") != "null" ||
		later.String("lines.0.matchLineTypeClassification") != "payout" {
		t.Errorf("waiting %s", later.Body)
	}

	stay := fixture.Stay(w.Team, w.villa, "booked", "2026-02-10", "2026-02-15")
	w.coded(stay, "HM2")
	w.Post(journals, object{"ids": list{later.String("id")}}).Want(200)

	got := w.Get("/transactions/" + later.String("id")).Want(200)
	if got.ID("lines.0.reservationId") != stay || got.ID("lines.1.reservationId") != stay || got.String("lines.0.matchStatus") != "matched" {
		t.Errorf("linked %s", got.Body)
	}
	// The stay charges the processor's fee on as if the line had named it from the start.
	wantBalances(t, w, map[string]int64{"1000": 125004, "2000": -128800, "5010": 3796, "5120": 3796, "4120": -3796})

	refreshed := w.Post("/transactions", waiting("matchReservationConfirmationCode", "HM3")).Want(201)
	w.coded(fixture.Stay(w.Team, w.villa, "booked", "2026-02-10", "2026-02-15"), "HM3")
	w.Post(journals, object{"ids": list{refreshed.String("id")}}).Want(200)

	if got := w.Get("/transactions/" + refreshed.String("id")).Want(200); got.String("lines.1.matchStatus") != "matched" {
		t.Errorf("refreshed %s", got.Body)
	}
	// Two stays with one code: no one can say which is meant.
	w.coded(fixture.Stay(w.Team, w.villa, "booked", "2026-02-10", "2026-02-15"), "HM4")
	w.coded(fixture.Stay(w.Team, w.villa, "booked", "2026-02-10", "2026-02-15"), "HM4")

	if got := w.Post("/transactions", waiting("matchReservationConfirmationCode", "HM4")).Want(201); got.String("lines.0.matchStatus") != "unmatched" {
		t.Errorf("ambiguous %s", got.Body)
	}
	// Another code looks anew, and what the caller links by hand stays.
	path := "/transactions/" + later.String("id")

	line := object{"id": later.String("lines.0.id")}
	if got := w.Put(path, object{"lines_update": list{fixture.With(line, "matchReservationConfirmationCode", "HM9")}}).Want(200); got.String("lines.0.matchStatus") != "unmatched" {
		t.Errorf("other code %s", got.Body)
	}

	if got := w.Put(path, object{"lines_update": list{fixture.With(line, "reservationId", w.stay)}}).Want(200); got.ID("lines.0.reservationId") != w.stay {
		t.Errorf("by hand %s", got.Body)
	}
}

// A line says when its assignment has lost its account.
func TestUnassignedAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	made := w.Post("/transactions", w.deposit("2026-01-15", 100)).Want(201)
	if made.Len("lines.0.issues") != 0 {
		t.Errorf("issues %s", made.Body)
	}

	w.Exec(`delete from account_assignment where team_id = @team and assignment = 'accountsReceivable'`, nil)

	got := w.Get("/transactions/" + made.String("id")).Want(200)
	if got.String("lines.0.issues.0.code") != "unassignedAccount" || got.String("lines.0.issues.0.severity") != "error" ||
		got.String("lines.0.issues.0.context.lineType") != "accountsReceivable" {
		t.Errorf("issues %s", got.Body)
	}
}
