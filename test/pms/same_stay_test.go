package pms_test

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	sandbox "stayledger/provider/sandbox/pms"
)

// house connects a team with one listing, House 1 of an owner, to a system that has it as L1.
func house(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	s.home = s.Listing("House 1", s.Contact("owner", "Ada"))
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})

	return s
}

// start connects the team and reads the system for the first time.
func (s *scene) start() {
	s.T.Helper()
	s.connect()
	s.Put(s.path("/listing-mappings"), object{"data": array{}}).Want(200)
	s.completes("full")
}

// completes reads the system and fails unless every record was taken in.
func (s *scene) completes(mode string) {
	s.T.Helper()

	if got := s.sync(mode); got.String("status") != "completed" || got.Has("counts.reservation.failed") {
		s.T.Errorf("the sync is %s", got.Body)
	}
}

// addStay adds a stay by hand, with changes.
func (s *scene) addStay(code, checkIn, checkOut string, lines array, changes ...object) string {
	s.T.Helper()

	body := object{"listingId": s.home.ID, "checkIn": checkIn, "checkOut": checkOut, "lines": lines, "guestName": "Ada"}
	if code != "" {
		body["confirmationCode"] = code
	}

	for _, c := range changes {
		maps.Copy(body, c)
	}

	return s.Post("/reservations", body).Want(201).String("id")
}

// says sets a stay at the system.
func (s *scene) says(id, code, checkIn, checkOut string, lines ...sandbox.Line) {
	s.system.SetReservation(sandbox.Reservation{
		ID: id, ListingID: "L1", Status: "booked", Code: code, Channel: "airbnb", Guest: sandbox.Guest{Name: "Ada"},
		CheckIn: checkIn, CheckOut: checkOut, Currency: "usd", Lines: lines,
	})
}

// counting returns the stays that are not inactive.
func (s *scene) counting() int {
	s.T.Helper()

	return int(s.Get("/reservations?limit=1&status=booked").Want(200).Int("pagination.total") +
		s.Get("/reservations?limit=1&status=canceled").Want(200).Int("pagination.total"))
}

// conflicts returns the open conflicts about a stay as field ours/theirs.
func (s *scene) conflicts(stay string) string {
	s.T.Helper()

	var page struct {
		Data []struct {
			Field        string
			Ours, Theirs any
		}
	}

	s.Get("/sync-conflicts?sort=at&entityId=" + stay).Want(200).Into(&page)

	var out []string
	for _, c := range page.Data {
		out = append(out, fmt.Sprintf("%s %v/%v", c.Field, c.Ours, c.Theirs))
	}

	return strings.Join(out, ", ")
}

// read returns a reservation.
func (s *scene) read(stay string) *apitest.Response { return s.Get("/reservations/" + stay).Want(200) }

// balance returns the balance of an account of the books, credits negative.
func (s *scene) balance(code string) int64 {
	s.T.Helper()

	var sum int64

	s.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		sum, err = db.Get[int64](ctx, tx, `select coalesce(sum(cent_total), 0)::bigint from ledger_entry where team_id = @team and account_id = @account`,
			db.Args{"team": tx.Team, "account": s.Account(code)})

		return err
	})

	return sum
}

func rent(cents int) object { return object{"type": "rent", "amount": cents} }

