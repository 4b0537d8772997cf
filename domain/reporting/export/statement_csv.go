package export

import (
	"context"
	"errors"
	"iter"
	"strings"

	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// statementRows is the selector of the CSV: the filters of GET /statements, and the columns.
type statementRows struct {
	statement.Filter
	Columns []statementColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// statementColumn is a column of the CSV.
type statementColumn string

// Enum returns the names of the columns in their own order.
func (statementColumn) Enum() []string { return columnNames(statementColumns) }

// statementColumns are the columns, in the signs that owners see: what lowers their balance is negative.
var statementColumns = []goColumn[statement.Statement]{
	{csv.Column{Name: "id", Kind: csv.ID}, func(s *statement.Statement) any { return s.ID }},
	{csv.Column{Name: "shortRef", Kind: csv.ID}, func(s *statement.Statement) any { return s.ShortRef }},
	{csv.Column{Name: "uniqueRef", Kind: csv.ID}, func(s *statement.Statement) any { return s.UniqueRef }},
	{csv.Column{Name: "startAt", Kind: csv.Date}, func(s *statement.Statement) any { return s.StartAt }},
	{csv.Column{Name: "endAt", Kind: csv.Date}, func(s *statement.Statement) any { return s.EndAt }},
	{csv.Column{Name: "status", Kind: csv.Text}, func(s *statement.Statement) any { return s.Status }},
	{csv.Column{Name: "version", Kind: csv.Integer}, func(s *statement.Statement) any { return s.Version }},
	{csv.Column{Name: "publishedAt", Kind: csv.Instant}, func(s *statement.Statement) any { return s.PublishedAt }},
	{csv.Column{Name: "source", Kind: csv.Text}, func(s *statement.Statement) any { return s.Source.Type }},
	{csv.Column{Name: "listingId", Kind: csv.ID}, func(s *statement.Statement) any { return s.Listing.ID }},
	{csv.Column{Name: "listing", Kind: csv.Text}, func(s *statement.Statement) any { return s.Listing.Name }},
	{csv.Column{Name: "listingUniqueRef", Kind: csv.ID}, func(s *statement.Statement) any {
		return s.Listing.UniqueRef
	}},
	{csv.Column{Name: "ownershipPeriodId", Kind: csv.ID}, func(s *statement.Statement) any { return s.Ownership.ID }},
	{csv.Column{Name: "ownershipStartAt", Kind: csv.Date}, func(s *statement.Statement) any {
		return s.Ownership.StartAt
	}},
	{csv.Column{Name: "ownershipEndAt", Kind: csv.Date}, func(s *statement.Statement) any { return s.Ownership.EndAt }},
	{csv.Column{Name: "ownerIds", Kind: csv.ID}, func(s *statement.Statement) any {
		return ownerIDs(shareOwners(s.Shares))
	}},
	{csv.Column{Name: "owners", Kind: csv.Text}, func(s *statement.Statement) any {
		return ownerNames(shareOwners(s.Shares))
	}},
	{csv.Column{Name: "currency", Kind: csv.Currency}, func(s *statement.Statement) any { return s.Currency }},
	{csv.Column{Name: "balanceStart", Kind: csv.Amount}, func(s *statement.Statement) any {
		return s.Financials.BalanceStart
	}},
	{csv.Column{Name: "netRevenue", Kind: csv.Amount}, func(s *statement.Statement) any {
		return s.Financials.NetRevenue
	}},
	{csv.Column{Name: "expenses", Kind: csv.Amount}, func(s *statement.Statement) any { return s.Financials.Expenses }},
	{csv.Column{Name: "netIncome", Kind: csv.Amount}, func(s *statement.Statement) any {
		return s.Financials.NetIncome
	}},
	{csv.Column{Name: "payouts", Kind: csv.Amount}, func(s *statement.Statement) any { return s.Financials.Payouts }},
	{csv.Column{Name: "balanceEnd", Kind: csv.Amount}, func(s *statement.Statement) any {
		return s.Financials.BalanceEnd
	}},
	{csv.Column{Name: "reserve", Kind: csv.Amount}, func(s *statement.Statement) any { return s.Financials.Reserve }},
	{csv.Column{Name: "available", Kind: csv.Amount}, func(s *statement.Statement) any {
		return s.Financials.Available
	}},
	{csv.Column{Name: "received", Kind: csv.Amount}, func(s *statement.Statement) any { return s.Payment.Received }},
	{csv.Column{Name: "open", Kind: csv.Amount}, func(s *statement.Statement) any { return s.Payment.Open }},
	{csv.Column{Name: "paymentStatus", Kind: csv.Text}, func(s *statement.Statement) any { return s.Payment.Status }},
	{csv.Column{Name: "issues", Kind: csv.Text}, func(s *statement.Statement) any {
		codes := make([]string, len(s.Issues))
		for i := range s.Issues {
			codes[i] = s.Issues[i].Code
		}

		return strings.Join(codes, "; ")
	}},
}

// shareOwners returns the owners of a statement by its shares.
func shareOwners(shares []statement.Share) []statement.Owner {
	owners := make([]statement.Owner, len(shares))
	for i := range shares {
		owners[i] = statement.Owner{ContactID: shares[i].ContactID, Name: shares[i].Name, Split: shares[i].Split}
	}

	return owners
}

// ownerNames returns a text such as "Ann Owner 60%; Ben Owner 40%".
func ownerNames(owners []statement.Owner) string {
	names := make([]string, len(owners))
	for i := range owners {
		names[i] = owners[i].Name + " " + percent(owners[i].Split)
	}

	return strings.Join(names, "; ")
}

// ownerIDs returns the contacts of the owners as one text, in the order of ownerNames.
func ownerIDs(owners []statement.Owner) string {
	ids := make([]string, len(owners))
	for i := range owners {
		ids[i] = owners[i].ContactID.String()
	}

	return strings.Join(ids, "; ")
}

const statementRefusals = " Fails with 400 and context.reason ownershipPeriodsWithoutOwners when an ownership " +
	"period that the selection names has no owner."

// statementsCSV declares EXP-P08, the export of owner statements.
func statementsCSV() Declaration[statementRows] {
	return Declaration[statementRows]{
		Path: "/statements/csv", ID: "StatementsCSV", Tag: "Statements", Summary: "Export owner statements as CSV",
		Doc:    "One row per selected statement, drafts included, with its figures and what was paid on it." + statementRefusals,
		Format: CSV, Scopes: []string{"statements:export"}, Name: "statements",
		Errors: apierr.List{errWithoutOwners},
		Check:  func(ctx context.Context, tx *db.Tx, s *statementRows) error { return checkOwners(ctx, tx, &s.Filter) },
		Count: func(ctx context.Context, tx *db.Tx, s *statementRows) (Size, error) {
			n, err := statement.Count(ctx, tx, s.Filter)
			return Size{Rows: n.Statements}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *statementRows, out *Sink) error {
			// Statements are written as they are read, so that memory does not grow with the selection.
			return writeTable(
				out,
				selectColumns(statementColumns, s.Columns),
				yieldFrom(func(f func(*statement.Statement) error) error {
					return statement.Each(ctx, tx, s.Filter, f)
				}),
			)
		},
	}
}

// errEnough ends a reading when no more rows are asked for.
var errEnough = errors.New("no more is wanted")

// yieldFrom returns an iterator over rows that each hands to a function. An error of each comes last, without a row.
func yieldFrom[T any](each func(f func(*T) error) error) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		// If the loop ends early, the reading must end too: errEnough stops it and is no failure.
		err := each(func(row *T) error {
			if !yield(row, nil) {
				return errEnough
			}

			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}
