package books_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// january is a team with everything of a month that a lock can hold.
type january struct {
	*villa
	stay, deposit, expense, bill, transfer, payout, adjustment, fee, journal, spare string
}

func newJanuary(t *testing.T) *january {
	t.Helper()
	j := &january{villa: newVilla(t)}
	j.must("PUT", "/team", object{"statementStartAt": "2026-01-01"})
	j.fee = j.villa.fee("Management", "managementFee", "rent", 20000, "5100", "4100")
	j.stay = j.villa.stay("2026-01-10", "2026-01-13", object{"rent": 100000})
	j.Work()
	j.deposit = j.villa.deposit("2026-01-05", j.stay, 100000, 0, "")
	cost := func(date string, more object) string {
		body := object{"type": "expense", "date": date, "lines": list{object{"accountId": j.account("5200"), "amount": 5000, "listingId": j.listing}}}
		maps.Copy(body, more)

		return j.must("POST", "/transactions", body)
	}
	j.expense = cost("2026-01-15", object{"accountId": j.account("1000")})
	j.bill = cost("2026-01-16", object{"payment": object{"date": "2026-01-20"}})
	j.transfer = j.must("POST", "/transactions", object{
		"type": "transfer", "date": "2026-01-17", "accountId": j.account("1000"), "lines": list{object{"accountId": j.account("1100"), "amount": 700}},
	})
	j.payout = j.must("POST", "/transactions", object{
		"type": "payout", "date": "2026-01-18", "lines": list{object{"assignment": "payout_distribution", "amount": 900, "listingId": j.listing, "contactId": j.ada, "party": "owners"}},
	})

	var stay struct{ Adjustments []struct{ ID string } }

	status, answer := j.send("POST", "/reservations/"+j.stay+"/adjustments", object{"type": "financial", "amount": 2500, "accountId": j.account("4030"), "party": "owners"})
	if status >= 300 || json.Unmarshal(answer, &stay) != nil || len(stay.Adjustments) != 1 {
		t.Fatalf("adjustment: %d %s", status, answer)
	}

	j.adjustment = stay.Adjustments[0].ID
	j.journal = j.must("POST", "/general-ledger/journals", j.manual("2026-01-19", 300))
	j.spare = j.must("POST", "/listings", object{"name": "Spare", "initialOwnership": object{"members": list{object{"contactId": j.ada, "split": 100000}}}})

	return j
}

// manual is a journal of an owners' cost.
func (j *january) manual(date string, cents int64) object {
	return object{"date": date, "description": "by hand", "lines": list{
		object{"accountId": j.account("5200"), "centTotal": cents, "party": "owners", "listingId": j.listing},
		object{"accountId": j.account("2200"), "centTotal": -cents},
	}}
}

// reconcile has bank records stand for every transaction.
func (j *january) reconcile() {
	for _, transaction := range []string{j.deposit, j.expense, j.bill, j.transfer, j.payout} {
		v, err := id.Parse(transaction)
		if err != nil {
			j.t.Fatal(err)
		}

		j.Exec(`with record as (
				insert into bank_record (team_id, id, account_id, date, amount, created_at, updated_at)
				values (@team, @record, @account, '2026-01-20', 1, now(), now()) returning id)
			insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
			select @team, id, @transaction, @account, 1, now() from record`,
			db.Args{"record": id.New(j.DB.Now()), "account": j.account("1000"), "transaction": v})
	}
}

// The locks, each over all of January.
const (
	closed = iota
	softClosed
	inReview
	published
	reconciled
	lockCount
)

func lockNames() [lockCount]string {
	return [lockCount]string{"books closed", "softly closed", "statement in review", "statement published", "reconciled"}
}

func (j *january) lock(which int) {
	switch which {
	case closed:
		j.must("POST", "/team/books-closing", object{"booksClosedAt": "2026-02-01", "reason": "month end"})
	case softClosed:
		j.must("POST", "/team/books-closing", object{"softClosedAt": "2026-02-01", "softClosePosters": list{}, "reason": "month end"})
	case inReview:
		j.must("POST", "/statements", object{"month": "2026-01", "status": "inReview"})
	case published:
		j.must("POST", "/statements", object{"month": "2026-01", "status": "published"})
	case reconciled:
		j.reconcile()
	}
}

