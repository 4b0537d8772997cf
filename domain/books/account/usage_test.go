package account_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// Proves: ERR-72, ERR-73, ERR-74, RSN-03.
func TestAccountInUse(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)
	post(x, "2026-02-01", codes["2100"], codes["4110"])

	path := func(code string) string { return "/accounts/" + codes[code].String() }
	fee := id.New(x.DB.Now())
	x.Exec(`insert into fee (team_id, id, name, type, formula, rate_type, default_rate, credit_party, debit_party, credit_account_id,
			debit_account_id, created_at, updated_at)
		values (@team, @id, 'Fee', 'managementFee', 'rent', 'percentage', 20000, 'manager', 'owners', @credit, @debit, now(), now())`,
		db.Args{"id": fee, "credit": codes["4100"], "debit": codes["5100"]})

	for _, test := range []struct{ code, reasons, suggested string }{
		{"2200", `["assignments"]`, ""},
		{"4030", `["lineMappings"]`, ""},
		{"4100", `["recurringFees"]`, ""},
		{"4110", `["journalEntries"]`, "archive"},
		{"2100", `["journalEntries","lineMappings"]`, ""},
	} {
		r := x.Delete(path(test.code)).WantError(apierr.CodeBadRequest, apierr.ReasonAccountInUse)
		if got := r.String("context.lockReasons"); got != test.reasons {
			t.Errorf("%s: reasons %s", test.code, got)
		}

		if suggested := r.Has("context.suggestedOnLocked"); suggested != (test.suggested != "") {
			t.Errorf("%s: %s", test.code, r.Body)
		}

		if test.suggested == "" {
			x.Delete(path(test.code)+"?onLocked=archive").WantError(apierr.CodeBadRequest, apierr.ReasonAccountInUse)
			x.Put(path(test.code), object{"status": "inactive"}).WantError(apierr.CodeBadRequest, apierr.ReasonAccountInUse)
		}
	}

	x.Delete(path("4110") + "?onLocked=archive").Want(204)

	if got := x.Get(path("4110")).Want(200).String("status"); got != "inactive" {
		t.Errorf("the status is %s", got)
	}

	x.Put(path("4110"), object{"assignments": []string{"transfer_ownerPayout"}}).WantError(apierr.CodeBadRequest, apierr.ReasonNotBankAccount)
	x.Put(path("4110"), object{"assignments": []string{"openingBalance"}}).WantError(apierr.CodeBadRequest, apierr.ReasonAccountInUse)
	x.Exec(`update fee set status = 'inactive' where team_id = @team`, nil)
	x.Put(path("4100"), object{"status": "inactive"}).Want(200)
	x.Delete(path("5200")).Want(204)
}

func TestLockedHistoryKeepsAnAccountActive(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)
	post(x, "2026-02-01", codes["5110"], codes["4110"])
	x.System(closeBooks(x.ID, "2026-03-01"))

	path := "/accounts/" + codes["5110"].String()
	if r := x.Delete(path).WantError(apierr.CodeBadRequest, apierr.ReasonAccountInUse); r.Has("context.suggestedOnLocked") {
		t.Errorf("got %s", r.Body)
	}

	r := x.Put(path, object{"status": "inactive"}).WantError(apierr.CodeBadRequest, apierr.ReasonAccountInUse)
	if got := r.String("context.lockReasons"); got != `["lockedJournalEntries"]` {
		t.Errorf("reasons %s", got)
	}

	x.System(closeBooks(x.ID, "2026-02-01"))
	x.Exec(`update ledger_entry set statement_id = @statement where team_id = @team`, db.Args{"statement": id.New(x.DB.Now())})
	x.Put(path, object{"status": "inactive"}).WantError(apierr.CodeBadRequest, apierr.ReasonAccountInUse)
	x.Exec(`update ledger_entry set statement_id = null where team_id = @team`, nil)
	x.Put(path, object{"status": "inactive"}).Want(200)
}

