package books_test

import (
	"strings"
	"testing"
)

// A channel pays three stays out less its fees; the month is published and paid. A chargeback in April changes nothing that
// the published statement shows; what is collected today is a figure of its own.
func TestAPublishedMonthStaysAfterAChargeback(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.must("PUT", "/listings/ownership-periods/"+v.ownership, object{"reserve": nil})
	v.usualFees()
	v.fee("Channel fee", "bookingChannelFee", "channelFee", 100000, "5120", "4120")
	v.Work()

	var (
		stays []string
		lines list
	)

	for i, s := range []struct{ rent, fee int64 }{{90000, 15810}, {45000, 8835}, {100000, 17360}} {
		day := "2026-03-" + []string{"03", "10", "17"}[i]
		stay := v.stay(day, "2026-03-"+[]string{"05", "12", "19"}[i], object{"rent": s.rent, "cleaningFee": 12000})
		stays = append(stays, stay)
		lines = append(lines, object{"assignment": "accountsReceivable", "amount": s.rent + 12000, "reservationId": stay},
			object{"assignment": "deposit_channelFee", "amount": -s.fee, "reservationId": stay})
	}

	if got := v.Post("/transactions", object{"type": "deposit", "date": "2026-03-20", "lines": lines}).Want(201).Int("total"); got != 228995 {
		t.Fatalf("the bank gets %d, want 2,289.95", got)
	}

	// The owners have the rent less 20 % and the channel's fees, the manager 20 % and the cleaning.
	if owners := v.ownerOf(v.ownership); owners != 145995 {
		t.Fatalf("the owners have %d, want 1,459.95", owners)
	}

	if b := v.balances("2026-03-31"); b["4100 manager"]+b["4110 manager"] != -83000 {
		t.Errorf("the manager has %d and %d, want 830.00", b["4100 manager"], b["4110 manager"])
	}

	for _, month := range []string{"2026-01", "2026-02", "2026-03"} {
		v.Post("/statements", object{"month": month, "status": "published"}).Want(201)
	}

	march := v.Get("/statements?month=2026-03").Want(200).String("data.0.id")
	r := v.Post("/statements/pay", object{"statementIds": list{march}, "date": "2026-04-05"}).Want(200)
	r.WantFields("results.0", object{"payouts.0.amount": 87597, "payouts.1.amount": 58398})

	published := v.Get("/statements/" + march).Want(200)
	published.WantFields("financials", object{"collected": 145995, "collectedToday": 145995})

	// The guest of the first stay takes 1,020.00 back: 561.90 of it were the owners'.
	v.deposit("2026-04-12", stays[0], -102000, 0, "")

	after := v.Get("/statements/" + march).Want(200)
	after.WantFields("financials", object{"collected": 145995, "collectedToday": 89805})

	if was := strings.Replace(string(published.Body), `"collectedToday":145995`, `"collectedToday":89805`, 1); was != string(after.Body) {
		t.Errorf("the published statement was\n%s\nand is\n%s", was, after.Body)
	}

	// One that is published again says what is collected then. It has no payouts when it is reopened.
	v.Post("/statements", object{"month": "2026-04", "status": "published"}).Want(201)
	april := v.Get("/statements?month=2026-04").Want(200)
	v.must("PUT", "/statements/"+april.String("data.0.id"), object{"status": "inReview"})
	v.Get("/statements/"+april.String("data.0.id")).WantFields("financials", object{"collected": april.Value("data.0.financials.collectedToday")})
}
