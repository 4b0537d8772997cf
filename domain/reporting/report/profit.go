package report

import (
	"cmp"
	"context"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// ProfitAndLoss is the income and the costs of a period.
type ProfitAndLoss struct {
	Currency  money.Currency `json:"currency"`
	StartDate day.Day        `json:"startDate"`
	EndDate   day.Day        `json:"endDate" doc:"Last day, included."`
	View      View           `json:"view" enum:"total,ledger,party,listing,month,quarter,year"`
	Columns   []Column       `json:"columns" doc:"None in the view total."`
	NetIncome NetIncome      `json:"netIncome"`
}

// NetIncome is revenue less expenses. Revenue and costs are positive; percentages are of revenue.
type NetIncome struct {
	Figure
	Groups []Section `json:"groups" doc:"revenue and expense."`
}

// ProfitFilter selects a profit and loss: query parameters, and the body of its export.
type ProfitFilter struct {
	Period
	View       View         `query:"view" json:"view,omitempty" enum:"total,ledger,party,listing,month,quarter,year" doc:"What the columns stand for. Default: total, which has none."`
	Party      ledger.Party `query:"party" json:"party,omitempty" enum:"owners,manager,null" doc:"null: entries of no party."`
	ListingIDs page.Refs    `query:"listingIds" json:"listingIds,omitempty" doc:"null, or unmapped, means entries without a listing."`
	Ledger     liveLedger   `query:"ledger" json:"ledger,omitempty" enum:"trust,operating" doc:"Default: both together."`
	Currency   string       `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Default: the team's."`
}

// Resolve refuses a period that ends before it starts, and one with too many columns.
func (f ProfitFilter) Resolve() []apierr.Issue {
	if issues := f.Check(); issues != nil {
		return issues
	}

	if f.View.countPeriods(f.StartDate.Day, f.EndDate.Day) > maxPeriods {
		return []apierr.Issue{apierr.IssueTooMany.InQuery("view")}
	}

	return nil
}

// profitInput is the input of GET /reports/profit-and-loss.
type profitInput struct{ ProfitFilter }

// profitAndLoss answers GET /reports/profit-and-loss.
func profitAndLoss(ctx context.Context, tx *db.Tx, in *profitInput) (*ProfitAndLoss, error) {
	if err := ledger.CheckView(ctx, tx, ledger.Ledger(in.Ledger)); err != nil {
		return nil, err
	}

	return loadProfit(ctx, tx, in.ProfitFilter)
}

// loadProfit returns the profit and loss that a valid filter selects.
func loadProfit(ctx context.Context, tx *db.Tx, f ProfitFilter) (*ProfitAndLoss, error) {
	b, err := f.load(ctx, tx)
	if err != nil {
		return nil, err
	}

	t := table{columns: b.columns, average: b.view.hasPeriods()}

	// Every drill-down narrows the filter of the report.
	behind := Selection{
		StartDate:  &f.StartDate,
		EndDate:    &f.EndDate,
		Party:      f.Party,
		ListingIDs: f.ListingIDs,
		Ledger:     ledger.Ledger(f.Ledger),
		Currency:   string(b.currency),
	}
	of := func(classes ...account.Classification) Selection {
		s := behind
		s.AccountClassifications = classes

		return s
	}

	// The net income adds up all cells, the sections those of their accounts.
	sums, all := groupByAccount(b.cells), make([]*Cell, len(b.cells))
	for i := range b.cells {
		all[i] = &b.cells[i]
	}

	// Revenue is credit, so its sign is turned. Costs are debit.
	earning, spending := accountsIn(b.accounts, account.Revenue), accountsIn(b.accounts, account.Expense)
	income := t.section(Column{"revenue", "Revenue"}, -1, earning, sums, of(account.Revenue))
	costs := t.section(Column{"expense", "Expenses"}, 1, spending, sums, of(account.Expense))
	net := NetIncome{t.figure(Column{"netIncome", "Net income"}, -1, all, of(account.Revenue, account.Expense)), nil}

	// Percentages are of revenue, in the total and in every column.
	base := income.Figure
	net.setPercentages(&base)
	costs.setPercentages(&base)
	income.setPercentages(&base)
	net.Groups = []Section{income, costs}

	return &ProfitAndLoss{
		Currency:  b.currency,
		StartDate: f.StartDate.Day,
		EndDate:   f.EndDate.Day,
		View:      b.view,
		Columns:   t.columns.headings(),
		NetIncome: net,
	}, nil
}

// accountReport is the data of a report by account: the chart by category, the sums, and the columns of the view.
type accountReport struct {
	view     View
	currency money.Currency
	accounts []chartAccount
	cells    []Cell
	columns  columns
}

// load loads the data of the report.
func (f *ProfitFilter) load(ctx context.Context, tx *db.Tx) (*accountReport, error) {
	b := &accountReport{view: cmp.Or(f.View, ViewTotal)}

	var err error
	if b.currency, err = Currency(ctx, tx, f.Currency); err != nil {
		return nil, err
	}

	if b.accounts, err = loadChart(ctx, tx, true); err != nil {
		return nil, err
	}

	// Only accounts of revenue and expense count.
	earning := []id.ID{}

	for i := range b.accounts {
		if a := &b.accounts[i]; a.Classification == account.Revenue || a.Classification == account.Expense {
			earning = append(earning, a.ID)
		}
	}

	b.cells, err = Balances(ctx, tx, BalanceFilter{
		Ledgers:    f.Ledger.ledgers(),
		Currency:   b.currency,
		From:       &f.StartDate.Day,
		To:         f.EndDate.Day,
		ListingIDs: f.ListingIDs,
		Party:      f.Party,
		AccountIDs: earning,
	}, b.view.grouping())
	if err != nil {
		return nil, err
	}

	// Some views have columns only for what has cells, so the columns come after the sums.
	b.columns, err = f.columns(ctx, tx, b.cells)

	return b, err
}

// columns returns the columns of the view. The view total has none.
func (f *ProfitFilter) columns(ctx context.Context, tx *db.Tx, cells []Cell) (columns, error) {
	switch f.View {
	case ViewLedger:
		return ledgerColumns(f.Ledger), nil
	case ViewParty:
		return partyColumns(f.Party, cells), nil
	case ViewListing:
		return loadListingColumns(ctx, tx, cells)
	case ViewMonth, ViewQuarter, ViewYear:
		return periodColumns(f.View, f.StartDate.Day, f.EndDate.Day), nil
	case ViewTotal:
	}

	return columns{}, nil
}
