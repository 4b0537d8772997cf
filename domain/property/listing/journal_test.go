package listing_test

import (
	"context"
	"sync"
	"testing"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// keeping is a team with a general ledger, a chart, a listing owned by Ada and one stay and one expense in it.
type keeping struct {
	*apitest.Team
	ada, bob, cabin, first id.ID
	stay                   string
}

func newKeeping(t *testing.T) *keeping {
	t.Helper()
	k := &keeping{Team: newLedgerTeam(t)}
	k.Tx(account.InstallStandard)
	k.Tx(mapping.InstallStandard)
	k.ada, k.bob, k.cabin = owner(k.Team, "Ada"), owner(k.Team, "Bob"), home(k.Team, "Cabin")
	period(k.Team, k.cabin, k.ada, "", "").Want(202)
	k.Work()
	k.first = k.Get(periods).ID("data.0.id")
	k.stay = k.Post("/reservations", object{"listingId": k.cabin, "checkIn": "2026-03-10", "checkOut": "2026-03-12", "lines": []object{
		{"type": "rent", "amount": 100_000},
	}}).Want(201).String("id")
	k.Post("/transactions", object{"type": "expense", "date": "2026-03-11", "lines": []object{
		{"accountId": k.account("5200"), "amount": 5_000, "listingId": k.cabin},
	}}).Want(201)

	return k
}

func (k *keeping) account(code string) (out id.ID) {
	k.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = db.Get[id.ID](ctx, tx, `select id from account where team_id = @team and code = @code`, db.Args{"team": tx.Team, "code": code})
		return err
	})

	return out
}

// owned are the periods that the owners' entries belong to, in the order of their accounts.
func (k *keeping) owned() (out []id.ID) {
	k.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = db.Select[id.ID](ctx, tx, `select coalesce(e.ownership_period_id, @zero) from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
			where e.team_id = @team and e.party = 'owners' order by a.code`, db.Args{"team": tx.Team, "zero": "00000000-0000-0000-0000-000000000000"})

		return err
	})

	return out
}

func (k *keeping) wantOwned(t *testing.T, period id.ID) {
	t.Helper()

	if got := k.owned(); len(got) != 2 || got[0] != period || got[1] != period {
		t.Errorf("the entries belong to %v, want %s", got, period)
	}
}

// A change of ownership is acknowledged, and its one operation makes the journals of stays and transactions follow;
// until then the stay says that its journal is being recalculated.
// Proves: INIT-41, INIT-43, INIT-45, DRY-38, OPS-31.
func TestJournalsFollowOwnership(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)
	k.wantOwned(t, k.first)

	settled := func(status string, ack *apitest.Response) {
		t.Helper()

		if ack.Want(202); ack.String("type") != "listing-journal-refresh" || ack.String("status") != "queued" || ack.String("resource.type") != "listing" ||
			ack.ID("resource.id") != k.cabin || ack.String("resource.role") != "target" || ack.Has("id") || ack.Has("members") {
			t.Errorf("acknowledged with %s", ack.Body)
		}

		if ack.Header.Get("X-Service-Audit-Should-Poll") != "true" {
			t.Error("nothing to poll for")
		}

		if s := k.Get("/reservations/" + k.stay); s.String("journalStatus.status") != "recalculating" || s.String("journalStatus.operationIds.0") != ack.String("operationId") {
			t.Errorf("while the refresh waits: %s", s.String("journalStatus"))
		}

		k.Work()

		done := k.Get("/operations/" + ack.String("operationId")).Want(200)
		if done.String("status") != status || done.Len("resources") != 1 {
			t.Errorf("settled as %s", done.Body)
		}

		if s := k.Get("/reservations/" + k.stay).String("journalStatus.status"); s != "current" {
			t.Errorf("after the refresh: %s", s)
		}
	}
	before := k.Get("/operations").Int("total")
	settled("completed", k.Post(periods, object{"listingId": k.cabin, "startAt": "2026-03-01", "members": []object{member(k.bob, 100_000)}, "onConflict": "truncate"}))

	if got := k.Get("/operations").Int("total"); got != before+1 {
		t.Errorf("%d operations, want one more than %d", got, before)
	}

	second := k.Get(periods + "?contactId=" + k.bob.String()).ID("data.0.id")
	k.wantOwned(t, second)
	k.Delete(periods+"/"+second.String()).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)

	settled("failed", k.Put(periods+"/"+second.String()+"?dryRun=false", object{"startAt": "2026-04-01"})) // no owner on that day
	settled("completed", k.Put(periods+"/"+k.first.String(), object{"endAt": "2026-04-01"}))
	k.wantOwned(t, k.first)
	settled("completed", k.Delete(periods+"/"+second.String()))

	if got := k.Get(periods).Int("pagination.total"); got != 1 {
		t.Errorf("%d periods are left", got)
	}
}