// lift takes a lock away again.
func (j *january) lift(which int) {
	switch which {
	case closed:
		j.must("POST", "/team/books-closing", object{"booksClosedAt": nil, "reason": "reopened"})
	case softClosed:
		j.must("POST", "/team/books-closing", object{"softClosedAt": nil, "reason": "reopened"})
	case inReview, published:
		j.must("PUT", "/statements/"+j.shown("/statements?month=2026-01&ownershipPeriodIds="+j.firstPeriod(), "data.0.id"), object{"status": "draft"})
	case reconciled:
		j.Exec("delete from bank_reconciliation where team_id = @team", nil)
	}
}

// held are the answers to a mutation under each lock, in the order of the locks: a reason, or nothing when it is
// accepted.
type held [lockCount]string

var (
	free       = held{}
	newOwners  = held{"booksClosed", "booksClosed", "statementInReview", "statementPeriod", ""}
	oldOwners  = held{"booksClosed", "booksClosed", "statementAttachment", "statementAttachment", ""}
	datedOnly  = held{"booksClosed", "booksClosed", "", "", ""}
	oldMoney   = held{"booksClosed", "booksClosed", "", "", "transactionReconciled"}
	ownMoney   = held{"booksClosed", "booksClosed", "statementAttachment", "statementAttachment", "transactionReconciled"}
	lockedStay = held{"reservationLocked", "reservationLocked", "reservationLocked", "reservationLocked", ""}
)

// mutation is a request that posts, or would post, to January.
type mutation struct {
	name, method, path string
	body               object
	want               held
}

func (j *january) mutations() []mutation {
	stay, adjustment := "/reservations/"+j.stay, "/reservations/"+j.stay+"/adjustments"
	transaction := func(v string) string { return "/transactions/" + v }
	ownersCost := func(date string) object {
		return object{"type": "expense", "date": date, "lines": list{object{"accountId": j.account("5200"), "amount": 100, "listingId": j.listing}}}
	}
	booking := func(checkIn, checkOut string) object {
		return object{"listingId": j.listing, "checkIn": checkIn, "checkOut": checkOut, "lines": list{object{"type": "rent", "amount": 1000}}}
	}
	amount := func(cents int64) object {
		return object{"accountId": j.account("4030"), "type": "financial", "party": "owners", "amount": cents}
	}
	dated := amount(100)
	dated["generalLedgerPostingAt"] = "2026-02-10"
	line := func(account string, cents int64, more object) object {
		l := object{"accountId": j.account(account), "amount": cents}
		maps.Copy(l, more)

		return object{"lines": list{l}}
	}

	return []mutation{
		{"a deposit", "POST", "/transactions", object{"type": "deposit", "date": "2026-01-06", "lines": list{object{"assignment": "accountsReceivable", "amount": 100, "reservationId": j.stay}}}, datedOnly},
		{"an owners' cost", "POST", "/transactions", ownersCost("2026-01-16"), newOwners},
		{"an owners' cost in February", "POST", "/transactions", ownersCost("2026-02-01"), free},
		{"another amount of a deposit", "PUT", transaction(j.deposit), object{"lines": list{object{"assignment": "accountsReceivable", "amount": 90000, "reservationId": j.stay}}}, oldMoney},
		{"another amount of a cost", "PUT", transaction(j.expense), line("5200", 4000, object{"listingId": j.listing}), ownMoney},
		{"a cost moved to February", "PUT", transaction(j.expense), object{"date": "2026-02-02"}, ownMoney},
		{"archiving a cost", "PUT", transaction(j.expense), object{"status": "inactive"}, ownMoney},
		{"a line more", "PUT", transaction(j.expense), object{"lines_create": list{object{"accountId": j.account("5200"), "amount": 10, "listingId": j.listing}}}, ownMoney},
		{"deleting a cost", "DELETE", transaction(j.expense), nil, ownMoney},
		{"deleting a deposit", "DELETE", transaction(j.deposit), nil, oldMoney},
		{"paying a bill later", "PUT", transaction(j.bill), object{"payment": object{"date": "2026-02-05"}}, oldMoney},
		{"another amount of a transfer", "PUT", transaction(j.transfer), line("1100", 800, nil), oldMoney},
		{"deleting a payout", "DELETE", transaction(j.payout), nil, ownMoney},
		{"another name of a guest", "PUT", stay, object{"guestName": "Eve"}, free},
		{"another price of a stay", "PUT", stay, object{"lines": list{object{"type": "rent", "amount": 90000}}}, lockedStay},
		{"canceling a stay", "PUT", stay, object{"status": "canceled"}, lockedStay},
		{"a stay", "POST", "/reservations", booking("2026-01-20", "2026-01-22"), newOwners},
		{"a stay in February", "POST", "/reservations", booking("2026-02-20", "2026-02-22"), free},
		{"an adjustment", "POST", adjustment, amount(100), lockedStay},
		{"an adjustment posted in February", "POST", adjustment, dated, free},
		{"another amount of an adjustment", "PUT", adjustment + "/" + j.adjustment, object{"amount": 100}, lockedStay},
		{"deleting an adjustment", "DELETE", adjustment + "/" + j.adjustment, nil, lockedStay},
		{"another rate of a fee", "PUT", "/recurring-fees/" + j.fee, object{"defaultRate": 25000}, free},
		{"a manual journal", "POST", "/general-ledger/journals", j.manual("2026-01-20", 100), newOwners},
		{"a manual journal in February", "POST", "/general-ledger/journals", j.manual("2026-02-20", 100), free},
		{"another manual journal", "PUT", "/general-ledger/journals/" + j.journal, object{"lines": j.manual("", 400)["lines"]}, oldOwners},
		{"deleting a manual journal", "DELETE", "/general-ledger/journals/" + j.journal, nil, oldOwners},
		{"reversing in January", "POST", "/general-ledger/journals/" + j.journal + "/reverse", object{"date": "2026-01-25"}, newOwners},
		{"reversing in February", "POST", "/general-ledger/journals/" + j.journal + "/reverse", object{"date": "2026-02-01"}, free},
		{"an opening balance", "PUT", "/listings/" + j.spare + "/opening-balance", object{"amount": 100}, newOwners},
	}
}

