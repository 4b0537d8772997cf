package pms_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
	sandbox "stayledger/provider/sandbox/pms"
	"stayledger/test/world"
)

// pair is a team that two systems bring stays of one listing to: the scene's, and a second one.
type pair struct {
	*scene

	second id.ID
	house  world.Listing
}

// newPair returns a team that is connected to the first system, which has a stay of 450.50 in January.
func newPair(t *testing.T) *pair {
	t.Helper()

	p := &pair{scene: newScene(t)}
	p.house = p.Listing("House 1", p.Contact("owner", "Ada"))
	p.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})
	p.system.SetReservation(booked("r1", "L1", "2026-01-10", "2026-01-13"))
	p.adopt()

	return p
}

// join connects the second system, which brings some stays of the same listing.
func (p *pair) join(stays ...sandbox.Reservation) {
	p.T.Helper()

	next, err := sandbox.New(sandbox.Config{Token: token})
	if err != nil {
		p.T.Fatal(err)
	}

	server := httptest.NewServer(next)

	p.T.Cleanup(func() {
		next.Close()
		server.Close()
	})

	next.SetListing(sandbox.Listing{ID: "N1", Name: "House 1", Currency: "usd"})

	for _, r := range stays {
		next.SetReservation(r)
	}

	p.second = p.Post("/connections", object{
		"appId": "pmsProtocol", "name": "Next", "settings": object{"baseUrl": server.URL}, "credentials": object{"token": token},
	}).Want(202).ID("resource.id")
	p.Outlast(nil)
	p.Put("/connections/"+p.second.String()+"/listing-mappings", object{"data": array{}}).Want(200)
	p.Post("/connections/"+p.second.String()+"/sync", object{"mode": "full"}).Want(202)
	p.Outlast(nil)
}

// change changes a connection and waits for what follows.
func (p *pair) change(connection id.ID, body object) {
	p.T.Helper()
	p.Put("/connections/"+connection.String(), body).Want(200)
	p.Outlast(nil)
}

// wantOwed compares what guests owe in the books.
func (p *pair) wantOwed(when string, want int64) {
	p.T.Helper()

	var sum int64

	entries := p.Get("/reports/journal-entries?limit=250&startDate=2025&endDate=2027&accountIds=" + p.Account("2000").String()).Want(200)
	for i := range entries.Len("data") {
		sum += entries.Int(fmt.Sprintf("data.%d.centTotal", i))
	}

	if sum != want {
		p.T.Errorf("%s: guests owe %d, want %d", when, sum, want)
	}
}

// of returns the id of the stay of a connection.
func (p *pair) of(connection id.ID) string {
	p.T.Helper()

	found := p.Get("/reservations?connectionIds=" + connection.String()).Want(200)
	if found.Len("data") != 1 {
		p.T.Fatalf("the stays of a connection are %s", found.Body)
	}

	return found.String("data.0.id")
}

// deposit books 100.00 for a confirmation code.
func (p *pair) deposit(code string) string {
	p.T.Helper()

	return p.Post("/transactions", object{
		"type": "deposit", "date": "2026-01-11",
		"lines": array{object{"assignment": "accountsReceivable", "amount": 10000, "matchReservationConfirmationCode": code}},
	}).Want(201).String("id")
}

// wantPaid compares the stay that a deposit is linked to; "null" for none.
func (p *pair) wantPaid(deposit, stay string) {
	p.T.Helper()

	if got := p.Get("/transactions/" + deposit).Want(200); got.String("lines.0.reservationId") != stay {
		p.T.Errorf("the deposit is %s, want the stay %s", got.Body, stay)
	}
}