// The refresh is part of a dry run: what it would fail on is refused, and nothing is queued.
// Proves: DRY-38.
func TestDryRunOfOwnershipDerives(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)
	path := periods + "/" + k.first.String()
	k.Put(path+"?dryRun=true", object{"businessModel": "co_host"}).Want(202)
	k.Exec(`delete from account_assignment where team_id = @team and assignment = 'deposit_coHostPayout'`, nil)
	before := k.Fingerprint()

	refused := k.Put(path+"?dryRun=true", object{"businessModel": "co_host"}).WantError(apierr.CodeBadRequest, apierr.ReasonRequiredAccountMissing)
	if refused.String("context.assignments.0") != "deposit_coHostPayout" {
		t.Errorf("%s", refused.Body)
	}

	if k.Fingerprint() != before {
		t.Error("the dry run changed rows")
	}

	ack := k.Put(path+"?dryRun=false", object{"businessModel": "co_host"}).Want(202)
	k.Work()

	if got := k.Get("/operations/" + ack.String("operationId")); got.String("status") != "failed" {
		t.Errorf("an operation that could not derive a journal is %s", got.Body)
	}
}

// An owners' expense in a month without an owner any more has no journal that could be derived. The old one stays, and
// the operation fails.
func TestOrphanedTransactionFailsTheRefresh(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)
	path := periods + "/" + k.first.String()
	k.Put(path+"?dryRun=true", object{"endAt": "2026-03-11"}).WantError(apierr.CodeBadRequest, "").WantIssue("ownershipPeriodMissing", "lines.0.listingId")
	ack := k.Put(path+"?dryRun=false", object{"endAt": "2026-03-11"}).Want(202)
	k.Work()

	if got := k.Get("/operations/" + ack.String("operationId")); got.String("status") != "failed" || got.String("failure.code") != "operationFailed" {
		t.Errorf("%s", got.Body)
	}

	k.wantOwned(t, k.first)
}

// Proves: INIT-42, INIT-44, INIT-46.
func TestOwnershipOutsideGeneralLedger(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	x.Tx(account.InstallStandard)
	x.Tx(mapping.InstallStandard)
	ada, cabin := owner(x, "Ada"), home(x, "Cabin")
	x.Post("/reservations", object{"listingId": cabin, "checkIn": "2026-03-10", "checkOut": "2026-03-12", "lines": []object{
		{"type": "rent", "amount": 100_000},
	}}).Want(201)
	created := period(x, cabin, ada, "2026-01-01", "").Want(201)
	path := periods + "/" + created.String("id")

	changed := x.Put(path, object{"reserve": 100, "startAt": "2026-04-01"}).Want(200)
	for _, r := range []*apitest.Response{created, changed} {
		if r.Has("operationId") || r.Header.Get("X-Service-Audit-Should-Poll") != "false" || r.String("listingId") != cabin.String() {
			t.Errorf("answered %s", r.Body)
		}
	}

	if gone := x.Delete(path).Want(204); len(gone.Body) != 0 {
		t.Errorf("answered %s", gone.Body)
	}

	if got := x.Get("/operations").Int("total"); got != 0 {
		t.Errorf("%d operations", got)
	}
}

// Stays and expenses that are written while owners change end up with the owner of the day, whoever commits first.
func TestOwnershipAndWritesTakeTurns(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)

	var wait sync.WaitGroup

	call := func(method, path string, body object) {
		wait.Go(func() {
			if got := k.Call(method, path+"?dryRun=false", body); got.Status >= 300 {
				t.Errorf("%s %s: %d %s", method, path, got.Status, got.Body)
			}
		})
	}

	expense := object{"type": "expense", "date": "2026-03-11", "lines": []object{{"accountId": k.account("5200"), "amount": 700, "listingId": k.cabin}}}
	for i := range 12 {
		call("PUT", "/reservations/"+k.stay, object{"lines": []object{{"type": "rent", "amount": 1_000 + i}}})
		call("POST", "/transactions", expense)

		if i == 3 {
			call("POST", periods, object{"listingId": k.cabin, "startAt": "2026-03-01", "members": []object{member(k.bob, 100_000)}, "onConflict": "truncate"})
			wait.Go(k.Work)
		}
	}

	wait.Wait()
	k.Work()

	second := k.Get(periods + "?contactId=" + k.bob.String()).ID("data.0.id")
	for _, got := range k.owned() {
		if got != second {
			t.Fatalf("an entry belongs to %s, want %s", got, second)
		}
	}
}