// A stay that was entered by hand is the system's when the system has it: it is there once, its lines are not doubled, and
// what differs is asked.
func TestAStayThatIsHereIsTakenOver(t *testing.T) {
	t.Parallel()
	s := house(t)

	type stay struct {
		what      string
		id        string
		total     int64
		conflicts string
	}

	var stays []stay

	add := func(what, id string, total int64, conflicts string) {
		stays = append(stays, stay{what, id, total, conflicts})
	}

	add("other words", s.addStay("H1", "2026-11-01", "2026-11-04", array{rent(30_000)}), 30_000, "")
	s.says("1", "H1", "2026-11-01", "2026-11-04", sandbox.Line{Type: "rent", Description: "Rent", Amount: "300.00"})

	add("another amount", s.addStay("H2", "2026-11-05", "2026-11-08", array{rent(35_000)}), 35_000, "lines[rent|Rent].amount 35000/30000")
	s.says("2", "H2", "2026-11-05", "2026-11-08", sandbox.Line{Type: "rent", Description: "Rent", Amount: "300.00"})

	add("several lines of a type, tax and discount", s.addStay("H3", "2026-11-10", "2026-11-13", array{
		rent(30_000),
		object{"type": "tax", "amount": 2_000, "description": "City"},
		object{"type": "tax", "amount": 3_000},
		object{"type": "discount", "amount": -1_000},
		object{"type": "petFee", "amount": 500},
	}), 34_500, "")
	s.says("3", "H3", "2026-11-10", "2026-11-13", sandbox.Line{Type: "discount", Description: "Early bird", Amount: "-10.00"},
		sandbox.Line{Type: "tax", Description: "State tax", Amount: "30.00"}, sandbox.Line{Type: "tax", Description: "Local tax", Amount: "20.00"},
		sandbox.Line{Type: "rent", Description: "3 nights", Amount: "300.00"})

	add("letters of the code", s.addStay("hmabc1 ", "2026-11-14", "2026-11-16", array{rent(10_000)}), 10_000, "")
	s.says("4", "HMABC1", "2026-11-14", "2026-11-16", sandbox.Line{Type: "rent", Amount: "100.00"})

	add("no code at the system", s.addStay("", "2026-11-17", "2026-11-19", array{rent(10_000)}, object{"guestName": " ADA "}), 10_000, "")
	s.says("5", "", "2026-11-17", "2026-11-19", sandbox.Line{Type: "rent", Amount: "100.00"})

	add("no code here", s.addStay("", "2026-11-20", "2026-11-22", array{rent(10_000)}), 10_000, "")
	s.says("6", "H6", "2026-11-20", "2026-11-22", sandbox.Line{Type: "rent", Amount: "100.00"})

	add("canceled here and booked again", s.addStay("H7", "2026-11-23", "2026-11-25", array{rent(10_000)}, object{"status": "canceled"}), 0, "status canceled/booked")
	s.says("7", "H7", "2026-11-23", "2026-11-25", sandbox.Line{Type: "rent", Description: "Rent", Amount: "100.00"})

	batch := s.Post("/reservations/batch", object{"data": array{object{
		"listingId": s.home.ID, "confirmationCode": "H8", "checkIn": "2026-11-26", "checkOut": "2026-11-28", "lines": array{rent(10_000)},
	}}}).Want(200)
	add("by batch", batch.String("data.0.id"), 10_000, "")
	s.says("8", "H8", "2026-11-26", "2026-11-28", sandbox.Line{Type: "rent", Description: "Rent", Amount: "100.00"})

	s.start()

	for range 2 {
		for _, c := range stays {
			got := s.read(c.id)
			if got.Int("financials.total") != c.total || s.conflicts(c.id) != c.conflicts || got.String("connectionId") != s.connection.String() {
				t.Errorf("%s: conflicts %q, %s", c.what, s.conflicts(c.id), got.Body)
			}
		}

		if n := s.counting(); n != len(stays) {
			t.Errorf("%d stays count, want %d", n, len(stays))
		}

		s.completes("full")
	}
}

// A line that is edited here and reworded there is one line, before the conflict is settled and after it.
func TestALineThatIsEditedHereAndRewordedThereIsOne(t *testing.T) {
	t.Parallel()

	for take, want := range map[string]int64{"ours": 40_000, "theirs": 60_000} {
		s := house(t)
		s.says("1", "H1", "2026-11-01", "2026-11-04", sandbox.Line{Type: "rent", Description: "3 nights", Amount: "450.00"})
		s.start()

		stay := s.stay("H1").String("id")
		s.Put("/reservations/"+stay, object{"lines": array{object{"type": "rent", "description": "3 nights", "amount": 40_000}}}).Want(200)
		s.says("1", "H1", "2026-11-01", "2026-11-05", sandbox.Line{Type: "rent", Description: "4 nights", Amount: "600.00"})
		s.sync("incremental")

		if got := s.conflicts(stay); got != "lines[rent|4 nights].amount 40000/60000" || s.read(stay).Int("financials.total") != 40_000 {
			t.Errorf("%s: %q, %s", take, got, s.read(stay).Body)
		}

		// The conflict stays one when the source rewords again.
		s.says("1", "H1", "2026-11-01", "2026-11-05", sandbox.Line{Type: "rent", Description: "Four nights", Amount: "600.00"})
		s.sync("full")

		found := s.Get("/sync-conflicts").Want(200)
		if got := s.conflicts(stay); got != "lines[rent|Four nights].amount 40000/60000" {
			t.Errorf("%s: %q", take, got)
		}

		if got := s.settle(found.String("data.0.id"), take).Want(200); got.Len("issues") != 0 {
			t.Errorf("%s: %s", take, got.Body)
		}

		s.completes("full")

		if got := s.read(stay); got.Int("financials.total") != want || got.Len("lines") != 1 || s.conflicts(stay) != "" {
			t.Errorf("%s: %s", take, got.Body)
		}
	}
}

