package pms_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"stayledger/provider/sandbox/hostaway"
)

// A year of stays at a channel, in generated compositions: what the channel pays out adds up, to the cent, to what the guests owe here less
// the channel's fees, but for the stays that have an issue with just the amount that is off.
func TestAYearOfPayoutsIsProved(t *testing.T) {
	t.Parallel()

	seed := uint64(time.Now().UnixNano())
	if world := *worldSeed; world != 0 {
		seed = world
	}

	t.Logf("seed %d", seed)

	random := rand.New(rand.NewPCG(seed, 1))

	system, err := hostaway.New(hostaway.Config{AccountID: "28673", APIKey: "our-key"})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(system.Close)
	system.SetListing(hostaway.Object{"id": 40160, "name": "House 1", "currencyCode": "USD"})

	const stays = 180

	var deposits int64

	off := map[string]int64{}

	for n := 1; n <= stays; n++ {
		var (
			total  int64
			fields []hostaway.Object
		)

		add := func(kind, name string, cents int64, isIncluded bool) {
			included := 0
			if isIncluded {
				included, total = 1, total+cents
			}

			fields = append(fields, hostaway.With(hostaway.Field(kind, name, signed(cents)), "isIncludedInTotalPrice", included))
		}
		perhaps := func(chance float64) bool { return random.Float64() < chance }

		rent := 10_000 + random.Int64N(100_000)
		add("accommodation", "baseRate", rent, true)

		if perhaps(0.8) {
			add("fee", []string{"cleaningFee", "cleaningFeeAirbnb", "midstayCleaningFee"}[random.IntN(3)], 5_000+random.Int64N(20_000), true)
		}

		if perhaps(0.3) {
			add("discount", "weeklyDiscount", -random.Int64N(rent/2), true)
		}

		if perhaps(0.4) {
			add("tax", "airbnbPassThroughTax", rent*7/100, true)
		}

		if perhaps(0.1) {
			add("fee", "damageDeposit", 50_000, true)
		}

		if perhaps(0.5) {
			add("tax", "airbnbTransientOccupancyTax", rent*12/100, false)
		}

		price := total

		if perhaps(0.1) {
			resolution := random.Int64N(20_000) - 10_000
			add("other", "airbnbClosedResolutionsSum", resolution, false)
			total += resolution
		}

		fee := (total*155 + 500) / 1000
		add("commissions", "hostChannelFee", fee*int64(1-2*random.IntN(2)), false)

		if perhaps(0.5) {
			add("totals", "totalPriceFromChannel", price, false)

			fields[len(fields)-1]["isIncludedInTotalPrice"] = 1
		}

		payout := total - fee

		if perhaps(0.07) {
			by := random.Int64N(2_000) - 1_000
			if by != 0 {
				off[fmt.Sprintf("P-%d-", n)], payout = by, payout+by
			}
		}

		deposits += payout

		add("totals", "airbnbPayoutSum", payout, false)
		random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })

		day := time.Date(2026, 1, 1+2*n, 0, 0, 0, 0, time.UTC)
		system.SetReservation(hostaway.Object{
			"id": n, "listingMapId": 40160, "channelId": 2018, "status": "new", "currency": "USD", "confirmationCode": fmt.Sprintf("P-%d-", n),
			"arrivalDate": day.Format(time.DateOnly), "departureDate": day.AddDate(0, 0, 2).Format(time.DateOnly), "totalPrice": signed(price),
			"financeField": fields,
		})
	}

	s := connectTo(t, system, "hostaway", "/v1", object{"accountId": "28673", "apiKey": "our-key"})
	s.sync("full")

	var owed, fees, expected int64

	for page := 1; ; page++ {
		got := s.Get(fmt.Sprintf("/reservations?limit=100&page=%d", page)).Want(200)
		for i := range got.Len("data") {
			at := fmt.Sprintf("data.%d.financials.", i)
			owed += got.Int(at + "total")
			fees += got.Int(at + "expectedChannelFee")
			expected += got.Int(at + "expectedPayout")
		}

		if got.Value("pagination.nextPage") == nil {
			break
		}
	}

	found, sum := map[string]int64{}, int64(0)

	issues := s.Get("/teams/issues?limit=250&code=payoutDeviation").Want(200)
	for i := range issues.Len("data") {
		at := fmt.Sprintf("data.%d.context.", i)
		found[issues.String(at+"confirmationCode")] = issues.Int(at + "centTotal")
		sum += issues.Int(at + "centTotal")
	}

	if !maps.Equal(found, off) {
		t.Errorf("issues are %v, want %v", found, off)
	}

	if expected != deposits || owed-fees+sum != deposits {
		t.Errorf("guests owe %d less fees of %d, expected are %d, and the channel pays out %d", owed, fees, expected, deposits)
	}

	if other := s.Get("/teams/issues?limit=250&code=totalDeviation").Want(200); other.Len("data") != 0 {
		t.Errorf("totals deviate: %s", other.Body)
	}
}
