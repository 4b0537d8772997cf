package accountconnection_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
)

// Proves: DRY-31.
func TestAccountConnectionLife(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	c := b.add("4321", object{"type": "checking", "currency": "USD", "startAt": "2026-01-01"})
	want(t, b.Get(path(c)).Want(200), map[string]string{
		"name": "Checking 4321", "lastDigits": "4321", "type": "checking", "currency": "usd", "startAt": "2026-01-01", "status": "detached", "accountId": "null",
		"connectionId": "null", "providerAccountId": "null", "balance": "null", "lastRecordAt": "null",
	})
	want(t, b.Put(path(c), object{"name": "Savings", "type": nil, "lastDigits": nil, "startAt": nil, "currency": "EUR"}).Want(200), map[string]string{
		"name": "Savings", "lastDigits": "null", "type": "null", "currency": "eur", "startAt": "null", "status": "detached",
	})
	want(t, b.Put(path(c), object{"lastDigits": "9999"}).Want(200), map[string]string{"name": "Savings", "currency": "eur", "lastDigits": "9999"})
	b.record(c, id.Zero, "2026-02-01")

	if got := b.Get(path(c)).Want(200).String("lastRecordAt"); got != "2026-02-01T00:00:00.000Z" {
		t.Errorf("the latest record came %s", got)
	}

	b.Exec(`update account_connection set balance_current = 1234, balance_at = '2026-02-02' where team_id = @team`, nil)
	want(t, b.Get(path(c)).Want(200), map[string]string{"balance.current": "1234", "balance.available": "null", "balance.at": "2026-02-02T00:00:00.000Z"})
}

// The one that is attached takes the account's currency, a loose one the team's.
func TestAttaching(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	a := b.bank("")
	c := b.add("1111", nil)
	r := b.attach(c, a).Want(200)
	want(t, r, map[string]string{"status": "active", "accountId": a.String(), "currency": "usd", "lastDigits": "1111"})
	want(t, b.Get("/accounts/"+a.String()).Want(200), map[string]string{
		"banking.last4": "1111", "issues": "[]", "banking.connections.0.id": c.String(), "banking.connections.0.name": "Checking 1111",
		"banking.connections.0.lastDigits": "1111", "banking.connections.0.status": "active", "banking.connections.0.connectionId": "null",
	})
	// Again it changes nothing.
	b.attach(c, a).Want(200)
	// An account keeps its own digits.
	own := b.bank("2222")
	b.attach(b.add("3333", nil), own).Want(200)
	want(t, b.Get("/accounts/"+own.String()).Want(200), map[string]string{"banking.last4": "2222"})
	// Without digits there is nothing to copy.
	plain := b.bank("")
	b.attach(b.add("", nil), plain).Want(200)
	want(t, b.Get("/accounts/"+plain.String()).Want(200), map[string]string{"banking.last4": "null", "issues": "[]"})
	// A euro account makes a new account connection one in euros.
	euros := b.bank("")
	b.Put("/accounts/"+euros.String(), object{"banking": object{"currency": "eur"}}).Want(200)
	want(t, b.Get(path(b.add("", object{"accountId": euros}))), map[string]string{"currency": "eur", "status": "active"})

	if untold := b.Untold(); len(untold) > 0 {
		t.Errorf("not told: %v", untold)
	}

	if n := b.stored(`select count(*) from audit_event where team_id = @team and changes::text ~ '"(1111|2222|3333)"'`, nil); n != 0 {
		t.Errorf("%d audit events tell last digits", n)
	}

	if n := b.stored(`select count(*) from audit_event where team_id = @team and changes::text ~ '(last4|lastDigits)"[^}]*•••'`, nil); n < 4 {
		t.Errorf("%d audit events tell that last digits changed", n)
	}
}

