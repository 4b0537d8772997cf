package e2e_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"
)

// cutoverAt is the day on which the team of TestJourneyToAnotherSystem moves: January is closed by then, and the
// statements of January and February are published.
const cutoverAt = "2025-03-01"

// lighthouse is the listing that only the target has, and its stay there.
const lighthouse, lighthouseStay = 7, 121

// crossing is a team that moves from Hostaway to OwnerRez. The sandboxes generate the same stays, with the same codes, at
// listings with the same numbers.
type crossing struct {
	*rental

	to      *rental
	places  map[string]string // listings here by id, with their ids in both systems
	cottage string            // the listing here that is House 1
	// late are the numbers of the stays of each listing of the source from the day on.
	late [lighthouse - 1][]int
	lost int            // the stay that the target does not have
	paid map[int]int64  // cents of deposits by the number of the stay
	ids  map[string]int // numbers of stays by their ids here: of the source as they are, of the target negative
}

// A team moves from Hostaway to OwnerRez over HTTP: its listings are matched by name, shared already, decided by a person,
// or only at the target. What the preview says is what the reports then show, to the cent; statements before the day keep
// every byte; the books are those that a bookkeeper makes of the rows of the source before the day and of the target from
// it on, and hledger adds them up alike. A complete sync of both systems then changes nothing.
//
// Proves: CUT-08, CUT-11, CUT-13, CUT-18, CUT-22, CUT-26, CUT-28, CUT-29, CUT-34, CUT-42..CUT-49.
func TestJourneyToAnotherSystem(t *testing.T) {
	t.Parallel()

	c := startCrossing(t)
	c.step("statements of two months are published, one is closed")
	c.connectTarget()
	c.step("the target is read")
	c.payStays()

	statements, before := c.statements(), c.reports()
	preview := c.preview()

	if after := c.reports(); !after.equals(before) {
		t.Error("the preview changed the reports")
	}

	c.step("previewed")

	done := c.post("/connections/pms-cutover/apply", c.request(true)).want(200)
	if fmt.Sprint(done.at("applied"), done.at("impactedReservations"), done.at("listingContinuity")) !=
		fmt.Sprint(true, preview.at("impactedReservations"), preview.at("listingContinuity")) {
		t.Errorf("applied %s, the preview was %s", done.body, preview.body)
	}

	c.outlast()
	c.step("applied")

	after := c.reports()
	c.compareReports(preview, before, after)
	c.checkGuests(after)

	if !bytes.Equal(c.statements(), statements) {
		t.Error("statements before the day have changed")
	}

	// No gap and no double posting.
	entries, want := c.entries(), c.byHandOfBoth()
	c.compareBooks("after the cutover", c.places, entries, want)
	c.checkWithHledger(entries, want)
	c.step("compared with hledger")

	// Both systems are read again, and nothing is new.
	c.sync("full")
	c.to.sync("full")

	// But stays of the target in the closed month, which are here now and never post.
	again := c.reports()
	known := bytes.Count(again.stays, []byte("\n"))

	for row := range bytes.SplitSeq(after.stays, []byte("\n")) {
		if !bytes.Contains(again.stays, row) {
			t.Errorf("a complete sync of both systems changed a stay: %s", row)
		}
	}

	if after.stays = again.stays; !again.equals(after) || !bytes.Equal(c.statements(), statements) {
		t.Error("a complete sync of both systems changed the reports")
	}

	c.to.sync("full")

	if got := bytes.Count(c.reports().stays, []byte("\n")); got != known || !c.reports().equals(again) {
		t.Errorf("one more changed the reports, of %d stays", got)
	}

	c.publish("2025-03", want)
	c.step("both systems are read again, and the next month is published")
}

// startCrossing returns a team with a first system that is read, published statements and a closed month.
func startCrossing(t *testing.T) *crossing {
	t.Helper()

	c := &crossing{rental: newRental(t, &hostawaySystem, rentalSize{listings: lighthouse - 1, stays: lighthouseStay - 1, owned: 3}), paid: map[int]int64{}, ids: map[string]int{}}
	c.step("team")
	c.post("/reservations/line-mappings", object{"lineType": "difference", "accountId": c.accounts["4020"], "party": "owners"}).want(201)
	c.isExplained = true
	c.connect()
	c.sync("full")

	_, want := c.checkBooks("after the first sync")
	c.put(c.connection, object{"accountingStartAt": "2025-01-01"}).want(200)
	c.outlast()
	c.publish("2025-01", want)
	c.publish("2025-02", want)
	c.post("/team/books-closing", object{"booksClosedAt": "2025-02-01", "reason": "January is done"}).want(201)

	c.places = c.refs()
	c.cottage = c.get("/listings?search=Shore%20Cottage").want(200).text("data.0.id")

	for n := 1; n <= c.stays; n++ {
		if s, _ := c.system.read(c.row(n)); s.day >= cutoverAt {
			at := (n - 1) % c.listings
			c.late[at] = append(c.late[at], n)
		}
	}

	return c
}

