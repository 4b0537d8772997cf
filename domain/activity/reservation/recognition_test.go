package reservation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/books/tax"
	"stayledger/domain/property/listing"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// recognized is a mapping with a recognition of its own.
func recognized(m mapping.Mapping, r fee.Recognition) mapping.Mapping {
	m.RevenueRecognition = &r
	return m
}

// cleaningAt is the stay of example A without fees, its cleaning recognised on its own.
func cleaningAt(t *testing.T, r fee.Recognition) *reservation.Input {
	t.Helper()
	in := stayA(t)
	in.Fees, in.Mappings = nil, mapped(recognized(mappingOf("cleaningFee", "4010", ledger.Owners), r))

	return in
}

func TestExampleD(t *testing.T) {
	t.Parallel()
	postings := reservation.Journal(cleaningAt(t, fee.CheckOut)).Postings
	want(t, postings, `
		2026-01-29: 2000 1288.00 4000o -1000.00 2010 -150.00 2100 -138.00
		2026-02-03: 2010 150.00 4010o -150.00`)

	if got := postings[0].Lines[2].Trigger; got != ledger.TriggerDeferredRevenue {
		t.Errorf("deferred by %s", got)
	}

	for _, l := range postings[1].Lines {
		if l.Trigger != ledger.TriggerRevenueRecognition {
			t.Errorf("recognised by %s", l.Trigger)
		}
	}
}

func TestLinesWithTheirOwnRecognition(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		own    fee.Recognition
		change func(*reservation.Input)
		want   string
	}{
		"earlier than the stay": {fee.BookedAt, func(*reservation.Input) {}, `
			2026-01-29: 2000 1288.00 4000o -1000.00 2010 -150.00 2100 -138.00
			2025-12-01: 2010 150.00 4010o -150.00`},
		"by night in a check-in stay": {fee.ProRata, func(*reservation.Input) {}, `
			2026-01-29: 2000 1288.00 4000o -1000.00 2010 -150.00 2100 -138.00
			2026-01-29: 2010 90.00 4010o -90.00
			2026-02-01: 2010 60.00 4010o -60.00`},
		"at once in a stay by night": {fee.CheckIn, func(in *reservation.Input) { in.Recognition = fee.ProRata }, `
			2026-01-29: 2000 772.80 4000o -600.00 2010 -90.00 2100 -82.80
			2026-02-01: 2000 515.20 4000o -400.00 2010 -60.00 2100 -55.20
			2026-01-29: 2010 150.00 4010o -150.00`},
		"at once in a long stay": {fee.CheckOut, func(in *reservation.Input) { in.LongTermStayNights = new(int64(4)) }, `
			2026-01-29: 2000 772.80 4000o -600.00 2010 -90.00 2100 -82.80
			2026-02-01: 2000 515.20 4000o -400.00 2010 -60.00 2100 -55.20
			2026-02-03: 2010 150.00 4010o -150.00`},
		"the same by another name": {
			fee.BookedAt, func(in *reservation.Input) { in.Reservation.BookedAt = nil },
			"2026-01-29: 2000 1288.00 4000o -1000.00 4010o -150.00 2100 -138.00",
		},
		"by night within a month": {
			fee.ProRata, func(in *reservation.Input) { in.Reservation.CheckOut = date(t, "2026-02-01") },
			"2026-01-29: 2000 1288.00 4000o -1000.00 4010o -150.00 2100 -138.00",
		},
		"overridden by the reservation": {
			fee.CheckOut, func(in *reservation.Input) { in.Reservation.GeneralLedgerPostingAt = new(date(t, "2026-03-04")) },
			"2026-03-04: 2000 1288.00 4000o -1000.00 4010o -150.00 2100 -138.00",
		},
		"a refund": {fee.CheckOut, func(in *reservation.Input) { in.Reservation.Lines = []reservation.Line{line("cleaningFee", -5_000)} }, `
			2026-01-29: 2000 -50.00 2010 50.00
			2026-02-03: 2010 -50.00 4010o 50.00`},
		"lines that cancel out": {fee.CheckOut, func(in *reservation.Input) {
			in.Reservation.Lines = []reservation.Line{line("rent", 5_000), line("cleaningFee", -5_000)}
		}, `
			2026-01-29: 4000o -50.00 2010 50.00
			2026-02-03: 2010 -50.00 4010o 50.00`},
		"an owner in between": {fee.CheckOut, func(in *reservation.Input) {
			change := date(t, "2026-02-01")
			in.Periods = []listing.Period{{ID: id.ID{0x0a}, EndAt: &change}, {ID: id.ID{0x0b}, StartAt: &change, BusinessModel: listing.CoHost}}
		}, `
			2026-01-29: 2000 1288.00 4000o -1000.00 2010 -150.00 2100 -138.00
			2026-02-03: 2010 150.00 4010o -150.00`},
	} {
		in := cleaningAt(t, c.own)
		c.change(in)
		t.Log(name)
		want(t, reservation.Journal(in).Postings, strings.ReplaceAll(c.want, "\t", ""))
	}
}

