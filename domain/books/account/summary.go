package account

import (
	"context"
	"fmt"
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

// Unmatched has the open items of the range, oldest first.
type Unmatched struct {
	BankRecords  []Open `json:"bankRecords" doc:"At most 1000; the totals have all."`
	Transactions []Open `json:"transactions" doc:"At most 1000; the totals have all."`
}

// Totals are the bank's leg of the reconciliation at the end of the range. Cents, positive into the account.
type Totals struct {
	BankAccountBalance           money.Cents `json:"bankAccountBalance" doc:"What the bank says: its latest stated balance, or the opening balance, and its records since."`
	BookBalance                  money.Cents `json:"bookBalance" doc:"What the books say."`
	UnclearedTransactionsBalance money.Cents `json:"unclearedTransactionsBalance" doc:"Booked up to the end of the range and on no bank record until then: deposits in transit and outstanding payments."`
	AtBankNotInBooksBalance      money.Cents `json:"atBankNotInBooksBalance" doc:"At the bank up to the end of the range, matched, and booked on a later day: negative for money in."`
	InTransitAtOpeningBalance    money.Cents `json:"inTransitAtOpeningBalance" doc:"In transit or outstanding on the account's first day and counted by its opening: negative for money in. banking-init takes it out."`
	UnmatchedTransactionsBalance money.Cents `json:"unmatchedTransactionsBalance" doc:"Of the transactions in the range, matched to no bank record at all."`
	UnmatchedBankRecordsBalance  money.Cents `json:"unmatchedBankRecordsBalance" doc:"Of the bank records in the range, matched to no transaction."`
	AdjustedBankAccountBalance   money.Cents `json:"adjustedBankAccountBalance" doc:"bankAccountBalance + unclearedTransactionsBalance + atBankNotInBooksBalance + inTransitAtOpeningBalance."`
	Difference                   money.Cents `json:"difference" doc:"adjustedBankAccountBalance - bookBalance; 0 when the account is reconciled."`
}

// Summary compares a bank account with its books.
type Summary struct {
	Unmatched Unmatched `json:"unmatched"`
	Totals    Totals    `json:"totals"`
}

// summaryEndpoints returns the routes that compare bank accounts with their books.
func summaryEndpoints() []api.Endpoint {
	return []api.Endpoint{api.Read(api.Endpoint{
		Method:  http.MethodGet,
		Path:    "/accounts/{id}/summary",
		ID:      "getAccountSummary",
		Tag:     tag,
		Summary: "Compare a bank account with its books",
		Errors:  apierr.List{ErrNotBank},
		Doc:     "Everything up to today when no range of dates is given.",
		Scopes:  []string{"accounts:read"},
	}, summarize), api.Read(api.Endpoint{
		Method: http.MethodGet, Path: "/accounts/{id}/reconciling-items", ID: "listReconcilingItems", Tag: tag,
		Summary: "List what bank and books do not have alike", Errors: apierr.List{ErrNotBank},
		Doc: "The transactions and manual journals that are in transit, outstanding, at the bank and not in the " +
			"books, or were in transit when the account began, at the end of a day; the oldest first. Of a kind they " +
			"add up to its figure in the account's summary and in the trust reconciliation.",
		Scopes: []string{"accounts:read"},
	}, reconcilingItems)}
}

type summaryInput struct {
	ID id.ID `path:"id"`
	page.Dates
}

// sheet is the account and the range of days of a comparison.
type sheet struct {
	account  id.ID
	currency string
	// opening is the first day that is reconciled; before it everything is part of the opening balance. Nil until it
	// was set.
	opening *day.Day
	// booked is the balance in the books at the end of the range.
	booked money.Cents
	// from is nil for everything up to the exclusive end.
	from *day.Day
	to   day.Day
}

// loadSheet loads the facts about a bank account that a comparison before a day needs. It fails with apierr.NotFound and
// ErrNotBank.
func loadSheet(ctx context.Context, tx *db.Tx, account id.ID, to day.Day) (*sheet, error) {
	type row struct {
		Type     Type
		Currency string
		Opening  *day.Day
		Booked   money.Cents
	}

	a, err := db.One[row](ctx, tx, apierr.NotFound, `
		select a.type, coalesce(a.banking_currency, '') as currency, a.banking_opening_at as opening,
			`+bookedSQL("a.id", "a.banking_currency", "@to::date")+` as booked
		from account a where a.team_id = @team and a.id = @account`, db.Args{"team": tx.Team, "account": account, "to": to})

	switch {
	case err != nil:
		return nil, fmt.Errorf("read the account: %w", err)
	case a.Type != TypeBank:
		return nil, ErrNotBank.At(apierr.IssueNotBankAccount.InPath("id"))
	}

	return &sheet{account: account, currency: a.Currency, opening: a.Opening, booked: a.Booked, to: to}, nil
}

// summarize compares a bank account with its books. It fails as loadSheet does.
func summarize(ctx context.Context, tx *db.Tx, in *summaryInput) (*Summary, error) {
	// Without a range everything up to today counts.
	var from *day.Day

	to := tx.Today().AddDays(1)

	if !in.DateRange.IsZero() {
		days := in.DateRange.Range(in.IsDateRangeEndInclusive)
		from, to = &days.From, days.To
	}

	s, err := loadSheet(ctx, tx, in.ID, to)
	if err != nil {
		return nil, err
	}

	s.from = from

	// The three parts do not depend on each other.
	out := &Summary{}

	return out, tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) error { return s.records(ctx, tx, out) },
		func(ctx context.Context, tx *db.Tx) error { return s.transactions(ctx, tx, out) },
		func(ctx context.Context, tx *db.Tx) error { return s.compare(ctx, tx, &out.Totals) })
}

