package export

import (
	"context"

	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
	"stayledger/platform/render"
)

const summaryPath = "/reports/owner-statement-summaries-per-layout"

// summaryRows are the filters of the owners' summaries, and the columns.
type summaryRows struct {
	report.SummaryFilter
	Columns []summaryColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// summaryColumn is a column of the CSV.
type summaryColumn string

// Enum lists the columns in their own order.
func (summaryColumn) Enum() []string { return namesOf(summaryColumns) }

// summaryColumns are the columns, in the signs that owners see.
var summaryColumns = []goColumn[report.OwnerSummary]{
	{render.Column{Name: "contactId", Kind: render.ID}, func(o *report.OwnerSummary) any { return o.Contact.ContactID }},
	{render.Column{Name: "name", Kind: render.Text}, func(o *report.OwnerSummary) any { return o.Contact.Name }},
	{render.Column{Name: "firstName", Kind: render.Text}, func(o *report.OwnerSummary) any { return o.Contact.FirstName }},
	{render.Column{Name: "email", Kind: render.Text}, func(o *report.OwnerSummary) any { return o.Contact.Email }},
	{render.Column{Name: "phone", Kind: render.Text}, func(o *report.OwnerSummary) any { return o.Contact.Phone }},
	{render.Column{Name: "listings", Kind: render.Integer}, func(o *report.OwnerSummary) any { return o.Listings }},
	{render.Column{Name: "statements", Kind: render.Integer}, func(o *report.OwnerSummary) any { return o.Statements }},
	{render.Column{Name: "currency", Kind: render.Currency}, func(o *report.OwnerSummary) any { return string(o.Currency) }},
	{render.Column{Name: "balanceStart", Kind: render.Amount}, func(o *report.OwnerSummary) any { return o.Financials.BalanceStart }},
	{render.Column{Name: "netRevenue", Kind: render.Amount}, func(o *report.OwnerSummary) any { return o.Financials.NetRevenue }},
	{render.Column{Name: "expenses", Kind: render.Amount}, func(o *report.OwnerSummary) any { return o.Financials.Expenses }},
	{render.Column{Name: "netIncome", Kind: render.Amount}, func(o *report.OwnerSummary) any { return o.Financials.NetIncome }},
	{render.Column{Name: "payouts", Kind: render.Amount}, func(o *report.OwnerSummary) any { return o.Financials.Payouts }},
	{render.Column{Name: "adjustments", Kind: render.Amount}, func(o *report.OwnerSummary) any { return o.Financials.Adjustments }},
	{render.Column{Name: "balanceEnd", Kind: render.Amount}, func(o *report.OwnerSummary) any { return o.Financials.BalanceEnd }},
	{render.Column{Name: "reserve", Kind: render.Amount}, func(o *report.OwnerSummary) any { return o.Financials.Reserve }},
	{render.Column{Name: "currentBalance", Kind: render.Amount}, func(o *report.OwnerSummary) any { return o.Financials.CurrentBalance }},
}

const summaryRefusals = " Fails with 400 for a period that ends before it starts and for a currency code that is none."

// summariesCSV is EXP-P27.
func summariesCSV() Declaration[summaryRows] {
	return Declaration[summaryRows]{
		Path: summaryPath + "/csv", ID: "OwnerStatementSummariesCSV", Tag: "Reports", Summary: "Export the owners' summaries as CSV",
		Doc:    "One row per owner: the owner's part of all selected statements." + summaryRefusals,
		Format: CSV, Scopes: []string{"reports:export"}, Name: "owner-summaries",
		Check: func(_ context.Context, _ *db.Tx, s *summaryRows) error { return report.CheckCurrency(s.Currency) },
		Count: func(ctx context.Context, tx *db.Tx, s *summaryRows) (Size, error) {
			owners, _, err := report.CountOwnerSummaries(ctx, tx, &s.SummaryFilter)
			return Size{Rows: owners}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *summaryRows, out *Sink) error {
			found, err := report.ReadOwnerSummaries(ctx, tx, &s.SummaryFilter)
			if err != nil {
				return err
			}
			return writeTable(out, chosen(summaryColumns, s.Columns), all(found.Owners))
		},
	}
}

// partRows are the filters of the owners' summaries, and the columns of a part in a statement.
type partRows struct {
	report.SummaryFilter
	Columns []partColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// partColumn is a column of the detailed CSV.
type partColumn string

// Enum lists the columns in their own order.
func (partColumn) Enum() []string { return namesOf(partColumns) }

// partColumns are the columns, in the signs that owners see.
var partColumns = []goColumn[report.OwnerPart]{
	{render.Column{Name: "contactId", Kind: render.ID}, func(p *report.OwnerPart) any { return p.Contact.ContactID }},
	{render.Column{Name: "name", Kind: render.Text}, func(p *report.OwnerPart) any { return p.Contact.Name }},
	{render.Column{Name: "email", Kind: render.Text}, func(p *report.OwnerPart) any { return p.Contact.Email }},
	{render.Column{Name: "listingId", Kind: render.ID}, func(p *report.OwnerPart) any { return p.Statement.Listing.ID }},
	{render.Column{Name: "listing", Kind: render.Text}, func(p *report.OwnerPart) any { return p.Statement.Listing.Name }},
	{render.Column{Name: "listingUniqueRef", Kind: render.ID}, func(p *report.OwnerPart) any { return p.Statement.Listing.UniqueRef }},
	{render.Column{Name: "ownershipPeriodId", Kind: render.ID}, func(p *report.OwnerPart) any { return p.Statement.Ownership.ID }},
	{render.Column{Name: "statementId", Kind: render.ID}, func(p *report.OwnerPart) any { return p.Statement.ID }},
	{render.Column{Name: "shortRef", Kind: render.ID}, func(p *report.OwnerPart) any { return p.Statement.ShortRef }},
	{render.Column{Name: "startAt", Kind: render.Date}, func(p *report.OwnerPart) any { return p.Statement.StartAt }},
	{render.Column{Name: "endAt", Kind: render.Date}, func(p *report.OwnerPart) any { return p.Statement.EndAt }},
	{render.Column{Name: "status", Kind: render.Text}, func(p *report.OwnerPart) any { return p.Statement.Status }},
	{render.Column{Name: "split", Kind: render.Text}, func(p *report.OwnerPart) any { return percent(p.Split) }},
	{render.Column{Name: "currency", Kind: render.Currency}, func(p *report.OwnerPart) any { return p.Statement.Currency }},
	{render.Column{Name: "balanceStart", Kind: render.Amount}, func(p *report.OwnerPart) any { return p.Figures.BalanceStart }},
	{render.Column{Name: "netRevenue", Kind: render.Amount}, func(p *report.OwnerPart) any { return p.Figures.NetRevenue }},
	{render.Column{Name: "expenses", Kind: render.Amount}, func(p *report.OwnerPart) any { return p.Figures.Expenses }},
	{render.Column{Name: "netIncome", Kind: render.Amount}, func(p *report.OwnerPart) any { return p.Figures.NetIncome }},
	{render.Column{Name: "payouts", Kind: render.Amount}, func(p *report.OwnerPart) any { return p.Figures.Payouts }},
	{render.Column{Name: "adjustments", Kind: render.Amount}, func(p *report.OwnerPart) any { return p.Figures.Adjustments }},
	{render.Column{Name: "balanceEnd", Kind: render.Amount}, func(p *report.OwnerPart) any { return p.Figures.BalanceEnd }},
	{render.Column{Name: "reserve", Kind: render.Amount}, func(p *report.OwnerPart) any { return p.Figures.Reserve }},
}

// summaryPartsCSV is EXP-P28.
func summaryPartsCSV() Declaration[partRows] {
	return Declaration[partRows]{
		Path: summaryPath + "/csv/detailed", ID: "OwnerStatementSummariesDetailedCSV", Tag: "Reports", Summary: "Export the owners' summaries by statement as CSV",
		Doc:    "One row per owner and statement, by owner, listing and month: the owner's part of it. The parts of all members add up to the statement." + summaryRefusals,
		Format: CSV, Scopes: []string{"reports:export"}, Name: "owner-summaries-detailed",
		Check: func(_ context.Context, _ *db.Tx, s *partRows) error { return report.CheckCurrency(s.Currency) },
		Count: func(ctx context.Context, tx *db.Tx, s *partRows) (Size, error) {
			_, parts, err := report.CountOwnerSummaries(ctx, tx, &s.SummaryFilter)
			return Size{Rows: parts}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *partRows, out *Sink) error {
			parts, err := report.ReadOwnerParts(ctx, tx, &s.SummaryFilter)
			if err != nil {
				return err
			}
			return writeTable(out, chosen(partColumns, s.Columns), all(parts))
		},
	}
}
