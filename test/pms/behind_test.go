package pms_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	sandbox "stayledger/provider/sandbox/pms"
	"stayledger/test/world"
)

// histories is how many random histories are tried; PMS_HISTORIES asks for more.
func histories() int {
	if n, err := strconv.Atoi(os.Getenv("PMS_HISTORIES")); err == nil && n > 0 {
		return n
	}

	return 16
}

var worldSeed = flag.Uint64("world", 0, "seed of the worlds behind systems, 0 for another one each time")

// behind is a lane of histories: a team with its rules, and the model of its books.
type behind struct {
	*world.World
	dice        *rand.Rand
	recognition string
	firstDay    *day.Day
	past        []*trueStay // of the histories that are over
	counted     map[string]int
}

// history is a world behind two systems for one house.
type history struct {
	*behind
	number  int
	house   world.Listing
	systems [2]*system
	// active is the system that the books follow; both says that the other one is connected, too.
	active, both int
	stays        []*trueStay
	// full says that a change shows in a complete reading only.
	full bool
	log  []string
}

// system is a property-management system with its connection.
type system struct {
	server     *sandbox.Server
	url        string
	connection id.ID
	wasRead    bool
}

// trueStay is a stay as it is in the world, with what people here have said of it.
type trueStay struct {
	code, guest string
	in, out     day.Day
	bookedAt    day.Day
	status      string // booked, canceled or dropped
	amounts     map[string]int64
	words       string
	// ids are the names at the systems, fresh says that the system has changed since it was last read.
	ids   [2]string
	fresh bool
	// here is the reservation, once it is known; deposit the sum that was paid on it.
	byHand  bool
	known   bool
	deposit int64
	// rent and days are what people here have set, nil for what the system says; pet is a line of their own.
	rent *int64
	days *[2]day.Day
	pet  int64
}

// accounts are where the types of lines are posted by the standard chart.
var lineAccounts = map[string]string{"rent": "4000", "cleaningFee": "4010", "tax": "2100", "guestFee": "4020"}

// Whatever systems and people do to the stays of a house, each stay of the world counts once, each deposit is on the stay
// that counts, and the books have what a model of the world says.
func TestBooksFollowTheWorldBehindTwoSystems(t *testing.T) {
	t.Parallel()

	seed := *worldSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}

	const lanes = 4

	for lane := range lanes {
		t.Run(strconv.Itoa(lane), func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d", seed)

			dice, counted := rand.New(rand.NewPCG(seed, uint64(lane))), map[string]int{}
			recognition := []string{"checkIn", "checkOut", "proRata", "bookedAt"}[lane]

			for left := (histories() + lanes - 1) / lanes; left > 0 && !t.Failed(); left -= behindTeam {
				b := &behind{World: world.In(t, nil), dice: dice, counted: counted, recognition: recognition}
				b.run(min(left, behindTeam))
			}

			t.Logf("%s: %v", recognition, counted)
		})
	}
}

// behindTeam is how many histories a team has.
const behindTeam = 25

// run lives some histories, and holds the balances in the end to the world.
func (b *behind) run(histories int) {
	settings := object{"defaultRevenueRecognition": b.recognition}

	// The first day of the books is any day of the time that the stays are in, or none.
	if b.dice.IntN(4) > 0 {
		first := start.AddDays(b.dice.IntN(120))
		b.firstDay, settings["statementStartAt"] = &first, first
	}

	b.Put("/team", settings).Want(200)
	b.Outlast(nil)

	for n := range histories {
		if b.live(n); b.T.Failed() {
			return
		}
	}

	b.trialBalance()
}

// start is the first day of the world.
var start = must(day.Parse("2026-03-01"))

func must(d day.Day, err error) day.Day {
	if err != nil {
		panic(err)
	}

	return d
}

