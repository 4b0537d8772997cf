package journal_test

import (
	"context"
	"slices"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/test/fixture"
)

const journals = "/general-ledger/journals"

func TestAJournalIsPosted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := object{"date": "2026-02-20", "uniqueRef": "j-1", "description": "Corrections", "currency": "USD", "lines": list{
		w.line("5200", 10000, "party", "manager"), w.line("4000", -8000, "reservationId", w.stay, "description", "Rent"),
		w.line("2000", -2000, "reservationId", w.stay),
	}}

	j := w.Post(journals, body).Want(201)
	for path, want := range map[string]string{
		"date": "2026-02-20", "uniqueRef": "j-1", "currency": "usd", "ledger": "trust", "total": "10000", "lines.0.party": "manager", "lines.0.account.code": "5200",
		"lines.1.party": "owners", "lines.1.listingId": w.villa.String(), "lines.1.listing.name": "Villa", "lines.2.party": "null", "lines.2.reservation.id": w.stay.String(),
		"reversesId": "null", "reversedById": "null", "lock.status": "open", "journalStatus.status": "current",
	} {
		if got := j.String(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}

	w.wantEntries("2026-02-20 trust 2000 -2000 manual", "2026-02-20 trust 4000 -8000 owners ann manual", "2026-02-20 trust 5200 10000 manager manual")

	if got := w.Get(journals + "/" + j.String("id")).Want(200); string(got.Body) != string(j.Body) {
		t.Errorf("read differently:\n%s\n%s", got.Body, j.Body)
	}

	w.Post(journals, body).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)

	one := journals + "/" + j.String("id")
	w.Put(one, object{"date": "2026-05-02", "uniqueRef": nil}).Want(200)
	w.wantEntries("2026-05-02 trust 2000 -2000 manual", "2026-05-02 trust 4000 -8000 owners bob manual", "2026-05-02 trust 5200 10000 manager manual")
	w.Put(one, object{"ledger": "operating", "lines": list{w.line("1010", 700), w.line("4190", -700)}}).Want(200)
	w.wantEntries("2026-05-02 operating 1010 700 manual", "2026-05-02 operating 4190 -700 manager manual")
	w.Delete(one).Want(204)
	w.wantEntries()
	w.Get(one).WantError(apierr.CodeNotFound, "")
	w.Delete(one).WantError(apierr.CodeNotFound, "")
}

func TestUnbalancedJournalsAreRefusedWithTheDifference(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := object{"date": "2026-02-20", "lines": list{w.line("5200", 10000), w.line("1000", -9990)}}

	r := w.Post(journals, body).WantError(apierr.CodeUnprocessableContent, "").WantIssue("unbalanced", "lines")
	if r.Int("context.difference") != 10 {
		t.Errorf("the difference is not told: %s", r.Body)
	}

	j := w.Post(journals, w.gift("2026-02-20")).Want(201)

	r = w.Put(journals+"/"+j.String("id"), object{"lines": list{w.line("5200", 1), w.line("1000", -2)}}).WantError(apierr.CodeUnprocessableContent, "")
	if r.Int("context.difference") != -1 {
		t.Errorf("the difference is not told: %s", r.Body)
	}
}

func TestJournalsNameWhatTheTeamHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := newWorld(t)

	w.Exec(`update account set status = 'inactive' where team_id = @team and code = '5290'`, nil)
	w.Exec(`update account set type = 'nonPosting' where team_id = @team and code = '2900'`, nil)
	refused := w.Refuses(journals)
	with := func(line object) object { return object{"date": "2026-02-20", "lines": list{line, w.line("1000", -1)}} }
	refused("zero", with(w.line("5200", 0)), "zeroAmount", "lines.0.centTotal")
	refused("account of another team", with(object{"accountId": other.accounts["1000"], "centTotal": 1}), "notFound", "lines.0.accountId")
	refused("listing of another team", with(w.line("5200", 1, "listingId", other.villa)), "notFound", "lines.0.listingId")
	refused("stay of another team", with(w.line("5200", 1, "reservationId", other.stay)), "notFound", "lines.0.reservationId")
	refused("unknown contact", with(w.line("5200", 1, "contactId", w.villa)), "notFound", "lines.0.contactId")
	refused("listing of another stay", with(w.line("2000", 1, "reservationId", w.stay, "listingId", w.barn)), "listingMismatch", "lines.0.listingId")
	refused("bank of the other ledger", with(w.line("1010", 1)), "ledgerMismatch", "lines.0.accountId")
	refused("inactive account", with(w.line("5290", 1)), "accountInactive", "lines.0.accountId")
	refused("account without entries", with(w.line("2900", 1)), "nonPostingAccount", "lines.0.accountId")
	refused("guest money of a party", with(w.line("2000", 1, "party", "owners", "listingId", w.villa)), "partyNotSupported", "lines.0.party")
	refused("owners without a listing", with(w.line("5200", 1, "party", "owners")), "required", "lines.0.listingId")
	refused("a listing nobody owns", with(w.line("5200", 1, "listingId", w.barn)), "ownershipPeriodMissing", "lines.0.listingId")
	w.wantEntries()
	w.Post(journals, object{"date": "2026-02-20", "currency": "eur", "lines": list{w.line("2000", 1, "reservationId", w.stay), w.line("1000", -1)}}).
		WantError(apierr.CodeBadRequest, "").WantIssue("currencyMismatch", "lines.0.reservationId")
	w.Post(journals, object{"date": "2026-02-20", "currency": "XXQ", "lines": list{w.line("5200", 1), w.line("1000", -1)}}).Want(400).WantIssue("currency", "currency")
	w.Post(journals, object{"date": "2025-12-31", "lines": list{w.line("5200", 1), w.line("1000", -1)}}).
		WantError(apierr.CodeBadRequest, apierr.ReasonBeforeStatementStartDate)
	w.KeepLedger(false)
	w.Post(journals, w.gift("2026-02-20")).WantError(apierr.CodeBadRequest, apierr.ReasonGeneralLedgerDisabled)
}

