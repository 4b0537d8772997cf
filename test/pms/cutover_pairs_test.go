package pms_test

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"strconv"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	sandbox "stayledger/provider/sandbox/pms"
)

// moving is a team with one house on the way from one system of our protocol to another, on July 1.
type moving struct {
	*scene

	to     *sandbox.Server
	at     string // address of the target
	target id.ID
	owner  id.ID
	// apart has the house be two listings until the cutover.
	apart bool
}

// newMoving returns a team with a house, and two systems that have it and nothing else yet. Nothing is connected.
func newMoving(t *testing.T, settings object) *moving {
	t.Helper()

	s := newScene(t)

	to, err := sandbox.New(sandbox.Config{Token: token, AccountID: "next"})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(to)

	t.Cleanup(func() {
		to.Close()
		server.Close()
	})

	m := &moving{scene: s, to: to, at: server.URL}
	m.owner = m.Contact("owner", "Ada")
	m.home = m.Listing("House 1", m.owner)
	m.system.SetListing(sandbox.Listing{ID: "S1", Name: "House 1", Currency: "usd"})
	m.to.SetListing(sandbox.Listing{ID: "T1", Name: "House 1", Currency: "usd"})

	if settings != nil {
		m.Put("/team", settings).Want(200)
		m.Outlast(nil)
	}

	return m
}

// stay returns a stay of a guest of its own for rent in whole dollars.
func stay(name, listing, in, out string, rent int) sandbox.Reservation {
	return sandbox.Reservation{
		ID: listing + name, ListingID: listing, Status: "booked", Code: "C-" + name, Channel: "airbnb", Guest: sandbox.Guest{Name: "Guest " + name},
		CheckIn: in, CheckOut: out, BookedAt: "2026-05-02", Currency: "usd", Lines: []sandbox.Line{{Type: "rent", Description: "Rent", Amount: strconv.Itoa(rent)}},
	}
}

// before puts a stay into the source, after into the target, both into both with the same days.
func (m *moving) before(name, in, out string, rent int) {
	m.system.SetReservation(stay(name, "S1", in, out, rent))
}

func (m *moving) after(name, in, out string, rent int) {
	m.to.SetReservation(stay(name, "T1", in, out, rent))
}

func (m *moving) both(name, in, out string, rent int) {
	m.before(name, in, out, rent)
	m.after(name, in, out, rent)
}

// begin connects both systems and reads them; the source is the accounting source from January on.
func (m *moving) begin() {
	m.T.Helper()
	m.connect()
	m.Put(m.path("/listing-mappings"), object{"data": array{}}).Want(200)
	m.sync("full")
	m.connectTarget()

	decisions := array{}

	if m.apart {
		found := m.Get("/connections/" + m.target.String() + "/listing-mappings").Want(200)
		decisions = array{object{"targetListingConnectionId": found.String("data.0.targetListingConnectionId"), "listingId": nil}}
	}

	m.Put("/connections/"+m.target.String()+"/listing-mappings", object{"data": decisions}).Want(200)
	m.syncTarget()
	m.start()
}

// connectTarget connects the target.
func (m *moving) connectTarget() {
	m.T.Helper()

	m.target = m.Post("/connections", object{
		"appId": "pmsProtocol", "name": "Next", "settings": object{"baseUrl": m.at}, "credentials": object{"token": token},
	}).Want(202).ID("resource.id")
	m.Outlast(nil)
}

// start makes the source the accounting source.
func (m *moving) start() {
	m.T.Helper()
	m.Put(m.path(""), object{"accountingStartAt": "2026-01-01"}).Want(200)
	m.Outlast(nil)
}

// syncTarget reads the target completely.
func (m *moving) syncTarget() {
	m.T.Helper()
	m.Post("/connections/"+m.target.String()+"/sync", object{"mode": "full"}).Want(202)
	m.Outlast(nil)
}