// Proves: RSN-02, RSN-33, OPEN-60.
func TestAttachingIsRefused(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	c, a := b.attached("1111")

	other, free := b.add("2222", nil), b.bank("")
	for _, test := range []struct {
		connection, account id.ID
		attached            [2]id.ID // which two are attached
	}{{other, a, [2]id.ID{c, a}}, {c, free, [2]id.ID{c, a}}} {
		r := b.attach(test.connection, test.account).WantError(apierr.CodeConflict, apierr.ReasonAccountConnectionAttached).
			WantIssue("accountConnectionAttached", "accountId")
		want(t, r, map[string]string{"context.accountConnectionId": test.attached[0].String(), "context.accountId": test.attached[1].String()})
	}

	b.attach(other, b.account("ledger", "")).WantError(apierr.CodeBadRequest, apierr.ReasonNotBankAccount).WantIssue("notBankAccount", "accountId")
	refused := func(connection, account id.ID, code string) {
		t.Helper()
		b.attach(connection, account).WantError(apierr.CodeBadRequest, "").WantIssue(code, "accountId")
	}
	refused(other, id.New(b.DB.Now()), "notFound")
	archived := b.bank("")
	b.Put("/accounts/"+archived.String(), object{"status": "inactive"}).Want(200)
	refused(other, archived, "accountInactive")

	euros := b.add("3333", object{"currency": "eur"})
	refused(euros, free, "currencyMismatch")

	lost := b.add("4444", nil)
	b.gone(lost)
	refused(lost, free, "contradiction")

	for what, test := range map[string]struct {
		body        object
		code, field string
	}{
		"a mode while it stays":      {object{"mode": "detach-history"}, "contradiction", "mode"},
		"a mode while it comes":      {object{"accountId": free, "mode": "preserve-history"}, "contradiction", "mode"},
		"an unknown mode":            {object{"accountId": nil, "mode": "forget"}, "enum", "mode"},
		"no currency":                {object{"currency": "abc"}, "currency", "currency"},
		"another than the account's": {object{"currency": "eur"}, "currencyMismatch", "currency"},
		"five digits":                {object{"lastDigits": "12345"}, "malformed", "lastDigits"},
		"letters":                    {object{"lastDigits": "12ab"}, "malformed", "lastDigits"},
		"a field of feeds":           {object{"connectionId": other}, "unknownField", "connectionId"},
	} {
		t.Log(what)
		b.Put(path(c), test.body).WantError(apierr.CodeBadRequest, "").WantIssue(test.code, test.field)
	}

	b.Get(path(c)).Want(200)
	want(t, b.Get(path(other)), map[string]string{"accountId": "null", "status": "detached"})
	// The account's side is held to the same.
	b.Put("/accounts/"+a.String(), object{"banking": object{"currency": "eur"}}).WantError(apierr.CodeBadRequest, "").WantIssue("currencyMismatch", "banking.currency")
	r := b.Delete("/accounts/"+a.String()).WantError(apierr.CodeBadRequest, apierr.ReasonAccountInUse)
	want(t, r, map[string]string{"context.lockReasons": `["accountConnections"]`})
	b.Put("/accounts/"+a.String(), object{"status": "inactive"}).WantError(apierr.CodeBadRequest, apierr.ReasonAccountInUse)
}

// What is attached to an account stays gone when it is detached.
func TestWhatTheBankDoesNotShowIsDetached(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	c, a := b.attached("1111")
	b.gone(c)
	want(t, b.Put(path(c), object{"name": "Closed", "accountId": a}).Want(200), map[string]string{"status": "gone", "accountId": a.String(), "name": "Closed"})
	want(t, b.Put(path(c), object{"accountId": nil}).Want(200), map[string]string{"status": "gone", "accountId": "null"})
}

