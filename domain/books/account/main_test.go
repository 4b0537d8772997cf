package account_test

import (
	"context"
	"testing"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/journal"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/activity/recurring"
	"stayledger/domain/activity/reservation"
	transactions "stayledger/domain/activity/transaction"
	"stayledger/domain/banking/accountconnection"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/contact"
	"stayledger/domain/settlement/payment"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type object = map[string]any

func newTeam(t *testing.T) *apitest.Team {
	t.Helper()

	// All nouns with records that refer to accounts.
	all := parts.Join(
		account.Part(nil), accountconnection.Part(), bank.Part(rule.OfBank), contact.Part(nil), fee.Part(), journal.Part(), ledger.Part(),
		mapping.Part(), (&payment.Gateway{}).Part(), recurring.Part(), reservation.Part(), transactions.Part(),
	)

	return apitest.New(t, apitest.Config{Endpoints: all.Endpoints})
}

// standard makes a team with the standard chart and gives the ids of its accounts by code.
func standard(t *testing.T) (x *apitest.Team, codes map[string]id.ID) {
	t.Helper()
	x = newTeam(t)
	x.Tx(account.InstallStandard)
	x.Tx(mapping.InstallStandard)

	return x, byCode(x)
}

func byCode(x *apitest.Team) map[string]id.ID {
	codes := map[string]id.ID{}

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		type row struct {
			ID   id.ID
			Code string
		}

		rows, err := db.Select[row](ctx, tx, `select id, code from account where team_id = @team and code is not null`, db.Args{"team": tx.Team})
		for _, r := range rows {
			codes[r.Code] = r.ID
		}

		return err
	})

	return codes
}

func category(x *apitest.Team, name, classification string) string {
	return x.Post("/account-categories", object{"name": name, "classification": classification}).Want(201).String("id")
}

// post puts a balanced posting of 1.00 on two accounts.
func post(x *apitest.Team, day string, debit, credit id.ID) {
	source := id.New(x.DB.Now())
	x.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, trigger_type, created_at)
		select @team, gen_random_uuid(), @source::uuid, @source::uuid::text, v.ref, 'trust', @day::text::date, v.account, v.cents, 'usd', 'manual', now()
		from (values ('d', @debit::uuid, 100), ('c', @credit::uuid, -100)) v (ref, account, cents)`,
		db.Args{"source": source, "day": day, "debit": debit, "credit": credit})
}

// closeBooks sets a team's first open day.
func closeBooks(team id.ID, day string) db.Work {
	return func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update team set books_closed_at = @day::text::date where id = @team`, db.Args{"team": team, "day": day})
		return err
	}
}

// transaction makes the row of a transaction that moves money on a bank account; its entries are made by moved.
func transaction(x *apitest.Team, bank id.ID) id.ID {
	made := id.New(x.DB.Now())
	x.Exec(`insert into transaction (team_id, id, short_ref, type, date, currency, account_id, total, created_at, updated_at)
		values (@team, @id::uuid, @id::uuid::text, 'deposit', '2026-02-01', 'usd', @bank, 100, now(), now())`, db.Args{"id": made, "bank": bank})

	return made
}

// moved books a movement on a bank account and another, of a transaction or, for the zero id, by hand.
func moved(x *apitest.Team, day string, accounts [2]id.ID, of id.ID, cents int64) {
	source, code := of, id.New(x.DB.Now())
	if of.IsZero() {
		source = code
	}

	x.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, transaction_id, trigger_type, created_at)
		select @team, gen_random_uuid(), @source::uuid, @code::uuid::text, v.ref, 'trust', @day::text::date, v.account, v.cents, 'usd', @of::uuid, 'manual', now()
		from (values ('d', @bank::uuid, @cents::bigint), ('c', @other::uuid, -@cents::bigint)) v (ref, account, cents)`,
		db.Args{"source": source, "code": code, "day": day, "bank": accounts[0], "other": accounts[1], "cents": cents, "of": of})
}

// record makes a movement that the bank reports.
func record(x *apitest.Team, bank id.ID, day string, cents int64) id.ID {
	made := id.New(x.DB.Now())
	x.Exec(`insert into bank_record (team_id, id, account_id, date, amount, created_at, updated_at)
		values (@team, @id, @bank, @day::text::date, @cents, now(), now())`, db.Args{"id": made, "bank": bank, "day": day, "cents": cents})

	return made
}

func match(x *apitest.Team, bank, record, transaction id.ID, cents int64) {
	x.Exec(`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
		values (@team, @record, @transaction, @bank, @cents, now())`,
		db.Args{"record": record, "transaction": transaction, "bank": bank, "cents": cents})
}