// try sends a mutation as a dry run, which asks the locks and changes nothing, and gives the reason it was refused
// with.
func (j *january) try(m *mutation, override bool) (status int, reason string, answer []byte) {
	j.t.Helper()

	body, err := json.Marshal(m.body)
	if err != nil {
		j.t.Fatal(err)
	}

	r := httptest.NewRequestWithContext(j.t.Context(), m.method, m.path+"?dryRun=true", strings.NewReader(string(body)))
	if m.body == nil {
		r = httptest.NewRequestWithContext(j.t.Context(), m.method, m.path+"?dryRun=true", nil)
	}

	r.Header.Set("Content-Type", "application/json")

	if override {
		r.Header.Set("X-Ignore-Books-Closed-At", "true")
	}

	w := httptest.NewRecorder()
	j.Server().ServeHTTP(w, r)

	var refusal struct{ Reason string }

	_ = json.Unmarshal(w.Body.Bytes(), &refusal)

	return w.Code, refusal.Reason, w.Body.Bytes()
}

// Every mutation that posts is held by every lock that it must be held by, and by no other. The override passes the
// closed books on transaction routes, and nothing else anywhere.
//
// Proves: BKC-01, BKC-02, BKC-03, BKC-04, BKC-05, BKC-07, BKC-08, BKC-09, RSN-16, RSN-53, RSN-61, RSN-63, RSN-66, DRY-09, DRY-10, DRY-11, DRY-12.
func TestLockMatrix(t *testing.T) {
	t.Parallel()

	for which, name := range lockNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			j := newJanuary(t)
			for _, m := range j.mutations() {
				if status, _, answer := j.try(&m, false); status >= 300 {
					t.Errorf("%s, before the lock: %d %s", m.name, status, answer)
				}
			}

			j.lock(which)

			for _, m := range j.mutations() {
				for _, override := range []bool{false, true} {
					want := m.want[which]
					if override && strings.HasPrefix(m.path, "/transactions") && (which == closed || which == softClosed) {
						want = ""
					}

					status, reason, answer := j.try(&m, override)
					switch {
					case want == "" && status >= 300, want != "" && (status != http.StatusForbidden || reason != want):
						t.Errorf("%s, override %v: want %q, got %d %s", m.name, override, want, status, answer)
					}
				}
			}

			j.agree(which)
			j.releases(which)
		})
	}
}

// releases has the derivation of the stay held by a lock, takes the lock away, and demands that the stay is derived
// then without being asked for.
func (j *january) releases(which int) {
	j.t.Helper()
	mapping := j.shown("/reservations/line-mappings?lineType=rent", "data.0.id")
	j.must("PUT", "/reservations/line-mappings/"+mapping, object{"accountId": j.account("4010")})
	j.Work()

	want := "stale"
	if which == reconciled {
		want = "current"
	}

	if got := j.shown("/reservations/"+j.stay, "journalStatus.status"); got != want {
		j.t.Errorf("under the lock the stay's journal is %s, want %s", got, want)
	}

	j.lift(which)
	j.Work()

	if got := j.shown("/reservations/"+j.stay, "journalStatus.status"); got != "current" {
		j.t.Errorf("after the lock the stay's journal is %s", got)
	}
}

