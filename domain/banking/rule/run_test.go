package rule_test

import (
	"context"
	"strconv"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// A run books what the rule takes, reconciles it and reports what it did; a refusal for one record keeps no other
// from being booked. Undone, everything is as it was.
// Proves: INIT-28.
func TestRunAndUndo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.made(w.depot("mode", "suggest"))
	good, other := w.record(w.trust, "2026-02-10", -1500, "HOME DEPOT 1"), w.record(w.trust, "2026-02-11", -700, "Bakery")
	closed, second := w.record(w.trust, "2026-01-10", -900, "Home Depot 2"), w.record(w.operating, "2026-02-12", -2500, "The depot")
	fixture.CloseBooks(w.Team, "2026-02-01")

	ack := w.Post(path+"/run?dryRun=false", nil).Want(202)
	if ack.String("type") != "bank-rule-run" || rules+"/"+ack.String("resource.id") != path {
		t.Errorf("acknowledgement: %s", ack.Body)
	}

	w.Work()

	run := path + "/runs/" + ack.String("operationId")

	items := w.Get(run).Want(200)
	if items.Len("data") != 3 {
		t.Fatalf("the run did: %s", items.Body)
	}

	of := func(r *apitest.Response, record id.ID, field string) string {
		t.Helper()

		for i := range r.Len("data") {
			if at := "data." + strconv.Itoa(i) + "."; r.String(at+"bankRecordId") == record.String() {
				return r.String(at + field)
			}
		}

		return ""
	}
	if of(items, good, "outcome") != "applied" || of(items, second, "outcome") != "applied" || of(items, closed, "outcome") != "failed" ||
		of(items, closed, "reason") != string(apierr.ReasonBooksClosed) || of(items, other, "outcome") != "" {
		t.Errorf("outcomes: %s", items.Body)
	}

	record := func(r id.ID) *apitest.Response { return w.Get("/bank-records/" + r.String()).Want(200) }
	if got := record(good); got.String("reconciliation.status") != "paid" || rules+"/"+got.String("matchedByBankRule") != path ||
		got.String("reconciliation.transactions.0.id") != of(items, good, "transactionId") {
		t.Errorf("a booked record: %s", got.Body)
	}

	transaction := "/transactions/" + of(items, good, "transactionId")
	if got := w.Get(transaction).Want(200); got.Int("total") != 1500 || got.String("lines.0.accountId") != w.repairs.String() || got.String("accountId") != w.trust.String() {
		t.Errorf("a booked transaction: %s", got.Body)
	}

	if got := w.Get(run + "?outcome=failed").Want(200); got.Len("data") != 1 {
		t.Errorf("failed: %s", got.Body)
	}

	w.Delete(path).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)

	again := w.Post(path+"/run?dryRun=false", object{"bankRecordIds": list{good, closed}}).Want(202)
	w.Work()

	if got := w.Get(path + "/runs/" + again.String("operationId")).Want(200); got.Len("data") != 1 || of(got, closed, "outcome") != "failed" {
		t.Errorf("a second run: %s", got.Body)
	}

	// The books are closed over one of the transactions: it stays, and so does its record.
	kept := of(items, second, "transactionId")

	w.Exec(`update team set books_closed_at = '2026-02-12' where team_id = @team`, nil)
	w.Post(run+"/undo", nil).Want(202)
	w.Work()

	after := w.Get(run).Want(200)
	if of(after, good, "outcome") != "applied" || of(after, good, "reason") != string(apierr.ReasonBooksClosed) || of(after, second, "outcome") != "undone" {
		t.Errorf("undone: %s", after.Body)
	}

	if got := record(second); got.String("reconciliation.status") != "unpaid" || got.Value("matchedByBankRule") != nil {
		t.Errorf("an undone record: %s", got.Body)
	}

	w.Get("/transactions/" + kept).Want(404)

	if got := record(good); got.String("reconciliation.status") != "paid" {
		t.Errorf("a record that could not be undone: %s", got.Body)
	}

	w.Exec(`update team set books_closed_at = null where team_id = @team`, nil)
	w.Post(run+"/undo", nil).Want(202)
	w.Work()

	if got := w.Get(run + "?outcome=undone").Want(200); got.Len("data") != 2 {
		t.Errorf("undone at last: %s", got.Body)
	}

	w.Get(transaction).Want(404)
}