// An account that was put away keeps the journals it is in: they can still be changed and reversed.
func TestAJournalKeepsItsAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := journals + "/" + w.Post(journals, w.gift("2026-02-20")).Want(201).String("id")
	w.Exec(`update account set status = 'inactive' where team_id = @team and code = '5200'`, nil)
	w.Put(one, object{"lines": list{w.line("5200", 5, "party", "manager"), w.line("4000", -5, "listingId", w.villa)}}).Want(200)
	w.Post(one+"/reverse", object{"date": "2026-03-01"}).Want(201)
	w.Post(journals, w.gift("2026-02-20")).Want(400).WantIssue("accountInactive", "lines.0.accountId")
}

func TestLocksHoldJournals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	jan := journals + "/" + w.Post(journals, w.gift("2026-01-20")).Want(201).String("id")
	feb := journals + "/" + w.Post(journals, w.gift("2026-02-20")).Want(201).String("id")
	fixture.CloseBooks(w.Team, "2026-02-01")
	w.Post(journals, w.gift("2026-01-21")).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
	w.Put(jan, object{"date": "2026-02-21"}).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
	w.Put(feb, object{"date": "2026-01-21"}).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
	w.Delete(jan).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
	w.Put(jan, object{"uniqueRef": "what the books do not show"}).Want(200)

	if got := w.Get(jan).String("lock.booksClosed.date"); got != "2026-02-01" {
		t.Errorf("the lock does not say since when: %s", got)
	}

	s := w.statement("published", "2026-02-01", "2026-02-28", true)
	w.Put(feb, object{"description": "x"}).WantError(apierr.CodeForbidden, apierr.ReasonStatementAttachment)
	w.Delete(feb).WantError(apierr.CodeForbidden, apierr.ReasonStatementAttachment)
	w.Post(journals, w.gift("2026-02-21")).WantError(apierr.CodeForbidden, apierr.ReasonStatementPeriod)

	lock := w.Get(feb).Want(200)
	if lock.String("lock.status") != "locked" || lock.String("lock.ownerStatement.ids.0") != s.String() {
		t.Errorf("the lock does not name the statement: %s", lock.Body)
	}

	w.Post(journals, object{"date": "2026-02-21", "lines": list{w.line("5200", 5), w.line("1000", -5)}}).Want(201)
}

func TestReversal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	original := w.Post(journals, w.gift("2026-01-20")).Want(201).String("id")
	one := journals + "/" + original

	fixture.CloseBooks(w.Team, "2026-02-01")
	w.Post(one+"/reverse", object{"date": "2026-01-31"}).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)

	back := w.Post(one+"/reverse", object{"date": "2026-06-01", "description": "Given in error"}).Want(201)
	for path, want := range map[string]string{
		"reversesId": original, "reversedById": "null", "date": "2026-06-01", "description": "Given in error", "lines.0.centTotal": "-10000", "lines.1.centTotal": "10000",
	} {
		if got := back.String(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}

	if got := w.Get(one).String("reversedById"); got != back.String("id") {
		t.Errorf("the original names %s", got)
	}

	w.wantEntries("2026-01-20 trust 4000 -10000 owners ann manual", "2026-01-20 trust 5200 10000 manager manual",
		"2026-06-01 trust 4000 10000 owners bob reversal", "2026-06-01 trust 5200 -10000 manager reversal")

	again := w.Post(one+"/reverse", object{"date": "2026-06-02"}).WantError(apierr.CodeConflict, "")
	if again.String("context.reversedById") != back.String("id") {
		t.Errorf("the reversal is not named: %s", again.Body)
	}

	fixture.CloseBooks(w.Team, "2026-01-01")
	w.Delete(one).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
	lines := list{w.line("5200", 5), w.line("1000", -5)}
	w.Put(one, object{"lines": lines}).WantError(apierr.CodeConflict, "")

	reversal := journals + "/" + back.String("id")
	w.Put(reversal, object{"lines": lines}).WantError(apierr.CodeBadRequest, "").WantIssue("reversalFixed", "lines")
	w.Put(reversal, object{"date": "2026-04-01"}).Want(200)
	w.Delete(reversal).Want(204)
	w.Put(one, object{"lines": lines}).Want(200)
	w.Post(one+"/reverse", object{"date": "2026-02-01"}).Want(201)
	w.Post(journals+"/"+w.villa.String()+"/reverse", object{"date": "2026-02-01"}).WantError(apierr.CodeNotFound, "")
}

func TestJournalsAreListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.Post(journals, w.gift("2026-01-20")).Want(201).String("id")
	w.Post(journals, object{"date": "2026-02-20", "ledger": "operating", "uniqueRef": "op", "lines": list{w.line("1010", 5), w.line("4190", -5)}}).Want(201)
	w.Post(journals+"/"+first+"/reverse", object{"date": "2026-03-01"}).Want(201)

	if got := w.Get(journals).Want(200).String("data.0.date"); got != "2026-03-01" {
		t.Errorf("newest first: %s", got)
	}

	for filter, want := range map[string]int{
		"": 3, "ids=" + first: 1, "uniqueRefs=op": 1, "ledger=operating": 1, "accountIds=" + w.accounts["4000"].String(): 2,
		"listingIds=" + w.villa.String(): 2, "contactIds=" + first: 0, "reservationIds=" + w.stay.String(): 0, "reversed=true": 1, "reversed=false": 2,
		"dateRange=2026-02": 1, "dateRange=2026-01-20...2026-02-20&isDateRangeEndInclusive=false": 1, "search=good": 2, "search=OP": 1, "sort=-total&limit=2": 2,
	} {
		if got := w.Get(journals + "?" + filter).Want(200).Len("data"); got != want {
			t.Errorf("%s: %d journals, want %d", filter, got, want)
		}
	}

	w.Get(journals+"?dateRange=x").Want(400).WantIssue("dateRange", "dateRange")
	newWorld(t).Get(journals+"/"+first).WantError(apierr.CodeNotFound, "")
}

// Proves: AUTH-23.
func TestJournalsNeedTheirOwnScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.As([]string{"general-ledger:read", "transactions:write", "reservations:write", "accounts:write"}, nil).
		Post(journals, w.gift("2026-01-20")).WantError(apierr.CodeForbidden, "")
	one := journals + "/" + w.As([]string{"journals:post"}, nil).Post(journals, w.gift("2026-01-20")).Want(201).String("id")
	w.As([]string{"journals:post"}, nil).Delete(one).WantError(apierr.CodeForbidden, "")
	w.As([]string{"journals:post"}, nil).Get(one).WantError(apierr.CodeForbidden, "")
}

// The event of a journal shows the change of its entries, too: how many came and went, and what that changed on each
// account.
func TestWhatAJournalPostedIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.Post(journals, object{"date": "2026-02-20", "lines": list{w.line("1000", 100), w.line("5200", -100)}}).Want(201)
	w.Put(journals+"/"+j.String("id"), object{"lines": list{w.line("1000", 150), w.line("5200", -100), w.line("5290", -50)}}).Want(200)

	var got []string

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		got, err = db.Select[string](ctx, tx, `select format('%s added, %s retired: %s', journal->>'entriesAdded', journal->>'entriesRetired', (
			select string_agg(a.code || ' ' || (d->>'centTotal'), ', ' order by a.code)
			from jsonb_array_elements(journal->'delta') d join account a on a.team_id = e.team_id and a.id = (d->>'accountId')::uuid))
		from audit_event e where team_id = @team and entity_id = @id order by occurred_at, id`, db.Args{"team": tx.Team, "id": j.String("id")})

		return err
	})

	if want := []string{"2 added, 0 retired: 1000 100, 5200 -100", "3 added, 2 retired: 1000 50, 5290 -50"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// A team without Operations Accounting has no journals of the operating ledger that name no listing. One that is there
// can be reversed and deleted.
//
// Proves: RSN-36.
func TestOperatingJournalsNeedOperationsAccounting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	office := object{"date": "2026-02-01", "ledger": "operating", "lines": list{w.line("5200", 500), w.line("1010", -500)}}
	rent := fixture.With(office, "lines", list{fixture.With(w.line("5200", 500), "listingId", w.villa, "party", "manager"), w.line("1010", -500)})
	first, second := w.Post(journals, office).Want(201).String("id"), w.Post(journals, office).Want(201).String("id")
	w.Exec(`update team set operations_accounting = false where id = @team`, nil)

	w.Post(journals, office).WantError(apierr.CodeBadRequest, apierr.ReasonOperationsAccountingDisabled)
	w.Put(journals+"/"+first, object{"date": "2026-02-02"}).WantError(apierr.CodeBadRequest, apierr.ReasonOperationsAccountingDisabled)
	w.Post(journals, rent).Want(201)
	w.Post(journals, w.gift("2026-02-20")).Want(201)
	w.Post(journals+"/"+first+"/reverse", object{"date": "2026-03-01"}).Want(201)
	w.Delete(journals + "/" + second).Want(204)
}
