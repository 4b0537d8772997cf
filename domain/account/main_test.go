package account_test

import (
	"context"
	"testing"

	"stayledger/domain/account"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type object = map[string]any

func newTeam(t *testing.T) *apitest.Team {
	t.Helper()
	return apitest.New(t, apitest.Config{Endpoints: account.Endpoints()})
}

// standard makes a team with the standard chart and gives the ids of its accounts by code.
func standard(t *testing.T) (x *apitest.Team, codes map[string]id.ID) {
	t.Helper()
	x = newTeam(t)
	x.Tx(account.InstallStandard)
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