// The days of a stay are one field: two hands that move one day each make no stay of their own.
func TestDaysOfAStayAreOneField(t *testing.T) {
	t.Parallel()
	s := house(t)
	s.says("1", "H1", "2026-05-02", "2026-05-08", sandbox.Line{Type: "rent", Amount: "450.00"})
	s.start()

	stay := s.stay("H1").String("id")
	s.Put("/reservations/"+stay, object{"checkIn": "2026-05-01"}).Want(200)
	s.says("1", "H1", "2026-05-02", "2026-05-13", sandbox.Line{Type: "rent", Amount: "450.00"})
	s.sync("incremental")

	want := "checkIn,checkOut map[checkIn:2026-05-01 checkOut:2026-05-08]/map[checkIn:2026-05-02 checkOut:2026-05-13]"
	if got := s.conflicts(stay); got != want {
		t.Errorf("the conflicts are %q, want %q", got, want)
	}

	s.settle(s.Get("/sync-conflicts").Want(200).String("data.0.id"), "theirs").Want(200)

	if got := s.read(stay); got.String("checkIn") != "2026-05-02" || got.String("checkOut") != "2026-05-13" {
		t.Errorf("the stay is %s", got.Body)
	}
}

// An account that is archived and connected again has the same records, with a code and without, and two of one code.
func TestAnAccountThatIsConnectedAgainHasTheSameStays(t *testing.T) {
	t.Parallel()
	s := house(t)
	s.says("1", "", "2026-11-01", "2026-11-04", sandbox.Line{Type: "rent", Amount: "300.00"})
	s.says("2", "H2", "2026-11-05", "2026-11-08", sandbox.Line{Type: "rent", Amount: "300.00"})
	s.says("3", "H2", "2026-11-09", "2026-11-12", sandbox.Line{Type: "rent", Amount: "300.00"})
	s.start()
	s.Put(s.path(""), object{"accountingStartAt": "2026-01-01"}).Want(200)
	s.Outlast(nil)

	edited := s.Get("/reservations?search=H2&sort=checkIn").Want(200).String("data.0.id")
	s.Put("/reservations/"+edited, object{"guestName": "Our Ada"}).Want(200)

	// A conflict that is open when the connection is archived is open again.
	s.says("2", "H2", "2026-11-05", "2026-11-08", sandbox.Line{Type: "rent", Amount: "300.00"})
	s.change("2", func(r *sandbox.Reservation) { r.Guest.Name = "Their Ada" })
	s.sync("incremental")

	before := s.balance("4000")
	s.Delete(s.path("?outcome=archive")).Want(202)
	s.Outlast(nil)
	s.connect()

	// What its listings are is known, and so is the accounting window.
	if got := s.Get(s.path("")).Want(200); got.String("accountingStartAt") != "2026-01-01" {
		t.Errorf("the connection is %s", got.Body)
	}

	s.says("2", "H2", "2026-11-05", "2026-11-08", sandbox.Line{Type: "rent", Description: "Rent", Amount: "350.00"})
	s.change("2", func(r *sandbox.Reservation) { r.Guest.Name = "Their Ada" })
	s.completes("full")
	s.completes("incremental")

	if n := s.counting(); n != 3 || s.conflicts(edited) != "guestName Our Ada/Their Ada" {
		t.Errorf("%d stays count, with the conflicts %q", n, s.conflicts(edited))
	}

	if got := s.read(edited); got.String("guestName") != "Our Ada" || got.Int("financials.total") != 35_000 || got.String("connectionId") != s.connection.String() {
		t.Errorf("the stay is %s", got.Body)
	}

	if got := s.balance("4000"); got != before-5_000 {
		t.Errorf("rent is %d, before %d", got, before)
	}
}