// Proves: ERR-19, DRY-31.
func TestBatch(t *testing.T) {
	t.Parallel()
	b := newBook(t)

	const batch = "/account-connections/batch"

	one, two, a := b.add("1111", nil), b.add("2222", nil), b.bank("")
	r := b.Post(batch, object{"data": array{
		object{"id": one, "lastDigits": "2222"}, object{"name": "New", "accountId": a, "lastDigits": "3333"}, object{"id": two, "name": "Second", "lastDigits": "1111"},
	}}).Want(200)
	want(t, r, map[string]string{
		"data.0.id": one.String(), "data.0.index": "0", "data.1.index": "1", "data.2.id": two.String(), "data.2.index": "2", "data.0.uniqueRef": "null", "issues": "[]",
	})
	want(t, b.Get(path(one)), map[string]string{"lastDigits": "2222", "name": "Checking 1111"})
	want(t, b.Get(path(two)), map[string]string{"lastDigits": "1111", "name": "Second"})
	want(t, b.Get(path(r.ID("data.1.id"))), map[string]string{"lastDigits": "3333", "name": "New", "accountId": a.String(), "status": "active"})
	want(t, b.Get("/accounts/"+a.String()), map[string]string{"banking.last4": "3333"})
	// In their order: an account that the first item leaves takes the second one's.
	moved := b.Post(batch, object{"data": array{object{"id": r.ID("data.1.id"), "accountId": nil}, object{"id": one, "accountId": a}}}).Want(200)
	want(t, b.Get(path(moved.ID("data.1.id"))), map[string]string{"accountId": a.String()})

	if untold := b.Untold(); len(untold) > 0 {
		t.Errorf("not told: %v", untold)
	}

	before := b.Get("/account-connections").Want(200).String("data")
	refuses := b.Refuses(batch)
	refuses("nothing", object{"data": array{}}, "items", "data")
	refuses("no name", object{"data": array{object{"name": "Good"}, object{"lastDigits": "7777"}}}, "required", "data.1.name")
	refuses("twice the same", object{"data": array{object{"id": one}, object{"id": one}}}, "unique", "data.1.id")
	refuses("an unknown one", object{"data": array{object{"name": "Good"}, object{"id": id.New(b.DB.Now()), "name": "X"}}}, "notFound", "data.1.id")
	refuses("an unknown account", object{"data": array{object{"name": "X", "accountId": id.New(b.DB.Now())}}}, "notFound", "data.0.accountId")
	// All faults of fields are reported at once.
	all := b.Post(batch, object{"data": array{object{"name": "X", "currency": "abc"}, object{}, object{"name": "Y", "mode": "detach-history"}}}).Want(400)
	all.WantIssue("currency", "data.0.currency").WantIssue("required", "data.1.name").WantIssue("contradiction", "data.2.mode")

	free := b.bank("")
	b.Post(batch, object{"data": array{object{"name": "X", "accountId": free}, object{"name": "Y", "accountId": free}}}).
		WantError(apierr.CodeConflict, apierr.ReasonAccountConnectionAttached).WantIssue("accountConnectionAttached", "data.1.accountId")

	if after := b.Get("/account-connections").Want(200).String("data"); after != before {
		t.Errorf("refused batches left %s, there was %s", after, before)
	}
}

// Proves: DRY-15, DRY-31.
func TestADryRunOfABatchChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	c, a := b.attached("1111")
	b.record(c, a, "2026-01-01")

	before := b.Fingerprint()
	for method, body := range map[string]object{
		"/account-connections/batch?dryRun=true":                           {"data": array{object{"id": c, "accountId": nil, "mode": "detach-history"}, object{"name": "New", "lastDigits": "2222"}}},
		"/accounts/" + a.String() + "/disconnect-bank-account?dryRun=true": {"bankAccountId": c, "mode": "detach-history"},
	} {
		b.Post(method, body).Want(200)
	}

	want(t, b.Put(path(c)+"?dryRun=true", object{"accountId": nil}).Want(200), map[string]string{"accountId": "null", "status": "detached"})

	if b.Fingerprint() != before {
		t.Error("a dry run has changed something")
	}
}

// names are the names of the rows of a list.
func (b *book) names(query string) string {
	b.t.Helper()
	r := b.Get("/account-connections?" + query).Want(200)

	names := make([]string, r.Len("data"))
	for i := range names {
		names[i] = r.String("data." + strconv.Itoa(i) + ".name")
	}

	return strings.Join(names, " ")
}

