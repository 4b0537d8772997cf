package pms_test

import (
	"fmt"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/id"
	sandbox "stayledger/provider/sandbox/pms"
	"stayledger/test/world"
)

// lateScene is a team that a system brings a stay of March to: rent 450.00 less a host fee of 15.5 % that the owner bears, commission of 20 %.
// The month is published.
type lateScene struct {
	*scene

	house     world.Listing
	statement id.ID
}

// newLateScene returns the team.
func newLateScene(t *testing.T) *lateScene {
	t.Helper()

	s := &lateScene{scene: newScene(t)}
	s.house = s.Listing("House 1", s.Contact("owner", "Ada"))
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})

	s.Post("/recurring-fees", object{
		"name": "Management", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 20000, "debitParty": "owners",
		"creditParty": "manager", "debitAccountId": s.Account("5100"), "creditAccountId": s.Account("4100"),
		"listingSubscriptions": array{object{"listingId": s.house.ID}},
	}).Want(201)

	s.Post("/reservations/line-mappings", object{"lineType": "hostFee", "accountId": s.Account("4000"), "party": "owners"}).Want(201)
	s.says(45000)
	s.adopt()
	s.statement = s.Statement(s.house, "2026-03")
	s.Put("/statements/"+s.statement.String(), object{"status": "published"}).Want(200)

	return s
}

// says has the system say another rent, and a host fee of 15.5 % of it.
func (s *lateScene) says(cents int64) {
	s.system.SetReservation(sandbox.Reservation{
		ID: "r1", ListingID: "L1", Status: "booked", Code: "C-r1", Channel: "airbnb", Guest: sandbox.Guest{Name: "Ada"},
		CheckIn: "2026-03-10", CheckOut: "2026-03-13", BookedAt: "2026-01-02", Currency: "usd", Lines: []sandbox.Line{{Type: "rent", Amount: decimal(cents)}, {Type: "hostFee", Amount: "-" + decimal(cents*155/1000)}},
	})
}

// amounts returns amounts by party as a text.
func amounts(got *apitest.Response, path string) string {
	var out strings.Builder

	for i := range got.Len(path) {
		at := fmt.Sprintf("%s.%d.", path, i)
		fmt.Fprintf(&out, "%s %d ", got.String(at+"party"), got.Int(at+"centTotal"))
	}

	return out.String()
}