// Within one account ids decide: a stay that is canceled and booked anew under its code, and a second room, are stays of
// their own, on one page or on several.
func TestStaysOfOneCodeInOneAccountAreSeveral(t *testing.T) {
	t.Parallel()
	s := house(t)
	s.says("1", "H1", "2026-11-01", "2026-11-04", sandbox.Line{Type: "rent", Amount: "300.00"})
	s.start()
	s.change("1", func(r *sandbox.Reservation) { r.Status, r.Total = "canceled", "0.00" })
	s.says("2", "H1", "2026-11-02", "2026-11-05", sandbox.Line{Type: "rent", Amount: "310.00"})
	s.completes("incremental")
	s.says("3", "H1", "2026-11-02", "2026-11-05", sandbox.Line{Type: "rent", Amount: "320.00"})
	s.completes("incremental")

	found := s.Get("/reservations?search=H1&status=booked").Want(200)
	if found.Len("data") != 2 || s.counting() != 3 {
		t.Errorf("the stays are %s", found.Body)
	}

	if got := s.balance("4000"); got != -63_000 {
		t.Errorf("rent is %d", got)
	}
}

// Stays that were entered by hand and could be several are a question that is seen at the listing, until somebody has
// answered it.
func TestSeveralStaysAreAQuestion(t *testing.T) {
	t.Parallel()
	s := house(t)
	one := s.addStay("", "2026-11-01", "2026-11-04", array{rent(30_000)})
	two := s.addStay("", "2026-11-01", "2026-11-04", array{rent(30_000)})
	s.says("1", "H1", "2026-11-01", "2026-11-04", sandbox.Line{Type: "rent", Amount: "300.00"})
	s.connect()
	s.Put(s.path("/listing-mappings"), object{"data": array{}}).Want(200)
	s.sync("full")

	if got := s.Get("/listings/" + s.home.ID.String()).Want(200); got.String("issues.0.code") != "ambiguous" || got.String("issues.0.context.externalId") != "1" ||
		s.counting() != 2 {
		t.Errorf("the listing is %s", got.Body)
	}

	s.Put("/reservations/"+two, object{"confirmationCode": "h1"}).Want(200)
	s.completes("full")

	if got := s.Get(s.path("")).Want(200); got.Len("issues") != 0 || s.counting() != 2 || s.read(two).String("sourceId") != "1" ||
		!strings.Contains(string(s.read(one).Body), `"sourceId":null`) {
		t.Errorf("the connection is %s", got.Body)
	}
}

// What the service moves and fills in is no edit of a person: a system goes on to move its stays after a merge, and to say
// on which day one was canceled.
func TestMovesOfTheServiceAreNoEdits(t *testing.T) {
	t.Parallel()
	s := house(t)
	s.system.SetListing(sandbox.Listing{ID: "L2", Name: "House L2", Currency: "usd"})
	s.system.SetListing(sandbox.Listing{ID: "L3", Name: "House L3", Currency: "usd"})
	s.system.SetReservation(booked("r1", "L2", "2026-11-10", "2026-11-13"))
	s.system.SetReservation(booked("r2", "L2", "2026-12-10", "2026-12-13"))
	s.start()
	s.merge(s.at("L2"), s.home.ID.String())

	third := s.at("L3")
	s.change("r1", func(r *sandbox.Reservation) { r.ListingID = "L3" })
	s.change("r2", func(r *sandbox.Reservation) { r.Status, r.Total = "canceled", "0.00" })
	s.completes("incremental")

	if got := s.stay("C-r1"); got.String("listingId") != third || s.conflicts(got.String("id")) != "" {
		t.Errorf("the stay is %s", got.Body)
	}

	// Nobody has said on which day it was canceled, until the system does.
	s.change("r2", func(r *sandbox.Reservation) { r.CanceledAt = "2026-11-02" })
	s.completes("incremental")

	if got := s.stay("C-r2"); got.String("cancelledAt") != "2026-11-02" || s.conflicts(got.String("id")) != "" {
		t.Errorf("the stay is %s", got.Body)
	}

	// The same for one that a person cancels, without a day and with one.
	s.says("3", "H3", "2026-11-20", "2026-11-22", sandbox.Line{Type: "rent", Amount: "100.00"})
	s.says("4", "H4", "2026-11-23", "2026-11-25", sandbox.Line{Type: "rent", Amount: "100.00"})
	s.completes("incremental")
	s.Put("/reservations/"+s.stay("H3").String("id"), object{"status": "canceled"}).Want(200)
	s.Put("/reservations/"+s.stay("H4").String("id"), object{"status": "canceled", "cancelledAt": "2026-11-03"}).Want(200)

	for _, id := range []string{"3", "4"} {
		s.change(id, func(r *sandbox.Reservation) { r.Status, r.CanceledAt = "canceled", "2026-11-04" })
	}

	s.sync("incremental")

	if got := s.stay("H3"); got.String("cancelledAt") != "2026-11-04" || s.conflicts(got.String("id")) != "" {
		t.Errorf("the stay is %s", got.Body)
	}

	if got := s.stay("H4"); got.String("cancelledAt") != "2026-11-03" || s.conflicts(got.String("id")) != "cancelledAt 2026-11-03/2026-11-04" {
		t.Errorf("the stay is %s", got.Body)
	}
}

