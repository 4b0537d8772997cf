package export

import (
	"context"
	"errors"
	"iter"
	"strings"

	"stayledger/domain/settlement/statement"
	"stayledger/platform/db"
	"stayledger/platform/render"
)

// statementRows are the filters of GET /statements, and the columns.
type statementRows struct {
	statement.Filter
	Columns []statementColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// statementColumn is a column of the CSV.
type statementColumn string

// Enum lists the columns in their own order.
func (statementColumn) Enum() []string { return namesOf(statementColumns) }

// statementColumns are the columns, in the signs that owners see: what lowers their balance is negative.
var statementColumns = []goColumn[statement.Statement]{
	{render.Column{Name: "id", Kind: render.ID}, func(s *statement.Statement) any { return s.ID }},
	{render.Column{Name: "shortRef", Kind: render.ID}, func(s *statement.Statement) any { return s.ShortRef }},
	{render.Column{Name: "uniqueRef", Kind: render.ID}, func(s *statement.Statement) any { return s.UniqueRef }},
	{render.Column{Name: "startAt", Kind: render.Date}, func(s *statement.Statement) any { return s.StartAt }},
	{render.Column{Name: "endAt", Kind: render.Date}, func(s *statement.Statement) any { return s.EndAt }},
	{render.Column{Name: "status", Kind: render.Text}, func(s *statement.Statement) any { return s.Status }},
	{render.Column{Name: "version", Kind: render.Integer}, func(s *statement.Statement) any { return s.Version }},
	{render.Column{Name: "publishedAt", Kind: render.Instant}, func(s *statement.Statement) any { return s.PublishedAt }},
	{render.Column{Name: "source", Kind: render.Text}, func(s *statement.Statement) any { return s.Source.Type }},
	{render.Column{Name: "listingId", Kind: render.ID}, func(s *statement.Statement) any { return s.Listing.ID }},
	{render.Column{Name: "listing", Kind: render.Text}, func(s *statement.Statement) any { return s.Listing.Name }},
	{render.Column{Name: "listingUniqueRef", Kind: render.ID}, func(s *statement.Statement) any { return s.Listing.UniqueRef }},
	{render.Column{Name: "ownershipPeriodId", Kind: render.ID}, func(s *statement.Statement) any { return s.Ownership.ID }},
	{render.Column{Name: "ownershipStartAt", Kind: render.Date}, func(s *statement.Statement) any { return s.Ownership.StartAt }},
	{render.Column{Name: "ownershipEndAt", Kind: render.Date}, func(s *statement.Statement) any { return s.Ownership.EndAt }},
	{render.Column{Name: "ownerIds", Kind: render.ID}, func(s *statement.Statement) any { return ownerIDs(ownersOfShares(s.Shares)) }},
	{render.Column{Name: "owners", Kind: render.Text}, func(s *statement.Statement) any { return ownerNames(ownersOfShares(s.Shares)) }},
	{render.Column{Name: "currency", Kind: render.Currency}, func(s *statement.Statement) any { return s.Currency }},
	{render.Column{Name: "balanceStart", Kind: render.Amount}, func(s *statement.Statement) any { return s.Financials.BalanceStart }},
	{render.Column{Name: "netRevenue", Kind: render.Amount}, func(s *statement.Statement) any { return s.Financials.NetRevenue }},
	{render.Column{Name: "expenses", Kind: render.Amount}, func(s *statement.Statement) any { return s.Financials.Expenses }},
	{render.Column{Name: "netIncome", Kind: render.Amount}, func(s *statement.Statement) any { return s.Financials.NetIncome }},
	{render.Column{Name: "payouts", Kind: render.Amount}, func(s *statement.Statement) any { return s.Financials.Payouts }},
	{render.Column{Name: "balanceEnd", Kind: render.Amount}, func(s *statement.Statement) any { return s.Financials.BalanceEnd }},
	{render.Column{Name: "reserve", Kind: render.Amount}, func(s *statement.Statement) any { return s.Financials.Reserve }},
	{render.Column{Name: "available", Kind: render.Amount}, func(s *statement.Statement) any { return s.Financials.Available }},
	{render.Column{Name: "received", Kind: render.Amount}, func(s *statement.Statement) any { return s.Payment.Received }},
	{render.Column{Name: "open", Kind: render.Amount}, func(s *statement.Statement) any { return s.Payment.Open }},
	{render.Column{Name: "paymentStatus", Kind: render.Text}, func(s *statement.Statement) any { return s.Payment.Status }},
	{render.Column{Name: "issues", Kind: render.Text}, func(s *statement.Statement) any {
		codes := make([]string, len(s.Issues))
		for i := range s.Issues {
			codes[i] = s.Issues[i].Code
		}
		return strings.Join(codes, "; ")
	}},
}

func ownersOfShares(shares []statement.Share) []statement.Owner {
	owners := make([]statement.Owner, len(shares))
	for i := range shares {
		owners[i] = statement.Owner{ContactID: shares[i].ContactID, Name: shares[i].Name, Split: shares[i].Split}
	}
	return owners
}

// ownerNames are such as "Ann Owner 60%; Ben Owner 40%".
func ownerNames(owners []statement.Owner) string {
	names := make([]string, len(owners))
	for i := range owners {
		names[i] = owners[i].Name + " " + percent(owners[i].Split)
	}
	return strings.Join(names, "; ")
}

func ownerIDs(owners []statement.Owner) string {
	ids := make([]string, len(owners))
	for i := range owners {
		ids[i] = owners[i].ContactID.String()
	}
	return strings.Join(ids, "; ")
}

const statementRefusals = " Fails with 400 and context.reason ownershipPeriodsWithoutOwners when an ownership period that the selection names has no owner."

// statementsCSV is EXP-P08.
func statementsCSV() Declaration[statementRows] {
	return Declaration[statementRows]{
		Path: "/statements/csv", ID: "StatementsCSV", Tag: "Statements", Summary: "Export owner statements as CSV",
		Doc:    "One row per selected statement, drafts included, with its figures and what was paid on it." + statementRefusals,
		Format: CSV, Scopes: []string{"statements:export"}, Name: "statements",
		Check: func(ctx context.Context, tx *db.Tx, s *statementRows) error { return checkOwners(ctx, tx, &s.Filter) },
		Count: func(ctx context.Context, tx *db.Tx, s *statementRows) (Size, error) {
			n, err := statement.Count(ctx, tx, s.Filter)
			return Size{Rows: n.Statements}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *statementRows, out *Sink) error {
			return writeTable(out, chosen(statementColumns, s.Columns), handed(func(f func(*statement.Statement) error) error {
				return statement.Each(ctx, tx, s.Filter, f)
			}))
		},
	}
}

// errEnough ends a reading when no more is asked for.
var errEnough = errors.New("no more is wanted")

// handed turns rows that are handed to a function into rows to range over.
func handed[T any](each func(f func(*T) error) error) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
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