// ask returns the body of a cutover on July 1, with changes.
func (m *moving) ask(changes object) object {
	body := object{"sourceConnectionId": m.connection, "targetConnectionId": m.target, "cutoverAt": "2026-07-01"}
	maps.Copy(body, changes)

	return body
}

// apply does the cutover. What its preview said of the books is what they then show.
func (m *moving) apply() (preview, done *apitest.Response) {
	m.T.Helper()

	said := m.sums()
	preview = m.Post(previewPath, m.ask(nil)).Want(200)

	for i := range preview.Len("journalChanges") {
		at := fmt.Sprintf("journalChanges.%d.", i)
		said[preview.String(at+"accountCode")+" "+preview.String(at+"month")] += preview.Int(at+"after") - preview.Int(at+"before")
	}

	done = m.Post(applyPath, m.ask(nil)).Want(200)
	m.Outlast(nil)

	isZero := func(_ string, cents int64) bool { return cents == 0 }
	maps.DeleteFunc(said, isZero)

	if got := m.sums(); !maps.Equal(got, said) {
		m.T.Errorf("the preview said that the books are %v then, they are %v", said, got)
	}

	return preview, done
}

// sums returns the sums of accounts by month.
func (m *moving) sums() map[string]int64 {
	m.T.Helper()

	out := map[string]int64{}

	entries := m.Get("/reports/journal-entries?startDate=2025&endDate=2028&limit=250").Want(200)
	for i := range entries.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		out[entries.String(at+"account.code")+" "+entries.String(at + "txnAt")[:7]] += entries.Int(at + "centTotal")
	}

	maps.DeleteFunc(out, func(_ string, cents int64) bool { return cents == 0 })

	return out
}

// find returns the reservation of a connection with a code.
func (m *moving) find(connection id.ID, name string) *apitest.Response {
	m.T.Helper()

	found := m.Get("/reservations?connectionIds=" + connection.String() + "&search=C-" + name).Want(200)
	if found.Len("data") != 1 {
		m.T.Fatalf("%s: %s", name, found.Body)
	}

	return m.Get("/reservations/" + found.String("data.0.id")).Want(200)
}

// revenue returns the revenue in cents that the reservation of a connection has in the books.
func (m *moving) revenue(connection id.ID, name string) (sum int64) {
	m.T.Helper()

	entries := m.Get("/reports/journal-entries?accountClassifications=revenue&startDate=2025&endDate=2028&reservationIds=" + m.find(connection, name).String("id")).Want(200)
	for i := range entries.Len("data") {
		sum -= entries.Int(fmt.Sprintf("data.%d.centTotal", i))
	}

	return sum
}

// want holds a stay to the cents that it has at the source and at the target, to its status at the source and to the days
// that both have.
func (m *moving) want(name string, cents [2]int64, status, in, out string) {
	m.T.Helper()

	if got := [2]int64{m.revenue(m.connection, name), m.revenue(m.target, name)}; got != cents {
		m.T.Errorf("%s has %v, want %v", name, got, cents)
	}

	if got := m.find(m.connection, name); got.String("status") != status || got.String("checkIn") != in || got.String("checkOut") != out {
		m.T.Errorf("%s of the source is %s", name, got.Body)
	}
}

// deposit pays a stay of a connection, and returns the transaction.
func (m *moving) deposit(connection id.ID, name, date string, cents int) string {
	m.T.Helper()

	return m.Post("/transactions", object{
		"type": "deposit", "date": date, "lines": array{object{"assignment": "accountsReceivable", "amount": cents, "reservationId": m.find(connection, name).String("id")}},
	}).Want(201).String("id")
}

// wantPaid holds the line of a deposit and its entry to a stay of a connection.
func (m *moving) wantPaid(deposit string, connection id.ID, name string) {
	m.T.Helper()

	of := m.find(connection, name).String("id")
	if got := m.Get("/transactions/" + deposit).Want(200); got.String("lines.0.reservationId") != of {
		m.T.Errorf("the line of the deposit is %s, want one of %s", got.Body, of)
	}

	entries := m.Get("/reports/journal-entries?startDate=2025&endDate=2028&transactionIds=" + deposit + "&reservationIds=" + of).Want(200)
	if entries.Len("data") == 0 {
		m.T.Errorf("no entry of the deposit names %s", name)
	}
}

