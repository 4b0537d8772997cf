package opening

import (
	"context"
	"fmt"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/domain/books/ledger"
	"stayledger/domain/books/trial"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// BankingInit is the body of an initialization of a bank account's books.
type BankingInit struct {
	StartingBalanceDate   *day.Day     `json:"startingBalanceDate,omitempty" doc:"First day that is reconciled. Absent: as it is, at first the team's statement start date."`
	StartingBalanceAmount *money.Cents `json:"startingBalanceAmount,omitempty" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"What the bank held at the start of that day. Absent: as it is, at first the balance that the bank stated last before it, else 0."`
}

// BankingStarted is a bank account with the beginning of its books.
type BankingStarted struct {
	ID                id.ID                    `json:"id"`
	ArchivedRecords   int64                    `json:"archivedRecords" doc:"Bank records before the first day that are excluded now."`
	UnArchivedRecords int64                    `json:"unArchivedRecords" doc:"Bank records that an earlier initialization had excluded and that count again."`
	Transaction       *transaction.Transaction `json:"transaction" doc:"Brings the books to the starting balance with what is in transit and less what is outstanding; null when they are there without it."`
}

type bankingInput struct {
	ID   id.ID       `path:"id"`
	Body BankingInit `required:"false"`
}

// bankAccount is a bank account with the beginning of its books.
type bankAccount struct {
	Type                        account.Type
	BankingCurrency             *string
	BankingOpeningAt            *day.Day
	BankingOpening              *money.Cents
	BankingOpeningTransactionID *id.ID
	StatementStartAt            *day.Day
}

// startBanking begins the books of a bank account on a day, or moves their beginning. It excludes the bank records
// before that day and books the difference between the starting balance and what the books have of it.
func (r routes) startBanking(ctx context.Context, tx *db.Tx, in *bankingInput) (*BankingStarted, error) {
	return r.beginBooks(ctx, tx, in, false)
}

// beginBooks is startBanking. With asBooked the account begins with what the books have of it, and the opening
// transaction goes.
func (r routes) beginBooks(ctx context.Context, tx *db.Tx, in *bankingInput, asBooked bool) (*BankingStarted, error) {
	b, err := db.One[bankAccount](ctx, tx, apierr.NotFound, `
		select a.type, a.banking_currency, a.banking_opening_at, a.banking_opening, a.banking_opening_transaction_id, t.statement_start_at
		from account a join team t on t.id = a.team_id where a.team_id = @team and a.id = @id for update of a`, db.Args{"team": tx.Team, "id": in.ID})
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock account: %w", err)
	case b.Type != account.TypeBank:
		return nil, account.ErrNotBank.At(apierr.IssueNotBankAccount.InPath("id"))
	}

	// First the bank records: those before the first day do not count, those from then on do.
	start, err := b.startDay(in.Body.StartingBalanceDate)
	if err != nil {
		return nil, err
	}

	out := &BankingStarted{ID: in.ID}
	if out.ArchivedRecords, out.UnArchivedRecords, err = r.rules.Exclude(ctx, tx, in.ID, start); err != nil {
		return nil, err
	}

	// Then the difference to the starting balance. What is in transit or outstanding is in the books, but not at the
	// bank yet: the opening books nothing for it.
	amount, err := b.loadAmount(ctx, tx, in, start)
	if err != nil {
		return nil, err
	}

	of, err := bank.LoadStart(ctx, tx, in.ID, *b.BankingCurrency, start)
	if err != nil {
		return nil, err
	}

	if asBooked {
		amount = of.Booked - of.Transit
	}

	missing := amount - of.Booked + of.Transit
	if out.Transaction, err = b.saveOpening(ctx, tx, shortfall{in.ID, start.AddDays(-1), missing}); err != nil {
		return nil, err
	}

	// Last, save the beginning with the account.
	var made *id.ID
	if out.Transaction != nil {
		made = &out.Transaction.ID
	}

	return out, account.BeginBanking(
		ctx, tx, in.ID, account.BankingOpening{At: start, Amount: amount, TransactionID: made, Counted: of.Counted},
	)
}

// startDay returns the first day: the one that was asked for, else the stored one, else the team's. It fails with
// ErrNoStart if there is none.
func (b *bankAccount) startDay(wanted *day.Day) (day.Day, error) {
	for _, d := range []*day.Day{wanted, b.BankingOpeningAt, b.StatementStartAt} {
		if d != nil {
			return *d, nil
		}
	}

	return day.Day{}, trial.ErrNoStart.At(apierr.IssueRequired.InBody("startingBalanceDate"))
}

// loadAmount returns the starting balance: the given one, else the stored one, else the one that the bank stated last
// before the day.
func (b *bankAccount) loadAmount(ctx context.Context, tx *db.Tx, in *bankingInput, start day.Day) (money.Cents, error) {
	switch {
	case in.Body.StartingBalanceAmount != nil:
		return *in.Body.StartingBalanceAmount, nil
	case b.BankingOpening != nil:
		return *b.BankingOpening, nil
	default:
		return bank.LoadStatedBefore(ctx, tx, in.ID, start)
	}
}

// shortfall is the amount of the transaction that brings the books of a bank account to its starting balance.
type shortfall struct {
	bank   id.ID
	at     day.Day
	amount money.Cents
}

// saveOpening keeps the one opening transaction of a bank account: it makes, changes or deletes it. The money beyond
// the owners' and guests' is the manager's.
func (b *bankAccount) saveOpening(ctx context.Context, tx *db.Tx, o shortfall) (*transaction.Transaction, error) {
	line := transaction.LineInput{Amount: o.amount}
	line.Assignment, line.Party = api.Set(account.OpeningBalance), api.Set(ledger.Manager)

	// Nothing missing means no transaction; a stored one is deleted.
	switch stored := b.BankingOpeningTransactionID; {
	case stored != nil && o.amount == 0:
		return nil, transaction.Remove(ctx, tx, *stored, false, ledger.Lenience{})
	case stored != nil:
		moved, err := transaction.Change(ctx, tx, *stored, &transaction.Update{
			Status:    transaction.Active,
			Date:      &o.at,
			AccountID: api.Set(o.bank),
			Currency:  api.Set(*b.BankingCurrency),
			Lines:     []transaction.LineInput{line},
		}, ledger.Lenience{})

		return transaction.ShowOne(ctx, tx, moved, err)
	case o.amount == 0:
		return nil, nil //nolint:nilnil // the books are at the starting balance as they are
	default:
		made, err := transaction.Add(ctx, tx, &transaction.Create{
			Type:             transaction.Deposit,
			Date:             o.at,
			IsOpeningBalance: true,
			Currency:         api.Set(*b.BankingCurrency),
			AccountID:        api.Set(o.bank),
			Description:      api.Set("Opening balance of the bank account"),
			Lines:            []transaction.LineInput{line},
		}, ledger.Lenience{})

		return transaction.ShowOne(ctx, tx, made, err)
	}
}
