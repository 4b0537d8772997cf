package report

import (
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

// TrialBalance lists the accounts with their beginning balance and the movements of a period.
type TrialBalance struct {
	Currency  money.Currency `json:"currency"`
	StartDate day.Day        `json:"startDate"`
	EndDate   day.Day        `json:"endDate" doc:"Last day, included."`
	Data      []TrialRow     `json:"data"`
	Totals    TrialTotals    `json:"totals"`
}

// TrialFigures are cents, debit positive, in debit and credit alike, each with the entries behind it.
type TrialFigures struct {
	Beginning money.Cents `json:"beginning" doc:"Balance before the start date, debit positive."`
	Debit     money.Cents `json:"debit"`
	Credit    money.Cents `json:"credit"`
	Ending    money.Cents `json:"ending" doc:"beginning + debit - credit."`

	Drilldown          Drilldown  `json:"drilldown" doc:"The entries with these debits and credits."`
	BeginningDrilldown *Drilldown `json:"beginningDrilldown" doc:"The entries that the beginning adds up; null where the calendar begins."`
	EndingDrilldown    Drilldown  `json:"endingDrilldown"`
}

// TrialRow is one account.
type TrialRow struct {
	Account        account.Ref            `json:"account"`
	Classification account.Classification `json:"classification" enum:"asset,liability,revenue,expense"`
	TrialFigures
}

// TrialTotals are the sums over all accounts: unless a party or a listing is asked for, debit equals credit, and
// beginning and ending are zero.
type TrialTotals struct{ TrialFigures }

// TrialFilter selects a trial balance: query parameters, and the body of its export.
type TrialFilter struct {
	Period
	Party      ledger.Party `query:"party" json:"party,omitempty" enum:"owners,manager,null" doc:"null: entries of no party."`
	ListingIDs page.Refs    `query:"listingIds" json:"listingIds,omitempty" doc:"null, or unmapped, means entries without a listing."`
	Ledger     liveLedger   `query:"ledger" json:"ledger,omitempty" enum:"trust,operating" doc:"Default: both together."`
	Currency   string       `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Default: the team's."`
}

// Resolve refuses a period that ends before it starts.
func (f TrialFilter) Resolve() []apierr.Issue { return f.Check() }

// trialInput is the input of GET /reports/trial-balance.
type trialInput struct{ TrialFilter }

// trialBalance answers GET /reports/trial-balance.
func trialBalance(ctx context.Context, tx *db.Tx, in *trialInput) (*TrialBalance, error) {
	if err := ledger.CheckView(ctx, tx, ledger.Ledger(in.Ledger)); err != nil {
		return nil, err
	}

	return loadTrial(ctx, tx, in.TrialFilter)
}

// loadTrial returns the trial balance that a valid filter selects.
func loadTrial(ctx context.Context, tx *db.Tx, f TrialFilter) (*TrialBalance, error) {
	currency, err := Currency(ctx, tx, f.Currency)
	if err != nil {
		return nil, err
	}

	accounts, err := loadChart(ctx, tx, false)
	if err != nil {
		return nil, err
	}

	before, during, err := BalancesAround(ctx, tx, BalanceFilter{
		Ledgers:    f.Ledger.ledgers(),
		Currency:   currency,
		From:       &f.StartDate.Day,
		To:         f.EndDate.Day,
		ListingIDs: f.ListingIDs,
		Party:      f.Party,
	}, Grouping{})
	if err != nil {
		return nil, err
	}

	// First collect the sums by account: some accounts have only a beginning, others only movements.
	figures := map[id.ID]*TrialFigures{}

	of := func(account id.ID) *TrialFigures {
		if figures[account] == nil {
			figures[account] = &TrialFigures{}
		}

		return figures[account]
	}
	for i := range before {
		of(before[i].AccountID).Beginning = before[i].Net()
	}

	for i := range during {
		at := of(during[i].AccountID)
		at.Debit, at.Credit = during[i].Debit, during[i].Credit
	}

	// Then a row for each account with any amount, in the order of the chart, and the totals.
	behind := Selection{
		Party:      f.Party,
		ListingIDs: f.ListingIDs,
		Ledger:     ledger.Ledger(f.Ledger),
		Currency:   string(currency),
	}
	out := &TrialBalance{Currency: currency, StartDate: f.StartDate.Day, EndDate: f.EndDate.Day, Data: []TrialRow{}}

	for i := range accounts {
		a := &accounts[i]

		moved := figures[a.ID]
		if moved == nil || moved.Beginning == 0 && moved.Debit == 0 && moved.Credit == 0 {
			continue
		}

		own := behind
		own.AccountIDs = page.Only(a.ID)
		moved.setDrilldowns(own, f.Period)
		out.Data = append(out.Data, TrialRow{Account: a.ref(), Classification: a.Classification, TrialFigures: *moved})
		out.Totals.Beginning += moved.Beginning
		out.Totals.Debit += moved.Debit
		out.Totals.Credit += moved.Credit
	}

	// The totals have drill-downs too, over all accounts.
	out.Totals.setDrilldowns(behind, f.Period)

	return out, nil
}

// setDrilldowns fills in the ending and the drill-downs.
func (t *TrialFigures) setDrilldowns(behind Selection, p Period) {
	t.Ending = t.Beginning + t.Debit - t.Credit

	// The ending includes everything up to the last day, the movements only the period.
	until := behind
	until.EndDate = &p.EndDate
	t.EndingDrilldown = DrilldownTo(until)
	until.StartDate = &p.StartDate
	t.Drilldown = DrilldownTo(until)

	// No day can be before the calendar begins: then there is no drill-down to earlier entries.
	if last := p.StartDate.AddDays(-1); !last.Before(day.Earliest) {
		behind.EndDate = &End{last}
		earlier := DrilldownTo(behind)
		t.BeginningDrilldown = &earlier
	}
}
