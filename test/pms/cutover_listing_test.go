package pms_test

import (
	"fmt"
	"testing"

	"stayledger/platform/id"
	sandbox "stayledger/provider/sandbox/pms"
)

// twin returns the listing of the target, which the owner of the house has, too, from its first day on.
func (m *moving) twin() id.ID {
	m.T.Helper()

	twin := m.find(m.target, "new").ID("listingId")
	m.Post("/listings/ownership-periods", object{
		"listingId": twin, "startAt": "2025-01-01", "members": array{object{"contactId": m.owner, "split": 100_000}},
	}).Want(202)
	m.Outlast(nil)

	return twin
}

// newApart returns a team on its way from one system to another, with its house as two listings and a stay at each system.
func newApart(t *testing.T) *moving {
	t.Helper()

	m := newMoving(t, object{"statementStartAt": "2026-01-01"})
	m.apart = true
	m.before("old", "2026-06-10", "2026-06-12", 100)
	m.after("new", "2026-07-10", "2026-07-12", 200)
	m.begin()

	return m
}

// fee adds a fee of a fifth of the rent that goes to the manager, and returns its id.
func (m *moving) fee(listings ...id.ID) string {
	m.T.Helper()

	subscriptions := array{}
	for _, l := range listings {
		subscriptions = append(subscriptions, object{"listingId": l})
	}

	fee := m.Post("/recurring-fees", object{
		"name": "Management", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 20_000, "creditParty": "manager",
		"debitParty": "owners", "creditAccountId": m.Account("4100"), "debitAccountId": m.Account("5100"), "listingSubscriptions": subscriptions,
	}).Want(201).String("id")
	m.Outlast(nil)

	return fee
}

// charged returns the cents that a stay of a connection is charged on the account of fees.
func (m *moving) charged(connection id.ID, name string) (sum int64) {
	m.T.Helper()

	entries := m.Get("/reports/journal-entries?accountIds=" + m.Account("4100").String() + "&startDate=2025&endDate=2028&reservationIds=" +
		m.find(connection, name).String("id")).Want(200)
	for i := range entries.Len("data") {
		sum -= entries.Int(fmt.Sprintf("data.%d.centTotal", i))
	}

	return sum
}

// Fees that both listings are charged are charged once at the one that is left; the layout and the opening balance of the other
// one are its own, and money that was held for the owners when the books began is held still.
//
// Proves: CUT-24, CUT-45.
func TestFeesLayoutsAndOpeningBalancesGoAlong(t *testing.T) {
	t.Parallel()
	m := newApart(t)
	twin := m.twin()
	fee := m.fee(m.home.ID, twin)
	layout := m.Post("/statement-layouts", object{"name": "Ours", "listingIds": array{twin}}).Want(201).String("id")
	m.Put("/listings/"+twin.String()+"/opening-balance", object{"amount": 12_300}).Want(200)

	preview, _ := m.apply()
	if preview.Int("listingContinuity.paymentLineCount") != 1 {
		t.Errorf("the preview is %s", preview.Body)
	}

	periods := m.Get("/recurring-fees/listing-periods?recurringFeeIds=" + fee).Want(200)
	if periods.Len("data") != 1 || periods.ID("data.0.listingId") != m.home.ID {
		t.Errorf("the fee is charged on %s", periods.Body)
	}

	if old, late := m.charged(m.connection, "old"), m.charged(m.target, "new"); old != 2_000 || late != 4_000 {
		t.Errorf("%d and %d are charged", old, late)
	}

	if got := m.Get("/statement-layouts/" + layout).Want(200); got.Len("activeListings") != 1 || got.ID("activeListings.0.id") != m.home.ID {
		t.Errorf("the layout is %s", got.Body)
	}

	opening := m.Get("/listings/opening-balance").Want(200)
	if opening.Len("data") != 1 || opening.ID("data.0.listingId") != m.home.ID || opening.Int("data.0.amount") != 12_300 {
		t.Errorf("the opening balances are %s", opening.Body)
	}

	// The statement of the first month begins with it.
	draft := m.Get("/statements/" + m.Statement(m.home, "2026-01").String()).Want(200)
	if draft.Int("financials.balanceStart") != 12_300 {
		t.Errorf("the statement is %s", draft.Body)
	}

	// A fee of one listing alone would newly be charged: that is refused, as by a merge.
	other := newApart(t)
	other.fee(other.twin())

	for _, path := range []string{previewPath, applyPath} {
		if got := other.Post(path, other.ask(nil)).WantError("CONFLICT", ""); got.Len("context.conflictingPeriodIds") != 1 {
			t.Errorf("another fee is answered with %s", got.Body)
		}
	}
}

