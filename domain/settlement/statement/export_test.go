package statement

import (
	"strconv"
	"time"

	"stayledger/domain/settlement/chain"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Chained gives the figures of months that follow each other from their sums, for the property test.
func Chained(months []monthSum) []Financials {
	out := make([]Financials, len(months))
	for i := range months {
		a := added{months: months}
		out[i] = a.figuresAt(months[i].Month).complete()
	}

	return out
}

// MonthSum makes the sums of a month.
type MonthSum = monthSum

// StatusOf compares the received part of the expected amount, and the rest of it.
var StatusOf = paymentStatus

// History is the history of a chain that a test writes.
type History struct {
	owners   []chain.Owner
	balances []chain.Balance
	payouts  []chain.Distribution
	saved    []*row
	start    []Financials
}

// NewHistory has members with these splits.
func NewHistory(splits []int64) *History {
	c := &History{}
	for i, split := range splits {
		c.owners = append(c.owners, chain.Owner{ContactID: Contact(i), Split: split})
	}

	return c
}

// Contact is the contact of a member by place, somebody else's for other places.
func Contact(i int) id.ID { return id.Derive(time.UnixMilli(0), "member", strconv.Itoa(i)) }

// settled is the history so far.
func (c *History) settled() *chain.History { return chain.NewHistory(c.owners, c.balances, c.payouts) }

// Pay books a payout to a member, by place.
func (c *History) Pay(date day.Day, member int, cents money.Cents) {
	c.payouts = append(c.payouts, chain.Distribution{ContactID: Contact(member), Date: date, Since: date, Total: cents})
}

// Lose says that a booked payout did not arrive, the last one.
func (c *History) Lose() {
	p := &c.payouts[len(c.payouts)-1]
	p.Missing = p.Total
}

// Publish saves a statement over a month with the shares that it shows.
func (c *History) Publish(month day.Day, f Financials) {
	r := &row{ID: id.Derive(time.UnixMilli(0), "statement", month.String()), StartAt: month, EndAt: month.LastOfMonth(), Status: Published}
	c.balances = append(c.balances, chain.Balance{
		ID: r.ID, StartAt: r.StartAt, EndAt: r.EndAt, Published: true, Available: f.Available, Shares: c.settled().Shares(f.Available, r.EndAt, false),
	})
	c.saved, c.start = append(c.saved, r), append(c.start, f)
}

// Told has the figures of statement n, and the part of each member.
func (c *History) Told(n int) (Payment, []Share, []Financials) {
	r, f, h := c.saved[n], &c.start[n], c.settled()
	s := r.standings(h, f)

	return payment(s), shares(c.owners, s), r.divideFigures(h, f)
}

// Paid has the amounts that payouts have brought each member by name by the end of a day, and others by then.
func (c *History) Paid(until day.Day) (own []money.Cents) {
	return c.settled().MemberPayouts(until, false)
}

// Left is the unpaid amount of the last statement.
func (c *History) Left() []money.Cents {
	return c.settled().Balance(c.saved[len(c.saved)-1].ID).Remaining()
}

// Now is the amount available after all payouts up to a day, with those that each member got by name.
func (c *History) Now(until day.Day) (available money.Cents, own []money.Cents) {
	last := &c.balances[len(c.balances)-1]

	available = last.Available
	for i := range c.payouts {
		if c.payouts[i].Date.After(last.EndAt) {
			available -= c.payouts[i].Total
		}
	}

	return available, c.Paid(until)
}
