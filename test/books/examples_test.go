package books_test

import (
	"testing"
)

const (
	depositsA = `
		2026-01-05 1000  62502
		2026-01-05 2000 -64400
		2026-01-05 5010 manager 1898
		2026-01-22 1000  62502
		2026-01-22 2000 -64400
		2026-01-22 5010 manager 1898
	`
	// The stay of example A with its fees, all of it on one day.
	wholeA = `
		%[1]s 2000 128800
		%[1]s 4000 owners -100000
		%[1]s 4010 owners -15000
		%[1]s 2100 -13800
		%[1]s 5100 owners 20000
		%[1]s 4100 manager -20000
		%[1]s 5110 owners 15000
		%[1]s 4110 manager -15000
		%[1]s 5120 owners 3796
		%[1]s 4120 manager -3796
	`
	// The same by nights, three in January and two in February.
	proRataA = `
		2026-01-29 2000  77280
		2026-01-29 4000 owners -60000
		2026-01-29 4010 owners -9000
		2026-01-29 2100 -8280
		2026-01-29 5100 owners 12000
		2026-01-29 4100 manager -12000
		2026-01-29 5110 owners 9000
		2026-01-29 4110 manager -9000
		2026-01-29 5120 owners 2278
		2026-01-29 4120 manager -2278
		2026-02-01 2000  51520
		2026-02-01 4000 owners -40000
		2026-02-01 4010 owners -6000
		2026-02-01 2100 -5520
		2026-02-01 5100 owners 8000
		2026-02-01 4100 manager -8000
		2026-02-01 5110 owners 6000
		2026-02-01 4110 manager -6000
		2026-02-01 5120 owners 1518
		2026-02-01 4120 manager -1518
	`
)

// TestExampleA: a direct booking, recognised at check-in.
func TestExampleA(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.usualFees()
	v.payA(v.stayA())
	v.wantBooks("", depositsA+on(wholeA, "2026-01-29"))
	v.want("2026-01-28", map[string]int64{"1000": 125004, "2000": -128800, "5010 manager": 3796})

	if got := v.ownerOf(v.ownership); got != 76204 {
		t.Errorf("the owners have %d, want 762.04", got)
	}

	v.want("2026-12-31", map[string]int64{
		"1000": 125004, "2100": -13800, "4000 owners": -100000, "4010 owners": -15000, "5100 owners": 20000, "5110 owners": 15000, "5120 owners": 3796,
		"4100 manager": -20000, "4110 manager": -15000, "4120 manager": -3796, "5010 manager": 3796,
	})
}

// TestExampleB: the same stay pro rata, and its variants.
func TestExampleB(t *testing.T) {
	t.Parallel()

	for policy, want := range map[string]string{
		"proRata": proRataA, "checkOut": on(wholeA, "2026-02-03"), "bookedAt": on(wholeA, "2026-01-02"), "checkIn": on(wholeA, "2026-01-29"),
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			v := newVilla(t)
			v.settings(object{"defaultRevenueRecognition": policy})
			v.usualFees()
			v.payA(v.stayA())
			v.wantBooks("", depositsA+want)
		})
	}
}

// TestExampleBSettingsFollow: the books are the same whether the settings came first or last.
func TestExampleBSettingsFollow(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.payA(v.stayA())
	v.settings(object{"defaultRevenueRecognition": "proRata"})
	v.usualFees()
	v.Work()
	v.wantBooks("", depositsA+proRataA)
	v.settings(object{"defaultRevenueRecognition": "checkIn", "longTermStayNights": 4})
	v.wantBooks("", depositsA+proRataA)
	v.want("2026-01-31", map[string]int64{
		"1000": 125004, "2000": -51520, "2100": -8280, "4000 owners": -60000, "4010 owners": -9000, "5100 owners": 12000, "5110 owners": 9000,
		"5120 owners": 2278, "4100 manager": -12000, "4110 manager": -9000, "4120 manager": -2278, "5010 manager": 3796,
	})
}