func TestMostSpecificMapping(t *testing.T) {
	t.Parallel()

	scoped := func(code, app, channel string) mapping.Mapping {
		m := mappingOf("pet", code, ledger.Owners)
		if app != "" {
			m.AppID = &app
		}

		if channel != "" {
			m.Channel = &channel
		}

		return m
	}

	all := []mapping.Mapping{
		scoped("0001", "", ""), scoped("0002", "", "airbnb"), scoped("0003", "pms", ""), scoped("0004", "pms", "AirBnB"),
		{LineType: "pet", AppID: new("other"), Status: mapping.Unmapped},
	}
	for _, c := range []struct{ app, channel, want string }{
		{"", "", "0001"}, {"", "vrbo", "0001"}, {"", "AIRBNB", "0002"}, {"other", "Airbnb", "0002"}, {"other", "", "0001"}, {"pms", "vrbo", "0003"}, {"pms", "airbnb", "0004"},
	} {
		r := reservation.Reservation{AppID: new(c.app), BookingPlatform: new(c.channel)}
		if got := codeOf(*mapping.NewSet(all).Find(r.AppID, r.BookingPlatform, "pet").AccountID); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.app, c.channel, got, c.want)
		}
	}

	in := stayA(t)
	in.Fees, in.Mappings = nil, mapped(mapping.Mapping{LineType: "cleaningFee", Status: mapping.Excluded}, mapping.Mapping{LineType: "tax", Status: mapping.Unmapped})
	want(t, reservation.Journal(in).Postings, "2026-01-29: 2000 1000.00 4000o -1000.00")
}

func financial(n byte, code string, amount money.Cents) reservation.Adjustment {
	return reservation.Adjustment{ID: id.ID{0xad, n}, Type: reservation.Financial, AccountID: new(chart(code)), Amount: amount, Classification: account.Revenue}
}

// canceled is the stay of example A after its cancellation, with half of 500.00 kept.
func canceled(t *testing.T) *reservation.Input {
	t.Helper()
	in := stayA(t)
	in.Reservation.Status, in.Reservation.CancelledAt = reservation.Canceled, new(date(t, "2026-01-10"))
	in.Reservation.Adjustments = []reservation.Adjustment{financial(1, "4090", 25_000)}
	management := subscription(t, 1, "Management", "20% * (rent + cancellation)", [2]string{"5100", "4100"})
	management.Fee.StatusFilter = fee.AnyStatus
	in.Fees = []fee.Subscription{management, subscription(t, 2, "Cleaning", "cleaningFee", [2]string{"5110", "4110"})}

	return in
}

func TestExampleG(t *testing.T) {
	t.Parallel()
	in := canceled(t)
	want(t, reservation.Journal(in).Postings, `
		2026-01-10: 5100o 50.00 4100m -50.00
		2026-01-10: 2000 250.00 4090o -250.00`)
	in.Reservation.GeneralLedgerPostingAt = new(date(t, "2026-03-01"))
	want(t, reservation.Journal(in).Postings, `
		2026-03-01: 5100o 50.00 4100m -50.00
		2026-03-01: 2000 250.00 4090o -250.00`)
	in.Reservation.Status = reservation.Inactive
	want(t, reservation.Journal(in).Postings, "")
}

