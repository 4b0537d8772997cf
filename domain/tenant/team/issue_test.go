package team_test

import (
	"testing"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/platform/db"
	"stayledger/test/fixture"
)

// The issue names the assignments that this team needs and lacks, and goes when they are there.
func TestATeamTellsWhichAssignmentsItLacks(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	r := x.Get("/team").Want(200)
	if r.Len("issues") != 1 || r.String("issues.0.code") != "unassignedAccount" || r.String("issues.0.severity") != "error" ||
		r.String("issues.0.context.assignments") != `["accountsPayable","accountsReceivable","openingBalance","payout_bankAccount","payout_distribution"]` ||
		r.Len("issues.0.context.accountIds") != 0 {
		t.Errorf("a team without a chart: %s", r.String("issues"))
	}

	x.Tx(account.InstallStandard)
	x.Tx(mapping.InstallStandard)

	if r := x.Get("/team").Want(200); r.Len("issues") != 0 {
		t.Errorf("a team with the standard chart: %s", r.String("issues"))
	}

	x.Exec(`delete from account_assignment where team_id = @team and assignment in ('dueToFromTrust', 'expense_salesTax', 'deposit_coHostPayout', 'deferredRevenue')`, nil)
	// No one has a co-host or a tax rate yet, but there is an operating account.
	r = x.Get("/team").Want(200)
	if r.String("issues.0.context.assignments") != `["dueToFromTrust"]` || r.Len("issues.0.context.accountIds") != 1 {
		t.Errorf("an operating account without a way to the trust: %s", r.String("issues"))
	}

	listing := fixture.Listing(x, "Villa")
	x.Exec(`insert into listing_ownership_period (team_id, id, listing_id, business_model, created_at, updated_at)
		values (@team, gen_random_uuid(), @listing, 'co_host', now(), now())`, db.Args{"listing": listing})
	fixture.TaxRate(x, "Sales", 1_000)
	x.Exec(`update reservation_line_mapping set revenue_recognition = 'checkOut' where team_id = @team and line_type = 'cleaningFee'`, nil)

	r = x.Get("/team").Want(200)
	if got := r.String("issues.0.context.assignments"); got != `["deferredRevenue","deposit_coHostPayout","dueToFromTrust","expense_salesTax"]` {
		t.Errorf("missing %s", got)
	}

	x.Put("/team", object{"statementStartAt": nil}).Want(200)

	if r := x.Get("/team").Want(200); r.String("issues.1.code") != "statementStartMissing" || r.String("issues.1.severity") != "warning" {
		t.Errorf("issues %s", r.String("issues"))
	}

	x.KeepLedger(false)

	if r := x.Get("/team").Want(200); r.Len("issues") != 0 {
		t.Errorf("a team without books: %s", r.String("issues"))
	}

	x.KeepLedger(true)

	if r := x.Get("/teams").Want(200); r.Len("data.0.issues") != 2 {
		t.Errorf("listed: %s", r.Body)
	}
}