// A dry run answers with what would become of the records, and keeps nothing.
// Proves: INIT-29, DRY-33.
func TestDryRunOfARule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.made(w.depot("lines", list{object{"splitMode": "fixed", "fixedCentAmount": 1000, "accountId": w.repairs}, object{"splitMode": "remainder", "accountId": w.cost("Parts")}}))
	w.record(w.trust, "2026-02-10", -1500, "HOME DEPOT 1")
	w.record(w.trust, "2026-02-10", -900, "HOME DEPOT 2")
	operations := w.Get("/operations").Want(200).Int("total")
	before := w.Fingerprint()

	got := w.Post(path+"/run?dryRun=true", nil).Want(200)
	if got.Len("data") != 2 || got.Has("operationId") || w.Fingerprint() != before || w.Get("/operations").Want(200).Int("total") != operations {
		t.Errorf("dry run: %s", got.Body)
	}

	for i := range 2 {
		at := "data." + strconv.Itoa(i) + "."
		switch got.String(at + "outcome") {
		case "applied":
			if got.Int(at+"transaction.total") != 1500 || got.Len(at+"transaction.lines") != 2 || got.Int(at+"transaction.lines.1.amount") != 500 {
				t.Errorf("what would be booked: %s", got.Body)
			}
		case "failed":
			if got.String(at+"reason") != "splitMismatch" {
				t.Errorf("what would fail: %s", got.Body)
			}
		}
	}
}

// Proves: RSN-14.
func TestARuleRunsOnceAtATime(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	path, second := w.made(w.depot()), w.made(w.depot("name", "Second"))
	w.record(w.trust, "2026-02-10", -1500, "HOME DEPOT 1")
	first := w.Post(path+"/run?dryRun=false", nil).Want(202).String("operationId")
	refused := w.Post(path+"/run?dryRun=false", nil)
	refused.WantError(apierr.CodeConflict, apierr.ReasonBankRuleRunIncomplete)

	if refused.String("context.operationId") != first {
		t.Errorf("refused: %s", refused.Body)
	}

	w.Post(path+"/runs/"+first+"/undo", nil).WantError(apierr.CodeConflict, apierr.ReasonBankRuleRunIncomplete)
	w.Post(second+"/run?dryRun=false", nil).Want(202)
	w.Work()
	w.Post(path+"/run?dryRun=false", nil).Want(202)
	w.Work()

	other.Post(path+"/run?dryRun=false", nil).Want(404)
	other.Get(path + "/runs/" + first).Want(404)
	other.Post(path+"/runs/"+first+"/undo", nil).Want(404)
	w.Get(second + "/runs/" + first).Want(404)

	theirs := other.record(other.trust, "2026-02-10", -1500, "HOME DEPOT 1")
	w.Post(path+"/run?dryRun=false", object{"bankRecordIds": list{theirs}}).Want(400).WantIssue("notFound", "bankRecordIds.0")

	if n := w.count(`select count(*) from transaction where team_id = @team`); n != 1 {
		t.Errorf("%d transactions were booked of one record", n)
	}
}

func (w *world) count(sql string) (n int) {
	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int](ctx, tx, sql, db.Args{"team": tx.Team})
		return err
	})

	return n
}

// Rules of mode auto book what arrives, without anybody asking; the rules that only suggest book nothing, and neither
// does one for records that were there.
func TestRulesBookWhatArrives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.record(w.trust, "2026-02-09", -100, "Home depot, before")
	auto := w.made(w.depot("mode", "auto"))
	w.made(w.depot("name", "Baker", "mode", "suggest", "conditions", list{having("description", "contains", "baker")}))
	added := w.Post("/bank-records/batch", object{"data": list{
		object{"accountId": w.trust, "date": "2026-02-10", "description": "HOME DEPOT 1", "amount": -1500},
		object{"accountId": w.trust, "date": "2026-02-10", "description": "Baker", "amount": -300},
	}}).Want(201)
	w.Work()

	taken := w.Get("/bank-records/" + added.String("data.0.id")).Want(200)
	if taken.String("reconciliation.status") != "paid" || rules+"/"+taken.String("matchedByBankRule") != auto {
		t.Errorf("what a rule books by itself: %s", taken.Body)
	}

	run := w.Get("/operations").Want(200)
	if run.Int("total") != 1 || run.String("items.0.type") != "bank-rule-run" {
		t.Fatalf("operations: %s", run.Body)
	}

	if got := w.Get(auto + "/runs/" + run.String("items.0.id")).Want(200); got.Len("data") != 1 || got.String("data.0.outcome") != "applied" {
		t.Errorf("the run: %s", got.Body)
	}

	if n := w.count(`select count(*) from bank_reconciliation where team_id = @team`); n != 1 {
		t.Errorf("%d records are reconciled", n)
	}

	w.Post("/bank-records/batch", object{"data": list{object{"accountId": w.trust, "date": "2026-02-11", "description": "Nobody's", "amount": -1}}}).Want(201)

	if run := w.Get("/operations").Want(200); run.Int("total") != 1 {
		t.Errorf("what no rule takes starts a run: %s", run.Body)
	}
}