// While the first system has an accounting start, the second one posts nothing: its stay of the same code is kept, and
// money that names the code is the first one's.
// Proves: CUT-13.
func TestASecondSystemIsOutsideTheBooks(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.change(p.connection, object{"accountingStartAt": "2026-01-01"})
	p.join(booked("r1", "N1", "2026-01-10", "2026-01-13"))

	p.wantOwed("with both systems", 45050)

	kept := p.Get("/reservations/" + p.of(p.second)).Want(200)
	kept.WantFields("", object{"generalLedgerStatus": "inactive", "generalLedgerInactiveReason": "outsideAccountingWindow", "status": "booked"})
	p.Get("/connections/"+p.second.String()).Want(200).WantFields("", object{"isOutsideBooks": true})
	p.Get("/connections/"+p.connection.String()).Want(200).WantFields("", object{"isOutsideBooks": false})
	p.wantPaid(p.deposit(" c-R1 "), p.of(p.connection))
	p.Publish("2026-01", p.house)

	// The first one cannot stop being the source while the second one has no dates.
	for _, body := range []object{{"status": "disabled"}, {"accountingStartAt": nil}} {
		p.Put("/connections/"+p.connection.String(), body).WantError(apierr.CodeBadRequest, "")
	}
}

// Two systems without dates bring one stay: it is in the books twice, which both stays and the statement say, and which
// keeps the statement from being published, until one of the systems is the accounting source.
// Proves: CUT-13, RSN-59.
func TestAStayThatTwoSystemsBring(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name   string
		change func(r *sandbox.Reservation)
		twice  bool
	}{
		{"the same code", func(*sandbox.Reservation) {}, true},
		{"the same code in other capitals, other nights", func(r *sandbox.Reservation) { r.Code, r.CheckIn = "c-R1", "2026-01-11" }, true},
		{"no code, the same nights and guest", func(r *sandbox.Reservation) { r.Code, r.Guest.Name = "", " ADA" }, true},
		{"no code, another guest", func(r *sandbox.Reservation) { r.Code, r.Guest.Name = "", "Bob" }, false},
		{"another code", func(r *sandbox.Reservation) { r.Code = "other" }, false},
		{"the same code a month later", func(r *sandbox.Reservation) { r.CheckIn, r.CheckOut = "2026-01-20", "2026-01-23" }, false},
		{"canceled at the second", func(r *sandbox.Reservation) { r.Status = "inactive" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			stay := booked("r1", "N1", "2026-01-10", "2026-01-13")
			c.change(&stay)
			p.join(stay)

			statement := "/statements/" + p.Statement(p.house, "2026-01").String()
			if !c.twice {
				if got := p.Get("/reservations/" + p.of(p.connection)).Want(200); got.Len("issues") != 0 {
					t.Errorf("the stay is %s", got.Body)
				}

				p.Publish("2026-01", p.house)

				return
			}

			p.wantOwed("twice", 90100)

			one, other := p.of(p.connection), p.of(p.second)
			for stay, twin := range map[string]string{one: other, other: one} {
				shown := p.Get("/reservations/" + stay).Want(200)
				shown.WantFields("issues.0", object{"code": "duplicateReservation", "severity": "error", "context.reservationIds.0": twin})
			}

			shown := p.Get(statement).Want(200)
			shown.WantFields("issues.0", object{"code": "duplicateReservation", "severity": "error"})

			if shown.Len("issues.0.context.reservationIds") != 2 || p.Get("/statements?month=2026-01").Want(200).Len("data.0.issues") != 1 {
				t.Errorf("the statement is %s", shown.Body)
			}

			p.Put(statement, object{"status": "published"}).WantError(apierr.CodeBadRequest, apierr.ReasonStatementHasBlockingIssues)

			// Money for the code could be of either.
			deposit := p.deposit("C-r1")
			if stay.Code != "" {
				p.wantPaid(deposit, "null")
			}

			p.change(p.connection, object{"accountingStartAt": "2026-01-01"})
			p.wantPaid(deposit, one)
			p.wantOwed("with a source", 45050-10000)
			p.Put(statement, object{"status": "published"}).Want(200)
		})
	}
}

// A stay that is kept out of the books by hand is no duplicate, and the other one gets the money.
func TestAPersonSettlesADuplicate(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.join(booked("r1", "N1", "2026-01-10", "2026-01-13"))

	deposit := p.deposit("C-r1")
	p.wantPaid(deposit, "null")
	p.Put("/reservations/"+p.of(p.second), object{"generalLedgerStatus": "inactive"}).Want(200)
	p.Outlast(nil)
	p.wantPaid(deposit, p.of(p.connection))
	p.Publish("2026-01", p.house)
}