// A rent that the system lowers by 100.00 after the month was published is held back with the host fee and the commission that follow it, shows at the stay and the
// statement, and is caught up in the next month: the owner gets 64.50 less and the manager 20.00.
func TestALateChangeIsCaughtUp(t *testing.T) {
	t.Parallel()
	s := newLateScene(t)
	s.says(35000)
	s.sync("full")

	held := s.Get("/journals/held-back").Want(200)
	if got := amounts(held, "data.0.amounts"); held.Int("pagination.total") != 1 || got != "guests 8450 manager -2000 owners -6450 " ||
		held.ID("data.0.statementIds.0") != s.statement || held.String("data.0.lock.reason") == "" {
		t.Fatalf("%q is held back: %s", got, held.Body)
	}

	stay := s.stay("C-r1")
	if stay.String("journalStatus.reason") != "journalLocked" || stay.Int("lines.0.amount") != 45000 {
		t.Errorf("the stay is %s", stay.Body)
	}

	shown := s.Get("/statements/" + s.statement.String()).Want(200)
	if shown.String("issues.0.code") != "changedSincePublished" || shown.Int("issues.0.context.centTotal") != -6450 {
		t.Errorf("the issues of the statement are %v", shown.Value("issues"))
	}

	before := s.books()

	// A preview says what is posted, and posts nothing.
	preview := s.Post("/journals/catch-up?dryRun=true", object{}).Want(200)
	if got := amounts(preview, "data.0.amounts"); preview.String("data.0.outcome") != "posted" || preview.String("data.0.postings.0.date") != "2026-04-01" ||
		preview.String("data.0.statements.0.month") != "2026-04" || len(got) == 0 {
		t.Errorf("the preview is %s", preview.Body)
	}

	if now := s.books(); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("after the preview the books are %v, before %v", now, before)
	}

	done := s.Post("/journals/catch-up", object{"ids": array{held.String("data.0.id")}}).Want(200)
	if done.String("data.0.outcome") != "posted" || done.Int("remaining") != 0 {
		t.Errorf("the catch-up is %s", done.Body)
	}

	s.Outlast(nil)

	if got := s.Get("/journals/held-back").Want(200); got.Int("pagination.total") != 0 {
		t.Errorf("after the catch-up there is %s", got.Body)
	}

	stay = s.stay("C-r1")
	if stay.String("journalStatus.status") != "current" || stay.Int("lines.0.amount") != 35000 || len(codes(stay)) != 0 {
		t.Errorf("after the catch-up the stay is %s", stay.Body)
	}

	// What changes no money of a stay that was caught up is no matter of the lock.
	s.Put("/reservations/"+stay.String("id"), object{"guestName": "Ada Lovelace"}).Want(200)

	// March stays as it was published, April has the difference.
	shown = s.Get("/statements/" + s.statement.String()).Want(200)
	if shown.Len("issues") != 0 || shown.Int("financials.balanceEnd") != 45000-9000-6975 {
		t.Errorf("after the catch-up the statement is %s", shown.Body)
	}

	next := s.Statement(s.house, "2026-04")
	s.Put("/statements/"+next.String(), object{"status": "published"}).Want(200)

	april := s.Get("/statements/" + next.String()).Want(200)
	if april.Int("financials.balanceEnd") != 45000-9000-6975-6450 || april.Int("financials.netRevenue") != -6450 {
		t.Errorf("April is %s", april.Body)
	}

	// Read again, nothing changes; what the system says next is the difference to that.
	s.sync("full")
	s.says(40000)
	s.sync("full")

	held = s.Get("/journals/held-back").Want(200)
	if got := amounts(held, "data.0.amounts"); held.Int("pagination.total") != 1 || got != "guests -4225 manager 1000 owners 3225 " {
		t.Errorf("%q is held back after another change: %s", got, held.Body)
	}

	// It is caught up again after the month that was saved meanwhile.
	preview = s.Post("/journals/catch-up?dryRun=true", object{}).Want(200)
	if preview.String("data.0.postings.0.date") != "2026-05-01" {
		t.Errorf("the preview is %s", preview.Body)
	}

	// When the statements are open again, the books have what the stay has, and the posting of April is gone.
	for _, one := range []id.ID{next, s.statement} {
		s.Put("/statements/"+one.String(), object{"status": "draft"}).Want(200)
		s.Outlast(nil)
	}

	if got := s.Get("/journals/held-back").Want(200); got.Int("pagination.total") != 0 {
		t.Errorf("with the statement open there is %s", got.Body)
	}

	march := s.Get("/statements/" + s.Statement(s.house, "2026-03").String()).Want(200)
	if march.Int("financials.balanceEnd") != 40000-8000-6200 {
		t.Errorf("March is %s", march.Body)
	}
}

// A line of a type that no account takes keeps the statement of its month from being published, on every path, and no other; once the type is
// mapped the statement has it. Tax that a channel remits is in no total, no balance and no book.
func TestLinesWithoutAnAccountBlockPublishing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	house := s.Listing("House 1", s.Contact("owner", "Ada"))

	stay := s.Post("/reservations", object{
		"listingId": house.ID, "checkIn": "2026-09-29", "checkOut": "2026-10-02", "confirmationCode": "C-pet", "lines": array{
			object{"type": "rent", "amount": 40000}, object{"type": "petFee", "amount": 3000}, object{"type": "channelTax", "amount": 5100},
		},
	}).Want(201)
	s.Stay(house, "2026-08-10", 10000)
	s.Stay(house, "2026-10-10", 20000)

	if stay.Int("financials.total") != 43000 || stay.Int("payment.expected") != 43000 {
		t.Errorf("the stay is %s", stay.Body)
	}

	september := s.Statement(house, "2026-09")
	shown := s.Get("/statements/" + september.String()).Want(200)

	if shown.String("issues.0.code") != "line_unassignedAccount" || shown.String("issues.0.context.lineTypes.0") != "petFee" ||
		shown.Int("issues.0.context.centTotal") != 3000 || shown.Len("issues") != 1 {
		t.Errorf("the draft of September has %v", shown.Value("issues"))
	}

	s.Publish("2026-08", house)

	for _, body := range []object{{"status": "published"}, {"status": "inReview"}} {
		s.Put("/statements/"+september.String(), body).WantError(apierr.CodeBadRequest, apierr.ReasonStatementHasBlockingIssues)
	}

	s.Post("/statements", object{"month": "2026-09", "status": "published"}).WantError(apierr.CodeBadRequest, apierr.ReasonStatementHasBlockingIssues)

	if got := s.Get("/statements/" + s.Statement(house, "2026-10").String()).Want(200); got.Len("issues") != 0 {
		t.Errorf("the draft of October has %v", got.Value("issues"))
	}

	unmapped := s.Get("/reservations/line-mappings?lineType=petFee").Want(200)
	s.Put("/reservations/line-mappings/"+unmapped.String("data.0.id"), object{"accountId": s.Account("4020"), "party": "owners"}).Want(200)
	s.Outlast(nil)
	s.Put("/statements/"+september.String(), object{"status": "published"}).Want(200)

	if got := s.Get("/statements/" + september.String()).Want(200); got.Int("financials.netRevenue") != 43000 {
		t.Errorf("September is %s", got.Body)
	}
}

