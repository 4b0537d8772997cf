package check

import (
	"context"
	"strings"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/money"
	"stayledger/provider/pms"
	"stayledger/provider/pms/protocol"
)

// stay has the parts of a reservation that are kept: rows can be large.
type stay struct {
	listing       string
	begin, end    day.Day
	changed       time.Time
	isGone, isBad bool // bad cannot be read
}

// reading has the reservations that the pages of one reading gave.
type reading struct {
	walk

	stays map[string]stay
	// ids are those of stays in the order in which they came, each once.
	ids []string
	// sample are the first of them, as they are.
	sample []pms.Reservation
	mark   string
	// isComplete says that each page said so, and isWhole that all pages were read.
	isComplete, isWhole bool
}

// sampleSize is how many reservations are looked up.
const sampleSize = 20

// read reads all pages of reservations, and calls judge for each that can be read, unless it is nil. Those that cannot
// be read are reported then.
func (c *checker) read(ctx context.Context, own part, q pms.Query, judge func(r *pms.Reservation)) *reading {
	out := &reading{stays: map[string]stay{}, isComplete: true}

	var last time.Time

	out.walk, out.isWhole = c.readAll(ctx, own, func(page string) (string, error) {
		q.Page = page

		got, err := c.client.Reservations(ctx, &q)
		if err != nil {
			return "", err
		}

		if page == "" {
			out.mark = got.Mark
		}

		out.isComplete = out.isComplete && got.Complete
		last = c.checkOrder(protocol.Rows(c.body), last)

		for i := range got.Unreadable {
			if out.add(got.Unreadable[i].ID, &stay{isBad: true}); judge != nil {
				c.reportRow(&got.Unreadable[i], stayRules, stayForm)
			}
		}

		for i := range got.Reservations {
			r := &got.Reservations[i]

			out.add(r.ID, &stay{
				listing: r.ListingID, begin: r.CheckIn, end: r.CheckOut, changed: r.ChangedAt,
				isGone: r.Gone,
			})

			if !r.Gone && len(out.sample) < sampleSize {
				out.sample = append(out.sample, *r)
			}

			if !r.Gone && judge != nil {
				judge(r)
			}
		}

		return got.Next, nil
	})

	return out
}

// add adds a reservation, or replaces it: of several with an id the last counts.
func (r *reading) add(id string, s *stay) {
	if _, has := r.stays[id]; !has {
		r.ids = append(r.ids, id)
	}

	r.stays[id] = *s
}

// checkOrder checks that rows come in the order of their changes, and returns the last stamp. Rows without one are
// passed over.
func (c *checker) checkOrder(rows []protocol.Row, last time.Time) time.Time {
	for _, row := range rows {
		if row.ChangedAt.IsZero() {
			continue
		}

		if row.ChangedAt.Before(last) {
			c.wrong(stayOrder, row.ID, "changedAt", row.ChangedAt.Format(time.RFC3339Nano)+" is before that of the "+
				"row above")
		}

		last = row.ChangedAt
	}

	return last
}

// stayRules are the rules of fields of reservations that cannot be read.
var stayRules = map[string]string{
	"status": stayNeeded, "listingId": stayNeeded, "checkIn": stayNeeded, "checkOut": stayNeeded,
	"currency": stayNeeded, "total": stayAmounts, "payout": stayAmounts, "channelFee": stayAmounts,
	"processingFee": stayAmounts, "lines": stayAmounts,
}

// firstName returns the first part of the name of a field, as lines of lines.0.amount.
func firstName(field string) string {
	name, _, _ := strings.Cut(field, ".")
	return name
}

// tally counts the reservations that a rule can be tried on.
type tally struct{ stays, stamps, totals, payouts, canceled, guests, codes int }

// checkReservations reads all reservations, and then parts of them.
func (c *checker) checkReservations(ctx context.Context) {
	var n tally

	own := part{list: stayList, next: stayNext, pages: stayPages, id: stayID}
	begun := time.Now()

	all := c.read(ctx, own, pms.Query{}, func(r *pms.Reservation) { c.checkReservation(r, &n) })
	if all.pages == 0 {
		return
	}

	c.report.pass(stayList, stayNext, stayID, stayComplete)
	c.passRows(all.rows, "reservation", stayNeeded, stayAmounts, stayForm)
	c.passRows(n.stamps, "reservation with changedAt", stayOrder)
	c.passRows(n.stays, "reservation that can be read", stayListing)
	c.passRows(n.totals, "stay with a total", stayTotal)
	c.passRows(n.canceled, "canceled stay", stayCanceled)
	c.report.pass(stayPayout)

	// What a server can leave out costs something, which the page says.
	if n.payouts == 0 {
		c.report.note(NotOffered, "No reservation has a payout.", stayPayout)
	}

	if c.passRows(n.guests, "stay of a guest", stayCode); n.guests > 0 && n.codes == 0 {
		c.report.note(NotOffered, "No stay has a code.", stayCode)
	}

	if all.isWhole && !all.isComplete {
		c.report.note(NotOffered, "Not all pages say that the reading is complete, so deletions are not found.",
			stayComplete)
	}

	if !c.hasListings {
		c.report.note(NotChecked, "Not all listings were read.", stayListing)
	}

	c.checkPage(ctx, stayPage, all.pages > 1, func(page string) error {
		_, err := c.client.Reservations(ctx, &pms.Query{Page: page})
		return err
	})
	c.checkLookup(ctx, all)
	c.checkAgain(ctx, all)
	c.checkSince(ctx, all, begun)
	c.checkBounds(ctx, all)
}

// checkReservation checks what a reservation says that can be read.
func (c *checker) checkReservation(r *pms.Reservation, n *tally) {
	n.stays++

	if !r.ChangedAt.IsZero() {
		n.stamps++
	}

	if _, has := c.listings[r.ListingID]; c.hasListings && !has {
		c.wrong(stayListing, r.ID, "listingId", "is "+r.ListingID+", which no listing has")
	}

	// Nights without a guest have no money.
	if r.Block || r.OwnerStay {
		return
	}

	if n.guests++; r.Code != "" {
		n.codes++
	}

	// Only what is kept of a canceled stay is in its lines and its total.
	rule := stayTotal
	if r.Status == pms.Canceled {
		rule = stayCanceled
		n.canceled++
	} else if r.Total != nil {
		n.totals++
	}

	if off := r.Difference() - r.NotKept; off != 0 {
		c.wrong(rule, r.ID, "total", "differs from the lines by "+decimal(off, r))
	}

	if r.Payout != nil {
		n.payouts++
	}

	if off := r.PayoutDeviation(); off != 0 {
		c.wrong(stayPayout, r.ID, "payout", "differs from the lines less channelFee by "+decimal(off, r))
	}
}

// decimal returns an amount of a reservation as a text.
func decimal(cents money.Cents, r *pms.Reservation) string {
	return cents.Decimal(money.Currency(r.Currency)) + " " + r.Currency
}
