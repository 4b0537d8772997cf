package account

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	"stayledger/domain/books/bank"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Open is a transaction or a bank record that is not made up to the cent of its counterparts.
type Open struct {
	ID        id.ID       `json:"id"`
	CentTotal money.Cents `json:"centTotal" doc:"The part that is not matched; positive into the account."`
}

// Unmatched is what is open in the range, oldest first.
type Unmatched struct {
	BankRecords  []Open `json:"bankRecords" doc:"At most 1000; the totals have all."`
	Transactions []Open `json:"transactions" doc:"At most 1000; the totals have all."`
}

// Totals are the bank's leg of the reconciliation at the end of the range. Cents, positive into the account.
type Totals struct {
	BankAccountBalance           money.Cents `json:"bankAccountBalance" doc:"What the bank says: its latest stated balance, or the opening balance, and its records since."`
	BookBalance                  money.Cents `json:"bookBalance" doc:"What the books say."`
	UnclearedTransactionsBalance money.Cents `json:"unclearedTransactionsBalance" doc:"Booked up to the end of the range and on no bank record until then."`
	UnmatchedTransactionsBalance money.Cents `json:"unmatchedTransactionsBalance" doc:"Of the transactions in the range, matched to no bank record at all."`
	UnmatchedBankRecordsBalance  money.Cents `json:"unmatchedBankRecordsBalance" doc:"Of the bank records in the range, matched to no transaction."`
	AdjustedBankAccountBalance   money.Cents `json:"adjustedBankAccountBalance" doc:"bankAccountBalance + unclearedTransactionsBalance."`
	Difference                   money.Cents `json:"difference" doc:"adjustedBankAccountBalance - bookBalance; 0 when the account is reconciled."`
}

// Summary compares a bank account with its books.
type Summary struct {
	Unmatched Unmatched `json:"unmatched"`
	Totals    Totals    `json:"totals"`
}

func summaryEndpoint() api.Endpoint {
	return api.Read(api.Endpoint{
		Method: http.MethodGet, Path: "/accounts/{id}/summary", ID: "getAccountSummary", Tag: tag, Summary: "Compare a bank account with its books",
		Errors: apierr.List{ErrNotBank},
		Doc:    "Everything up to today when no range of dates is given.",
		Scopes: []string{"accounts:read"},
	}, summarize)
}

type summaryInput struct {
	ID id.ID `path:"id"`
	page.Dates
}

// sheet is what a bank account is compared over.
type sheet struct {
	account  id.ID
	currency string
	// opening is the first day that is reconciled; before it everything is part of the opening balance. Nil until it was set.
	opening      *day.Day
	openingCents *money.Cents
	// from is nil for everything up to the exclusive end.
	from *day.Day
	to   day.Day
}

// args are what all statements about a sheet take.
func (s *sheet) args(tx *db.Tx, more db.Args) db.Args {
	args := db.Args{"team": tx.Team, "account": s.account, "opening": s.opening, "to": s.to}
	maps.Copy(args, more)
	return args
}

func summarize(ctx context.Context, tx *db.Tx, in *summaryInput) (*Summary, error) {
	a, err := Get(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}
	if a.Type != TypeBank {
		return nil, ErrNotBank.At(apierr.IssueNotBankAccount.InPath("id"))
	}
	s := &sheet{
		account: a.ID, currency: a.Banking.Currency, opening: a.Banking.Balance.OpeningDate, openingCents: a.Banking.Balance.Opening,
		to: day.Of(tx.Now).AddDays(1),
	}
	if !in.DateRange.IsZero() {
		days := in.DateRange.Range(in.IsDateRangeEndInclusive)
		s.from, s.to = &days.From, days.To
	}
	out := &Summary{}
	if out.Unmatched.BankRecords, out.Totals.UnmatchedBankRecordsBalance, err = s.records(ctx, tx); err != nil {
		return nil, err
	}
	if out.Unmatched.Transactions, out.Totals.UnmatchedTransactionsBalance, err = s.transactions(ctx, tx); err != nil {
		return nil, err
	}
	return out, s.balances(ctx, tx, &out.Totals)
}

