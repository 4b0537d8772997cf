package account_test

import (
	"maps"
	"testing"

	"stayledger/domain/books/account"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Proves: DRY-29, DRY-31.
func TestAccountLife(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	assets := category(x, "Banks", "asset")
	offset := x.Post("/accounts", object{"name": "Mirror", "type": "ledger", "categoryId": assets}).Want(201).String("id")

	r := x.Post("/accounts", object{
		"name": "Trust bank", "code": "1000", "uniqueRef": "bank", "type": "bank", "categoryId": assets, "offsetAccountId": offset,
		"banking": object{"category": "trust", "type": "deposit", "last4": "4321", "currency": "EUR"}, "assignments": []string{"payout_bankAccount"},
	}).Want(201)
	for path, want := range map[string]string{
		"classification": "asset", "category.id": assets, "category.name": "Banks", "categoryLock": "null", "offsetAccount.id": offset,
		"offsetAccount.status": "active", "banking.category": "trust", "banking.last4": "4321", "banking.currency": "eur", "banking.type": "deposit",
		"assignments": `["payout_bankAccount"]`, "issues": "[]", "status": "active", "type": "bank",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}

	x.Post("/accounts?dryRun=true", object{"name": "Dry", "type": "ledger", "categoryId": assets}).Want(201)
	x.Post("/accounts?dryRun=true", object{"name": "Dry", "type": "bank", "categoryId": assets, "banking": object{"category": "trust"}}).Want(201)

	if got := x.Get("/accounts").Int("pagination.total"); got != 2 {
		t.Errorf("%d accounts", got)
	}

	path := "/accounts/" + r.String("id")

	changed := x.Put(path, object{"name": "Bank", "code": nil, "offsetAccountId": nil, "banking": object{"type": nil, "category": "operating"}}).Want(200)
	for path, want := range map[string]string{
		"name": "Bank", "code": "null", "uniqueRef": "bank", "offsetAccount": "null", "banking.category": "operating", "banking.type": "null",
		"banking.last4": "4321", "banking.currency": "eur", "assignments": `["payout_bankAccount"]`,
	} {
		if got := changed.String(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}

	// Null is the banking data of an account that is not at a bank, and of no other.
	x.Put(path, object{"banking": nil}).WantError(apierr.CodeBadRequest, "").WantIssue("required", "banking")
	ledger := x.Post("/accounts", object{"name": "Rent", "type": "ledger", "categoryId": assets, "banking": nil}).Want(201).String("id")
	x.Put("/accounts/"+ledger, object{"banking": nil}).Want(200)

	x.Put(path, object{"assignments": []string{}}).Want(200)
	x.Delete(path).Want(204)
	x.Get(path).WantError(apierr.CodeNotFound, "")
}

func TestAccountRefused(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	assets := category(x, "Assets", "asset")
	unknown := id.New(x.DB.Now())

	bank := object{"category": "trust"}
	for _, test := range []struct {
		body       object
		reason     apierr.Reason
		code, path string
	}{
		{object{"name": "A", "type": "ledger", "categoryId": unknown}, "", "notFound", "categoryId"},
		{object{"name": "A", "type": "ledger", "categoryId": assets, "offsetAccountId": unknown}, "", "notFound", "offsetAccountId"},
		{object{"name": "A", "type": "bank", "categoryId": assets}, "", "required", "banking"},
		{object{"name": "A", "type": "bank", "categoryId": assets, "banking": nil}, "", "required", "banking"},
		{object{"name": "A", "type": "bank", "categoryId": assets, "banking": object{}}, "", "required", "banking.category"},
		{object{"name": "A", "type": "bank", "categoryId": assets, "banking": object{"category": "trust", "currency": "abc"}}, "", "currency", "banking.currency"},
		{object{"name": "A", "type": "bank", "categoryId": assets, "banking": object{"category": "trust", "last4": "12345"}}, "", "malformed", "banking.last4"},
		{object{"name": "A", "type": "ledger", "categoryId": assets, "banking": bank}, apierr.ReasonNotBankAccount, "notBankAccount", "banking"},
		{
			object{"name": "A", "type": "ledger", "categoryId": assets, "assignments": []string{"openingBalance", "payout_bankAccount"}},
			apierr.ReasonNotBankAccount, "notBankAccount", "assignments.1",
		},
		{object{"name": "A", "type": "ledger", "categoryId": assets, "assignments": []string{"openingBalance", "openingBalance"}}, "", "unique", "assignments.1"},
		{object{"name": "A", "type": "ledger", "categoryId": assets, "assignments": []string{"king"}}, "", "enum", "assignments.0"},
		{object{"name": "A", "type": "nonPosting", "categoryId": assets, "assignments": []string{"openingBalance"}}, "", "nonPostingAccount", "assignments.0"},
		{object{"name": "A", "type": "equity", "categoryId": assets}, "", "enum", "type"},
	} {
		x.Post("/accounts", test.body).WantError(apierr.CodeBadRequest, test.reason).WantIssue(test.code, test.path)
	}
}

// Proves: RSN-19, RSN-20.
func TestDuplicateNames(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	assets := category(x, "Assets", "asset")
	x.Post("/account-categories", object{"name": "Assets", "classification": "asset"}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateName)
	x.Post("/accounts", object{"name": "A", "code": "1", "uniqueRef": "a", "type": "ledger", "categoryId": assets}).Want(201)

	b := x.Post("/accounts", object{"name": "B", "type": "ledger", "categoryId": assets}).Want(201).String("id")
	for _, test := range []struct {
		change object
		reason apierr.Reason
	}{
		{object{"name": "A"}, apierr.ReasonDuplicateName},
		{object{"code": "1"}, apierr.ReasonDuplicateName},
		{object{"uniqueRef": "a"}, apierr.ReasonDuplicateUniqueRef},
	} {
		x.Put("/accounts/"+b, test.change).WantError(apierr.CodeConflict, test.reason)

		created := object{"name": "C", "type": "ledger", "categoryId": assets}
		maps.Copy(created, test.change)
		x.Post("/accounts", created).WantError(apierr.CodeConflict, test.reason)
	}
}

// The half of ERR-119 that bank feeds have no part in is here too: another team's digits are no conflict.
//
// Proves: ERR-117, ERR-118, ERR-120, ERR-121, RSN-18.
func TestDuplicateLast4(t *testing.T) {
	t.Parallel()

	bank := func(x *apitest.Team, name, last4 string) *apitest.Response {
		return x.Post("/accounts", object{
			"name": name, "type": "bank", "categoryId": category(x, "Of "+name, "asset"), "banking": object{"category": "trust", "last4": last4},
		})
	}
	x, y := newTeam(t), newTeam(t)
	first := bank(x, "First", "1234").Want(201).String("id")
	second := bank(x, "Second", "5678").Want(201).String("id")
	bank(y, "Other team", "1234").Want(201)

	for _, r := range []*apitest.Response{
		bank(x, "Third", "1234"),
		x.Put("/accounts/"+second, object{"banking": object{"last4": "1234"}}),
	} {
		r.WantError(apierr.CodeBadRequest, apierr.ReasonDuplicateLast4).WantIssue("duplicateLast4", "banking.last4")

		if r.Len("context.accountIds") != 1 || r.String("context.accountIds.0") != first || r.Len("context.accountConnectionIds") != 0 ||
			r.String("context.lastDigits") != "1234" {
			t.Errorf("got %s", r.Body)
		}
	}

	x.Put("/accounts/"+first, object{"banking": object{"last4": "1234"}}).Want(200)
}

// The ledger that a bank account's money is in is part of its classification.
//
// Proves: RSN-01.
func TestClassificationIsLockedByEntries(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)
	income, sibling := category(x, "Income", "revenue"), category(x, "More liabilities", "liability")
	path := "/accounts/" + codes["2000"].String()
	x.Put(path, object{"categoryId": income}).Want(200)
	x.Put(path, object{"categoryId": sibling}).Want(200)
	post(x, "2026-02-01", codes["1000"], codes["2000"])

	if r := x.Get(path); r.String("categoryLock.status") != "locked" || r.String("categoryLock.reason") != "immutable" {
		t.Errorf("the lock is %s", r.String("categoryLock"))
	}

	x.Put(path, object{"categoryId": income}).WantError(apierr.CodeBadRequest, apierr.ReasonAccountClassificationLocked)
	x.Put("/account-categories/"+sibling, object{"classification": "revenue"}).
		WantError(apierr.CodeBadRequest, apierr.ReasonAccountClassificationLocked)
	x.Put("/account-categories/"+sibling, object{"name": "Renamed"}).Want(200)
	x.Put("/account-categories/"+income, object{"classification": "expense"}).Want(200)
	x.Put(path, object{"categoryId": category(x, "Liabilities too", "liability")}).Want(200)
	// Entries that count nowhere lock it as well: they are shown with their account.
	x.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, status, txn_at, account_id, cent_total, currency, trigger_type, created_at)
		select @team, gen_random_uuid(), @account, 'archived', cents::text, 'trust', 'inactive', '2026-02-01', @account, cents, 'usd', 'manual', now()
		from (values (100), (-100)) v (cents)`, db.Args{"account": codes["2300"]})
	x.Put("/accounts/"+codes["2300"].String(), object{"categoryId": income}).WantError(apierr.CodeBadRequest, apierr.ReasonAccountClassificationLocked)
	bank := "/accounts/" + codes["1000"].String()
	x.Put(bank, object{"banking": object{"category": "operating"}}).
		WantError(apierr.CodeBadRequest, apierr.ReasonAccountClassificationLocked).WantIssue("accountClassificationLocked", "banking.category")
	// Its entries would vanish from a balance in another currency.
	x.Put(bank, object{"banking": object{"currency": "eur"}}).
		WantError(apierr.CodeBadRequest, apierr.ReasonAccountClassificationLocked).WantIssue("accountClassificationLocked", "banking.currency")
	x.Put(bank, object{"banking": object{"category": "trust", "type": "savings", "currency": "USD"}}).Want(200)
	x.Put("/accounts/"+codes["1010"].String(), object{"banking": object{"currency": "eur"}}).Want(200)

	// What its bank states has no currency but that of the account.
	x.Exec(`insert into bank_record (team_id, id, account_id, date, amount, created_at, updated_at)
		values (@team, @id, @account, '2026-01-05', 500, now(), now())`, db.Args{"id": id.New(x.DB.Now()), "account": codes["1010"]})
	x.Put("/accounts/"+codes["1010"].String(), object{"banking": object{"currency": "usd"}}).
		WantError(apierr.CodeBadRequest, apierr.ReasonAccountClassificationLocked).WantIssue("accountClassificationLocked", "banking.currency")
	x.Put("/accounts/"+codes["1010"].String(), object{"banking": object{"category": "trust"}}).Want(200)
}

// Proves: PAG-31.
func TestOtherTeamsAccountsAreUnknown(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)
	y := newTeam(t)
	path := "/accounts/" + codes["5200"].String()
	y.Get(path).WantError(apierr.CodeNotFound, "")
	y.Put(path, object{"name": "Mine"}).WantError(apierr.CodeNotFound, "")
	y.Delete(path).WantError(apierr.CodeNotFound, "")

	if got := y.Get("/accounts?ids=" + codes["5200"].String()).Int("pagination.total"); got != 0 {
		t.Error("another team's account is listed")
	}

	theirs := x.Get("/account-categories").String("data.0.id")
	y.Put("/account-categories/"+theirs, object{"name": "Mine"}).WantError(apierr.CodeNotFound, "")
	y.Post("/accounts", object{"name": "A", "type": string(account.TypeLedger), "categoryId": theirs}).
		WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "categoryId")
}