func TestAdjustments(t *testing.T) {
	t.Parallel()

	manager := ledger.Manager

	for name, c := range map[string]struct {
		change func(*reservation.Input, *reservation.Adjustment)
		want   string
	}{
		"financial": {func(*reservation.Input, *reservation.Adjustment) {}, "2026-01-29: 2000 30.00 4030o -30.00"},
		"refund":    {func(_ *reservation.Input, a *reservation.Adjustment) { a.Amount = -3_000 }, "2026-01-29: 2000 -30.00 4030o 30.00"},
		"nothing":   {func(_ *reservation.Input, a *reservation.Adjustment) { a.Amount = 0 }, ""},
		"own date": {func(_ *reservation.Input, a *reservation.Adjustment) {
			a.GeneralLedgerPostingAt = new(date(t, "2026-04-01"))
		}, "2026-04-01: 2000 30.00 4030o -30.00"},
		"a stay by night": {func(in *reservation.Input, _ *reservation.Adjustment) { in.Recognition = fee.ProRata }, "2026-01-29: 2000 30.00 4030o -30.00"},
		"check-out":       {func(in *reservation.Input, _ *reservation.Adjustment) { in.Recognition = fee.CheckOut }, "2026-02-03: 2000 30.00 4030o -30.00"},
		"own party":       {func(_ *reservation.Input, a *reservation.Adjustment) { a.Party = &manager }, "2026-01-29: 2000 30.00 4030m -30.00"},
		"money owed":      {func(_ *reservation.Input, a *reservation.Adjustment) { a.Classification = account.Liability }, "2026-01-29: 2000 30.00 4030 -30.00"},
		"of a co-host":    {func(in *reservation.Input, _ *reservation.Adjustment) { in.Periods[0].BusinessModel = listing.CoHost }, "2026-01-29: 1110 30.00 4030o -30.00"},
		"outside GL": {func(in *reservation.Input, _ *reservation.Adjustment) {
			in.Reservation.GeneralLedgerStatus = reservation.LedgerInactive
		}, ""},
		"of an account": {func(_ *reservation.Input, a *reservation.Adjustment) {
			a.Type, a.Party = reservation.FeeAdjustment, &manager
		}, "2026-01-29: 4030o 30.00 4030m -30.00"},
		"of a fee": {func(_ *reservation.Input, a *reservation.Adjustment) {
			a.Type, a.AccountID, a.RecurringFeeID = reservation.FeeAdjustment, nil, &id.ID{0xfe, 1}
			a.DebitAccountID, a.DebitParty, a.CreditAccountID, a.CreditParty = chart("5100"), ledger.Owners, chart("4100"), ledger.Manager
		}, "2026-01-29: 5100o 30.00 4100m -30.00"},
	} {
		in := stayA(t)
		in.Fees, in.Reservation.Lines = nil, nil
		in.Reservation.Adjustments = []reservation.Adjustment{financial(1, "4030", 3_000)}
		c.change(in, &in.Reservation.Adjustments[0])
		t.Log(name)
		want(t, reservation.Journal(in).Postings, c.want)
	}
}

func TestTaxedFeesAndOwnerStays(t *testing.T) {
	t.Parallel()
	in := stayA(t)
	in.Recognition, in.Fees = fee.ProRata, in.Fees[:1]
	in.Fees[0].Fee.TaxRate, in.Fees[0].Fee.TaxBehavior = &fee.TaxRateRef{BasisPoints: 10_000}, new(tax.Excluded)
	fees := func() []ledger.Posting {
		return slices.DeleteFunc(reservation.Journal(in).Postings, func(p ledger.Posting) bool { return strings.Contains(p.TxnCode, ":revenue") })
	}
	want(t, fees(), `
		2026-01-29: 5100o 132.00 4100m -120.00 2110 -12.00
		2026-02-01: 5100o 88.00 4100m -80.00 2110 -8.00`)
	delete(in.Assigned, account.ExpenseSalesTax)

	if got := reservation.Journal(in).Missing; !slices.Equal(got, []account.Assignment{account.ExpenseSalesTax}) {
		t.Errorf("missing %v", got)
	}

	in.Reservation.Type = reservation.OwnerStay

	want(t, fees(), "")

	if got := reservation.Journal(in).Charges[0].InactiveReason; got != fee.OwnerStay {
		t.Error(got)
	}
}