// When the month is opened again after a catch-up, the books have the record as it is and the posting goes, whether or not anything was held back
// since. A stay that moves out of a published month leaves it on the first open day and comes on its own.
func TestACaughtUpMonthIsOpenedAgain(t *testing.T) {
	t.Parallel()
	s := newLateScene(t)
	s.says(35000)
	s.sync("full")
	s.Post("/journals/catch-up", object{}).Want(200)
	s.Outlast(nil)

	s.Put("/statements/"+s.statement.String(), object{"status": "draft"}).Want(200)
	s.Outlast(nil)

	want := func(when, month string, net int64) {
		t.Helper()

		if got := s.Get("/statements/" + s.Statement(s.house, month).String()).Want(200); got.Int("financials.netRevenue") != net {
			t.Errorf("%s: %s has %d, want %d", when, month, got.Int("financials.netRevenue"), net)
		}
	}

	want("open again", "2026-03", 35000-7000-5425)
	want("open again", "2026-04", 0)

	// It moves to May after March was published once more.
	s.Put("/statements/"+s.Statement(s.house, "2026-03").String(), object{"status": "published"}).Want(200)

	moved := sandbox.Reservation{
		ID: "r1", ListingID: "L1", Status: "booked", Code: "C-r1", Channel: "airbnb", Guest: sandbox.Guest{Name: "Ada"},
		CheckIn: "2026-05-10", CheckOut: "2026-05-13", BookedAt: "2026-01-02", Currency: "usd",
		Lines: []sandbox.Line{{Type: "rent", Amount: "350.00"}, {Type: "hostFee", Amount: "-54.25"}},
	}
	s.system.SetReservation(moved)
	s.sync("full")

	done := s.Post("/journals/catch-up", object{}).Want(200)
	if done.Int("remaining") != 0 || done.String("data.0.postings.0.date") != "2026-04-01" || done.String("data.0.postings.1.date") != "2026-05-10" {
		t.Errorf("the catch-up is %s", done.Body)
	}

	s.Outlast(nil)
	want("moved", "2026-03", 22575)
	want("moved", "2026-04", -22575)
	want("moved", "2026-05", 22575)

	s.Put("/reservations/"+s.stay("C-r1").String("id"), object{"guests": 3}).Want(200)

	// A dearer stay is held back again, and caught up in its own month.
	moved.Lines[0].Amount, moved.Lines[1].Amount = "450.00", "-69.75"
	s.system.SetReservation(moved)
	s.sync("full")

	if got := s.Get("/journals/held-back").Want(200); got.Int("pagination.total") != 1 || amounts(got, "data.0.amounts") != "guests -8450 manager 2000 owners 6450 " {
		t.Errorf("after another price there is %s", got.Body)
	}

	s.Post("/journals/catch-up", object{}).Want(200)
	s.Outlast(nil)
	want("dearer", "2026-04", -22575)
	want("dearer", "2026-05", 29025)

	if got := s.Get("/journals/held-back").Want(200); got.Int("pagination.total") != 0 {
		t.Errorf("in the end there is %s", got.Body)
	}

	// With its former price again, the catch-ups of the stay add up to nothing.
	moved.Lines[0].Amount, moved.Lines[1].Amount = "350.00", "-54.25"
	s.system.SetReservation(moved)
	s.sync("full")
	s.Post("/journals/catch-up", object{}).Want(200)
	s.Outlast(nil)
	want("as before", "2026-05", 22575)

	// With March open, nothing of them is left.
	s.Put("/statements/"+s.Statement(s.house, "2026-03").String(), object{"status": "draft"}).Want(200)
	s.Outlast(nil)
	want("open in the end", "2026-03", 0)
	want("open in the end", "2026-04", 0)
	want("open in the end", "2026-05", 22575)
}

