package listing_test

import (
	"fmt"
	"slices"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

const periods = "/listings/ownership-periods"

// Proves: DRY-38.
func TestPeriodLife(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ada, bob, cabin := owner(x, "Ada"), owner(x, "Bob"), home(x, "Cabin")
	period(x, cabin, ada, "2020-01-01", "2021-01-01").Want(201)

	body := object{"listingId": cabin, "startAt": "2021-01-01", "members": []object{member(bob, 33_333), member(ada, 66_667)}, "setListingInactive": true}
	if x.Post(periods+"?dryRun=true", body).Want(201); x.Get(periods).Int("pagination.total") != 1 {
		t.Error("the dry run stored a period")
	}

	r := x.Post(periods, body).Want(201)
	for path, want := range map[string]string{
		"listingId": cabin.String(), "startAt": "2021-01-01", "endAt": "null", "businessModel": "managed", "reserve": "null",
		"setListingInactive": "true", "members.0.contactId": bob.String(), "members.0.split": "33333", "members.1.split": "66667",
		"lock.status": "open", "lock.booksClosed": "null", "lock.ownerStatement": "null", "lock.reconciled": "null", "lock.statementPeriod": "null",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}

	path := periods + "/" + r.String("id")

	changed := x.Put(path, object{"endAt": "2022-01-01", "reserve": 5000, "members": []object{member(ada, 100_000)}, "setListingInactive": nil}).Want(200)
	if changed.String("endAt") != "2022-01-01" || changed.Int("reserve") != 5000 || changed.Len("members") != 1 ||
		changed.String("startAt") != "2021-01-01" || changed.String("setListingInactive") != "false" {
		t.Errorf("changed to %s", changed.Body)
	}

	if got := x.Put(path, object{"endAt": nil, "reserve": nil}).Want(200); got.String("endAt") != "null" || got.String("reserve") != "null" || got.Len("members") != 1 {
		t.Errorf("cleared to %s", got.Body)
	}

	x.Delete(path).Want(204)
	x.Get(path).WantError(apierr.CodeNotFound, "")
}

func TestPeriodRefused(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ada, bob, cabin := owner(x, "Ada"), owner(x, "Bob"), home(x, "Cabin")
	vendor := x.Post("/contacts", object{"type": "vendor", "name": "Plumber"}).Want(201).ID("id")

	many := make([]object, 51)
	for i := range many {
		many[i] = member(id.New(x.DB.Now()), 1)
	}

	for _, test := range []struct {
		members    []object
		code, path string
	}{
		{[]object{}, "items", "members"},
		{many, "items", "members"},
		{[]object{member(ada, 99_999)}, "splitSum", "members"},
		{[]object{member(ada, 60_000), member(bob, 40_001)}, "splitSum", "members"},
		{[]object{member(ada, 50_000), member(ada, 50_000)}, "unique", "members.1.contactId"},
		{[]object{member(ada, 0), member(bob, 100_000)}, "range", "members.0.split"},
		{[]object{member(ada, 50_000), member(vendor, 50_000)}, "notOwner", "members.1.contactId"},
		{[]object{member(id.New(x.DB.Now()), 100_000)}, "notFound", "members.0.contactId"},
	} {
		x.Post(periods, object{"listingId": cabin, "members": test.members}).WantError(apierr.CodeBadRequest, "").WantIssue(test.code, test.path)
	}

	period(x, cabin, ada, "2021-01-01", "2021-01-01").WantError(apierr.CodeBadRequest, "").WantIssue("dateOrder", "endAt")
	period(x, id.New(x.DB.Now()), ada, "", "").WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "listingId")
	one := period(x, cabin, ada, "2021-01-01", "").Want(201).String("id")
	x.Put(periods+"/"+one, object{"endAt": "2020-01-01"}).WantError(apierr.CodeBadRequest, "").WantIssue("dateOrder", "endAt")
	x.Put(periods+"/"+one, object{"members": []object{member(vendor, 100_000)}}).
		WantError(apierr.CodeBadRequest, "").WantIssue("notOwner", "members.0.contactId")
	x.Put(periods+"/"+one, object{"onConflict": "ignore"}).WantError(apierr.CodeBadRequest, "").WantIssue("enum", "onConflict")
}