// Money that was linked by a code when one system alone had the stay goes to the stay of the accounting source, once the
// other one is outside the books.
func TestMoneyFollowsTheStayInTheBooks(t *testing.T) {
	t.Parallel()
	p := newPair(t)

	deposit := p.deposit("C-r1")
	p.wantPaid(deposit, p.of(p.connection))
	p.join(booked("r1", "N1", "2026-01-10", "2026-01-13"))
	p.wantPaid(deposit, p.of(p.connection))

	// The second system becomes the source, and the first one is outside.
	p.change(p.second, object{"accountingStartAt": "2026-01-01"})
	p.wantPaid(deposit, p.of(p.second))
	p.wantOwed("with the second one as the source", 45050-10000)
	p.Get("/reservations/"+p.of(p.second)).Want(200).WantFields("financials", object{"paid": 10000})
	p.Get("/reservations/"+p.of(p.connection)).Want(200).WantFields("financials", object{"paid": 0})
	p.Publish("2026-01", p.house)
}

// What a connection without dates has posted stays when it is switched off or archived, and when another system becomes
// the source then; what it has not posted does not come in by that.
func TestConnectionsThatAreNotActiveKeepTheirPlace(t *testing.T) {
	t.Parallel()

	own := booked("own", "N1", "2026-01-20", "2026-01-23")

	for _, off := range []string{"disabled", "archived"} {
		t.Run(off, func(t *testing.T) {
			t.Parallel()

			turnOff := func(p *pair) {
				if off == "disabled" {
					p.change(p.second, object{"status": "disabled"})
					return
				}

				p.Delete("/connections/" + p.second.String() + "?outcome=archive").Want(202)
				p.Outlast(nil)
			}

			posted := newPair(t)
			posted.join(own)
			turnOff(posted)
			posted.change(posted.connection, object{"accountingStartAt": "2026-01-01"})
			posted.wantOwed("posted before", 90100)

			kept := newPair(t)
			kept.change(kept.connection, object{"accountingStartAt": "2026-01-01"})
			kept.join(own)
			turnOff(kept)
			kept.wantOwed("kept out before", 45050)

			// Nothing is kept from changing by it any more; its stays stay where they were.
			kept.change(kept.connection, object{"accountingStartAt": "2026-01-02"})
			kept.wantOwed("kept out for good", 45050)

			if off == "disabled" {
				// Switched on again, the rule decides as for any other.
				posted.change(posted.second, object{"status": "active"})
				posted.wantOwed("active again", 45050)
				kept.change(kept.connection, object{"accountingStartAt": nil})
				kept.change(kept.second, object{"status": "active"})
				kept.wantOwed("active without a source", 90100)
			}
		})
	}
}

// Dates of its own put the second system into the books from a day on, and without them it is outside again.
func TestDatesOfASecondSystem(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.change(p.connection, object{"accountingStartAt": "2026-01-01"})
	p.join(booked("own", "N1", "2026-01-20", "2026-01-23"))
	p.wantOwed("without dates", 45050)
	p.change(p.second, object{"accountingStartAt": "2026-01-15"})
	p.wantOwed("from January 15 on", 90100)
	p.change(p.second, object{"accountingStartAt": nil})
	p.wantOwed("without dates again", 45050)
}

// A stay that both systems have brought counts once when the first system is archived, and goes on to do so when the second one is
// read again: it is that of the first, which the second one follows.
func TestAStayOfTwoSystemsIsOneWhenTheFirstIsArchived(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	first := p.of(p.connection)
	p.join(booked("r1", "N1", "2026-01-10", "2026-01-13"))
	p.wantOwed("while both systems count", 2*45050)

	p.Delete(p.path("?outcome=archive")).Want(202)
	p.Outlast(nil)
	p.wantOwed("after the first is archived", 45050)

	p.connection = p.second
	p.completes("full")
	p.wantOwed("after the second is read again", 45050)

	if got := p.ids("C-r1"); len(got) != 1 || got[0] != first {
		t.Errorf("the stay was %s and is %v", first, got)
	}
}