const (
	// What transactions did to the account from the opening until the end, an entry a row, and what of them the bank has cleared. Both are added up in
	// one pass, however many the planner expects. A manual entry is no transaction: nothing can be matched to it, so the books have it as cleared.
	moved = `
		select e.transaction_id as id, e.cent_total as cents, e.txn_at as date from ledger_entry e
		where e.team_id = @team and e.account_id = @account and e.currency = @currency and e.status = 'active' and e.ledger <> 'historical'
			and e.transaction_id is not null and e.txn_at >= coalesce(@opening::date, '-infinity') and e.txn_at < @to`
	cleared          = `select c.transaction_id, -c.cents, null from (` + bank.Cleared + `) c where c.account_id = @account`
	openTransactions = `
		select m.id, sum(m.cents) as cent_total, min(m.date) as date
		from (` + moved + ` and e.txn_at >= coalesce(@from::date, '-infinity') union all ` + cleared + `) m
		group by m.id having count(m.date) > 0 and sum(m.cents) <> 0`
)

// openLimit is how many open items an answer lists.
const openLimit = 1000

// records are the movements that the bank has and the books do not explain.
func (s *sheet) records(ctx context.Context, tx *db.Tx) ([]Open, money.Cents, error) {
	first := s.opening
	if s.from != nil && (first == nil || first.Before(*s.from)) {
		first = s.from
	}
	found, total, err := bank.UnmatchedIn(ctx, tx, bank.Span{Accounts: []id.ID{s.account}, First: first, Before: s.to}, openLimit)
	if err != nil {
		return nil, 0, err
	}
	out := make([]Open, len(found))
	for i, u := range found {
		out[i] = Open{u.ID, u.Open}
	}
	return out, total, nil
}

// transactions are those that the books have and the bank does not.
func (s *sheet) transactions(ctx context.Context, tx *db.Tx) ([]Open, money.Cents, error) {
	type row struct {
		Open
		Total money.Cents
	}
	rows, err := db.Select[row](ctx, tx, `select id, cent_total::bigint as cent_total, (sum(cent_total) over ())::bigint as total
		from (`+openTransactions+`) i order by date, id limit @limit`, s.args(tx, db.Args{"currency": s.currency, "from": s.from, "limit": openLimit}))
	if err != nil {
		return nil, 0, fmt.Errorf("read what is unmatched: %w", err)
	}
	out, total := make([]Open, len(rows)), money.Cents(0)
	for i := range rows {
		out[i], total = rows[i].Open, rows[i].Total
	}
	return out, total, nil
}

const balancesSQL = `
	select
		(coalesce((select sum(b.debit - b.credit) from ledger_month b
			where b.team_id = @team and b.account_id = @account and b.currency = @currency and b.month < date_trunc('month', @to::date)), 0)
		+ coalesce((select sum(e.cent_total) from ledger_entry e
			where e.team_id = @team and e.account_id = @account and e.currency = @currency and e.status = 'active' and e.ledger <> 'historical'
				and e.txn_at >= date_trunc('month', @to::date) and e.txn_at < @to), 0))::bigint as book,
		coalesce((select sum(m.cents) from (
			select sum(m.cents) as cents from (` + moved + ` union all ` + cleared + ` and c.date < @to) m group by m.id having count(m.date) > 0) m), 0)::bigint as uncleared`

func (s *sheet) balances(ctx context.Context, tx *db.Tx, t *Totals) error {
	since := bank.Since{Account: s.account, First: s.opening}
	if s.openingCents != nil {
		since.Opening = *s.openingCents
	}
	held, err := bank.Balances(ctx, tx, []bank.Since{since}, s.to)
	if err != nil {
		return err
	}
	type row struct{ Book, Uncleared money.Cents }
	sums, err := db.Get[row](ctx, tx, balancesSQL, s.args(tx, db.Args{"currency": s.currency}))
	if err != nil {
		return fmt.Errorf("read the balances of a bank account: %w", err)
	}
	t.BankAccountBalance, t.BookBalance, t.UnclearedTransactionsBalance = held[0].Cents, sums.Book, sums.Uncleared
	t.AdjustedBankAccountBalance = t.BankAccountBalance + sums.Uncleared
	t.Difference = t.AdjustedBankAccountBalance - sums.Book
	return nil
}
