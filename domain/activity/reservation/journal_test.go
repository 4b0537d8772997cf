package reservation_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// The accounts of the worked examples, by their number in the standard chart.
const (
	guestDeposits = "2000"
	coHostPayouts = "1110"
)

func chart(code string) id.ID { return id.ID{0xac, code[0], code[1], code[2], code[3]} }

func codeOf(v id.ID) string { return string(v[1:5]) }

func date(t testing.TB, s string) day.Day {
	t.Helper()

	d, err := day.Parse(s)
	if err != nil {
		t.Fatal(err)
	}

	return d
}

func line(kind string, amount money.Cents) reservation.Line {
	return reservation.Line{Type: kind, Amount: amount}
}

func mappingOf(lineType, code string, party ledger.Party) mapping.Mapping {
	m := mapping.Mapping{LineType: lineType, Status: mapping.Mapped, AccountID: new(chart(code))}
	if party != ledger.NoParty {
		m.Party = &party
	}

	return m
}

func mapped(more ...mapping.Mapping) mapping.Set {
	return mapping.NewSet(append([]mapping.Mapping{
		mappingOf("rent", "4000", ledger.Owners), mappingOf("cleaningFee", "4010", ledger.Owners), mappingOf("discount", "4000", ledger.Owners),
		mappingOf("tax", "2100", ledger.NoParty),
	}, more...))
}

// subscription charges the owners on the first account for the manager on the second.
func subscription(t testing.TB, n byte, name, formula string, accounts [2]string) fee.Subscription {
	t.Helper()

	s, err := fee.NewSubscription(fee.Fee{
		ID: id.ID{0xfe, n}, Name: name, Formula: formula, RateType: fee.Percentage, DefaultRate: int64(money.WholeRate), DebitParty: ledger.Owners,
		CreditParty: ledger.Manager, DebitAccountID: chart(accounts[0]), CreditAccountID: chart(accounts[1]),
	}, fee.Period{})
	if err != nil {
		t.Fatal(err)
	}

	return s
}

// stayA is the stay of worked example A: January 29 to February 3, with its fees and the two card payments.
func stayA(t testing.TB) *reservation.Input {
	t.Helper()

	return &reservation.Input{
		Reservation: reservation.Reservation{
			ID: id.ID{0xe5}, ListingID: id.ID{0x11}, Status: reservation.Booked, GeneralLedgerStatus: reservation.LedgerActive, Currency: "usd",
			CheckIn: date(t, "2026-01-29"), CheckOut: date(t, "2026-02-03"), BookedAt: new(date(t, "2025-12-01")),
			Lines: []reservation.Line{line("rent", 100_000), line("cleaningFee", 15_000), line("tax", 13_800)},
		},
		Mappings: mapped(), Recognition: fee.CheckIn, MerchantFee: 3_796,
		Assigned: map[account.Assignment]id.ID{
			account.AccountsReceivable: chart(guestDeposits), account.DepositCoHostPayout: chart(coHostPayouts), account.DeferredRevenue: chart("2010"),
			account.ExpenseSalesTax: chart("2110"), account.CancellationRevenue: chart("4090"),
		},
		Periods: []listing.Period{{ID: id.ID{0x0a}, BusinessModel: listing.Managed}},
		Fees: []fee.Subscription{
			subscription(t, 1, "Management", "20% * rent", [2]string{"5100", "4100"}),
			subscription(t, 2, "Cleaning", "cleaningFee", [2]string{"5110", "4110"}),
			subscription(t, 3, "Merchant fee", "merchantFee", [2]string{"5120", "4120"}),
		},
	}
}

// written is a journal as a bookkeeper would write it, a posting per line.
func written(postings []ledger.Posting) string {
	var b strings.Builder

	for i := range postings {
		p := &postings[i]
		b.WriteString(p.TxnAt.String() + ":")

		for k := range p.Lines {
			l := &p.Lines[k]
			party := map[ledger.Party]string{ledger.Owners: "o", ledger.Manager: "m"}[l.Party]
			fmt.Fprintf(&b, " %s%s %s", codeOf(l.AccountID), party, l.CentTotal.Decimal("usd"))
		}

		b.WriteString("\n")
	}

	return b.String()
}

func want(t *testing.T, got []ledger.Posting, expected string) {
	t.Helper()

	if expected = strings.ReplaceAll(strings.TrimSpace(expected), "\t", ""); expected != "" {
		expected += "\n"
	}

	if text := written(got); text != expected {
		t.Errorf("got\n%swant\n%s", text, expected)
	}

	for i := range got {
		if err := got[i].Check(); err != nil {
			t.Error(err)
		}
	}
}

