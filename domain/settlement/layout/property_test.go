package layout_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/books/account"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// drawDesign gives a layout with columns that share no account, with formulas and subtotals between them. Its sections
// list some of the accounts; whether the rest is placed is up to the draw.
func drawDesign(r *rapid.T) *layout.Design {
	d := &layout.Design{}
	visible := func() layout.Visible {
		return rapid.SampledFrom([]layout.Visible{layout.VisibleAll, layout.VisibleManager, layout.VisibleOwner, layout.VisibleNone}).Draw(r, "visible")
	}
	n := 100
	next := func() int { n++; return n }

	for kind, sections := range []*[]layout.Section{&d.NetRevenueSections, &d.OtherSections} {
		accounts := rapid.Permutation([]id.ID{rent, cleaning, extras, fees, repairs}).Draw(r, "accounts")

		rest := rapid.Bool().Draw(r, "rest")
		for range rapid.IntRange(0, 3).Draw(r, "sections") {
			s := layout.Section{ID: numbered(next()), Visible: visible(), Aggregate: rapid.Bool().Draw(r, "aggregate")}
			for range rapid.IntRange(1, 4).Draw(r, "columns") {
				c := layout.Column{ID: numbered(next()), Name: "C", Visible: visible(), Type: layout.Accounts, Value: layout.Value{AccountIDs: []id.ID{}}}
				for len(accounts) > 0 && rapid.Bool().Draw(r, "one more") {
					c.Value.AccountIDs, accounts = append(c.Value.AccountIDs, accounts[0]), accounts[1:]
				}

				if rest && rapid.Bool().Draw(r, "takes the rest") {
					c.Value.Rest, rest = true, false
					if kind == 0 && rapid.Bool().Draw(r, "of revenue") {
						c.Value.Classifications = []account.Classification{account.Revenue}
					}
				}

				s.Columns = append(s.Columns, c)
			}

			first := s.Columns[0].ID

			refs := []layout.Reference{{Kind: "column", Name: "C", ID: first}, {Kind: "account", Name: "4000", ID: rent}}
			for _, c := range []layout.Column{
				{Type: layout.SubTotal, Value: layout.Value{ColumnIDs: []id.ID{}}},
				{Type: layout.FormulaCurrency, Value: layout.Value{Formula: `12.5% * (C - account("4000"))`, References: refs}},
				{Type: layout.FormulaPercentage, Value: layout.Value{Formula: `C / account("4000")`, References: refs}},
				{Type: layout.Field, Value: layout.Value{Field: layout.Date}},
			} {
				c.ID, c.Visible = numbered(next()), visible()
				s.Columns = append(s.Columns, c)
			}

			*sections = append(*sections, s)
		}
	}

	return d
}

func drawEntries(r *rapid.T) []layout.Entry {
	entries := make([]layout.Entry, rapid.IntRange(0, 30).Draw(r, "entries"))
	for i := range entries {
		on := rapid.SampledFrom([]id.ID{rent, cleaning, extras, fees, repairs}).Draw(r, "account")
		cents := money.Cents(rapid.Int64Range(-1e9, 1e9).Draw(r, "cents"))

		n := rapid.IntRange(1, 9).Draw(r, "of")
		switch rapid.IntRange(0, 3).Draw(r, "sort") {
		case 0, 1:
			entries[i] = stay(n, on, cents)
		case 2:
			entries[i] = stay(n, on, cents)
			entries[i].ReservationID, entries[i].CheckIn, entries[i].CheckOut = nil, nil, nil
		default:
			entries[i] = expense(n, on, "Cost", cents)
		}

		entries[i].ID = numbered(10_000 + i)
	}

	return entries
}

// shownToAll is a design in which nothing is hidden.
func shownToAll(d *layout.Design) *layout.Design {
	out := *d
	for _, sections := range []*[]layout.Section{&out.NetRevenueSections, &out.OtherSections} {
		var copied []layout.Section

		for _, s := range *sections {
			s.Visible = layout.VisibleAll

			var columns []layout.Column

			for _, c := range s.Columns {
				c.Visible = layout.VisibleAll
				columns = append(columns, c)
			}

			s.Columns = columns
			copied = append(copied, s)
		}

		*sections = copied
	}

	return &out
}

// What the accounts columns of all sections show adds up to the entries that are placed, and hiding columns
// from a viewer changes no total.
func TestPropertyEveryEntryIsPlacedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		d, entries := drawDesign(r), drawEntries(r)
		open := shownToAll(d)
		all := open.Render(entries, false)

		unplaced := map[id.ID]map[string]bool{}
		for _, a := range all.Unplaced {
			unplaced[a] = map[string]bool{}
		}

		var columns, tables, rows, total money.Cents

		placed := map[id.ID]bool{}

		for _, table := range all.Tables {
			tables += table.Total
			for i, head := range table.Columns {
				if head.Type != layout.Accounts {
					continue
				}

				columns += *table.Totals[i].Amount
				for _, row := range table.Rows {
					if a := row.Cells[i].Amount; a != nil {
						rows += *a
					}
				}
			}

			for _, row := range table.Rows {
				for _, e := range row.EntryIDs {
					if placed[e] {
						r.Fatalf("entry %v is in two rows", e)
					}

					placed[e] = true
				}
			}
		}

		for _, e := range entries {
			if placed[e.ID] {
				total += e.Total
			} else if unplaced[e.AccountID] == nil {
				r.Fatalf("an entry of %v is nowhere", accountName(e.AccountID))
			}
		}

		if columns != total || tables != total || rows != total || all.NetRevenue+all.Expenses != total {
			r.Fatalf("placed %d, columns %d, tables %d, rows %d, figures %d and %d", total, columns, tables, rows, all.NetRevenue, all.Expenses)
		}

		for _, asOwner := range []bool{false, true} {
			seen := d.Render(entries, asOwner)
			if seen.NetRevenue != all.NetRevenue || seen.Expenses != all.Expenses {
				r.Fatalf("hidden parts change %d to %d", all.NetRevenue, seen.NetRevenue)
			}

			sameTotals(r, seen, all)

			if again := d.Render(entries, asOwner); !reflect.DeepEqual(seen, again) {
				r.Fatalf("got %s and then %s", shown(seen), shown(again))
			}
		}
	})
}

// sameTotals says that what is seen has the totals that it has when all is seen, and rows that add up to them.
func sameTotals(r *rapid.T, seen, all layout.Rendered) {
	tables := map[id.ID]layout.Table{}
	for _, t := range all.Tables {
		tables[t.ID] = t
	}

	for _, t := range seen.Tables {
		full := tables[t.ID]

		totals := map[id.ID]layout.Cell{}
		for i, h := range full.Columns {
			totals[h.ID] = full.Totals[i]
		}

		if t.Total != full.Total {
			r.Fatalf("a table of %d shows %d", full.Total, t.Total)
		}

		for i, h := range t.Columns {
			if !reflect.DeepEqual(t.Totals[i], totals[h.ID]) {
				r.Fatalf("a total became %v", t.Totals[i])
			}

			if t.Totals[i].Amount == nil {
				continue
			}

			var sum money.Cents

			for _, row := range t.Rows {
				if a := row.Cells[i].Amount; a != nil {
					sum += *a
				}
			}

			if sum != *t.Totals[i].Amount {
				r.Fatalf("the rows add up to %d, the total is %d", sum, *t.Totals[i].Amount)
			}
		}
	}
}