// One stay that the systems have on other days counts once, at the system that the target's days say, also when the target
// moves it later; deposits follow it.
//
// Proves: CUT-13, CUT-42, CUT-46, CUT-48.
func TestAStayThatTheSystemsHaveOnOtherDaysCountsOnce(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.before("later", "2026-06-28", "2026-07-01", 300)
	m.after("later", "2026-07-02", "2026-07-05", 300)
	m.before("earlier", "2026-07-03", "2026-07-06", 400)
	m.after("earlier", "2026-06-20", "2026-06-23", 400)
	m.both("same", "2026-07-10", "2026-07-12", 200)
	m.begin()

	later, earlier := m.deposit(m.connection, "later", "2026-06-01", 30_000), m.deposit(m.connection, "earlier", "2026-06-01", 40_000)

	preview, _ := m.apply()
	if preview.Len("reservationPairs") != 2 || preview.Int("impactedReservations.lockedCount") != 0 {
		t.Fatalf("the pairs are %s", preview.Body)
	}

	for i := range 2 {
		at := fmt.Sprintf("reservationPairs.%d.", i)

		want := map[string]string{
			"C-later":   "2026-06-28 2026-07-01 30000 2026-07-02 2026-07-05 30000 target",
			"C-earlier": "2026-07-03 2026-07-06 40000 2026-06-20 2026-06-23 40000 source",
		}[preview.String(at+"confirmationCode")]

		if got := fmt.Sprintf("%s %s %d %s %s %d %s",
			preview.String(at+"source.checkIn"), preview.String(at+"source.checkOut"), preview.Int(at+"source.total"),
			preview.String(at+"target.checkIn"), preview.String(at+"target.checkOut"), preview.Int(at+"target.total"), preview.String(at+"counts"),
		); got != want {
			t.Errorf("the pair is %s, want %s", got, want)
		}
	}

	m.want("later", [2]int64{0, 30_000}, "inactive", "2026-07-02", "2026-07-05")
	m.want("earlier", [2]int64{40_000, 0}, "booked", "2026-06-20", "2026-06-23")
	m.want("same", [2]int64{0, 20_000}, "inactive", "2026-07-10", "2026-07-12")
	m.wantPaid(later, m.target, "later")
	m.wantPaid(earlier, m.connection, "earlier")

	// Nothing of that is an edit of a person.
	m.syncTarget()
	m.sync("full")

	if got := m.Get("/sync-conflicts").Want(200); got.Len("data") != 0 {
		t.Errorf("the conflicts are %s", got.Body)
	}

	m.want("later", [2]int64{0, 30_000}, "inactive", "2026-07-02", "2026-07-05")
	m.want("earlier", [2]int64{40_000, 0}, "booked", "2026-06-20", "2026-06-23")

	// The target moves one across the day, and back.
	m.after("later", "2026-06-28", "2026-07-01", 300)
	m.syncTarget()
	m.want("later", [2]int64{30_000, 0}, "booked", "2026-06-28", "2026-07-01")
	m.wantPaid(later, m.connection, "later")

	m.after("later", "2026-07-15", "2026-07-18", 300)
	m.syncTarget()
	m.want("later", [2]int64{0, 30_000}, "inactive", "2026-07-15", "2026-07-18")
	m.wantPaid(later, m.target, "later")

	// So does a person here, who moves it by its posting date.
	m.Put("/reservations/"+m.find(m.target, "later").String("id"), object{"generalLedgerPostingAt": "2026-06-30"}).Want(200)
	m.Outlast(nil)
	m.want("later", [2]int64{30_000, 0}, "booked", "2026-07-15", "2026-07-18")

	m.Put("/reservations/"+m.find(m.target, "later").String("id"), object{"generalLedgerPostingAt": nil}).Want(200)
	m.Outlast(nil)

	// And the windows of the systems, and the settings of the team.
	m.Put("/connections/"+m.target.String(), object{"accountingStartAt": "2026-07-20"}).Want(200)
	m.Outlast(nil)
	m.Put(m.path(""), object{"accountingEndAt": "2026-07-20"}).Want(200)
	m.Outlast(nil)
	m.want("later", [2]int64{30_000, 0}, "booked", "2026-07-15", "2026-07-18")
	m.want("same", [2]int64{20_000, 0}, "booked", "2026-07-10", "2026-07-12")
}