// TestExampleC: the listing changes hands in the middle of the stay.
func TestExampleC(t *testing.T) {
	t.Parallel()

	for policy, want := range map[string][2]int64{"proRata": {45722, 30482}, "checkIn": {76204, 0}, "checkOut": {0, 76204}} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			v := newVilla(t)
			v.settings(object{"defaultRevenueRecognition": policy})
			v.usualFees()
			v.payA(v.stayA())
			v.must("PUT", "/listings/ownership-periods/"+v.ownership, object{"endAt": "2026-02-01"})
			second := v.must("POST", "/contacts", object{"type": "owner", "name": "Cleo"})
			v.must("POST", "/listings/ownership-periods", object{
				"listingId": v.listing, "startAt": "2026-02-01", "members": list{object{"contactId": second, "split": 100000}},
			})
			v.Work()

			var periods struct {
				Data []struct{ ID, StartAt string }
			}
			v.read("/listings/ownership-periods?listingIds="+v.listing, &periods)

			for _, p := range periods.Data {
				cents := want[0]
				if p.StartAt == "2026-02-01" {
					cents = want[1]
				}

				if got := v.ownerOf(p.ID); got != cents {
					t.Errorf("the period from %q has %d, want %d", p.StartAt, got, cents)
				}
			}
		})
	}
}

// TestExampleD: cleaning counts at check-out, the rest at check-in.
func TestExampleD(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.mapping("cleaningFee", "checkOut")
	v.stayA()
	v.wantBooks("", `
		2026-01-29 2000 128800
		2026-01-29 4000 owners -100000
		2026-01-29 2100 -13800
		2026-01-29 2010 -15000
		2026-02-03 2010 15000
		2026-02-03 4010 owners -15000
	`)

	triggers := map[string]string{}
	for _, e := range v.entries("&accountIds=" + v.account("2010").String()) {
		triggers[e.TxnAt] = e.TriggerType
	}

	if triggers["2026-01-29"] != "deferredRevenue" || triggers["2026-02-03"] != "revenueRecognition" {
		t.Errorf("the entries on deferred revenue say %v", triggers)
	}
}

// mapping gives a line type a recognition of its own.
func (v *villa) mapping(lineType, recognition string) {
	v.t.Helper()

	var mappings struct {
		Data []struct{ ID, LineType string }
	}
	v.read("/reservations/line-mappings?limit=250", &mappings)

	for _, m := range mappings.Data {
		if m.LineType == lineType {
			v.must("PUT", "/reservations/line-mappings/"+m.ID, object{"revenueRecognition": recognition})
			v.Work()

			return
		}
	}

	v.t.Fatalf("no mapping of %s", lineType)
}

// TestExampleE: a channel pays out less its fee and remits the tax itself.
func TestExampleE(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.fee("Channel fee", "bookingChannelFee", "channelFee", 100000, "5120", "4120")
	v.fee("Management", "managementFee", "rent - channelFee", 20000, "5100", "4100")
	stay := v.stay("2026-02-10", "2026-02-14", object{"rent": 90000, "cleaningFee": 12000})
	v.deposit("2026-02-11", stay, 102000, 15810, "deposit_channelFee")
	v.wantBooks("", `
		2026-02-10 2000 102000
		2026-02-10 4000 owners -90000
		2026-02-10 4010 owners -12000
		2026-02-10 5120 owners 15810
		2026-02-10 4120 manager -15810
		2026-02-10 5100 owners 14838
		2026-02-10 4100 manager -14838
		2026-02-11 1000 86190
		2026-02-11 5000 manager 15810
		2026-02-11 2000 -102000
	`)
}

// TestExampleEManyStays: one deposit at the bank pays several stays, each with its own channel fee.
func TestExampleEManyStays(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.fee("Channel fee", "bookingChannelFee", "channelFee", 100000, "5120", "4120")

	lines := list{}

	for _, at := range [][2]string{{"2026-03-01", "2026-03-04"}, {"2026-03-10", "2026-03-12"}} {
		stay := v.stay(at[0], at[1], object{"rent": 50000})
		lines = append(lines, object{"assignment": "accountsReceivable", "amount": 50000, "reservationId": stay},
			object{"assignment": "deposit_channelFee", "amount": -7750, "reservationId": stay})
	}

	if got := v.Post("/transactions", object{"type": "deposit", "date": "2026-03-02", "lines": lines}).Want(201).Int("total"); got != 84500 {
		t.Errorf("the bank gets %d, want 845.00", got)
	}

	v.wantBooks("", `
		2026-03-01 2000 50000
		2026-03-01 4000 owners -50000
		2026-03-01 5120 owners 7750
		2026-03-01 4120 manager -7750
		2026-03-02 1000 84500
		2026-03-02 5000 manager 15500
		2026-03-02 2000 -100000
		2026-03-10 2000 50000
		2026-03-10 4000 owners -50000
		2026-03-10 5120 owners 7750
		2026-03-10 4120 manager -7750
	`)
}

// TestExampleF: an owner's bill with markup and tax.
func TestExampleF(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.billF()
	v.wantBooks("", `
		2026-01-15 5200 owners 12650
		2026-01-15 2200 -10000
		2026-01-15 4190 manager -1000
		2026-01-15 2110 -1650
		2026-01-20 2200 10000
		2026-01-20 1000 -10000
	`)
}

