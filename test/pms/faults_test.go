package pms_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	sandbox "stayledger/provider/sandbox/pms"
)

// fill gives the system a listing with so many stays, one after the other, and returns their ids.
func (s *scene) fill(n int) (names []string) {
	s.T.Helper()
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})

	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	for i := range n {
		name := fmt.Sprintf("r%03d", i)
		s.system.SetReservation(booked(name, "L1", from.AddDate(0, 0, 4*i).Format(time.DateOnly), from.AddDate(0, 0, 4*i+3).Format(time.DateOnly)))
		names = append(names, name)
	}

	return names
}

// Whatever goes wrong at the system for a while, the reading that follows ends with what the system has, once.
func TestFaultsOfASystemEndInTheSameBooks(t *testing.T) {
	t.Parallel()

	page := 10

	for _, c := range []struct {
		fault sandbox.Fault
		// kept says that one reading leaves something out, which the next one brings.
		kept bool
	}{
		{fault: sandbox.Fault{Mode: sandbox.Page500, Times: 3}},
		{fault: sandbox.Fault{Mode: sandbox.TooMany, Times: 2}},
		{fault: sandbox.Fault{Mode: sandbox.TooMany, Times: 1, RetryAfter: new(5)}},
		{fault: sandbox.Fault{Mode: sandbox.DropBefore, Times: 2}},
		{fault: sandbox.Fault{Mode: sandbox.DropAfter, Times: 2}},
		{fault: sandbox.Fault{Mode: sandbox.WrongType, Times: 1}},
		{fault: sandbox.Fault{Mode: sandbox.InvalidUTF8, Times: 1}},
		{fault: sandbox.Fault{Mode: sandbox.Truncated, Times: 2}},
		{fault: sandbox.Fault{Mode: sandbox.Redirect, Times: 1}},
		{fault: sandbox.Fault{Mode: sandbox.CursorLost, Times: 1}},
		{fault: sandbox.Fault{Mode: sandbox.DuplicateIDs, Times: 2}},
		{fault: sandbox.Fault{Mode: sandbox.SamePage, Times: 1}},
		{fault: sandbox.Fault{Mode: sandbox.Unreadable, Times: 1}, kept: true},
		{fault: sandbox.Fault{Mode: sandbox.Lacking, Times: 1}, kept: true},
		{fault: sandbox.Fault{Mode: sandbox.Incomplete, Times: 1}},
		{fault: sandbox.Fault{Mode: sandbox.Shift, Times: 2}},
	} {
		t.Run(string(c.fault.Mode), func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.system.Set(sandbox.Settings{PageSize: &page})
			names := s.fill(25)
			s.connect()

			c.fault.On = sandbox.OnReservations
			s.system.Break(c.fault)

			got := s.sync("full")
			if got.String("status") != "completed" {
				t.Errorf("the sync is %s", got.Body)
			}

			if missing := len(names) - len(s.here()); missing > 1 || (missing > 0) != c.kept {
				t.Errorf("%d are missing after the faulty reading", missing)
			}

			s.sync("full")
			s.same(names)
		})
	}
}

// Credentials that are refused end the sync, and nothing is read until the connection is connected again.
func TestRefusedCredentialsRequireAReconnect(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	names := s.fill(3)
	s.connect()
	s.system.Break(sandbox.Fault{Mode: sandbox.Refused, On: sandbox.OnReservations, Times: 1})

	if got := s.sync("full"); got.String("status") != "failed" || got.String("error.code") != "reconnectRequired" {
		t.Errorf("the sync is %s", got.Body)
	}

	if got := s.Get(s.path("")).Want(200); got.String("status") != "reconnectRequired" || got.String("lastSync.status") != "failed" ||
		got.String("issues.0.code") != "connectionReconnectRequired" || got.String("issues.0.context.error") != "credentialsRefused" {
		t.Errorf("the connection is %s", got.Body)
	}

	s.Post(s.path("/sync"), nil).WantError("CONNECTION_RECONNECT_REQUIRED", "")
	s.Post(s.path("/connect"), object{"credentials": object{"token": "wrong"}}).Want(202)
	s.Outlast(nil)

	if got := s.Get(s.path("")).Want(200); got.String("status") != "reconnectRequired" {
		t.Errorf("with a wrong token the connection is %s", got.Body)
	}

	s.Post(s.path("/connect"), object{"credentials": object{"token": token}}).Want(202)
	s.Outlast(nil)
	s.sync("full")
	s.same(names)
}

