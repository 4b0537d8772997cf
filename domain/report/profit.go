package report

import (
	"context"

	"stayledger/domain/account"
	"stayledger/domain/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// ProfitAndLoss is what was earned and spent in a period.
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
	Party      ledger.Party `query:"party" json:"party,omitempty" enum:"owners,manager,null" doc:"null: entries of nobody."`
	ListingIDs []Ref        `query:"listingIds" json:"listingIds,omitempty" doc:"null, or unmapped, stands for entries without a listing."`
	Ledger     liveLedger   `query:"ledger" json:"ledger,omitempty" enum:"trust,operating" doc:"Default: both together."`
	Currency   string       `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Default: the team's."`
}

// Resolve refuses a period that ends before it starts, and one with too many columns.
func (f ProfitFilter) Resolve() []apierr.Issue {
	if issues := f.check(); issues != nil {
		return issues
	}
	if f.View.periods(f.StartDate.Day, f.EndDate.Day) > maxPeriods {
		return []apierr.Issue{queryIssue("The period has more than 400 columns in this view", "tooMany", "view")}
	}
	return nil
}

type profitInput struct{ ProfitFilter }

func profitAndLoss(ctx context.Context, tx *db.Tx, in *profitInput) (*ProfitAndLoss, error) {
	return ReadProfit(ctx, tx, in.ProfitFilter)
}

// ReadProfit reads the profit and loss that a valid filter selects.
func ReadProfit(ctx context.Context, tx *db.Tx, f ProfitFilter) (*ProfitAndLoss, error) {
	if f.View == "" {
		f.View = ViewTotal
	}
	currency, err := currencyOr(ctx, tx, f.Currency)
	if err != nil {
		return nil, err
	}
	accounts, err := chart(ctx, tx, true)
	if err != nil {
		return nil, err
	}
	revenue, expense := classified(accounts, account.Revenue), classified(accounts, account.Expense)
	earning := make([]id.ID, 0, len(revenue)+len(expense))
	for _, a := range revenue {
		earning = append(earning, a.ID)
	}
	for _, a := range expense {
		earning = append(earning, a.ID)
	}
	cells, err := balances(ctx, tx, BalanceFilter{
		Ledgers: f.Ledger.ledgers(), Currency: currency, From: &f.StartDate.Day, To: f.EndDate.Day, ListingIDs: idsOf(f.ListingIDs), Party: f.Party,
		AccountIDs: earning,
	}, f.View.grouping())
	if err != nil {
		return nil, err
	}
	t := table{average: f.View.ofTime()}
	if t.columns, err = f.columns(ctx, tx, cells); err != nil {
		return nil, err
	}
	behind := Selection{
		StartDate: &f.StartDate, EndDate: &f.EndDate, Party: f.Party, ListingIDs: f.ListingIDs, Ledger: ledger.Ledger(f.Ledger), Currency: string(currency),
	}
	of := func(classes ...account.Classification) Selection {
		s := behind
		s.AccountClassifications = classes
		return s
	}
	sums, all := byAccount(cells), make([]*Cell, len(cells))
	for i := range cells {
		all[i] = &cells[i]
	}
	income := t.section(Column{"revenue", "Revenue"}, -1, revenue, sums, of(account.Revenue))
	costs := t.section(Column{"expense", "Expenses"}, 1, expense, sums, of(account.Expense))
	net := NetIncome{t.figure(Column{"netIncome", "Net income"}, -1, all, of(account.Revenue, account.Expense)), nil}
	base := income.Figure
	net.percentOf(&base)
	costs.percentOf(&base)
	income.percentOf(&base)
	net.Groups = []Section{income, costs}
	return &ProfitAndLoss{
		Currency: currency, StartDate: f.StartDate.Day, EndDate: f.EndDate.Day, View: f.View, Columns: t.columns.shown(), NetIncome: net,
	}, nil
}

func (f *ProfitFilter) columns(ctx context.Context, tx *db.Tx, cells []Cell) (columns, error) {
	switch f.View {
	case ViewLedger:
		return ledgerColumns(f.Ledger), nil
	case ViewParty:
		return partyColumns(f.Party, cells), nil
	case ViewListing:
		return listingColumns(ctx, tx, cells)
	case ViewMonth, ViewQuarter, ViewYear:
		return periodColumns(f.View, f.StartDate.Day, f.EndDate.Day), nil
	case ViewTotal:
	}
	return columns{}, nil
}