func TestConditionsSeeLinesAndAdjustments(t *testing.T) {
	t.Parallel()
	in := stayA(t)
	in.Fees = in.Fees[:1]

	in.Reservation.Adjustments = []reservation.Adjustment{financial(1, "4000", 1)}
	for value, charged := range map[money.Cents]bool{100_000: true, 100_001: false} {
		in.Fees[0].Fee.AccountTotalConditions = []fee.Condition{{AccountID: chart("4000"), Operator: fee.Above, CentValue: value}}
		if got := reservation.Journal(in).Charges[0].InactiveReason == ""; got != charged {
			t.Errorf("above %d: charged %v", value, got)
		}
	}
}

// Whatever is recognised elsewhere nets to zero in deferred revenue and leaves every other account as without it.
func TestDeferralNetsToZero(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		in := drawInput(t, r)
		in.Fees = nil

		for i := range rapid.IntRange(0, 3).Draw(r, "adjustments") {
			a := financial(byte(i), "4030", money.Cents(rapid.Int64Range(-9_999, 9_999).Draw(r, "adjusted")))
			if rapid.Bool().Draw(r, "own date") {
				a.GeneralLedgerPostingAt = new(in.Reservation.CheckIn.AddDays(rapid.IntRange(-60, 60).Draw(r, "days")))
			}

			in.Reservation.Adjustments = append(in.Reservation.Adjustments, a)
		}

		balances := func() map[string]money.Cents {
			out := map[string]money.Cents{}

			for _, p := range reservation.Journal(in).Postings {
				if err := p.Check(); err != nil {
					r.Fatal(err)
				}

				for _, l := range p.Lines {
					out[codeOf(l.AccountID)+string(l.Party)] += l.CentTotal
				}
			}

			return out
		}
		plain := balances()
		recognitions := []fee.Recognition{fee.CheckIn, fee.CheckOut, fee.BookedAt, fee.ProRata}
		in.Mappings = mapped(
			recognized(mappingOf("rent", "4000", ledger.Owners), rapid.SampledFrom(recognitions).Draw(r, "rent")),
			recognized(mappingOf("tax", "2100", ledger.NoParty), rapid.SampledFrom(recognitions).Draw(r, "tax")))

		deferred := balances()
		if deferred["2010"] != 0 {
			r.Fatalf("%d stays deferred", deferred["2010"])
		}

		delete(deferred, "2010")

		for _, m := range []map[string]money.Cents{plain, deferred} {
			for account, sum := range m {
				if sum == 0 {
					delete(m, account)
				}
			}
		}

		if fmt.Sprint(plain) != fmt.Sprint(deferred) {
			r.Fatalf("%v became %v", plain, deferred)
		}
	})
}

func TestExampleE(t *testing.T) {
	t.Parallel()
	in := stayA(t)
	in.Reservation.Lines, in.MerchantFee, in.ChannelFee = []reservation.Line{line("rent", 90_000), line("cleaningFee", 12_000)}, 0, 15_810
	in.Fees = []fee.Subscription{
		subscription(t, 1, "Channel", "channelFee", [2]string{"5120", "4120"}),
		subscription(t, 2, "Management", "20% * (rent - channelFee)", [2]string{"5100", "4100"}),
	}
	want(t, reservation.Journal(in).Postings, `
		2026-01-29: 2000 1020.00 4000o -900.00 4010o -120.00
		2026-01-29: 5120o 158.10 4120m -158.10
		2026-01-29: 5100o 148.38 4100m -148.38`)
}