// Rows in the tables of other packages keep an account, and those that still work with it keep it active.
//
// Proves: ERR-72, ERR-74, RSN-03.
func TestEveryUserOfAnAccountIsNamed(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)
	now := x.DB.Now()
	fee, template, journal := id.New(now), id.New(now), id.New(now)
	account := codes["5290"]
	x.Put("/accounts/"+account.String(), object{"assignments": []string{}}).Want(200)
	x.Exec(`insert into fee (team_id, id, name, type, formula, rate_type, default_rate, credit_party, debit_party, credit_account_id,
			debit_account_id, created_at, updated_at)
		values (@team, @id, 'Fee', 'managementFee', 'rent', 'percentage', 20000, 'manager', 'owners', @credit, @debit, now(), now())`,
		db.Args{"id": fee, "credit": codes["4100"], "debit": codes["5100"]})
	stay := fixture.Stay(x, fixture.Listing(x, "Villa"), "booked", "2026-03-01", "2026-03-03")
	connection := id.New(now)
	x.Exec(`insert into connection (team_id, id, short_ref, app_id, name, status, created_at, updated_at)
		values (@team, @id, 'P', 'payProvider', 'Pay', 'active', now(), now())`, db.Args{"id": connection})
	x.Exec(`insert into journal (team_id, id, short_ref, date, currency, ledger, total, created_at, updated_at)
		values (@team, @id, 'J', '2026-03-01', 'usd', 'trust', 1, now(), now())`, db.Args{"id": journal})

	for _, test := range []struct {
		table, columns, values string
		args                   db.Args
		reason                 string
		holds                  bool
	}{
		{"fee_condition", "fee_id, position, account_id, operator, cent_value", "@fee, 1, @account, '>', 0", db.Args{"fee": fee}, "recurringFees", true},
		{"fee_reference", "fee_id, kind, name, target_account_id", "@fee, 'account', '5290', @account", db.Args{"fee": fee}, "recurringFees", true},
		{
			"reservation_adjustment", "id, reservation_id, type, amount, account_id, created_at, updated_at",
			"gen_random_uuid(), @stay, 'financial', 100, @account, now(), now()",
			db.Args{"stay": stay},
			"adjustments", false,
		},
		{"reservation_line", "id, reservation_id, position, type, amount, account_id", "gen_random_uuid(), @stay, 1, 'rent', 1, @account", db.Args{"stay": stay}, "reservations", false},
		{
			"transaction_template", "id, type, date, currency, account_id, payment_status, total, pattern, lines, created_at, updated_at",
			`@template, 'expense', '2026-03-01', 'usd', @other, 'paid', 1, '{}', jsonb_build_array(jsonb_build_object('account_id', @account::uuid)), now(), now()`,
			db.Args{"template": template, "other": codes["1000"]},
			"recurringTemplates", true,
		},
		{"journal_line", "journal_id, position, account_id, cent_total", "@journal, 1, @account, 1", db.Args{"journal": journal}, "journals", false},
		{"historical_entry", "txn_id, position, account_id, cent_total, description", "gen_random_uuid(), 1, @account, 1, ''", db.Args{}, "journals", false},
		{
			"bank_record", "id, account_id, date, amount, created_at, updated_at", "gen_random_uuid(), @account, '2026-03-01', 1, now(), now()",
			db.Args{},
			"bankRecords", false,
		},
		{
			"account_connection", "id, account_id, name, currency, status, created_at, updated_at", "gen_random_uuid(), @account, 'Checking', 'usd', 'active', now(), now()",
			db.Args{},
			"accountConnections", true,
		},
		{
			"transaction", "id, short_ref, type, date, currency, account_id, total, created_at, updated_at",
			"gen_random_uuid(), 'T', 'deposit', '2026-03-01', 'usd', @account, 1, now(), now()",
			db.Args{},
			"transactions", false,
		},
		{
			"contact", "id, short_ref, type, name, payout_account_id, created_at, updated_at",
			"gen_random_uuid(), 'C', 'owner', 'Ada', @account, now(), now()",
			db.Args{},
			"payoutAccounts", true,
		},
		{
			"payment_approval", "id, connection_id, funding_account_id, allow_overdraft, requested_by, created_at",
			"gen_random_uuid(), @connection, @account, false, gen_random_uuid(), now()",
			db.Args{"connection": connection},
			"payments", false,
		},
	} {
		test.args["account"] = account
		x.Exec("insert into "+test.table+" (team_id, "+test.columns+") values (@team, "+test.values+")", test.args)

		r := x.Delete("/accounts/"+account.String()).WantError(apierr.CodeBadRequest, apierr.ReasonAccountInUse)
		if got := r.String("context.lockReasons"); got != `["`+test.reason+`"]` || r.Has("context.suggestedOnLocked") == test.holds {
			t.Errorf("%s: %s", test.table, r.Body)
		}

		if test.holds {
			x.Put("/accounts/"+account.String(), object{"status": "inactive"}).WantError(apierr.CodeBadRequest, apierr.ReasonAccountInUse)
		}

		x.Exec("delete from "+test.table+" where team_id = @team", nil)
	}

	x.Delete("/accounts/" + account.String()).Want(204)
}
