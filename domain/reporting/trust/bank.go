package trust

import (
	"context"

	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// BankLeg holds the balances at the banks, adjusted by the amounts that only the bank or only the books have by the
// day.
type BankLeg struct {
	StatementBalance    money.Cents   `json:"statementBalance" doc:"The latest balance that the bank stated, or the opening balance, with its movements since."`
	DepositsInTransit   money.Cents   `json:"depositsInTransit" doc:"Booked and not matched with a bank record by the day."`
	OutstandingPayments money.Cents   `json:"outstandingPayments" doc:"Booked and not matched; negative."`
	AtBankNotInBooks    money.Cents   `json:"atBankNotInBooks" doc:"At the bank by the day, matched, and booked on a later day: negative for money in."`
	InTransitAtOpening  money.Cents   `json:"inTransitAtOpening" doc:"In transit or outstanding on the accounts' first days and counted by their openings: negative for money in. banking-init takes it out."`
	AdjustedBalance     money.Cents   `json:"adjustedBalance"`
	Accounts            []BankAccount `json:"accounts"`

	unmatched *bank.AllUnmatched
}

// BankAccount is the bank leg of one account, with its balance in the books.
type BankAccount struct {
	Account             account.Ref `json:"account"`
	StatementAt         *day.Day    `json:"statementAt" doc:"When the bank last stated a balance; null when it never did and its movements are added up from the opening."`
	StatementBalance    money.Cents `json:"statementBalance"`
	DepositsInTransit   money.Cents `json:"depositsInTransit"`
	OutstandingPayments money.Cents `json:"outstandingPayments"`
	AtBankNotInBooks    money.Cents `json:"atBankNotInBooks"`
	InTransitAtOpening  money.Cents `json:"inTransitAtOpening"`
	AdjustedBalance     money.Cents `json:"adjustedBalance"`
	BookBalance         Figure      `json:"bookBalance"`
	Difference          money.Cents `json:"difference" doc:"Adjusted balance less book balance."`
	Uncleared           []Uncleared `json:"uncleared" doc:"What the four figures are made of: the 100 largest amounts. listReconcilingItems has all."`

	// known is set if there are records of the bank about the account.
	known bool
}

// Uncleared is a transaction or manual journal that differs between bank and books by the day.
type Uncleared struct {
	Kind          bank.ItemKind `json:"kind"`
	TransactionID *id.ID        `json:"transactionId" doc:"Null for a manual journal."`
	JournalID     *id.ID        `json:"journalId" doc:"Null for a transaction."`
	Date          day.Day       `json:"date" doc:"When the books move the account: for a bill the day of its payment."`
	Description   string        `json:"description"`
	Booked        Figure        `json:"booked"`
	Open          money.Cents   `json:"open" doc:"The part that is in the figure of its kind."`
}

// timing returns the amount that all items of the account add to the statement balance on the way to the adjusted
// one.
func (a *BankAccount) timing() money.Cents { return a.AdjustedBalance - a.StatementBalance }

const unclearedShown = 100

// loadBankLeg loads the first leg for the bank accounts of the position, with their book balances.
func loadBankLeg(ctx context.Context, tx *db.Tx, p *position) (*BankLeg, error) {
	leg := &BankLeg{Accounts: []BankAccount{}}
	ids := p.banks()
	at := map[id.ID]*BankAccount{}

	// First the accounts with their books, in the order of the chart.
	for _, v := range ids {
		behind := p.drilldownFilter()
		behind.AccountIDs = page.Only(v)
		leg.Accounts = append(leg.Accounts, BankAccount{
			Account:     p.chart.at[v].ref(),
			BookBalance: p.chart.figure(ClaimBank, -p.byAccount[accountKey{ClaimBank, v}], behind),
			Uncleared:   []Uncleared{},
		})
	}

	// Take the addresses only when the slice is complete.
	for i := range leg.Accounts {
		at[leg.Accounts[i].Account.ID] = &leg.Accounts[i]
	}

	// The comparison is the same as in the account summaries.
	against := &bank.Against{Accounts: ids, Currency: string(p.currency), Ledger: ledger.Trust, Date: p.date}

	var (
		compared []bank.Comparison
		items    []bank.Item
	)

	err := tx.Together(ctx, db.LoadBy(&compared, bank.Compare, against),
		func(ctx context.Context, tx *db.Tx) (err error) {
			items, err = bank.Largest(ctx, tx, against, unclearedShown)
			return err
		},
		func(ctx context.Context, tx *db.Tx) (err error) {
			leg.unmatched, err = bank.ListUnmatched(ctx, tx, bank.Span{
				Accounts: ids,
				Before:   p.date.AddDays(1),
			}, bank.LargestFirst, warningItems)

			return err
		})
	if err != nil {
		return nil, err
	}

	// Then fill in the results by account.
	for i := range items {
		a := at[items[i].AccountID]
		a.Uncleared = append(a.Uncleared, p.renderUncleared(&items[i]))
	}

	for i := range compared {
		c := &compared[i]
		at[c.AccountID].setComparison(c)
		leg.add(c)
	}

	return leg, nil
}

// setComparison sets the figures of the comparison.
func (a *BankAccount) setComparison(c *bank.Comparison) {
	a.StatementAt, a.StatementBalance, a.known = c.StatedAt, c.Cents, c.Known
	a.DepositsInTransit, a.OutstandingPayments = c.InTransit, c.Outstanding
	a.AtBankNotInBooks, a.InTransitAtOpening = c.AtBank, c.AtOpening
	a.AdjustedBalance = c.AdjustBalance()
	a.Difference = a.AdjustedBalance - a.BookBalance.CentTotal
}

// add adds the comparison of an account to the leg.
func (l *BankLeg) add(c *bank.Comparison) {
	l.StatementBalance += c.Cents
	l.DepositsInTransit += c.InTransit
	l.OutstandingPayments += c.Outstanding
	l.AtBankNotInBooks += c.AtBank
	l.InTransitAtOpening += c.AtOpening
	l.AdjustedBalance += c.AdjustBalance()
}

// renderUncleared renders an item, with the entries of its transaction.
func (p *position) renderUncleared(i *bank.Item) Uncleared {
	u := Uncleared{
		Kind: i.Kind, TransactionID: i.TransactionID, JournalID: i.JournalID, Date: i.Date, Description: i.Description,
		Booked: Figure{CentTotal: i.Booked}, Open: i.Open,
	}

	if i.TransactionID != nil && i.Kind != bank.AtOpening {
		// A filter can name transactions but no journals, and openings are not entries of the transaction.
		behind := p.drilldownFilter()
		behind.AccountIDs, behind.TransactionIDs = page.Only(i.AccountID), page.RefsTo(*i.TransactionID)
		u.Booked = p.chart.figure(ClaimBank, i.Booked, behind)
	}

	return u
}