// A reading that lacks most of the stays removes none until a person says that they are gone.
func TestAnEmptiedAccountIsAQuestion(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		known, missing int
		asks           bool
	}{{3, 3, true}, {20, 20, true}, {9, 5, true}, {10, 5, false}, {2, 2, false}, {7, 4, false}} {
		t.Run(fmt.Sprintf("%d of %d", c.missing, c.known), func(t *testing.T) {
			t.Parallel()
			s := house(t)

			for i := range c.known {
				s.says(strconv.Itoa(i), fmt.Sprintf("H%02d", i), fmt.Sprintf("2026-10-%02d", i+1), fmt.Sprintf("2026-10-%02d", i+2), sandbox.Line{Type: "rent", Amount: "100.00"})
			}

			s.start()

			for i := range c.missing {
				s.lose(strconv.Itoa(i))
			}

			done := s.sync("full")
			if !c.asks {
				if done.String("status") != "completed" || s.counting() != c.known-c.missing {
					t.Errorf("%d count after %s", s.counting(), done.Body)
				}

				return
			}

			connection := s.Get(s.path("")).Want(200)
			if s.counting() != c.known || done.String("error.code") != "incompleteRead" || connection.String("issues.0.code") != "incompleteRead" ||
				connection.Int("issues.0.context.missingCount") != int64(c.missing) || connection.Int("issues.0.context.knownCount") != int64(c.known) {
				t.Errorf("%d count after %s: %s", s.counting(), done.Body, connection.Body)
			}

			decide := func(sync, decision string) {
				t.Helper()
				s.Post("/syncs/"+sync+"/missing-records", object{"decision": decision}).Want(200)
				s.Post("/syncs/"+sync+"/missing-records", object{"decision": decision}).WantError("CONFLICT", "")
				s.Outlast(nil)
			}

			// A person says that the reading was wrong: the same one asks no more.
			if c.known == 20 {
				decide(done.String("id"), "dismiss")
				s.completes("full")

				if s.counting() != c.known || s.Get(s.path("")).Want(200).Len("issues") != 0 {
					t.Errorf("%d count after the reading was dismissed", s.counting())
				}

				return
			}

			decide(done.String("id"), "confirm")

			if s.counting() != c.known-c.missing || s.Get(s.path("")).Want(200).Len("issues") != 0 {
				t.Errorf("%d count after the reading was confirmed", s.counting())
			}
		})
	}
}

