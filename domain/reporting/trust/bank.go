package trust

import (
	"context"
	"slices"

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
	// aged are items that were booked long ago.
	aged []bank.Aged
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

// loadBanks loads the first leg for the bank accounts of the position, with their book balances, and the findings that
// need the accounts. It loads the sums of the position first, which know them.
func (p *position) loadBanks(ctx context.Context, tx *db.Tx, leg *BankLeg, found findings) error {
	if err := p.loadSums(ctx, tx); err != nil {
		return err
	}

	leg.setAccounts(p)

	// The comparison is the same as in the account summaries.
	ids := p.banks()
	against := &bank.Against{Accounts: ids, Currency: string(p.currency), Ledger: ledger.Trust, Date: p.date}

	var compared []bank.Detailed

	err := tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) (err error) {
			compared, err = bank.CompareInDetail(ctx, tx, against, p.date.AddDays(-agedDays), warningItems)
			return err
		},
		func(ctx context.Context, tx *db.Tx) (err error) {
			leg.unmatched, err = bank.ListUnmatched(ctx, tx, bank.Span{
				Accounts: ids,
				Before:   p.date.AddDays(1),
			}, bank.LargestFirst, warningItems)

			return err
		},
		func(ctx context.Context, tx *db.Tx) error { return found.checkBelowZero(ctx, tx, p) })
	if err != nil {
		return err
	}

	// Then fill in the results by account.
	for i := range compared {
		leg.add(p, &compared[i])
	}

	found.checkAged(p, leg)

	return nil
}

// setAccounts sets the accounts with their books, in the order of the chart.
func (l *BankLeg) setAccounts(p *position) {
	l.Accounts = []BankAccount{}

	for _, v := range p.banks() {
		behind := p.drilldownFilter()
		behind.AccountIDs = page.Only(v)
		l.Accounts = append(l.Accounts, BankAccount{
			Account:     p.chart.at[v].ref(),
			BookBalance: p.chart.figure(ClaimBank, -p.byAccount[accountKey{ClaimBank, v}], behind),
			Uncleared:   []Uncleared{},
		})
	}
}

// setComparison sets the figures of the comparison.
func (a *BankAccount) setComparison(c *bank.Comparison) {
	a.StatementAt, a.StatementBalance, a.known = c.StatedAt, c.Cents, c.Known
	a.DepositsInTransit, a.OutstandingPayments = c.InTransit, c.Outstanding
	a.AtBankNotInBooks, a.InTransitAtOpening = c.AtBank, c.AtOpening
	a.AdjustedBalance = c.AdjustBalance()
	a.Difference = a.AdjustedBalance - a.BookBalance.CentTotal
}

// add adds the comparison of an account to the leg, and its items to the account.
func (l *BankLeg) add(p *position, d *bank.Detailed) {
	c := &d.Comparison
	l.StatementBalance += c.Cents
	l.DepositsInTransit += c.InTransit
	l.OutstandingPayments += c.Outstanding
	l.AtBankNotInBooks += c.AtBank
	l.InTransitAtOpening += c.AtOpening
	l.AdjustedBalance += c.AdjustBalance()

	of := slices.IndexFunc(l.Accounts, func(a BankAccount) bool { return a.Account.ID == c.AccountID })
	a := &l.Accounts[of]
	a.setComparison(c)

	a.aged = d.Aged
	for i := range d.Largest {
		a.Uncleared = append(a.Uncleared, p.renderUncleared(&d.Largest[i]))
	}
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
