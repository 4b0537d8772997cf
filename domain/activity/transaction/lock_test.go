package transaction_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/activity/transaction"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// Proves: BKC-01, BKC-02, BKC-03, BKC-05, BKC-06, BKC-10, ERR-67, ERR-69, ERR-70, RSN-16.
func TestClosedBooksAndTheOverride(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	const header = "x-ignore-books-closed-at"

	w.Post("/transactions", fixture.With(w.deposit("2026-03-15", 1), "uniqueRef", "used")).Want(201)
	fixture.CloseBooks(w.Team, "2026-03-01")
	body := w.deposit("2026-02-10", 100)
	locked := func(r *apitest.Response) {
		t.Helper()
		r.WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)

		if r.String("context.lockReason") != "period" || r.String("context.booksClosedAt") != "2026-03-01" {
			t.Errorf("context %s", r.Body)
		}
	}
	locked(w.Post("/transactions", body))

	for _, value := range []string{"false", "TRUE", "1", "yes"} {
		locked(w.Post("/transactions", body, header, value))
	}

	path := "/transactions/" + w.Post("/transactions", body, header, "true").Want(201).String("id")
	locked(w.Put(path, object{"description": "x"}))
	w.Put(path, object{"description": "x"}, header, "true").Want(200)
	w.Post("/transactions", fixture.With(body, "uniqueRef", "used"), header, "true").WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
	locked(w.Delete(path))
	locked(w.Delete(path + "?onLocked=archive"))
	w.Delete(path, header, "true").Want(204)
	// The opening balance of a listing is no transaction route.
	locked(w.Put("/listings/"+w.villa.String()+"/opening-balance", object{"amount": 1}, header, "true"))
}

// Proves: BKC-07, BKC-08, DRY-10, DRY-11, ERR-67, ERR-68, RSN-56, RSN-63, OPEN-63, OPEN-85.
func TestStatementLocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	const header = "x-ignore-books-closed-at"

	attached := "/transactions/" + w.Post("/transactions", w.expense("2026-01-15", 100)).Want(201).String("id")
	s := w.statement("published", "2026-01-01", "2026-01-31", true)
	fixture.CloseBooks(w.Team, "2026-02-01")

	locked := func(r *apitest.Response, reason apierr.Reason) {
		t.Helper()
		r.WantError(apierr.CodeForbidden, reason)

		if r.String("context.lockReason") != "statement" || r.String("context.statementIds.0") != s.String() {
			t.Errorf("context %s", r.Body)
		}
	}
	locked(w.Post("/transactions", w.expense("2026-01-20", 100), header, "true"), apierr.ReasonStatementPeriod)
	locked(w.Put(attached, object{"date": "2026-01-16"}, header, "true"), apierr.ReasonStatementAttachment)
	locked(w.Delete(attached, header, "true"), apierr.ReasonStatementAttachment)
	w.Post("/transactions", w.deposit("2026-01-20", 100), header, "true").Want(201)
}

// Proves: DRY-01, DRY-02, DRY-04, DRY-05, DRY-06, DRY-07, DRY-08, DRY-09, DRY-14, DRY-15, DRY-24, DRY-25, DRY-26, DRY-27, DRY-28, DRY-48.
func TestDryRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := fixture.With(w.deposit("2026-02-10", 100), "uniqueRef", "once")
	before := w.Fingerprint()

	dry := w.Post("/transactions?dryRun=true", body).Want(201)
	if w.Fingerprint() != before {
		t.Error("rows changed")
	}

	w.Get("/transactions/"+dry.String("id")).WantError(apierr.CodeNotFound, "")

	if dry.Header.Get("X-Service-Audit-Should-Poll") != "false" || dry.Header.Get("X-Service-Audit-Action-Id") != "" {
		t.Errorf("headers %v", dry.Header)
	}

	made := w.Post("/transactions?dryRun=false", body).Want(201)

	var a, b map[string]any
	dry.Into(&a)
	made.Into(&b)

	if !slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))) || dry.Int("total") != 100 || dry.String("lines.0.listing.name") != "Villa" {
		t.Errorf("dry %s\nreal %s", dry.Body, made.Body)
	}

	path := "/transactions/" + made.String("id")
	if got := w.Put(path+"?dryRun=true", object{"description": "new"}).Want(200).String("description"); got != "new" {
		t.Errorf("description %s", got)
	}

	w.Delete(path + "?dryRun=true").Want(204)

	if got := w.Get(path).Want(200).String("description"); got != "null" {
		t.Errorf("description %s", got)
	}

	w.Post("/transactions?dryRun=true", fixture.With(body, "dryRun", true)).WantIssue("unknownField", "dryRun")
	w.Get("/transactions?dryRun=true").Want(400)
	w.Post("/transactions?dryRun=true", fixture.With(body, "type", "gift")).WantError(apierr.CodeBadRequest, "")
	w.As([]string{"transactions:read"}, nil).Post("/transactions?dryRun=true", body).WantError(apierr.CodeForbidden, "")
	w.Post("/transactions?dryRun=true", body).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
	w.Delete(path + "?onLocked=archive").Want(204)
	w.Put(path+"?dryRun=true", object{"description": "x"}).WantError(apierr.CodeBadRequest, apierr.ReasonTransactionInactive)
	fixture.CloseBooks(w.Team, "2026-03-01")
	w.Post("/transactions?dryRun=true", w.deposit("2026-02-10", 1)).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
}