// Pro rata, a stay over the day is that of the target as a whole.
func TestProRataAStayOverTheDayCountsOnce(t *testing.T) {
	t.Parallel()
	m := newMoving(t, object{"defaultRevenueRecognition": "proRata"})
	m.before("over", "2026-06-28", "2026-07-05", 700)
	m.after("over", "2026-06-29", "2026-07-06", 700)
	m.before("ends", "2026-06-20", "2026-06-30", 1100)
	m.after("ends", "2026-06-21", "2026-07-01", 1100)
	m.begin()
	m.apply()
	m.want("over", [2]int64{0, 70_000}, "inactive", "2026-06-29", "2026-07-06")
	m.want("ends", [2]int64{0, 110_000}, "inactive", "2026-06-21", "2026-07-01")
}

// What people have done to a stay of the source is done to that of the target: adjustments, edited fields, the posting date
// and userdata. Where the target says something else, that is a conflict.
func TestWhatPeopleHaveDoneGoesAlong(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.both("stay", "2026-07-03", "2026-07-06", 300)
	m.both("put", "2026-06-20", "2026-06-23", 100)
	m.both("away", "2026-07-07", "2026-07-09", 80)
	m.before("empty", "2026-07-20", "2026-07-22", 500)
	m.after("empty", "2026-07-20", "2026-07-22", 500)
	m.before("lost", "2026-07-25", "2026-07-26", 50)
	m.begin()

	one := "/reservations/" + m.find(m.connection, "stay").String("id")
	m.Post(one+"/adjustments", object{"description": "Refund", "amount": -5000, "accountId": m.Account("4000")}).Want(201)
	m.Put(one, object{
		"lines":     array{object{"type": "rent", "description": "Rent", "amount": 35_000}, object{"type": "cleaningFee", "amount": 2_000}},
		"guestName": "Guest Corrected", "bookerName": "The Booker", "userdata": object{"door": "4711"},
	}).Want(200)
	m.Put("/reservations/"+m.find(m.connection, "put").String("id"), object{"generalLedgerPostingAt": "2026-07-08"}).Want(200)

	// Somebody has made one of two inactive, since the stay was here twice.
	deposit := m.deposit(m.connection, "away", "2026-06-01", 8_000)
	m.Put("/reservations/"+m.find(m.connection, "away").String("id"), object{"status": "inactive"}).Want(200)

	// The old system was emptied before: its stays are inactive, but paid.
	deposits := []string{m.deposit(m.connection, "empty", "2026-06-01", 50_000), m.deposit(m.connection, "lost", "2026-06-01", 5_000)}

	for _, name := range []string{"empty", "lost"} {
		if err := m.system.DeleteReservation("S1" + name); err != nil {
			t.Fatal(err)
		}
	}

	m.sync("full")

	if got := m.find(m.connection, "empty"); got.String("status") != "inactive" {
		t.Fatalf("the emptied stay is %s", got.Body)
	}

	preview, _ := m.apply()
	if preview.Len("unmatchedReservations") != 1 || preview.String("unmatchedReservations.0.reservationId") != m.find(m.connection, "lost").String("id") {
		t.Errorf("unmatched are %s", preview.Body)
	}

	// 350.00 and 20.00, less 50.00.
	m.want("stay", [2]int64{0, 32_000}, "inactive", "2026-07-03", "2026-07-06")
	m.want("put", [2]int64{0, 10_000}, "inactive", "2026-06-20", "2026-06-23")
	m.want("away", [2]int64{0, 8_000}, "inactive", "2026-07-07", "2026-07-09")
	m.wantPaid(deposit, m.target, "away")
	m.wantPaid(deposits[0], m.target, "empty")

	if got := m.Get("/transactions/" + deposits[1]).Want(200); got.String("lines.0.reservationId") != "null" {
		t.Errorf("the deposit of a stay that is lost is %s", got.Body)
	}

	got := m.find(m.target, "stay")
	if got.String("guestName") != "Guest Corrected" || got.String("bookerName") != "The Booker" || got.String("userdata.door") != "4711" ||
		got.Int("financials.total") != 32_000 || got.Len("adjustments") != 1 || m.find(m.connection, "stay").Len("adjustments") != 0 {
		t.Errorf("the stay of the target is %s", got.Body)
	}

	if at := m.find(m.target, "put").String("generalLedgerPostingAt"); at != "2026-07-08" {
		t.Errorf("the posting date is %s", at)
	}

	// The target's own words are conflicts, and people can take them.
	conflicts := m.Get("/sync-conflicts?sort=at").Want(200)
	found := map[string]string{}

	for i := range conflicts.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		found[conflicts.String(at+"field")] = conflicts.String(at + "id")

		if conflicts.String(at+"entity.id") != got.String("id") {
			t.Errorf("a conflict of another stay: %s", conflicts.Body)
		}
	}

	if len(found) != 2 || found["guestName"] == "" || found["lines[rent|Rent].amount"] == "" {
		t.Fatalf("the conflicts are %s", conflicts.Body)
	}

	m.syncTarget()

	if again := m.Get("/sync-conflicts").Want(200); again.Len("data") != 2 {
		t.Errorf("after a sync the conflicts are %s", again.Body)
	}

	m.Post("/sync-conflicts/settle", object{"data": array{object{"id": found["lines[rent|Rent].amount"], "take": "theirs"}}}).Want(200)
	m.want("stay", [2]int64{0, 27_000}, "inactive", "2026-07-03", "2026-07-06")
}

