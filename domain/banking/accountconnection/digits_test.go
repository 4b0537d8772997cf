package accountconnection_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/id"
)

// holders are who has last digits.
type holders struct {
	digits                string
	accounts, connections []id.ID
}

// duplicate holds a refusal to the rule of last digits: who has them, and at which places; "" is an issue without a
// path.
func duplicate(t *testing.T, r *apitest.Response, has holders, places ...string) {
	t.Helper()
	r.WantError(apierr.CodeBadRequest, apierr.ReasonDuplicateLast4)
	want(t, r, map[string]string{
		"context.lastDigits": has.digits, "context.accountIds": list(has.accounts), "context.accountConnectionIds": list(has.connections),
	})

	if r.Len("issues") != len(places) {
		t.Errorf("there are %d issues, want %d: %s", r.Len("issues"), len(places), r.Body)
	}

	for _, place := range places {
		r.WantIssue("duplicateLast4", place)
	}
}

// list is how an answer shows ids.
func list(ids []id.ID) string {
	quoted := make([]string, len(ids))
	for i, v := range ids {
		quoted[i] = strconv.Quote(v.String())
	}

	return "[" + strings.Join(quoted, ",") + "]"
}

// Digits are unique over the accounts of the chart and those at banks.
//
// Proves: ERR-117, ERR-118, ERR-119, ERR-120, ERR-121, ERR-122, ERR-123, ERR-124, RSN-18.
func TestLastDigitsAreUniqueOverAccountsAndAccountConnections(t *testing.T) {
	t.Parallel()
	b := newBook(t)

	const batch = "/account-connections/batch"

	one := func(v id.ID) []id.ID { return []id.ID{v} }
	account, connection := b.bank("1111"), b.add("2222", nil)
	other, free := b.bank("5555"), b.add("6666", nil)
	category := b.Get("/account-categories").ID("data.0.id")
	duplicate(t, b.Post("/accounts", object{"name": "New", "type": "bank", "categoryId": category, "banking": object{"category": "trust", "last4": "2222"}}),
		holders{digits: "2222", connections: one(connection)}, "banking.last4")
	duplicate(t, b.Put("/accounts/"+other.String(), object{"banking": object{"last4": "2222"}}), holders{digits: "2222", connections: one(connection)}, "banking.last4")
	duplicate(t, b.Put("/accounts/"+other.String(), object{"banking": object{"last4": "1111"}}), holders{digits: "1111", accounts: one(account)}, "banking.last4")
	duplicate(t, b.Put(path(free), object{"lastDigits": "1111"}), holders{digits: "1111", accounts: one(account)}, "lastDigits")
	duplicate(t, b.Put(path(free), object{"lastDigits": "2222"}), holders{digits: "2222", connections: one(connection)}, "lastDigits")
	duplicate(t, b.Post(batch, object{"data": array{object{"name": "Good", "lastDigits": "3333"}, object{"name": "Bad", "lastDigits": "1111"}}}),
		holders{digits: "1111", accounts: one(account)}, "data.1.lastDigits")
	duplicate(t, b.Post(batch, object{"data": array{
		object{"name": "Bad", "lastDigits": "2222"}, object{"name": "Good", "lastDigits": "3333"}, object{"id": free, "lastDigits": "1111"}, object{"name": "Again", "lastDigits": "3333"},
	}}), holders{digits: "2222", connections: one(connection)}, "data.0.lastDigits", "data.2.lastDigits", "data.3.lastDigits")
	// Within one batch the second is at fault, and none has the digits yet.
	duplicate(t, b.Post(batch, object{"data": array{object{"name": "A", "lastDigits": "3333"}, object{"name": "B", "lastDigits": "3333"}}}), holders{digits: "3333"}, "data.1.lastDigits")
	// What keeps its digits is no conflict with itself, nor are the two that are attached to each other.
	b.Put(path(connection), object{"lastDigits": "2222", "name": "Same"}).Want(200)
	b.Put("/accounts/"+account.String(), object{"banking": object{"last4": "1111"}}).Want(200)
	same := b.add("1111", object{"accountId": account})
	b.Put(path(same), object{"lastDigits": "7777"}).Want(200)
	b.Put(path(same), object{"lastDigits": "1111"}).Want(200)
	b.Put("/accounts/"+account.String(), object{"banking": object{"last4": "8888"}}).Want(200)
	b.Put("/accounts/"+account.String(), object{"banking": object{"last4": "1111"}}).Want(200)
	// Detached they may keep them, but no other gets them, and neither gets them back.
	b.Put(path(same), object{"accountId": nil}).Want(200)
	b.Put(path(same), object{"lastDigits": "1111", "name": "Kept"}).Want(200)
	b.Put("/accounts/"+account.String(), object{"banking": object{"last4": "1111", "type": "checking"}}).Want(200)
	duplicate(t, b.Put(path(free), object{"lastDigits": "1111"}), holders{digits: "1111", accounts: one(account), connections: one(same)}, "lastDigits")
	b.Put("/accounts/"+account.String(), object{"banking": object{"last4": nil}}).Want(200)
	duplicate(t, b.Put("/accounts/"+account.String(), object{"banking": object{"last4": "1111"}}), holders{digits: "1111", connections: one(same)}, "banking.last4")
}

