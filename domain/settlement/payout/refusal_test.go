package payout_test

import (
	"context"
	"testing"

	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payout"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// Neither a preview nor a payout nor a payment is made over journals that are not current. Proves: ERR-60, ERR-61,
// ERR-62, ERR-63, ERR-64, ERR-65, ERR-66.
func TestPayoutsWaitForJournals(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	january := h.january()
	cabin := h.Listing("Cabin", h.ada)
	other := h.earn(cabin, "2026-01", 10000)
	stay := h.Get("/reservations?listingId=" + h.villa.ID.String()).Want(200).ID("data.0.id")
	mark := func(status string) {
		h.Exec(`insert into ledger_stale (team_id, source_id, source, reason, status, since) values (@team, @stay, 'reservation', 'feeChanged', @status, now())
			on conflict (team_id, source_id, cause_id) do update set status = excluded.status`, db.Args{"stay": stay, "status": status})
	}
	paths := []string{"/statements/payouts/preview", "/statements/payouts", "/statements/pay"}
	refused := func(want string) (operations []any) {
		for _, path := range paths {
			r := h.Post(path, body("2026-02-05", other, january)).WantError(apierr.CodeJournalRecalculationPending, "")
			if got := r.String("context.journalStatus") + " " + r.String("context.journalReason") + " " + r.String("context.journalAction"); got != want || r.Has("retryable") {
				t.Errorf("%s: %s", path, r.Body)
			}

			operations, _ = r.Value("context.operationIds").([]any)
		}

		return operations
	}

	mark("stale")
	refused("stale feeChanged refresh")
	mark("failed")
	refused("failed feeChanged refresh")
	h.Post("/statements/pay", body("2026-02-05", other)).Want(200)
	h.Exec(`delete from ledger_stale where team_id = @team`, nil)

	for range 2 {
		h.Stay(cabin, "2026-03-05", 100)
	}

	started := h.Post("/reservations/journal-entries", object{}).Want(202).String("operationId")
	if got := refused("recalculating reservationChanged wait"); len(got) != 1 || got[0] != started {
		t.Errorf("operations %v, want %s", got, started)
	}

	h.Get("/operations/" + started).Want(200)
	h.Work()
	mark("locked")
	h.Exec(`update ledger_stale set held_by = @statement::text::uuid where team_id = @team`, db.Args{"statement": january}) // final as it is
	wantEntry(t, h.Post("/statements/pay", body("2026-02-05", january)).Want(200), "results.0", isRecorded, 38132, 25422)
}

// What the books refuse fails its statement alone, and the operation; the others are recorded. A preview says so before.
// Proves: OPS-74, OPS-80,
// OPS-35.
func TestTheBooksRefuseSingleStatements(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	january := h.january()

	var statements []id.ID
	for _, name := range []string{"A", "B", "C", "D"} {
		statements = append(statements, h.earn(h.Listing(name, h.ada), "2026-01", 10000))
	}

	h.earn(h.villa, "2026-02", 1000)

	all := body("2026-02-20", statements[0], january, statements[1], statements[2], statements[3])
	h.Post("/statements/payouts?dryRun=true", all).WantError(apierr.CodeForbidden, apierr.ReasonStatementPeriod)
	h.Post("/statements/pay", all).WantError(apierr.CodeForbidden, apierr.ReasonStatementPeriod)

	r := h.preview(all)
	wantEntry(t, r, "results.0", canBeMade, 10000)
	wantEntry(t, r, "results.1", "skipped: A published owner statement locks the period")

	op := h.Post("/statements/payouts?dryRun=false", all).Want(202).String("operationId")
	h.Work()
	r = h.Get("/operations/" + op + "/result").Want(200)

	for i := range 5 {
		at := "results." + string(rune('0'+i))
		if i == 1 {
			wantEntry(t, r, at, "failed: A published owner statement locks the period")
		} else {
			wantEntry(t, r, at, isRecorded, 10000)
		}
	}

	if r.String("failure.code") != "operationFailed" || r.String("failure.message") != "Operation failed" || r.String("providerOperation.status") != "failed" {
		t.Errorf("result %s", r.Body)
	}

	h.wantPayouts(january, 0, 0)
	h.wantPayouts(statements[3], 1, 10000)

	// Closed books refuse all of them.
	h.Post("/team/books-closing", object{"booksClosedAt": "2026-05-01", "reason": "Closed"}).Want(201)
	h.Post("/statements/pay", body("2026-04-20", january)).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
	wantEntry(t, h.preview(body("2026-04-20", january)), "results.0", "skipped: The books are closed on this date")
	h.wantPayouts(january, 0, 0)
	op = h.Post("/statements/payouts?dryRun=false", body("2026-04-20", january)).Want(202).String("operationId")
	h.Work()
	wantEntry(t, h.Get("/operations/"+op+"/result").Want(200), "results.0", "failed: The books are closed on this date")
	h.Post("/statements/pay", body("2025-12-20", january)).WantError(apierr.CodeBadRequest, apierr.ReasonBeforeStatementStartDate).
		WantIssue("beforeStatementStartDate", "date")
}

// The bank account of the request pays, else the owner's own, else the assigned one; it has the currency of the
// statement.
func TestWhichAccountPays(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	january := h.january()
	second := h.bank("Second trust", "usd")
	h.Put("/contacts/"+h.ben.String(), object{"payoutAccountId": second}).Want(200)

	r := h.record(body("2026-02-05", january))
	for i, want := range []id.ID{h.Account("1000"), second} {
		if got := h.Get("/transactions/" + r.String("results.0.payouts."+string(rune('0'+i))+".transactionId")).ID("accountId"); got != want {
			t.Errorf("payout %d is paid from %v", i, got)
		}
	}

	cabin := h.earn(h.Listing("Cabin", h.ben), "2026-01", 10000)
	euro := h.bank("Euro", "eur")
	given := with(body("2026-02-05", cabin), object{"bankAccountId": euro})
	h.Post("/statements/pay", given).WantError(apierr.CodeBadRequest, "").WantIssue("currencyMismatch", "statementIds.0")
	wantEntry(t, h.preview(given), "results.0", "skipped: The bank account has another currency")
	given["bankAccountId"] = h.Account("1000")

	r = h.Post("/statements/pay", given).Want(200)
	if got := h.Get("/transactions/" + r.String("results.0.payouts.0.transactionId")).ID("accountId"); got != h.Account("1000") {
		t.Errorf("paid from %v", got)
	}

	barn := h.earn(h.Listing("Barn", h.ada), "2026-01", 10000)
	h.Exec(`delete from account_assignment where team_id = @team and assignment = 'payout_bankAccount'`, nil)
	h.Post("/statements/pay", body("2026-02-05", barn)).WantError(apierr.CodeBadRequest, apierr.ReasonRequiredAccountMissing)
	h.Exec(`update account set status = 'inactive' where team_id = @team and id = @id`, db.Args{"id": second})
	h.Put("/contacts/"+h.ada.String(), object{"payoutAccountId": second})
	h.Exec(`update contact set payout_account_id = @account where team_id = @team`, db.Args{"account": second})
	h.Post("/statements/pay", body("2026-02-05", barn)).WantError(apierr.CodeBadRequest, "").WantIssue("accountInactive", "statementIds.0")
}

func (h *house) bank(name, currency string) id.ID {
	h.T.Helper()
	v := id.New(h.DB.Now())
	h.Exec(`insert into account (team_id, id, name, type, category_id, banking_category, banking_currency, created_at, updated_at)
		select @team, @id, @name, 'bank', category_id, 'trust', @currency, now(), now() from account where team_id = @team and id = @like`,
		db.Args{"id": v, "name": name, "currency": currency, "like": h.Account("1000")})

	return v
}

// Today is the date of payouts that have none. A dry run leaves no trace; a worker that dies between its work and the
// end of the operation pays nothing twice.
func TestAnotherAttemptPaysNothingTwice(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	january := h.january()
	op := h.Post("/statements/payouts", object{"statementIds": array{january}}).Want(202).String("operationId")

	operationID, err := id.Parse(op)
	if err != nil {
		t.Fatal(err)
	}

	h.Work()
	h.wantPayouts(january, 2, 63554)
	h.Exec(`update operation set status = 'running', tasks_open = 1, finished_at = null, counted = false where team_id = @team`, nil)
	h.Tx(func(ctx context.Context, tx *db.Tx) error {
		return job.Insert(ctx, tx, job.New{Kind: payout.RecordKind, Args: body("2026-02-05", january), OperationID: operationID})
	})
	h.Work()
	r := h.Get("/operations/" + op + "/result").Want(200)
	wantEntry(t, r, "results.0", isRecorded, 38132, 25422)
	h.wantPayouts(january, 2, 63554)

	if got := h.Get("/transactions/" + r.String("results.0.payouts.0.transactionId")).String("date"); got != h.DB.Now().Format("2006-01-02") {
		t.Errorf("dated %s", got)
	}
}

// An operation that never reached its statements says so. Proves: OPS-74.
func TestAnOperationThatGaveUp(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	january := h.january()
	op := h.Post("/statements/payouts", body("2026-02-05", january)).Want(202).String("operationId")
	h.Exec(`delete from job where team_id = @team`, nil)
	h.Exec(`update operation set status = 'failed', tasks_open = 0, tasks_failed = 1, failure_code = 'operationFailed', finished_at = now() where team_id = @team and id = @op::uuid`,
		db.Args{"op": op})
	r := h.Get("/operations/" + op + "/result").Want(200)
	wantEntry(t, r, "results.0", "failed: The operation ended before this statement")

	if r.String("failure.code") != string(operation.OperationFailed) {
		t.Errorf("failure %v", r.Value("failure"))
	}
}