func TestPeriodConflicts(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ada, cabin := owner(x, "Ada"), home(x, "Cabin")
	early := period(x, cabin, ada, "", "2020-01-01").Want(201).String("id")
	open := period(x, cabin, ada, "2020-01-01", "").Want(201).String("id")

	r := period(x, cabin, ada, "2019-06-01", "2021-01-01").WantError(apierr.CodeConflict, "")
	if got := r.String("context.conflictingPeriodIds"); got != fmt.Sprintf("[%q,%q]", early, open) {
		t.Errorf("conflicts with %s", got)
	}

	period(x, home(x, "Other"), ada, "2019-06-01", "2021-01-01").Want(201)

	truncating := func(start, end string) object {
		body := object{"listingId": cabin, "startAt": start, "members": []object{member(ada, 100_000)}, "onConflict": "truncate"}
		if end != "" {
			body["endAt"] = end
		}

		return body
	}
	x.Post(periods, truncating("2019-06-01", "")).WantError(apierr.CodeConflict, "")
	x.Post(periods, truncating("2020-01-01", "")).WantError(apierr.CodeConflict, "")

	if got := x.Get(periods + "/" + open).String("endAt"); got != "null" {
		t.Errorf("a refused change ended the period on %s", got)
	}

	late := x.Post(periods, truncating("2022-01-01", "")).Want(201).String("id")
	if got := x.Get(periods + "/" + open).String("endAt"); got != "2022-01-01" {
		t.Errorf("the earlier period ends %s", got)
	}

	x.Post(periods, truncating("2021-06-01", "2021-09-01")).WantError(apierr.CodeConflict, "")
	x.Put(periods+"/"+late, object{"startAt": "2021-01-01"}).WantError(apierr.CodeConflict, "")
	x.Put(periods+"/"+late, object{"startAt": "2023-01-01"}).Want(200)
}

func TestPeriodLocks(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ada, bob, cabin := owner(x, "Ada"), owner(x, "Bob"), home(x, "Cabin")
	p := period(x, cabin, ada, "2026-01-15", "").Want(201).ID("id")
	path := periods + "/" + p.String()
	post(x, cabin, p, "2026-01-20")

	if got := x.Get(path).String("lock.status"); got != "open" {
		t.Errorf("with open books the lock is %s", got)
	}

	fixture.CloseBooks(x, "2026-02-01")

	if r := x.Get(path); r.String("lock.status") != "locked" || r.String("lock.booksClosed.date") != "2026-02-01" {
		t.Errorf("with closed books the lock is %s", r.String("lock"))
	}

	fixture.CloseBooks(x, "2026-01-20")
	statement := fixture.Statement(x, p, "published", "2026-01-01", "2026-01-31")

	for _, read := range []string{path, "/listings/" + cabin.String()} {
		lock := "lock"
		if read != path {
			lock = "activeOwnership.lock"
		}

		r := x.Get(read)
		if r.String(lock+".status") != "locked" || r.String(lock+".ownerStatement.ids.0") != statement.String() || r.String(lock+".booksClosed") != "null" {
			t.Errorf("%s: the lock is %s", read, r.Body)
		}
	}

	for _, change := range []object{
		{"members": []object{member(bob, 100_000)}}, {"businessModel": "co_host"}, {"startAt": "2026-01-16"}, {"endAt": "2026-01-31"},
	} {
		r := x.Put(path, change).WantError(apierr.CodeForbidden, apierr.ReasonStatementAttachment)
		if r.String("context.lockReason") != "statement" || r.String("context.statementIds.0") != statement.String() {
			t.Errorf("%v: %s", change, r.Body)
		}
	}

	cut := object{"listingId": cabin, "startAt": "2026-01-31", "members": []object{member(bob, 100_000)}, "onConflict": "truncate"}
	x.Post(periods, cut).WantError(apierr.CodeForbidden, apierr.ReasonStatementAttachment)
	x.Put(path, object{"startAt": "2026-01-10"}).Want(200)
	x.Put(path, object{"endAt": "2026-02-01", "reserve": 100, "members": []object{member(ada, 100_000)}}).Want(200)
}

