package export

import (
	"context"

	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// periodRows is the selector of the CSV: the filters of GET /statements, and the columns of an ownership period.
type periodRows struct {
	statement.Filter
	Columns []periodColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// periodColumn is a column of the CSV of ownership periods.
type periodColumn string

// Enum returns the names of the columns in their own order.
func (periodColumn) Enum() []string { return columnNames(periodColumns) }

// ownedRun is a row of the CSV: the sums over the selected statements of an ownership period in one currency.
type ownedRun struct {
	statement.Run

	// of is any of the statements: listing, ownership and owners are the same in all of them.
	of                          *statement.Figures
	drafts, inReview, published int64
}

// add adds the figures of the next statement and counts it by status.
func (r *ownedRun) add(f *statement.Figures) {
	r.of = f
	switch f.Status {
	case statement.Draft:
		r.drafts++
	case statement.InReview:
		r.inReview++
	case statement.Published:
		r.published++
	}

	r.Add(f)
}

// periodColumns are the columns. The balance at the end is the one at the start with net income, payouts and
// adjustments.
var periodColumns = []goColumn[ownedRun]{
	{csv.Column{Name: "ownershipPeriodId", Kind: csv.ID}, func(r *ownedRun) any { return r.of.Ownership.ID }},
	{csv.Column{Name: "listingId", Kind: csv.ID}, func(r *ownedRun) any { return r.of.Listing.ID }},
	{csv.Column{Name: "listing", Kind: csv.Text}, func(r *ownedRun) any { return r.of.Listing.Name }},
	{csv.Column{Name: "listingUniqueRef", Kind: csv.ID}, func(r *ownedRun) any { return r.of.Listing.UniqueRef }},
	{csv.Column{Name: "ownershipStartAt", Kind: csv.Date}, func(r *ownedRun) any { return r.of.Ownership.StartAt }},
	{csv.Column{Name: "ownershipEndAt", Kind: csv.Date}, func(r *ownedRun) any { return r.of.Ownership.EndAt }},
	{csv.Column{Name: "ownerIds", Kind: csv.ID}, func(r *ownedRun) any { return ownerIDs(r.of.Owners) }},
	{csv.Column{Name: "owners", Kind: csv.Text}, func(r *ownedRun) any { return ownerNames(r.of.Owners) }},
	{csv.Column{Name: "startAt", Kind: csv.Date}, func(r *ownedRun) any { return r.StartAt }},
	{csv.Column{Name: "endAt", Kind: csv.Date}, func(r *ownedRun) any { return r.EndAt }},
	{csv.Column{Name: "statements", Kind: csv.Integer}, func(r *ownedRun) any { return r.Statements }},
	{csv.Column{Name: "drafts", Kind: csv.Integer}, func(r *ownedRun) any { return r.drafts }},
	{csv.Column{Name: "inReview", Kind: csv.Integer}, func(r *ownedRun) any { return r.inReview }},
	{csv.Column{Name: "published", Kind: csv.Integer}, func(r *ownedRun) any { return r.published }},
	{csv.Column{Name: "currency", Kind: csv.Currency}, func(r *ownedRun) any { return r.of.Currency }},
	{csv.Column{Name: "balanceStart", Kind: csv.Amount}, func(r *ownedRun) any { return r.BalanceStart }},
	{csv.Column{Name: "netRevenue", Kind: csv.Amount}, func(r *ownedRun) any { return r.NetRevenue }},
	{csv.Column{Name: "expenses", Kind: csv.Amount}, func(r *ownedRun) any { return r.Expenses }},
	{csv.Column{Name: "netIncome", Kind: csv.Amount}, func(r *ownedRun) any { return r.NetIncome }},
	{csv.Column{Name: "payouts", Kind: csv.Amount}, func(r *ownedRun) any { return r.Payouts }},
	{csv.Column{Name: "adjustments", Kind: csv.Amount}, func(r *ownedRun) any { return r.Adjustments() }},
	{csv.Column{Name: "balanceEnd", Kind: csv.Amount}, func(r *ownedRun) any { return r.BalanceEnd }},
	{csv.Column{Name: "reserve", Kind: csv.Amount}, func(r *ownedRun) any { return r.Reserve }},
	{csv.Column{Name: "available", Kind: csv.Amount}, func(r *ownedRun) any { return r.Available }},
	{csv.Column{Name: "received", Kind: csv.Amount}, func(r *ownedRun) any { return r.Received }},
	{csv.Column{Name: "open", Kind: csv.Amount}, func(r *ownedRun) any { return r.Left }},
}

// statementPeriodsCSV declares EXP-P10, the export of statements by ownership period.
func statementPeriodsCSV() Declaration[periodRows] {
	return Declaration[periodRows]{
		Path:    "/statements/by-period/csv",
		ID:      "StatementPeriodsCSV",
		Tag:     "Statements",
		Summary: "Export owner statements by ownership period as CSV",
		Doc: "One row per ownership period and currency: its selected statements together, from the starting " +
			"balance of the first to the balance at the end of the last. Adjustments are all other changes of the " +
			"balance: later opening balances, months that are not selected. Open is the amount still due to the " +
			"owners. Rows are sorted by their first statement, by listing unless sort says otherwise." + statementRefusals,
		Format: CSV,
		Scopes: []string{"statements:export"},
		Name:   "statements-by-period",
		Errors: apierr.List{errWithoutOwners},
		Check:  func(ctx context.Context, tx *db.Tx, s *periodRows) error { return checkOwners(ctx, tx, &s.Filter) },
		Count: func(ctx context.Context, tx *db.Tx, s *periodRows) (Size, error) {
			n, err := statement.Count(ctx, tx, s.Filter)
			return Size{Rows: n.Periods}, err
		},
		Render: renderStatementPeriods,
	}
}

// renderStatementPeriods adds up the selected statements by ownership period and currency and writes a row for
// each.
func renderStatementPeriods(ctx context.Context, tx *db.Tx, s *periodRows, out *Sink) error {
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

	err := statement.EachFigures(ctx, tx, f, func(one *statement.Figures) error {
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

	return writeTable(out, selectColumns(periodColumns, s.Columns), func(yield func(*ownedRun, error) bool) {
		for _, r := range runs {
			if !yield(r, nil) {
				return
			}
		}
	})
}
