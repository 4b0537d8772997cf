package account_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/golden"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

func TestAssignmentsMove(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)
	to := "/accounts/" + codes["2300"].String()

	r := x.Put(to, object{"assignments": []string{"accountsPayable", "openingBalance"}}).Want(200)
	if got := r.String("assignments"); got != `["accountsPayable","openingBalance"]` {
		t.Errorf("assigned %s", got)
	}

	for _, code := range []string{"2200", "2900"} {
		if got := x.Get("/accounts/" + codes[code].String()).String("assignments"); got != "[]" {
			t.Errorf("%s still has %s", code, got)
		}
	}

	x.Put(to, object{"assignments": []string{"openingBalance"}}).Want(200)

	if got := x.Get("/accounts?assignment=accountsPayable").Int("pagination.total"); got != 0 {
		t.Errorf("%d accounts play a part that was given up", got)
	}
}

// Every assignment of the contract can be made, and read back.
func TestEveryAssignmentIsPlayed(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)
	all := account.Assignment("").Enum()
	x.Put("/accounts/"+codes["1000"].String(), object{"assignments": all}).Want(200)
	read := x.Get("/accounts/" + codes["1000"].String()).Want(200)

	var kept []string
	for i := range read.Len("assignments") {
		kept = append(kept, read.String("assignments."+strconv.Itoa(i)))
	}

	slices.Sort(kept)
	golden.List(t, "assignments of the account", kept, slices.Sorted(slices.Values(all)))
}

// Journals hear of what moved and of nothing else, in the transaction of the write: one that refuses undoes it.
func TestJournalsHearOfMovedAssignments(t *testing.T) {
	t.Parallel()

	var (
		heard  []ledger.Reassigned
		refuse error
	)

	x := apitest.New(t, apitest.Config{Endpoints: parts.Join(account.Part(ledger.Sources{{Touched: func(_ context.Context, _ *db.Tx, b ledger.Basis) ([]id.ID, error) {
		heard = b.Assignments
		return nil, refuse
	}}})).Endpoints})
	x.Tx(account.InstallStandard)
	codes := byCode(x)

	path := func(code string) string { return "/accounts/" + codes[code].String() }
	for _, test := range []struct {
		code   string
		change object
		want   []ledger.Reassigned
	}{
		{"2000", object{"name": "Guests"}, nil},
		{"2000", object{"assignments": []string{"accountsReceivable"}}, nil},
		{"2000", object{"assignments": []string{}}, []ledger.Reassigned{{Assignment: "accountsReceivable", From: codes["2000"]}}},
		{"2300", object{"assignments": []string{"deferredRevenue", "accountsReceivable"}}, []ledger.Reassigned{
			{Assignment: "accountsReceivable", To: codes["2300"]},
			{Assignment: "deferredRevenue", From: codes["2010"], To: codes["2300"]},
		}},
	} {
		heard = nil

		x.Put(path(test.code), test.change).Want(200)

		if !slices.Equal(heard, test.want) {
			t.Errorf("%s %v: heard %v, want %v", test.code, test.change, heard, test.want)
		}
	}

	x.Post("/accounts", object{
		"name": "New", "type": "ledger", "categoryId": category(x, "C", "liability"), "assignments": []string{"expense_salesTax"},
	}).Want(201)

	if len(heard) != 1 || heard[0].From != codes["2110"] {
		t.Errorf("heard %v of a new account", heard)
	}

	refuse = apierr.NotFound

	x.Put(path("2300"), object{"assignments": []string{}}).Want(404)

	if got := x.Get(path("2300")).String("assignments"); got != `["accountsReceivable","deferredRevenue"]` {
		t.Errorf("a refused change left %s", got)
	}
}

func TestReassignments(t *testing.T) {
	t.Parallel()

	one, two := id.ID{1}, id.ID{2}
	before := map[account.Assignment]id.ID{account.AccountsPayable: one, account.DeferredRevenue: one, account.OpeningBalance: two}
	after := map[account.Assignment]id.ID{account.AccountsPayable: one, account.DeferredRevenue: two, account.ExpenseMarkup: one}

	want := []ledger.Reassigned{
		{Assignment: "deferredRevenue", From: one, To: two},
		{Assignment: "expense_markup", To: one},
		{Assignment: "openingBalance", From: two},
	}
	if got := account.Reassignments(before, after); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
