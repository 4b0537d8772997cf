package hostaway

import (
	"fmt"
	"math/rand/v2"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/money"
)

// Plan says what is generated. The same plan gives the same rows, but for their stamps.
type Plan struct {
	Seed         uint64 `json:"seed"`
	Listings     int    `json:"listings"`
	Reservations int    `json:"reservations"`
	// From is the first day that can be an arrival; 2025-01-01 if empty.
	From string `json:"from,omitempty"`
}

// maxGenerated is how many rows can be generated at a time.
const maxGenerated = 100_000

// The ids of generated rows begin behind these.
const (
	firstListing     = 40_000
	firstReservation = 1_000_000
)

// Generate adds listings, and reservations with consecutive stays at each listing. It sends no messages. It fails if
// the plan has no listing for its reservations, or a number or the day is out of range.
func (s *Server) Generate(p Plan) error {
	if p.From == "" {
		p.From = "2025-01-01"
	}

	from, err := day.Parse(p.From)
	if err != nil || p.Listings < 0 || p.Reservations < 0 || max(p.Listings, p.Reservations) > maxGenerated ||
		(p.Reservations > 0 && p.Listings == 0) {
		return fmt.Errorf("hostaway sandbox: a plan has up to %d rows, a listing for its reservations, and a day",
			maxGenerated)
	}

	r := rand.New(rand.NewPCG(p.Seed, p.Seed)) //nolint:gosec // The rows have to be the same for the same seed.

	s.mu.Lock()
	defer s.mu.Unlock()

	// Nights that are free again, by listing.
	free := make([]day.Day, p.Listings)

	for i := range free {
		free[i] = from
		s.listings = append(s.listings, Object{
			"id": firstListing + i + 1, "name": fmt.Sprintf("Charming house %d by the sea", i+1),
			"internalListingName": fmt.Sprintf("House %d", i+1),
			"address":             fmt.Sprintf("%d Shore Road, Harborview, ME 04101", i+1),
			"street":              fmt.Sprintf("%d Shore Road", i+1), "city": "Harborview", "state": "ME", "zipcode": "04101", "countryCode": "US",
			"currencyCode": "USD", "specialStatus": nil, "listingUnits": []Object{},
		})
	}

	// The stamps are older than any overlap, so that a reading after this one shows what has changed since.
	changed := stamp(s.now().Add(-72 * time.Hour))

	for i := range p.Reservations {
		// The stay begins up to three days after the last one, and has two to seven nights.
		at := i % p.Listings
		begin := free[at].AddDays(r.IntN(4))
		free[at] = begin.AddDays(2 + r.IntN(6))

		x := generate(r)
		x["id"], x["listingMapId"] = firstReservation+i+1, firstListing+at+1
		x["arrivalDate"], x["departureDate"] = begin.String(), free[at].String()
		x["reservationDate"] = begin.AddDays(-1-r.IntN(90)).String() + " 12:00:00"
		x["updatedOn"], x["latestActivityOn"] = changed, changed

		// They come in the order of their stamps, so they are not sorted in one by one.
		added := &row{x.id(), x}
		s.reservations = append(s.reservations, added)
		s.byID[added.id] = added
	}

	return nil
}

// generate returns a reservation without an id, a listing and days.
func generate(r *rand.Rand) Object {
	channel := []int{2018, 2005, 2002, 2000}[r.IntN(4)]

	// Amounts in cents; the tax is of rent and cleaning.
	rent := int64(20_000 + r.IntN(300_000))
	cleaning := int64(5000 + r.IntN(20_000))
	discount := rent / 20
	tax := (rent + cleaning - discount) / 10
	total := rent + cleaning - discount + tax

	return Object{
		"channelId": channel, "status": "new", "confirmationCode": fmt.Sprintf("HM%08X", r.Uint32()),
		"guestName": fmt.Sprintf("Guest %d", r.IntN(100_000)), "guestEmail": "guest@example.com",
		"phone": "+12025550100", "numberOfGuests": 1 + r.IntN(6), "isDatesUnspecified": 0, "currency": "USD",
		"totalPrice": dollars(total),
		"financeField": []Object{
			Field("accommodation", "baseRate", dollars(rent)),
			Field("fee", "cleaningFee", dollars(cleaning)),
			// Discounts are positive in places.
			Field("discount", "weeklyDiscount", dollars(discount)),
			Field("tax", "lodgingTax", dollars(tax)),
			With(Field("commissions", "hostChannelFee", dollars(total*3/100)), "isIncludedInTotalPrice", 0),
			Field("totals", "totalPriceFromChannel", dollars(total)),
		},
	}
}

// dollars returns cents as a number of dollars.
func dollars(cents int64) number { return number(money.Cents(cents).Decimal("usd")) }

// Field returns a field of finances, which the total price includes.
func Field(kind, name string, total any) Object {
	return Object{
		"type": kind, "name": name, "title": name, "alias": nil, "value": nil, "total": total,
		"isIncludedInTotalPrice": 1, "isOverriddenByUser": 0, "isDeleted": 0,
	}
}

// With returns an object with a member changed.
func With(o Object, name string, value any) Object {
	o[name] = value
	return o
}
