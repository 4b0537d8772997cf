package trust

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/reporting/report"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// ManagerFinancials show how the manager's part of the trust changes over a period. Income is positive; costs and
// draws of the manager are negative.
type ManagerFinancials struct {
	BalanceStart money.Cents `json:"balanceStart"`
	NetRevenue   money.Cents `json:"netRevenue"`
	Expenses     money.Cents `json:"expenses" doc:"Negative for costs."`
	NetIncome    money.Cents `json:"netIncome" doc:"Net revenue and expenses."`
	Adjustments  money.Cents `json:"adjustments" doc:"What moved on accounts of neither income nor cost: opening balances, which the first month has even when they are dated before it."`
	Transfers    money.Cents `json:"transfers" doc:"Distributions; negative for what the manager drew."`
	BalanceEnd   money.Cents `json:"balanceEnd" doc:"Balance start, net income, adjustments and transfers."`
}

// complete fills in the figures that follow from the others.
func (f *ManagerFinancials) complete() {
	f.NetIncome = f.NetRevenue + f.Expenses
	f.BalanceEnd = f.BalanceStart + f.NetIncome + f.Adjustments + f.Transfers
}

// ManagerDrilldowns lead to the entries behind the figures; null where no account has any.
type ManagerDrilldowns struct {
	BalanceStart *report.Drilldown `json:"balanceStart"`
	NetRevenue   *report.Drilldown `json:"netRevenue"`
	Expenses     *report.Drilldown `json:"expenses"`
	Adjustments  *report.Drilldown `json:"adjustments"`
	Transfers    *report.Drilldown `json:"transfers"`
	BalanceEnd   *report.Drilldown `json:"balanceEnd"`
}

// ManagerMonth is the manager statement of a month.
type ManagerMonth struct {
	Currency   money.Currency    `json:"currency"`
	StartAt    day.Day           `json:"startAt"`
	EndAt      day.Day           `json:"endAt" doc:"Last day, included."`
	Total      money.Cents       `json:"total" doc:"The net income."`
	Financials ManagerFinancials `json:"financials"`
	Drilldowns ManagerDrilldowns `json:"drilldowns"`
}

// SectionID names a part of the manager statement; every account of it is in one.
type SectionID string

// The sections.
const (
	SectionNetRevenue  SectionID = "net-revenue"
	SectionExpenses    SectionID = "expenses"
	SectionAdjustments SectionID = "adjustments"
	SectionTransfers   SectionID = "transfers"
)

// Enum lists the sections.
func (SectionID) Enum() []string {
	return []string{
		string(SectionNetRevenue),
		string(SectionExpenses),
		string(SectionAdjustments),
		string(SectionTransfers),
	}
}

// section returns the section in which the manager's entries on an account are shown.
func (c *chart) section(accountID id.ID) SectionID {
	switch a := c.at[accountID]; {
	case a == nil:
		return SectionAdjustments
	case a.hasAssignment(account.PayoutDistribution):
		return SectionTransfers
	case a.Classification == account.Revenue:
		return SectionNetRevenue
	case a.Classification == account.Expense:
		return SectionExpenses
	default:
		return SectionAdjustments
	}
}

// add adds an amount to the figure of a section.
func (f *ManagerFinancials) add(s SectionID, cents money.Cents) {
	switch s {
	case SectionNetRevenue:
		f.NetRevenue += cents
	case SectionExpenses:
		f.Expenses += cents
	case SectionAdjustments:
		f.Adjustments += cents
	case SectionTransfers:
		f.Transfers += cents
	}
}

// managerBooks holds the data about the manager's entries: those of the party in the trust ledger, bank and guest
// accounts aside.
type managerBooks struct {
	chart    *chart
	currency money.Currency
	// first is the first month of the statements. Its adjustments include those that are dated before it.
	first day.Day
}