// Proves: ERR-126.
func TestCopiedDigitsThatAreUsedHaveNoPath(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	c, first := b.attached("1111")
	b.Put(path(c), object{"accountId": nil}).Want(200)
	second := b.bank("")
	r := b.attach(c, second)
	duplicate(t, r, holders{digits: "1111", accounts: []id.ID{first}}, "")

	if r.Has("issues.0.path") {
		t.Errorf("the issue has a path: %s", r.Body)
	}

	duplicate(t, b.Post("/account-connections/batch", object{"data": array{object{"id": c, "accountId": second}}}), holders{digits: "1111", accounts: []id.ID{first}}, "")
	want(t, b.Get(path(c)), map[string]string{"accountId": "null"})
	b.Put("/accounts/"+first.String(), object{"banking": object{"last4": nil}}).Want(200)
	b.attach(c, second).Want(200)
	want(t, b.Get("/accounts/"+second.String()), map[string]string{"banking.last4": "1111"})
}

// An account says when the account at the bank has other digits than itself.
func TestDigitsOutOfSyncAreAFinding(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	c, a := b.attached("1111")
	at := "/accounts/" + a.String()
	want(t, b.Get(at), map[string]string{"issues": "[]"})
	b.Put(path(c), object{"lastDigits": "2222"}).Want(200)

	finding := map[string]string{
		"code": "bankAccountLast4OutOfSync", "severity": "warning", "context.accountLast4": "1111", "context.bankAccountLast4": "2222",
		"context.bankAccountIds": list([]id.ID{c}),
	}
	for prefix, r := range map[string]*apitest.Response{"issues.0.": b.Get(at).Want(200), "data.0.issues.0.": b.Get("/accounts").Want(200)} {
		for field, value := range finding {
			want(t, r, map[string]string{prefix + field: value})
		}
	}

	b.Put(at, object{"banking": object{"last4": "2222"}}).Want(200)
	want(t, b.Get(at), map[string]string{"issues": "[]"})
	b.Put(at, object{"banking": object{"last4": nil}}).Want(200)
	want(t, b.Get(at), map[string]string{"issues": "[]"})
	b.Put(at, object{"banking": object{"last4": "3333"}}).Want(200)
	want(t, b.Get(at), map[string]string{"issues.0.context.accountLast4": "3333"})
	b.Put(path(c), object{"accountId": nil}).Want(200)
	want(t, b.Get(at), map[string]string{"issues": "[]"})
}

// together makes a call for each of so many writers at once and counts the answers by what they say.
func together(writers int, call func(n int) *apitest.Response) map[string]int {
	answers := make([]*apitest.Response, writers)

	var done sync.WaitGroup
	for n := range writers {
		done.Go(func() { answers[n] = call(n) })
	}

	done.Wait()

	counts := map[string]int{}

	for _, r := range answers {
		if r.Status == 200 {
			counts["done"]++
		} else {
			counts[strconv.Itoa(r.Status)+" "+r.String("reason")]++
		}
	}

	return counts
}

const writers = 24

func only(t *testing.T, got map[string]int, refusal string) {
	t.Helper()

	if len(got) != 2 || got["done"] != 1 || got[refusal] != writers-1 {
		t.Errorf("got %v, want one that is done and %d times %s", got, writers-1, refusal)
	}
}

// Proves: RSN-02.
func TestOneOfManyWritersAttaches(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	c, a := b.add("1111", nil), b.bank("")

	banks, connections := make([]id.ID, writers), make([]id.ID, writers)
	for n := range writers {
		banks[n], connections[n] = b.bank(""), b.add("", nil)
	}
	// The harness would send a dry run first and compare the whole team, which the others are changing.
	now := func(path string, body object) *apitest.Response { return b.Put(path+"?dryRun=false", body) }

	only(t, together(writers, func(n int) *apitest.Response { return now(path(c), object{"accountId": banks[n]}) }), "409 accountConnectionAttached")
	only(t, together(writers, func(n int) *apitest.Response { return now(path(connections[n]), object{"accountId": a}) }), "409 accountConnectionAttached")

	if n := b.stored(`select count(*) from account where team_id = @team and banking_last4 = '1111'`, nil); n != 1 {
		t.Errorf("%d accounts have the digits", n)
	}

	if n := b.stored(`select count(*) from account_connection where team_id = @team and account_id is not null`, nil); n != 2 {
		t.Errorf("%d account connections are attached", n)
	}
}

// A caller who loses digits to another at the same moment learns who has them.
//
// Proves: ERR-118, RSN-18.
func TestOneOfManyWritersGetsTheDigits(t *testing.T) {
	t.Parallel()
	b := newBook(t)

	connections, banks := make([]id.ID, writers/2), make([]id.ID, writers/2)
	for n := range writers / 2 {
		connections[n], banks[n] = b.add("", nil), b.bank("")
	}

	var (
		mu      sync.Mutex
		refused []*apitest.Response
	)

	only(t, together(writers, func(n int) *apitest.Response {
		var r *apitest.Response
		if n%2 == 0 {
			r = b.Put(path(connections[n/2])+"?dryRun=false", object{"lastDigits": "1111"})
		} else {
			r = b.Put("/accounts/"+banks[n/2].String()+"?dryRun=false", object{"banking": object{"last4": "1111"}})
		}

		if r.Status != 200 {
			mu.Lock()
			defer mu.Unlock()

			refused = append(refused, r)
		}

		return r
	}), "400 duplicateLast4")

	for _, r := range refused {
		if r.Len("context.accountIds")+r.Len("context.accountConnectionIds") != 1 {
			t.Errorf("a loser is told of %s", r.String("context"))
		}
	}

	if n := b.stored(`select (select count(*) from account where team_id = @team and banking_last4 = '1111')
		+ (select count(*) from account_connection where team_id = @team and last_digits = '1111')`, nil); n != 1 {
		t.Errorf("%d have the digits", n)
	}
}
