package opening_test

import (
	"context"
	"fmt"
	"testing"

	"stayledger/domain/activity/opening"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/account"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/test/fixture"
)

// bank is a team with the standard chart and its trust bank account.
type bank struct {
	*apitest.Team
	t     *testing.T
	codes map[string]id.ID
	path  string
}

func newBank(t *testing.T) *bank {
	t.Helper()
	x := apitest.New(t, apitest.Config{Endpoints: parts.Join(opening.Part(rule.OfBank), account.Part(nil), transaction.Part()).Endpoints})
	x.Tx(account.InstallStandard)
	b := &bank{Team: x, t: t, codes: fixture.Accounts(x)}
	b.path = "/accounts/" + b.codes["1000"].String()

	return b
}

func (b *bank) record(day string, cents int64, status string) id.ID {
	made := id.New(b.DB.Now())
	b.Exec(`insert into bank_record (team_id, id, account_id, date, amount, status, created_at, updated_at)
		values (@team, @id, @account, @day::text::date, @cents, @status, now(), now())`,
		db.Args{"id": made, "account": b.codes["1000"], "day": day, "cents": cents, "status": status})

	return made
}

func (b *bank) records() string {
	var out []string

	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = db.Select[string](ctx, tx, `select amount || ' ' || status from bank_record where team_id = @team order by amount`, db.Args{"team": tx.Team})
		return err
	})

	return fmt.Sprint(out)
}

// Proves: DRY-30.
func TestBankingBeginsWithTheStartingBalance(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	// 300.00 of the owners are in the books already.
	b.Post("/transactions", map[string]any{
		"type": "deposit", "date": "2025-12-31", "isOpeningBalance": true,
		"lines": []map[string]any{{"amount": 30000, "accountId": b.codes["2400"]}},
	}).Want(201)
	b.record("2025-12-20", 1, "active")
	b.record("2025-12-30", 2, "inactive")
	b.record("2026-01-01", 3, "active")

	r := b.Post(b.path+"/banking-init", map[string]any{"startingBalanceAmount": 35000}).Want(200)
	for path, want := range map[string]string{
		"id": b.codes["1000"].String(), "archivedRecords": "1", "unArchivedRecords": "0", "transaction.total": "5000", "transaction.date": "2025-12-31",
		"transaction.isOpeningBalance": "true", "transaction.type": "deposit", "transaction.lines.0.assignment": "openingBalance",
		"transaction.lines.0.party": "manager", "transaction.accountId": b.codes["1000"].String(), "transaction.lock.status": "open",
		"transaction.journalStatus.status": "current",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}

	if got := b.records(); got != "[1 inactive 2 inactive 3 active]" {
		t.Errorf("records %s", got)
	}

	seen := b.Get(b.path).Want(200)
	if seen.String("banking.balance.openingDate") != "2026-01-01" || seen.Int("banking.balance.opening") != 35000 || seen.Int("banking.balance.ending") != 35000 {
		t.Errorf("the account tells %s", seen.String("banking"))
	}

	summary := b.Get(b.path + "/summary?dateRange=2026-01").Want(200)
	if summary.Int("totals.bankAccountBalance") != 35003 || summary.Int("totals.bookBalance") != 35000 || summary.Int("totals.unclearedTransactionsBalance") != 0 {
		t.Errorf("summary %s", summary.Body)
	}
	// Again without terms nothing moves, and there is still one transaction.
	again := b.Post(b.path+"/banking-init", nil).Want(200)
	if again.ID("transaction.id") != r.ID("transaction.id") || again.Int("archivedRecords") != 0 || again.Int("transaction.total") != 5000 {
		t.Errorf("again: %s", again.Body)
	}
	// An earlier day brings back what the first had excluded, not what a person had.
	moved := b.Post(b.path+"/banking-init", map[string]any{"startingBalanceDate": "2025-12-15", "startingBalanceAmount": -100}).Want(200)
	if moved.ID("transaction.id") != r.ID("transaction.id") || moved.Int("unArchivedRecords") != 1 || moved.Int("transaction.total") != -100 ||
		moved.String("transaction.date") != "2025-12-14" {
		t.Errorf("moved: %s", moved.Body)
	}

	if got := b.records(); got != "[1 active 2 inactive 3 active]" {
		t.Errorf("records %s", got)
	}
	// At the balance that the books have, no transaction is left.
	none := b.Post(b.path+"/banking-init", map[string]any{"startingBalanceDate": "2026-01-01", "startingBalanceAmount": 30000}).Want(200)
	if none.String("transaction") != "null" || b.Get("/transactions").Int("pagination.total") != 1 {
		t.Errorf("without: %s", none.Body)
	}
}