// Proves: DRY-03, DRY-49, DRY-54, BKC-11.
func TestDeclarations(t *testing.T) {
	t.Parallel()

	endpoints := transaction.Part().Endpoints
	declared := 0

	for i := range endpoints {
		e := &endpoints[i]
		if e.DryRun != (e.Mutates() && e.Path != "/transactions/journal-entries") {
			t.Errorf("%s %s declares dryRun: %v", e.Method, e.Path, e.DryRun)
		}

		if e.DryRun {
			declared++
		}
	}

	described, err := api.NewServer(api.Config{DB: apitest.DB(t)}, endpoints).OpenAPI()
	if err != nil {
		t.Fatal(err)
	}

	tree, err := described.Resolve()
	if err != nil {
		t.Fatal(err)
	}

	paths, err := json.Marshal(tree["paths"])
	if err != nil {
		t.Fatal(err)
	}

	if text := string(paths); strings.Contains(text, "ignore-books") || strings.Count(text, `"dryRun"`) != declared {
		t.Errorf("%d declarations of dryRun for %d endpoints, or the header", strings.Count(text, `"dryRun"`), declared)
	}
}

// reconcile says that bank records stand for a transaction's money.
func (w *world) reconcile(transaction id.ID, account string, rule *id.ID) id.ID {
	record := w.id()
	w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, matched_by_bank_rule, created_at, updated_at)
		values (@team, @id, @account, '2026-01-15', 1, @rule, now(), now())`, db.Args{"id": record, "account": w.accounts[account], "rule": rule})
	w.Exec(`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
		values (@team, @id, @transaction, @account, 1, now())`, db.Args{"id": record, "transaction": transaction, "account": w.accounts[account]})

	return record
}

// Proves: RSN-66, BKC-09, DRY-12.
func TestReconciledTransactions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.Post("/transactions", w.deposit("2026-01-15", 100)).Want(201)
	path, line := "/transactions/"+made.String("id"), made.String("lines.0.id")
	record := w.reconcile(made.ID("id"), "1000", nil)
	reconciled := func(r *apitest.Response) {
		t.Helper()
		r.WantError(apierr.CodeForbidden, apierr.ReasonTransactionReconciled)
	}

	const header = "x-ignore-books-closed-at"
	for _, headers := range [][]string{nil, {header, "true"}} {
		reconciled(w.Put(path, object{"date": "2026-01-16"}, headers...))
		reconciled(w.Put(path, object{"lines_update": list{object{"id": line, "amount": 7}}}, headers...))
		reconciled(w.Put(path, object{"status": "inactive"}, headers...))
		reconciled(w.Delete(path, headers...))
		reconciled(w.Delete(path+"?onLocked=archive", headers...))
	}

	reconciled(w.Put(path+"?dryRun=true", object{"date": "2026-01-16"}))

	got := w.Put(path, object{"uniqueRef": "not in the books"}).Want(200)
	if got.String("lock.status") != "locked" || got.ID("lock.reconciled.bankRecordIds.0") != record {
		t.Errorf("lock %s", got.Body)
	}

	w.Exec(`delete from bank_reconciliation where team_id = @team`, nil)
	w.Put(path, object{"date": "2026-01-16"}).Want(200)
	// A bill's own posting moves no money: only its payment is reconciled.
	bill := w.Post("/transactions", fixture.With(w.expense("2026-01-15", 100), "accountId", w.accounts["2200"], "payment", object{"date": "2026-01-20"})).Want(201)
	w.reconcile(bill.ID("id"), "1000", nil)
	reconciled(w.Put("/transactions/"+bill.String("id"), object{"payment": object{"date": "2026-01-21"}}))
	w.Put("/transactions/"+bill.String("id"), object{"date": "2026-01-14"}).Want(200)
}

// Proves: BKC-04.
func TestTheOverrideOnLineChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	const header = "x-ignore-books-closed-at"

	made := w.Post("/transactions", w.deposit("2026-01-15", 100)).Want(201)
	path := "/transactions/" + made.String("id")

	fixture.CloseBooks(w.Team, "2026-02-01")

	line := object{"assignment": "accountsReceivable", "amount": 5}
	for _, change := range []object{
		{"lines_update": list{object{"id": made.String("lines.0.id"), "amount": 101}}},
		{"lines_create": list{line}},
		{"lines_delete": list{made.String("lines.0.id")}, "lines_create": list{line}},
		{"lines": list{line}},
	} {
		w.Put(path, change).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
	}

	w.Put(path, object{"lines_update": list{object{"id": made.String("lines.0.id"), "amount": 101}}}, header, "true").Want(200)
	w.Put(path, object{"lines_create": list{line}}, header, "true").Want(200)
	w.Put(path, object{"lines_delete": list{made.String("lines.0.id")}}, header, "true").Want(200)
	wantBalances(t, w, map[string]int64{"1000": 5, "2000": -5})
	w.Put(path, object{"lines": list{fixture.With(line, "amount", 6)}}, header, "true").Want(200)
	wantBalances(t, w, map[string]int64{"1000": 6, "2000": -6})
}

// A transaction says what holds it.
func TestLockOfATransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	path := "/transactions/" + w.Post("/transactions", w.expense("2026-01-15", 100)).Want(201).String("id")
	if got := w.Get(path).Want(200); got.String("lock.status") != "open" || got.String("lock.booksClosed") != "null" || got.String("journalStatus.status") != "current" {
		t.Errorf("got %s", got.Body)
	}

	s := w.statement("published", "2026-01-01", "2026-01-31", true)
	fixture.CloseBooks(w.Team, "2026-02-01")

	got := w.Get(path).Want(200)
	for field, want := range map[string]string{
		"status": "locked", "booksClosed.date": "2026-02-01", "ownerStatement.ids.0": s.String(), "statementPeriod.hits.0.txnAt": "2026-01-15",
		"statementPeriod.hits.0.openFrom": "2026-02-01", "reconciled": "null",
	} {
		if got.String("lock."+field) != want {
			t.Errorf("%s: %s, want %s", field, got.String("lock."+field), want)
		}
	}

	listed := w.Get("/transactions").Want(200)
	if listed.String("data.0.lock.booksClosed.date") != "2026-02-01" || listed.String("data.0.journalStatus.status") != "current" {
		t.Errorf("listed %s", listed.Body)
	}
}

// Money that has arrived is booked whatever holds the stay's own journal.
func TestDepositOfALockedStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fees()
	body := w.guestPays("2026-02-05", 64400, 1898)
	w.Post("/transactions", body).Want(201)
	wantBalances(t, w, map[string]int64{"1000": 62502, "2000": -64400, "5010": 1898, "5120": 1898, "4120": -1898})
	s := w.statement("published", "2026-02-01", "2026-02-28", true)
	w.Post("/transactions", w.guestPays("2026-03-05", 1000, 30)).Want(201)
	wantBalances(t, w, map[string]int64{"1000": 63472, "2000": -65400, "5010": 1928, "5120": 1898, "4120": -1898})

	if got := fixture.Staleness(w.Team, w.stay); got != "locked" {
		t.Errorf("stay is %q", got)
	}

	w.Exec(`update ledger_entry set statement_id = null where team_id = @team and statement_id = @id`, db.Args{"id": s})
	w.Exec(`delete from statement where team_id = @team and id = @id`, db.Args{"id": s})
	w.Post("/transactions", w.guestPays("2026-03-06", 1000, 30)).Want(201)
	wantBalances(t, w, map[string]int64{"1000": 64442, "2000": -66400, "5010": 1958, "5120": 1958, "4120": -1958})

	if got := fixture.Staleness(w.Team, w.stay); got != "" {
		t.Errorf("stay is %q", got)
	}
}