// The entry of a deposit in closed books names the stay that its line names: which stay it is, is no money.
//
// Proves: CUT-35, CUT-46.
func TestDepositsInClosedBooksFollowTheirStay(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.both("stay", "2026-07-01", "2026-07-04", 300)
	m.begin()

	deposit := m.deposit(m.connection, "stay", "2026-06-20", 30_000)
	m.Post("/team/books-closing", object{"booksClosedAt": "2026-07-01", "reason": "Done"}).Want(201)
	m.apply()
	m.wantPaid(deposit, m.target, "stay")
	m.want("stay", [2]int64{0, 30_000}, "inactive", "2026-07-01", "2026-07-04")

	if got := m.find(m.target, "stay"); got.Int("financials.balance") != 0 {
		t.Errorf("the stay of the target is %s", got.Body)
	}
}

// A stay of the target that would come under a saved statement of the listing of the source blocks the cutover, whether the
// listing is shared already or not.
//
// Proves: CUT-36, CUT-38, CUT-39.
func TestStaysThatWouldComeUnderAStatementBlockACutover(t *testing.T) {
	t.Parallel()

	for _, apart := range []bool{true, false} {
		m := newMoving(t, nil)
		m.apart = apart
		m.before("old", "2026-06-10", "2026-06-12", 100)
		m.after("new", "2026-07-10", "2026-07-12", 200)
		m.begin()

		for _, month := range []string{"2026-06", "2026-07"} {
			m.Post("/statements", object{"month": month, "status": "published", "listingPeriodIds": array{m.home.Period}}).Want(201)
		}

		preview := m.Post(previewPath, m.ask(nil)).Want(200)
		locked := [2]int64{preview.Int("impactedReservations.lockedCount"), preview.Int("listingContinuity.lockedCount")}

		if want := map[bool][2]int64{true: {0, 1}, false: {1, 0}}[apart]; locked != want || preview.String("journalChanges") != "null" {
			t.Errorf("apart %t: %v are locked: %s", apart, locked, preview.Body)
		}

		if apart {
			m.Post(applyPath, m.ask(nil)).WantError("FORBIDDEN", "statementPeriod")
		} else {
			m.Post(applyPath, m.ask(nil)).WantError("CONFLICT", "reservationLocked")
		}
	}
}

