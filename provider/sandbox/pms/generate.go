package pms

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
	// From is the first day that can be a check-in; 2025-01-01 if empty.
	From string `json:"from,omitempty"`
	// Currency is that of everything; usd if empty.
	Currency string `json:"currency,omitempty"`
}

// maxGenerated is how many rows can be generated at a time.
const maxGenerated = 5_000_000

// Generate adds listings, and reservations with four lines each and consecutive stays at each listing. It sends no
// messages. It fails if the plan has no listing for its reservations, or a number or the day is out of range.
func (s *Server) Generate(p Plan) error {
	if p.From == "" {
		p.From = "2025-01-01"
	}

	if p.Currency == "" {
		p.Currency = "usd"
	}

	from, err := day.Parse(p.From)
	if err != nil || p.Listings < 0 || p.Reservations < 0 || max(p.Listings, p.Reservations) > maxGenerated ||
		(p.Reservations > 0 && p.Listings == 0) {
		return fmt.Errorf("PMS sandbox: a plan has up to %d rows, a listing for its reservations, and a day",
			maxGenerated)
	}

	r := rand.New(rand.NewPCG(p.Seed, p.Seed)) //nolint:gosec // The rows have to be the same for the same seed.

	s.mu.Lock()
	defer s.mu.Unlock()

	// Nights that are free again, by listing.
	free := make([]day.Day, p.Listings)

	for i := range free {
		free[i] = from
		s.listings = append(s.listings, &Listing{
			ID:       fmt.Sprintf("lst_%d_%06d", p.Seed, i+1),
			Name:     fmt.Sprintf("House %d", i+1),
			Currency: p.Currency,
			Address: &Address{
				Street: fmt.Sprintf("%d Shore Road", i+1), City: "Harborview", State: "ME", PostalCode: "04101",
				Country: "US",
			},
		})
	}

	// The stamps are older than any overlap, so that a reading after this one shows what has changed since. Each row is
	// newer than the ones before, so it goes to the end.
	stamp := s.now().Add(-time.Hour - time.Duration(p.Reservations)*time.Microsecond)

	for i := range p.Reservations {
		x := generate(r, fmt.Sprintf("res_%d_%07d", p.Seed, i+1), p.Currency)

		// The stay begins up to three days after the last one, and has two to seven nights.
		at := i % p.Listings
		begin := free[at].AddDays(r.IntN(4))
		free[at] = begin.AddDays(2 + r.IntN(6))
		x.ListingID = fmt.Sprintf("lst_%d_%06d", p.Seed, at+1)
		x.CheckIn, x.CheckOut = begin.String(), free[at].String()
		x.BookedAt = Optional(begin.AddDays(-1 - r.IntN(90)).String())
		x.ChangedAt = stamp.Add(time.Duration(i) * time.Microsecond)

		s.reservations.put(&row{Reservation: x})
	}

	return nil
}

// generate returns a reservation without listing and days.
func generate(r *rand.Rand, id, currency string) Reservation {
	channel := []string{"airbnb", "booking", "vrbo", "direct"}[r.IntN(4)]
	guests := 1 + r.IntN(6)

	// Amounts in the smallest unit; the tax is of rent and cleaning.
	rent := int64(20_000 + r.IntN(300_000))
	cleaning := int64(5000 + r.IntN(20_000))
	discount := -rent / 20
	tax := (rent + cleaning + discount) / 10

	write := func(cents int64) string { return money.Cents(cents).Decimal(money.Currency(currency)) }
	total := rent + cleaning + discount + tax

	return Reservation{
		ID:      id,
		Status:  "booked",
		Code:    fmt.Sprintf("HM%08X", r.Uint32()),
		Channel: channel,
		Guest: Guest{
			Name: fmt.Sprintf("Guest %d", r.IntN(100_000)), Email: "guest@example.com",
			Phone: "+12025550100",
		},
		Guests:   &guests,
		Currency: currency,
		Total:    Optional(write(total)),
		Lines: []Line{
			{"rent", "Nights", write(rent)},
			{"cleaningFee", "Cleaning", write(cleaning)},
			{"discount", "Weekly discount", write(discount)},
			{"tax", "Lodging tax", write(tax)},
		},
		ChannelFee:    Optional(write(total * 3 / 100)),
		ProcessingFee: Optional(write(total * 2 / 100)),
	}
}
