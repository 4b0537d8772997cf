package books_test

import (
	"maps"
	"testing"
)

// sale is a house that its seller had until March 17 and the buyer has from then on, with a reserve of 100.00.
type sale struct {
	*villa
	house          string
	seller, buyer  string // ownership periods
	sellerContact  string
	january, march string // the stay of January, and the one over the day of the sale
}

func newSale(t *testing.T) *sale {
	t.Helper()
	s := &sale{villa: newVilla(t)}
	s.settings(object{"defaultRevenueRecognition": "proRata"})
	s.sellerContact = s.must("POST", "/contacts", object{"type": "owner", "name": "Sam Seller", "email": "sam@example.com"})
	buyer := s.must("POST", "/contacts", object{"type": "owner", "name": "Bea Buyer", "email": "bea@example.com"})
	s.house = s.must("POST", "/listings", object{"name": "House", "initialOwnership": object{
		"members": list{object{"contactId": s.sellerContact, "split": 100000}}, "reserve": 10000,
	}})
	s.listing = s.house
	s.seller = s.firstPeriod()
	s.fee("Management", "managementFee", "rent", 20000, "5100", "4100")

	// A stay of January that is paid, and one over the sale: six nights of 600.01.
	s.january = s.stay("2026-01-10", "2026-01-12", object{"rent": 50000})
	s.deposit("2026-01-10", s.january, 50000, 0, "")
	s.march = s.stay("2026-03-14", "2026-03-20", object{"rent": 60001})
	s.deposit("2026-03-14", s.march, 60001, 0, "")

	s.must("PUT", "/listings/ownership-periods/"+s.seller, object{"endAt": "2026-03-17"})
	s.Work()
	s.must("POST", "/listings/ownership-periods", object{
		"listingId": s.house, "startAt": "2026-03-17", "members": list{object{"contactId": buyer, "split": 100000}},
	})
	s.Work()
	s.buyer = s.laterPeriod(s.seller)

	return s
}

// month publishes a month of the house and returns the seller's statement of it.
func (s *sale) month(month string) (statement string) {
	s.t.Helper()
	s.Post("/statements", object{"month": month, "listingPeriodIds": list{s.seller}, "status": "published"}).Want(201)
	s.Work()

	for _, v := range s.statements("&listingIds=" + s.house) {
		if v.Ownership.ID == s.seller && v.StartAt == month+"-01" {
			return v.ID
		}
	}

	s.t.Fatalf("the seller has no statement of %s", month)

	return ""
}

// A house is sold on March 17, in the middle of a stay: each owner has the money of his own nights. What comes later of
// the seller's stays, a refund and damage money, and a bill that names his ownership, is on statements of his after the
// sale; his reserve is free with it, and at last he has nothing.
func TestAHouseThatIsSold(t *testing.T) {
	t.Parallel()
	s := newSale(t)

	// 600.01 are 100.01 and five times 100.00; 20 % are six times 20.00.
	if seller, buyer := s.ownerOf(s.seller), s.ownerOf(s.buyer); seller != 40000+24001 || buyer != 24000 {
		t.Fatalf("the seller has %d, the buyer %d", seller, buyer)
	}

	pay := func(statement, date string, cents int64) {
		t.Helper()

		r := s.Post("/statements/pay", object{"statementIds": list{statement}, "date": date}).Want(200)
		if got := r.Int("results.0.payouts.0.amount"); got != cents || r.String("results.0.payouts.0.contactId") != s.sellerContact {
			t.Errorf("the seller is paid %d, want %d: %s", got, cents, r.Body)
		}
	}

	// The reserve of 100.00 stays while he owns the house; with the final statement it is free.
	january := s.month("2026-01")
	pay(january, "2026-02-05", 30000)
	s.month("2026-02")
	final := s.month("2026-03")
	s.Get("/statements/"+final).WantFields("financials", object{"balanceEnd": 34001, "reserve": 0, "available": 34001})
	pay(final, "2026-04-05", 34001)

	// 100.00 go back to the guest of January, and 150.00 come for what he broke.
	s.Post("/reservations/"+s.january+"/adjustments", object{"amount": -10000, "accountId": s.account("4000"), "generalLedgerPostingAt": "2026-04-12"}).Want(201)
	s.deposit("2026-04-12", s.january, -10000, 0, "")
	s.Post("/transactions", object{"type": "deposit", "date": "2026-04-20", "lines": list{
		object{"accountId": s.account("4010"), "amount": 15000, "party": "owners", "reservationId": s.january},
	}}).Want(201)

	// A bill of 20.00 that came late names the ownership. It cannot be one of another listing.
	bill := func(period string) object {
		return object{"type": "expense", "date": "2026-04-25", "accountId": s.account("1000"), "lines": list{
			object{"accountId": s.account("5200"), "amount": 2000, "listingId": s.house, "ownershipPeriodId": period},
		}}
	}
	s.Post("/transactions", bill(s.ownership)).Want(400).WantIssue("notFound", "lines.0.ownershipPeriodId")
	s.Post("/transactions", bill(s.seller)).Want(201).WantFields("lines.0", object{"ownershipPeriodId": s.seller})

	if buyer := s.ownerOf(s.buyer); buyer != 24000 {
		t.Errorf("the buyer has %d, want his nights alone", buyer)
	}

	april := s.month("2026-04")
	s.Get("/statements/"+april).WantFields("financials", object{"balanceStart": 34001, "payouts": -34001, "netRevenue": 5000, "expenses": -2000, "available": 3000})
	pay(april, "2026-05-05", 3000)

	if seller := s.ownerOf(s.seller); seller != 0 {
		t.Errorf("at last the seller has %d", seller)
	}
}

