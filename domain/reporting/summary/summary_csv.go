package summary

import (
	"context"

	"stayledger/domain/record/export"
	"stayledger/domain/reporting/report"
	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/money"
)

// summaryRows is the selector of the CSV: the filters of the owners' summaries, and the columns.
type summaryRows struct {
	Filter
	Columns []summaryColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// summaryColumn is a column of the CSV.
type summaryColumn string

// Enum returns the names of the columns in their own order.
func (summaryColumn) Enum() []string { return export.ColumnNames(summaryColumns) }

// summaryColumns are the columns, in the signs that owners see.
var summaryColumns = []export.GoColumn[OwnerSummary]{
	export.FromRow("contactId", csv.ID, func(o *OwnerSummary) any { return o.Contact.ContactID }),
	export.FromRow("name", csv.Text, func(o *OwnerSummary) any { return o.Contact.Name }),
	export.FromRow("firstName", csv.Text, func(o *OwnerSummary) any { return o.Contact.FirstName }),
	export.FromRow("email", csv.Text, func(o *OwnerSummary) any { return o.Contact.Email }),
	export.FromRow("phone", csv.Text, func(o *OwnerSummary) any { return o.Contact.Phone }),
	export.FromRow("listings", csv.Integer, func(o *OwnerSummary) any { return o.Listings }),
	export.FromRow("statements", csv.Integer, func(o *OwnerSummary) any { return o.Statements }),
	export.FromRow("currency", csv.Currency, func(o *OwnerSummary) any { return string(o.Currency) }),
	export.FromRow("balanceStart", csv.Amount, func(o *OwnerSummary) any {
		return o.Financials.BalanceStart
	}),
	export.FromRow("netRevenue", csv.Amount, func(o *OwnerSummary) any {
		return o.Financials.NetRevenue
	}),
	export.FromRow("expenses", csv.Amount, func(o *OwnerSummary) any {
		return o.Financials.Expenses
	}),
	export.FromRow("netIncome", csv.Amount, func(o *OwnerSummary) any {
		return o.Financials.NetIncome
	}),
	export.FromRow("payouts", csv.Amount, func(o *OwnerSummary) any { return o.Financials.Payouts }),
	export.FromRow("adjustments", csv.Amount, func(o *OwnerSummary) any {
		return o.Financials.Adjustments
	}),
	export.FromRow("balanceEnd", csv.Amount, func(o *OwnerSummary) any {
		return o.Financials.BalanceEnd
	}),
	export.FromRow("reserve", csv.Amount, func(o *OwnerSummary) any { return o.Financials.Reserve }),
	export.FromRow("currentBalance", csv.Amount, func(o *OwnerSummary) any {
		return o.Financials.CurrentBalance
	}),
}

const summaryRefusals = " Fails with 400 for a period that ends before it starts and for a currency code that is none."

// summariesCSV declares EXP-P27, the export of the owners' summaries.
func summariesCSV() export.Declaration[summaryRows] {
	return export.Declaration[summaryRows]{
		Path:    Path + "/csv",
		ID:      "OwnerStatementSummariesCSV",
		Tag:     "Reports",
		Summary: "Export the owners' summaries as CSV",
		Doc:     "One row per owner: the owner's part of all selected statements." + summaryRefusals,
		Format:  export.CSV,
		Scopes:  []string{"reports:export"},
		Name:    "owner-summaries",
		Check:   func(_ context.Context, _ *db.Tx, s *summaryRows) error { return report.CheckCurrency(s.Currency) },
		Count: func(ctx context.Context, tx *db.Tx, s *summaryRows) (export.Size, error) {
			owners, _, err := countOwnerSummaries(ctx, tx, &s.Filter)
			return export.Size{Rows: owners}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *summaryRows, out *export.Sink) error {
			found, err := loadOwnerSummaries(ctx, tx, &s.Filter)
			if err != nil {
				return err
			}

			return export.WriteTable(
				out, export.SelectColumns(summaryColumns, s.Columns), export.YieldRows(found.Owners),
			)
		},
	}
}

// partRows is the selector of the detailed CSV: the filters of the owners' summaries, and the columns of a part in
// a statement.
type partRows struct {
	Filter
	Columns []partColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// partColumn is a column of the detailed CSV.
type partColumn string

// Enum returns the names of the columns in their own order.
func (partColumn) Enum() []string { return export.ColumnNames(partColumns) }

// partColumns are the columns, in the signs that owners see.
var partColumns = []export.GoColumn[OwnerPart]{
	export.FromRow("contactId", csv.ID, func(p *OwnerPart) any { return p.Contact.ContactID }),
	export.FromRow("name", csv.Text, func(p *OwnerPart) any { return p.Contact.Name }),
	export.FromRow("email", csv.Text, func(p *OwnerPart) any { return p.Contact.Email }),
	export.FromRow("listingId", csv.ID, func(p *OwnerPart) any { return p.Statement.Listing.ID }),
	export.FromRow("listing", csv.Text, func(p *OwnerPart) any { return p.Statement.Listing.Name }),
	export.FromRow("listingUniqueRef", csv.ID, func(p *OwnerPart) any {
		return p.Statement.Listing.UniqueRef
	}),
	export.FromRow("ownershipPeriodId", csv.ID, func(p *OwnerPart) any {
		return p.Statement.Ownership.ID
	}),
	export.FromRow("statementId", csv.ID, func(p *OwnerPart) any { return p.Statement.ID }),
	export.FromRow("shortRef", csv.ID, func(p *OwnerPart) any { return p.Statement.ShortRef }),
	export.FromRow("startAt", csv.Date, func(p *OwnerPart) any { return p.Statement.StartAt }),
	export.FromRow("endAt", csv.Date, func(p *OwnerPart) any { return p.Statement.EndAt }),
	export.FromRow("status", csv.Text, func(p *OwnerPart) any { return p.Statement.Status }),
	export.FromRow("split", csv.Text, func(p *OwnerPart) any { return money.Rate(p.Split).Percent() }),
	export.FromRow("currency", csv.Currency, func(p *OwnerPart) any { return p.Statement.Currency }),
	export.FromRow("balanceStart", csv.Amount, func(p *OwnerPart) any {
		return p.Figures.BalanceStart
	}),
	export.FromRow("netRevenue", csv.Amount, func(p *OwnerPart) any { return p.Figures.NetRevenue }),
	export.FromRow("expenses", csv.Amount, func(p *OwnerPart) any { return p.Figures.Expenses }),
	export.FromRow("netIncome", csv.Amount, func(p *OwnerPart) any { return p.Figures.NetIncome }),
	export.FromRow("payouts", csv.Amount, func(p *OwnerPart) any { return p.Figures.Payouts }),
	export.FromRow("adjustments", csv.Amount, func(p *OwnerPart) any {
		return p.Figures.Adjustments
	}),
	export.FromRow("balanceEnd", csv.Amount, func(p *OwnerPart) any { return p.Figures.BalanceEnd }),
	export.FromRow("reserve", csv.Amount, func(p *OwnerPart) any { return p.Figures.Reserve }),
}

// summaryPartsCSV declares EXP-P28, the export of the owners' parts by statement.
func summaryPartsCSV() export.Declaration[partRows] {
	return export.Declaration[partRows]{
		Path:    Path + "/csv/detailed",
		ID:      "OwnerStatementSummariesDetailedCSV",
		Tag:     "Reports",
		Summary: "Export the owners' summaries by statement as CSV",
		Doc: "One row per owner and statement, by owner, listing and month: the owner's part of it. The parts " +
			"of all members add up to the statement." + summaryRefusals,
		Format: export.CSV,
		Scopes: []string{"reports:export"},
		Name:   "owner-summaries-detailed",
		Check:  func(_ context.Context, _ *db.Tx, s *partRows) error { return report.CheckCurrency(s.Currency) },
		Count: func(ctx context.Context, tx *db.Tx, s *partRows) (export.Size, error) {
			_, parts, err := countOwnerSummaries(ctx, tx, &s.Filter)
			return export.Size{Rows: parts}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *partRows, out *export.Sink) error {
			parts, err := loadOwnerParts(ctx, tx, &s.Filter)
			if err != nil {
				return err
			}

			return export.WriteTable(out, export.SelectColumns(partColumns, s.Columns), export.YieldRows(parts))
		},
	}
}
