package export

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"stayledger/domain/reporting/report"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// trustListingSelection are the filters of GET /reports/trust-reconciliation/by-listing, and the columns.
type trustListingSelection struct {
	report.ListingTrustFilter
	Columns []trustListingColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// trustListingColumn is a column of the trust reconciliation by listing.
type trustListingColumn string

// Enum lists the columns in their own order.
func (trustListingColumn) Enum() []string { return namesOf(trustListingCells(nil)) }

type listingCell = goColumn[report.ListingTrust]

func trustListingCells(t *report.ListingTrusts) []listingCell {
	amount := func(name string, value func(r *report.ListingTrust) report.TrustFigure) listingCell {
		return listingCell{csv.Column{Name: name, Kind: csv.Amount}, func(r *report.ListingTrust) any { return value(r).CentTotal }}
	}
	return []listingCell{
		{csv.Column{Name: "date", Kind: csv.Date}, func(*report.ListingTrust) any { return t.Head.Date }},
		{csv.Column{Name: "listingId", Kind: csv.ID}, func(r *report.ListingTrust) any { return orNil(r.ID) }},
		{csv.Column{Name: "listing", Kind: csv.Text}, func(r *report.ListingTrust) any { return r.Name }},
		amount("guestsDeparted", func(r *report.ListingTrust) report.TrustFigure { return r.GuestBalances.Departed.TrustFigure }),
		amount("guestsInHouse", func(r *report.ListingTrust) report.TrustFigure { return r.GuestBalances.InHouse.TrustFigure }),
		amount("guestsUpcoming", func(r *report.ListingTrust) report.TrustFigure { return r.GuestBalances.Upcoming.TrustFigure }),
		amount("guestsCancelled", func(r *report.ListingTrust) report.TrustFigure { return r.GuestBalances.Cancelled.TrustFigure }),
		amount("guestsUnassigned", func(r *report.ListingTrust) report.TrustFigure { return r.GuestBalances.Unassigned.TrustFigure }),
		amount("deferredRevenue", func(r *report.ListingTrust) report.TrustFigure { return r.DeferredRevenue }),
		amount("taxes", func(r *report.ListingTrust) report.TrustFigure { return r.Taxes }),
		amount("accountsPayable", func(r *report.ListingTrust) report.TrustFigure { return r.AccountsPayable }),
		amount("securityDeposits", func(r *report.ListingTrust) report.TrustFigure { return r.SecurityDeposits }),
		amount("dueToFromTrust", func(r *report.ListingTrust) report.TrustFigure { return r.DueToFromTrust }),
		amount("ownerBalances", func(r *report.ListingTrust) report.TrustFigure { return r.OwnerBalances }),
		amount("managerBalance", func(r *report.ListingTrust) report.TrustFigure { return r.ManagerBalance }),
		amount("fundsHeldElsewhere", func(r *report.ListingTrust) report.TrustFigure { return r.FundsHeldElsewhere }),
		amount("trustSurplus", func(r *report.ListingTrust) report.TrustFigure { return r.TrustSurplus }),
		amount("other", func(r *report.ListingTrust) report.TrustFigure { return r.Other }),
		{csv.Column{Name: "total", Kind: csv.Amount}, func(r *report.ListingTrust) any { return r.CentTotal }},
		{csv.Column{Name: "currency", Kind: csv.Currency}, func(*report.ListingTrust) any { return string(t.Head.Currency) }},
		{csv.Column{Name: "warnings", Kind: csv.Text}, func(r *report.ListingTrust) any { return warningCodes(r.Warnings) }},
	}
}

func warningCodes(warnings []report.TrustWarning) string {
	codes := make([]string, len(warnings))
	for i := range warnings {
		codes[i] = string(warnings[i].Code)
	}
	return strings.Join(codes, " ")
}

// listingRows makes the rows one by one.
func listingRows(t *report.ListingTrusts) iter.Seq2[*report.ListingTrust, error] {
	return func(yield func(*report.ListingTrust, error) bool) {
		for i := range t.Len() {
			row := t.Row(i)
			if !yield(&row, nil) {
				return
			}
		}
	}
}

// trustByListingCSV is EXP-P24.
func trustByListingCSV() Declaration[trustListingSelection] {
	return Declaration[trustListingSelection]{
		Path: "/reports/trust-reconciliation/by-listing/csv", ID: "TrustReconciliationByListingCSV", Tag: "Reports",
		Summary: "Export a trust reconciliation by listing as CSV",
		Doc: "One row per listing with an open balance of any kind, and last one for what belongs to no listing, over all pages. Positive is owed by the " +
			"trust; the amounts of a row add up to its total, and without `listingIds` the totals to the book balance of the trust's bank accounts.",
		Format: CSV, Scopes: []string{"reports:export"}, Name: "trust-reconciliation-by-listing",
		Check: checkCurrency(func(s *trustListingSelection) string { return s.Currency }),
		Count: func(ctx context.Context, tx *db.Tx, _ *trustListingSelection) (Size, error) {
			return countListings(ctx, tx)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *trustListingSelection, out *Sink) error {
			t, err := report.OpenTrustByListing(ctx, tx, &s.ListingTrustFilter)
			if err != nil {
				return err
			}
			return writeTable(out, chosen(trustListingCells(t), s.Columns), listingRows(t))
		},
	}
}

// countListings sizes up a report that has at most a row for each listing.
func countListings(ctx context.Context, tx *db.Tx) (Size, error) {
	n, err := db.Get[int64](ctx, tx, `select count(*) from listing where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return Size{}, fmt.Errorf("count listings: %w", err)
	}
	return Size{Rows: n}, nil
}
