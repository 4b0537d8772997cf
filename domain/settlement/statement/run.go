package statement

import (
	"context"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Figures are what a statement comes to, whose it is and what was paid on it.
type Figures struct {
	ID             id.ID
	ShortRef       string
	Ownership      Ownership // without members
	Listing        Listing
	Currency       string
	StartAt, EndAt day.Day
	Status         Status
	Financials     Financials
	// Owners are the members of the ownership period in their order, Parts what the financials are to each of them.
	Owners []Owner
	Parts  []Financials
	// Left is the part of the available balance that is still to be paid, whether it was added by this statement or by
	// earlier ones.
	Left money.Cents
	// Paid is what the payouts that name it have brought the owners.
	Paid []Receipt
}

// Owner is a member by name. Split is in parts per 100000.
type Owner struct {
	ContactID id.ID
	Name      string
	Split     int64
}

// Receipt is what a payout has brought, positive, and when. Missing is what the books say on top of it and did not
// arrive.
type Receipt struct {
	ContactID *id.ID
	Date      day.Day
	Total     money.Cents
	Missing   money.Cents
}

// received is what a payout has brought a member, positive.
func (p *linkedPayout) received() money.Cents { return -p.Total - p.Missing }

// EachFigures hands the figures of all selected statements to f in their order. It reads much less than Each.
func EachFigures(ctx context.Context, tx *db.Tx, filter Filter, f func(*Figures) error) error {
	return chunked(ctx, tx, &filter, eachChunk, func(rows []row) error {
		if err := draw(ctx, tx, rows); err != nil {
			return err
		}

		t := told{}

		var err error
		if t.histories, err = historiesOf(ctx, tx, periodsOf(rows)); err != nil {
			return err
		}

		if t.payouts, err = payoutsOf(ctx, tx, savedOf(rows)); err != nil {
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

func (t *told) figures(r *row) *Figures {
	h := t.histories.of(r.OwnershipPeriodID, r.Currency)

	f := Figures{
		ID: r.id(), ShortRef: r.shortRef(), Listing: Listing{ID: r.ListingID, Name: r.ListingName, UniqueRef: r.ListingRef},
		Currency: r.Currency, StartAt: r.StartAt, EndAt: r.EndAt, Status: r.Status, Financials: r.financials(),
		Ownership: Ownership{ID: r.OwnershipPeriodID, StartAt: r.PeriodStartAt, EndAt: r.PeriodEndAt, Reserve: r.Reserve},
	}
	for _, o := range h.owners {
		f.Owners = append(f.Owners, Owner{ContactID: o.ContactID, Name: o.Name, Split: o.Split})
	}

	f.Parts, f.Left = h.cut(r, &f.Financials), total(h.balanceOf(r, &f.Financials).left)
	for _, p := range t.payouts[f.ID] {
		f.Paid = append(f.Paid, Receipt{ContactID: p.ContactID, Date: p.Date, Total: p.received(), Missing: p.Missing})
	}

	return &f
}

// Run is what statements of one ownership period in one currency come to together: it starts with what the first of
// them starts with, and ends, reserve included, as the last one does. What is between is added up.
type Run struct {
	Financials

	StartAt, EndAt day.Day
	Statements     int64
	// Left is what of the available balance is still to be paid.
	Left money.Cents
	// Received is what the payouts that name the statements have brought the owners.
	Received money.Cents
	// first and last are where the first and the last statement begin.
	first, last day.Day
}

// Add takes statements in any order.
func (r *Run) Add(f *Figures) {
	if r.Statements == 0 || f.StartAt.Before(r.first) {
		r.first, r.StartAt, r.BalanceStart = f.StartAt, f.StartAt, f.Financials.BalanceStart
	}

	if r.Statements == 0 || f.StartAt.After(r.last) {
		r.last, r.EndAt = f.StartAt, f.EndAt
		r.BalanceEnd, r.Reserve, r.Available = f.Financials.BalanceEnd, f.Financials.Reserve, f.Financials.Available
		r.Left = f.Left
	}

	r.NetRevenue += f.Financials.NetRevenue
	r.Expenses += f.Financials.Expenses
	r.NetIncome += f.Financials.NetIncome

	r.Payouts += f.Financials.Payouts
	for _, p := range f.Paid {
		r.Received += p.Total
	}

	r.Statements++
}

// Adjustments are what brings the balance at the start to the one at the end beside net income and payouts: opening
// balances that came later, months that are not in the run, and balances that an imported statement was given.
func (r *Run) Adjustments() money.Cents {
	return r.BalanceEnd - r.BalanceStart - r.NetIncome - r.Payouts
}
