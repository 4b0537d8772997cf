package ledger_test

import (
	"strings"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/test/world"
)

// frozen is a team with something of every kind in July 2019, which the lock of export_test.go holds.
type frozen struct {
	*world.World

	villa                       world.Listing
	fee, stay, expense, journal string
}

func newFrozen(t *testing.T) *frozen {
	t.Helper()
	f := &frozen{World: world.New(t)}
	f.Put("/team", world.Object{"statementStartAt": "2019-07-02"}).Want(200)
	f.Work()
	f.villa = f.Listing("Villa", f.Contact("owner", "Ada"))
	fee := f.Post("/recurring-fees", world.Object{
		"name": "Management", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 20000, "debitParty": "owners",
		"creditParty": "manager", "debitAccountId": f.Account("5100"), "creditAccountId": f.Account("4100"),
		"listingSubscriptions": world.Array{world.Object{"listingId": f.villa.ID}},
	}).Want(201)
	f.fee = "/recurring-fees/" + fee.String("id")
	f.Work()
	f.stay = "/reservations/" + f.Stay(f.villa, "2019-07-10", 100000).String()
	f.expense = "/transactions/" + f.Expense(f.villa, "2019-07-15", 5000).String()
	f.journal = "/general-ledger/journals/" + f.Post("/general-ledger/journals", world.Object{
		"date": "2019-07-19", "description": "by hand", "lines": world.Array{
			world.Object{"accountId": f.Account("5200"), "centTotal": 300, "party": "owners", "listingId": f.villa.ID},
			world.Object{"accountId": f.Account("2200"), "centTotal": -300},
		},
	}).Want(201).String("id")
	f.Work()

	return f
}

// wantHeld demands that a lock of the test, and no other, kept a change out.
func (f *frozen) wantHeld(r *apitest.Response, reason apierr.Reason) {
	f.T.Helper()

	if r.WantError(apierr.CodeForbidden, reason).String("context.lockReason") != "period" || r.Has("context.booksClosedAt") {
		f.T.Errorf("held by %s", r.Body)
	}
}

// A kind of lock that is added to the list of rules reaches everything that shows or decides what is locked, without a
// change there. Code that decides by itself fails here: it does not know this lock.
func TestANewLockReachesEveryPlace(t *testing.T) { //nolint:paralleltest // other tests of this package fold the sums of all teams, which a dry run must not see change
	f := newFrozen(t)

	ledger.Frozen.Store(true)
	t.Cleanup(func() { ledger.Frozen.Store(false) })

	for _, place := range []struct { //nolint:paralleltest // one team, one after the other
		name string
		look func(t *testing.T)
	}{
		{"writes", f.reachesWrites},
		{"lock objects", f.reachesObjects},
		{"filters of lists and exports", f.reachesFilters},
		{"use of accounts", f.reachesAccounts},
		{"opening trial balance", f.reachesTrialBalance},
		{"journals that wait, and closing the books", f.reachesOutstanding},
		{"later open day", func(t *testing.T) {
			t.Helper()
			at := date(t, "2019-07-15")

			lock := ledger.CheckLocks(ledger.Closing{}, ledger.Touched{Ledger: ledger.Trust, Status: ledger.Active, TxnAt: at}, ledger.Lenience{IgnoreBooksClosed: true})
			if open := ledger.OpenFrom(lock); open == nil || *open != date(t, "2019-08-01") || !ledger.IsLock(lock) || !ledger.IsDayLock(lock) {
				t.Errorf("%v is open from %v", lock, open)
			}
		}},
	} {
		t.Run(place.name, place.look)
	}
}