// live lives one history.
func (b *behind) live(number int) {
	h := &history{behind: b, number: number, house: b.Listing(fmt.Sprint("House ", number), b.Contact("owner", fmt.Sprint("Owner ", number))), both: -1}

	for i := range h.systems {
		// An address that was another system's before opens another account.
		server, err := sandbox.New(sandbox.Config{Token: token, AccountID: fmt.Sprintf("account-%d-%d", i, number)})
		if err != nil {
			b.T.Fatal(err)
		}

		listener := httptest.NewServer(server)
		defer server.Close()
		defer listener.Close()

		server.SetListing(sandbox.Listing{ID: "L1", Name: fmt.Sprint("House ", number), Currency: "usd"})
		h.systems[i] = &system{server: server, url: listener.URL}
	}

	// The stays of the world, some of which people have entered before a system is connected.
	for range 1 + b.dice.IntN(4) {
		h.book()
	}

	for _, s := range h.stays {
		if b.dice.IntN(2) == 0 {
			h.enter(s)
		}
	}

	h.connect(0)
	h.read()
	h.check()

	if b.T.Failed() {
		b.T.Fatalf("house %d, by %s from %v: %s\n%s", number, b.recognition, b.firstDay, strings.Join(h.log, ", "), h.describe())
	}

	for range 3 + b.dice.IntN(4) {
		h.step()
		h.check()

		if b.T.Failed() {
			b.T.Fatalf("house %d, by %s from %v: %s\n%s", number, b.recognition, b.firstDay, strings.Join(h.log, ", "), h.describe())
		}
	}

	h.leave()
	b.past = append(b.past, h.stays...)
}

// step does something at random and reads the system.
func (h *history) step() {
	type act struct {
		name string
		do   func(s *trueStay) bool
	}

	acts := []act{
		{"renamed", h.rename},
		{"reworded", func(s *trueStay) bool {
			return h.change(s, func() { s.words = fmt.Sprint("words ", h.dice.IntN(1000)) })
		}},
		{"repriced", func(s *trueStay) bool {
			return h.change(s, func() {
				s.amounts["rent"] = int64(100 * (100 + h.dice.IntN(500)))
				s.words = fmt.Sprint("price ", h.dice.IntN(1000))
			})
		}},
		{"another line", func(s *trueStay) bool {
			return h.change(s, func() {
				if s.amounts["tax"] == 0 {
					s.amounts["tax"] = int64(100 + h.dice.IntN(5000))
				} else {
					delete(s.amounts, "tax")
				}
			})
		}},
		{"moved", h.move},
		{"canceled", func(s *trueStay) bool { return s.status == "booked" && h.change(s, func() { s.status = "canceled" }) }},
		{"booked again", func(s *trueStay) bool { return s.status == "canceled" && h.change(s, func() { s.status = "booked" }) }},
		{"dropped", h.drop},
		{"re-keyed", h.rekey},
		{"new", func(*trueStay) bool { h.book(); return true }},
		{"rent edited", h.editRent},
		{"days edited", h.editDays},
		{"own line", h.addPet},
		{"paid", h.pay},
		{"settled for the system", func(*trueStay) bool { return h.settle("theirs") }},
		{"settled for us", func(*trueStay) bool { return h.settle("ours") }},
		{"connected again", func(*trueStay) bool { return h.reconnect() }},
		{"second system", func(*trueStay) bool { return h.connectSecond() }},
		{"switched", func(*trueStay) bool { return h.switchOver() }},
	}

	for range 1 + h.dice.IntN(3) {
		a := acts[h.dice.IntN(len(acts))]
		if a.do(h.stays[h.dice.IntN(len(h.stays))]) {
			h.counted[a.name]++
			h.log = append(h.log, a.name)
		}
	}

	h.read()
}

// book adds a stay to the world; stays of a house do not overlap.
func (h *history) book() {
	n := len(h.stays)
	in := start.AddDays(n*16 + h.dice.IntN(5))
	s := &trueStay{
		guest: fmt.Sprintf("Guest %d of %d", n, h.number), in: in, out: in.AddDays(1 + h.dice.IntN(6)), bookedAt: in.AddDays(-h.dice.IntN(40)), status: "booked",
		amounts: map[string]int64{"rent": int64(100 * (100 + h.dice.IntN(500)))}, words: "Rent",
	}

	for i := range s.ids {
		s.ids[i] = fmt.Sprintf("%d-%d-%d", i, h.number, n)
	}

	if h.dice.IntN(4) > 0 {
		s.code = fmt.Sprintf("HM%dX%d", h.number, n)
	}

	if h.dice.IntN(2) == 0 {
		s.amounts["cleaningFee"] = int64(100 * (10 + h.dice.IntN(90)))
	}

	h.stays = append(h.stays, s)
	h.tell(s)
}