// Corrections of the stay over the sale belong to both owners by their nights, whenever they are dated, and so does money
// for it; one that names an ownership belongs to that. When the stay moves, its money follows.
func TestCorrectionsOfAStayOverASale(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	seller, buyer := s.ownerOf(s.seller), s.ownerOf(s.buyer)

	moved := func(what string, ofSeller, ofBuyer int64) {
		t.Helper()
		s.Work()

		nowSeller, nowBuyer := s.ownerOf(s.seller), s.ownerOf(s.buyer)
		if nowSeller-seller != ofSeller || nowBuyer-buyer != ofBuyer {
			t.Errorf("%s: %d of the seller, %d of the buyer, want %d and %d", what, nowSeller-seller, nowBuyer-buyer, ofSeller, ofBuyer)
		}

		seller, buyer = nowSeller, nowBuyer
	}

	// 60.01 by six nights are 10.01 and five times 10.00.
	s.Post("/reservations/"+s.march+"/adjustments", object{"amount": -6001, "accountId": s.account("4000"), "generalLedgerPostingAt": "2026-05-02"}).Want(201)
	moved("an adjustment", -3001, -3000)
	s.Post("/reservations/"+s.march+"/adjustments", object{
		"amount": -1000, "accountId": s.account("4000"), "generalLedgerPostingAt": "2026-05-02", "ownershipPeriodId": s.buyer,
	}).Want(201)
	moved("one that names the buyer", 0, -1000)
	s.Post("/reservations/"+s.march+"/adjustments", object{"amount": -1000, "accountId": s.account("4000"), "ownershipPeriodId": s.ownership}).
		Want(400).WantIssue("notFound", "ownershipPeriodId")
	s.Post("/transactions", object{"type": "deposit", "date": "2026-05-03", "lines": list{
		object{"accountId": s.account("4010"), "amount": 9000, "party": "owners", "reservationId": s.march},
	}}).Want(201)
	moved("damage money", 4500, 4500)

	// A manual journal goes by its date, unless it names the ownership.
	journal := func(more object) object {
		line := object{"accountId": s.account("4000"), "centTotal": 700, "party": "owners", "listingId": s.house}
		maps.Copy(line, more)

		return object{"date": "2026-05-04", "lines": list{line, object{"accountId": s.account("2000"), "centTotal": -700}}}
	}
	s.Post("/general-ledger/journals", journal(nil)).Want(201)
	moved("a journal", 0, -700)
	s.Post("/general-ledger/journals", journal(object{"ownershipPeriodId": s.seller})).Want(201).WantFields("lines.0", object{"ownershipPeriodId": s.seller})
	moved("a journal that names the seller", -700, 0)
	s.Post("/general-ledger/journals", journal(object{"ownershipPeriodId": s.ownership})).Want(400).WantIssue("notFound", "lines.0.ownershipPeriodId")

	// The stay ends with the sale: all of it is the seller's, 240.00 of rent, 30.00 of the adjustment, 45.00 of the damage.
	s.must("PUT", "/reservations/"+s.march, object{"checkOut": "2026-03-17"})
	moved("a stay that ends before", 24000-3000+4500, -24000+3000-4500)
}

