package bank

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Open is a movement on a bank account that counts and is reconciled with nothing.
type Open struct {
	ID        id.ID
	AccountID id.ID
	Currency  string
	Date      day.Day
	// Amount is positive into the account and never nothing.
	Amount      money.Cents
	Description string
	UniqueRef   *string
	// TeamCurrency is the currency of amounts that name none.
	TeamCurrency string
}

// Days selects records by their days and accounts; no accounts means all of them.
type Days struct {
	day.Range

	Accounts []id.ID
}

// openSQL selects the open movements on the team's bank accounts a that meet a condition, with the columns of Open and
// their arrival. Each account's are found by the index of what is open, and each is looked for among what is reconciled:
// the fences keep it so, because what is open is little. Days are compared outside.
func openSQL(accounts string) string {
	return `
	select r.id, r.account_id, ` + Currency + ` as currency, r.date, r.amount, r.description, r.unique_ref, k.default_currency as team_currency, r.arrival
	from (select id, banking_currency from account a where a.team_id = @team and a.type = 'bank'` + accounts + db.Fence + `) a
	cross join lateral (
		select r.* from bank_record r where r.team_id = @team and r.account_id = a.id and r.status = 'active' and r.type = 'transaction'
			and r.made <> r.amount` + db.Fence + `) r
	join team k on k.team_id = r.team_id
	where r.amount <> 0 and not exists (select from bank_reconciliation n where n.team_id = @team and n.bank_record_id = r.id` + db.Fence + `)`
}

// ListOpen loads the open movements of some days, the newest first, and at most so many, which are no more than
// 30001.
func ListOpen(ctx context.Context, tx *db.Tx, d Days, most int) ([]Open, error) {
	args, accounts := db.Args{"team": tx.Team, "from": d.From, "to": d.To}, ""
	if len(d.Accounts) > 0 {
		args["accounts"], accounts = d.Accounts, " and a.id = any(@accounts::uuid[])"
	}

	args["most"] = most

	// The inner limit is a fixed number for the planner, as in page.Params.PageSQL.
	found, err := db.Select[Open](ctx, tx, `
		select * from (select r.id, r.account_id, r.currency, r.date, r.amount, r.description, r.unique_ref, r.team_currency
		from (`+openSQL(accounts)+db.Fence+`) r where r.date >= @from and r.date < @to
		order by r.date desc, r.arrival desc, r.id desc limit 30001) r limit @most`, args)
	if err != nil {
		return nil, fmt.Errorf("read open bank records: %w", err)
	}

	return found, nil
}

// ListOpenByID loads those of some records that are open movements on bank accounts, by id.
func ListOpenByID(ctx context.Context, tx *db.Tx, records []id.ID) ([]Open, error) {
	return loadOpen(ctx, tx, "r.id = any(@ids)", db.Args{"ids": records})
}

// ListOpenAfter loads the open movements of the team with ids after the given one, for the zero id all of them, by id,
// and at most so many.
func ListOpenAfter(ctx context.Context, tx *db.Tx, last id.ID, most int) ([]Open, error) {
	return loadOpen(
		ctx, tx,
		"r.id > coalesce(@last, '00000000-0000-0000-0000-000000000000'::uuid)",
		db.Args{"last": last, "most": most},
	)
}

// loadOpen loads the open movements on bank accounts that meet a condition, by id.
func loadOpen(ctx context.Context, tx *db.Tx, condition string, args db.Args) ([]Open, error) {
	args["team"] = tx.Team

	limit := ""
	if args["most"] != nil {
		limit = " limit @most"
	}

	// Open means reconciled with nothing: a movement that is made up in part is not open here.
	found, err := db.Select[Open](ctx, tx, `
		select r.id, r.account_id, `+Currency+` as currency, r.date, r.amount, r.description, r.unique_ref, k.default_currency as team_currency
		from bank_record r join team k on k.team_id = r.team_id join account a on a.team_id = r.team_id and a.id = r.account_id
		where r.team_id = @team and r.type = 'transaction' and r.status = 'active' and r.amount <> 0 and r.made <> r.amount and `+condition+`
			and not exists (select from bank_reconciliation n where n.team_id = r.team_id and n.bank_record_id = r.id)
		order by r.id`+limit, args)
	if err != nil {
		return nil, fmt.Errorf("read open bank records: %w", err)
	}

	return found, nil
}

// ListOpenPage loads the open movements of some days from one place on, the newest first, and their number. Records
// that are made up in part are not open.
func ListOpenPage(ctx context.Context, tx *db.Tx, d Days, limit, skip int64) (found []Open, total int64, err error) {
	type row struct {
		Open
		Total int64
	}

	args := db.Args{"team": tx.Team, "from": d.From, "to": d.To, "limit": limit, "skip": skip}

	accounts := ""
	if len(d.Accounts) > 0 {
		args["accounts"], accounts = d.Accounts, " and a.id = any(@accounts::uuid[])"
	}

	rows, err := db.Select[row](ctx, tx, `
		select r.id, r.account_id, r.currency, r.date, r.amount, r.description, r.unique_ref, r.team_currency, count(*) over () as total
		from (`+openSQL(accounts)+db.Fence+`) r where r.date >= @from and r.date < @to
		order by r.date desc, r.arrival desc, r.id desc limit @limit offset @skip`, args)
	if err != nil {
		return nil, 0, fmt.Errorf("read open bank records: %w", err)
	}

	found = make([]Open, len(rows))
	for i := range rows {
		found[i], total = rows[i].Open, rows[i].Total
	}

	return found, total, nil
}