// tell writes a stay into the systems that have it.
func (h *history) tell(s *trueStay) {
	s.fresh = true

	for i, sys := range h.systems {
		r := sandbox.Reservation{
			ID: s.ids[i], ListingID: "L1", Status: s.status, Code: s.code, Channel: "airbnb", Guest: sandbox.Guest{Name: s.guest},
			CheckIn: s.in.String(), CheckOut: s.out.String(), BookedAt: sandbox.Optional(s.bookedAt.String()), Currency: "usd",
		}

		if s.status == "canceled" {
			r.CanceledAt, r.Total = sandbox.Optional(s.bookedAt.String()), "0.00"
		}

		for _, typ := range slices.Sorted(maps.Keys(s.amounts)) {
			r.Lines = append(r.Lines, sandbox.Line{Type: typ, Description: fmt.Sprint(s.words, " ", i), Amount: decimal(s.amounts[typ])})
		}

		sys.server.SetReservation(r)
	}
}

func decimal(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

// change changes a stay at the systems; one that was dropped stays away.
func (h *history) change(s *trueStay, f func()) bool {
	if s.status == "dropped" {
		return false
	}

	f()
	h.tell(s)

	return true
}

// rename renames a guest. One without a code is known by the name until the system was read.
func (h *history) rename(s *trueStay) bool {
	if s.code == "" && (s.fresh || !s.known) {
		return false
	}

	return h.change(s, func() { s.guest = fmt.Sprintf("Renamed %d of %d", h.dice.IntN(1000), h.number) })
}

// move moves a stay by some days within its time.
func (h *history) move(s *trueStay) bool {
	if s.code == "" && (s.fresh || !s.known) {
		return false
	}

	return h.change(s, func() {
		n := slices.Index(h.stays, s)
		s.in = start.AddDays(n*16 + h.dice.IntN(6))
		s.out = s.in.AddDays(1 + h.dice.IntN(7))
	})
}

// drop deletes a stay at the systems, which say nothing of it. A stay that a former system left here is kept when the next one
// never had it.
func (h *history) drop(s *trueStay) bool {
	if s.status == "dropped" || s.byHand && !s.known || s.known && !h.systems[h.active].wasRead {
		return false
	}

	for i, sys := range h.systems {
		if sys.server.DeleteReservation(s.ids[i]) != nil {
			h.T.Fatal("the system does not have a stay")
		}
	}

	s.status, h.full = "dropped", true

	return true
}

// rekey gives a stay another id at the systems. One that was canceled is another booking then.
func (h *history) rekey(s *trueStay) bool {
	if s.status != "booked" || s.fresh || !s.known {
		return false
	}

	for i, sys := range h.systems {
		if sys.server.DeleteReservation(s.ids[i]) != nil {
			h.T.Fatal("the system does not have a stay")
		}

		s.ids[i] += "k"
	}

	h.tell(s)

	h.full = true

	return true
}

// enter enters a stay by hand as somebody would who reads a confirmation: in other words, without a code or with its
// letters in another case, with another rent now and then.
func (h *history) enter(s *trueStay) {
	body := object{"listingId": h.house.ID, "checkIn": s.in, "checkOut": s.out, "guestName": strings.ToUpper(s.guest) + " ", "bookedAt": s.bookedAt}

	if s.code != "" && h.dice.IntN(3) > 0 {
		body["confirmationCode"] = " " + strings.ToLower(s.code)
	}

	rent := s.amounts["rent"]
	if h.dice.IntN(3) == 0 {
		rent += 1_111
		s.rent = &rent
	}

	lines := array{object{"type": "rent", "amount": rent, "description": "by hand"}}

	// A fee that somebody forgot comes with the system.
	if fee := s.amounts["cleaningFee"]; fee != 0 && h.dice.IntN(2) == 0 {
		lines = append(lines, object{"type": "cleaningFee", "amount": fee})
	}

	body["lines"] = lines
	s.byHand = true

	h.Post("/reservations", body).Want(201)
	h.log = append(h.log, "entered by hand")
	h.counted["by hand"]++
}

// idOf returns the id of the reservation of a stay.
func (h *history) idOf(s *trueStay) string {
	h.T.Helper()

	var found []string

	h.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[string](ctx, tx, `select id::text from reservation where team_id = @team and source_id = @source and status <> 'inactive'`,
			db.Args{"team": tx.Team, "source": s.ids[h.active]})

		return err
	})

	if len(found) != 1 {
		h.T.Fatalf("%s %s is here as %v: %v", s.code, s.ids[h.active], found, h.log)
	}

	return found[0]
}