// What was decided about the listings of a target that was never read is what its first sync does.
//
// Proves: CUT-28, CUT-30, CUT-43.
func TestAFirstSyncAfterACutoverFollowsItsDecisions(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.before("old", "2026-06-10", "2026-06-12", 100)
	m.after("new", "2026-07-10", "2026-07-12", 200)
	m.to.SetListing(sandbox.Listing{ID: "T2", Name: "New House", Currency: "usd"})
	m.connect()
	m.Put(m.path("/listing-mappings"), object{"data": array{}}).Want(200)
	m.sync("full")
	m.start()
	m.connectTarget()

	mappings := "/connections/" + m.target.String() + "/listing-mappings"
	house := m.Get(mappings).Want(200).String("data.0.targetListingConnectionId")
	m.Post(applyPath, m.ask(object{"listingMappings": array{object{"targetListingConnectionId": house, "sourceListingId": nil}}})).Want(200)
	m.Outlast(nil)

	after := m.Get(mappings).Want(200)

	for i := range 2 {
		at := fmt.Sprintf("data.%d.", i)
		if after.String(at+"isDecided") != "true" || after.String(at+"listingId") != "null" {
			t.Errorf("the mappings are %s", after.Body)
		}
	}

	m.syncTarget()

	if got := m.find(m.target, "new"); got.String("listingId") == m.home.ID.String() || m.revenue(m.target, "new") != 20_000 {
		t.Errorf("the stay of the target is %s", got.Body)
	}

	if got := m.Get("/listings?search=New+House").Want(200); got.Len("data") != 1 {
		t.Errorf("the new house is %s", got.Body)
	}
}

