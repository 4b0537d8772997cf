package team_test

import (
	"maps"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/test/fixture"
)

func TestSettingsAreCopiedFromATeamWithinReach(t *testing.T) {
	t.Parallel()
	from, to := newFilled(t), newFilled(t)
	settle(from)
	to.Patch("/teams/"+to.ID.String()+"/init", object{"copyFromTeamId": from.ID}).Want(400).WantIssue("notFound", "copyFromTeamId")
	to.Reach(from.ID)

	for range 2 {
		to.Patch("/teams/"+to.ID.String()+"/init", object{"copyFromTeamId": from.ID}).Want(200)
	}

	for _, path := range []string{"/accounts?limit=1", "/tax-rates", "/recurring-fees", "/reservations/line-mappings"} {
		if got, want := to.Get(path).Want(200).Int("pagination.total"), from.Get(path).Want(200).Int("pagination.total"); got != want {
			t.Errorf("%s: %d rows, want %d", path, got, want)
		}
	}

	codes := fixture.Accounts(to)

	m := to.Get("/reservations/line-mappings?lineType=cleaningFee&channel=airbnb").Want(200)
	if m.String("data.0.revenueRecognition") != "checkOut" || m.ID("data.0.accountId") != codes["4110"] || m.String("data.0.party") != "manager" {
		t.Errorf("mapping %s", m.Body)
	}

	if m := to.Get("/reservations/line-mappings?lineType=resort").Want(200); m.String("data.0.status") != "excluded" {
		t.Errorf("mapping %s", m.Body)
	}

	fees := to.Get("/recurring-fees?sort=name").Want(200)
	for path, want := range map[string]string{
		"data.0.name": "Bonus", "data.0.formula": `fee("Commission") + account("4000")`, "data.0.chargeBasis": "perReservation",
		"data.1.name": "Commission", "data.1.taxRate.name": "Sales", "data.1.taxBehavior": "included", "data.1.statusFilter": "all",
		"data.1.ownerStayFilter": "include", "data.1.accountTotalConditions.0.centValue": "500",
		"data.1.accountTotalConditions.0.accountId": codes["4000"].String(), "data.1.bookingChannelsFilter": `["airbnb"]`,
		"data.1.debitAccountId": codes["5100"].String(), "data.1.revenueRecognition": "checkOut",
		"data.2.name": "Linen", "data.2.chargeBasis": "perNight", "data.2.defaultRate": "700",
	} {
		if got := fees.String(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// settle gives a team the standard chart, and settings of every kind.
func settle(x *apitest.Team) {
	x.Patch("/teams/"+x.ID.String()+"/init", object{}).Want(200)
	codes := fixture.Accounts(x)
	rate := x.Post("/tax-rates", object{"name": "Sales", "basisPoints": 7000}).Want(201).String("id")
	x.Post("/reservations/line-mappings", object{
		"lineType": "cleaningFee", "channel": "airbnb", "accountId": codes["4110"], "party": "manager", "revenueRecognition": "checkOut",
	}).Want(201)
	x.Post("/reservations/line-mappings", object{"lineType": "resort", "status": "excluded"}).Want(201)

	parties := object{"debitParty": "owners", "creditParty": "manager", "debitAccountId": codes["5100"], "creditAccountId": codes["4100"]}
	fee := func(terms object) {
		maps.Copy(terms, parties)
		x.Post("/recurring-fees", terms).Want(201)
	}
	fee(object{
		"name": "Commission", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 20000, "revenueRecognition": "checkOut",
		"taxRateId": rate, "taxBehavior": "included", "statusFilter": "all", "ownerStayFilter": "include", "bookingChannelsFilter": []string{"airbnb"},
		"accountTotalConditions": []object{{"accountId": codes["4000"], "operator": ">", "centValue": 500}},
	})
	fee(object{"name": "Linen", "type": "additionalFee", "rateType": "flat", "defaultRate": 700, "chargeBasis": "perNight"})
	fee(object{
		"name": "Bonus", "type": "additionalFee", "formula": `fee("Commission") + account("4000")`, "rateType": "percentage", "defaultRate": 1000,
	})
}

// A team's own chart and fees take the place of those of the other team; those without a counterpart are left out, with
// all that builds on them.
func TestCopyingBringsWhatItCan(t *testing.T) {
	t.Parallel()
	from, to := newFilled(t), newFilled(t)
	settle(from)
	to.Reach(from.ID)
	category := to.Post("/account-categories", object{"name": "Mine", "classification": "revenue"}).Want(201).String("id")
	own := to.Post("/accounts", object{"name": "Commission income", "code": "4100", "type": "ledger", "categoryId": category}).Want(201).ID("id")
	// Without the other accounts there is no fee.
	to.Patch("/teams/"+to.ID.String()+"/init", object{"copyFromTeamId": from.ID, "include": []string{"recurringFees"}}).Want(200)

	if got := to.Get("/recurring-fees").Want(200).Len("data"); got != 0 {
		t.Errorf("%d fees without their accounts", got)
	}

	// A fee brings its tax rate, and is not copied without it.
	to.Patch("/teams/"+to.ID.String()+"/init", object{"copyFromTeamId": from.ID, "include": []string{"accounts", "recurringFees"}}).Want(200)

	fees := to.Get("/recurring-fees?sort=name").Want(200)
	if fees.Len("data") != 3 || fees.String("data.1.name") != "Commission" || fees.String("data.1.taxRate.name") != "Sales" || fees.ID("data.1.creditAccountId") != own {
		t.Errorf("fees %s", fees.Body)
	}

	to.Patch("/teams/"+to.ID.String()+"/init", object{"copyFromTeamId": from.ID}).Want(200)

	if got := to.Get("/recurring-fees").Want(200).Len("data"); got != 3 {
		t.Errorf("%d fees", got)
	}
}

// Proves: MIG-19.
func TestStatementLayoutsAreCopied(t *testing.T) {
	t.Parallel()
	from, to := newFilled(t), newFilled(t)
	from.Patch("/teams/"+from.ID.String()+"/init", object{}).Want(200)
	there := fixture.Accounts(from)
	from.Post("/statement-layouts", object{"name": "Ours", "isDefault": true, "netRevenueSections": []object{{"name": "Revenue", "columns": []object{
		{"name": "Rent", "type": "accounts", "value": object{"accountIds": []any{there["4000"], there["4010"]}}},
		{"name": "Part", "type": "formula.percentage", "value": object{"formula": `account("4010") / Rent`}},
	}}}}).Want(201)
	to.Reach(from.ID)

	init := func(include ...string) {
		t.Helper()
		to.Patch("/teams/"+to.ID.String()+"/init", object{"copyFromTeamId": from.ID, "include": include}).Want(200)
	}
	init("accounts", "lineMappings")

	if got := to.Get("/statement-layouts").Want(200).Int("pagination.total"); got != 0 {
		t.Errorf("%d layouts were copied without being asked for", got)
	}

	init("statementLayouts")
	init("statementLayouts")

	here := fixture.Accounts(to)

	r := to.Get("/statement-layouts?sort=name").Want(200)
	for path, want := range map[string]string{
		"pagination.total": "2", "data.0.name": "Ours", "data.0.isDefault": "true", "data.1.name": "Standard", "data.1.isDefault": "false",
		"data.0.netRevenueSections.0.columns.0.value.accountIds.1":    here["4010"].String(),
		"data.0.netRevenueSections.0.columns.1.value.references.0.id": here["4010"].String(),
		"data.1.netRevenueSections.0.columns.5.value.accountIds.0":    here["4000"].String(),
		"data.1.netRevenueSections.0.locked":                          "true",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}

	to.Patch("/teams/"+to.ID.String()+"/init", object{"copyFromTeamId": from.ID, "include": []string{"layouts"}}).Want(400).WantIssue("enum", "include.0")
}