// canEdit reports whether a person can change a stay that the system brought.
func (s *trueStay) canEdit() bool { return s.known && !s.fresh && s.status == "booked" }

// editRent has a person set the rent.
func (h *history) editRent(s *trueStay) bool {
	if !s.canEdit() {
		return false
	}

	rent := int64(50_000 + h.dice.IntN(9000))
	s.rent = &rent
	h.putLines(s)

	return true
}

// addPet has a person add a line of its own.
func (h *history) addPet(s *trueStay) bool {
	if !s.canEdit() || s.pet != 0 {
		return false
	}

	s.pet = int64(1_000 + h.dice.IntN(900))
	h.putLines(s)

	return true
}

// putLines writes the lines as people here have them, in their own words.
func (h *history) putLines(s *trueStay) {
	lines := array{}
	for typ, cents := range s.lines() {
		lines = append(lines, object{"type": typ, "amount": cents, "description": "edited"})
	}

	h.Put("/reservations/"+h.idOf(s), object{"lines": lines}).Want(200)
}

// editDays has a person move the arrival.
func (h *history) editDays(s *trueStay) bool {
	if !s.canEdit() || s.days != nil {
		return false
	}

	days := [2]day.Day{s.in.AddDays(-1), s.out}
	s.days = &days
	h.Put("/reservations/"+h.idOf(s), object{"checkIn": days[0]}).Want(200)

	return true
}

// pay books a deposit for a stay, by its id or by its code in small letters.
func (h *history) pay(s *trueStay) bool {
	if !s.canEdit() {
		return false
	}

	cents := int64(1_000 + h.dice.IntN(9_000))
	line := object{"amount": cents, "assignment": "accountsReceivable"}

	if s.code != "" && h.dice.IntN(2) == 0 {
		line["matchReservationConfirmationCode"] = strings.ToLower(s.code)
	} else {
		line["reservationId"] = h.idOf(s)
	}

	on := s.in
	if h.firstDay != nil && on.Before(*h.firstDay) {
		on = *h.firstDay
	}

	h.Post("/transactions", object{"type": "deposit", "date": on, "accountId": h.Account("1000"), "currency": "usd", "lines": array{line}}).Want(201)

	s.deposit += cents

	return true
}

// settle settles all open conflicts about the house.
func (h *history) settle(take string) bool {
	var page struct {
		Data []struct {
			ID, Field string
			Entity    struct{ ID string }
		}
	}

	h.Get("/sync-conflicts?limit=250").Want(200).Into(&page)

	if len(page.Data) == 0 || slices.ContainsFunc(h.stays, func(s *trueStay) bool { return s.fresh }) {
		return false
	}

	for _, c := range page.Data {
		got := h.Post("/sync-conflicts/settle", object{"data": array{object{"id": c.ID, "take": take}}}).Want(200)
		if got.Len("issues") != 0 {
			h.T.Errorf("settling %s is answered with %s", c.Field, got.Body)
		}

		for _, s := range h.stays {
			if take == "theirs" && s.known && s.status != "dropped" && h.idOf(s) == c.Entity.ID {
				s.settled(c.Field)
			}
		}
	}

	return true
}