// ownersNet is the amount that a journal leaves to the owners, by ownership period.
func ownersNet(postings []ledger.Posting) map[id.ID]money.Cents {
	net := map[id.ID]money.Cents{}

	for i := range postings {
		for k := range postings[i].Lines {
			if l := &postings[i].Lines[k]; l.Party == ledger.Owners {
				net[l.OwnershipPeriodID] -= l.CentTotal
			}
		}
	}

	return net
}

func TestExampleA(t *testing.T) {
	t.Parallel()
	postings := reservation.Journal(stayA(t)).Postings
	want(t, postings, `
		2026-01-29: 2000 1288.00 4000o -1000.00 4010o -150.00 2100 -138.00
		2026-01-29: 5100o 200.00 4100m -200.00
		2026-01-29: 5110o 150.00 4110m -150.00
		2026-01-29: 5120o 37.96 4120m -37.96`)

	if net := ownersNet(postings)[id.ID{0x0a}]; net != 76_204 {
		t.Errorf("owner net %d", net)
	}

	revenue := postings[0].Lines[0]
	if revenue.Trigger != ledger.TriggerReservation || revenue.ReservationID != (id.ID{0xe5}) || revenue.ListingID != (id.ID{0x11}) {
		t.Errorf("guest deposits line %+v", revenue)
	}

	charged := postings[1].Lines[0]
	if charged.Trigger != ledger.TriggerRecurringFee || charged.RecurringFeeID != (id.ID{0xfe, 1}) || charged.Description != "Management" {
		t.Errorf("fee line %+v", charged)
	}
}

func TestExampleB(t *testing.T) {
	t.Parallel()
	in := stayA(t)
	in.Recognition = fee.ProRata
	postings := reservation.Journal(in).Postings
	want(t, postings, `
		2026-01-29: 2000 772.80 4000o -600.00 4010o -90.00 2100 -82.80
		2026-02-01: 2000 515.20 4000o -400.00 4010o -60.00 2100 -55.20
		2026-01-29: 5100o 120.00 4100m -120.00
		2026-02-01: 5100o 80.00 4100m -80.00
		2026-01-29: 5110o 90.00 4110m -90.00
		2026-02-01: 5110o 60.00 4110m -60.00
		2026-01-29: 5120o 22.78 4120m -22.78
		2026-02-01: 5120o 15.18 4120m -15.18`)

	january := slices.DeleteFunc(slices.Clone(postings), func(p ledger.Posting) bool { return p.TxnAt.Month() != date(t, "2026-01-01").Month() })
	if net := ownersNet(january)[id.ID{0x0a}]; net != 45_722 {
		t.Errorf("owner net of January %d", net)
	}

	if net := ownersNet(postings)[id.ID{0x0a}]; net != 76_204 {
		t.Errorf("owner net %d", net)
	}
}

func TestExampleC(t *testing.T) {
	t.Parallel()
	change := date(t, "2026-02-01")
	first, second := id.ID{0x0a}, id.ID{0x0b}
	owners := []listing.Period{{ID: first, EndAt: &change, BusinessModel: listing.Managed}, {ID: second, StartAt: &change, BusinessModel: listing.Managed}}

	in := stayA(t)

	in.Periods, in.Recognition = owners, fee.ProRata
	if net := ownersNet(reservation.Journal(in).Postings); net[first] != 45_722 || net[second] != 30_482 || len(net) != 2 {
		t.Errorf("pro rata: %v", net)
	}

	in.Recognition = fee.CheckIn
	if net := ownersNet(reservation.Journal(in).Postings); net[first] != 76_204 || len(net) != 1 {
		t.Errorf("check-in: %v", net)
	}

	in.Recognition = fee.CheckOut
	if net := ownersNet(reservation.Journal(in).Postings); net[second] != 76_204 || len(net) != 1 {
		t.Errorf("check-out: %v", net)
	}
}

func TestOwnershipChangeWithinAMonthCutsTheStay(t *testing.T) {
	t.Parallel()
	change := date(t, "2026-01-30")
	in := stayA(t)
	in.Fees, in.Recognition = nil, fee.ProRata
	in.Periods = []listing.Period{{ID: id.ID{0x0a}, EndAt: &change}, {ID: id.ID{0x0b}, StartAt: &change, BusinessModel: listing.CoHostAirbnb}}
	want(t, reservation.Journal(in).Postings, `
		2026-01-29: 2000 257.60 4000o -200.00 4010o -30.00 2100 -27.60
		2026-01-30: 1110 515.20 4000o -400.00 4010o -60.00 2100 -55.20
		2026-02-01: 1110 515.20 4000o -400.00 4010o -60.00 2100 -55.20`)
}

