package trial

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// loadBalance loads the opening trial balance with its present state.
func loadBalance(ctx context.Context, tx *db.Tx, terms *Terms) (*Balance, error) {
	b := &Balance{
		GLStartAt: terms.StatementStartAt, Source: Origin{Mode: "none"}, LockReasons: []string{}, Rows: []Row{},
		TrustReversal: Reversal{Status: "not_created", JournalEntryIDs: []id.ID{}}, terms: terms,
	}
	if terms.StatementStartAt == nil {
		return b, nil
	}

	at := terms.At()
	b.OpeningDate = &at

	// Without a first day there is nothing to open with; else load the head, the lock on the day and the accounts.
	type head struct {
		UpdatedAt   *day.Instant
		RefreshedAt *day.Instant
		Statements  bool
		Entries     []id.ID
	}

	h, err := db.Get[head](ctx, tx, `
		select b.updated_at, b.refreshed_at, exists (select from statement where team_id = @team and not imported) as statements,
			array(select id from ledger_entry where team_id = @team and source_id = @team and txn_code = @code order by id) as entries
		from team t left join opening_trial_balance b on b.team_id = t.team_id where t.team_id = @team`,
		db.Args{"team": tx.Team, "code": reversalCode(tx.Team)})
	if err != nil {
		return nil, fmt.Errorf("read the opening trial balance: %w", err)
	}

	if h.UpdatedAt != nil {
		b.Source.Mode, b.Source.LastUpdatedAt = "manual", h.UpdatedAt
		b.TrustReversal.JournalEntryIDs, b.TrustReversal.LastRefreshedAt = h.Entries, h.RefreshedAt
	}

	if b.held, err = ledger.LockOn(ctx, tx, at); err != nil {
		return nil, err
	}

	if b.held != nil {
		b.LockReasons = append(b.LockReasons, string(apierr.From(b.held).Reason()))
	}

	if h.Statements {
		b.LockReasons = append(b.LockReasons, "ownerStatement")
	}

	// Any reason locks the balance.
	b.Locked = len(b.LockReasons) > 0

	b.Source.Editable = !b.Locked
	if b.accounts, err = loadChart(ctx, tx, terms); err != nil {
		return nil, err
	}

	b.computeRows()

	return b, nil
}

// loadChart loads all accounts with their balances on the opening date.
func loadChart(ctx context.Context, tx *db.Tx, terms *Terms) ([]chartAccount, error) {
	// The balances of the trust are up to and including the opening date.
	found, err := db.Select[chartAccount](ctx, tx, `
		select a.id, a.name, a.status, a.type, c.classification, s.account_id is not null as assigned,
			a.type = 'bank' and coalesce(a.banking_currency, @currency) <> @currency as "foreign", r.cent_total as combined,
			coalesce(e.trust, 0) as trust, coalesce(e.booked, 0) as booked
		from account a join account_category c on c.team_id = a.team_id and c.id = a.category_id
			left join account_assignment s on s.team_id = a.team_id and s.assignment = 'openingBalance' and s.account_id = a.id
			left join opening_trial_balance_row r on r.team_id = a.team_id and r.account_id = a.id
			left join (
				select account_id, sum(cent_total) filter (where ledger = 'trust')::bigint as trust,
					sum(cent_total) filter (where source_id = @team)::bigint as booked
				from ledger_entry where team_id = @team and txn_at <= @at and status = 'active' and currency = @currency group by account_id
			) e on e.account_id = a.id
		where a.team_id = @team
		order by c.position, `+page.TextSQL("a.code")+` nulls last, `+page.TextSQL("a.name")+`, a.id`,
		db.Args{"team": tx.Team, "at": terms.At(), "currency": terms.DefaultCurrency})
	if err != nil {
		return nil, fmt.Errorf("read accounts and their opening balances: %w", err)
	}

	return found, nil
}

// get answers with the opening trial balance.
func get(ctx context.Context, tx *db.Tx, _ *api.None) (*Balance, error) {
	terms, err := loadTerms(ctx, tx)
	if err != nil {
		return nil, err
	}

	return loadBalance(ctx, tx, terms)
}

type putInput struct{ Body Put }

// put saves the combined balances and books the operating ledger's part of them.
func put(ctx context.Context, tx *db.Tx, in *putInput) (*Balance, error) {
	terms, err := LockTerms(ctx, tx)
	if err != nil {
		return nil, err
	}

	// First check the lock, the assignment and the rows, in the documented order of failures.
	b, err := loadBalance(ctx, tx, terms)
	if err != nil {
		return nil, err
	}

	if b.Locked {
		return nil, b.lockError()
	}

	if b.Assignment == nil {
		return nil, account.Require(map[account.Assignment]id.ID{}, account.OpeningBalance)
	}

	if issues := in.Body.check(b.accounts); len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	// Then save the rows and book them.
	if err := saveRows(ctx, tx, in.Body.Rows); err != nil {
		return nil, err
	}

	if err := saveJournal(ctx, tx); err != nil {
		return nil, err
	}

	return loadBalance(ctx, tx, terms)
}

