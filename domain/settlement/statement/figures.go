package statement

import (
	"stayledger/domain/settlement/chain"
	"stayledger/platform/day"
	"stayledger/platform/money"
)

// Financials are the figures of a statement in owner-facing cents.
type Financials struct {
	BalanceStart money.Cents `json:"balanceStart"`
	NetRevenue   money.Cents `json:"netRevenue"`
	Expenses     money.Cents `json:"expenses" doc:"Negative for costs."`
	NetIncome    money.Cents `json:"netIncome" doc:"Net revenue and expenses."`
	Payouts      money.Cents `json:"payouts" doc:"Negative for money paid to the owners."`
	BalanceEnd   money.Cents `json:"balanceEnd" doc:"Balance start, net income and payouts."`
	Reserve      money.Cents `json:"reserve"`
	Available    money.Cents `json:"available" doc:"Balance end less reserve, by the books."`
}

// Funds are the figures of a statement with the part of them that guests have paid.
type Funds struct {
	Financials
	Collected      money.Cents `json:"collected" doc:"Available less what guests owe on the stays in it, of each no more than it brought the owners, and less what fundsRelease keeps. Of a published statement as of publishing."`
	CollectedToday money.Cents `json:"collectedToday" doc:"The same as of today: what is suggested to pay unless payoutBasis is books."`
}

// funds returns figures with the part of them that guests have paid: owed is the amount that they owe today.
func (r *row) funds(f Financials, owed money.Cents) Funds {
	today := f.Available - owed
	if r.Collected != nil {
		return Funds{f, *r.Collected, today}
	}

	return Funds{f, today, today}
}

// complete returns the figures with those filled in that follow from the others.
func (f Financials) complete() Financials {
	f.NetIncome = f.NetRevenue + f.Expenses
	f.BalanceEnd = f.BalanceStart + f.NetIncome + f.Payouts
	f.Available = f.BalanceEnd - f.Reserve

	return f
}

// less returns the differences to other figures.
func (f Financials) less(o Financials) Financials {
	return Financials{
		BalanceStart: f.BalanceStart - o.BalanceStart,
		NetRevenue:   f.NetRevenue - o.NetRevenue,
		Expenses:     f.Expenses - o.Expenses,
		NetIncome:    f.NetIncome - o.NetIncome,
		Payouts:      f.Payouts - o.Payouts,
		BalanceEnd:   f.BalanceEnd - o.BalanceEnd,
		Reserve:      f.Reserve - o.Reserve,
		Available:    f.Available - o.Available,
	}
}

// monthSum adds up the owners' entries of one month of a chain, in owner-facing cents.
type monthSum struct {
	Month      day.Day
	Opening    money.Cents
	NetRevenue money.Cents
	Expenses   money.Cents
	Payouts    money.Cents
}

// total returns the change of the balance in the month, opening balances included.
func (s *monthSum) total() money.Cents {
	return s.Opening + s.NetRevenue + s.Expenses + s.Payouts
}

// base is a saved statement that drafts of its chain continue.
type base struct {
	StartAt    day.Day
	BalanceEnd money.Cents
}

// added is what a chain comes to: the statement that it is continued from, nil for none, and the months after it.
type added struct {
	base   *base
	months []monthSum
}

// sums are the chains that were added up.
type sums map[chain.Chain]added

// figuresAt returns the financials of a month of a chain without the reserve. The balance at the start adds up all
// earlier months and the opening balances of the month. So a statement starts with the balance that the one before
// it ended with, apart from opening balances of its own month.
func (a *added) figuresAt(at day.Day) Financials {
	var f Financials
	if a.base != nil {
		f.BalanceStart = a.base.BalanceEnd
	}

	for i := range a.months {
		// Later months do not matter.
		switch m := &a.months[i]; m.Month.Compare(at) {
		case -1:
			f.BalanceStart += m.total()
		case 0:
			f.BalanceStart += m.Opening
			f.NetRevenue, f.Expenses, f.Payouts = m.NetRevenue, m.Expenses, m.Payouts
		}
	}

	return f
}

// financials returns the figures of a computed draft, or those that a saved statement was stored with. The balance
// at the end of an imported statement is the imported one.
func (r *row) financials() Financials {
	f := Financials{BalanceStart: r.BalanceStart, NetRevenue: r.NetRevenue, Expenses: r.Expenses, Payouts: r.Payouts}
	if r.isDraft() {
		f = r.figuresAt(r.StartAt)
	}

	f.Reserve = r.Reserve

	// An imported balance need not follow from the other figures; findChainIssues reports the difference.
	f = f.complete()
	if r.Imported {
		f.BalanceEnd = r.BalanceEnd
		f.Available = f.BalanceEnd - f.Reserve
	}

	return f
}

// invoice is the summary type of layouts that show the summary as an invoice.
const invoice = "invoice"

// summary returns the lines from the balance at the start to the amount that can be paid out. The reserve is taken
// off, so it is shown negative. As an invoice the summary begins with the result of the month, and the earlier
// balance comes after it.
func (f *Financials) summary(summaryType string) []SummaryLine {
	// Both types of summary end with the same three lines.
	end := []SummaryLine{
		{Name: "balanceEnd", Text: "Balance end", Value: f.BalanceEnd, Separated: true},
		{Name: "reserve", Text: "Reserve", Value: -f.Reserve},
		{Name: "available", Text: "Available", Value: f.Available, Separated: true},
	}

	// An invoice shows the month first and calls the result the amount due.
	if summaryType == invoice {
		end[2].Text = "Amount due"

		return append([]SummaryLine{
			{Name: "netRevenue", Text: "Net revenue", Value: f.NetRevenue},
			{Name: "expenses", Text: "Expenses", Value: f.Expenses},
			{Name: "netIncome", Text: "Net income", Value: f.NetIncome, Separated: true},
			{Name: "balanceStart", Text: "Previous balance", Value: f.BalanceStart},
			{Name: "payouts", Text: "Payouts", Value: f.Payouts},
		}, end...)
	}

	// Otherwise it starts with the earlier balance and the payouts on it.
	return append([]SummaryLine{
		{Name: "balanceStart", Text: "Balance start", Value: f.BalanceStart},
		{Name: "payouts", Text: "Payouts", Value: f.Payouts},
		{Name: "balanceForward", Text: "Balance forward", Value: f.BalanceStart + f.Payouts, Separated: true},
		{Name: "netRevenue", Text: "Net revenue", Value: f.NetRevenue},
		{Name: "expenses", Text: "Expenses", Value: f.Expenses},
	}, end...)
}