// connectTarget changes what the target has, connects the team to it, and reads it.
func (c *crossing) connectTarget() {
	c.t.Helper()

	to := *c.rental
	to.system, to.stays = &ownerrezSystem, lighthouseStay
	c.to = &to

	c.changeTarget()

	a := c.post("/connections", object{
		"appId": to.system.app, "name": "Next", "settings": object{"baseUrl": c.control.base + to.system.base}, "credentials": to.system.credentials,
	})
	c.done(a)
	to.connection = "/connections/" + a.text("resource.id")

	// Only House 3 is said to be the same listing; all others are new ones until the cutover.
	decisions := []any{}

	for _, m := range c.get(to.connection + "/listing-mappings").want(200).list("data") {
		decision := object{"targetListingConnectionId": m["targetListingConnectionId"], "listingId": nil}
		if m["uniqueRef"] == to.system.listing(3) {
			decision["listingId"] = c.here(3)
		}

		decisions = append(decisions, decision)
	}

	c.put(to.connection+"/listing-mappings", object{"data": decisions}).want(200)
	to.sync("full")

	// The stays of both systems, by their ids here. Those of the target in the closed month are not taken in.
	for sign, of := range map[int]*rental{1: c.rental, -1: c.to} {
		for n := 1; n <= of.stays; n++ {
			row := of.row(n)
			if row == nil {
				continue
			}

			if s, _ := of.system.read(row); of == c.rental || s.day >= cutoverAt {
				c.ids[c.stayHere(of, n)] = sign * n
			}
		}
	}
}

// changeTarget has the target write a name otherwise and have an address otherwise, cost more for a stay, lack one, and
// have a listing with a stay that the source has not.
func (c *crossing) changeTarget() {
	c.t.Helper()

	property := func(n int, name, street string) {
		c.control.put(c.to.system.path+"/control/properties/"+c.to.system.listing(n), object{
			"key": fmt.Sprint("house-", n), "name": name, "active": true, "currency_code": "USD",
			"address": object{"street1": street, "city": "Harborview", "state": "ME", "postal_code": "04101", "country": "US"},
		}).want(204)
	}
	property(2, "HOUSE  2", "2 Shore Road")
	property(4, "House 4", "44 Hill Road")
	property(lighthouse, "Lighthouse", "7 Shore Road")

	dearer, lost := c.late[1][0], c.late[1][1]
	c.lost = lost
	c.control.call(http.MethodPatch, c.to.rowPath(dearer), c.to.system.dearer(c.to.row(dearer))).want(204)
	c.control.call(http.MethodDelete, c.to.rowPath(lost), nil).want(204)

	stay := c.to.row(c.late[0][0])
	maps.Copy(stay, object{"property_id": 40_000 + lighthouse, "platform_reservation_number": "HMLIGHT"})
	c.control.put(c.to.rowPath(lighthouseStay), stay).want(204)
}

// here returns the id of the listing here that a listing of the source is.
func (c *crossing) here(n int) string {
	c.t.Helper()

	for here, ref := range c.places {
		if ref == c.system.listing(n) {
			return here
		}
	}

	c.t.Fatalf("no listing is House %d", n)

	return ""
}

// stayHere returns the id here of a stay of a system.
func (c *crossing) stayHere(of *rental, n int) string {
	c.t.Helper()

	path := "/reservations?connectionIds=" + of.connection[len("/connections/"):] + "&search=" + fmt.Sprint(of.row(n)[of.system.code])

	found := c.get(path).want(200).list("data")
	if len(found) != 1 {
		c.t.Fatalf("%s finds %v for %v", path, found, of.row(n))
	}

	return fmt.Sprint(found[0]["id"])
}

// payStays adds deposits: for one stay of each listing that the target has too, for the one that it lacks, and for one
// before the day.
func (c *crossing) payStays() {
	c.t.Helper()

	paid := []int{1, c.lost}
	for _, late := range c.late {
		paid = append(paid, late[0])
	}

	for i, n := range paid {
		c.paid[n] = int64(10_000 + 1_001*i)
		c.post("/transactions", object{"type": "deposit", "date": "2025-03-02", "lines": []any{
			object{"assignment": "accountsReceivable", "amount": c.paid[n], "reservationId": c.stayHere(c.rental, n)},
		}}).want(201)
	}
}