// What names the listing of the target names that of the source afterwards, as after a merge.
//
// Proves: CUT-24, CUT-44, CUT-45.
func TestWhatNamesAListingGoesAlong(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.apart = true
	m.before("old", "2026-06-10", "2026-06-12", 100)
	m.after("new", "2026-07-10", "2026-07-12", 200)
	m.begin()

	twin := m.find(m.target, "new").String("listingId")
	m.Post("/listings/ownership-periods", object{
		"listingId": twin, "startAt": "2026-01-01", "members": array{object{"contactId": m.owner, "split": 100_000}},
	}).Want(202)
	m.Outlast(nil)

	template := m.Post("/transactions/recurring-templates", object{
		"type": "expense", "date": "2027-01-01", "pattern": object{"frequency": "monthly"},
		"lines": array{object{"accountId": m.Account("5200"), "amount": 5000, "listingId": twin}},
	}).Want(201).String("id")
	rule := m.Post("/bank-rules", object{
		"name": "Rule", "priority": 1, "transactionType": "expense", "mode": "suggest",
		"conditions": array{object{"type": "description", "operator": "contains", "value": "x"}},
		"lines":      array{object{"splitMode": "remainder", "accountId": m.Account("5200"), "listingId": twin}},
	}).Want(201).String("id")
	m.Post("/general-ledger/journals", object{"date": "2026-07-02", "lines": array{
		object{"accountId": m.Account("1000"), "centTotal": 1_000}, object{"accountId": m.Account("5200"), "centTotal": -1_000, "listingId": twin},
	}}).Want(201)
	m.Put("/listings/"+twin, object{"uniqueRef": "twin"}).Want(200)

	m.apply()

	for _, path := range []string{"/transactions/recurring-templates/" + template, "/bank-rules/" + rule} {
		if got := m.Get(path).Want(200); got.String("lines.0.listingId") != m.home.ID.String() {
			t.Errorf("%s is %s", path, got.Body)
		}
	}

	if got := m.Get("/listings/" + twin).Want(200); got.String("status") != "inactive" {
		t.Errorf("the listing of the target is %s", got.Body)
	}

	if got := m.Get("/reports/journal-entries?startDate=2025&endDate=2028&listingIds=" + twin).Want(200); got.Len("data") != 0 {
		t.Errorf("on the listing of the target are %s", got.Body)
	}

	// Who still names it means the other one.
	late := m.Post("/reservations", object{"listingId": twin, "checkIn": "2026-07-20", "checkOut": "2026-07-22", "lines": array{object{"type": "rent", "amount": 100}}}).Want(201)
	if late.String("listingId") != m.home.ID.String() {
		t.Errorf("the stay booked by hand is %s", late.Body)
	}

	// One that is made active again is a listing of its own.
	m.Put("/listings/"+twin, object{"status": "active"}).Want(200)

	again := m.Post("/reservations", object{"listingId": twin, "checkIn": "2026-08-20", "checkOut": "2026-08-22", "lines": array{object{"type": "rent", "amount": 100}}}).Want(201)
	if again.String("listingId") != twin {
		t.Errorf("the stay on a listing that is active again is %s", again.Body)
	}

	// Other owners are refused, as by a merge.
	other := newMoving(t, nil)
	other.apart = true
	other.after("new", "2026-07-10", "2026-07-12", 200)
	other.begin()
	other.Post("/listings/ownership-periods", object{
		"listingId": other.find(other.target, "new").String("listingId"), "startAt": "2026-01-01",
		"members": array{object{"contactId": other.Contact("owner", "Bob"), "split": 100_000}},
	}).Want(202)
	other.Outlast(nil)

	for _, path := range []string{previewPath, applyPath} {
		if got := other.Post(path, other.ask(nil)).WantError("CONFLICT", ""); got.Len("context.conflictingPeriodIds") == 0 {
			t.Errorf("other owners are answered with %s", got.Body)
		}
	}
}

// After the cutover the source says nothing of the time from the day on, and what it drops of the time before is asked about.
func TestWhatTheFormerSystemDropsIsAsked(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.before("old", "2026-06-10", "2026-06-12", 100)
	m.before("other", "2026-06-20", "2026-06-22", 150)
	m.both("stay", "2026-07-10", "2026-07-12", 200)
	m.begin()
	m.apply()

	for _, name := range []string{"old", "stay"} {
		if err := m.system.DeleteReservation("S1" + name); err != nil {
			t.Fatal(err)
		}
	}

	m.before("late", "2026-07-20", "2026-07-22", 300)
	m.before("other", "2026-06-20", "2026-06-22", 160)

	for range 2 {
		if done := m.sync("full"); done.String("status") != "completed" {
			t.Fatalf("the sync is %s", done.Body)
		}

		if got := m.Get("/reservations?search=C-late").Want(200); got.Len("data") != 0 {
			t.Errorf("a stay of the former system is here: %s", got.Body)
		}

		if at, got := m.revenue(m.connection, "old"), m.find(m.connection, "old"); at != 10_000 || got.String("status") != "booked" {
			t.Errorf("what was dropped has %d: %s", at, got.Body)
		}

		if at := m.revenue(m.connection, "other"); at != 16_000 {
			t.Errorf("a stay of before the day has %d", at)
		}

		m.want("stay", [2]int64{0, 20_000}, "inactive", "2026-07-10", "2026-07-12")
	}

	conflicts := m.Get("/sync-conflicts").Want(200)
	if conflicts.Len("data") != 1 || conflicts.String("data.0.field") != "status" || conflicts.String("data.0.ours") != "booked" || conflicts.String("data.0.theirs") != "inactive" {
		t.Fatalf("the conflicts are %s", conflicts.Body)
	}

	m.Post("/sync-conflicts/settle", object{"data": array{object{"id": conflicts.String("data.0.id"), "take": "theirs"}}}).Want(200)

	if at, got := m.revenue(m.connection, "old"), m.find(m.connection, "old"); at != 0 || got.String("status") != "inactive" {
		t.Errorf("what was dropped has %d: %s", at, got.Body)
	}
}

