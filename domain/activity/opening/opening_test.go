package opening_test

import (
	"context"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/test/fixture"
)

const (
	guestOpening = "/teams/opening-balances/accounts-receivable-deferred-revenue"
	trialBalance = "/teams/opening-trial-balance"
)

// Proves: DRY-36.
func TestOpeningBalanceOfGuests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	none := w.Get(guestOpening).Want(200)
	if none.Int("amount") != 0 || none.String("transactionId") != "null" || none.String("updatedAt") != "null" || none.String("currency") != "usd" {
		t.Errorf("none %s", none.Body)
	}

	made := w.Put(guestOpening, object{"accountsReceivableAmount": 50000, "deferredRevenueAmount": 7000}).Want(200)
	if made.Int("amount") != 57000 || made.Int("accountsReceivableAmount") != 50000 || made.Int("deferredRevenueAmount") != 7000 {
		t.Errorf("made %s", made.Body)
	}

	wantBalances(t, w, map[string]int64{"1000": 57000, "2000": -50000, "2010": -7000})

	booked := w.Get("/transactions/" + made.String("transactionId")).Want(200)
	if booked.String("date") != "2025-12-31" || booked.String("isOpeningBalance") != "true" || booked.String("lines.0.party") != "null" {
		t.Errorf("booked %s", booked.Body)
	}

	again := w.Put(guestOpening, object{"accountsReceivableAmount": 50000, "deferredRevenueAmount": 7000}).Want(200)
	if string(again.Body) != string(made.Body) || string(w.Get(guestOpening).Want(200).Body) != string(made.Body) {
		t.Errorf("again %s", again.Body)
	}

	w.Put(guestOpening, object{"accountsReceivableAmount": -100, "deferredRevenueAmount": 0, "currency": "EUR"}).
		WantError(apierr.CodeBadRequest, "").WantIssue("currencyMismatch", "accountId") // The team's bank is in dollars.

	changed := w.Put(guestOpening, object{"accountsReceivableAmount": -100, "deferredRevenueAmount": 0, "currency": "USD"}).Want(200)
	if changed.Int("amount") != -100 || changed.String("currency") != "usd" || changed.String("transactionId") != made.String("transactionId") {
		t.Errorf("changed %s", changed.Body)
	}

	w.Put(guestOpening, object{"accountsReceivableAmount": 0, "deferredRevenueAmount": 3}).Want(200)
	wantBalances(t, w, map[string]int64{"1000": 3, "2010": -3})
	w.Put(guestOpening, object{"accountsReceivableAmount": 0, "deferredRevenueAmount": 0}).Want(200)
	wantBalances(t, w, map[string]int64{})
	// It is not mistaken for one of a listing, and comes back after it was archived or deleted.
	if got := w.Get("/listings/opening-balance").Want(200); got.Int("pagination.total") != 0 {
		t.Errorf("listings %s", got.Body)
	}

	for _, path := range []string{"?onLocked=archive", ""} {
		w.Delete("/transactions/" + w.Get(guestOpening).Want(200).String("transactionId") + path).Want(204)

		if got := w.Get(guestOpening).Want(200); got.String("transactionId") != "null" {
			t.Errorf("gone %s", got.Body)
		}

		w.Put(guestOpening, object{"accountsReceivableAmount": 9, "deferredRevenueAmount": 0}).Want(200)
		wantBalances(t, w, map[string]int64{"1000": 9, "2000": -9})
	}

	fixture.CloseBooks(w.Team, "2026-01-01")
	w.Put(guestOpening, object{"accountsReceivableAmount": 10, "deferredRevenueAmount": 0}).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
}

// Proves: RSN-21, RSN-22, RSN-34.
func TestRefusedOpeningBalances(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	guests, rows := object{"accountsReceivableAmount": 1, "deferredRevenueAmount": 1}, object{"rows": list{}}
	both := func(want func(*apitest.Response)) {
		t.Helper()
		want(w.Put(guestOpening, guests))
		want(w.Put(trialBalance+"/manual", rows))
	}

	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Get[bool](ctx, tx, `select pg_try_advisory_xact_lock(hashtextextended('opening balances ' || @team::uuid, 0))`, db.Args{"team": tx.Team})

		both(func(r *apitest.Response) {
			t.Helper()
			r.WantError(apierr.CodeConflict, apierr.ReasonOpeningBalanceUpdateInProgress)

			if r.String("retryable") != "true" || r.Header.Get("Retry-After") == "" {
				t.Errorf("not retryable: %s", r.Body)
			}
		})

		return err
	})
	w.Exec(`update team set statement_start_at = null where team_id = @team`, nil)
	both(func(r *apitest.Response) {
		t.Helper()
		r.WantError(apierr.CodeBadRequest, apierr.ReasonGeneralLedgerStartDateMissing)
	})

	if got := w.Get(trialBalance).Want(200); got.String("openingDate") != "null" || got.Len("rows") != 0 {
		t.Errorf("without a start %s", got.Body)
	}

	w.KeepLedger(false)
	both(func(r *apitest.Response) {
		t.Helper()
		r.WantError(apierr.CodeBadRequest, apierr.ReasonGeneralLedgerDisabled)
	})
	w.Get(trialBalance).WantError(apierr.CodeBadRequest, apierr.ReasonGeneralLedgerDisabled)
}

// row is an account of an opening trial balance: combined, trust, operating.
func row(t *testing.T, w *world, r *apitest.Response, code string) [3]int64 {
	t.Helper()

	type totals struct {
		AccountID                                             string
		CombinedCentTotal, TrustCentTotal, OperatingCentTotal int64
	}

	var b struct {
		Rows       []totals
		Assignment totals
	}
	r.Into(&b)

	for _, row := range append(b.Rows, b.Assignment) {
		if row.AccountID == w.accounts[code].String() {
			return [3]int64{row.CombinedCentTotal, row.TrustCentTotal, row.OperatingCentTotal}
		}
	}

	t.Errorf("no row of %s", code)

	return [3]int64{}
}

