package fee_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/activity/fee"
	"stayledger/domain/books/tax"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

func numbered(n byte) id.ID { return id.ID{0xfe, n} }

func date(t testing.TB, text string) day.Day {
	t.Helper()

	d, err := day.Parse(text)
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// percent is a fee of a share of a formula, known by its number. A formula refers to fees by "f1", "f2" and to accounts
// by "a1", "a2".
func percent(n byte, formula string, rate int64) fee.Fee {
	f := fee.Fee{ID: numbered(n), Name: fmt.Sprintf("f%d", n), RateType: fee.Percentage, Formula: formula, DefaultRate: rate}
	for i := range byte(20) {
		f.References = append(f.References,
			fee.Reference{Kind: fee.RefFee, Name: fmt.Sprintf("f%d", i), ID: numbered(i)},
			fee.Reference{Kind: fee.RefAccount, Name: fmt.Sprintf("a%d", i), ID: id.ID{0xac, i}})
	}

	return f
}

func flat(n byte, cents int64) fee.Fee {
	return fee.Fee{ID: numbered(n), RateType: fee.Flat, DefaultRate: cents}
}

func subscribed(t testing.TB, fees ...fee.Fee) []fee.Subscription {
	t.Helper()

	out := make([]fee.Subscription, len(fees))
	for i := range fees {
		var err error
		if out[i], err = fee.NewSubscription(fees[i], fee.Period{}); err != nil {
			t.Fatal(err)
		}
	}

	return out
}

func stay(t testing.TB) *fee.Stay {
	t.Helper()

	return &fee.Stay{
		Line: lines, Status: "booked", Channel: "Airbnb", Nights: 5, At: date(t, "2026-01-29"),
		Account: func(v id.ID) money.Cents { return map[id.ID]money.Cents{{0xac, 1}: 90_000, {0xac, 2}: -5_000}[v] },
	}
}

func TestCharges(t *testing.T) {
	t.Parallel()

	with := func(f fee.Fee, change func(f *fee.Fee)) fee.Fee {
		change(&f)
		return f
	}

	taxed := func(f fee.Fee, behavior tax.Behavior) fee.Fee {
		return with(f, func(f *fee.Fee) { f.TaxBehavior, f.TaxRate = &behavior, &fee.TaxRateRef{BasisPoints: 15_000} })
	}
	for name, c := range map[string]struct {
		fees []fee.Fee
		want []money.Cents // amount and tax of each
	}{
		"a share of a line":      {[]fee.Fee{percent(1, "rent", 20_000)}, []money.Cents{20_000, 0}},
		"flat":                   {[]fee.Fee{flat(1, 2_500)}, []money.Cents{2_500, 0}},
		"flat per night":         {[]fee.Fee{with(flat(1, 2_500), func(f *fee.Fee) { f.ChargeBasis = fee.PerNight })}, []money.Cents{12_500, 0}},
		"a credit":               {[]fee.Fee{flat(1, -2_500)}, []money.Cents{-2_500, 0}},
		"an account":             {[]fee.Fee{percent(1, `account("a1") + 50% * account("a2")`, 10_000)}, []money.Cents{8_750, 0}},
		"an unknown account":     {[]fee.Fee{percent(1, `account("a3") + rent`, 10_000)}, []money.Cents{10_000, 0}},
		"on another fee":         {[]fee.Fee{percent(1, "rent", 20_000), percent(2, `fee("f1")`, 10_000)}, []money.Cents{20_000, 0, 2_000, 0}},
		"on a later fee":         {[]fee.Fee{percent(2, `rent - fee("f1")`, 10_000), percent(1, "rent", 20_000)}, []money.Cents{8_000, 0, 20_000, 0}},
		"on a fee on a fee":      {[]fee.Fee{percent(3, `fee("f2") + fee("f1")`, 50_000), percent(2, `fee("f1")`, 50_000), flat(1, 100)}, []money.Cents{75, 0, 50, 0, 100, 0}},
		"on a fee not charged":   {[]fee.Fee{percent(2, `rent - fee("f1")`, 10_000)}, []money.Cents{10_000, 0}},
		"on a fee left out here": {[]fee.Fee{percent(2, `rent - fee("f1")`, 10_000), with(flat(1, 100), func(f *fee.Fee) { f.StatusFilter = fee.CanceledOnly })}, []money.Cents{10_000, 0, 0, 0}},
		"in a ring":              {[]fee.Fee{percent(1, `fee("f2") + rent`, 10_000), percent(2, `fee("f1") + rent`, 10_000)}, []money.Cents{11_000, 0, 10_000, 0}},
		"tax on top":             {[]fee.Fee{taxed(flat(1, 11_000), tax.Excluded)}, []money.Cents{11_000, 1_650}},
		"tax within":             {[]fee.Fee{taxed(flat(1, 12_650), tax.Included)}, []money.Cents{11_000, 1_650}},
		"tax on a credit":        {[]fee.Fee{taxed(flat(1, -10), tax.Excluded)}, []money.Cents{-10, -2}},
		"on a fee without its tax": {
			[]fee.Fee{percent(2, `fee("f1")`, 100_000), taxed(flat(1, 12_650), tax.Included), taxed(percent(3, `fee("f2")`, 100_000), tax.Excluded)},
			[]money.Cents{11_000, 0, 11_000, 1_650, 11_000, 1_650},
		},
	} {
		got := []money.Cents{}
		for _, c := range fee.Charges(subscribed(t, c.fees...), stay(t)) {
			got = append(got, c.Amount, c.Tax)
			if c.Total() != c.Amount+c.Tax {
				t.Errorf("%s: %d in all", name, c.Total())
			}
		}

		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestInactiveCharges(t *testing.T) {
	t.Parallel()

	condition := func(n byte, o fee.Operator, cents money.Cents) func(f *fee.Fee, s *fee.Stay) {
		return func(f *fee.Fee, _ *fee.Stay) {
			f.AccountTotalConditions = append(f.AccountTotalConditions, fee.Condition{AccountID: id.ID{0xac, n}, Operator: o, CentValue: cents})
		}
	}
	for name, c := range map[string]struct {
		change func(f *fee.Fee, s *fee.Stay)
		want   string
	}{
		"booked":                {func(*fee.Fee, *fee.Stay) {}, ""},
		"canceled":              {func(_ *fee.Fee, s *fee.Stay) { s.Status = "canceled" }, fee.ReservationCancelled},
		"inactive":              {func(_ *fee.Fee, s *fee.Stay) { s.Status = "inactive" }, fee.ReservationInactive},
		"inactive, all":         {func(f *fee.Fee, s *fee.Stay) { f.StatusFilter, s.Status = fee.AnyStatus, "inactive" }, fee.ReservationInactive},
		"booked, canceled only": {func(f *fee.Fee, _ *fee.Stay) { f.StatusFilter = fee.CanceledOnly }, fee.ReservationNotCancelled},
		"canceled only":         {func(f *fee.Fee, s *fee.Stay) { f.StatusFilter, s.Status = fee.CanceledOnly, "canceled" }, ""},
		"canceled, all":         {func(f *fee.Fee, s *fee.Stay) { f.StatusFilter, s.Status = fee.AnyStatus, "canceled" }, ""},
		"booked, all":           {func(f *fee.Fee, _ *fee.Stay) { f.StatusFilter = fee.AnyStatus }, ""},
		"owner stay":            {func(_ *fee.Fee, s *fee.Stay) { s.OwnerStay = true }, fee.OwnerStay},
		"owner stay included":   {func(f *fee.Fee, s *fee.Stay) { f.OwnerStayFilter, s.OwnerStay = fee.IncludeOwnerStays, true }, ""},
		"guest included":        {func(f *fee.Fee, _ *fee.Stay) { f.OwnerStayFilter = fee.IncludeOwnerStays }, ""},
		"owner stay only":       {func(f *fee.Fee, s *fee.Stay) { f.OwnerStayFilter, s.OwnerStay = fee.OnlyOwnerStays, true }, ""},
		"guest, owners only":    {func(f *fee.Fee, _ *fee.Stay) { f.OwnerStayFilter = fee.OnlyOwnerStays }, fee.OwnerStay},
		"its channel":           {func(f *fee.Fee, _ *fee.Stay) { f.BookingChannelsFilter = []string{"direct", "airbnb"} }, ""},
		"another channel":       {func(f *fee.Fee, _ *fee.Stay) { f.BookingChannelsFilter = []string{"direct"} }, fee.ChannelNotIncluded},
		"no channel":            {func(f *fee.Fee, s *fee.Stay) { f.BookingChannelsFilter, s.Channel = []string{"direct"}, "" }, fee.ChannelNotIncluded},
		"above":                 {condition(1, fee.Above, 89_999), ""},
		"not above":             {condition(1, fee.Above, 90_000), fee.ConditionNotMet},
		"at least":              {condition(1, fee.AtLeast, 90_000), ""},
		"not at least":          {condition(1, fee.AtLeast, 90_001), fee.ConditionNotMet},
		"below":                 {condition(2, fee.Below, -4_999), ""},
		"not below":             {condition(2, fee.Below, -5_000), fee.ConditionNotMet},
		"at most":               {condition(2, fee.AtMost, -5_000), ""},
		"not at most":           {condition(2, fee.AtMost, -5_001), fee.ConditionNotMet},
		"equal":                 {condition(3, fee.Equal, 0), ""},
		"not equal":             {condition(1, fee.Equal, 0), fee.ConditionNotMet},
		"unequal":               {condition(1, fee.Unequal, 0), ""},
		"not unequal":           {condition(3, fee.Unequal, 0), fee.ConditionNotMet},
		"an unknown operator":   {condition(1, "~", 0), fee.ConditionNotMet},
		"one of two conditions": {
			func(f *fee.Fee, s *fee.Stay) { condition(1, fee.Above, 0)(f, s); condition(2, fee.Above, 0)(f, s) }, fee.ConditionNotMet,
		},
	} {
		f, s := flat(1, 100), stay(t)
		c.change(&f, s)

		got := fee.Charges(subscribed(t, f), s)[0]
		if got.InactiveReason != c.want || (got.Amount == 100) != (c.want == "") {
			t.Errorf("%s: %d, %q, want %q", name, got.Amount, got.InactiveReason, c.want)
		}
	}
}

// Of a fee that others build on, the listing period on the day of the reservation counts.
func TestReferencedPeriod(t *testing.T) {
	t.Parallel()
	february := date(t, "2026-02-01")

	before, err := fee.NewSubscription(flat(1, 100), fee.Period{EndAt: &february})
	if err != nil {
		t.Fatal(err)
	}

	after, err := fee.NewSubscription(flat(1, 100), fee.Period{StartAt: &february, Rate: new(int64(300))})
	if err != nil {
		t.Fatal(err)
	}

	all := append(subscribed(t, percent(2, `fee("f1")`, 100_000)), before, after)
	for at, want := range map[string]money.Cents{"2026-01-31": 100, "2026-02-01": 300} {
		s := stay(t)

		s.At = date(t, at)
		if got := fee.Charges(all, s); got[0].Amount != want || got[1].Amount != 100 || got[2].Amount != 300 {
			t.Errorf("%s: %d, want %d", at, got[0].Amount, want)
		}
	}

	s := stay(t)

	s.At = date(t, "2026-02-01")
	if got := fee.Charges(all[:2], s)[0].Amount; got != 0 {
		t.Errorf("%d of a fee that has no period on the day", got)
	}
}

func TestChargesOfNothing(t *testing.T) {
	t.Parallel()

	fees := subscribed(t, percent(1, `rent + account("a1") + fee("f2")`, 100_000))
	if got := fee.Charges(fees, &fee.Stay{Status: "booked"})[0]; got.Amount != 0 || got.InactiveReason != "" {
		t.Errorf("%+v", got)
	}

	if got := fee.Charges(nil, stay(t)); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// An absurd rate stays absurd, so that the ledger refuses it, instead of wrapping into a plausible amount.
func TestChargesDoNotWrap(t *testing.T) {
	t.Parallel()

	huge := flat(1, money.MaxCents)
	huge.ChargeBasis = fee.PerNight
	huge.TaxBehavior, huge.TaxRate = new(tax.Excluded), &fee.TaxRateRef{BasisPoints: 100_000}
	s := stay(t)
	s.Nights = math.MaxInt32

	all := subscribed(t, huge, percent(2, `fee("f1") + fee("f1") + fee("f1") + fee("f1") + fee("f1")`, math.MaxInt64))
	for _, c := range fee.Charges(all, s) {
		if c.Total().Valid() || c.Total() < 0 {
			t.Errorf("%d", c.Total())
		}
	}
}

// The amount of a fee depends on the stay and on the fees, not on their order, and is the same every time.
func TestChargesDoNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(r, "fees")

		fees := make([]fee.Fee, n)
		for i := range fees {
			if i > 0 && rapid.Bool().Draw(r, "builds on another") {
				on := rapid.IntRange(0, i-1).Draw(r, "on")
				fees[i] = percent(byte(i), fmt.Sprintf(`rent - 50%% * fee("f%d")`, on), rapid.Int64Range(-100_000, 200_000).Draw(r, "rate"))
			} else {
				fees[i] = flat(byte(i), rapid.Int64Range(-1e9, 1e9).Draw(r, "flat"))
				fees[i].ChargeBasis = rapid.SampledFrom([]fee.ChargeBasis{fee.PerReservation, fee.PerNight}).Draw(r, "basis")
			}

			fees[i].StatusFilter = rapid.SampledFrom([]fee.StatusFilter{fee.BookedOnly, fee.CanceledOnly, fee.AnyStatus}).Draw(r, "status filter")
			if rapid.Bool().Draw(r, "taxed") {
				behavior := rapid.SampledFrom([]tax.Behavior{tax.Included, tax.Excluded}).Draw(r, "behavior")
				fees[i].TaxBehavior, fees[i].TaxRate = &behavior, &fee.TaxRateRef{BasisPoints: money.Rate(rapid.Int64Range(0, 100_000).Draw(r, "tax"))}
			}
		}

		s := stay(t)
		s.Status = rapid.SampledFrom([]string{"booked", "canceled", "inactive"}).Draw(r, "status")
		want := map[id.ID]fee.Charge{}

		for _, c := range fee.Charges(subscribed(t, fees...), s) {
			id := c.Subscription.Fee.ID
			c.Subscription = nil
			want[id] = c
		}

		shuffled := subscribed(t, rapid.Permutation(fees).Draw(r, "order")...)

		charges := fee.Charges(shuffled, s)
		for i, c := range charges {
			if c.Subscription != &shuffled[i] {
				r.Fatal("the charges are in another order than the subscriptions")
			}

			of := c.Subscription.Fee
			if c.Subscription = nil; c != want[of.ID] {
				r.Fatalf("%s: got %+v, want %+v", of.Name, c, want[of.ID])
			}

			if t := of.TaxRate; t != nil && *of.TaxBehavior == tax.Excluded && c.Tax != t.BasisPoints.Of(c.Amount) {
				r.Fatalf("%d of tax on %d", c.Tax, c.Amount)
			}

			if t := of.TaxRate; t != nil && *of.TaxBehavior == tax.Included && c.Tax != t.BasisPoints.TaxIn(c.Total()) {
				r.Fatalf("%d of tax in %d", c.Tax, c.Total())
			}

			if c.InactiveReason != "" && c.Total() != 0 {
				r.Fatalf("%s, and yet %d", c.InactiveReason, c.Total())
			}
		}
	})
}
