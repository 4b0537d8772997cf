package export

import (
	"context"

	"stayledger/domain/settlement/statement"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/render"
)

// periodRows are the filters of GET /statements, and the columns of an ownership period.
type periodRows struct {
	statement.Filter
	Columns []periodColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// periodColumn is a column of the CSV of ownership periods.
type periodColumn string

// Enum lists the columns in their own order.
func (periodColumn) Enum() []string { return namesOf(periodColumns) }

// ownedRun is what the selected statements of an ownership period come to in a currency.
type ownedRun struct {
	statement.Run

	// of is any of the statements: it says whose they are.
	of                          *statement.Figures
	drafts, inReview, published int64
}

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

// periodColumns are the columns. The balance at the end is the one at the start with net income, payouts and adjustments.
var periodColumns = []goColumn[ownedRun]{
	{render.Column{Name: "ownershipPeriodId", Kind: render.ID}, func(r *ownedRun) any { return r.of.Ownership.ID }},
	{render.Column{Name: "listingId", Kind: render.ID}, func(r *ownedRun) any { return r.of.Listing.ID }},
	{render.Column{Name: "listing", Kind: render.Text}, func(r *ownedRun) any { return r.of.Listing.Name }},
	{render.Column{Name: "listingUniqueRef", Kind: render.ID}, func(r *ownedRun) any { return r.of.Listing.UniqueRef }},
	{render.Column{Name: "ownershipStartAt", Kind: render.Date}, func(r *ownedRun) any { return r.of.Ownership.StartAt }},
	{render.Column{Name: "ownershipEndAt", Kind: render.Date}, func(r *ownedRun) any { return r.of.Ownership.EndAt }},
	{render.Column{Name: "ownerIds", Kind: render.ID}, func(r *ownedRun) any { return ownerIDs(r.of.Owners) }},
	{render.Column{Name: "owners", Kind: render.Text}, func(r *ownedRun) any { return ownerNames(r.of.Owners) }},
	{render.Column{Name: "startAt", Kind: render.Date}, func(r *ownedRun) any { return r.StartAt }},
	{render.Column{Name: "endAt", Kind: render.Date}, func(r *ownedRun) any { return r.EndAt }},
	{render.Column{Name: "statements", Kind: render.Integer}, func(r *ownedRun) any { return r.Statements }},
	{render.Column{Name: "drafts", Kind: render.Integer}, func(r *ownedRun) any { return r.drafts }},
	{render.Column{Name: "inReview", Kind: render.Integer}, func(r *ownedRun) any { return r.inReview }},
	{render.Column{Name: "published", Kind: render.Integer}, func(r *ownedRun) any { return r.published }},
	{render.Column{Name: "currency", Kind: render.Currency}, func(r *ownedRun) any { return r.of.Currency }},
	{render.Column{Name: "balanceStart", Kind: render.Amount}, func(r *ownedRun) any { return r.BalanceStart }},
	{render.Column{Name: "netRevenue", Kind: render.Amount}, func(r *ownedRun) any { return r.NetRevenue }},
	{render.Column{Name: "expenses", Kind: render.Amount}, func(r *ownedRun) any { return r.Expenses }},
	{render.Column{Name: "netIncome", Kind: render.Amount}, func(r *ownedRun) any { return r.NetIncome }},
	{render.Column{Name: "payouts", Kind: render.Amount}, func(r *ownedRun) any { return r.Payouts }},
	{render.Column{Name: "adjustments", Kind: render.Amount}, func(r *ownedRun) any { return r.Adjustments() }},
	{render.Column{Name: "balanceEnd", Kind: render.Amount}, func(r *ownedRun) any { return r.BalanceEnd }},
	{render.Column{Name: "reserve", Kind: render.Amount}, func(r *ownedRun) any { return r.Reserve }},
	{render.Column{Name: "available", Kind: render.Amount}, func(r *ownedRun) any { return r.Available }},
	{render.Column{Name: "received", Kind: render.Amount}, func(r *ownedRun) any { return r.Received }},
	{render.Column{Name: "open", Kind: render.Amount}, func(r *ownedRun) any { return r.Left }},
}

// statementPeriodsCSV is EXP-P10.
func statementPeriodsCSV() Declaration[periodRows] {
	return Declaration[periodRows]{
		Path: "/statements/by-period/csv", ID: "StatementPeriodsCSV", Tag: "Statements", Summary: "Export owner statements by ownership period as CSV",
		Doc: "One row per ownership period and currency: its selected statements together, from what the first starts with to what the last ends " +
			"with. Adjustments are what else moved the balance: later opening balances, months that are not selected. Open is what the owners are " +
			"still due. Rows come in the order of their first statement, by listing unless sort says otherwise." + statementRefusals,
		Format: CSV, Scopes: []string{"statements:export"}, Name: "statements-by-period",
		Check: func(ctx context.Context, tx *db.Tx, s *periodRows) error { return checkOwners(ctx, tx, &s.Filter) },
		Count: func(ctx context.Context, tx *db.Tx, s *periodRows) (Size, error) {
			n, err := statement.Count(ctx, tx, s.Filter)
			return Size{Rows: n.Periods}, err
		},
		Render: renderStatementPeriods,
	}
}

func renderStatementPeriods(ctx context.Context, tx *db.Tx, s *periodRows, out *Sink) error {
	type chain struct {
		period   id.ID
		currency string
	}
	f := s.Filter
	if f.Sort == "" {
		f.Sort = "listing"
	}
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
	return writeTable(out, chosen(periodColumns, s.Columns), func(yield func(*ownedRun, error) bool) {
		for _, r := range runs {
			if !yield(r, nil) {
				return
			}
		}
	})
}