// lockContext has all reasons of the lock on the opening trial balance, and the context of the first.
type lockContext struct {
	LockReasons []string `json:"lockReasons"`
	ledger.LockContext
}

// lockError returns the error that says what locks the opening trial balance (RSN-35).
func (b *Balance) lockError() error {
	context := lockContext{LockReasons: b.LockReasons, LockContext: ledger.LockContext{LockReason: "statement"}}
	if b.held != nil {
		context.LockContext, _ = apierr.From(b.held).Context().(ledger.LockContext)
	}

	return errLocked.With(context)
}

// saveRows replaces the rows of the opening trial balance. Without rows it is taken back.
func saveRows(ctx context.Context, tx *db.Tx, rows []PutRow) error {
	type total struct {
		AccountID id.ID
		CentTotal int64
	}

	was, err := db.Select[total](ctx, tx, `delete from opening_trial_balance_row where team_id = @team returning account_id, cent_total`,
		db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("clear the opening trial balance: %w", err)
	}

	// The audit event shows the totals before and after, by account.
	ids, cents := make([]id.ID, len(rows)), make([]int64, len(rows))
	before, after := map[id.ID]int64{}, map[id.ID]int64{}

	for i := range rows {
		ids[i], cents[i] = rows[i].AccountID, int64(rows[i].CombinedCentTotal)
		after[ids[i]] = cents[i]
	}

	for _, t := range was {
		before[t.AccountID] = t.CentTotal
	}

	type view struct {
		Totals map[id.ID]int64 `json:"openingTrialBalance"`
	}

	audit.Note(tx, audit.Updated, audit.Team, tx.Team, view{before}, view{after})

	// An empty list removes the opening trial balance as a whole.
	if len(rows) == 0 {
		_, err := tx.Exec(ctx, `delete from opening_trial_balance where team_id = @team`, db.Args{"team": tx.Team})
		return err
	}

	err = tx.Pipeline(ctx,
		db.Stmt{
			SQL: `insert into opening_trial_balance (team_id, updated_at, refreshed_at) values (@team, @now, @now)
				on conflict (team_id) do update set updated_at = excluded.updated_at`,
			Args: db.Args{"team": tx.Team, "now": tx.Now},
		},
		db.Stmt{
			SQL: `insert into opening_trial_balance_row (team_id, account_id, cent_total)
				select @team, * from unnest(@ids::uuid[], @cents::bigint[])`,
			Args: db.Args{"team": tx.Team, "ids": ids, "cents": cents},
		})
	if err != nil {
		return fmt.Errorf("store the opening trial balance: %w", err)
	}

	return nil
}

// saveJournal books the stored opening trial balance in the operating ledger.
func saveJournal(ctx context.Context, tx *db.Tx) error {
	terms, err := loadTerms(ctx, tx)
	if err != nil || terms.StatementStartAt == nil {
		return err
	}

	b, err := loadBalance(ctx, tx, terms)
	if err != nil {
		return err
	}

	// Without an opening trial balance the former entries are removed.
	var wanted []ledger.Posting

	if b.Source.Mode == "manual" {
		if b.Assignment == nil {
			return account.Require(map[account.Assignment]id.ID{}, account.OpeningBalance)
		}

		wanted = derivePostings(tx.Team, b)
	}

	if _, err := ledger.Replace(ctx, tx, []id.ID{tx.Team}, wanted, ledger.Lenience{}); err != nil {
		return err
	}

	_, err = tx.Exec(ctx, `update opening_trial_balance set refreshed_at = @now where team_id = @team`, db.Args{"team": tx.Team, "now": tx.Now})

	return err
}

// Rebook books the opening trial balance again if another account balances it.
func Rebook(ctx context.Context, tx *db.Tx, b ledger.Basis) error {
	if !slices.ContainsFunc(
		b.Assignments, func(c ledger.Reassigned) bool { return c.Assignment == string(account.OpeningBalance) },
	) {
		return nil
	}

	follow, err := LockReversal(ctx, tx)
	if err != nil {
		return err
	}

	return follow(ctx, tx)
}

// LockReversal locks the opening trial balance for a change of the trust's opening balances. It returns the work to
// be done after the change: the reversal follows the trust. If a lock holds the reversal it stays as it is and
// shows as outdated.
func LockReversal(ctx context.Context, tx *db.Tx) (func(context.Context, *db.Tx) error, error) {
	n, err := tx.Exec(ctx, `select from opening_trial_balance where team_id = @team for update`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("hold the opening trial balance: %w", err)
	}

	if n == 0 {
		return func(context.Context, *db.Tx) error { return nil }, nil
	}

	// A refusal does not fail the change; a savepoint undoes the attempt.
	return func(ctx context.Context, tx *db.Tx) error {
		err := tx.Try(ctx, saveJournal)
		if apierr.IsRefusal(err) {
			return nil
		}

		return err
	}, nil
}
