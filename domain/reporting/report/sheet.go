package report

import (
	"cmp"
	"context"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// BalanceSheet shows the assets at the end of a day and to whom they are owed. Revenue and expense are never closed
// into an account: they are the running balances of the parties, together with entries of a party on liabilities
// such as distributions and opening balances. Every entry is in exactly one row, so assets equal liabilities and
// balances.
type BalanceSheet struct {
	Currency    money.Currency `json:"currency"`
	Date        day.Day        `json:"date"`
	View        View           `json:"view" enum:"total,ledger,listing"`
	Columns     []Column       `json:"columns" doc:"None in the view total."`
	Assets      Section        `json:"assets"`
	Liabilities Section        `json:"liabilities"`
	Balances    PartyBalances  `json:"balances"`
	Owed        Figure         `json:"liabilitiesAndBalances"`
	Check       Check          `json:"check"`
}

// PartyBalances are the computed rows: what belongs to the owners and to the manager.
type PartyBalances struct {
	Figure
	Rows []Figure `json:"rows" doc:"owners, manager and, if there is any revenue or expense of no party, unassigned."`
}

// Check is assets less liabilities and balances.
type Check struct {
	Total  money.Cents  `json:"total" doc:"Zero, unless listings were asked for: money in the bank is of no listing."`
	Values []CheckValue `json:"values" doc:"Zero in the columns of ledgers; a listing's column shows what others hold for it."`
}

// CheckValue is the check of a column.
type CheckValue struct {
	ID    string      `json:"id"`
	Title string      `json:"title"`
	Total money.Cents `json:"total"`
}

// SheetFilter selects a balance sheet: query parameters, and the body of its export.
type SheetFilter struct {
	Date       End        `query:"date" format:"date-boundary" json:"date" required:"true" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; a period means its last day."`
	View       View       `query:"view" json:"view,omitempty" enum:"total,ledger,listing" doc:"What the columns stand for. Default: total, which has none."`
	ListingIDs page.Refs  `query:"listingIds" json:"listingIds,omitempty" doc:"null, or unmapped, means entries without a listing."`
	Ledger     liveLedger `query:"ledger" json:"ledger,omitempty" enum:"trust,operating" doc:"Default: both together."`
	Currency   string     `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Default: the team's."`
}

// sheetInput is the input of GET /reports/balance-sheet.
type sheetInput struct{ SheetFilter }

// balanceSheet answers GET /reports/balance-sheet.
func balanceSheet(ctx context.Context, tx *db.Tx, in *sheetInput) (*BalanceSheet, error) {
	if err := ledger.CheckView(ctx, tx, ledger.Ledger(in.Ledger)); err != nil {
		return nil, err
	}

	return loadSheet(ctx, tx, in.SheetFilter)
}

// SheetRow is a row of the balance sheet that entries can be in.
type SheetRow string

// The rows, in their order.
const (
	RowAssets      SheetRow = "assets"
	RowLiabilities SheetRow = "liabilities"
	RowOwners      SheetRow = "owners"
	RowManager     SheetRow = "manager"
	RowUnassigned  SheetRow = "unassigned"
)

// The titles of the computed rows.
const (
	ownersTitle     = "Owner balances"
	managerTitle    = "Manager balance"
	unassignedTitle = "Unassigned income"
)

// Enum returns the rows.
func (SheetRow) Enum() []string {
	return []string{
		string(RowAssets),
		string(RowLiabilities),
		string(RowOwners),
		string(RowManager),
		string(RowUnassigned),
	}
}

// sheetRow returns the row for the entries of an account and party. The filter balanceSheetRows follows the same
// cases.
func sheetRow(a *chartAccount, party ledger.Party) SheetRow {
	switch {
	case party == ledger.Owners && !a.Held:
		return RowOwners
	case party == ledger.Manager && !a.Held:
		return RowManager
	case a.Classification == account.Asset:
		return RowAssets
	case a.Classification == account.Liability:
		return RowLiabilities
	}

	return RowUnassigned
}

// loadSheet returns the balance sheet that a valid filter selects.
func loadSheet(ctx context.Context, tx *db.Tx, f SheetFilter) (*BalanceSheet, error) {
	b, err := f.load(ctx, tx)
	if err != nil {
		return nil, err
	}

	// Sums run from the beginning, so drill-downs have an end date only.
	t := sheetTable{table: table{columns: b.columns}, rows: b.rows()}
	t.behind = Selection{
		EndDate:    &f.Date,
		ListingIDs: f.ListingIDs,
		Ledger:     ledger.Ledger(f.Ledger),
		Currency:   string(b.currency),
	}
	out := &BalanceSheet{Currency: b.currency, Date: f.Date.Day, View: b.view, Columns: t.columns.headings()}

	// Assets are debit positive, all else is credit positive.
	assets, liabilities := accountsIn(b.accounts, account.Asset), accountsIn(b.accounts, account.Liability)
	out.Assets = t.section(
		Column{string(RowAssets), "Assets"}, 1, assets, groupCells(t.rows[RowAssets]), t.selectRows(RowAssets),
	)
	out.Liabilities = t.section(
		Column{string(RowLiabilities), "Liabilities"}, -1,
		liabilities, groupCells(t.rows[RowLiabilities]), t.selectRows(RowLiabilities),
	)

	// Then the computed rows, and the check that both sides are equal.
	out.Balances, out.Owed = t.partyRows()
	out.setShares()

	return out, nil
}

// load loads the data of the report.
func (f *SheetFilter) load(ctx context.Context, tx *db.Tx) (*accountReport, error) {
	b := &accountReport{view: cmp.Or(f.View, ViewTotal)}

	var err error
	if b.currency, err = Currency(ctx, tx, f.Currency); err != nil {
		return nil, err
	}

	if b.accounts, err = loadChart(ctx, tx, true); err != nil {
		return nil, err
	}

	// The row of an entry depends on its party, whatever the view is.
	grouping := b.view.grouping()
	grouping.Party = true

	b.cells, err = Balances(ctx, tx, BalanceFilter{
		Ledgers: f.Ledger.ledgers(), Currency: b.currency, To: f.Date.Day, ListingIDs: f.ListingIDs,
	}, grouping)
	if err != nil {
		return nil, err
	}

	b.columns, err = f.columns(ctx, tx, b.cells)

	return b, err
}

// rows groups the cells by their row of the balance sheet.
func (b *accountReport) rows() map[SheetRow][]*Cell {
	at := make(map[id.ID]*chartAccount, len(b.accounts))
	for i := range b.accounts {
		at[b.accounts[i].ID] = &b.accounts[i]
	}

	rows := map[SheetRow][]*Cell{}

	for i := range b.cells {
		r := sheetRow(at[b.cells[i].AccountID], b.cells[i].Party)
		rows[r] = append(rows[r], &b.cells[i])
	}

	return rows
}

// columns returns the columns of the view. The view total has none.
func (f *SheetFilter) columns(ctx context.Context, tx *db.Tx, cells []Cell) (columns, error) {
	switch f.View {
	case ViewLedger:
		return ledgerColumns(f.Ledger), nil
	case ViewListing:
		return loadListingColumns(ctx, tx, cells)
	case ViewTotal, ViewParty, ViewMonth, ViewQuarter, ViewYear:
	}

	return columns{}, nil
}

// groupCells groups cells by their account.
func groupCells(cells []*Cell) map[id.ID][]*Cell {
	out := map[id.ID][]*Cell{}
	for _, c := range cells {
		out[c.AccountID] = append(out[c.AccountID], c)
	}

	return out
}

// sheetTable makes the rows of a balance sheet.
type sheetTable struct {
	table
	rows   map[SheetRow][]*Cell
	behind Selection
}

// selectRows returns the selection of the entries in rows.
func (t *sheetTable) selectRows(rows ...SheetRow) Selection {
	f := t.behind
	f.BalanceSheetRows = rows

	return f
}

// credit returns a row that adds up the cells of other rows, credit positive.
func (t *sheetTable) credit(name Column, rows ...SheetRow) Figure {
	var cells []*Cell
	for _, r := range rows {
		cells = append(cells, t.rows[r]...)
	}

	return t.figure(name, -1, cells, t.selectRows(rows...))
}

// partyRows returns the rows of the parties with their sum, and the sum of these and the liabilities.
func (t *sheetTable) partyRows() (PartyBalances, Figure) {
	b := PartyBalances{
		Figure: t.credit(Column{"balances", "Owner and manager balances"}, RowOwners, RowManager, RowUnassigned),
		Rows: []Figure{
			t.credit(Column{string(RowOwners), ownersTitle}, RowOwners),
			t.credit(Column{string(RowManager), managerTitle}, RowManager),
		},
	}

	// Revenue and expense without a party have a row only if there are any.
	if len(t.rows[RowUnassigned]) > 0 {
		b.Rows = append(b.Rows, t.credit(Column{string(RowUnassigned), unassignedTitle}, RowUnassigned))
	}

	all := Column{"liabilitiesAndBalances", "Liabilities and balances"}

	return b, t.credit(all, RowLiabilities, RowOwners, RowManager, RowUnassigned)
}

// setShares fills in the percentages of the assets and the check of both sides.
func (s *BalanceSheet) setShares() {
	base := s.Assets.Figure
	s.Liabilities.setPercentages(&base)

	for i := range s.Balances.Rows {
		s.Balances.Rows[i].setPercentages(&base)
	}

	s.Balances.setPercentages(&base)
	s.Owed.setPercentages(&base)

	// The assets are parts of their own total.
	s.Assets.setPercentages(&base)

	s.Check = Check{Total: base.Total - s.Owed.Total, Values: make([]CheckValue, len(base.Values))}
	for i := range base.Values {
		s.Check.Values[i] = CheckValue{
			ID:    base.Values[i].ID,
			Title: base.Values[i].Title,
			Total: base.Values[i].Total - s.Owed.Values[i].Total,
		}
	}
}
