package books_test

import (
	"slices"
	"strings"
	"testing"
)

// What channel and processor keep is charged on to the owner whether the deposit names the account by its assignment or
// by id.
func TestDepositCostsAreChargedOnHoweverTheirAccountIsNamed(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ assignment, code, kind, formula string }{
		"channel": {"deposit_channelFee", "5000", "bookingChannelFee", "channelFee"},
		"card":    {"deposit_merchantFee", "5010", "merchantFee", "merchantFee"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			book := func(named func(v *villa) object) (*villa, string) {
				v := newVilla(t)
				v.fee("Charged on", c.kind, c.formula, 100000, "5120", "4120")
				stay := v.stayA()
				lines := list{object{"assignment": "accountsReceivable", "amount": 128800, "reservationId": stay}, named(v)}
				lines[1].(object)["amount"], lines[1].(object)["reservationId"] = -3796, stay //nolint:forcetypeassert // just written
				v.Post("/transactions", object{"type": "deposit", "date": "2026-01-05", "lines": lines}).Want(201)

				return v, stay
			}
			byAssignment, _ := book(func(*villa) object { return object{"assignment": c.assignment} })
			v, stay := book(func(v *villa) object { return object{"accountId": v.account(c.code)} })

			want := byAssignment.books("")
			if !slices.Contains(want, "2026-01-29 5120 owners 3796") {
				t.Fatalf("by its assignment the cost is not charged on: %s", strings.Join(want, "\n"))
			}

			v.wantBooks("", strings.Join(want, "\n"))

			preview := v.Post("/recurring-fees/preview", object{"reservationId": stay, "fee": object{
				"name": "Tried", "type": c.kind, "formula": c.formula, "rateType": "percentage", "defaultRate": 100000, "debitParty": "owners",
				"creditParty": "manager", "debitAccountId": v.account("5120"), "creditAccountId": v.account("4120"),
			}}).Want(200)
			if preview.Int("totals.expense") != 3796 || preview.Int("totals.fee") != 3796 {
				t.Errorf("the preview of the fee finds no cost: %v", preview.Value("totals"))
			}
			// The account decides: what takes another account over is charged on no more, and charged again when it
			// takes the part as well.
			v.must("PUT", "/accounts/"+v.account("5200").String(), object{"assignments": list{c.assignment}})

			if got := v.Get("/reservations/" + stay).String("journalStatus.status"); got != "recalculating" {
				t.Errorf("the stay is %s after the part of its deposit's account moved", got)
			}

			v.Work()
			v.wantBooks("&accountIds="+v.account("5120").String(), "")
			v.must("PUT", "/accounts/"+v.account(c.code).String(), object{"assignments": list{c.assignment}})
			v.Work()
			v.wantBooks("", strings.Join(want, "\n"))
			// A line that named the assignment keeps its meaning on an account that plays no part any more.
			byAssignment.must("PUT", "/accounts/"+byAssignment.account("5200").String(), object{"assignments": list{c.assignment}})
			byAssignment.Work()
			byAssignment.wantBooks("", strings.Join(want, "\n"))
		})
	}
}

// An account that plays both parts charges a cost once: as the line says, or as the channel's.
func TestOneAccountForAllDepositCostsChargesThemOnce(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.must("PUT", "/accounts/"+v.account("5000").String(), object{"assignments": list{"deposit_channelFee", "deposit_merchantFee"}})
	v.fee("Channel", "bookingChannelFee", "channelFee", 100000, "5120", "4120")
	v.fee("Card", "merchantFee", "merchantFee", 100000, "5110", "4110")
	stay := v.stayA()
	v.Post("/transactions", object{"type": "deposit", "date": "2026-01-05", "lines": list{
		object{"assignment": "accountsReceivable", "amount": 128800, "reservationId": stay},
		object{"accountId": v.account("5000"), "amount": -100, "reservationId": stay},
		object{"assignment": "deposit_channelFee", "amount": -20, "reservationId": stay},
		object{"assignment": "deposit_merchantFee", "amount": -3, "reservationId": stay},
	}}).Want(201)
	v.wantBooks("&party=owners&accountIds="+v.account("5120").String(), "2026-01-29 5120 owners 120")
	v.wantBooks("&party=owners&accountIds="+v.account("5110").String(), "2026-01-29 5110 owners 3")
}

// A channel's invoice is an expense: it is no cost that a deposit carried, and no one is charged for it, let alone
// credited.
func TestOnlyDepositsCarryCosts(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.fee("Channel", "bookingChannelFee", "channelFee", 100000, "5120", "4120")

	stay := v.stayA()
	for _, line := range []object{{"accountId": v.account("5000")}, {"assignment": "deposit_channelFee"}} {
		line["amount"], line["reservationId"], line["party"] = 5000, stay, "manager"
		v.Post("/transactions", object{"type": "expense", "date": "2026-01-31", "accountId": v.account("1000"), "lines": list{line}}).Want(201)
	}

	v.must("POST", "/reservations/journal-entries", object{"ids": list{stay}})
	v.wantBooks("&accountIds="+v.account("5120").String(), "")
}

// The opening balance of a listing is found when its deposit names the account by id.
func TestOpeningBalancesAreFoundHoweverTheirAccountIsNamed(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	opening := v.Post("/transactions", object{"type": "deposit", "date": "2025-12-31", "isOpeningBalance": true, "lines": list{
		object{"accountId": v.account("2900"), "amount": 30000, "listingId": v.listing},
	}}).Want(201).String("id")

	found := v.Get("/listings/opening-balance?listingIds=" + v.listing).Want(200)
	if found.Int("pagination.total") != 1 || found.String("data.0.transactionId") != opening || found.Int("data.0.amount") != 30000 {
		t.Errorf("found %s", found.Body)
	}

	if again := v.Put("/listings/"+v.listing+"/opening-balance", object{"amount": 40000}).Want(200); again.String("transactionId") != opening {
		t.Errorf("a second opening balance was booked: %s", again.Body)
	}
}