// Proves: ERR-72, ERR-73, ERR-74, RSN-24.
func TestPeriodInUse(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ada, cabin := owner(x, "Ada"), home(x, "Cabin")
	p := period(x, cabin, ada, "", "").Want(201).ID("id")
	path := periods + "/" + p.String()
	post(x, cabin, p, "2026-01-20")
	fixture.Statement(x, p, "published", "2026-01-01", "2026-01-31")

	r := x.Delete(path).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
	if r.String("context.lockReasons") != `["journalEntries","ownerStatements"]` || r.String("context.suggestedOnLocked") != "archive" ||
		r.Has("context.suggestedOnLast") {
		t.Errorf("got %s", r.Body)
	}

	x.Delete("/listings/"+cabin.String()).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
	x.Delete("/contacts/"+ada.String()).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
}

// A period in use is ended where its use ends; only one that is gone leaves days to the period before.
//
// Proves: ERR-75, ERR-76, ERR-77.
func TestTheLastPeriodIsDeletedOrArchived(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ada, bob, cabin := owner(x, "Ada"), owner(x, "Bob"), home(x, "Cabin")
	first := periods + "/" + period(x, cabin, ada, "2025-01-01", "2026-01-01").Want(201).String("id")
	last := period(x, cabin, bob, "2026-01-01", "").Want(201).ID("id")
	path := periods + "/" + last.String()
	x.Delete(path + "?onLast=other").Want(400)
	x.Delete(path + "?onLast=extend").Want(204)

	if got := x.Get(first).String("endAt"); got != "null" {
		t.Errorf("extended to %s", got)
	}

	x.Put(first, object{"endAt": "2026-01-01"}).Want(200)
	last = period(x, cabin, bob, "2026-01-01", "").Want(201).ID("id")
	path = periods + "/" + last.String()
	post(x, cabin, last, "2026-02-20")
	fixture.Statement(x, last, "published", "2026-01-01", "2026-01-31")

	for _, archive := range []string{"&onLocked=archive", ""} {
		r := x.Delete(path+"?onLast=extend"+archive).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
		if r.String("context.suggestedOnLast") != "none" || r.String("context.suggestedOnLocked") != "archive" {
			t.Errorf("got %s", r.Body)
		}
	}

	for range 2 { // a second time changes nothing
		x.Delete(path + "?onLast=none&onLocked=archive").Want(204)

		if got := x.Get(path).String("endAt"); got != "2026-02-21" {
			t.Errorf("archived to %s", got)
		}
	}

	if got := x.Get(first).String("endAt"); got != "2026-01-01" {
		t.Errorf("the period before ends %s", got)
	}
	// Only the last period has days to leave; an opening balance is dated before the first day.
	early := period(x, cabin, ada, "2024-01-01", "2024-06-01").Want(201).ID("id")
	post(x, cabin, early, "2023-12-31")
	x.Delete(periods + "/" + early.String() + "?onLast=extend&onLocked=archive").Want(204)

	if got := x.Get(periods + "/" + early.String()).String("endAt"); got != "2024-01-02" {
		t.Errorf("archived to %s", got)
	}
}

// Proves: PAG-23.
func TestPeriodLists(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ada, bob, a, b := owner(x, "Ada"), owner(x, "Bob"), home(x, "A"), home(x, "B")
	inception := period(x, a, ada, "", "2020-01-01").Want(201).String("id")
	second := period(x, a, bob, "2020-01-01", "2021-01-01").Want(201).String("id")

	third := period(x, b, bob, "2021-01-01", "").Want(201).String("id")
	for query, want := range map[string][]string{
		"sort=startAt":                 {second, third, inception},
		"sort=-startAt":                {third, second, inception},
		"sort=endAt":                   {inception, second, third},
		"sort=-endAt":                  {second, inception, third},
		"listingIds=" + a.String():     {inception, second},
		"contactId=" + bob.String():    {second, third},
		"date=2019-12-31":              {inception},
		"date=2020-01-01":              {second},
		"date=2021-01-01":              {third},
		"businessModel=co_host":        {},
		"ids=!" + third:                {inception, second},
		"ids=" + third + ",!" + second: {third},
		"ids=" + third + "&limit=250":  {third},
	} {
		r := x.Get(periods + "?" + query).Want(200)

		got := []string{}
		for i := range r.Len("data") {
			got = append(got, r.String(fmt.Sprintf("data.%d.id", i)))
		}

		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
}
