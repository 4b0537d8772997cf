package account

import (
	"context"
	"errors"
	"fmt"

	"stayledger/domain/books/bank"
	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// bookedSQL returns the SQL of the balance of an account in both ledgers before a day. It reads whole months, and the
// last month day by day.
func bookedSQL(account, currency, before string) string {
	return `(select coalesce(sum(cents), 0)::bigint from (
		select debit - credit as cents from ledger_month
		where team_id = @team and ledger in ('trust', 'operating') and account_id = ` + account + ` and currency = ` + currency + `
			and month < date_trunc('month', ` + before + `)::date
		union all select debit - credit from ledger_day
		where team_id = @team and ledger in ('trust', 'operating') and account_id = ` + account + ` and currency = ` + currency + `
			and day >= date_trunc('month', ` + before + `)::date and day < ` + before + `) b)`
}

var (
	// The plainBanking has the stored fields of a bank account; fullBanking adds the account at the bank that is attached,
	// and the figures of the bank and the books, as of the day @today.
	plainBanking = `jsonb_build_object('category', a.banking_category, 'type', a.banking_type, 'last4', a.banking_last4, 'currency', a.banking_currency)`
	fullBanking  = plainBanking + ` || jsonb_build_object(
		'connections', coalesce(attached.connections, '[]'),
		'bankRecords', ` + bank.CountsOfAccount + `,
		'balance', jsonb_build_object('openingDate', a.banking_opening_at, 'opening', a.banking_opening, 'ending',
			` + bookedSQL("a.id", "a.banking_currency", "(@today::date + 1)") + `))`
	accountFrom = `account a join account_category c on c.team_id = a.team_id and c.id = a.category_id
		left join account o on o.team_id = a.team_id and o.id = a.offset_account_id
		cross join lateral (
			select jsonb_agg(jsonb_build_object('id', k.id, 'connectionId', k.connection_id, 'name', k.name, 'lastDigits', k.last_digits,
					'status', k.status)) as connections,
				jsonb_agg(jsonb_build_object('code', '` + last4OutOfSync + `', 'severity', 'warning', 'context',
					jsonb_build_object('accountLast4', a.banking_last4, 'bankAccountLast4', k.last_digits, 'bankAccountIds', jsonb_build_array(k.id))))
					filter (where k.last_digits <> a.banking_last4) as issues
			from account_connection k where a.type = 'bank' and k.team_id = a.team_id and k.account_id = a.id) attached`
	categoryColumns = categoryTable.ColumnsSQL("account_category")
)

// last4OutOfSync is the finding that the account at a bank has other last digits than the account that it is
// attached to.
const last4OutOfSync = "bankAccountLast4OutOfSync"

// columnsSQL returns the columns of an account; banking is the SQL of its banking.
func columnsSQL(banking string) string {
	return `a.id, a.code, a.name, a.unique_ref, a.status, a.type,
		jsonb_build_object('id', c.id, 'name', c.name, 'classification', c.classification) as category, c.classification,
		case when exists (select from ledger_entry e where e.team_id = a.team_id and e.account_id = a.id)
			then jsonb_build_object('status', 'locked', 'reason', 'immutable') end as category_lock,
		coalesce((select array_agg(s.assignment order by s.assignment) from account_assignment s
			where s.team_id = a.team_id and s.account_id = a.id), '{}') as assignments,
		case when o.id is not null
			then jsonb_build_object('id', o.id, 'name', o.name, 'uniqueRef', o.unique_ref, 'status', o.status) end as offset_account,
		case when a.type = 'bank' then ` + banking + ` end as banking,
		coalesce(attached.issues, '[]') as issues, a.created_at, a.updated_at`
}

// CheckExists refuses an account, from the field accountId of a body, that the team does not have.
func CheckExists(ctx context.Context, tx *db.Tx, one id.ID) error {
	found, err := ByID(ctx, tx, []id.ID{one})
	if err != nil {
		return err
	}

	if _, exists := found[one]; !exists {
		return apierr.BadRequest.At(apierr.IssueNotFound.InBody("accountId"))
	}

	return nil
}

// ByID loads accounts of the team by id; ids that name none are absent. A bank account comes without its
// connections, records and balance.
func ByID(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Account, error) {
	return loadByID(ctx, tx, ids, "")
}

// Hold is ByID for accounts that must not change until the transaction ends: it locks them.
func Hold(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Account, error) {
	return loadByID(ctx, tx, ids, " order by a.id for update of a")
}

// loadByID loads accounts by id; locked is the SQL that orders and locks them, or "".
func loadByID(ctx context.Context, tx *db.Tx, ids []id.ID, locked string) (map[id.ID]Account, error) {
	rows, err := db.Select[Account](ctx, tx, `select `+columnsSQL(plainBanking)+` from `+accountFrom+` where a.team_id = @team and a.id = any(@ids::uuid[])`+locked,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read accounts: %w", err)
	}

	// Ids that name none stay absent.
	out := make(map[id.ID]Account, len(rows))
	for _, a := range rows {
		out[a.ID] = a
	}

	return out, nil
}

// accountQuery returns the list of all accounts; its columns take the argument today.
func accountQuery(tx *db.Tx) page.Query {
	q := page.Query{
		Columns: columnsSQL(fullBanking),
		From:    accountFrom,
		Rows:    "account a",
		Joined:  "c o",
		Where:   []string{"a.team_id = @team"},
		Args:    db.Args{"team": tx.Team},
		Sorts:   sorts, Default: "code", ID: "a.id",
	}
	q.CountedAs("account")

	return q
}

var sorts = page.Sorts{
	{Name: "name", Expr: "a.name", Text: true},
	{Name: "code", Expr: "a.code", Text: true, Nullable: true},
	{Name: "createdAt", Expr: "a.created_at"},
	{Name: "updatedAt", Expr: "a.updated_at"},
	{Name: "type", Expr: "a.type"},
	{Name: "status", Expr: "a.status"},
	{Name: "category", Expr: "c.position"},
}

// Get loads an account as the API shows it. It fails with apierr.NotFound.
func Get(ctx context.Context, tx *db.Tx, account id.ID) (*Account, error) {
	q := accountQuery(tx)
	q.And("a.id = @id", db.Args{"id": account, "today": tx.Today()})

	found, err := db.One[Account](ctx, tx, apierr.NotFound, q.SQL(""), q.Args)
	if err != nil {
		return nil, fmt.Errorf("read account: %w", err)
	}

	return &found, nil
}

// lockAccount locks an account until the transaction ends and loads it. It fails with apierr.NotFound.
func lockAccount(ctx context.Context, tx *db.Tx, account id.ID) (*Account, error) {
	found, err := db.One[Account](ctx, tx, apierr.NotFound, `select `+columnsSQL(plainBanking)+` from `+accountFrom+` where a.team_id = @team and a.id = @id for update of a`,
		db.Args{"team": tx.Team, "id": account})
	if err != nil {
		return nil, fmt.Errorf("lock account: %w", err)
	}

	return &found, nil
}

// loadReferences loads the records that a change names.
func loadReferences(ctx context.Context, tx *db.Tx, in *Update) (references, error) {
	var k references

	if in.CategoryID != nil {
		c, err := loadCategory(ctx, tx, *in.CategoryID)
		if err != nil && !errors.Is(err, apierr.NotFound) {
			return k, err
		}

		k.category = c
	}

	// A record that does not exist stays nil; apply refuses it.
	if v := in.OffsetAccountID.Value; v != nil {
		found, err := ByID(ctx, tx, []id.ID{*v})
		if err != nil {
			return k, err
		}

		if a, known := found[*v]; known {
			k.offset = &a
		}
	}

	return k, nil
}

// accountTable has the columns of an account. The type of a stored one never changes. A new account at a bank has the
// currency of the team, if no other is given.
var accountTable = db.NewTable[accountRow]("account", `
	id uuid key, code text, name text, unique_ref text, status text, type text fixed, category_id uuid, offset_account_id uuid, banking_category text,
	banking_type text, banking_last4 text, banking_currency text, created_at now fixed, updated_at now`).
	Compute("banking_currency", `case when r.banking_category is not null then
		coalesce(nullif(r.banking_currency, ''), (select t.default_currency from team t where t.id = @team)) end`)

// accountRow is an account as it is saved, with the fields of its bank in columns of their own, null for none.
type accountRow struct {
	Account
	CategoryID      id.ID
	OffsetAccountID id.ID
	BankingCategory *string
	BankingType     *string
	BankingLast4    *string
	BankingCurrency *string
}

// saveSQL returns the statements that save an account and its assignments.
func saveSQL(tx *db.Tx, a *Account, isNew bool) []db.Stmt {
	row := &accountRow{Account: *a, CategoryID: a.Category.ID}
	if a.OffsetAccount != nil {
		row.OffsetAccountID = a.OffsetAccount.ID
	}

	if b := a.Banking; b != nil {
		row.BankingCategory, row.BankingType = (*string)(&b.Category), b.Type
		row.BankingLast4, row.BankingCurrency = b.Last4, &b.Currency
	}

	s := accountTable.Insert(tx, row)
	if !isNew {
		s = accountTable.Update(tx, row)
	}

	// Assignments that the account loses are deleted; those that another account has move here.
	parts := make([]string, len(a.Assignments))
	for i, p := range a.Assignments {
		parts[i] = string(p)
	}

	return []db.Stmt{
		s,
		{
			SQL:  `delete from account_assignment where team_id = @team and account_id = @id and not assignment = any(@parts::text[])`,
			Args: db.Args{"team": tx.Team, "id": a.ID, "parts": parts},
		},
		{
			SQL: `insert into account_assignment (team_id, assignment, account_id) select @team, part, @id from unnest(@parts::text[]) part
				on conflict (team_id, assignment) do update set account_id = excluded.account_id`,
			Args: db.Args{"team": tx.Team, "id": a.ID, "parts": parts},
		},
	}
}

// hasForeignFeed reports whether an account at a bank in another currency is attached to the account.
func hasForeignFeed(ctx context.Context, tx *db.Tx, a *Account) (bool, error) {
	return db.Get[bool](ctx, tx, `select exists (select from account_connection where team_id = @team and account_id = @id and currency <> @currency)`,
		db.Args{"team": tx.Team, "id": a.ID, "currency": a.Banking.Currency})
}

// hasStatedAmounts reports whether the account has bank records or a balance from before them.
func hasStatedAmounts(ctx context.Context, tx *db.Tx, a *Account) (bool, error) {
	return db.Get[bool](ctx, tx, `select exists (select from bank_record where team_id = @team and account_id = @id)
		or exists (select from account where team_id = @team and id = @id and banking_opening <> 0)`, db.Args{"team": tx.Team, "id": a.ID})
}

// constraintError translates a broken constraint into the error that the caller gets; other errors stay as they are.
func constraintError(err error) error {
	// The constraints that callers can break.
	switch db.Constraint(err) {
	case "account_name", "account_code", "account_category_name":
		return errDuplicateName.Because(err)
	case "account_unique_ref":
		return errDuplicateUniqueRef.Because(err)
	}

	return err
}

// deleteAccount deletes an account, and with it its row of the opening trial balance.
func deleteAccount(ctx context.Context, tx *db.Tx, a *Account) error {
	// The row goes with the account, so it is read in the same statement, for the audit event of the team.
	opening, err := db.Select[int64](ctx, tx, `
		with lost as (select cent_total from opening_trial_balance_row where team_id = @team and account_id = @id),
			gone as (delete from account where team_id = @team and id = @id)
		select cent_total from lost`, db.Args{"team": tx.Team, "id": a.ID})
	if err != nil {
		return err
	}

	audit.Note(tx, audit.Deleted, audit.Account, a.ID, a, nil)

	for _, cents := range opening {
		audit.Note(
			tx, audit.Updated, audit.Team, tx.Team,
			map[string]any{"openingTrialBalance": map[id.ID]int64{a.ID: cents}},
			nil,
		)
	}

	return nil
}

// archive makes an account inactive.
func archive(ctx context.Context, tx *db.Tx, account id.ID) error {
	_, err := tx.Exec(ctx, `update account set status = 'inactive', updated_at = @now where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": account, "now": tx.Now})

	return err
}

// categoryQuery returns the list of all categories.
func categoryQuery(tx *db.Tx) page.Query {
	return page.Query{
		Columns: categoryColumns,
		From:    "account_category",
		Where:   []string{"team_id = @team"},
		Args:    db.Args{"team": tx.Team},
		Sorts:   categorySorts,
		Default: "position",
		ID:      "id",
	}
}

var categorySorts = page.Sorts{
	{Name: "position", Expr: "position"},
	{Name: "name", Expr: "name", Text: true},
	{Name: "createdAt", Expr: "created_at"},
}

// loadCategory loads a category, or fails with apierr.NotFound.
func loadCategory(ctx context.Context, tx *db.Tx, category id.ID) (*Category, error) {
	found, err := db.One[Category](ctx, tx, apierr.NotFound, `select `+categoryColumns+` from account_category where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": category})
	if err != nil {
		return nil, fmt.Errorf("read category: %w", err)
	}

	return &found, nil
}

// categoryTable has the columns of a category of accounts. A position of 0 is behind all others.
var categoryTable = db.NewTable[Category]("account_category", `
	id uuid key, name text, classification text, position int, created_at now fixed`).
	Compute("position", `coalesce(nullif(r.position, 0),
		(select coalesce(max(c.position), 0) + 1 from account_category c where c.team_id = @team))`)

// insertCategory inserts a category at its position, or behind the others if that is 0.
func insertCategory(ctx context.Context, tx *db.Tx, c *Category) error {
	return constraintError(tx.Pipeline(ctx, categoryTable.Insert(tx, c)))
}

// updateCategory updates a category.
func updateCategory(ctx context.Context, tx *db.Tx, c *Category) error {
	return constraintError(tx.Pipeline(ctx, categoryTable.Update(tx, c)))
}

// isPosted reports whether ledger entries use an account of the category.
func isPosted(ctx context.Context, tx *db.Tx, category id.ID) (bool, error) {
	return db.Get[bool](ctx, tx, `select exists (select from account a where a.team_id = @team and a.category_id = @id
		and exists (select from ledger_entry e where e.team_id = a.team_id and e.account_id = a.id))`, db.Args{"team": tx.Team, "id": category})
}

// BankingOpening says how the books of a bank account begin: on which day, with which balance, and by which
// transaction; nil if it opens without one.
type BankingOpening struct {
	At            day.Day
	Amount        money.Cents
	TransactionID *id.ID
	// Counted is kept for comparisons with the books (bank.Start).
	Counted money.Cents
}

// BeginBanking saves how the books of a bank account begin.
func BeginBanking(ctx context.Context, tx *db.Tx, account id.ID, o BankingOpening) error {
	type opening struct {
		OpeningDate *day.Day     `json:"banking.balance.openingDate"`
		Opening     *money.Cents `json:"banking.balance.opening"`
		Transaction *id.ID       `json:"banking.balance.openingTransactionId"`
		Counted     money.Cents  `json:"banking.balance.countedByOpening"`
	}

	// Joining the account with itself gives the beginning before the update, for the audit event.
	was, err := db.Get[opening](ctx, tx, `update account a set banking_opening_at = @start, banking_opening = @amount, banking_opening_transaction_id = @transaction,
		banking_opening_counted = @counted, updated_at = @now from account b where a.team_id = @team and a.id = @id and b.team_id = a.team_id and b.id = a.id
		returning b.banking_opening_at as opening_date, b.banking_opening as opening, b.banking_opening_transaction_id as transaction,
			b.banking_opening_counted as counted`,
		db.Args{
			"team":        tx.Team,
			"id":          account,
			"start":       o.At,
			"amount":      o.Amount,
			"transaction": o.TransactionID,
			"counted":     o.Counted,
			"now":         tx.Now,
		})
	if err != nil {
		return fmt.Errorf("begin the books of a bank account: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.Account, account, was, opening{&o.At, &o.Amount, o.TransactionID, o.Counted})

	return nil
}