// The bank's own words stand in for an amount; a record that is reconciled stays as it is.
func TestBankingTakesTheBalanceThatTheBankStated(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	reconciled := b.record("2025-12-01", 700, "active")
	deposit := b.Post("/transactions", map[string]any{
		"type": "deposit", "date": "2025-12-01", "isOpeningBalance": true, "lines": []map[string]any{{"amount": 700, "accountId": b.codes["2300"]}},
	}).Want(201).ID("id")
	b.Exec(`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
		values (@team, @record, @transaction, @account, 700, now())`, db.Args{"record": reconciled, "transaction": deposit, "account": b.codes["1000"]})
	b.Exec(`insert into bank_record (team_id, id, account_id, date, type, amount, balance, created_at, updated_at)
		values (@team, gen_random_uuid(), @account, '2025-12-30', 'balance', 0, 1234, now(), now()),
			(@team, gen_random_uuid(), @account, '2026-01-30', 'balance', 0, 9999, now(), now())`, db.Args{"account": b.codes["1000"]})

	r := b.Post(b.path+"/banking-init", nil).Want(200)
	if r.Int("transaction.total") != 534 || r.Int("archivedRecords") != 1 {
		t.Errorf("got %s", r.Body)
	}

	if got := b.records(); got != "[0 active 0 inactive 700 active]" && got != "[0 inactive 0 active 700 active]" {
		t.Errorf("records %s", got)
	}
	// Without the transaction that somebody deleted, a new one is made.
	b.Delete("/transactions/" + r.String("transaction.id")).Want(204)

	if again := b.Post(b.path+"/banking-init", nil).Want(200); again.Int("transaction.total") != 534 || again.ID("transaction.id") == r.ID("transaction.id") {
		t.Errorf("again: %s", again.Body)
	}
}

// Proves: RSN-07, RSN-22, RSN-33.
func TestBankingIsRefused(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	b.Post("/accounts/"+b.codes["2000"].String()+"/banking-init", nil).WantError(apierr.CodeBadRequest, apierr.ReasonNotBankAccount).WantIssue("notBankAccount", "id")
	b.Post("/accounts/"+id.New(b.DB.Now()).String()+"/banking-init", nil).WantError(apierr.CodeNotFound, "")
	b.Exec(`insert into bank_record (team_id, id, account_id, date, amount, created_at, updated_at)
		select @team, gen_random_uuid(), @account, '2025-12-01', 1, now(), now() from generate_series(1, 10001)`, db.Args{"account": b.codes["1000"]})

	r := b.Post(b.path+"/banking-init", nil).WantError(apierr.CodeBadRequest, apierr.ReasonBankAccountTooManyRecords)
	if r.Int("context.maxRecords") != 10000 {
		t.Errorf("got %s", r.Body)
	}

	b.Post(b.path+"/banking-init", map[string]any{"startingBalanceDate": "2025-11-01"}).Want(200)
	b.Exec(`update team set statement_start_at = null where team_id = @team`, nil)
	b.Post("/accounts/"+b.codes["1010"].String()+"/banking-init", nil).
		WantError(apierr.CodeBadRequest, apierr.ReasonGeneralLedgerStartDateMissing).WantIssue("required", "startingBalanceDate")
	b.Exec(`delete from account_assignment where team_id = @team and assignment = 'openingBalance'`, nil)
	b.Post(b.path+"/banking-init", map[string]any{"startingBalanceAmount": 1}).WantError(apierr.CodeBadRequest, apierr.ReasonRequiredAccountMissing)
}

// Proves: RSN-16.
func TestBankingRespectsTheLocks(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	b.Post(b.path+"/banking-init", map[string]any{"startingBalanceAmount": 100}).Want(200)
	b.System(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update team set books_closed_at = '2026-01-01' where id = @team`, db.Args{"team": b.ID})
		return err
	})
	b.Post(b.path+"/banking-init", map[string]any{"startingBalanceAmount": 200}).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
	again := b.Post(b.path+"/banking-init", nil).Want(200)

	read := b.Get("/transactions/" + again.ID("transaction.id").String()).Want(200)
	for _, field := range []string{"lock", "journalStatus", "issues"} {
		if got, want := again.String("transaction."+field), read.String(field); got != want {
			t.Errorf("%s of the transaction is told as %s, but reads as %s", field, got, want)
		}
	}

	if got := b.Get(b.path).Int("banking.balance.opening"); got != 100 {
		t.Errorf("the opening balance is %d", got)
	}
}