// What a system says of a stay that is here is an issue at the stay, and ends when the system takes it back. A late booking that the system drops
// waits no more, what a person may not settle under a lock does not wait, and a stay that two changes hold back is posted once.
func TestLateChangesOfOneStay(t *testing.T) {
	t.Parallel()
	s := newLateScene(t)
	id := s.stay("C-r1").String("id")

	held := func(when string, want int64) {
		t.Helper()

		if got := s.Get("/journals/held-back").Want(200); got.Int("pagination.total") != want {
			t.Errorf("%s: %d changes are held back, want %d: %s", when, got.Int("pagination.total"), want, got.Body)
		}
	}

	// Days that are none.
	bad := booked("r1", "L1", "2026-03-10", "2026-03-10")
	s.system.SetReservation(bad)
	s.sync("full")
	s.wantWaiting("with bad days", map[string]int{"recordFailed": 1})

	if got := codes(s.stay("C-r1")); len(got) != 1 || got[0] != "recordFailed" {
		t.Errorf("the issues of the stay are %v", got)
	}

	s.says(45000)
	s.sync("full")
	s.wantWaiting("with the days of before", map[string]int{})

	// A booking in a published month, and its end.
	s.system.SetReservation(booked("r2", "L1", "2026-03-20", "2026-03-22"))
	s.sync("full")
	s.wantWaiting("with a late booking", map[string]int{"recordLocked": 1})
	held("with a late booking", 1)

	if err := s.system.DeleteReservation("r2"); err != nil {
		t.Fatal(err)
	}

	s.sync("full")
	s.wantWaiting("after it is gone", map[string]int{})
	held("after it is gone", 0)

	// A fee and the system change the stay.
	fee := s.Get("/recurring-fees").Want(200).String("data.0.id")
	s.Put("/recurring-fees/"+fee, object{"defaultRate": 30000}).Want(200)
	s.Outlast(nil)
	s.says(35000)
	s.sync("full")
	held("after two changes", 2)

	done := s.Post("/journals/catch-up", object{}).Want(200)
	if got := done.String("data.0.outcome") + " " + done.String("data.1.outcome"); got != "posted settled" || done.Int("remaining") != 0 {
		t.Errorf("the catch-up is %s", done.Body)
	}

	// Of 100.00 less and 10 % more commission of 350.00: 350.00 - 105.00 - 54.25 less 290.25.
	if got := amounts(done, "data.0.amounts"); !strings.Contains(got, "owners -9950 ") || !strings.Contains(got, "manager 1500 ") {
		t.Errorf("%q is posted", got)
	}

	s.Outlast(nil)
	held("in the end", 0)

	// Both have changed the rent: the system's word is refused in a published month, and nothing of it waits.
	s.Put("/statements/"+s.statement.String(), object{"status": "draft"}).Want(200)
	s.Outlast(nil)
	s.Put("/reservations/"+id, object{"lines": array{object{"type": "rent", "amount": 40000}, object{"type": "hostFee", "amount": -5425}}}).Want(200)
	s.says(30000)
	s.sync("full")
	s.Put("/statements/"+s.Statement(s.house, "2026-03").String(), object{"status": "published"}).Want(200)

	conflicts := s.Get("/sync-conflicts").Want(200)
	if conflicts.Len("data") == 0 {
		t.Error("the system and the person do not disagree")
	}

	for i := range conflicts.Len("data") {
		s.Post("/sync-conflicts/settle", object{"data": array{object{"id": conflicts.String(fmt.Sprintf("data.%d.id", i)), "take": "theirs"}}}).Want(200)
	}

	held("after a refused word", 0)
}