// request returns the body of the cutover, with the decisions of a person.
func (c *crossing) request(isDecided bool) object {
	c.t.Helper()

	source, target := c.connection[len("/connections/"):], c.to.connection[len("/connections/"):]
	body := object{"sourceConnectionId": source, "targetConnectionId": target, "cutoverAt": cutoverAt}

	if !isDecided {
		return body
	}

	decisions := []any{}

	for _, m := range c.get("/connections/pms-cutover/listing-mappings?sourceConnectionId=" + source + "&targetConnectionId=" + target).want(200).list("targetListings") {
		for n, listing := range map[int]string{1: c.cottage, 4: c.here(4)} {
			if m["uniqueRef"] == c.to.system.listing(n) {
				decisions = append(decisions, object{"targetListingConnectionId": m["targetListingConnectionId"], "sourceListingId": listing})
			}
		}
	}

	body["listingMappings"] = decisions

	return body
}

// preview sees what the cutover would do, at first without the decisions of a person, which keeps it from being applied.
func (c *crossing) preview() *answer {
	c.t.Helper()

	const path = "/connections/pms-cutover/preview"

	counts := func(a *answer) string {
		return fmt.Sprintf("%v %v %v %v", a.at("listingContinuity.alreadySharedCount"), a.at("listingContinuity.matchedCount"),
			a.at("listingContinuity.ambiguousCount"), a.at("listingContinuity.unmappedCount"))
	}

	if open := c.post(path, c.request(false)).want(200); counts(open) != "1 3 1 2" {
		c.t.Errorf("undecided: %s", open.body)
	}

	if refused := c.post("/connections/pms-cutover/apply", c.request(false)).want(409); refused.text("reason") != "listingMappingAmbiguous" {
		c.t.Errorf("undecided it is refused with %s", refused.body)
	}

	out := c.post(path, c.request(true)).want(200)
	if unmatched := out.list("unmatchedReservations"); counts(out) != "1 5 0 1" || len(unmatched) != 1 ||
		c.ids[fmt.Sprint(unmatched[0]["reservationId"])] != c.lost {
		c.t.Errorf("decided: %s", out.body)
	}

	return out
}

// standing is what reports say.
type standing struct {
	accounts map[string]int64 // sums of the ledger by the id of the account and the month
	guests   map[string]int64 // guest balances by the id of the reservation, empty for none
	// guestTotal, taxes and liability are the money of guests, of taxes and of all creditors of the trust.
	guestTotal, taxes, liability int64
	entries                      []byte // the export of journal entries
	stays                        []byte // and of reservations
}

// equals returns true for the same reports, to the byte of their exports.
func (s *standing) equals(o *standing) bool {
	return maps.Equal(s.accounts, o.accounts) && maps.Equal(s.guests, o.guests) && s.guestTotal == o.guestTotal && s.taxes == o.taxes &&
		s.liability == o.liability && bytes.Equal(s.entries, o.entries) && bytes.Equal(s.stays, o.stays)
}

// reports reads the reports.
func (c *crossing) reports() *standing {
	c.t.Helper()

	s := &standing{accounts: map[string]int64{}, guests: map[string]int64{}}
	for _, e := range c.entries() {
		addTo(s.accounts, c.accounts[e.account]+" "+e.day[:len("2025-01")], centsIn(e.amount))
	}

	for page := 1; ; page++ {
		a := c.get(fmt.Sprintf("/reports/guest-balances?date=2030-12-31&includeSettled=true&limit=250&page=%d", page)).want(200)
		s.guestTotal = whole(a.at("total"))

		for _, group := range a.list("data") {
			for _, listing := range members(group["listings"]) {
				for _, stay := range members(listing["reservations"]) {
					id, _ := stay["id"].(string)
					addTo(s.guests, id, whole(stay["total"]))
				}
			}
		}

		if a.at("pagination.nextPage") == nil {
			break
		}
	}

	trust := c.get("/reports/trust-reconciliation?date=2030-12-31").want(200)
	s.liability = whole(trust.at("liabilities.centTotal"))

	for _, row := range trust.list("liabilities.rows") {
		if row["claim"] == "taxes" {
			s.taxes = whole(row["centTotal"])
		}
	}

	if trust.text("difference.bookToLiabilities") != "0" {
		c.t.Errorf("the trust does not balance: %s", trust.body)
	}

	s.entries, s.stays = c.export("/reports/journal-entries/csv", object{}), c.export("/reservations/csv", object{})

	return s
}