// operating are the balances of the operating ledger.
func (w *world) operating() map[string]int64 {
	return fixture.Balances(w.Team, "e.ledger = 'operating' and e.txn_at = '2025-12-31'")
}

// Proves: DRY-36, RSN-35.
func TestOpeningTrialBalance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Put("/listings/"+w.villa.String()+"/opening-balance", object{"amount": 30000}).Want(200)

	before := w.Get(trialBalance).Want(200)
	if before.String("glStartAt") != "2026-01-01" || before.String("openingDate") != "2025-12-31" || before.String("source.mode") != "none" ||
		before.String("source.editable") != "true" || before.String("trustReversal.status") != "not_created" || before.String("locked") != "false" {
		t.Errorf("before %s", before.Body)
	}

	if got := row(t, w, before, "1000"); got != [3]int64{30000, 30000, 0} {
		t.Errorf("trust bank %v", got)
	}

	given := func(pairs ...any) object {
		var rows list
		for i := 0; i < len(pairs); i += 2 {
			rows = append(rows, object{"accountId": w.accounts[pairs[i].(string)], "combinedCentTotal": pairs[i+1]})
		}

		return object{"rows": rows}
	}

	made := w.Put(trialBalance+"/manual", given("1000", 30000, "1010", 8000, "2200", -5000, "5200", 100)).Want(200)
	for code, want := range map[string][3]int64{
		"1000": {30000, 30000, 0}, "1010": {8000, 0, 8000}, "2200": {-5000, 0, -5000}, "5200": {100, 0, 100}, "2900": {-33100, -30000, -3100},
	} {
		if got := row(t, w, made, code); got != want {
			t.Errorf("%s: %v, want %v", code, got, want)
		}
	}

	if made.String("source.mode") != "manual" || made.String("trustReversal.status") != "created" || made.Len("trustReversal.journalEntryIds") != 2 ||
		made.ID("assignment.accountId") != w.accounts["2900"] {
		t.Errorf("made %s", made.Body)
	}

	wantOperating := func(want map[string]int64) {
		t.Helper()

		got := w.operating()
		for code, cents := range want {
			if got[code] != cents {
				t.Errorf("%s: %d, want %d", code, got[code], cents)
			}
		}

		if len(got) != len(want) {
			t.Errorf("operating %v, want %v", got, want)
		}
	}
	wantOperating(map[string]int64{"1010": 8000, "2200": -5000, "5200": 100, "2900": -3100})
	// What the trust opens with changes: the reversal follows.
	w.Put(guestOpening, object{"accountsReceivableAmount": 700, "deferredRevenueAmount": 0}).Want(200)

	if got := w.Get(trialBalance).Want(200); got.String("trustReversal.status") != "created" || row(t, w, got, "2000") != [3]int64{0, -700, 700} {
		t.Errorf("after %s", got.Body)
	}

	wantOperating(map[string]int64{"1000": -700, "1010": 8000, "2000": 700, "2200": -5000, "5200": 100, "2900": -3100})
	w.Delete("/transactions/" + w.Get(guestOpening).Want(200).String("transactionId")).Want(204)
	wantOperating(map[string]int64{"1010": 8000, "2200": -5000, "5200": 100, "2900": -3100})
	w.Put(trialBalance+"/manual", given("1010", 50)).Want(200)
	wantOperating(map[string]int64{"1000": -30000, "1010": 50, "2900": 29950})

	w.Put(trialBalance+"/manual", given("2900", 50)).WantIssue("accountComputed", "rows.0.accountId")
	w.Put(trialBalance+"/manual", given("1010", 50, "1010", 50)).WantIssue("unique", "rows.1.accountId")
	w.Put(trialBalance+"/manual", given("nothing", 50)).Want(400)
	w.Put(trialBalance+"/manual", given("1010", 9007199254740991, "1000", 1)).WantIssue("range", "rows.1.combinedCentTotal")

	locked := func(reason string) {
		t.Helper()

		r := w.Put(trialBalance+"/manual", given("1010", 60)).WantError(apierr.CodeForbidden, apierr.ReasonOpeningTrialBalanceLocked)

		got := w.Get(trialBalance).Want(200)
		if r.String("context.lockReason") != reason || got.String("locked") != "true" || got.String("source.editable") != "false" ||
			got.String("rows.0.editable") != "false" || got.Len("lockReasons") != 1 {
			t.Errorf("locked %s %s", r.Body, got.Body)
		}
	}

	fixture.CloseBooks(w.Team, "2026-01-01")
	locked("period")
	// An opening balance that passes the closed books leaves the reversal behind, and no mark on anything.
	w.Post("/transactions", fixture.With(w.deposit("2025-12-31", 500), "isOpeningBalance", true), "x-ignore-books-closed-at", "true").Want(201)

	if got := w.Get(trialBalance).Want(200); got.String("trustReversal.status") != "outdated" || fixture.Staleness(w.Team, w.ID) != "" {
		t.Errorf("left behind %s, %q", got.Body, fixture.Staleness(w.Team, w.ID))
	}

	fixture.CloseBooks(w.Team, "2025-12-31")
	w.saved()
	locked("statement")
	w.Exec(`delete from statement where team_id = @team`, nil)
	w.Put(trialBalance+"/manual", object{"rows": list{}}).Want(200)
	wantOperating(map[string]int64{})
}
