package statement

import (
	"context"
	"strings"

	"stayledger/domain/record/export"
	"stayledger/platform/apierr"
	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/money"
)

// statementRows is the selector of the CSV: the filters of GET /statements, and the columns.
type statementRows struct {
	Filter
	Columns []statementColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// statementColumn is a column of the CSV.
type statementColumn string

// Enum returns the names of the columns in their own order.
func (statementColumn) Enum() []string { return export.ColumnNames(statementColumns) }

// statementColumns are the columns, in the signs that owners see: what lowers their balance is negative.
var statementColumns = []export.GoColumn[Statement]{
	export.FromRow("id", csv.ID, func(s *Statement) any { return s.ID }),
	export.FromRow("shortRef", csv.ID, func(s *Statement) any { return s.ShortRef }),
	export.FromRow("uniqueRef", csv.ID, func(s *Statement) any { return s.UniqueRef }),
	export.FromRow("startAt", csv.Date, func(s *Statement) any { return s.StartAt }),
	export.FromRow("endAt", csv.Date, func(s *Statement) any { return s.EndAt }),
	export.FromRow("status", csv.Text, func(s *Statement) any { return s.Status }),
	export.FromRow("version", csv.Integer, func(s *Statement) any { return s.Version }),
	export.FromRow("publishedAt", csv.Instant, func(s *Statement) any { return s.PublishedAt }),
	export.FromRow("source", csv.Text, func(s *Statement) any { return s.Source.Type }),
	export.FromRow("listingId", csv.ID, func(s *Statement) any { return s.Listing.ID }),
	export.FromRow("listing", csv.Text, func(s *Statement) any { return s.Listing.Name }),
	export.FromRow("listingUniqueRef", csv.ID, func(s *Statement) any {
		return s.Listing.UniqueRef
	}),
	export.FromRow("ownershipPeriodId", csv.ID, func(s *Statement) any { return s.Ownership.ID }),
	export.FromRow("ownershipStartAt", csv.Date, func(s *Statement) any {
		return s.Ownership.StartAt
	}),
	export.FromRow("ownershipEndAt", csv.Date, func(s *Statement) any { return s.Ownership.EndAt }),
	export.FromRow("ownerIds", csv.ID, func(s *Statement) any {
		return ownerIDs(shareOwners(s.Shares))
	}),
	export.FromRow("owners", csv.Text, func(s *Statement) any {
		return ownerNames(shareOwners(s.Shares))
	}),
	export.FromRow("currency", csv.Currency, func(s *Statement) any { return s.Currency }),
	export.FromRow("balanceStart", csv.Amount, func(s *Statement) any {
		return s.Financials.BalanceStart
	}),
	export.FromRow("netRevenue", csv.Amount, func(s *Statement) any {
		return s.Financials.NetRevenue
	}),
	export.FromRow("expenses", csv.Amount, func(s *Statement) any { return s.Financials.Expenses }),
	export.FromRow("netIncome", csv.Amount, func(s *Statement) any {
		return s.Financials.NetIncome
	}),
	export.FromRow("payouts", csv.Amount, func(s *Statement) any { return s.Financials.Payouts }),
	export.FromRow("balanceEnd", csv.Amount, func(s *Statement) any {
		return s.Financials.BalanceEnd
	}),
	export.FromRow("reserve", csv.Amount, func(s *Statement) any { return s.Financials.Reserve }),
	export.FromRow("available", csv.Amount, func(s *Statement) any {
		return s.Financials.Available
	}),
	export.FromRow("received", csv.Amount, func(s *Statement) any { return s.Payment.Received }),
	export.FromRow("open", csv.Amount, func(s *Statement) any { return s.Payment.Open }),
	export.FromRow("paymentStatus", csv.Text, func(s *Statement) any { return s.Payment.Status }),
	export.FromRow("issues", csv.Text, func(s *Statement) any {
		codes := make([]string, len(s.Issues))
		for i := range s.Issues {
			codes[i] = s.Issues[i].Code
		}

		return strings.Join(codes, "; ")
	}),
}

// shareOwners returns the owners of a statement by its shares.
func shareOwners(shares []Share) []Owner {
	owners := make([]Owner, len(shares))
	for i := range shares {
		owners[i] = Owner{ContactID: shares[i].ContactID, Name: shares[i].Name, Split: shares[i].Split}
	}

	return owners
}

// ownerNames returns a text such as "Ann Owner 60%; Ben Owner 40%".
func ownerNames(owners []Owner) string {
	names := make([]string, len(owners))
	for i := range owners {
		names[i] = owners[i].Name + " " + money.Rate(owners[i].Split).Percent()
	}

	return strings.Join(names, "; ")
}

// ownerIDs returns the contacts of the owners as one text, in the order of ownerNames.
func ownerIDs(owners []Owner) string {
	ids := make([]string, len(owners))
	for i := range owners {
		ids[i] = owners[i].ContactID.String()
	}

	return strings.Join(ids, "; ")
}

// statementsCSV declares EXP-P08, the export of owner statements.
func statementsCSV() export.Declaration[statementRows] {
	return export.Declaration[statementRows]{
		Path: "/statements/csv", ID: "StatementsCSV", Tag: "Statements", Summary: "Export owner statements as CSV",
		Doc: "One row per selected statement, drafts included, with its figures and what was paid on " +
			"it." + statementRefusals,
		Format: export.CSV, Scopes: []string{"statements:export"}, Name: "statements",
		Errors: apierr.List{errWithoutOwners},
		Check:  func(ctx context.Context, tx *db.Tx, s *statementRows) error { return checkOwners(ctx, tx, &s.Filter) },
		Count: func(ctx context.Context, tx *db.Tx, s *statementRows) (export.Size, error) {
			n, err := Count(ctx, tx, s.Filter)
			return export.Size{Rows: n.Statements}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *statementRows, out *export.Sink) error {
			// Statements are written as they are read, so that memory does not grow with the selection.
			return export.WriteTable(
				out,
				export.SelectColumns(statementColumns, s.Columns),
				yieldFrom(func(f func(*Statement) error) error {
					return Each(ctx, tx, s.Filter, f)
				}),
			)
		},
	}
}