// Texts that are longer than their fields are cut, and the stay says so until the system is shorter.
func TestLongTextsLoseNoStay(t *testing.T) {
	t.Parallel()
	s := house(t)
	long := strings.Repeat("ä", 1001)
	s.system.SetListing(sandbox.Listing{ID: "L2", Name: long, Currency: "usd"})
	s.system.SetReservation(sandbox.Reservation{
		ID: "1", ListingID: "L2", Status: "booked", Code: long, Channel: long, Guest: sandbox.Guest{Name: long}, CheckIn: "2026-11-01", CheckOut: "2026-11-04",
		Currency: "usd", Lines: []sandbox.Line{{Type: long, Description: long, Amount: "100.00"}, {Type: "rent", Amount: "50.00"}},
	})
	s.start()

	found := s.Get("/reservations?includeLines=true").Want(200)
	if found.Len("data") != 1 || found.Int("data.0.financials.total") != 15_000 || found.String("data.0.guestName") != strings.Repeat("ä", 200) {
		t.Fatalf("the stays are %s", found.Body)
	}

	stay := s.read(found.String("data.0.id"))
	if !strings.Contains(string(stay.Body), `"code":"textShortened"`) || !strings.Contains(string(stay.Body), `"confirmationCode"`) {
		t.Errorf("the stay is %s", stay.Body)
	}

	// It is no edit of a person: the system goes on to rename its guest.
	s.change("1", func(r *sandbox.Reservation) {
		r.Guest.Name, r.Code, r.Channel, r.Lines = "Ada", "H1", "airbnb", []sandbox.Line{{Type: "rent", Amount: "60.00"}}
	})
	s.completes("incremental")

	if got := s.read(stay.String("id")); got.String("guestName") != "Ada" || got.Int("financials.total") != 6_000 || strings.Contains(string(got.Body), "textShortened") {
		t.Errorf("the stay is %s", got.Body)
	}
}

// A stay that its system has under another id is the same one here, with the edits of people and its deposits.
func TestAStayUnderAnotherIDIsTheSame(t *testing.T) {
	t.Parallel()
	s := house(t)
	s.says("1", "H1", "2026-11-01", "2026-11-04", sandbox.Line{Type: "rent", Amount: "300.00"}, sandbox.Line{Type: "tax", Amount: "20.00"})
	s.says("2", "", "2026-11-05", "2026-11-08", sandbox.Line{Type: "rent", Amount: "300.00"})
	s.start()

	stay := s.stay("H1").String("id")
	s.Put("/reservations/"+stay, object{"lines": array{rent(33_000), object{"type": "tax", "amount": 2_000}}}).Want(200)
	s.Post("/transactions", object{
		"type": "deposit", "date": "2026-11-01", "accountId": s.Account("1000"), "currency": "usd",
		"lines": array{object{"amount": 10_000, "reservationId": stay, "assignment": "accountsReceivable"}},
	}).Want(201)

	for _, id := range []string{"1", "2"} {
		s.lose(id)
	}

	s.says("9", "H1", "2026-11-01", "2026-11-04", sandbox.Line{Type: "rent", Amount: "300.00"}, sandbox.Line{Type: "tax", Amount: "25.00"})
	s.says("8", "", "2026-11-05", "2026-11-08", sandbox.Line{Type: "rent", Amount: "300.00"})
	s.completes("full")

	if got := s.read(stay); s.counting() != 2 || got.Int("financials.total") != 35_500 || got.Int("financials.paid") != 10_000 || got.String("sourceId") != "9" {
		t.Errorf("%d stays count: %s", s.counting(), got.Body)
	}

	// It goes on under the new id, and the old one does not count again when it comes back as something else.
	s.change("9", func(r *sandbox.Reservation) { r.Guest.Name = "Bea" })
	s.completes("incremental")

	if got := s.read(stay); got.String("guestName") != "Bea" || s.counting() != 2 {
		t.Errorf("%d stays count: %s", s.counting(), got.Body)
	}
}

// lose deletes a stay at the system, which says nothing of it.
func (s *scene) lose(id string) {
	s.T.Helper()

	if err := s.system.DeleteReservation(id); err != nil {
		s.T.Fatal(err)
	}
}

// A canceled stay of the same code and other nights is not the one that was entered by hand, on whatever page it comes.
func TestACanceledStayOfOtherNightsIsAnother(t *testing.T) {
	t.Parallel()
	s := house(t)
	s.system.Set(sandbox.Settings{PageSize: new(1)})

	paid := s.addStay("K1", "2026-11-20", "2026-11-23", array{rent(30_000)})
	s.says("1", "K1", "2026-11-10", "2026-11-13", sandbox.Line{Type: "rent", Amount: "300.00"})
	s.change("1", func(r *sandbox.Reservation) { r.Status, r.Total = "canceled", "0.00" })
	s.says("2", "k1", "2026-11-20", "2026-11-23", sandbox.Line{Type: "rent", Amount: "300.00"})
	s.start()

	if got := s.read(paid); got.String("sourceId") != "2" || s.conflicts(paid) != "" || s.balance("4000") != -30_000 {
		t.Errorf("the stay is %s", got.Body)
	}
}