func TestRecognitionDates(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		change func(*reservation.Input)
		want   string
	}{
		"check-in":          {func(*reservation.Input) {}, "2026-01-29"},
		"check-out":         {func(in *reservation.Input) { in.Recognition = fee.CheckOut }, "2026-02-03"},
		"booked at":         {func(in *reservation.Input) { in.Recognition = fee.BookedAt }, "2025-12-01"},
		"booked at unknown": {func(in *reservation.Input) { in.Recognition, in.Reservation.BookedAt = fee.BookedAt, nil }, "2026-01-29"},
		"pro rata":          {func(in *reservation.Input) { in.Recognition = fee.ProRata }, "2026-01-29 2026-02-01"},
		"long stay":         {func(in *reservation.Input) { in.LongTermStayNights = new(int64(4)) }, "2026-01-29 2026-02-01"},
		"not longer":        {func(in *reservation.Input) { in.LongTermStayNights = new(int64(5)) }, "2026-01-29"},
		"override":          {func(in *reservation.Input) { in.Reservation.GeneralLedgerPostingAt = new(date(t, "2026-03-04")) }, "2026-03-04"},
		"override of pro rata": {func(in *reservation.Input) {
			in.Recognition, in.Reservation.GeneralLedgerPostingAt = fee.ProRata, new(date(t, "2026-03-04"))
		}, "2026-03-04"},
	} {
		in := stayA(t)
		in.Fees = nil
		c.change(in)

		var dates []string
		for _, p := range reservation.Journal(in).Postings {
			dates = append(dates, p.TxnAt.String())
		}

		if got := strings.Join(dates, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestFees(t *testing.T) {
	t.Parallel()

	flat := func(in *reservation.Input) *fee.Subscription {
		in.Fees = in.Fees[:1]
		in.Fees[0].Fee.RateType, in.Fees[0].Rate = fee.Flat, 2_500

		return &in.Fees[0]
	}
	for name, c := range map[string]struct {
		change func(*reservation.Input)
		want   string
	}{
		"flat":     {func(in *reservation.Input) { flat(in) }, "2026-01-29: 5100o 25.00 4100m -25.00"},
		"negative": {func(in *reservation.Input) { flat(in).Rate = -100 }, "2026-01-29: 5100o -1.00 4100m 1.00"},
		"zero":     {func(in *reservation.Input) { flat(in).Rate = 0 }, ""},
		"own recognition": {
			func(in *reservation.Input) { flat(in).Fee.RevenueRecognition = new(fee.ProRata) },
			"2026-01-29: 5100o 15.00 4100m -15.00\n2026-02-01: 5100o 10.00 4100m -10.00",
		},
		"other channel": {func(in *reservation.Input) { flat(in).Fee.BookingChannelsFilter = []string{"airbnb"} }, ""},
		"its channel": {func(in *reservation.Input) {
			flat(in).Fee.BookingChannelsFilter, in.Reservation.BookingPlatform = []string{"airbnb"}, new("Airbnb")
		}, "2026-01-29: 5100o 25.00 4100m -25.00"},
		"ended at check-in":     {func(in *reservation.Input) { flat(in).Period.EndAt = new(date(t, "2026-01-29")) }, ""},
		"started with check-in": {func(in *reservation.Input) { flat(in).Period.StartAt = new(date(t, "2026-01-29")) }, "2026-01-29: 5100o 25.00 4100m -25.00"},
		"started in the stay, pro rata": {func(in *reservation.Input) {
			in.Recognition = fee.ProRata
			flat(in).Period.StartAt = new(date(t, "2026-01-31"))
		}, "2026-01-31: 5100o 5.00 4100m -5.00\n2026-02-01: 5100o 10.00 4100m -10.00"},
		"ended in the stay, pro rata": {func(in *reservation.Input) {
			in.Recognition = fee.ProRata
			flat(in).Period.EndAt = new(date(t, "2026-01-31"))
		}, "2026-01-29: 5100o 10.00 4100m -10.00"},
		"of a discount": {func(in *reservation.Input) {
			in.Reservation.Lines = append(in.Reservation.Lines, line("discount", -10_000))
			in.Fees = []fee.Subscription{subscription(t, 1, "Management", "10% * (rent - discount)", [2]string{"5100", "4100"})}
		}, "2026-01-29: 5100o 90.00 4100m -90.00"},
		"of a channel fee": {func(in *reservation.Input) {
			in.ChannelFee = 15_810
			in.Fees = []fee.Subscription{subscription(t, 1, "Channel", "channelFee", [2]string{"5120", "4120"})}
		}, "2026-01-29: 5120o 158.10 4120m -158.10"},
	} {
		in := stayA(t)
		c.change(in)

		got := slices.DeleteFunc(reservation.Journal(in).Postings, func(p ledger.Posting) bool { return strings.Contains(p.TxnCode, ":revenue") })
		if text := strings.TrimSpace(written(got)); text != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, text, c.want)
		}
	}
}

