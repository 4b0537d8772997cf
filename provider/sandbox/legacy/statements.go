package legacy

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"stayledger/platform/day"
)

// statement is an owner statement. Amounts are cents with the sign that owners see.
type statement struct {
	ID           string  `json:"id"`
	ListingID    string  `json:"listingId"`
	StartAt      day.Day `json:"startAt"`
	EndAt        day.Day `json:"endAt"`
	Currency     string  `json:"currency,omitempty"`
	Status       string  `json:"status"`
	BalanceStart int64   `json:"balanceStart"`
	BalanceEnd   int64   `json:"balanceEnd"`
	Lines        []line  `json:"lines"`
}

// line is an amount on a statement. Revenue and payouts are positive, expenses negative.
type line struct {
	ID          string   `json:"id"`
	Type        string   `json:"type"`
	AccountKey  string   `json:"accountKey,omitempty"`
	Amount      int64    `json:"amount"`
	Date        *day.Day `json:"date,omitempty"`
	Description string   `json:"description,omitempty"`
	OwnerID     string   `json:"ownerId,omitempty"`
}

// add adds a line with the next line number.
func (s *statement) add(key string, cents int64, description string) {
	s.Lines = append(s.Lines, line{
		ID: strconv.Itoa(len(s.Lines) + 1), Type: "line", AccountKey: key, Amount: cents,
		Description: description,
	})
	s.BalanceEnd += cents
}

// pay adds a payout to an owner, or to all owners if the owner is empty.
func (s *statement) pay(owner string, cents int64, on day.Day) {
	s.Lines = append(s.Lines, line{
		ID: strconv.Itoa(len(s.Lines) + 1), Type: "payout", Amount: cents, Date: &on, Description: "Transfer",
		OwnerID: owner,
	})
	s.BalanceEnd -= cents
}

// writeStatements writes the statements of each listing: one per month with consecutive balances, the last one a draft,
// and further statements that are void or overlap another.
func (d *dump) writeStatements(put func(any)) {
	for n := range d.Listings {
		r := d.dice(inStatements, n)

		// Some begin with a balance from even earlier.
		balance := int64(r.IntN(3)) * 12_345

		for i, month := 0, d.first; i < d.Months; i, month = i+1, month.Next() {
			s := d.newStatement(n, fmt.Sprintf("sta-%06d-%03d", n+1, i+1), month, balance)
			d.fill(s, n, i, r)

			switch {
			case i == d.Months-1 && d.Months > 1:
				s.Status = "draft"
				s.add(keyDraft, -int64(100+r.IntN(900)), "Estimate")
			case i%3 == 2:
				s.Status = "posted"
			}

			balance = s.BalanceEnd

			put(s)
			d.writeOthers(put, n, i, s)
		}
	}
}

// newStatement returns a published statement of a month without lines.
func (*dump) newStatement(n int, name string, month day.Month, balance int64) *statement {
	s := &statement{
		ID: name, ListingID: listingID(n), StartAt: month.First(), EndAt: month.Last(), Status: "published",
		BalanceStart: balance, BalanceEnd: balance, Lines: []line{},
	}

	if kindFor(n) == foreign {
		s.Currency = foreignCurrency
	}

	return s
}

// fill adds the lines of a month of a listing. One month in twelve has none.
func (d *dump) fill(s *statement, n, i int, r *rand.Rand) {
	if i%12 == 10 {
		return
	}

	// Income, with what is kept of it.
	for stay := range 1 + r.IntN(3) {
		rent := int64(20_000 + r.IntN(150_000))
		s.add("acc-rent", rent, fmt.Sprintf("Stay %d", stay+1))
		s.add("acc-cleaning-income", int64(5_000+r.IntN(10_000)), "")
		s.add("acc-channel", -rent*3/100, "")
		s.add("acc-commission", -rent/5, "Commission of 20 %")
	}

	if r.IntN(4) == 0 {
		s.add("acc-pet", int64(1_000+r.IntN(4_000)), "A dog")
	}

	// Costs, of which some are refunded, and a line of zero.
	s.add("acc-cleaning", -int64(4_000+r.IntN(9_000)), "Cleaners")
	s.add(keyZero, 0, "")

	if r.IntN(3) == 0 {
		s.add("acc-repairs", int64(r.IntN(40_000)-30_000)|1, "Plumber")
	}

	if i%6 == n%6 {
		s.add(keyOdd, -int64(1+r.IntN(2_000)), "Flowers")
	}

	d.payOwners(s, n, i, r)
}

// payOwners adds payouts of the balance of a statement, or of a part of it. Some payouts are zero.
func (d *dump) payOwners(s *statement, n, i int, r *rand.Rand) {
	paid := s.StartAt.AddDays(9 + r.IntN(15))

	switch k := kindFor(n); {
	case s.BalanceEnd <= 0 || k == nobody:
	case k == half:
		// One payout in four goes to owners that the dump does not name.
		if i%4 == 1 {
			s.pay("", s.BalanceEnd, paid)
		}
	case k == stranger && i%5 == 3:
		s.pay(strangerID, s.BalanceEnd/2, paid)
	case k == pair:
		s.pay(d.ownerID(n), s.BalanceEnd*6/10, paid)
		s.pay(d.ownerID(n+1), s.BalanceEnd/2, paid.AddDays(1))
		s.pay("", 0, paid)
	case i%4 != 0:
		// Shares of an odd amount do not come out even.
		s.pay("", s.BalanceEnd-int64(r.IntN(500)), paid)
	}
}

// writeOthers writes the further statements of a month of a listing.
func (d *dump) writeOthers(put func(any), n, i int, s *statement) {
	month := s.StartAt.Month()

	// What was made wrongly at first.
	if i%7 == 1 {
		void := d.newStatement(n, s.ID+"-void", month, s.BalanceStart)
		void.Status = "void"
		void.add(keyDraft, -100, "Wrong")
		put(void)
	}

	// Later ones that have the same days.
	if kindFor(n) == corrected && i%5 == 0 && s.Status != "draft" {
		again := d.newStatement(n, s.ID+"-again", month, 0)
		again.StartAt = again.StartAt.AddDays(4)
		again.add("acc-repairs", -4_321, "Forgotten")
		put(again)
	}
}
