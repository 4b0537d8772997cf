package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

const historical = "/general-ledger/historical"

func (w *world) entry(date, ref, code string, cents int64, pairs ...any) object {
	e := w.line(code, cents, pairs...)
	e["date"], e["txnRef"] = date, ref

	return e
}

func (w *world) past() list {
	return list{
		w.entry("2025-11-30", "old-1", "1000", 5000, "description", "Opening"), w.entry("2025-11-30", "old-1", "2400", -3000, "listingId", w.villa),
		w.entry("2025-12-31", "old-2", "5200", 100, "listingId", w.villa), w.entry("2025-11-30", "old-1", "2900", -2000),
		w.entry("2025-12-31", "old-2", "1000", -100),
	}
}

func encoded(t testing.TB, v any) string {
	t.Helper()

	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}

	return string(b)
}

// importOf sends a real import and gives its acknowledgement.
func (w *world) importOf(entries list) map[string]any {
	w.t.Helper()

	a := w.send(historical, encoded(w.t, object{"entries": entries}))
	if a.Code != 202 {
		w.t.Fatalf("%d %s", a.Code, a.Body)
	}

	var out map[string]any
	if err := json.Unmarshal(a.Body.Bytes(), &out); err != nil {
		w.t.Fatal(err)
	}

	return out
}

// Proves: INIT-32, INIT-33, DRY-35, OPEN-41, HST-36, HST-37, HST-38.
func TestHistoricalImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	live := func() string {
		var out strings.Builder
		for _, path := range []string{
			"/reports/journal-entries", "/reports/trial-balance?startDate=2025&endDate=2026", "/reports/profit-and-loss?startDate=2025&endDate=2026",
			"/reports/balance-sheet?date=2026",
		} {
			out.Write(w.Get(path).Want(200).Body)
		}

		return out.String()
	}

	w.Post(journals, w.gift("2026-01-20")).Want(201)
	before, untouched := live(), w.Fingerprint()

	dry := w.Post(historical+"?dryRun=true", object{"entries": w.past()}).Want(200)
	if got := string(dry.Body); got != `{"txnCount":2,"entryCount":5,"totals":{"debit":5100,"credit":5100}}`+"\n" && got != `{"txnCount":2,"entryCount":5,"totals":{"debit":5100,"credit":5100}}` {
		t.Errorf("the dry run says %s", got)
	}

	if w.Fingerprint() != untouched {
		t.Error("the dry run left something behind")
	}

	ack := w.importOf(w.past())
	if ack["type"] != "historical-gl-import" || ack["status"] != "queued" {
		t.Errorf("acknowledged as %v", ack)
	}

	if got := w.Get(historical).Want(200).String("data.0.postedAt"); got != "null" {
		t.Errorf("posted before the operation ran: %s", got)
	}

	w.Work()

	if got := w.Get("/operations/" + fmt.Sprint(ack["operationId"])).String("status"); got != "completed" {
		t.Errorf("the operation is %s", got)
	}

	entries := w.Get("/reports/journal-entries?ledger=historical&status=inactive&sort=-amount").Want(200)
	if entries.Len("data") != 5 || entries.Int("totals.debit") != 5100 || entries.String("data.0.txnCode") != "historical:old-1" ||
		entries.String("data.0.description") != "Opening" || entries.String("data.0.txnAt") != "2025-11-30" {
		t.Errorf("entries %s", entries.Body)
	}

	if after := live(); after != before {
		t.Errorf("live reports changed:\n%s\n%s", before, after)
	}

	row := w.Get(historical).Want(200)
	for path, want := range map[string]string{
		"data.0.txnCount": "2", "data.0.entryCount": "5", "data.0.skippedTxnCount": "0", "data.0.totals.debit": "5100", "data.0.startAt": "2025-11-30",
		"data.0.endAt": "2025-12-31", "data.0.operationId": fmt.Sprint(ack["operationId"]), "pagination.total": "1",
	} {
		if got := row.String(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}

	w.wantStaged(0)
}

func (w *world) wantStaged(want int64) {
	w.t.Helper()
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Get[int64](ctx, tx, `select count(*) from historical_entry where team_id = @team`, db.Args{"team": tx.Team})
		if n != want {
			w.t.Errorf("%d entries are staged, want %d", n, want)
		}

		return err
	})
}