// addTo adds cents to a sum; sums of zero are left out.
func addTo(sums map[string]int64, key string, cents int64) {
	if sums[key] += cents; sums[key] == 0 {
		delete(sums, key)
	}
}

// whole returns a number of an answer.
func whole(v any) int64 {
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if err != nil {
		panic(err)
	}

	return n
}

// compareReports holds what the reports differ by to what the preview has said.
func (c *crossing) compareReports(preview *answer, before, after *standing) {
	c.t.Helper()

	said := &standing{accounts: maps.Clone(before.accounts), guests: maps.Clone(before.guests), guestTotal: before.guestTotal, taxes: before.taxes}

	for _, change := range preview.list("journalChanges") {
		account, differs := fmt.Sprint(change["accountId"]), whole(change["after"])-whole(change["before"])
		addTo(said.accounts, account+" "+fmt.Sprint(change["month"]), differs)

		switch account {
		case c.accounts["2000"]:
			said.guestTotal -= differs

			for _, stay := range members(change["reservations"]) {
				id, _ := stay["reservationId"].(string)
				addTo(said.guests, id, whole(stay["before"])-whole(stay["after"]))
			}
		case c.accounts["2100"], c.accounts["2110"]:
			said.taxes -= differs
		}
	}

	if maps.Equal(said.accounts, before.accounts) || !maps.Equal(said.accounts, after.accounts) {
		c.t.Errorf("the accounts were %v, the preview said %v, they are %v", before.accounts, said.accounts, after.accounts)
	}

	if maps.Equal(said.guests, before.guests) || !maps.Equal(said.guests, after.guests) {
		c.t.Errorf("guests had %v, the preview said %v, they have %v", before.guests, said.guests, after.guests)
	}

	if said.guestTotal != after.guestTotal || said.taxes != after.taxes || before.liability != after.liability {
		c.t.Errorf("the trust owed %d, guests %d and taxes %d by the preview, and owes %d, %d and %d", before.liability, said.guestTotal, said.taxes,
			after.liability, after.guestTotal, after.taxes)
	}
}

// checkGuests holds the balance of each guest to the rows of the systems and the deposits: a stay from the day on has
// that of its pair, one before it its own, and the deposit of the stay without a pair is for no stay.
func (c *crossing) checkGuests(after *standing) {
	c.t.Helper()

	want := map[string]int64{"": c.paid[c.lost]}

	for id, n := range c.ids {
		of := c.rental
		if n < 0 {
			of = c.to
		}

		number := max(n, -n)

		s, _ := of.system.read(of.row(number))
		if late := s.day >= cutoverAt; late == (n < 0) {
			addTo(want, id, c.paid[number]-s.total)
		}
	}

	for _, id := range slices.Sorted(maps.Keys(after.guests)) {
		if after.guests[id] != want[id] {
			c.t.Errorf("guest %d has %d, want %d", c.ids[id], after.guests[id], want[id])
		}
	}

	if len(want) != len(after.guests) {
		c.t.Errorf("%d guests have a balance, want %d", len(after.guests), len(want))
	}
}

// statements exports the published statements, and their lines, of the months before the day.
func (c *crossing) statements() (out []byte) {
	c.t.Helper()

	for _, month := range []string{"2025-01", "2025-02"} {
		for _, path := range []string{"/statements/csv", "/statements/detail/csv"} {
			file := c.export(path, object{"month": month, "status": "published"})
			if bytes.Count(file, []byte("\n")) <= c.owned {
				c.t.Errorf("%s of %s is %s", path, month, file)
			}

			out = append(out, file...)
		}
	}

	return out
}

// byHandOfBoth posts the rows of the source before the day, those of the target from it on, and the deposits.
func (c *crossing) byHandOfBoth() book {
	c.t.Helper()

	out := book{}
	c.addByHand(out, func(day string) bool { return day < cutoverAt })
	c.to.addByHand(out, func(day string) bool { return day >= cutoverAt })

	for n, cents := range c.paid {
		s, _ := c.system.read(c.row(n))
		out.add(place{s.listing, "2000", cutoverAt[:len("2025-03")]}, -cents)
		out.add(place{"", "1000", cutoverAt[:len("2025-03")]}, cents) // the bank has no listing
	}

	for here, ref := range c.to.refs() {
		if c.places[here] == "" && ref == c.to.system.listing(lighthouse) {
			c.places[here] = ref
		}
	}

	return out
}