// Nights that nobody owns are nobody's until somebody owns them, and told.
func TestNightsAfterAnOwnership(t *testing.T) {
	t.Parallel()
	v, _ := sold(t, "")
	v.settings(object{"defaultRevenueRecognition": "proRata"})
	stay := v.stay("2026-01-29", "2026-02-04", object{"rent": 60000}) // three nights are owned

	if got := v.ownerOf(v.ownership); got != 30000 {
		t.Errorf("the owners have %d, want that of their three nights", got)
	}

	v.Get("/reservations/"+stay).WantFields("issues.0", object{"code": "ownershipPeriodMissing", "context.centTotal": 30000})

	// So is half of what comes later for it.
	v.Post("/transactions", object{"type": "deposit", "date": "2026-02-10", "lines": list{
		object{"accountId": v.account("4010"), "amount": 6000, "party": "owners", "reservationId": stay},
	}}).Want(201)
	v.Get("/reservations/"+stay).WantFields("issues.0", object{"code": "ownershipPeriodMissing", "context.centTotal": 33000})

	v.must("POST", "/listings/ownership-periods", object{
		"listingId": v.listing, "startAt": "2026-02-01", "members": list{object{"contactId": v.ben, "split": 100000}},
	})
	v.Work()

	if got := v.ownerOf(v.laterPeriod(v.ownership)); got != 33000 || v.Get("/reservations/"+stay).Len("issues") != 0 {
		t.Errorf("the buyer has %d", got)
	}
}

// A stay over the sale that is recognised as a whole is its owner's on that day, with all that comes later.
func TestCorrectionsOfAStayThatIsOneOwners(t *testing.T) {
	t.Parallel()

	for recognition, isSellers := range map[string]bool{"checkIn": true, "checkOut": false, "bookedAt": true} {
		t.Run(recognition, func(t *testing.T) {
			t.Parallel()
			s := newSale(t)
			s.settings(object{"defaultRevenueRecognition": recognition})
			seller, buyer := s.ownerOf(s.seller), s.ownerOf(s.buyer)
			s.Post("/reservations/"+s.march+"/adjustments", object{"amount": -10000, "accountId": s.account("4000"), "generalLedgerPostingAt": "2026-05-02"}).Want(201)
			s.Post("/transactions", object{"type": "deposit", "date": "2026-05-03", "lines": list{
				object{"accountId": s.account("4010"), "amount": 7000, "party": "owners", "reservationId": s.march},
			}}).Want(201)

			want := [2]int64{-3000, 0}
			if !isSellers {
				want = [2]int64{0, -3000}
			}

			if got := [2]int64{s.ownerOf(s.seller) - seller, s.ownerOf(s.buyer) - buyer}; got != want {
				t.Errorf("the seller and the buyer have %v more, want %v", got, want)
			}
		})
	}
}

// What is kept of a canceled stay is the owners' by its nights where stays are recognised by night, whenever it was canceled.
func TestACanceledStayOverASale(t *testing.T) {
	t.Parallel()

	for _, canceledAt := range []string{"2026-03-10", "2026-03-16", "2026-04-05"} {
		t.Run(canceledAt, func(t *testing.T) {
			t.Parallel()
			s := newSale(t)
			s.must("PUT", "/reservations/"+s.march, object{"status": "canceled", "cancelledAt": canceledAt})
			s.Post("/reservations/"+s.march+"/adjustments", object{"amount": 10000}).Want(201)
			s.Post("/reservations/"+s.march+"/adjustments", object{"amount": 2000, "generalLedgerPostingAt": "2026-04-02"}).Want(201)
			s.Work()

			if seller, buyer := s.ownerOf(s.seller), s.ownerOf(s.buyer); seller != 40000+6000 || buyer != 6000 {
				t.Errorf("the seller has %d, the buyer %d", seller, buyer)
			}
		})
	}
}

// A system's canceled stay says itself what is kept: a line.
func TestARetainedLineOverASale(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	s.must("PUT", "/reservations/"+s.march, object{
		"status": "canceled", "cancelledAt": "2026-04-05", "lines": list{object{"type": "retained", "amount": 9000}},
	})
	s.Work()

	if seller, buyer := s.ownerOf(s.seller), s.ownerOf(s.buyer); seller != 40000+4500 || buyer != 4500 {
		t.Errorf("the seller has %d, the buyer %d", seller, buyer)
	}
}