func TestRepeatedImports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spoiled := w.past()
	spoiled[4] = w.entry("2025-12-31", "old-2", "1010", -100)
	w.importOf(spoiled) // never posted: the next one takes over
	w.importOf(w.past())
	w.wantStaged(5)
	w.Work()
	before := w.entries()
	shuffled := w.past()
	shuffled[0], shuffled[3] = shuffled[3], shuffled[0]
	w.importOf(append(shuffled, w.entry("2025-10-01", "old-3", "1000", 7), w.entry("2025-10-01", "old-3", "2900", -7)))
	w.wantStaged(2)
	w.Work()

	if after := w.entries(); len(after) != len(before)+2 {
		t.Errorf("%d entries, want two more than %d", len(after), len(before))
	}

	if got := w.Get(historical).Want(200).Int("data.0.skippedTxnCount"); got != 2 {
		t.Errorf("%d transactions were skipped, want 2", got)
	}

	r := w.Post(historical, object{"entries": spoiled}).WantError(apierr.CodeConflict, "")
	if r.String("context.txnRefs") != `["old-2"]` {
		t.Errorf("the transaction is not named: %s", r.Body)
	}
}

// Proves: RSN-21, RSN-22.
func TestImportsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := newWorld(t)
	bad := func(issue, path string, entries ...any) {
		t.Helper()
		w.Post(historical, object{"entries": entries}).WantError(apierr.CodeBadRequest, "").WantIssue(issue, path)
	}
	pair := func(date, ref string, cents int64) list {
		return list{w.entry(date, ref, "1000", cents), w.entry(date, ref, "2900", -cents)}
	}
	bad("notHistorical", "entries.0.date", pair("2026-01-01", "a", 5)...)
	bad("zeroAmount", "entries.0.centTotal", pair("2025-12-31", "a", 0)...)
	bad("notFound", "entries.2.accountId", append(pair("2025-12-31", "a", 5), other.entry("2025-12-31", "b", "1000", 1), w.entry("2025-12-31", "b", "1000", -1))...)
	bad("notFound", "entries.0.listingId", w.entry("2025-12-31", "a", "1000", 5, "listingId", other.villa), w.entry("2025-12-31", "a", "1000", -5))
	bad("notFound", "entries.1.contactId", w.entry("2025-12-31", "a", "1000", 5), w.entry("2025-12-31", "a", "1000", -5, "contactId", w.villa))
	bad("range", "entries", append(pair("2025-12-31", "a", 1<<53-1), pair("2025-12-31", "b", 1<<53-1)...)...)
	bad("required", "entries.0.txnRef", w.line("1000", 5))
	w.Post(historical, object{"entries": list{w.entry("2025-12-31", "a", "1000", 5), w.entry("2025-12-30", "a", "1000", -5)}}).
		WantError(apierr.CodeUnprocessableContent, "").WantIssue("dateMismatch", "entries.1.date")

	r := w.Post(historical, object{"entries": append(pair("2025-12-31", "a", 5), w.entry("2025-12-31", "b", "1000", 7))}).WantError(apierr.CodeUnprocessableContent, "")
	if got := r.String("context.transactions"); got != `[{"difference":7,"txnRef":"b"}]` {
		t.Errorf("the transaction is not named: %s", got)
	}

	w.wantStaged(0)
	w.As([]string{"general-ledger:read", "general-ledger:manage", "journals:post"}, nil).Post(historical, object{"entries": w.past()}).WantError(apierr.CodeForbidden, "")

	w.Exec(`update team set statement_start_at = null where team_id = @team`, nil)
	w.Post(historical, object{"entries": w.past()}).WantError(apierr.CodeBadRequest, apierr.ReasonGeneralLedgerStartDateMissing)
	w.KeepLedger(false)
	w.Post(historical, object{"entries": w.past()}).WantError(apierr.CodeBadRequest, apierr.ReasonGeneralLedgerDisabled)
}

// manyTxns are balanced pairs of entries.
func (w *world) manyTxns(txns int) string {
	var body strings.Builder
	body.WriteString(`{"entries":[`)

	for i := range txns {
		if i > 0 {
			body.WriteByte(',')
		}

		for k, code := range []string{"1000", "2900"} {
			if k > 0 {
				body.WriteByte(',')
			}

			fmt.Fprintf(&body, `{"date":"2025-%02d-01","txnRef":"t%06d","accountId":%q,"centTotal":%d}`, 1+i%12, i, w.accounts[code], (i+1)*(1-2*k))
		}
	}

	body.WriteString(`]}`)

	return body.String()
}

// An import of several rounds of staging and posting; STAYLEDGER_LARGE makes it the largest that is accepted.
func TestLargeImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	txns := 6_000
	if os.Getenv("STAYLEDGER_LARGE") != "" {
		txns = 100_000
	}

	body := w.manyTxns(txns)
	if a := w.send(historical, body); a.Code != 202 {
		t.Fatalf("%d %s", a.Code, a.Body)
	}

	w.Work()
	w.wantStaged(0)

	r := w.Get("/reports/journal-entries?ledger=historical&status=inactive&limit=1").Want(200)
	if want := int64(txns) * int64(txns+1) / 2; r.Int("pagination.total") != int64(2*txns) || r.Int("totals.debit") != want || r.Int("totals.credit") != want {
		t.Errorf("got %s", r.Body)
	}
}
