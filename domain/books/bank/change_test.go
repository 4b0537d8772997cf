package bank_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// Each field that is named changes, and no other.
func TestARecordChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	r := w.keep(100, "uniqueRef", "ref")
	for _, change := range []struct {
		body object
		want map[string]string
	}{
		{object{"description": "Other"}, map[string]string{"description": "Other", "amount": "100", "uniqueRef": "ref", "date": "2026-02-10"}},
		{object{"date": "2026-02-11"}, map[string]string{"description": "Other", "date": "2026-02-11"}},
		{object{"amount": -100}, map[string]string{"amount": "-100", "date": "2026-02-11"}},
		{object{"accountId": w.accounts["1010"]}, map[string]string{"accountId": w.accounts["1010"].String(), "amount": "-100", "status": "active"}},
		{object{"uniqueRef": "new"}, map[string]string{"uniqueRef": "new", "accountId": w.accounts["1010"].String()}},
		{object{"uniqueRef": nil, "status": "inactive"}, map[string]string{"uniqueRef": "<nil>", "status": "inactive", "amount": "-100"}},
		{object{"status": "active"}, map[string]string{"status": "active"}},
		{object{}, map[string]string{"description": "Other", "status": "active", "matchingTransactions": "[]"}},
	} {
		telling(t, w.Put(path(r), change.body).Want(200), change.want)
	}

	balance := w.Post(batch, object{"data": list{object{"accountId": w.accounts["1000"], "date": "2026-02-10", "description": "", "balance": 5}}}).Want(201).ID("data.0.id")
	telling(t, w.Put(path(balance), object{"balance": 7}).Want(200), map[string]string{"balance.current": "7", "amount": "0"})
}

// Proves: DRY-32.
func TestWhatAChangeRefuses(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	foreign, r := other.keep(1), w.keep(1)
	balance := w.stated("", "1000", "2026-02-10", 5)
	euros := w.another("1000")
	w.Exec(`update account set banking_currency = 'eur' where team_id = @team and id = @id`, db.Args{"id": euros})

	for _, test := range []struct {
		record      id.ID
		body        object
		code, field string
	}{
		{r, object{"balance": 1}, "contradiction", "balance"},
		{balance, object{"amount": 1}, "contradiction", "amount"},
		{r, object{"accountId": w.id()}, "notFound", "accountId"},
		{r, object{"accountId": other.accounts["1000"]}, "notFound", "accountId"},
		{r, object{"accountId": w.accounts["1100"]}, "notBankAccount", "accountId"},
		{r, object{"accountId": euros}, "currencyMismatch", "accountId"},
		{r, object{"amount": -10_000_000_000_001}, "range", "amount"},
		{r, object{"status": "gone"}, "enum", "status"},
		{r, object{"source": "csv"}, "unknownField", "source"},
	} {
		w.Put(path(test.record), test.body).WantError(apierr.CodeBadRequest, "").WantIssue(test.code, test.field)
	}

	for _, absent := range []id.ID{foreign, w.id()} {
		w.Put(path(absent), object{"description": "Mine"}).WantError(apierr.CodeNotFound, "")
		w.Delete(path(absent)).WantError(apierr.CodeNotFound, "")
	}

	telling(t, other.Get(path(foreign)).Want(200), map[string]string{"description": "Rent"})
}