// Blocks of the listing of the target are those of the other one, and are opened at the system that was told of them. Nights
// that are blocked at both refuse the cutover.
//
// Proves: CUT-24.
func TestBlocksOfNightsGoAlong(t *testing.T) {
	t.Parallel()
	m := newApart(t)
	twin := m.find(m.target, "new").ID("listingId")

	for _, body := range []object{nights(m.home.ID, "2027-03-01", "2027-03-04"), nights(twin, "2027-03-03", "2027-03-06"), nights(twin, "2027-04-01", "2027-04-03")} {
		if got := m.send("POST", body); got != "completed" {
			t.Fatalf("the block is %s", got)
		}
	}

	for _, path := range []string{previewPath, applyPath} {
		m.Post(path, m.ask(nil)).WantError("CONFLICT", "")
	}

	if got := m.Get("/calendar-blocks?listingIds=" + twin.String()).Want(200); got.Len("data") != 2 {
		t.Errorf("after a refusal the blocks are %s", got.Body)
	}

	m.send("DELETE", nights(twin, "2027-03-01", "2027-03-31"))
	m.apply()

	if got := m.Get("/calendar-blocks?listingIds=" + twin.String()).Want(200); got.Len("data") != 0 {
		t.Errorf("on the listing of the target are %s", got.Body)
	}

	got := m.Get("/calendar-blocks?sort=startAt&listingIds=" + m.home.ID.String()).Want(200)
	if got.Len("data") != 2 || got.ID("data.0.connectionId") != m.connection || got.ID("data.1.connectionId") != m.target || got.String("data.1.startAt") != "2027-04-01" {
		t.Errorf("the blocks are %s", got.Body)
	}

	if done := m.send("DELETE", nights(m.home.ID, "2027-04-01", "2027-04-03")); done != "completed" || len(m.to.Blocks()) != 0 || len(m.system.Blocks()) != 1 {
		t.Errorf("opening the nights is %s, the systems have %v and %v", done, m.system.Blocks(), m.to.Blocks())
	}
}

// Fee adjustments of a stay of the source are those of the target's, and are posted once: of a fee, and between owner and manager.
//
// Proves: CUT-42, CUT-48.
func TestFeeAdjustmentsGoAlong(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.both("stay", "2026-07-03", "2026-07-06", 300)
	m.before("back", "2026-07-08", "2026-07-10", 100)
	m.after("back", "2026-06-20", "2026-06-22", 100)
	m.begin()

	fee := m.fee(m.home.ID)

	for _, name := range []string{"stay", "back"} {
		path := "/reservations/" + m.find(m.connection, name).String("id") + "/adjustments"
		m.Post(path, object{"description": "Less", "amount": -1_000, "recurringFeeId": fee}).Want(201)
		m.Post(path, object{"description": "Rebate", "amount": 300, "type": "fee", "party": "owners", "accountId": m.Account("4100")}).Want(201)
	}

	// wantFees holds a stay to the cents that the manager has of it by the fee, to what the owners have by the rebate, and to
	// the system that has the adjustments.
	wantFees := func(name string, counts, other id.ID, cents int64) {
		t.Helper()

		if here, there := m.charged(counts, name), m.charged(other, name); here != cents || there != 0 {
			t.Errorf("%s is charged %d and %d, want %d", name, here, there, cents)
		}

		if with, without := m.find(counts, name), m.find(other, name); with.Len("adjustments") != 2 || without.Len("adjustments") != 0 {
			t.Errorf("%s has the adjustments %s and %s", name, with.Body, without.Body)
		}

		rebate, entries := int64(0), m.Get("/reports/journal-entries?accountIds="+m.Account("4100").String()+"&startDate=2025&endDate=2028&reservationIds="+
			m.find(counts, name).String("id")).Want(200)
		for i := range entries.Len("data") {
			if at := fmt.Sprintf("data.%d.", i); entries.String(at+"party") == "owners" {
				rebate -= entries.Int(at + "centTotal")
			}
		}

		if rebate != 300 {
			t.Errorf("the rebate of %s is %s", name, entries.Body)
		}
	}

	m.apply()
	wantFees("stay", m.target, m.connection, 5_000)
	wantFees("back", m.connection, m.target, 1_000)

	// They follow the stay over the day.
	m.after("back", "2026-07-20", "2026-07-22", 100)
	m.after("stay", "2026-06-25", "2026-06-28", 300)
	m.syncTarget()
	wantFees("back", m.target, m.connection, 1_000)
	wantFees("stay", m.connection, m.target, 5_000)

	if got := m.Get("/sync-conflicts").Want(200); got.Len("data") != 0 {
		t.Errorf("the conflicts are %s", got.Body)
	}
}

// What the target says of its listing later is said of the one that is left.
//
// Proves: CUT-43.
func TestTheTargetGoesOnToSpeakOfTheListingThatIsLeft(t *testing.T) {
	t.Parallel()
	m := newApart(t)
	twin := m.find(m.target, "new").String("listingId")
	m.apply()
	m.to.SetListing(sandbox.Listing{ID: "T1", Name: "House 1", Address: &sandbox.Address{Street: "1 Hill Road", City: "Mill", Country: "us"}, Currency: "usd"})
	m.after("later", "2026-07-20", "2026-07-22", 100)
	m.syncTarget()

	house, old := m.Get("/listings/"+m.home.ID.String()).Want(200), m.Get("/listings/"+twin).Want(200)
	if !house.Has("address.line1") || house.String("address.line1") != "1 Hill Road" || old.String("status") != "inactive" || old.Has("address.line1") {
		t.Errorf("the listings are %s and %s", house.Body, old.Body)
	}

	if got := m.find(m.target, "later"); got.ID("listingId") != m.home.ID {
		t.Errorf("a later stay is %s", got.Body)
	}
}
