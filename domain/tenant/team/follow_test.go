package team_test

import (
	"context"
	"testing"
	"time"

	"stayledger/domain/activity/journal"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/activity/opening"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/account"
	"stayledger/domain/books/trial"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/test/fixture"
)

// books is a team with the standard chart, a listing, a stay in March and a bill with markup in April.
type books struct {
	*apitest.Team
	t          *testing.T
	codes      map[string]id.ID
	stay, bill string
}

func newBooks(t *testing.T) *books {
	t.Helper()

	all := parts.Join(opening.Part(rule.OfBank), trial.Part(), account.Part(journal.Sources()), team.Part(team.Config{Journals: journal.Sources()}, nouns...),
		listing.New(journal.Sources(), nil).Part(), reservation.Part(), transaction.Part(), operation.Part(time.Hour))
	x := apitest.New(t, apitest.Config{Endpoints: all.Endpoints, Handlers: all.Handlers})
	x.Tx(account.InstallStandard)
	x.Tx(mapping.InstallStandard)
	b := &books{Team: x, t: t, codes: fixture.Accounts(x)}
	owner := id.New(x.DB.Now())
	x.Exec(`insert into contact (team_id, id, short_ref, type, name, created_at, updated_at) values (@team, @id, 'O', 'owner', 'Owner', now(), now())`,
		db.Args{"id": owner})
	house := x.Post("/listings", object{
		"name": "House", "initialOwnership": object{"members": []object{{"contactId": owner, "split": 100000}}},
	}).Want(201).String("id")
	b.stay = x.Post("/reservations", object{
		"listingId": house, "checkIn": "2026-03-10", "checkOut": "2026-03-12", "bookedAt": "2026-02-01", "lines": []object{{"type": "rent", "amount": 20000}},
	}).Want(201).String("id")
	b.bill = x.Post("/transactions", object{
		"type": "expense", "date": "2026-04-05",
		"lines": []object{{"amount": 1000, "accountId": b.codes["5200"], "listingId": house, "party": "owners", "markup": object{"amount": 100}}},
	}).Want(201).String("id")

	return b
}

// on is the sum of the active entries of a source on an account.
func (b *books) on(source, code string) (sum int64) {
	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		sum, err = db.Get[int64](ctx, tx, `select coalesce(sum(cent_total), 0)::bigint from ledger_entry
			where team_id = @team and source_id = @source::text::uuid and account_id = @account`,
			db.Args{"team": tx.Team, "source": source, "account": b.codes[code]})

		return err
	})

	return sum
}

// drawnFrom are the manager's entries of a draw.
func (b *books) drawnFrom(draw string) (found string) {
	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Get[string](ctx, tx, `
			select string_agg(concat_ws(' ', e.ledger, a.code, e.cent_total), ', ' order by e.ledger) from ledger_entry e
			join account a on a.team_id = e.team_id and a.id = e.account_id
			where e.team_id = @team and e.source_id = @source::text::uuid and e.party = 'manager'`, db.Args{"team": tx.Team, "source": draw})

		return err
	})

	return found
}

// status is the journal status of the stay or the bill.
func (b *books) status(path string) string {
	return b.Get(path).Want(200).String("journalStatus.status")
}

func (b *books) assign(code string, parts ...string) {
	b.t.Helper()
	b.Put("/accounts/"+b.codes[code].String(), object{"assignments": append([]string{}, parts...)}).Want(200)
}

func TestJournalsFollowAChangedAssignment(t *testing.T) {
	t.Parallel()

	b := newBooks(t)
	if b.on(b.stay, "2000") != 20000 || b.on(b.bill, "2200") != -1000 {
		t.Fatalf("booked %d and %d", b.on(b.stay, "2000"), b.on(b.bill, "2200"))
	}

	b.assign("2300", "accountsReceivable")

	if got := b.status("/reservations/" + b.stay); got != "recalculating" || b.on(b.stay, "2000") != 20000 {
		t.Errorf("before the work the stay is %s, with %d", got, b.on(b.stay, "2000"))
	}

	b.Work()

	if got := b.status("/reservations/" + b.stay); got != "current" || b.on(b.stay, "2000") != 0 || b.on(b.stay, "2300") != 20000 {
		t.Errorf("after the work the stay is %s, with %d and %d", got, b.on(b.stay, "2000"), b.on(b.stay, "2300"))
	}
	// The bill names the account that it is owed on, which stays; its markup goes where markups go now.
	b.assign("4120", "expense_markup")

	if got := b.status("/transactions/" + b.bill); got != "recalculating" {
		t.Errorf("before the work the bill is %s", got)
	}

	b.Work()

	if b.on(b.bill, "4120") != -100 || b.on(b.bill, "2200") != -1000 || b.on(b.bill, "4190") != 0 || b.status("/transactions/"+b.bill) != "current" {
		t.Errorf("the bill is on %d, %d and %d", b.on(b.bill, "4120"), b.on(b.bill, "2200"), b.on(b.bill, "4190"))
	}

	b.assign("2110", "accountsPayable", "expense_salesTax")
	b.Work()

	if b.on(b.bill, "2200") != -1000 || b.status("/transactions/"+b.bill) != "current" {
		t.Errorf("the bill is on %d", b.on(b.bill, "2200"))
	}
	// Parts that are not asked for again start nothing; neither does one that stays where it is.
	before := b.Get("/operations").Int("total")
	b.assign("1010", "payout_bankAccount")
	b.assign("2300", "accountsReceivable")

	if got := b.Get("/operations").Int("total"); got != before {
		t.Errorf("%d operations were started", got-before)
	}
	// A part that no account had reaches all that might have waited for it.
	b.assign("2300")
	b.Work()
	b.assign("2000", "accountsReceivable")
	b.Work()

	if got := b.status("/reservations/" + b.stay); got != "current" || b.on(b.stay, "2000") != 20000 {
		t.Errorf("the stay is %s, with %d", got, b.on(b.stay, "2000"))
	}
}

