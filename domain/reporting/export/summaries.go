package export

import (
	"context"

	"stayledger/domain/reporting/report"
	"stayledger/domain/reporting/summary"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// summaryRows is the selector of the CSV: the filters of the owners' summaries, and the columns.
type summaryRows struct {
	summary.Filter
	Columns []summaryColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// summaryColumn is a column of the CSV.
type summaryColumn string

// Enum returns the names of the columns in their own order.
func (summaryColumn) Enum() []string { return columnNames(summaryColumns) }

// summaryColumns are the columns, in the signs that owners see.
var summaryColumns = []goColumn[summary.OwnerSummary]{
	{csv.Column{Name: "contactId", Kind: csv.ID}, func(o *summary.OwnerSummary) any { return o.Contact.ContactID }},
	{csv.Column{Name: "name", Kind: csv.Text}, func(o *summary.OwnerSummary) any { return o.Contact.Name }},
	{csv.Column{Name: "firstName", Kind: csv.Text}, func(o *summary.OwnerSummary) any { return o.Contact.FirstName }},
	{csv.Column{Name: "email", Kind: csv.Text}, func(o *summary.OwnerSummary) any { return o.Contact.Email }},
	{csv.Column{Name: "phone", Kind: csv.Text}, func(o *summary.OwnerSummary) any { return o.Contact.Phone }},
	{csv.Column{Name: "listings", Kind: csv.Integer}, func(o *summary.OwnerSummary) any { return o.Listings }},
	{csv.Column{Name: "statements", Kind: csv.Integer}, func(o *summary.OwnerSummary) any { return o.Statements }},
	{csv.Column{Name: "currency", Kind: csv.Currency}, func(o *summary.OwnerSummary) any { return string(o.Currency) }},
	{csv.Column{Name: "balanceStart", Kind: csv.Amount}, func(o *summary.OwnerSummary) any {
		return o.Financials.BalanceStart
	}},
	{csv.Column{Name: "netRevenue", Kind: csv.Amount}, func(o *summary.OwnerSummary) any {
		return o.Financials.NetRevenue
	}},
	{csv.Column{Name: "expenses", Kind: csv.Amount}, func(o *summary.OwnerSummary) any {
		return o.Financials.Expenses
	}},
	{csv.Column{Name: "netIncome", Kind: csv.Amount}, func(o *summary.OwnerSummary) any {
		return o.Financials.NetIncome
	}},
	{csv.Column{Name: "payouts", Kind: csv.Amount}, func(o *summary.OwnerSummary) any { return o.Financials.Payouts }},
	{csv.Column{Name: "adjustments", Kind: csv.Amount}, func(o *summary.OwnerSummary) any {
		return o.Financials.Adjustments
	}},
	{csv.Column{Name: "balanceEnd", Kind: csv.Amount}, func(o *summary.OwnerSummary) any {
		return o.Financials.BalanceEnd
	}},
	{csv.Column{Name: "reserve", Kind: csv.Amount}, func(o *summary.OwnerSummary) any { return o.Financials.Reserve }},
	{csv.Column{Name: "currentBalance", Kind: csv.Amount}, func(o *summary.OwnerSummary) any {
		return o.Financials.CurrentBalance
	}},
}

const summaryRefusals = " Fails with 400 for a period that ends before it starts and for a currency code that is none."

// summariesCSV declares EXP-P27, the export of the owners' summaries.
func summariesCSV() Declaration[summaryRows] {
	return Declaration[summaryRows]{
		Path:    summary.Path + "/csv",
		ID:      "OwnerStatementSummariesCSV",
		Tag:     "Reports",
		Summary: "Export the owners' summaries as CSV",
		Doc:     "One row per owner: the owner's part of all selected statements." + summaryRefusals,
		Format:  CSV,
		Scopes:  []string{"reports:export"},
		Name:    "owner-summaries",
		Check:   func(_ context.Context, _ *db.Tx, s *summaryRows) error { return report.CheckCurrency(s.Currency) },
		Count: func(ctx context.Context, tx *db.Tx, s *summaryRows) (Size, error) {
			owners, _, err := summary.CountOwnerSummaries(ctx, tx, &s.Filter)
			return Size{Rows: owners}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *summaryRows, out *Sink) error {
			found, err := summary.ReadOwnerSummaries(ctx, tx, &s.Filter)
			if err != nil {
				return err
			}

			return writeTable(out, selectColumns(summaryColumns, s.Columns), yieldRows(found.Owners))
		},
	}
}

// partRows is the selector of the detailed CSV: the filters of the owners' summaries, and the columns of a part in
// a statement.
type partRows struct {
	summary.Filter
	Columns []partColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// partColumn is a column of the detailed CSV.
type partColumn string

// Enum returns the names of the columns in their own order.
func (partColumn) Enum() []string { return columnNames(partColumns) }

// partColumns are the columns, in the signs that owners see.
var partColumns = []goColumn[summary.OwnerPart]{
	{csv.Column{Name: "contactId", Kind: csv.ID}, func(p *summary.OwnerPart) any { return p.Contact.ContactID }},
	{csv.Column{Name: "name", Kind: csv.Text}, func(p *summary.OwnerPart) any { return p.Contact.Name }},
	{csv.Column{Name: "email", Kind: csv.Text}, func(p *summary.OwnerPart) any { return p.Contact.Email }},
	{csv.Column{Name: "listingId", Kind: csv.ID}, func(p *summary.OwnerPart) any { return p.Statement.Listing.ID }},
	{csv.Column{Name: "listing", Kind: csv.Text}, func(p *summary.OwnerPart) any { return p.Statement.Listing.Name }},
	{csv.Column{Name: "listingUniqueRef", Kind: csv.ID}, func(p *summary.OwnerPart) any {
		return p.Statement.Listing.UniqueRef
	}},
	{csv.Column{Name: "ownershipPeriodId", Kind: csv.ID}, func(p *summary.OwnerPart) any {
		return p.Statement.Ownership.ID
	}},
	{csv.Column{Name: "statementId", Kind: csv.ID}, func(p *summary.OwnerPart) any { return p.Statement.ID }},
	{csv.Column{Name: "shortRef", Kind: csv.ID}, func(p *summary.OwnerPart) any { return p.Statement.ShortRef }},
	{csv.Column{Name: "startAt", Kind: csv.Date}, func(p *summary.OwnerPart) any { return p.Statement.StartAt }},
	{csv.Column{Name: "endAt", Kind: csv.Date}, func(p *summary.OwnerPart) any { return p.Statement.EndAt }},
	{csv.Column{Name: "status", Kind: csv.Text}, func(p *summary.OwnerPart) any { return p.Statement.Status }},
	{csv.Column{Name: "split", Kind: csv.Text}, func(p *summary.OwnerPart) any { return percent(p.Split) }},
	{csv.Column{Name: "currency", Kind: csv.Currency}, func(p *summary.OwnerPart) any { return p.Statement.Currency }},
	{csv.Column{Name: "balanceStart", Kind: csv.Amount}, func(p *summary.OwnerPart) any {
		return p.Figures.BalanceStart
	}},
	{csv.Column{Name: "netRevenue", Kind: csv.Amount}, func(p *summary.OwnerPart) any { return p.Figures.NetRevenue }},
	{csv.Column{Name: "expenses", Kind: csv.Amount}, func(p *summary.OwnerPart) any { return p.Figures.Expenses }},
	{csv.Column{Name: "netIncome", Kind: csv.Amount}, func(p *summary.OwnerPart) any { return p.Figures.NetIncome }},
	{csv.Column{Name: "payouts", Kind: csv.Amount}, func(p *summary.OwnerPart) any { return p.Figures.Payouts }},
	{csv.Column{Name: "adjustments", Kind: csv.Amount}, func(p *summary.OwnerPart) any {
		return p.Figures.Adjustments
	}},
	{csv.Column{Name: "balanceEnd", Kind: csv.Amount}, func(p *summary.OwnerPart) any { return p.Figures.BalanceEnd }},
	{csv.Column{Name: "reserve", Kind: csv.Amount}, func(p *summary.OwnerPart) any { return p.Figures.Reserve }},
}

// summaryPartsCSV declares EXP-P28, the export of the owners' parts by statement.
func summaryPartsCSV() Declaration[partRows] {
	return Declaration[partRows]{
		Path:    summary.Path + "/csv/detailed",
		ID:      "OwnerStatementSummariesDetailedCSV",
		Tag:     "Reports",
		Summary: "Export the owners' summaries by statement as CSV",
		Doc: "One row per owner and statement, by owner, listing and month: the owner's part of it. The parts " +
			"of all members add up to the statement." + summaryRefusals,
		Format: CSV,
		Scopes: []string{"reports:export"},
		Name:   "owner-summaries-detailed",
		Check:  func(_ context.Context, _ *db.Tx, s *partRows) error { return report.CheckCurrency(s.Currency) },
		Count: func(ctx context.Context, tx *db.Tx, s *partRows) (Size, error) {
			_, parts, err := summary.CountOwnerSummaries(ctx, tx, &s.Filter)
			return Size{Rows: parts}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *partRows, out *Sink) error {
			parts, err := summary.ReadOwnerParts(ctx, tx, &s.Filter)
			if err != nil {
				return err
			}

			return writeTable(out, selectColumns(partColumns, s.Columns), yieldRows(parts))
		},
	}
}