// settled notes that the system's word counts.
func (s *trueStay) settled(field string) {
	switch {
	case strings.HasPrefix(field, "lines[rent"):
		s.rent = nil
	case field == "checkIn,checkOut":
		s.days = nil
	}
}

// connect connects a system and says that its listing is the house.
func (h *history) connect(i int) {
	sys := h.systems[i]
	sys.connection = h.Post("/connections", object{
		"appId": "pmsProtocol", "name": "System", "settings": object{"baseUrl": sys.url}, "credentials": object{"token": token},
	}).Want(202).ID("resource.id")
	h.Outlast(nil)
	h.Put("/connections/"+sys.connection.String()+"/listing-mappings", object{"data": array{}}).Want(200)
}

// archive archives the connection to a system.
func (h *history) archive(i int) {
	h.Delete("/connections/" + h.systems[i].connection.String() + "?outcome=archive").Want(202)
	h.Outlast(nil)
}

// reconnect archives the connection to the system that counts and connects it again.
func (h *history) reconnect() bool {
	if h.both >= 0 {
		return false
	}

	h.archive(h.active)
	h.connect(h.active)
	h.full = true

	return true
}

// connectSecond connects the other system while the first is the accounting source.
func (h *history) connectSecond() bool {
	if h.both >= 0 || h.active == 1 {
		return false
	}

	h.Put("/connections/"+h.systems[0].connection.String(), object{"accountingStartAt": "2020-01-01"}).Want(200)
	h.Outlast(nil)
	h.connect(1)

	h.both, h.full = 1, true

	return true
}

// switchOver goes on with the second system alone: it is read before the first one is archived, when all stays count twice
// for a while, or after that.
func (h *history) switchOver() bool {
	if h.both >= 0 || h.active == 1 || h.full || slices.ContainsFunc(h.stays, func(s *trueStay) bool { return s.fresh || s.byHand && !s.known }) {
		return false
	}

	h.connect(1)

	if h.dice.IntN(2) == 0 {
		h.readOne(h.systems[1], "full")
	}

	h.archive(0)

	h.active, h.full = 1, true
	for _, s := range h.stays {
		s.fresh = true
	}

	return true
}

// leave archives all connections, so that the next history begins without any.
func (h *history) leave() {
	if h.both >= 0 {
		h.archive(1)
	}

	h.archive(h.active)
}

// read reads the systems, completely if there is something that shows only then, and follows what that changes here.
func (h *history) read() {
	h.T.Helper()

	mode := []string{"incremental", "full"}[h.dice.IntN(2)]
	if h.full {
		mode = "full"
	}

	for _, i := range []int{h.active, h.both} {
		if i >= 0 {
			h.readOne(h.systems[i], mode)
		}
	}

	h.full = false

	for _, s := range h.stays {
		s.fresh, s.known = false, s.known || s.status != "dropped"

		// What both sides say the same of is the system's from then on.
		if s.rent != nil && *s.rent == s.amounts["rent"] {
			s.rent = nil
		}

		if s.days != nil && s.days[0] == s.in && s.days[1] == s.out {
			s.days = nil
		}
	}
}

// readOne reads a system. When it asks whether stays that it lacks are gone, they are.
func (h *history) readOne(sys *system, mode string) {
	h.T.Helper()
	h.Post("/connections/"+sys.connection.String()+"/sync", object{"mode": mode}).Want(202)
	h.Outlast(nil)

	done := h.Get("/syncs?limit=1&connectionIds=" + sys.connection.String()).Want(200)
	if done.String("data.0.status") == "failed" && done.String("data.0.error.code") == "incompleteRead" {
		h.Post("/syncs/"+done.String("data.0.id")+"/missing-records", object{"decision": "confirm"}).Want(200)
		h.Outlast(nil)

		done = h.Get("/syncs?limit=1&connectionIds=" + sys.connection.String()).Want(200)
	}

	if done.String("data.0.status") != "completed" || done.Has("data.0.counts.reservation.failed") {
		items := h.Get("/syncs/" + done.String("data.0.id") + "/items").Want(200)
		h.T.Fatalf("the sync is %s with %s after %v", done.Body, items.Body, h.log)
	}

	sys.wasRead = true
}

