package statement

import (
	"context"

	"stayledger/domain/record/export"
	"stayledger/platform/apierr"
	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// periodRows is the selector of the CSV: the filters of GET /statements, and the columns of an ownership period.
type periodRows struct {
	Filter
	Columns []periodColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// periodColumn is a column of the CSV of ownership periods.
type periodColumn string

// Enum returns the names of the columns in their own order.
func (periodColumn) Enum() []string { return export.ColumnNames(periodColumns) }

// ownedRun is a row of the CSV: the sums over the selected statements of an ownership period in one currency.
type ownedRun struct {
	Run

	// of is any of the statements: listing, ownership and owners are the same in all of them.
	of                          *Figures
	drafts, inReview, published int64
}

// add adds the figures of the next statement and counts it by status.
func (r *ownedRun) add(f *Figures) {
	r.of = f
	switch f.Status {
	case Draft:
		r.drafts++
	case InReview:
		r.inReview++
	case Published:
		r.published++
	}

	r.Add(f)
}

// periodColumns are the columns. The balance at the end is the one at the start with net income, payouts and
// adjustments.
var periodColumns = []export.GoColumn[ownedRun]{
	export.FromRow("ownershipPeriodId", csv.ID, func(r *ownedRun) any { return r.of.Ownership.ID }),
	export.FromRow("listingId", csv.ID, func(r *ownedRun) any { return r.of.Listing.ID }),
	export.FromRow("listing", csv.Text, func(r *ownedRun) any { return r.of.Listing.Name }),
	export.FromRow("listingUniqueRef", csv.ID, func(r *ownedRun) any { return r.of.Listing.UniqueRef }),
	export.FromRow("ownershipStartAt", csv.Date, func(r *ownedRun) any { return r.of.Ownership.StartAt }),
	export.FromRow("ownershipEndAt", csv.Date, func(r *ownedRun) any { return r.of.Ownership.EndAt }),
	export.FromRow("ownerIds", csv.ID, func(r *ownedRun) any { return ownerIDs(r.of.Owners) }),
	export.FromRow("owners", csv.Text, func(r *ownedRun) any { return ownerNames(r.of.Owners) }),
	export.FromRow("startAt", csv.Date, func(r *ownedRun) any { return r.StartAt }),
	export.FromRow("endAt", csv.Date, func(r *ownedRun) any { return r.EndAt }),
	export.FromRow("statements", csv.Integer, func(r *ownedRun) any { return r.Statements }),
	export.FromRow("drafts", csv.Integer, func(r *ownedRun) any { return r.drafts }),
	export.FromRow("inReview", csv.Integer, func(r *ownedRun) any { return r.inReview }),
	export.FromRow("published", csv.Integer, func(r *ownedRun) any { return r.published }),
	export.FromRow("currency", csv.Currency, func(r *ownedRun) any { return r.of.Currency }),
	export.FromRow("balanceStart", csv.Amount, func(r *ownedRun) any { return r.BalanceStart }),
	export.FromRow("netRevenue", csv.Amount, func(r *ownedRun) any { return r.NetRevenue }),
	export.FromRow("expenses", csv.Amount, func(r *ownedRun) any { return r.Expenses }),
	export.FromRow("netIncome", csv.Amount, func(r *ownedRun) any { return r.NetIncome }),
	export.FromRow("payouts", csv.Amount, func(r *ownedRun) any { return r.Payouts }),
	export.FromRow("adjustments", csv.Amount, func(r *ownedRun) any { return r.Adjustments() }),
	export.FromRow("balanceEnd", csv.Amount, func(r *ownedRun) any { return r.BalanceEnd }),
	export.FromRow("reserve", csv.Amount, func(r *ownedRun) any { return r.Reserve }),
	export.FromRow("available", csv.Amount, func(r *ownedRun) any { return r.Available }),
	export.FromRow("received", csv.Amount, func(r *ownedRun) any { return r.Received }),
	export.FromRow("open", csv.Amount, func(r *ownedRun) any { return r.Left }),
}

// statementPeriodsCSV declares EXP-P10, the export of statements by ownership period.
func statementPeriodsCSV() export.Declaration[periodRows] {
	return export.Declaration[periodRows]{
		Path:    "/statements/by-period/csv",
		ID:      "StatementPeriodsCSV",
		Tag:     "Statements",
		Summary: "Export owner statements by ownership period as CSV",
		Doc: "One row per ownership period and currency: its selected statements together, from the starting " +
			"balance of the first to the balance at the end of the last. Adjustments are all other changes of the " +
			"balance: later opening balances, months that are not selected. Open is the amount still due to the " +
			"owners. Rows are sorted by their first statement, by listing unless sort says " +
			"otherwise." + statementRefusals,
		Format: export.CSV,
		Scopes: []string{"statements:export"},
		Name:   "statements-by-period",
		Errors: apierr.List{errWithoutOwners},
		Check:  func(ctx context.Context, tx *db.Tx, s *periodRows) error { return checkOwners(ctx, tx, &s.Filter) },
		Count: func(ctx context.Context, tx *db.Tx, s *periodRows) (export.Size, error) {
			n, err := Count(ctx, tx, s.Filter)
			return export.Size{Rows: n.Periods}, err
		},
		Render: renderStatementPeriods,
	}
}

// renderStatementPeriods adds up the selected statements by ownership period and currency and writes a row for
// each.
func renderStatementPeriods(ctx context.Context, tx *db.Tx, s *periodRows, out *export.Sink) error {
	type chain struct {
		period   id.ID
		currency string
	}

	// Rows come in the order of their first statement, so the order of the statements is that of the file.
	f := s.Filter
	if f.Sort == "" {
		f.Sort = "listing"
	}

	// The figures need little memory: only one sum per ownership period and currency is kept.
	var runs []*ownedRun

	at := map[chain]*ownedRun{}

	err := EachFigures(ctx, tx, f, func(one *Figures) error {
		k := chain{one.Ownership.ID, one.Currency}
		if at[k] == nil {
			at[k] = &ownedRun{}
			runs = append(runs, at[k])
		}

		at[k].add(one)

		return nil
	})
	if err != nil {
		return err
	}

	return export.WriteTable(out, export.SelectColumns(periodColumns, s.Columns), func(yield func(*ownedRun, error) bool) {
		for _, r := range runs {
			if !yield(r, nil) {
				return
			}
		}
	})
}
