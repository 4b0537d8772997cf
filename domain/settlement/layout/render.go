package layout

import (
	"math/bits"
	"slices"

	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Render lays entries out for the owner, else for the manager. It is pure. Payouts are in no section.
func (d *Design) Render(entries []Entry, asOwner bool) Rendered {
	out := Rendered{Tables: []Table{}}
	for _, p := range []*part{planned(netRevenue, d.NetRevenueSections), planned(other, d.OtherSections)} {
		section, figure := netRevenue, &out.NetRevenue
		if p.kind == other {
			section, figure = "expenses", &out.Expenses
		}

		var items []item

		for i := range entries {
			e := &entries[i]
			if e.Section != section {
				continue
			}

			places := p.takes(e)
			if len(places) > 0 {
				*figure += e.Total
			} else if !slices.Contains(out.Unplaced, e.AccountID) {
				out.Unplaced = append(out.Unplaced, e.AccountID)
			}

			items = append(items, item{e, places})
		}

		groups, seen := grouped(p.kind, items), map[*Entry]bool{}
		for i := range p.outlines {
			o := &p.outlines[i]

			out.EmptyColumns = append(out.EmptyColumns, o.section.empty()...)
			if o.section.Visible.to(asOwner) {
				out.Tables = append(out.Tables, (&drawing{kind: p.kind, at: i, outline: o, asOwner: asOwner, seen: seen}).table(groups))
			}
		}

		for i := range items {
			if it := &items[i]; len(it.places) > 0 && !seen[it.Entry] {
				out.Hidden = append(out.Hidden, it.ID)
			}
		}
	}

	return out
}

// empty are the accounts columns without an account.
func (s *Section) empty() (columns []id.ID) {
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

// columns are the bits of the columns of a section that add the item up.
func (it *item) columns(section int) (mask uint64) {
	for _, p := range it.places {
		if p.section == section {
			mask |= p.column
		}
	}

	return mask
}

// drawing is a section on its way to a table.
type drawing struct {
	*outline
	kind    string
	at      int
	asOwner bool
	// seen collects the entries that are in a visible amount of any section.
	seen map[*Entry]bool
	// shown are the visible columns. reach is what their amounts depend on, and accounts what they name by formula.
	shown    []int
	reach    uint64
	accounts []id.ID
	// dividends and divisors are the sums behind the percentages.
	totals, dividends, divisors []money.Cents
	// taken are the accounts that each accounts column adds up.
	taken [][]id.ID
}

func (d *drawing) table(groups []*group) Table {
	s := d.section
	n := len(s.Columns)

	d.totals, d.dividends, d.divisors, d.taken = make([]money.Cents, n), make([]money.Cents, n), make([]money.Cents, n), make([][]id.ID, n)
	for i := range s.Columns {
		d.taken[i] = slices.Clone(s.Columns[i].Value.AccountIDs)
		if s.Columns[i].Visible.to(d.asOwner) {
			d.shown = append(d.shown, i)
			d.reach |= d.plans[i].reach
			d.accounts = append(d.accounts, d.plans[i].accounts...)
		}
	}

	t := Table{ID: s.ID, Name: s.Name, Kind: d.kind, Rows: []Row{}}
	if s.Aggregate {
		groups = d.merged(groups)
	}

	for _, g := range groups {
		masks, sum, some := d.masks(g)
		if !some {
			continue
		}

		t.Total += sum

		r, shown := d.row(g, masks)
		if shown {
			t.Rows = append(t.Rows, r)
		}
	}

	t.Columns, t.Totals = d.heads(), d.foot()

	return t
}

// merged is all that the section adds up as one group.
func (d *drawing) merged(groups []*group) []*group {
	one := &group{aggregate: true}

	for _, g := range groups {
		if _, _, some := d.masks(g); some {
			one.items = append(one.items, g.items...)
		}
	}

	return []*group{one}
}

// masks gives the columns that add each item of a group up, what the items come to, and whether there are any.
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

// visible are the entries of a group that are in a visible amount; where no column has an amount, those that the
// section adds up.
func (d *drawing) visible(g *group, masks []uint64) (out []*Entry) {
	amounts := d.reach != 0 || len(d.accounts) > 0

	for i, mask := range masks {
		e := g.items[i].Entry
		if mask&d.reach != 0 || !amounts && mask != 0 || slices.Contains(d.accounts, e.AccountID) {
			out = append(out, e)
		}
	}

	return out
}

// row computes all columns of a group and gives the visible ones. A row whose amounts are all hidden is not shown,
// which changes no total: it has nothing in a visible one.
func (d *drawing) row(g *group, masks []uint64) (r Row, shown bool) {
	visible := d.visible(g, masks)
	for _, e := range visible {
		d.seen[e] = true
	}

	cells := make([]Cell, len(d.plans))
	amounts := make([]money.Cents, len(d.plans))

	values := d.values(g, amounts)
	for _, i := range d.order {
		c, p := &d.section.Columns[i], &d.plans[i]
		switch c.Type {
		case Field:
			cells[i].Text = g.text(c.Value.Field, visible)
		case Accounts, SubTotal:
			some := len(p.formulas) > 0
			for k, mask := range masks {
				if mask&p.adds == 0 {
					continue
				}

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
			dividend, divisor := p.formula.Quotient(values)
			d.dividends[i] += dividend
			d.divisors[i] += divisor
			cells[i].Percent = percent(dividend, divisor)
		}

		d.totals[i] += amounts[i]
	}

	r = Row{Cells: make([]Cell, len(d.shown))}
	for k, i := range d.shown {
		r.Cells[k] = cells[i]
	}

	g.identify(&r, masks)

	return r, len(visible) > 0
}

// heads are the visible columns.
func (d *drawing) heads() []Head {
	out := make([]Head, len(d.shown))
	for k, i := range d.shown {
		c := &d.section.Columns[i]
		out[k] = Head{ID: c.ID, Name: c.Name, Type: c.Type, AccountIDs: []id.ID{}}

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

// foot are the totals of the visible columns.
func (d *drawing) foot() []Cell {
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

// percent is a quotient in parts per 100000, rounded half away from zero and held at what JSON can carry; nil when the
// divisor is 0.
func percent(dividend, divisor money.Cents) *int64 {
	if divisor == 0 {
		return nil
	}

	by := magnitude(divisor)
	high, low := bits.Mul64(magnitude(dividend), uint64(money.WholeRate))
	low, carry := bits.Add64(low, by/2, 0)
	out := int64(money.MaxCents)

	if high += carry; high < by {
		quotient, _ := bits.Div64(high, low, by)
		out = int64(min(quotient, uint64(money.MaxCents)))
	}

	if (dividend < 0) != (divisor < 0) {
		out = -out
	}

	return &out
}

func magnitude(c money.Cents) uint64 {
	if c < 0 {
		return -uint64(c) //nolint:gosec // two's complement: right for the smallest value too
	}

	return uint64(c)
}
