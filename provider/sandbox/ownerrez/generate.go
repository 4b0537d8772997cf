package ownerrez

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/money"
)

// Plan says what is generated. The same plan gives the same rows, but for their stamps.
type Plan struct {
	Seed       uint64 `json:"seed"`
	Properties int    `json:"properties"`
	Bookings   int    `json:"bookings"`
	// From is the first day that can be an arrival; 2025-01-01 if empty.
	From string `json:"from,omitempty"`
}

// maxGenerated is how many rows can be generated at a time.
const maxGenerated = 100_000

// The ids of generated rows begin behind these.
const (
	firstProperty = 40_000
	firstBooking  = 1_000_000
)

// Generate adds properties, and bookings with consecutive stays at each property. It sends no messages. It fails if the
// plan has no property for its bookings, or a number or the day is out of range.
func (s *Server) Generate(p Plan) error {
	if p.From == "" {
		p.From = "2025-01-01"
	}

	from, err := day.Parse(p.From)
	if err != nil || p.Properties < 0 || p.Bookings < 0 || max(p.Properties, p.Bookings) > maxGenerated ||
		(p.Bookings > 0 && p.Properties == 0) {
		return fmt.Errorf("ownerrez sandbox: a plan has up to %d rows, a property for its bookings, and a day",
			maxGenerated)
	}

	r := rand.New(rand.NewPCG(p.Seed, p.Seed)) //nolint:gosec // The rows have to be the same for the same seed.

	s.mu.Lock()
	defer s.mu.Unlock()

	// Nights that are free again, by property.
	free := make([]day.Day, p.Properties)

	for i := range free {
		free[i] = from
		s.properties = append(s.properties, Object{
			"id": firstProperty + i + 1, "key": fmt.Sprintf("house-%d", i+1), "name": fmt.Sprintf("House %d", i+1),
			"active":        true,
			"currency_code": "USD", "address": Object{
				"street1": fmt.Sprintf("%d Shore Road", i+1), "city": "Harborview", "state": "ME",
				"postal_code": "04101", "country": "US",
			},
		})
	}

	// The stamps are older than any overlap, so that a reading after this one shows what has changed since.
	changed := stamp(s.now().Add(-72 * time.Hour))

	for i := range p.Bookings {
		// The stay begins up to three days after the last one, and has two to seven nights.
		at := i % p.Properties
		begin := free[at].AddDays(r.IntN(4))
		free[at] = begin.AddDays(2 + r.IntN(6))

		x := generate(r)
		x["id"], x["property_id"] = firstBooking+i+1, firstProperty+at+1
		x["arrival"], x["departure"] = begin.String(), free[at].String()
		x["booked_utc"] = begin.AddDays(-1-r.IntN(90)).String() + "T12:00:00Z"
		x[changeStamp] = changed

		// They come in the order of their stamps, so they are not sorted in one by one.
		added := &row{x.id(), x}
		s.bookings = append(s.bookings, added)
		s.byID[added.id] = added
	}

	return nil
}

// generate returns a booking without an id, a property and days.
func generate(r *rand.Rand) Object {
	site := []string{"Airbnb", "Booking.com", "Vrbo", "Harborview Rentals"}[r.IntN(4)]

	// Amounts in cents; the tax is of rent and cleaning.
	rent := int64(20_000 + r.IntN(300_000))
	cleaning := int64(5000 + r.IntN(20_000))
	discount := rent / 20
	tax := (rent + cleaning - discount) / 10
	total := rent + cleaning - discount + tax

	return Object{
		"type": "booking", "is_block": false, "status": "active", "listing_site": site,
		"platform_reservation_number": fmt.Sprintf("HM%08X", r.Uint32()), "adults": 1 + r.IntN(6), "children": 0,
		"check_in": "16:00", "guest": Object{
			"id": 1, "first_name": "Guest",
			"last_name": strconv.Itoa(r.IntN(100_000)),
		},
		"currency_code": "USD", "total_amount": dollars(total), "total_host_fees": dollars(total * 3 / 100),
		"charges": []Object{
			Charge("rent", "Rent", dollars(rent)),
			Charge("rent", "Weekly discount", dollars(-discount)),
			With(Charge("surcharge", "Cleaning fee", dollars(cleaning)), "surcharge_id", 7),
			With(Charge("tax", "Lodging tax", dollars(tax)), "is_channel_managed", site == "Airbnb"),
		},
	}
}

// dollars returns cents as a number of dollars.
func dollars(cents int64) number { return number(money.Cents(cents).Decimal("usd")) }

// Charge returns a charge of a booking.
func Charge(kind, description string, amount any) Object {
	return Object{
		"type": kind, "description": description, "amount": amount, "is_taxable": true,
		"is_channel_managed": false,
	}
}

// With returns an object with a member changed.
func With(o Object, name string, value any) Object {
	o[name] = value
	return o
}
