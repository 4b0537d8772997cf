package report

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// View says what the columns of a report are.
type View string

// The views.
const (
	ViewTotal   View = "total"
	ViewLedger  View = "ledger"
	ViewParty   View = "party"
	ViewListing View = "listing"
	ViewMonth   View = "month"
	ViewQuarter View = "quarter"
	ViewYear    View = "year"
)

// Column names a column, or a row.
type Column struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// maxPeriods bounds the columns of a view of months, quarters or years.
const maxPeriods = 400

// grouping returns the grouping of balances that the view needs.
func (v View) grouping() Grouping {
	switch v {
	case ViewTotal:
	case ViewLedger:
		return Grouping{Ledger: true}
	case ViewParty:
		return Grouping{Party: true}
	case ViewListing:
		return Grouping{Listing: true}
	case ViewMonth, ViewQuarter, ViewYear:
		return Grouping{Month: true}
	}

	return Grouping{}
}

// hasPeriods reports whether the columns are periods.
func (v View) hasPeriods() bool { return v == ViewMonth || v == ViewQuarter || v == ViewYear }

// periodName returns the name of the column that a month belongs to.
func (v View) periodName(m day.Month) string {
	switch v {
	case ViewQuarter:
		return fmt.Sprintf("%04d-Q%d", m.Year, (int(m.Month)+2)/3)
	case ViewYear:
		return fmt.Sprintf("%04d", m.Year)
	case ViewMonth, ViewTotal, ViewLedger, ViewParty, ViewListing:
	}

	return m.String()
}

// countPeriods returns how many columns a view of a period has. It is 0 if the columns are not periods.
func (v View) countPeriods(start, end day.Day) int {
	from, to := start.Month(), end.Month()

	switch v {
	case ViewMonth:
		return 12*(to.Year-from.Year) + int(to.Month-from.Month) + 1
	case ViewQuarter:
		return 4*(to.Year-from.Year) + (int(to.Month)+2)/3 - (int(from.Month)+2)/3 + 1
	case ViewYear:
		return to.Year - from.Year + 1
	case ViewTotal, ViewLedger, ViewParty, ViewListing:
	}

	return 0
}

// column is a column with the function that narrows a selection to its entries.
type column struct {
	Column
	narrow func(*Selection)
}

// columns are the columns of a report, with a lookup from a cell to its column.
type columns struct {
	list []column
	at   map[string]int
	key  func(*Cell) string
}

// add appends a column for the cells with this key.
func (c *columns) add(key string, shown Column, narrow func(*Selection)) {
	if c.at == nil {
		c.at = map[string]int{}
	}

	c.at[key] = len(c.list)
	c.list = append(c.list, column{shown, narrow})
}

// headings returns the columns as the report shows them.
func (c *columns) headings() []Column {
	out := make([]Column, len(c.list))
	for i := range c.list {
		out[i] = c.list[i].Column
	}

	return out
}

// ledgerColumns returns the ledgers asked for, whether they have cells or not.
func ledgerColumns(of liveLedger) columns {
	c := columns{key: func(c *Cell) string { return string(c.Ledger) }}

	titles := map[ledger.Ledger]string{ledger.Trust: "Trust", ledger.Operating: "Operating"}
	for _, l := range of.ledgers() {
		c.add(string(l), Column{string(l), titles[l]}, func(f *Selection) { f.Ledger = l })
	}

	return c
}

// partyColumns returns the parties asked for, and one for entries without a party if there are any.
func partyColumns(only ledger.Party, cells []Cell) columns {
	c := columns{key: func(c *Cell) string { return string(c.Party) }}
	if only == "" || only == ledger.Owners {
		c.add(string(ledger.Owners), Column{string(ledger.Owners), "Owners"}, func(f *Selection) {
			f.Party = ledger.Owners
		})
	}

	if only == "" || only == ledger.Manager {
		c.add(string(ledger.Manager), Column{string(ledger.Manager), "Manager"}, func(f *Selection) {
			f.Party = ledger.Manager
		})
	}

	// The last column is shown if it is asked for or if a cell belongs to it.
	unassigned := only == WithoutParty
	for i := range cells {
		unassigned = unassigned || cells[i].Party == ledger.NoParty
	}

	if unassigned {
		c.add("", Column{string(WithoutParty), "Unassigned"}, func(f *Selection) { f.Party = WithoutParty })
	}

	return c
}

// loadListingColumns loads the listings that have cells, by name. Entries without a listing have the last column.
func loadListingColumns(ctx context.Context, tx *db.Tx, cells []Cell) (columns, error) {
	c := columns{key: func(c *Cell) string { return c.ListingID.String() }}
	seen, ids, none := map[id.ID]bool{}, []id.ID{}, false

	// First collect the listings of the cells, each once.
	for i := range cells {
		l := cells[i].ListingID

		none = none || l.IsZero()
		if !l.IsZero() && !seen[l] {
			seen[l] = true
			ids = append(ids, l)
		}
	}

	type named struct {
		ID   id.ID
		Name string
	}

	// Then their names. An entry can name a listing that the team no longer has: it keeps its column, without a title.
	listings, err := db.Select[named](ctx, tx, `
		select u.id, coalesce(l.name, '') as name from unnest(@ids::uuid[]) u (id) left join listing l on l.team_id = @team and l.id = u.id
		order by `+page.TextSQL("l.name")+` nulls last, u.id`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return c, fmt.Errorf("read listings: %w", err)
	}

	// Last, the columns in the order of the names.
	for _, l := range listings {
		c.add(l.ID.String(), Column{l.ID.String(), l.Name}, func(f *Selection) { f.ListingIDs = page.RefsTo(l.ID) })
	}

	if none {
		c.add(id.Zero.String(), Column{NullText, "No listing"}, func(f *Selection) {
			f.ListingIDs = page.RefsTo(id.Zero)
		})
	}

	return c, nil
}

// periodColumns returns the months, quarters or years of a period. The first and the last are cut to the period.
func periodColumns(v View, start, end day.Day) columns {
	c := columns{key: func(c *Cell) string { return v.periodName(c.Month.Month()) }}
	period := day.Range{From: start, To: end.AddDays(1)}

	months := period.Months()
	for i := 0; i < len(months); {
		// Months with the same name belong to the same column.
		name, last := v.periodName(months[i]), i
		for last+1 < len(months) && v.periodName(months[last+1]) == name {
			last++
		}

		// The drill-down of a column has the days that are in the period.
		first, final := Start{day.Max(start, months[i].First())}, End{day.Min(end, months[last].Last())}

		c.add(name, Column{name, name}, func(f *Selection) { f.StartDate, f.EndDate = &first, &final })

		i = last + 1
	}

	return c
}