// loadManagerBooks loads the chart and the first month of the statements.
func loadManagerBooks(ctx context.Context, tx *db.Tx, given string) (*managerBooks, error) {
	currency, err := report.Currency(ctx, tx, given)
	if err != nil {
		return nil, err
	}

	c, err := loadChart(ctx, tx)
	if err != nil {
		return nil, err
	}

	start, err := db.Get[*day.Day](ctx, tx, `select statement_start_at from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the team: %w", err)
	}

	// A team without a start date has no first month.
	r := &managerBooks{chart: c, currency: currency}
	if start != nil {
		r.first = start.FirstOfMonth()
	}

	return r, nil
}

// filter returns the filter of the manager's balances in the trust ledger.
func (r *managerBooks) filter(from *day.Day, to day.Day) report.BalanceFilter {
	return report.BalanceFilter{
		Ledgers:  []ledger.Ledger{ledger.Trust},
		Currency: r.currency,
		From:     from,
		To:       to,
		Party:    ledger.Manager,
	}
}

// filterManager returns the cells that belong to the manager.
func (r *managerBooks) filterManager(sums []report.Cell) []report.Cell {
	kept := sums[:0:0]
	for i := range sums {
		if r.chart.claim(sums[i].AccountID, ledger.Manager) == ClaimManager {
			kept = append(kept, sums[i])
		}
	}

	return kept
}

// deriveStatement computes the statement of a period from the balances before and in it.
func (r *managerBooks) deriveStatement(start, end day.Day, before, during []report.Cell) ManagerMonth {
	m := ManagerMonth{Currency: r.currency, StartAt: start, EndAt: end}
	opening := start == r.first
	adjusting := []id.ID{}

	// In the first month earlier adjustments are shown; everything else from before is in the balance at the start.
	for i := range before {
		s := r.chart.section(before[i].AccountID)
		if opening && s == SectionAdjustments {
			m.Financials.Adjustments -= before[i].Net()
			adjusting = append(adjusting, before[i].AccountID)
		} else {
			m.Financials.BalanceStart -= before[i].Net()
		}
	}

	// Then the entries of the period, by section.
	accounts := map[SectionID][]id.ID{}

	for i := range during {
		s := r.chart.section(during[i].AccountID)
		m.Financials.add(s, -during[i].Net())
		accounts[s] = append(accounts[s], during[i].AccountID)
	}

	m.Financials.complete()
	m.Total = m.Financials.NetIncome

	// Last, the drill-downs. A figure without entries has none.
	until := func(last day.Day, f report.Selection) *report.Drilldown {
		f.EndDate, f.Currency = &report.End{Day: last}, string(r.currency)
		return r.chart.figure(ClaimManager, 0, f).Drilldown
	}
	within := func(s SectionID) *report.Drilldown {
		if len(accounts[s]) == 0 {
			return nil
		}

		return until(end, report.Selection{StartDate: &report.Start{Day: start}, AccountIDs: page.Only(accounts[s]...)})
	}

	m.Drilldowns = ManagerDrilldowns{
		NetRevenue:  within(SectionNetRevenue),
		Expenses:    within(SectionExpenses),
		Adjustments: within(SectionAdjustments),
		Transfers:   within(SectionTransfers),
		BalanceEnd:  until(end, report.Selection{}),
	}

	// The balance at the start leaves out the adjustments that the period shows.
	if last := start.AddDays(-1); !last.Before(day.Earliest) {
		m.Drilldowns.BalanceStart = until(last, report.Selection{NotAccountIDs: adjusting})
	}

	// The adjustments of the first month go back to before it, so their drill-down has no first day.
	if opening {
		if all := id.Distinct(append(adjusting, accounts[SectionAdjustments]...)); len(all) > 0 {
			m.Drilldowns.Adjustments = until(end, report.Selection{AccountIDs: page.Only(all...)})
		}
	}

	return m
}

// ManagerFilter selects the list of manager statements.
type ManagerFilter struct {
	Year     *int64 `query:"year" json:"year,omitempty" minimum:"1" maximum:"9999"`
	Currency string `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Default: the team's."`
}

type managerInput struct {
	page.Params
	ManagerFilter
}

// managerStatements returns a page of the manager statements.
func managerStatements(ctx context.Context, tx *db.Tx, in *managerInput) (*page.Page[ManagerMonth], error) {
	return loadManagerStatements(ctx, tx, &in.ManagerFilter, in.Params)
}

// loadManagerStatements returns a page of the manager statements.
func loadManagerStatements(
	ctx context.Context,
	tx *db.Tx,
	f *ManagerFilter,
	p page.Params,
) (*page.Page[ManagerMonth], error) {
	months, err := loadManagerMonths(ctx, tx, f)
	if err != nil {
		return nil, err
	}

	// The page is cut from the whole list, since every month needs the ones before it.
	total := int64(len(months))
	first := min(p.Rows(), total)

	return &page.Page[ManagerMonth]{Data: months[first:min(first+p.Limit, total)], Pagination: p.Of(total)}, nil
}

// loadManagerMonths returns the months from the first of the statements, or of the manager's entries when the team
// has no start date, to the current one, newest first. It is never nil.
func loadManagerMonths(ctx context.Context, tx *db.Tx, f *ManagerFilter) ([]ManagerMonth, error) {
	r, err := loadManagerBooks(ctx, tx, f.Currency)
	if err != nil {
		return nil, err
	}

	last := tx.Today().Month()

	// All months in one query, because each needs the balances before it.
	sums, err := report.Balances(ctx, tx, r.filter(nil, last.Last()), report.Grouping{Month: true})
	if err != nil {
		return nil, err
	}

	sums = r.filterManager(sums)
	byMonth := map[day.Day][]report.Cell{}
	first := last.First()

	for i := range sums {
		byMonth[sums[i].Month] = append(byMonth[sums[i].Month], sums[i])
		first = day.Min(first, sums[i].Month)
	}

	// The start date of the team wins over the first entry.
	if !r.first.IsZero() {
		first = r.first
	}

	months := []ManagerMonth{}

	// Carry adds the balances of a month to those before the next one.
	before := map[id.ID]*report.Cell{}
	carry := func(cells []report.Cell) {
		for i := range cells {
			c := &cells[i]
			if before[c.AccountID] == nil {
				before[c.AccountID] = &report.Cell{AccountID: c.AccountID}
			}

			before[c.AccountID].Debit += c.Debit
			before[c.AccountID].Credit += c.Credit
		}
	}

	for i := range sums {
		if sums[i].Month.Before(first) {
			carry(sums[i : i+1])
		}
	}

	// Every month has a statement, even one without entries. A filter by year skips months but still carries them.
	for m := first.Month(); m.Compare(last) <= 0; m = m.Next() {
		if f.Year == nil || int64(m.Year) == *f.Year {
			months = append(
				months,
				r.deriveStatement(m.First(), m.Last(), collectCarried(r.chart, before), byMonth[m.First()]),
			)
		}

		carry(byMonth[m.First()])
	}

	slices.Reverse(months)

	return months, nil
}

// collectCarried returns carried cells in the chart's order.
func collectCarried(c *chart, carried map[id.ID]*report.Cell) []report.Cell {
	var out []report.Cell

	for i := range c.accounts {
		if cell := carried[c.accounts[i].ID]; cell != nil {
			out = append(out, *cell)
		}
	}

	return out
}

// summary returns the lines from the balance at the start to the amount that can be drawn.
func (d *ManagerDetail) summary() []statement.SummaryLine {
	f := &d.Financials

	return []statement.SummaryLine{
		{Name: "balanceStart", Text: "Balance start", Value: f.BalanceStart},
		{Name: "netRevenue", Text: "Net revenue", Value: f.NetRevenue},
		{Name: "expenses", Text: "Expenses", Value: f.Expenses},
		{Name: "netIncome", Text: "Net income", Value: f.NetIncome, Separated: true},
		{Name: "adjustments", Text: "Adjustments", Value: f.Adjustments},
		{Name: "transfers", Text: "Transfers", Value: f.Transfers},
		{Name: "balanceEnd", Text: "Balance end", Value: f.BalanceEnd, Separated: true},
		{Name: "assetsAndLiabilities", Text: "Assets and liabilities", Value: f.AssetsAndLiabilities},
		{Name: "availableBalance", Text: "Available balance", Value: f.AvailableBalance, Separated: true},
	}
}