// A journal that closed books keep as it is follows when they are reopened.
func TestReopeningLetsLockedJournalsFollow(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Post("/team/books-closing", object{"booksClosedAt": "2026-04-01", "reason": "March"}).Want(201)
	b.assign("2300", "accountsReceivable")
	b.Post("/team/books-closing", object{"booksClosedAt": "2026-05-01", "reason": "April"}).WantError(apierr.CodeJournalRecalculationPending, "")
	b.Work()

	r := b.Get("/reservations/" + b.stay).Want(200)
	if r.String("journalStatus.reason") != "journalLocked" || r.String("journalStatus.action") != "unlock" || b.on(b.stay, "2000") != 20000 {
		t.Errorf("under the lock: %s", r.String("journalStatus"))
	}

	b.Post("/team/books-closing", object{"booksClosedAt": "2026-05-01", "reason": "A locked journal is final"}).Want(201)
	b.Post("/team/books-closing", object{"booksClosedAt": "2026-03-01", "reason": "Mend March"}).Want(201)

	if got := b.status("/reservations/" + b.stay); got != "recalculating" {
		t.Errorf("reopened, the stay is %s", got)
	}

	b.Work()

	if got := b.status("/reservations/" + b.stay); got != "current" || b.on(b.stay, "2300") != 20000 {
		t.Errorf("reopened, the stay is %s, with %d", got, b.on(b.stay, "2300"))
	}
}

// In softly closed days only those post who are named.
func TestOnlyPostersPostInSoftlyClosedDays(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	post := func() *apitest.Response {
		return b.Post("/transactions", object{
			"type": "expense", "date": "2026-04-10", "lines": []object{{"amount": 100, "accountId": b.codes["5200"], "party": "manager"}},
		})
	}

	b.Post("/team/books-closing", object{"softClosedAt": "2026-05-01", "reason": "April is under review"}).Want(201)

	if r := post().WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed); r.String("context.softClosedAt") != "2026-05-01" {
		t.Errorf("got %s", r.Body)
	}

	b.Post("/team/books-closing", object{"softClosePosters": []id.ID{b.User}, "reason": "But for me"}).Want(201)
	post().Want(201)
	b.Post("/team/books-closing", object{"booksClosedAt": "2026-05-01", "reason": "April is done"}).Want(201)
	post().WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
}

func TestSettingsMarkTheStaysThatFollowThem(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Put("/team", object{"defaultRevenueRecognition": "checkOut"}).Want(200)

	if r := b.Get("/reservations/" + b.stay).Want(200); r.String("journalStatus.status") != "recalculating" || r.String("journalStatus.reason") != "mappingChanged" {
		t.Errorf("status %s", r.String("journalStatus"))
	}

	b.Work()

	if got := b.status("/reservations/" + b.stay); got != "current" {
		t.Errorf("after the work the stay is %s", got)
	}
}

// A chart that comes late reaches the stays that waited for it.
func TestAnInstalledAssignmentReachesTheJournals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.assign("2000")
	b.Work()
	b.Patch("/teams/"+b.ID.String()+"/init", nil).Want(200)
	b.Work()

	if got := b.status("/reservations/" + b.stay); got != "current" {
		t.Errorf("the stay is %s", got)
	}

	before := b.Get("/operations").Int("total")
	b.Patch("/teams/"+b.ID.String()+"/init", nil).Want(200)

	if got := b.Get("/operations").Int("total"); got != before {
		t.Errorf("installing again started %d operations", got-before)
	}
}

// A manager's draw is booked through the distributions, wherever they are now; the opening trial balance balances on
// the account that opens.
func TestDrawsAndTheOpeningFollow(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Exec(`update team set statement_start_at = '2026-01-01' where team_id = @team`, nil)
	draw := b.Post("/transactions", object{
		"type": "payout", "date": "2026-04-10", "lines": []object{{"amount": 500, "accountId": b.codes["1010"], "party": "manager"}},
	}).Want(201).String("id")
	b.Put("/teams/opening-trial-balance/manual", object{"rows": []object{{"accountId": b.codes["1010"], "combinedCentTotal": 800}}}).Want(200)
	b.assign("2300", "payout_distribution", "openingBalance")

	if got := b.Get("/teams/opening-trial-balance").Want(200); got.String("trustReversal.status") != "created" || b.on(b.ID.String(), "2300") != -800 ||
		b.on(b.ID.String(), "2900") != 0 {
		t.Errorf("opened with %d and %d: %s", b.on(b.ID.String(), "2300"), b.on(b.ID.String(), "2900"), got.Body)
	}

	b.Work()

	if got := b.drawnFrom(draw); got != "operating 2300 -500, trust 2300 500" || b.status("/transactions/"+draw) != "current" {
		t.Errorf("drawn from %s", got)
	}
	// Under closed books it stays, and says so.
	b.Post("/team/books-closing", object{"booksClosedAt": "2026-02-01", "reason": "January"}).Want(201)
	b.assign("2900", "openingBalance")

	if got := b.Get("/teams/opening-trial-balance").Want(200).String("trustReversal.status"); got != "outdated" || b.on(b.ID.String(), "2300") != -800 {
		t.Errorf("under the lock it is %s with %d", got, b.on(b.ID.String(), "2300"))
	}
}