// lines returns the lines of a stay as the books have them.
func (s *trueStay) lines() map[string]int64 {
	out := maps.Clone(s.amounts)
	if s.rent != nil {
		out["rent"] = *s.rent
	}

	if s.pet != 0 {
		out["guestFee"] = s.pet
	}

	return out
}

// posts adds what a stay has in the books to the balances of accounts, and reports whether it has anything there.
func (b *behind) posts(s *trueStay, into map[string]int64) bool {
	into["1000"] += s.deposit
	into["2000"] -= s.deposit

	if s.status != "booked" {
		return false
	}

	in, out := s.in, s.out
	if s.days != nil {
		in, out = s.days[0], s.days[1]
	}

	// The part of the nights that are recognised from the first day of the books on.
	nights := int64(in.DaysUntil(out))
	from, at := int64(0), in

	switch b.recognition {
	case "checkOut":
		at = out
	case "bookedAt":
		at = s.bookedAt
	}

	switch {
	case b.firstDay == nil:
	case b.recognition == "proRata":
		from = min(max(int64(in.DaysUntil(*b.firstDay)), 0), nights)
	case at.Before(*b.firstDay):
		from = nights
	}

	posted := false

	for typ, cents := range s.lines() {
		share := cents - rounded(cents*from, nights)
		into[lineAccounts[typ]] -= share
		into["2000"] += share
		posted = posted || share != 0
	}

	return posted
}

// rounded returns a/b rounded to the nearest whole number, half away from zero, of positive numbers.
func rounded(a, b int64) int64 { return (2*a + b) / (2 * b) }

// check holds the books to the world.
func (h *history) check() {
	h.T.Helper()

	want, stays := map[string]int64{}, 0

	for _, s := range slices.Concat(h.past, h.stays) {
		if h.posts(s, want) {
			stays++
		}
	}

	h.Tx(func(ctx context.Context, tx *db.Tx) error {
		got := map[string]int64{}

		type row struct {
			Code string
			Sum  int64
		}

		sums, err := db.Select[row](ctx, tx, `
			select a.code, sum(e.cent_total)::bigint as sum from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
			where e.team_id = @team group by a.code`, db.Args{"team": tx.Team})
		if err != nil {
			return err
		}

		for _, r := range sums {
			got[r.Code] = r.Sum
		}

		isZero := func(_ string, cents int64) bool { return cents == 0 }
		maps.DeleteFunc(got, isZero)
		maps.DeleteFunc(want, isZero)

		if !maps.Equal(got, want) {
			h.T.Errorf("house %d: the books have %v, the world %v", h.number, got, want)
		}

		posting, err := db.Get[int64](ctx, tx, `select count(distinct source_id) from ledger_entry e where team_id = @team and source_id = reservation_id`, db.Args{"team": tx.Team})
		if err != nil {
			return err
		}

		if int(posting) != stays {
			h.T.Errorf("house %d: %d stays count, %d in the world", h.number, posting, stays)
		}

		// A deposit of a stay that counts is on it.
		astray, err := db.Get[int64](ctx, tx, `
			select count(*) from transaction_line l left join reservation r on r.team_id = l.team_id and r.id = l.reservation_id
			where l.team_id = @team and l.account_id = @receivable and (r.id is null or r.status = 'inactive' and exists (
				select from reservation o where o.team_id = r.team_id and o.listing_id = r.listing_id and o.id <> r.id and o.status <> 'inactive'
					and (o.confirmation_code = r.confirmation_code or o.check_in = r.check_in)))`,
			db.Args{"team": tx.Team, "receivable": h.Account("2000")})
		if err == nil && astray != 0 {
			h.T.Errorf("house %d: %d deposits are not on the stay that counts", h.number, astray)
		}

		return err
	})
}