// Proves: PAG-18, PAG-20, PAG-21, PAG-22.
func TestAccountConnectionLists(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	a := b.bank("")

	ids := make([]id.ID, 3)
	for i, item := range []object{{"name": "alpha", "lastDigits": "1111", "accountId": a}, {"name": "Beta", "currency": "eur"}, {"name": "gamma", "lastDigits": "3334"}} {
		ids[i] = b.add("", item)
	}

	b.gone(ids[2])

	for query, want := range map[string]string{
		"": "alpha Beta gamma", "sort=-name": "gamma Beta alpha", "sort=-createdAt": "gamma Beta alpha", "ids=" + ids[1].String(): "Beta", "ids=!" + ids[1].String(): "alpha gamma",
		"accountIds=" + a.String(): "alpha", "accountIds=null": "Beta gamma", "accountIds=!null": "alpha", "status=active": "alpha", "status=active,gone": "alpha gamma",
		"currency=EUR": "Beta", "lastDigits=1111": "alpha", "search=333": "gamma", "search=ET": "Beta", "connectionIds=null": "alpha Beta gamma", "connectionIds=" + a.String(): "",
	} {
		if got := b.names(query); got != want {
			t.Errorf("%s lists %q, want %q", query, got, want)
		}
	}
}

// Ids of another team are unknown in paths, bodies and filters, and its digits are no conflict.
//
// Proves: PAG-31, ERR-119.
func TestOtherTeamsAccountConnectionsAreUnknown(t *testing.T) {
	t.Parallel()
	b, other := newBook(t), newBook(t)
	theirs, theirAccount := other.attached("1111")
	mine, account := b.attached("1111")
	b.Get(path(theirs)).WantError(apierr.CodeNotFound, "")
	b.Put(path(theirs), object{"name": "Mine"}).WantError(apierr.CodeNotFound, "")
	b.Post("/accounts/"+theirAccount.String()+"/disconnect-bank-account", object{"bankAccountId": theirs}).WantError(apierr.CodeNotFound, "")
	b.Post("/accounts/"+account.String()+"/disconnect-bank-account", object{"bankAccountId": theirs}).Want(400).WantIssue("notFound", "bankAccountId")
	b.attach(b.add("2222", nil), theirAccount).Want(400).WantIssue("notFound", "accountId")
	b.Refuses("/account-connections/batch")("another team's", object{"data": array{object{"id": theirs}}}, "notFound", "data.0.id")

	for _, query := range []string{"ids=" + theirs.String(), "accountIds=" + theirAccount.String(), "connectionIds=" + theirs.String()} {
		if got := b.names(query); got != "" {
			t.Errorf("%s lists %q", query, got)
		}
	}

	if got := other.Get(path(theirs)).Want(200).String("name"); got != "Checking 1111" || !slices.Equal([]string{b.names("ids=" + mine.String())}, []string{got}) {
		t.Errorf("the names are %q and %q", got, b.names("ids="+mine.String()))
	}
}

// Whoever may read banks may not change what is attached, and the other way round.
//
// Proves: AUTH-18.
func TestScopesOfAccountConnections(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	c, a := b.attached("1111")
	reader, writer := b.As([]string{"bank:read", "accounts:write"}, nil), b.As([]string{"bank:write"}, nil)
	reader.Get(path(c)).Want(200)
	reader.Get("/account-connections").Want(200)
	reader.Put(path(c), object{}).WantError(apierr.CodeForbidden, "")
	reader.Post("/account-connections/batch", object{"data": array{object{"name": "X"}}}).WantError(apierr.CodeForbidden, "")
	reader.Post("/accounts/"+a.String()+"/disconnect-bank-account", object{"bankAccountId": c}).WantError(apierr.CodeForbidden, "")
	writer.Get(path(c)).WantError(apierr.CodeForbidden, "")
	writer.Get("/account-connections").WantError(apierr.CodeForbidden, "")
	writer.Put(path(c), object{"name": "Mine"}).Want(200)
}
