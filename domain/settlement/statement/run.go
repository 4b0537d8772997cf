package statement

import (
	"context"

	"stayledger/domain/settlement/chain"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Figures are the figures of a statement with its owners and payouts.
type Figures struct {
	ID             id.ID
	ShortRef       string
	Ownership      Ownership // without members
	Listing        Listing
	Currency       string
	StartAt, EndAt day.Day
	Status         Status
	Financials     Financials
	// Owners are the members of the ownership period in their order, Parts their parts of the financials.
	Owners []Owner
	Parts  []Financials
	// Left is the part of the available balance that is still to be paid, whether it was added by this statement or by
	// earlier ones.
	Left money.Cents
	// Paid are the payouts that name the statement.
	Paid []Receipt
}

// Owner is a member by name. Split is in parts per 100000.
type Owner struct {
	ContactID id.ID
	Name      string
	Split     int64
}

// Receipt is the positive amount that a payout has brought, and its day. Missing is the booked amount that did not
// arrive; it is not part of Total.
type Receipt struct {
	ContactID *id.ID
	Date      day.Day
	Total     money.Cents
	Missing   money.Cents
}

// EachFigures passes the figures of all selected statements to f in their order. It reads much less than Each.
func EachFigures(ctx context.Context, tx *db.Tx, filter Filter, f func(*Figures) error) error {
	return eachRows(ctx, tx, &filter, eachChunk, func(rows []row) error {
		// Histories and payouts are enough: figures have no issues, names or journals.
		t := viewData{}

		err := tx.Together(ctx,
			func(ctx context.Context, tx *db.Tx) error { return loadDraftData(ctx, tx, rows) },
			db.LoadBy(&t.histories, loadHistories, rows),
			db.LoadBy(&t.payouts, chain.LoadPayouts, collectSaved(rows)),
		)
		if err != nil {
			return err
		}

		for i := range rows {
			if err := f(t.figures(&rows[i])); err != nil {
				return err
			}
		}

		return nil
	})
}

// figures returns the figures of a row.
func (t *viewData) figures(r *row) *Figures {
	h := t.histories.Chain(r.chain())

	f := Figures{
		ID:         r.id(),
		ShortRef:   r.shortRef(),
		Listing:    Listing{ID: r.ListingID, Name: r.ListingName, UniqueRef: r.ListingRef},
		Currency:   r.Currency,
		StartAt:    r.StartAt,
		EndAt:      r.EndAt,
		Status:     r.Status,
		Financials: r.financials(),
		Ownership: Ownership{
			ID:      r.OwnershipPeriodID,
			StartAt: r.PeriodStartAt,
			EndAt:   r.PeriodEndAt,
			Reserve: r.Reserve,
		},
	}

	// The owners and their parts have the same order.
	for _, o := range h.Owners {
		f.Owners = append(f.Owners, Owner{ContactID: o.ContactID, Name: o.Name, Split: o.Split})
	}

	f.Parts, f.Left = r.divideFigures(h, &f.Financials), chain.Total(r.balance(h, &f.Financials).Remaining())
	for _, p := range t.payouts[f.ID] {
		f.Paid = append(f.Paid, Receipt{
			ContactID: p.ContactID,
			Date:      p.Date,
			Total:     p.AmountReceived(),
			Missing:   p.Missing,
		})
	}

	return &f
}

// Run adds up statements of one ownership period in one currency. It starts with the start balance of the first
// one, and ends, reserve included, as the last one does.
type Run struct {
	Financials

	StartAt, EndAt day.Day
	Statements     int64
	// Left is the part of the available balance that is still to be paid.
	Left money.Cents
	// Received adds up the payouts that name the statements.
	Received money.Cents
	// first and last are the days on which the first and the last statement begin.
	first, last day.Day
}

// Add adds a statement. The order does not matter.
func (r *Run) Add(f *Figures) {
	// The earliest statement gives the start.
	if r.Statements == 0 || f.StartAt.Before(r.first) {
		r.first, r.StartAt, r.BalanceStart = f.StartAt, f.StartAt, f.Financials.BalanceStart
	}

	// The latest one gives the end, and everything that is measured at the end.
	if r.Statements == 0 || f.StartAt.After(r.last) {
		r.last, r.EndAt = f.StartAt, f.EndAt
		r.BalanceEnd, r.Reserve, r.Available = f.Financials.BalanceEnd, f.Financials.Reserve, f.Financials.Available
		r.Left = f.Left
	}

	// The rest adds up.
	r.NetRevenue += f.Financials.NetRevenue
	r.Expenses += f.Financials.Expenses
	r.NetIncome += f.Financials.NetIncome

	r.Payouts += f.Financials.Payouts
	for _, p := range f.Paid {
		r.Received += p.Total
	}

	r.Statements++
}

// Adjustments returns the change of the balance from start to end that net income and payouts do not explain:
// opening balances that came later, months that are not in the run, and balances that an imported statement was
// given.
func (r *Run) Adjustments() money.Cents {
	return r.BalanceEnd - r.BalanceStart - r.NetIncome - r.Payouts
}
