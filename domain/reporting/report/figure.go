package report

import (
	"math/big"

	"stayledger/domain/books/account"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Figure is a row of a report: cents in total and by column, each with the entries that add up to it.
type Figure struct {
	ID              string          `json:"id"`
	Title           string          `json:"title"`
	Total           money.Cents     `json:"total"`
	TotalPercentage *int64          `json:"totalPercentage" doc:"Parts per 100000 of the report's base; null when that is nothing."`
	Values          []Value         `json:"values" doc:"One per column of the view."`
	ComputedValues  []ComputedValue `json:"computedValues" doc:"Figures over the columns, with no entries of their own."`
	Drilldown       Drilldown       `json:"drilldown"`
}

// Value is a row's figure in one column.
type Value struct {
	ID         string      `json:"id" doc:"The column's."`
	Title      string      `json:"title"`
	Total      money.Cents `json:"total"`
	Percentage *int64      `json:"percentage" doc:"Parts per 100000 of the base in this column; null when that is nothing."`
	Drilldown  Drilldown   `json:"drilldown"`
}

// ComputedValue is a figure over the columns of a row.
type ComputedValue struct {
	ID         string      `json:"id" enum:"average"`
	Title      string      `json:"title"`
	Total      money.Cents `json:"total"`
	Percentage *int64      `json:"percentage"`
}

// Section is a part of a report: the accounts of some classification, by category.
type Section struct {
	Figure
	Categories []Category `json:"categories"`
}

// Category is the part of a section with the accounts of one category.
type Category struct {
	Figure
	Accounts []AccountFigure `json:"accounts"`
}

// AccountFigure is one account.
type AccountFigure struct {
	Figure
	Code *string `json:"code"`
}

// table makes the rows of a report: it puts cells into columns, and gives every figure its drill-down.
type table struct {
	columns columns
	// average asks for the average over the columns.
	average bool
}

// figure adds up cells, each times sign. The selection behind has their entries.
func (t *table) figure(row Column, sign money.Cents, cells []*Cell, behind Selection) Figure {
	f := Figure{
		ID:             row.ID,
		Title:          row.Title,
		Values:         make([]Value, len(t.columns.list)),
		ComputedValues: []ComputedValue{},
		Drilldown:      DrilldownTo(behind),
	}

	// The drill-down of a value is that of the row, narrowed to its column.
	for i := range t.columns.list {
		c := &t.columns.list[i]
		narrowed := behind
		c.narrow(&narrowed)
		f.Values[i] = Value{ID: c.ID, Title: c.Title, Drilldown: DrilldownTo(narrowed)}
	}

	// Then put each cell into its column, and all of them into the total.
	for _, c := range cells {
		f.Total += sign * c.Net()
		if t.columns.key != nil {
			f.Values[t.columns.at[t.columns.key(c)]].Total += sign * c.Net()
		}
	}

	// Last, the average over the columns, if it is asked for.
	if n := len(f.Values); t.average && n > 0 {
		f.ComputedValues = append(f.ComputedValues, ComputedValue{
			ID:    "average",
			Title: "Average",
			Total: computeAverage(f.Total, n),
		})
	}

	return f
}

// section makes the rows of the accounts that have cells. The accounts must be sorted by category.
func (t *table) section(
	row Column,
	sign money.Cents,
	accounts []*chartAccount,
	cells map[id.ID][]*Cell,
	behind Selection,
) Section {
	s := Section{Categories: []Category{}}

	var all []*Cell

	// Each round takes the accounts of one category, which follow each other.
	for start := 0; start < len(accounts); {
		end := start
		c := Category{Accounts: []AccountFigure{}}

		var within []*Cell

		for ; end < len(accounts) && accounts[end].CategoryID == accounts[start].CategoryID; end++ {
			// An account without cells has no row.
			a := accounts[end]
			if len(cells[a.ID]) == 0 {
				continue
			}

			own := behind
			own.AccountIDs = page.Only(a.ID)
			c.Accounts = append(c.Accounts, AccountFigure{
				t.figure(Column{a.ID.String(), a.Name}, sign, cells[a.ID], own),
				a.Code,
			})
			within = append(within, cells[a.ID]...)
		}

		// A category is the sum of its accounts. One without rows is left out.
		if len(c.Accounts) > 0 {
			own := behind
			own.CategoryIDs = page.Only(accounts[start].CategoryID)
			name := Column{accounts[start].CategoryID.String(), accounts[start].CategoryName}
			c.Figure = t.figure(name, sign, within, own)
			s.Categories = append(s.Categories, c)
			all = append(all, within...)
		}

		start = end
	}

	// Last, the sum over all categories.
	s.Figure = t.figure(row, sign, all, behind)

	return s
}

// setPercentages fills in the percentages of a base, column by column.
func (f *Figure) setPercentages(base *Figure) {
	f.TotalPercentage = computeShare(f.Total, base.Total)
	for i := range f.Values {
		f.Values[i].Percentage = computeShare(f.Values[i].Total, base.Values[i].Total)
	}

	for i := range f.ComputedValues {
		f.ComputedValues[i].Percentage = computeShare(f.ComputedValues[i].Total, base.ComputedValues[i].Total)
	}
}

// setPercentages fills in the percentages of all rows of the section.
func (s *Section) setPercentages(base *Figure) {
	for i := range s.Categories {
		c := &s.Categories[i]
		for k := range c.Accounts {
			c.Accounts[k].setPercentages(base)
		}

		c.setPercentages(base)
	}

	s.Figure.setPercentages(base)
}

// whole is the base in parts, in which percentages are given.
const whole = 100_000

// computeShare returns an amount in parts per 100000 of a base, rounded half away from zero. It returns nil if the base
// is zero or the share is beyond a safe integer.
func computeShare(amount, base money.Cents) *int64 {
	if base == 0 {
		return nil
	}

	// The product can exceed 64 bits.
	n := divideRounded(new(big.Int).Mul(big.NewInt(int64(amount)), big.NewInt(whole)), int64(base))
	if !n.IsInt64() || !money.Cents(n.Int64()).Valid() {
		return nil
	}

	share := n.Int64()

	return &share
}

// computeAverage returns the total divided by n, rounded half away from zero.
func computeAverage(total money.Cents, n int) money.Cents {
	return money.Cents(divideRounded(big.NewInt(int64(total)), int64(n)).Int64())
}

// divideRounded returns a quotient, rounded half away from zero.
func divideRounded(n *big.Int, divisor int64) *big.Int {
	d := big.NewInt(divisor)

	quotient, rest := new(big.Int).QuoRem(n, d, new(big.Int))

	// Twice the rest is less than the divisor: the quotient is the nearest integer.
	if rest.Abs(rest).Lsh(rest, 1).CmpAbs(d) < 0 {
		return quotient
	}

	away := big.NewInt(int64(n.Sign() * d.Sign()))

	return quotient.Add(quotient, away)
}

// groupByAccount groups cells by their account.
func groupByAccount(cells []Cell) map[id.ID][]*Cell {
	out := map[id.ID][]*Cell{}
	for i := range cells {
		out[cells[i].AccountID] = append(out[cells[i].AccountID], &cells[i])
	}

	return out
}

// accountsIn returns the accounts of a classification, in their order.
func accountsIn(accounts []chartAccount, c account.Classification) []*chartAccount {
	var out []*chartAccount

	for i := range accounts {
		if accounts[i].Classification == c {
			out = append(out, &accounts[i])
		}
	}

	return out
}