// shown reads a field of an answer.
func (j *january) shown(path, field string) string {
	j.t.Helper()
	return j.Get(path).Want(http.StatusOK).String(field)
}

// agree demands that lock objects and filters tell what a write meets. The entries' filter and the use of an account
// tell what holds everybody, which a soft close does not.
func (j *january) agree(which int) {
	j.t.Helper()

	type place struct{ path, listed, entries string }

	places := []place{
		{"/reservations/" + j.stay, "", "reservationIds=" + j.stay + "&triggerTypes=reservation"},
		{"/general-ledger/journals/" + j.journal, "", ""},
	}
	for _, transaction := range []string{j.deposit, j.expense, j.bill, j.transfer, j.payout} {
		places = append(places, place{"/transactions/" + transaction, "/transactions?ids=" + transaction, "transactionIds=" + transaction})
	}

	for _, p := range places {
		change := mutation{name: p.path, method: "DELETE", path: p.path}
		if strings.HasPrefix(p.path, "/reservations") {
			change = mutation{name: p.path, method: "PUT", path: p.path, body: object{"status": "canceled"}}
		}

		status, _, answer := j.try(&change, false)

		held := status == http.StatusForbidden
		if got := j.shown(p.path, "lock.status"); (got == "locked") != held {
			j.t.Errorf("%s: lock %s, and a write is answered %d %s", p.path, got, status, answer)
		}

		if got := p.listed != "" && j.shown(p.listed+"&isLocked=true", "pagination.total") == "1"; p.listed != "" && got != held {
			j.t.Errorf("%s: isLocked %v, and a write is answered %d %s", p.path, got, status, answer)
		}

		if got := p.entries != "" && j.shown("/reports/journal-entries?locked=true&"+p.entries, "pagination.total") != "0"; p.entries != "" && got != (held && which != softClosed) {
			j.t.Errorf("%s: entries locked %v, and a write is answered %d %s", p.path, got, status, answer)
		}
	}

	over := which < reconciled
	for _, path := range []string{"/recurring-fees/" + j.fee, "/listings/ownership-periods/" + j.firstPeriod()} {
		if got := j.shown(path, "lock.status"); (got == "locked") != over {
			j.t.Errorf("%s: lock %s", path, got)
		}
	}

	repairs := mutation{method: "PUT", path: "/accounts/" + j.account("5200").String(), body: object{"status": "inactive"}}
	if status, reason, answer := j.try(&repairs, false); (status == http.StatusBadRequest && reason == "accountInUse") != (which != softClosed) {
		j.t.Errorf("archiving an account: %d %s", status, answer)
	}
}

// An imported statement locks nothing: neither for a write nor for those who ask before.
func TestImportedStatementsLockNothing(t *testing.T) {
	t.Parallel()
	j := newJanuary(t)

	period, err := id.Parse(j.firstPeriod())
	if err != nil {
		t.Fatal(err)
	}

	j.Exec(`insert into statement (team_id, id, short_ref, unique_ref, imported, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start,
			net_revenue, expenses, payouts, balance_end, reserve, created_at, updated_at)
		select @team, @id, 'S1', 'before the books', true, id, listing_id, 'published', 'usd', '2026-01-01', '2026-01-31', 0, 0, 0, 0, 0, 0, now(), now()
		from listing_ownership_period where team_id = @team and id = @period`, db.Args{"id": id.New(j.DB.Now()), "period": period})

	for _, m := range j.mutations() {
		if status, _, answer := j.try(&m, false); status >= 300 {
			t.Errorf("%s: %d %s", m.name, status, answer)
		}
	}

	for path, want := range map[string]string{
		"/transactions?isLocked=true": "0", "/transactions?isLocked=false": "5", "/reports/journal-entries?locked=true": "0",
	} {
		if got := j.shown(path, "pagination.total"); got != want {
			t.Errorf("%s finds %s, want %s", path, got, want)
		}
	}

	for _, path := range []string{"/transactions/" + j.expense, "/reservations/" + j.stay, "/general-ledger/journals/" + j.journal, "/recurring-fees/" + j.fee} {
		if got := j.shown(path, "lock.status"); got != "open" {
			t.Errorf("%s: lock %s", path, got)
		}
	}

	if got := j.shown("/teams/opening-trial-balance", "lockReasons"); got != "[]" {
		t.Errorf("the opening trial balance is locked for %s", got)
	}
}