// What is reconciled keeps what its transactions explain, and counts; only how it reads can change.
//
// Proves: RSN-11.
func TestAReconciledRecordKeepsItsMoney(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.deposit("1000", "2026-02-10", 60, false)
	part := w.keep(100, "source", "csv")
	w.reconcile(part, made, "1000", 60)
	// Parts that add up to 0 are parts nevertheless.
	nothing := w.keep(100, "source", "csv")
	w.reconcile(nothing, made, "1000", 5)
	w.reconcile(nothing, w.expense("1000", "2026-02-10", 5), "1000", -5)

	for _, r := range []id.ID{part, nothing} {
		for _, body := range []object{{"amount": 60}, {"date": "2026-02-11"}, {"accountId": w.accounts["1010"]}, {"status": "inactive"}} {
			w.Put(path(r), body).WantError(apierr.CodeForbidden, apierr.ReasonBankRecordReconciled)
		}

		w.Delete(path(r)).WantError(apierr.CodeForbidden, apierr.ReasonBankRecordReconciled)
		same := object{"amount": 100, "date": "2026-02-10", "accountId": w.accounts["1000"], "status": "active", "description": "Read", "uniqueRef": r.String()}
		telling(t, w.Put(path(r), same).Want(200), map[string]string{"description": "Read", "uniqueRef": r.String(), "amount": "100"})
	}

	w.Exec(`delete from bank_reconciliation where team_id = @team`, nil)

	for _, r := range []id.ID{part, nothing} {
		w.Put(path(r), object{"amount": 60, "date": "2026-02-11", "status": "inactive"}).Want(200)
		w.Delete(path(r)).Want(204)
	}
}

// Proves: RSN-12.
func TestARecordThatARuleHasMatchedStaysAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.keep(100, "source", "csv", "uniqueRef", "ref")
	w.reconcile(r, w.deposit("1000", "2026-02-10", 100, false), "1000", 100)
	w.Exec(`update bank_record set matched_by_bank_rule = @rule where team_id = @team and id = @id`, db.Args{"id": r, "rule": fixture.BankRule(w.Team, "Rule")})

	for _, body := range []object{
		{"amount": 60}, {"date": "2026-02-11"}, {"accountId": w.accounts["1010"]}, {"status": "inactive"}, {"description": "Other"}, {"uniqueRef": nil},
	} {
		w.Put(path(r), body).WantError(apierr.CodeBadRequest, apierr.ReasonBankRecordRuleMatched)
	}

	w.Delete(path(r)).WantError(apierr.CodeBadRequest, apierr.ReasonBankRecordRuleMatched)
	w.Put(path(r), object{"amount": 100, "uniqueRef": "ref"}).Want(200)
}

// What a feed says stays as the bank said it; it can be described, excluded and brought back.
//
// Proves: RSN-10.
func TestWhatAFeedSaysStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.keep(100, "uniqueRef", "ref")
	w.come("bankfeed", r)

	for _, body := range []object{{"amount": 60}, {"date": "2026-02-11"}, {"accountId": w.accounts["1010"]}, {"uniqueRef": "other"}, {"uniqueRef": nil}} {
		w.Put(path(r), body).WantError(apierr.CodeBadRequest, apierr.ReasonBankRecordBankfeedSource)
	}

	w.Delete(path(r)).WantError(apierr.CodeBadRequest, apierr.ReasonBankRecordBankfeedSource)
	telling(t, w.Put(path(r), object{"description": "Rent of May", "status": "inactive", "amount": 100}).Want(200), map[string]string{"status": "inactive", "description": "Rent of May"})
	telling(t, w.Put(path(r), object{"status": "active"}).Want(200), map[string]string{"status": "active"})
}

// Only what came in a file can be deleted, excluded or not.
//
// Proves: RSN-09, DRY-32.
func TestOnlyRecordsOfFilesAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	byHand, excluded, ofFile := w.keep(1), w.keep(2, "source", "csv"), w.keep(3, "source", "csv")
	w.Put(path(excluded), object{"status": "inactive"}).Want(200)
	w.Delete(path(byHand)).WantError(apierr.CodeBadRequest, apierr.ReasonBankRecordNotCsvSource)

	for _, r := range []id.ID{excluded, ofFile} {
		w.Delete(path(r)).Want(204)
		w.Get(path(r)).WantError(apierr.CodeNotFound, "")
	}

	if got := w.Get("/bank-records").Want(200); got.Int("pagination.total") != 1 || names(got) != "Rent" {
		t.Errorf("left are %s", got.Body)
	}
}

// Books that are closed lock no bank record: it posts nothing.
func TestClosedBooksLockNoRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.keep(1, "source", "csv")
	w.Exec(`update team set books_closed_at = '2026-03-01' where id = @team`, nil)
	w.Put(path(r), object{"amount": 5, "date": "2026-02-11"}).Want(200)
	w.keep(2)
	w.Delete(path(r)).Want(204)
}