func TestWhatIsNotPosted(t *testing.T) {
	t.Parallel()

	for name, change := range map[string]func(*reservation.Input){
		"canceled":    func(in *reservation.Input) { in.Reservation.Status = reservation.Canceled },
		"inactive":    func(in *reservation.Input) { in.Reservation.Status = reservation.Inactive },
		"outside GL":  func(in *reservation.Input) { in.Reservation.GeneralLedgerStatus = reservation.LedgerInactive },
		"no lines":    func(in *reservation.Input) { in.Reservation.Lines, in.Fees = nil, nil },
		"unmapped":    func(in *reservation.Input) { in.Mappings, in.Fees = mapping.Set{}, nil },
		"zero amount": func(in *reservation.Input) { in.Reservation.Lines, in.Fees = []reservation.Line{line("rent", 0)}, nil },
	} {
		in := stayA(t)
		change(in)

		if got := reservation.Journal(in).Postings; len(got) != 0 {
			t.Errorf("%s: %s", name, written(got))
		}
	}
}

func TestExplicitAccounts(t *testing.T) {
	t.Parallel()
	in := stayA(t)
	in.Fees = nil
	named := func(kind, code string, c account.Classification) reservation.Line {
		l := line(kind, 100)
		l.AccountID, l.Classification = new(chart(code)), c

		return l
	}
	in.Reservation.Lines = []reservation.Line{
		named("rent", "4200", account.Revenue), named("tax", "2150", account.Liability), named("pet", "4300", account.Revenue),
		named("city tax", "2160", account.Liability), line("unmapped", 100),
	}
	want(t, reservation.Journal(in).Postings, `2026-01-29: 2000 4.00 4200o -1.00 2150 -1.00 4300o -1.00 2160 -1.00`)
}

func TestJournalProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		in := drawInput(t, r)

		postings := reservation.Journal(in).Postings
		if again := reservation.Journal(in).Postings; fmt.Sprintf("%#v", again) != fmt.Sprintf("%#v", postings) {
			r.Fatal("deriving twice gives two journals")
		}

		byRef := map[string]money.Cents{}
		codes := map[string]bool{}

		for i := range postings {
			p := &postings[i]
			if err := p.Check(); err != nil {
				r.Fatal(err)
			}

			if codes[p.TxnCode] {
				r.Fatalf("two postings are called %s", p.TxnCode)
			}

			codes[p.TxnCode] = true
			for k := range p.Lines {
				l := &p.Lines[k]

				byRef[l.RecurringFeeID.String()+l.Ref] += l.CentTotal
				// Who came after the last night has no part of the stay.
				covering := listing.Covering(in.Periods, p.TxnAt)
				if covering == nil || covering.StartAt != nil && !covering.StartAt.Before(in.Reservation.CheckOut) {
					continue
				}

				if l.OwnershipPeriodID != covering.ID {
					r.Fatalf("%s on %s is not stamped with the owner of the day", p.TxnCode, p.TxnAt)
				}
			}
		}

		zero := id.ID{}.String()
		for i, l := range in.Reservation.Lines {
			if got := byRef[zero+"line:"+strconv.Itoa(i)]; got != -l.Amount {
				r.Fatalf("line %d of %d is posted as %d", i, l.Amount, got)
			}
		}

		if flat := byRef[in.Fees[0].Fee.ID.String()+"debit"]; flat != 1_001 {
			r.Fatalf("the nights of the flat fee add up to %d", flat)
		}
	})
}

func drawInput(t *testing.T, r *rapid.T) *reservation.Input {
	t.Helper()
	in := stayA(t)
	in.Fees[0].Fee.RateType, in.Fees[0].Rate = fee.Flat, 1_001
	in.Reservation.CheckIn = date(t, "2026-01-01").AddDays(rapid.IntRange(0, 60).Draw(r, "check-in"))
	in.Reservation.CheckOut = in.Reservation.CheckIn.AddDays(rapid.IntRange(1, 100).Draw(r, "nights"))
	in.Recognition = rapid.SampledFrom([]fee.Recognition{fee.CheckIn, fee.CheckOut, fee.BookedAt, fee.ProRata}).Draw(r, "recognition")
	in.Reservation.Lines = nil

	for range rapid.IntRange(0, 6).Draw(r, "lines") {
		kind := rapid.SampledFrom([]string{"rent", "cleaningFee", "tax", "discount"}).Draw(r, "type")
		in.Reservation.Lines = append(in.Reservation.Lines, line(kind, money.Cents(rapid.Int64Range(-1_000_000, 1_000_000).Draw(r, "amount"))))
	}

	change := in.Reservation.CheckIn.AddDays(rapid.IntRange(-5, 40).Draw(r, "ownership change"))
	in.Periods = []listing.Period{{ID: id.ID{0x0a}, EndAt: &change}, {ID: id.ID{0x0b}, StartAt: &change}}

	return in
}