// Any order, repetition or loss of messages and any shift of pages ends in the same books as reservations that people
// enter with the figures of the system.
func TestAnyMessagesAndShiftsEndInTheSameBooks(t *testing.T) {
	t.Parallel()

	seed := uint64(time.Now().UnixNano())
	dice := rand.New(rand.NewPCG(seed, 7))

	t.Logf("seed %d", seed)

	s := newScene(t)
	page := 7
	s.system.Set(sandbox.Settings{PageSize: &page})
	names := s.fill(30)
	s.connect()
	s.sync("full")

	modes := []sandbox.Mode{sandbox.Shift, sandbox.DuplicateIDs, sandbox.Page500, sandbox.CursorLost, sandbox.Incomplete, sandbox.Lacking, sandbox.DropAfter}
	met := map[sandbox.Mode]int{}

	for range 12 {
		changed := map[string]bool{}

		for range 1 + dice.IntN(8) {
			name := names[dice.IntN(len(names))]
			changed[name] = true

			if err := s.system.ChangeReservation(name, func(r *sandbox.Reservation) { change(dice, r) }); err != nil {
				t.Fatal(err)
			}
		}

		if dice.IntN(2) == 0 {
			mode := modes[dice.IntN(len(modes))]
			met[mode]++
			s.system.Break(sandbox.Fault{Mode: mode, On: sandbox.OnReservations, Times: 1 + dice.IntN(2)})
		}

		// Some of the messages come, in any order and more than once; then perhaps a reading.
		for _, name := range slices.Sorted(maps.Keys(changed)) {
			for range dice.IntN(3) {
				s.tell(name, dice.IntN(1000))
			}
		}

		if dice.IntN(3) > 0 {
			s.sync([]string{"incremental", "full"}[dice.IntN(2)])
		}

		s.Outlast(nil)
	}

	s.system.Reset()
	s.sync("full")
	t.Logf("faults: %v", met)
	s.same(names)

	if ours, theirs := s.books(), s.byHand(names).books(); !slices.Equal(ours, theirs) {
		t.Errorf("the books differ:\n%q\n%q", ours, theirs)
	} else if len(ours) == 0 {
		t.Error("nothing is in the books")
	}
}

// change changes a reservation in some way.
func change(dice *rand.Rand, r *sandbox.Reservation) {
	switch dice.IntN(4) {
	case 0:
		day, err := time.Parse(time.DateOnly, r.CheckIn)
		if err != nil {
			panic(err)
		}

		r.CheckOut = day.AddDate(0, 0, 1+dice.IntN(5)).Format(time.DateOnly)
	case 1:
		amount := strconv.Itoa(100 + dice.IntN(900))
		r.Lines, r.Total = []sandbox.Line{{Type: "rent", Amount: amount + ".25"}}, sandbox.Optional(amount+".25")
	case 2:
		r.Lines = append(r.Lines, sandbox.Line{Type: []string{"rent", "cleaningFee", "petFee"}[dice.IntN(3)], Amount: "10.10"})
	default:
		r.Guest.Name = "Guest " + strconv.Itoa(dice.IntN(100))
	}
}

// tell gives the service a message about a reservation.
func (s *scene) tell(name string, number int) {
	s.T.Helper()

	body := `{"reservationIds":["` + name + `"],"n":` + strconv.Itoa(number) + `}`
	s.Post("/pms-messages/"+s.connection.String(), raw(body), sign(s.system.Subscription().Secret, body, s.DB.Now())...).Want(204)
}
