package layout

import (
	"math/bits"
	"slices"

	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Render lays entries out for the owner (or else the manager). It is a pure function. Payouts are in no section.
func (d *Design) Render(entries []Entry, asOwner bool) Rendered {
	out := Rendered{Tables: []Table{}}
	for _, p := range []*part{planSections(netRevenue, d.NetRevenueSections), planSections(other, d.OtherSections)} {
		section, figure := netRevenue, &out.NetRevenue
		if p.kind == other {
			section, figure = "expenses", &out.Expenses
		}

		// First find the columns of each entry. Both kinds of sections have their own entries.
		var items []item

		for i := range entries {
			e := &entries[i]
			if e.Section != section {
				continue
			}

			places := p.findPlaces(e)
			if len(places) > 0 {
				*figure += e.Total
			} else if !slices.Contains(out.Unplaced, e.AccountID) {
				out.Unplaced = append(out.Unplaced, e.AccountID)
			}

			items = append(items, item{e, places})
		}

		// Then compute the tables. All sections of a kind have the same rows, and seen collects the visible
		// entries.
		groups, seen := groupItems(p.kind, items), map[*Entry]bool{}
		for i := range p.outlines {
			o := &p.outlines[i]

			out.EmptyColumns = append(out.EmptyColumns, o.section.emptyColumns()...)
			if o.section.Visible.to(asOwner) {
				out.Tables = append(out.Tables, (&drawing{
					kind:    p.kind,
					at:      i,
					outline: o,
					asOwner: asOwner,
					seen:    seen,
				}).renderTable(groups))
			}
		}

		// Last, entries that are added up but in no visible amount are hidden from this viewer.
		for i := range items {
			if it := &items[i]; len(it.places) > 0 && !seen[it.Entry] {
				out.Hidden = append(out.Hidden, it.ID)
			}
		}
	}

	return out
}

// emptyColumns returns the accounts columns without an account.
func (s *Section) emptyColumns() (columns []id.ID) {
	for i := range s.Columns {
		if c := &s.Columns[i]; c.Type == Accounts && !c.Value.Rest && len(c.Value.AccountIDs) == 0 {
			columns = append(columns, c.ID)
		}
	}

	return columns
}

// item is an entry and the columns that add it up.
type item struct {
	*Entry
	places []place
}

// columns returns the bits of the columns of a section that add the item up.
func (it *item) columns(section int) (mask uint64) {
	for _, p := range it.places {
		if p.section == section {
			mask |= p.column
		}
	}

	return mask
}

// drawing is a section that is being rendered.
type drawing struct {
	*outline
	kind    string
	at      int
	asOwner bool
	// seen collects the entries that are in a visible amount of any section.
	seen map[*Entry]bool
	// shown are the visible columns. Their amounts depend on the columns in reach, and by formula on accounts.
	shown    []int
	reach    uint64
	accounts []id.ID
	// dividends and divisors are the sums behind the percentages.
	totals, dividends, divisors []money.Cents
	// taken are the accounts that each accounts column adds up.
	taken [][]id.ID
}

// renderTable renders the section.
func (d *drawing) renderTable(groups []*group) Table {
	s := d.section
	n := len(s.Columns)

	d.totals = make([]money.Cents, n)
	d.dividends = make([]money.Cents, n)
	d.divisors = make([]money.Cents, n)
	d.taken = make([][]id.ID, n)

	// First collect the visible columns and all that their amounts depend on.
	for i := range s.Columns {
		d.taken[i] = slices.Clone(s.Columns[i].Value.AccountIDs)
		if s.Columns[i].Visible.to(d.asOwner) {
			d.shown = append(d.shown, i)
			d.reach |= d.plans[i].reach
			d.accounts = append(d.accounts, d.plans[i].accounts...)
		}
	}

	t := Table{ID: s.ID, Name: s.Name, Kind: d.kind, Rows: []Row{}}

	// An aggregate section has a single row.
	if s.Aggregate {
		groups = d.mergeGroups(groups)
	}

	for _, g := range groups {
		// Rows without any entry of this section are skipped. The total counts hidden rows too.
		masks, sum, some := d.masks(g)
		if !some {
			continue
		}

		t.Total += sum

		r, shown := d.renderRow(g, masks)
		if shown {
			t.Rows = append(t.Rows, r)
		}
	}

	// Heads and totals come last, because the rows fill them.
	t.Columns, t.Totals = d.renderHeads(), d.renderTotals()

	return t
}

// mergeGroups returns all entries that the section adds up as one group.
func (d *drawing) mergeGroups(groups []*group) []*group {
	one := &group{aggregate: true}

	for _, g := range groups {
		if _, _, some := d.masks(g); some {
			one.items = append(one.items, g.items...)
		}
	}

	return []*group{one}
}

// masks returns the columns that add up each item of a group, the sum of these items, and whether there are any.
func (d *drawing) masks(g *group) (masks []uint64, sum money.Cents, some bool) {
	masks = make([]uint64, len(g.items))
	for i := range g.items {
		if masks[i] = g.items[i].columns(d.at); masks[i] != 0 {
			sum += g.items[i].Total
			some = true
		}
	}

	return masks, sum, some
}

// visibleEntries returns the entries of a group that are in a visible amount. If no visible column has an amount, these
// are the entries that the section adds up.
func (d *drawing) visibleEntries(g *group, masks []uint64) (out []*Entry) {
	amounts := d.reach != 0 || len(d.accounts) > 0

	for i, mask := range masks {
		e := g.items[i].Entry
		if mask&d.reach != 0 || !amounts && mask != 0 || slices.Contains(d.accounts, e.AccountID) {
			out = append(out, e)
		}
	}

	return out
}

// renderRow computes all columns of a group and returns the visible ones. A row without a visible entry is not shown.
// That changes no total, since it has nothing in a visible one.
func (d *drawing) renderRow(g *group, masks []uint64) (r Row, shown bool) {
	visible := d.visibleEntries(g, masks)
	for _, e := range visible {
		d.seen[e] = true
	}

	// Compute the columns in the order in which they build on each other.
	cells := make([]Cell, len(d.plans))
	amounts := make([]money.Cents, len(d.plans))

	values := d.values(g, amounts)
	for _, i := range d.order {
		c, p := &d.section.Columns[i], &d.plans[i]
		switch c.Type {
		case Field:
			cells[i].Text = g.text(c.Value.Field, visible)
		case Accounts, SubTotal:
			// A cell without entries is empty and not 0.
			some := len(p.formulas) > 0
			for k, mask := range masks {
				if mask&p.adds == 0 {
					continue
				}

				// Each item counts once, whatever columns of the subtotal it is in.
				some = true

				amounts[i] += g.items[k].Total
				if account := g.items[k].AccountID; c.Type == Accounts && !slices.Contains(d.taken[i], account) {
					d.taken[i] = append(d.taken[i], account)
				}
			}

			for _, f := range p.formulas {
				amounts[i] += amounts[f]
			}

			if some {
				cells[i].Amount = &amounts[i]
			}
		case FormulaCurrency:
			amounts[i] = p.formula.Value(values)
			cells[i].Amount = &amounts[i]
		case FormulaPercentage:
			// The total of a percentage is that of the sums, so keep both.
			dividend, divisor := p.formula.Quotient(values)
			d.dividends[i] += dividend
			d.divisors[i] += divisor
			cells[i].Percent = percent(dividend, divisor)
		}

		d.totals[i] += amounts[i]
	}

	// Hidden columns were only needed for the others.
	r = Row{Cells: make([]Cell, len(d.shown))}
	for k, i := range d.shown {
		r.Cells[k] = cells[i]
	}

	g.setIDs(&r, masks)

	return r, len(visible) > 0
}

// renderHeads returns the visible columns with the accounts that they add up.
func (d *drawing) renderHeads() []Head {
	out := make([]Head, len(d.shown))
	for k, i := range d.shown {
		c := &d.section.Columns[i]
		out[k] = Head{ID: c.ID, Name: c.Name, Type: c.Type, AccountIDs: []id.ID{}}

		// Owners do not see how amounts are computed.
		for j := range d.plans {
			if d.asOwner || d.plans[i].adds&(1<<j) == 0 {
				continue
			}

			for _, a := range d.taken[j] {
				if !slices.Contains(out[k].AccountIDs, a) {
					out[k].AccountIDs = append(out[k].AccountIDs, a)
				}
			}
		}
	}

	return out
}

// renderTotals returns the totals of the visible columns.
func (d *drawing) renderTotals() []Cell {
	out := make([]Cell, len(d.shown))
	for k, i := range d.shown {
		switch t := d.section.Columns[i].Type; {
		case t.isAmount():
			out[k].Amount = &d.totals[i]
		case t == FormulaPercentage:
			out[k].Percent = percent(d.dividends[i], d.divisors[i])
		}
	}

	return out
}

// percent returns a quotient in parts per 100000, rounded half away from zero and limited to the numbers that JSON
// can carry. It returns nil when the divisor is 0.
func percent(dividend, divisor money.Cents) *int64 {
	if divisor == 0 {
		return nil
	}

	// The product may exceed 64 bits, so it is computed in 128. Half of the divisor is added for rounding.
	by := magnitude(divisor)
	high, low := bits.Mul64(magnitude(dividend), uint64(money.WholeRate))
	low, carry := bits.Add64(low, by/2, 0)
	out := int64(money.MaxCents)

	// If the quotient does not fit, the limit stays.
	if high += carry; high < by {
		quotient, _ := bits.Div64(high, low, by)
		out = int64(min(quotient, uint64(money.MaxCents)))
	}

	if (dividend < 0) != (divisor < 0) {
		out = -out
	}

	return &out
}

// magnitude returns the absolute value.
func magnitude(c money.Cents) uint64 {
	if c < 0 {
		return -uint64(c) //nolint:gosec // two's complement: right for the smallest value too
	}

	return uint64(c)
}
