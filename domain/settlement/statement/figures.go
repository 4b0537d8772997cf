package statement

import (
	"stayledger/platform/day"
	"stayledger/platform/id"
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

// Funds are the figures of a statement with what of them is there.
type Funds struct {
	Financials
	Collected money.Cents `json:"collected" doc:"Available less what guests still owe today on the stays that are counted in it, of each stay no more than it brought the owners. What is suggested to pay unless the team's payoutBasis is books."`
}

// complete fills in what follows from the other figures.
func (f Financials) complete() Financials {
	f.NetIncome = f.NetRevenue + f.Expenses
	f.BalanceEnd = f.BalanceStart + f.NetIncome + f.Payouts
	f.Available = f.BalanceEnd - f.Reserve

	return f
}

// less are the differences to other figures.
func (f Financials) less(o Financials) Financials {
	return Financials{
		BalanceStart: f.BalanceStart - o.BalanceStart, NetRevenue: f.NetRevenue - o.NetRevenue, Expenses: f.Expenses - o.Expenses,
		NetIncome: f.NetIncome - o.NetIncome, Payouts: f.Payouts - o.Payouts, BalanceEnd: f.BalanceEnd - o.BalanceEnd,
		Reserve: f.Reserve - o.Reserve, Available: f.Available - o.Available,
	}
}

// monthSum is what the owners' entries of one month of a chain come to, in owner-facing cents.
type monthSum struct {
	OwnershipPeriodID id.ID
	Currency          string
	Month             day.Day
	Opening           money.Cents
	NetRevenue        money.Cents
	Expenses          money.Cents
	Payouts           money.Cents
}

func (s *monthSum) total() money.Cents {
	return s.Opening + s.NetRevenue + s.Expenses + s.Payouts
}

// sums are the months of each chain.
type sums map[Chain][]monthSum

// figuresAt are the financials of a month of a chain without the reserve: what came before it and the opening balances
// of the month are the balance at its start. A statement thus starts with what the one before it ended with, opening
// balances of its own month aside.
func figuresAt(months []monthSum, at day.Day) Financials {
	var f Financials

	for i := range months {
		switch m := &months[i]; m.Month.Compare(at) {
		case -1:
			f.BalanceStart += m.total()
		case 0:
			f.BalanceStart += m.Opening
			f.NetRevenue, f.Expenses, f.Payouts = m.NetRevenue, m.Expenses, m.Payouts
		}
	}

	return f
}

// financials are the figures of a drawn draft, or those that a saved statement was stored with. The balance at the end
// of an imported one is what it was told to be.
func (r *row) financials() Financials {
	f := Financials{BalanceStart: r.BalanceStart, NetRevenue: r.NetRevenue, Expenses: r.Expenses, Payouts: r.Payouts}
	if r.isDraft() {
		f = figuresAt(r.months, r.StartAt)
	}

	f.Reserve = r.Reserve

	f = f.complete()
	if r.Imported {
		f.BalanceEnd = r.BalanceEnd
		f.Available = f.BalanceEnd - f.Reserve
	}

	return f
}

// The ways in which a layout has the summary told.
const invoice = "invoice"

// summary is the way from the balance at the start to what can be paid out. The reserve is taken off, so it is shown
// negative. As an invoice it begins with what the month came to and takes in what was open before.
func (f *Financials) summary(summaryType string) []SummaryLine {
	end := []SummaryLine{
		{Name: "balanceEnd", Text: "Balance end", Value: f.BalanceEnd, Separated: true},
		{Name: "reserve", Text: "Reserve", Value: -f.Reserve},
		{Name: "available", Text: "Available", Value: f.Available, Separated: true},
	}
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

	return append([]SummaryLine{
		{Name: "balanceStart", Text: "Balance start", Value: f.BalanceStart},
		{Name: "payouts", Text: "Payouts", Value: f.Payouts},
		{Name: "balanceForward", Text: "Balance forward", Value: f.BalanceStart + f.Payouts, Separated: true},
		{Name: "netRevenue", Text: "Net revenue", Value: f.NetRevenue},
		{Name: "expenses", Text: "Expenses", Value: f.Expenses},
	}, end...)
}
