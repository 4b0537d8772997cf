package trust

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"stayledger/domain/record/export"
	"stayledger/domain/reporting/report"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// trustListingSelection is the selector of the CSV: the filters of GET /reports/trust-reconciliation/by-listing,
// and the columns.
type trustListingSelection struct {
	ListingTrustFilter
	Columns []trustListingColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// trustListingColumn is a column of the trust reconciliation by listing.
type trustListingColumn string

// Enum returns the names of the columns in their own order.
func (trustListingColumn) Enum() []string { return export.ColumnNames(trustListingCells(nil)) }

type listingCell = export.GoColumn[ListingTrust]

// trustListingCells returns the columns. A nil report is enough to list the names.
func trustListingCells(t *ListingTrusts) []listingCell {
	// All columns between listing and total are amounts of one claim.
	amount := func(name string, value func(r *ListingTrust) Figure) listingCell {
		return export.FromRow(name, csv.Amount, func(r *ListingTrust) any { return value(r).CentTotal })
	}

	return []listingCell{
		export.FromRow("date", csv.Date, func(*ListingTrust) any { return t.Head.Date }),
		export.FromRow("listingId", csv.ID, func(r *ListingTrust) any { return orNil(r.ID) }),
		export.FromRow("listing", csv.Text, func(r *ListingTrust) any { return r.Name }),
		amount("guestsDeparted", func(r *ListingTrust) Figure { return r.GuestBalances.Departed.Figure }),
		amount("guestsInHouse", func(r *ListingTrust) Figure { return r.GuestBalances.InHouse.Figure }),
		amount("guestsUpcoming", func(r *ListingTrust) Figure { return r.GuestBalances.Upcoming.Figure }),
		amount("guestsCancelled", func(r *ListingTrust) Figure { return r.GuestBalances.Cancelled.Figure }),
		amount("guestsUnassigned", func(r *ListingTrust) Figure {
			return r.GuestBalances.Unassigned.Figure
		}),
		amount("deferredRevenue", func(r *ListingTrust) Figure { return r.DeferredRevenue }),
		amount("taxes", func(r *ListingTrust) Figure { return r.Taxes }),
		amount("accountsPayable", func(r *ListingTrust) Figure { return r.AccountsPayable }),
		amount("securityDeposits", func(r *ListingTrust) Figure { return r.SecurityDeposits }),
		amount("dueToFromTrust", func(r *ListingTrust) Figure { return r.DueToFromTrust }),
		amount("ownerBalances", func(r *ListingTrust) Figure { return r.OwnerBalances }),
		amount("managerBalance", func(r *ListingTrust) Figure { return r.ManagerBalance }),
		amount("fundsHeldElsewhere", func(r *ListingTrust) Figure { return r.FundsHeldElsewhere }),
		amount("trustSurplus", func(r *ListingTrust) Figure { return r.TrustSurplus }),
		amount("other", func(r *ListingTrust) Figure { return r.Other }),
		export.FromRow("total", csv.Amount, func(r *ListingTrust) any { return r.CentTotal }),
		export.FromRow("currency", csv.Currency, func(*ListingTrust) any {
			return string(t.Head.Currency)
		}),
		export.FromRow("warnings", csv.Text, func(r *ListingTrust) any {
			return warningCodes(r.Warnings)
		}),
	}
}

// warningCodes returns the codes of the warnings as one text.
func warningCodes(warnings []Warning) string {
	codes := make([]string, len(warnings))
	for i := range warnings {
		codes[i] = string(warnings[i].Code)
	}

	return strings.Join(codes, " ")
}

// listingRows yields the rows of the report one by one, so that only one of them is in memory.
func listingRows(t *ListingTrusts) iter.Seq2[*ListingTrust, error] {
	return func(yield func(*ListingTrust, error) bool) {
		for i := range t.Len() {
			row := t.row(i)
			if !yield(&row, nil) {
				return
			}
		}
	}
}

// trustByListingCSV declares EXP-P24, the export of a trust reconciliation by listing.
func trustByListingCSV() export.Declaration[trustListingSelection] {
	return export.Declaration[trustListingSelection]{
		Path: "/reports/trust-reconciliation/by-listing/csv", ID: "TrustReconciliationByListingCSV", Tag: "Reports",
		Summary: "Export a trust reconciliation by listing as CSV",
		Doc: "One row per listing with an open balance, and a last one for what belongs to no listing. Positive is " +
			"owed by the trust; the amounts of a row add up to its total, and without `listingIds` the totals to " +
			"the book balance.",
		Format: export.CSV, Scopes: []string{"reports:export"}, Name: "trust-reconciliation-by-listing",
		Check: report.CheckCurrencyIn(func(s *trustListingSelection) string { return s.Currency }),
		Count: func(ctx context.Context, tx *db.Tx, _ *trustListingSelection) (export.Size, error) {
			return countListings(ctx, tx)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *trustListingSelection, out *export.Sink) error {
			t, err := openByListing(ctx, tx, &s.ListingTrustFilter)
			if err != nil {
				return err
			}

			return export.WriteTable(out, export.SelectColumns(trustListingCells(t), s.Columns), listingRows(t))
		},
	}
}

// countListings returns the size of a report that has at most a row for each listing.
func countListings(ctx context.Context, tx *db.Tx) (export.Size, error) {
	n, err := db.Get[int64](ctx, tx, `select count(*) from listing where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return export.Size{}, fmt.Errorf("count listings: %w", err)
	}

	return export.Size{Rows: n}, nil
}
