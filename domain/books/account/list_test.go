package account_test

import (
	"fmt"
	"slices"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

func TestAccountLists(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)
	post(x, "2026-02-01", codes["1000"], codes["2000"])
	x.Put("/accounts/"+codes["1010"].String(), object{"uniqueRef": "ops", "banking": object{"currency": "eur", "last4": "1234"}}).Want(200)
	taxes := x.Get("/account-categories?sort=name&classification=liability").Want(200)
	payable := ""

	for i := range taxes.Len("data") {
		if taxes.String(fmt.Sprintf("data.%d.name", i)) == "Taxes payable" {
			payable = taxes.String(fmt.Sprintf("data.%d.id", i))
		}
	}

	list := func(query string) []string {
		r := x.Get("/accounts?" + query).Want(200)

		out := []string{}
		for i := range r.Len("data") {
			out = append(out, r.String(fmt.Sprintf("data.%d.code", i)))
		}

		return out
	}
	for query, want := range map[string][]string{
		"type=bank":                                     {"1000", "1010"},
		"type=bank&sort=-code":                          {"1010", "1000"},
		"assignment=payout_bankAccount":                 {"1000"},
		"assignment=payout_bankAccount,deferredRevenue": {"1000", "2010"},
		"search=cleaning":                               {"4010", "4110", "5110"},
		"search=cleaning&sort=name":                     {"5110", "4010", "4110"},
		"search=ops":                                    {"1010"},
		"classification=asset&type=ledger":              {"1100", "1110", "1120"},
		"classification=asset&isAssigned=false":         {"1010"},
		"categoryIds=" + payable + "&sort=-code":        {"2110", "2100"},
		"codes=4000,1000,9999":                          {"1000", "4000"},
		"codes=4000,1000&sort=-category":                {"4000", "1000"},
		"uniqueRefs=ops,none":                           {"1010"},
		"bankingCategory=operating":                     {"1010"},
		"currency=EUR":                                  {"1010"},
		"last4=1234":                                    {"1010"},
		"hasEntries=true":                               {"1000", "2000"},
		"hasEntries=false&type=bank":                    {"1010"},
		"status=inactive":                               {},
		"ids=" + codes["1000"].String():                 {"1000"},
		"type=bank&ids=!" + codes["1000"].String():      {"1010"},
		"ids=" + codes["1000"].String() + ",!" + codes["1010"].String(): {"1000"},
	} {
		if got := list(query); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}

	r := x.Get("/account-categories?classification=expense&sort=-position").Want(200)
	if r.Len("data") != 3 || r.String("data.0.name") != "Property expenses" {
		t.Errorf("categories %s", r.Body)
	}

	x.Get("/accounts?currency=x").WantError(apierr.CodeBadRequest, "")
}

// What the bank reported and what the books have stand on a bank account; excluded records, stated balances and days to
// come do not count.
func TestABankAccountTellsItsRecordsAndItsBalance(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)

	today := x.DB.Now()
	for _, at := range []string{"2026-02-01", "2026-05-31", today.Format("2006-01-02"), today.AddDate(0, 0, 1).Format("2006-01-02")} {
		post(x, at, codes["1000"], codes["2000"])
	}

	movement := transaction(x, codes["1000"])
	matched, partly := record(x, codes["1000"], "2026-02-01", 100), record(x, codes["1000"], "2026-02-02", 100)
	record(x, codes["1000"], "2026-02-03", 100)
	match(x, codes["1000"], matched, movement, 100)
	match(x, codes["1000"], partly, movement, 60)
	x.Exec(`insert into bank_record (team_id, id, account_id, date, status, type, amount, balance, created_at, updated_at) values
		(@team, gen_random_uuid(), @account, '2026-02-03', 'inactive', 'transaction', 5, null, now(), now()),
		(@team, gen_random_uuid(), @account, '2026-02-03', 'active', 'balance', 0, 9, now(), now())`, db.Args{"account": codes["1000"]})

	r := x.Get("/accounts/" + codes["1000"].String()).Want(200)
	for path, want := range map[string]string{
		"banking.bankRecords.reconciled": "1", "banking.bankRecords.unreconciled": "2", "banking.bankRecords.total": "3",
		"banking.balance.ending": "300", "banking.balance.openingDate": "null", "banking.balance.opening": "null",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}

	if r.String("banking.bankRecords.latestCreatedAt") == "null" {
		t.Error("no latest record")
	}

	empty := x.Get("/accounts?codes=1010").Want(200)
	if empty.String("data.0.banking.bankRecords.latestCreatedAt") != "null" || empty.Int("data.0.banking.balance.ending") != 0 {
		t.Errorf("an account without records: %s", empty.Body)
	}
}
