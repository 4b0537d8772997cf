package summary

import (
	"cmp"
	"context"
	"slices"

	"stayledger/domain/reporting/report"
	"stayledger/domain/settlement/layout"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// OwnerDetail is an owner's summary with the statements behind it.
type OwnerDetail struct {
	OwnerSummary
	page.Page[OwnerStatement]

	StartAt day.Day         `json:"startAt" doc:"First day of the period."`
	EndAt   day.Day         `json:"endAt" doc:"Last day, included."`
	Layouts []LayoutSummary `json:"layouts" doc:"The columns of the statements' layouts added up, over all pages, by name."`
}

// OwnerStatement is an owner's part of one statement.
type OwnerStatement struct {
	ID                id.ID                `json:"id"`
	ShortRef          string               `json:"shortRef"`
	StartAt           day.Day              `json:"startAt"`
	EndAt             day.Day              `json:"endAt" doc:"Last day, included."`
	Status            statement.Status     `json:"status"`
	Listing           statement.Listing    `json:"listing"`
	OwnershipPeriodID id.ID                `json:"ownershipPeriodId"`
	Split             int64                `json:"split" doc:"Parts per 100000."`
	Financials        Figures              `json:"financials"`
	Layout            LayoutRef            `json:"layout"`
	Sections          []SectionSummary     `json:"sections" doc:"The sections of the layout that the viewer sees."`
	Drilldown         *statement.Drilldown `json:"drilldown" doc:"The entries of the whole statement; null in the owner's view."`
}

// LayoutRef names a layout.
type LayoutRef struct {
	ID   *id.ID `json:"id" doc:"Null for the built-in layout."`
	Name string `json:"name" doc:"Of its time: that of the last statement where several are added up."`
}

// LayoutSummary adds up the columns of a layout over several statements.
type LayoutSummary struct {
	LayoutRef

	Statements int64            `json:"statements"`
	Sections   []SectionSummary `json:"sections"`
	last       day.Day
}

// SectionSummary is a section of a layout in an owner's part.
type SectionSummary struct {
	Name    string          `json:"name"`
	Kind    string          `json:"kind" enum:"netRevenue,other"`
	Columns []ColumnSummary `json:"columns" doc:"The columns with an amount."`
	Total   money.Cents     `json:"total" doc:"What the section adds to the statement, hidden columns included."`
}

// ColumnSummary is a column of a section in an owner's part. Every column is divided by itself, on top of the
// amounts before the section, so columns can be a cent off their subtotal.
type ColumnSummary struct {
	Name   string            `json:"name"`
	Type   layout.ColumnType `json:"type" enum:"accounts,subTotal,formula.currency"`
	Amount money.Cents       `json:"amount"`
}

type ownerDetailInput struct {
	ContactID id.ID `path:"contactId"`
	page.Params
	Period
}

// ownerDetail returns an owner's summary with a page of the statements behind it.
func ownerDetail(ctx context.Context, tx *db.Tx, in *ownerDetailInput) (*OwnerDetail, error) {
	shown := []OwnerStatement{}

	var n int64

	// All statements are read, because the layouts add up over all pages; only those of the page are kept.
	d, err := loadOwnerDetail(ctx, tx, in.ContactID, &in.Period, func(one *OwnerStatement) error {
		// The number of all statements is needed for the pagination.
		if n++; n > in.Rows() && n <= in.Rows()+in.Limit {
			shown = append(shown, *one)
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	d.Page = page.Page[OwnerStatement]{Data: shown, Pagination: in.Of(n)}

	return d, nil
}

// loadOwnerDetail returns the summary of one owner and passes every statement to each, by listing and month. It
// fails with apierr.NotFound for a contact that the team does not have.
func loadOwnerDetail(
	ctx context.Context,
	tx *db.Tx,
	contact id.ID,
	p *Period,
	each func(*OwnerStatement) error,
) (*OwnerDetail, error) {
	who, err := loadContact(ctx, tx, contact)
	if err != nil {
		return nil, err
	}

	currency, err := report.Currency(ctx, tx, p.Currency)
	if err != nil {
		return nil, err
	}

	d := &OwnerDetail{
		OwnerSummary: OwnerSummary{Contact: who, Currency: currency},
		StartAt:      p.firstDay().Day,
		EndAt:        p.lastDay().Day,
		Layouts:      []LayoutSummary{},
	}

	// Only the owner's statements are read, but with the parts of all members.
	selected, s := p.statements(currency), newSumming([]id.ID{contact})
	selected.OwnerIDs = page.Only(contact)

	err = statement.EachDetail(ctx, tx, selected, p.asOwner(), func(whole *statement.Detail) error {
		f := deriveFigures(whole)
		parts := s.add(f)

		// The owner is a member, since the statements were selected by owner.
		at := slices.IndexFunc(f.Owners, func(o statement.Owner) bool { return o.ContactID == contact })
		one := ownerStatement(whole, f.Owners, at)
		one.Financials = parts[at]
		d.addLayout(one)

		return each(one)
	})
	if err != nil {
		return nil, err
	}

	// Last, the figures over all statements.
	sums, err := s.loadOwners(ctx, tx, currency)
	if err != nil {
		return nil, err
	}

	if sum := sums[contact]; sum != nil {
		d.Listings = int64(len(sum.listings))
		d.Statements = sum.statements
		d.Financials = sum.Financials
		d.Drilldown = p.drilldown(currency, sum.periods)
	}

	return d, nil
}

// deriveFigures returns the figures of a statement that was loaded with its lines.
func deriveFigures(d *statement.Detail) *statement.Figures {
	f := &statement.Figures{
		ID:         d.ID,
		ShortRef:   d.ShortRef,
		Ownership:  d.Ownership,
		Listing:    d.Listing,
		Currency:   d.Currency,
		StartAt:    d.StartAt,
		EndAt:      d.EndAt,
		Status:     d.Status,
		Financials: d.Financials.Financials,
		Parts:      d.Parts,
		Owners:     make([]statement.Owner, len(d.Shares)),
	}

	// Received is positive and Total negative, so the rest is missing.
	for _, p := range d.Payouts {
		f.Paid = append(f.Paid, statement.Receipt{
			ContactID: p.ContactID,
			Date:      p.Date,
			Total:     p.Received,
			Missing:   -p.Total - p.Received,
		})
	}

	for i, share := range d.Shares {
		f.Owners[i] = statement.Owner{ContactID: share.ContactID, Name: share.Name, Split: share.Split}
	}

	return f
}

// computePart returns the change of a member's part when an amount is added to what all members have before it.
func computePart(amount, before money.Cents, splits []int64, member int) money.Cents {
	return money.Split(before+amount, splits)[member] - money.Split(before, splits)[member]
}

// ownerStatement returns the part of one of the owners, without the figures.
func ownerStatement(d *statement.Detail, owners []statement.Owner, at int) *OwnerStatement {
	splits := make([]int64, len(owners))
	for i := range owners {
		splits[i] = owners[i].Split
	}

	earned := d.Earned // goes on from section to section, so that these add up to the figures

	one := &OwnerStatement{
		ID:                d.ID,
		ShortRef:          d.ShortRef,
		StartAt:           d.StartAt,
		EndAt:             d.EndAt,
		Status:            d.Status,
		Listing:           d.Listing,
		OwnershipPeriodID: d.Ownership.ID,
		Split:             owners[at].Split,
		Drilldown:         d.Drilldown,
		Sections:          make([]SectionSummary, len(d.Tables)),
		Layout:            LayoutRef{ID: d.Layout.LayoutID, Name: d.Layout.Name},
	}
	for i := range d.Tables {
		t := &d.Tables[i]

		// The parts are taken on top of the sections before, so that they add up to the figures.
		s := SectionSummary{
			Name:    t.Name,
			Kind:    t.Kind,
			Columns: []ColumnSummary{},
			Total:   computePart(t.Total, earned, splits, at),
		}

		// Columns without an amount, such as dates, have no part.
		for n := range t.Columns {
			if amount := t.Totals[n].Amount; amount != nil {
				s.Columns = append(s.Columns, ColumnSummary{
					Name:   t.Columns[n].Name,
					Type:   t.Columns[n].Type,
					Amount: computePart(*amount, earned, splits, at),
				})
			}
		}

		one.Sections[i] = s
		earned += t.Total
	}

	return one
}

// addLayout adds the sections of a statement to those of its layout.
func (d *OwnerDetail) addLayout(one *OwnerStatement) {
	at := slices.IndexFunc(d.Layouts, func(l LayoutSummary) bool { return sameLayout(l.ID, one.Layout.ID) })
	if at < 0 {
		at = len(d.Layouts)
		d.Layouts = append(d.Layouts, LayoutSummary{LayoutRef: one.Layout, Sections: []SectionSummary{}})
	}

	// The layout shows the name that it had on the last statement.
	l := &d.Layouts[at]

	l.Statements++
	if one.StartAt.After(l.last) {
		l.last, l.Name = one.StartAt, one.Layout.Name
	}

	for i := range one.Sections {
		l.add(&one.Sections[i])
	}
}

// sameLayout reports whether two ids name the same layout; nil is the built-in one.
func sameLayout(a, b *id.ID) bool { return a == b || a != nil && b != nil && *a == *b }

// add adds a section. Sections and columns are the same if they have the same name.
func (l *LayoutSummary) add(s *SectionSummary) {
	at := slices.IndexFunc(l.Sections, func(o SectionSummary) bool { return o.Name == s.Name && o.Kind == s.Kind })
	if at < 0 {
		// The first statement with the section brings its columns. They are cloned, because amounts are added to
		// them later.
		l.Sections = append(l.Sections, SectionSummary{
			Name:    s.Name,
			Kind:    s.Kind,
			Columns: slices.Clone(s.Columns),
			Total:   s.Total,
		})
		slices.SortStableFunc(l.Sections, func(a, b SectionSummary) int {
			return cmp.Compare(a.Kind, b.Kind)
		}) // net revenue before other

		return
	}

	// A layout may have changed between the statements, so columns may be new.
	to := &l.Sections[at]

	to.Total += s.Total
	for _, c := range s.Columns {
		if n := slices.IndexFunc(to.Columns, func(o ColumnSummary) bool { return o.Name == c.Name }); n >= 0 {
			to.Columns[n].Amount += c.Amount
		} else {
			to.Columns = append(to.Columns, c)
		}
	}
}
