package books_test

import (
	"testing"
)

// villa is a team with one listing, owned 60/40 by Ada and Ben, and the fees of the worked examples.
type villa struct {
	*team
	listing, ownership string
	ada, ben           string
}

func newVilla(t testing.TB) *villa {
	t.Helper()
	v := &villa{team: newTeam(t)}
	v.ada = v.must("POST", "/contacts", object{"type": "owner", "name": "Ada"})
	v.ben = v.must("POST", "/contacts", object{"type": "owner", "name": "Ben"})
	v.listing = v.must("POST", "/listings", object{"name": "Villa", "initialOwnership": object{
		"members": list{object{"contactId": v.ada, "split": 60000}, object{"contactId": v.ben, "split": 40000}}, "reserve": 20000,
	}})
	v.ownership = v.firstPeriod()

	return v
}

func (v *villa) firstPeriod() string {
	v.t.Helper()

	var periods struct{ Data []struct{ ID string } }
	v.read("/listings/ownership-periods?listingIds="+v.listing, &periods)

	return periods.Data[0].ID
}

// fee charges the villa a percentage of a formula.
func (v *villa) fee(name, kind, formula string, rate int64, debit, credit string, pairs ...any) string { //nolint:revive // one fee is one line of an example
	v.t.Helper()

	body := object{
		"name": name, "type": kind, "formula": formula, "rateType": "percentage", "defaultRate": rate, "debitParty": "owners", "creditParty": "manager",
		"debitAccountId": v.account(debit), "creditAccountId": v.account(credit), "listingSubscriptions": list{object{"listingId": v.listing}},
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		body[pairs[i].(string)] = pairs[i+1] //nolint:forcetypeassert // a test's own pairs
	}

	return v.must("POST", "/recurring-fees", body)
}

// usualFees are the fees of example A: management 20 % of rent, cleaning to the manager, merchant fees charged on.
func (v *villa) usualFees() {
	v.t.Helper()
	v.fee("Management", "managementFee", "rent", 20000, "5100", "4100")
	v.fee("Cleaning", "cleaningFee", "cleaningFee", 100000, "5110", "4110")
	v.fee("Merchant fee", "merchantFee", "merchantFee", 100000, "5120", "4120")
}

// stayA books the stay of example A: January 29 to February 3, 1,288.00.
func (v *villa) stayA() string {
	v.t.Helper()
	return v.stay("2026-01-29", "2026-02-03", object{"rent": 100000, "cleaningFee": 15000, "tax": 13800})
}

// lineTypes keep the lines of a stay in one order.
var lineTypes = []string{"rent", "cleaningFee", "guestFee", "damage", "discount", "other", "tax"}

func (v *villa) stay(checkIn, checkOut string, amounts object) string {
	v.t.Helper()

	lines := list{}

	for _, kind := range lineTypes {
		if amount, ok := amounts[kind]; ok {
			lines = append(lines, object{"type": kind, "amount": amount})
		}
	}

	return v.Post("/reservations", object{"listingId": v.listing, "checkIn": checkIn, "checkOut": checkOut, "bookedAt": "2026-01-02", "lines": lines}).
		Want(201).String("id")
}

// deposit books money of a guest with what was kept of it on the way.
func (v *villa) deposit(date, stay string, gross, kept int64, keptAs string) string {
	v.t.Helper()

	lines := list{object{"assignment": "accountsReceivable", "amount": gross, "reservationId": stay}}
	if kept != 0 {
		lines = append(lines, object{"assignment": keptAs, "amount": -kept, "reservationId": stay})
	}

	return v.Post("/transactions", object{"type": "deposit", "date": date, "lines": lines}).Want(201).String("id")
}

// payA pays the stay of example A by card, twice 644.00 less 18.98.
func (v *villa) payA(stay string) {
	v.t.Helper()

	for _, date := range []string{"2026-01-05", "2026-01-22"} {
		v.deposit(date, stay, 64400, 1898, "deposit_merchantFee")
	}
}

// billF is the bill of example F: 100.00 with a markup of 10.00 and 15 % tax, on January 15, paid on the 20th.
func (v *villa) billF() {
	v.t.Helper()
	rate := v.must("POST", "/tax-rates", object{"name": "Sales tax", "basisPoints": 15000})
	v.Post("/transactions", object{
		"type": "expense", "date": "2026-01-15", "payment": object{"date": "2026-01-20"}, "lines": list{object{
			"accountId": v.account("5200"), "amount": 10000, "listingId": v.listing, "appliedAmount": object{"taxRateId": rate, "taxBehavior": "excluded"},
			"markup": object{"amount": 1000, "taxRateId": rate, "taxBehavior": "excluded"},
		}},
	}).Want(201)
}

// settings changes the team.
func (v *villa) settings(body object) {
	v.t.Helper()
	v.must("PUT", "/team", body)
	v.Work()
}

// ownerOf sums the owners' entries of an ownership period; positive is owed to them.
func (v *villa) ownerOf(period string) (cents int64) {
	v.t.Helper()

	for _, e := range v.entries("&party=owners&ownershipPeriodIds=" + period) {
		cents -= e.CentTotal
	}

	return cents
}

// want compares the balances of a day with what is given.
func (v *villa) want(until string, want map[string]int64) {
	v.t.Helper()

	got := v.balances(until)
	for key := range got {
		if _, expected := want[key]; !expected {
			want[key] = 0
		}
	}

	for key, cents := range want {
		if got[key] != cents {
			v.t.Errorf("%s on %s: %d, want %d", key, until, got[key], cents)
		}
	}
}