func (f *frozen) reachesWrites(t *testing.T) {
	t.Helper()

	own := apierr.ReasonSelfModification
	f.wantHeld(f.Put(f.expense, world.Object{"date": "2019-08-15"}), own)
	f.wantHeld(f.Put(f.expense, world.Object{"date": "2019-08-15"}, "x-ignore-books-closed-at", "true"), own)
	f.wantHeld(f.Delete(f.expense), own)
	f.wantHeld(f.Put(f.journal, world.Object{"date": "2019-08-15"}), own)
	f.wantHeld(f.Put(f.stay, world.Object{"lines": world.Array{world.Object{"type": "rent", "amount": 90000}}}), apierr.ReasonReservationLocked)
	f.wantHeld(f.Put("/listings/"+f.villa.ID.String()+"/opening-balance", world.Object{"amount": 1}), own)
}

func (f *frozen) reachesObjects(t *testing.T) {
	t.Helper()

	for _, path := range []string{f.expense, f.journal, f.stay, f.stay + "/journal-preview", f.fee, "/listings/ownership-periods/" + f.villa.Period.String()} {
		if got := f.Get(path).Want(200); got.String("lock.status") != "locked" || got.String("lock.booksClosed") != "null" {
			t.Errorf("%s shows %s", path, got.String("lock"))
		}
	}
}

func (f *frozen) reachesFilters(t *testing.T) {
	t.Helper()

	for path, lines := range map[string]int{
		"/transactions?isLocked=true": 2, "/transactions?isLocked=false": 0,
		"/reports/journal-entries?locked=true": 10, "/reports/journal-entries?locked=false": 0,
	} {
		if got := f.Get(path).Want(200); got.Len("data") != lines {
			t.Errorf("%s finds %d: %s", path, got.Len("data"), got.Body)
		}
	}

	for path, filter := range map[string]string{"/transactions/csv": "isLocked", "/reports/journal-entries/csv": "locked"} {
		for _, locked := range []string{"true", "false"} {
			link := f.Get(path + "?" + filter + "=" + locked).Want(200).String("url")

			file := string(f.Get(strings.TrimPrefix(link, "http://127.0.0.1")).Want(200).Body)
			if rows := strings.Count(file, "\n") - 1; (rows > 0) != (locked == "true") {
				t.Errorf("%s, %s=%s: %s", path, filter, locked, file)
			}
		}
	}
}

func (f *frozen) reachesAccounts(t *testing.T) {
	t.Helper()

	r := f.Put("/accounts/"+f.Account("5200").String(), world.Object{"status": "inactive"}).WantError(apierr.CodeBadRequest, apierr.ReasonAccountInUse)
	if r.String("context.lockReasons") != `["lockedJournalEntries"]` {
		t.Errorf("in use for %s", r.Body)
	}
}

func (f *frozen) reachesTrialBalance(t *testing.T) {
	t.Helper()

	const trialBalance = "/teams/opening-trial-balance"
	if got := f.Get(trialBalance).Want(200); got.String("locked") != "true" || got.String("lockReasons") != `["selfModification"]` {
		t.Errorf("the trial balance says %s", got.Body)
	}

	f.wantHeld(f.Put(trialBalance+"/manual", world.Object{"rows": world.Array{}}), apierr.ReasonOpeningTrialBalanceLocked)
}

// A journal that the lock keeps as it is waits for it, is final meanwhile, and is not tried again when other days are
// opened.
func (f *frozen) reachesOutstanding(t *testing.T) {
	t.Helper()
	f.Put(f.fee, world.Object{"defaultRate": 25000}).Want(200)
	f.Work()

	waits := func(when string) {
		t.Helper()

		for _, path := range []string{f.stay, f.fee} {
			if got := f.Get(path).Want(200); got.String("journalStatus.reason") != "journalLocked" || got.String("journalStatus.action") != "unlock" {
				t.Errorf("%s, %s: %s", when, path, got.String("journalStatus"))
			}
		}
	}
	waits("after a change of the fee")
	f.Post("/team/books-closing", world.Object{"booksClosedAt": "2019-06-01", "reason": "the month before"}).Want(201)
	f.Post("/team/books-closing", world.Object{"booksClosedAt": "2019-09-01", "reason": "beyond it"}).Want(201)
	f.Post("/team/books-closing", world.Object{"booksClosedAt": nil, "reason": "open again"}).Want(201)
	waits("after other days were opened")
}