// TestExampleFFromTheOperatingAccount: the manager lends the money, and the trust gives it back.
func TestExampleFFromTheOperatingAccount(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.Post("/transactions", object{"type": "expense", "date": "2026-01-15", "accountId": v.account("1010"), "lines": list{
		object{"accountId": v.account("5200"), "amount": 10000, "listingId": v.listing},
	}}).Want(201)
	v.Post("/transactions", object{"type": "transfer", "date": "2026-01-25", "accountId": v.account("1000"), "lines": list{
		object{"accountId": v.account("1010"), "amount": 10000},
	}}).Want(201)
	v.wantBooks("&ledger=trust", `
		2026-01-15 5200 owners 10000
		2026-01-15 2500 -10000
		2026-01-25 2500 10000
		2026-01-25 1000 -10000
	`)
	v.wantBooks("&ledger=operating", `
		2026-01-15 2500 10000
		2026-01-15 1010 -10000
		2026-01-25 1010 10000
		2026-01-25 2500 -10000
	`)

	for _, e := range v.entries("&accountIds=" + v.account("2500").String()) {
		if e.TriggerType != "intercompany" {
			t.Errorf("the debt between the ledgers says %s", e.TriggerType)
		}
	}
}

// TestExampleG: canceled; 500.00 paid, 250.00 given back, 250.00 kept.
func TestExampleG(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.fee("Management", "managementFee", "rent + cancellation", 20000, "5100", "4100", "statusFilter", "all")
	stay := v.stay("2026-02-10", "2026-02-15", object{"rent": 50000})
	v.deposit("2026-01-10", stay, 50000, 0, "")
	v.deposit("2026-01-19", stay, -25000, 0, "")
	v.must("PUT", "/reservations/"+stay, object{"status": "canceled", "cancelledAt": "2026-01-20"})

	money := `
		2026-01-10 1000 50000
		2026-01-10 2000 -50000
		2026-01-19 1000 -25000
		2026-01-19 2000 25000
	`
	v.wantBooks("", money)
	v.Post("/reservations/"+stay+"/adjustments", object{"amount": 25000, "description": "Kept"}).Want(201)
	v.wantBooks("", money+`
		2026-01-20 2000 25000
		2026-01-20 4090 owners -25000
		2026-01-20 5100 owners 5000
		2026-01-20 4100 manager -5000
	`)
	v.want("2026-12-31", map[string]int64{"1000": 25000, "4090 owners": -25000, "5100 owners": 5000, "4100 manager": -5000})
}

// TestExampleH: a security deposit is never revenue before a claim.
func TestExampleH(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	stay := v.stay("2026-02-10", "2026-02-15", object{})
	hold := func(date string, pairs ...object) {
		lines := list{}

		for _, l := range pairs {
			l["reservationId"] = stay
			lines = append(lines, l)
		}

		v.Post("/transactions", object{"type": "deposit", "date": date, "lines": lines}).Want(201)
	}
	hold("2026-02-09", object{"accountId": v.account("2300"), "amount": 30000})
	v.wantBooks("", `
		2026-02-09 1000 30000
		2026-02-09 2300 -30000
	`)
	hold("2026-02-16", object{"accountId": v.account("2300"), "amount": -8000}, object{"accountId": v.account("4030"), "amount": 8000})
	hold("2026-02-17", object{"accountId": v.account("2300"), "amount": -22000})
	v.wantBooks("", `
		2026-02-09 1000 30000
		2026-02-09 2300 -30000
		2026-02-16 2300 8000
		2026-02-16 4030 owners -8000
		2026-02-17 2300 22000
		2026-02-17 1000 -22000
	`)
}

// TestExampleI: tax is remitted, an owner covers a deficit, the manager draws what he earned.
func TestExampleI(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	send := func(kind, date string, line object) {
		v.Post("/transactions", object{"type": kind, "date": date, "accountId": v.account("1000"), "lines": list{line}}).Want(201)
	}
	send("expense", "2026-02-05", object{"accountId": v.account("2100"), "amount": 13800})
	send("payout", "2026-02-06", object{"amount": -50000, "listingId": v.listing, "contactId": v.ada})
	send("payout", "2026-02-07", object{"amount": 35000, "party": "manager"})
	v.wantBooks("", `
		2026-02-05 2100 13800
		2026-02-05 1000 -13800
		2026-02-06 1000 50000
		2026-02-06 2400 owners -50000
		2026-02-07 2400 manager 35000
		2026-02-07 1000 -35000
	`)
}