// describe returns the stays of the world and those here, for a failure.
func (h *history) describe() string {
	var out strings.Builder

	for _, s := range h.stays {
		fmt.Fprintf(&out, "world: %s %q %s %v to %v, booked %v, %v, ours: %v %v\n", s.code, s.guest, s.status, s.in, s.out, s.bookedAt, s.amounts, s.lines(), s.days)
	}

	h.Tx(func(ctx context.Context, tx *db.Tx) error {
		rows, err := db.Select[string](ctx, tx, `
			select concat_ws(' ', r.confirmation_code, r.guest_name, r.status, r.check_in, r.check_out, r.booked_at, r.source_id, c.status, c.is_outside_books, (
				select jsonb_agg(jsonb_build_array(l.type, l.amount, l.description)) from reservation_line l where l.team_id = r.team_id and l.reservation_id = r.id))
			from reservation r left join connection c on c.team_id = r.team_id and c.id = r.connection_id
			where r.team_id = @team and r.listing_id = @house order by r.check_in, r.id`, db.Args{"team": tx.Team, "house": h.house.ID})
		for _, r := range rows {
			fmt.Fprintf(&out, "here: %s\n", r)
		}

		return err
	})

	fmt.Fprintf(&out, "conflicts: %s", h.Get("/sync-conflicts").Want(200).Body)

	return out.String()
}

// trialBalance holds the trial balance, and another program that adds up the entries, to the world.
func (b *behind) trialBalance() {
	b.T.Helper()

	want := map[string]int64{}
	for _, s := range b.past {
		b.posts(s, want)
	}

	var report struct {
		Data []struct {
			Account struct{ Code string }
			Ending  int64
		}
	}

	answer := b.Get("/reports/trial-balance?startDate=2026-01&endDate=2027-12").Want(200)
	answer.Into(&report)

	printed := hledger(b.World)

	for _, a := range report.Data {
		if code := a.Account.Code; a.Ending != want[code] || printed[code] != want[code] {
			b.T.Errorf("account %s has %d, by hledger %d, in the world %d: %s", code, a.Ending, printed[code], want[code], answer.Body)
		}
	}
}

// hledger returns the balances of accounts that hledger adds up from the entries of a team.
func hledger(b *world.World) map[string]int64 {
	b.T.Helper()

	if _, err := exec.LookPath("hledger"); err != nil {
		b.T.Fatal("hledger is not installed; scripts/ensure hledger installs it")
	}

	type row struct {
		TxnCode string
		At      day.Day
		Code    string
		Cents   int64
	}

	var rows []row

	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		rows, err = db.Select[row](ctx, tx, `
			select e.txn_code, e.txn_at as at, a.code, e.cent_total as cents from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
			where e.team_id = @team order by e.txn_at, e.txn_code, e.ref`, db.Args{"team": tx.Team})

		return err
	})

	var (
		text strings.Builder
		last string
	)

	for _, r := range rows {
		if key := r.At.String() + " " + r.TxnCode; key != last {
			fmt.Fprintf(&text, "\n%s (%s)\n", r.At, r.TxnCode)

			last = key
		}

		fmt.Fprintf(&text, "    %s  %d\n", r.Code, r.Cents)
	}

	file := filepath.Join(b.T.(interface{ TempDir() string }).TempDir(), "books.journal")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		b.T.Fatal(err)
	}

	printed, err := exec.CommandContext(context.Background(), "hledger", "--file", file, "balance", "--flat", "--no-total", "--output-format", "csv").Output()
	if err != nil {
		b.T.Fatalf("hledger: %v: %s", err, printed)
	}

	out := map[string]int64{}

	for line := range strings.Lines(string(printed)) {
		name, amount, _ := strings.Cut(strings.TrimSpace(line), ",")
		if cents, err := strconv.ParseInt(strings.Trim(amount, `"`), 10, 64); err == nil {
			out[strings.Trim(name, `"`)] = cents
		}
	}

	return out
}