// Cutovers that were done without a word.
//
// Proves: CUT-13, CUT-48, CUT-50.
func TestCutoversThatCannotBe(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)
	m.both("stay", "2026-06-10", "2026-06-12", 100)
	m.begin()

	compare := "/connections/pms-cutover/listing-mappings?sourceConnectionId=" + m.connection.String() + "&targetConnectionId="
	m.Get(compare+m.connection.String()).WantIssue("contradiction", "targetConnectionId")

	// Amounts are shown to those alone who may see the books.
	m.As([]string{"connections:read"}, nil).Post(previewPath, m.ask(nil)).WantError("FORBIDDEN", "")
	m.As([]string{"connections:write"}, nil).Post(applyPath, m.ask(nil)).WantError("FORBIDDEN", "")

	shared := m.Get(compare + m.target.String()).Want(200).String("targetListings.0.targetListingConnectionId")
	apart := object{"listingMappings": array{object{"targetListingConnectionId": shared, "sourceListingId": nil}}}

	for _, path := range []string{previewPath, applyPath} {
		m.Post(path, m.ask(apart)).WantIssue("contradiction", "listingMappings.0.sourceListingId")
	}

	// A window that had ended before the target was connected is not made longer.
	m.Exec(`update connection set accounting_end_at = '2026-06-01' where team_id = @team and id = @id`, db.Args{"id": m.connection})

	for _, path := range []string{previewPath, applyPath} {
		m.Post(path, m.ask(nil)).WantIssue("dateOrder", "cutoverAt")
	}
}

// Of two listings of the source with one name, that with the address of the target's is the same; without an address on one
// side none is.
//
// Proves: CUT-20, CUT-25.
func TestAddressesBreakTiesOfNames(t *testing.T) {
	t.Parallel()
	m := newMoving(t, nil)

	at := func(street string) *sandbox.Address {
		return &sandbox.Address{Street: street, City: "Mill", State: "OR", PostalCode: "97001", Country: "us"}
	}
	m.system.SetListing(sandbox.Listing{ID: "S2", Name: "Twin", Address: at("1 Hill Road"), Currency: "usd"})
	m.system.SetListing(sandbox.Listing{ID: "S3", Name: "Twin", Address: at("2 Hill Road"), Currency: "usd"})
	m.to.SetListing(sandbox.Listing{ID: "T2", Name: "TWIN ", Address: at("2  hill road"), Currency: "usd"})
	m.to.SetListing(sandbox.Listing{ID: "T3", Name: "Twin", Currency: "usd"})
	m.connect()
	m.Put(m.path("/listing-mappings"), object{"data": array{}}).Want(200)
	m.sync("full")
	m.connectTarget()

	compared := m.Get("/connections/pms-cutover/listing-mappings?sourceConnectionId=" + m.connection.String() + "&targetConnectionId=" + m.target.String()).Want(200)
	found := map[string]string{}

	for i := range compared.Len("targetListings") {
		at := fmt.Sprintf("targetListings.%d.", i)
		found[compared.String(at+"uniqueRef")] = compared.String(at + "status")

		if compared.String(at+"uniqueRef") == "T2" && compared.String(at+"suggestedListing.address.line1") != "2 Hill Road" {
			t.Errorf("the twin is suggested to be %s", compared.Body)
		}
	}

	if want := map[string]string{"T1": "matched", "T2": "matched", "T3": "ambiguous"}; !maps.Equal(found, want) {
		t.Errorf("the listings are %v, want %v", found, want)
	}
}