// openLimit is how many open items an answer lists.
const openLimit = 1000

// records fills in the bank records of the range that the books do not explain.
func (s *sheet) records(ctx context.Context, tx *db.Tx, out *Summary) error {
	// Records before the account's first day are part of its opening.
	first := s.opening
	if s.from != nil && (first == nil || first.Before(*s.from)) {
		first = s.from
	}

	open, err := bank.ListUnmatched(
		ctx, tx, bank.Span{Accounts: []id.ID{s.account}, First: first, Before: s.to}, bank.OldestFirst, openLimit,
	)
	if err != nil {
		return err
	}

	out.Unmatched.BankRecords = make([]Open, len(open.First))
	for i, u := range open.First {
		out.Unmatched.BankRecords[i] = Open{u.ID, u.Open}
	}

	out.Totals.UnmatchedBankRecordsBalance = open.Total

	return nil
}

// openTransactionsSQL selects transactions and manual journals of the range that bank records do not have in full.
// Entries are found by their source, never by their account (migration 0047). Opening balances are part of the account's.
var openTransactionsSQL = `
	select id, cents::bigint as cent_total, (sum(cents) over ())::bigint as total
	from (select u.source_id as id, sum(m.cents) as cents, min(m.date) as date
		from (` + bank.OpenSourcesSQL("@account", "@to::date - 1") + `) u cross join lateral (
			select e.cent_total as cents, e.txn_at as date from ledger_entry e
			where e.team_id = @team and e.source_id = u.source_id and e.source_id <> e.team_id and e.account_id is not distinct from @account
				and e.currency = @currency and e.status = 'active' and e.ledger <> 'historical'
				and e.txn_at < @to and e.txn_at >= coalesce(@from::date, '-infinity')
				and not (e.txn_at <= coalesce(@opening::date, '-infinity')
					and exists (select from transaction t where t.team_id = @team and t.id = e.source_id and t.is_opening_balance))
			union all select -c.cents, null from (` + bank.PartsSQL("u.source_id", "@account") + `) c) m
		group by u.source_id having count(m.date) > 0 and sum(m.cents) <> 0) i
	order by date, id limit @limit`

// transactions fills in the transactions that the books have and the bank does not.
func (s *sheet) transactions(ctx context.Context, tx *db.Tx, out *Summary) error {
	type row struct {
		Open
		Total money.Cents
	}

	// The total is of all of them, whatever the limit.
	rows, err := db.Select[row](ctx, tx, openTransactionsSQL, db.Args{
		"team":     tx.Team,
		"account":  s.account,
		"opening":  s.opening,
		"to":       s.to,
		"currency": s.currency,
		"from":     s.from,
		"limit":    openLimit,
	})
	if err != nil {
		return fmt.Errorf("read what is unmatched: %w", err)
	}

	out.Unmatched.Transactions = make([]Open, len(rows))
	for i := range rows {
		out.Unmatched.Transactions[i], out.Totals.UnmatchedTransactionsBalance = rows[i].Open, rows[i].Total
	}

	return nil
}

// compare fills in the balances at the bank and in the books, and their difference.
func (s *sheet) compare(ctx context.Context, tx *db.Tx, t *Totals) error {
	compared, err := bank.Compare(ctx, tx, &bank.Against{
		Accounts: []id.ID{s.account},
		Currency: s.currency,
		Date:     s.to.AddDays(-1),
	})
	if err != nil {
		return err
	}

	t.BookBalance = s.booked

	// One account was asked for, so there is one comparison.
	c := &compared[0]
	t.BankAccountBalance, t.UnclearedTransactionsBalance = c.Cents, c.InTransit+c.Outstanding
	t.AtBankNotInBooksBalance, t.InTransitAtOpeningBalance = c.AtBank, c.AtOpening
	t.AdjustedBankAccountBalance = c.AdjustBalance()
	t.Difference = t.AdjustedBankAccountBalance - t.BookBalance

	return nil
}

type itemsInput struct {
	page.Params
	ID   id.ID         `path:"id"`
	Date *day.Day      `query:"date" doc:"End of this day; default: today."`
	Kind bank.ItemKind `query:"kind" doc:"Only items of this kind."`
}

// reconcilingItems lists what explains the difference between the bank's balance and the books on a day. It fails as
// loadSheet does.
func reconcilingItems(ctx context.Context, tx *db.Tx, in *itemsInput) (*page.Page[bank.Item], error) {
	date := tx.Today()
	if in.Date != nil {
		date = *in.Date
	}

	s, err := loadSheet(ctx, tx, in.ID, date.AddDays(1))
	if err != nil {
		return nil, err
	}

	return bank.Items(
		ctx, tx, &bank.Against{Accounts: []id.ID{s.account}, Currency: s.currency, Date: date}, in.Kind, in.Params,
	)
}
