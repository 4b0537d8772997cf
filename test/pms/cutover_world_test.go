package pms_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
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

// cutoverHistories is how many histories TestBooksFollowTheWorldOverACutover lives.
func cutoverHistories() int {
	if n, err := strconv.Atoi(os.Getenv("CUTOVER_HISTORIES")); err == nil {
		return n
	}

	return 12
}

// moves is a team that moves from one system to another again and again, each time with another house.
type moves struct {
	*world.World

	dice        *rand.Rand
	recognition string
	owner       id.ID
	// base is the first day of the time of a history; histories come one after the other.
	base    day.Day
	sums    map[string]int64 // of the houses that were left
	counted map[string]int
}

// movedHouse is a house on its way from one system to another.
type movedHouse struct {
	*moves

	listing world.Listing
	twin    string // the listing of the target until the cutover, empty for the same
	servers [2]*sandbox.Server
	urls    [2]string
	ids     [2]id.ID
	day     day.Day // of the cutover
	closed  *day.Day
	until   *day.Day // end of the last published statement
	stays   []*movedStay
	applied bool
	// hasTemplate says that the listing of the target has an owner and a recurring template.
	hasTemplate bool
	blocks      []movedBlock
	rules       []*movedRule
	log         []string
}

// span are the nights of a stay.
type span struct{ in, out day.Day }

// movedStay is a stay of the world, as the systems have it and as people here have changed it.
type movedStay struct {
	name   string
	booked day.Day
	at     [2]*span // at the systems, nil for a system that does not have it
	rent   [2]int64
	// dropped says that the source had it no more before the cutover, gone that it dropped it later.
	dropped, gone bool
	// What people have done to that of the source: rent, nights, posting date, an adjustment, a deposit.
	edited  *int64
	moved   *span
	posting *day.Day
	adjusts int64
	deposit int64
	line    string // transaction of the deposit
}

// Whatever stays two systems have, and whatever people have done to those of the first: after a cutover each stay counts once,
// each deposit is on the stay that counts, the books are what the preview said, and nothing under a lock has moved.
//
// Blocks of nights and bank rules are on the listing that is left.
//
// Proves: CUT-13..CUT-17, CUT-35, CUT-36, CUT-41, CUT-42, CUT-46, CUT-47.
func TestBooksFollowTheWorldOverACutover(t *testing.T) {
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

			// The time of a team is that before today: books cannot be closed beyond.
			for left := (cutoverHistories() + lanes - 1) / lanes; left > 0 && !t.Failed(); left -= ofTeam {
				m := &moves{
					World: world.In(t, nil), dice: dice, recognition: recognition, sums: map[string]int64{}, counted: counted,
					base: must(day.Parse("2023-11-01")),
				}
				m.run(min(left, ofTeam))
			}

			t.Logf("%s: %v", recognition, counted)
		})
	}
}

// ofTeam is how many histories a team has.
const ofTeam = 8

// run lives some histories, and holds the balances that hledger adds up in the end to the world.
func (m *moves) run(histories int) {
	m.Put("/team", object{"defaultRevenueRecognition": m.recognition, "statementStartAt": "2023-06-01"}).Want(200)
	m.Outlast(nil)
	m.owner = m.Contact("owner", "Ada")

	for n := range histories {
		if m.live(n); m.T.Failed() {
			return
		}
	}

	printed := hledger(m.World)
	for code, cents := range m.sums {
		if printed[code] != cents {
			m.T.Errorf("account %s has %d by hledger, %d in the world", code, printed[code], cents)
		}
	}
}

// live lives one history.
func (m *moves) live(number int) {
	h := &movedHouse{moves: m, listing: m.Listing(fmt.Sprint("House ", number), m.owner)}
	h.day = m.base.AddDays(50 + m.dice.IntN(12))

	for i := range h.servers {
		server, err := sandbox.New(sandbox.Config{Token: token, AccountID: fmt.Sprintf("moving-%d-%d", i, number)})
		if err != nil {
			m.T.Fatal(err)
		}

		listener := httptest.NewServer(server)
		defer server.Close()
		defer listener.Close()

		server.SetListing(sandbox.Listing{ID: "L", Name: fmt.Sprint("House ", number), Currency: "usd"})
		h.servers[i], h.urls[i] = server, listener.URL
	}

	for n := range 6 {
		h.book(number, n)
	}

	h.begin()
	h.check()

	for range 2 + m.dice.IntN(6) {
		h.act()
	}

	h.name()
	h.drop()
	h.lock()
	h.check()
	h.cut()
	h.spend()
	h.check()

	if h.applied && h.closed == nil && h.until == nil {
		for range 2 {
			h.later()
			h.check()
		}
	}

	// The former system goes first, or the target if it has no accounting dates: then the source is needed.
	order := h.ids[:]
	if !h.applied || m.dice.IntN(3) == 0 {
		order = []id.ID{h.ids[1], h.ids[0]}
	}

	for _, connection := range order {
		m.Delete("/connections/" + connection.String() + "?outcome=archive").Want(202)
		m.Outlast(nil)
	}

	h.check()

	maps.Copy(m.sums, h.want())

	m.base = m.base.AddDays(130)
}

// book adds a stay in a time of its own, at both systems or at one of them, on the same days or on others.
func (h *movedHouse) book(number, n int) {
	s := &movedStay{name: fmt.Sprintf("%d-%d", number, n)}
	of := func() *span {
		in := h.base.AddDays(n*16 + h.dice.IntN(8))
		return &span{in, in.AddDays(1 + h.dice.IntN(6))}
	}
	s.at[0], s.at[1] = of(), nil
	s.booked = s.at[0].in.AddDays(-h.dice.IntN(12))
	s.rent = [2]int64{int64(100 * (100 + h.dice.IntN(500))), 0}

	switch h.dice.IntN(8) {
	case 0:
		s.at[1], s.at[0] = s.at[0], nil
	case 1:
	case 2, 3, 4:
		s.at[1] = of()
	default:
		s.at[1] = new(*s.at[0])
	}

	if s.rent[1] = s.rent[0]; h.dice.IntN(4) == 0 {
		s.rent[1] += 700
	}

	h.stays = append(h.stays, s)
	h.tell(s)
}

// tell writes a stay into the systems that have it.
func (h *movedHouse) tell(s *movedStay) {
	for i, at := range s.at {
		if at == nil || i == 0 && (s.dropped || s.gone) {
			continue
		}

		code := "C" + s.name
		if i == 1 {
			code = strings.ToLower(code) + " "
		}

		h.servers[i].SetReservation(sandbox.Reservation{
			ID: fmt.Sprint(s.name, "@", i), ListingID: "L", Status: "booked", Code: code, Channel: "airbnb", Guest: sandbox.Guest{Name: "Guest " + s.name},
			CheckIn: at.in.String(), CheckOut: at.out.String(), BookedAt: sandbox.Optional(s.booked.String()), Currency: "usd",
			Lines: []sandbox.Line{{Type: "rent", Description: fmt.Sprint("Rent ", i), Amount: decimal(s.rent[i])}},
		})
	}
}

// begin connects both systems and reads them. The house is one listing, or two until the cutover.
func (h *movedHouse) begin() {
	h.T.Helper()

	for i := range h.ids {
		h.ids[i] = h.Post("/connections", object{
			"appId": "pmsProtocol", "name": "System", "settings": object{"baseUrl": h.urls[i]}, "credentials": object{"token": token},
		}).Want(202).ID("resource.id")
		h.Outlast(nil)

		mappings, decisions := "/connections/"+h.ids[i].String()+"/listing-mappings", array{}
		if i == 1 && h.dice.IntN(2) == 0 {
			found := h.Get(mappings).Want(200)
			decisions = array{object{"targetListingConnectionId": found.String("data.0.targetListingConnectionId"), "listingId": nil}}
		}

		h.Put(mappings, object{"data": decisions}).Want(200)
		h.read(i)

		if i == 0 {
			h.Put("/connections/"+h.ids[i].String(), object{"accountingStartAt": h.base.AddDays(-60)}).Want(200)
			h.Outlast(nil)
		} else if at := h.Get(mappings).Want(200).String("data.0.listingId"); at != h.listing.ID.String() {
			h.twin = at
		}
	}
}

// read reads a system completely. When it asks whether stays that it lacks are gone, they are.
func (h *movedHouse) read(i int) {
	h.T.Helper()
	h.Post("/connections/"+h.ids[i].String()+"/sync", object{"mode": "full"}).Want(202)
	h.Outlast(nil)

	done := h.Get("/syncs?limit=1&connectionIds=" + h.ids[i].String()).Want(200)
	if done.Has("data.0.error.code") && done.String("data.0.error.code") == "incompleteRead" {
		h.Post("/syncs/"+done.String("data.0.id")+"/missing-records", object{"decision": "confirm"}).Want(200)
		h.Outlast(nil)
	} else if done.String("data.0.status") != "completed" {
		h.T.Fatalf("the sync is %s after %v", done.Body, h.log)
	}
}

// idOf returns the reservation of a stay at a system.
func (h *movedHouse) idOf(s *movedStay, i int) string {
	h.T.Helper()

	var found []string

	h.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[string](ctx, tx, `select id::text from reservation where team_id = @team and connection_id = @connection and source_id = @name`,
			db.Args{"team": tx.Team, "connection": h.ids[i], "name": fmt.Sprint(s.name, "@", i)})

		return err
	})

	if len(found) != 1 {
		h.T.Fatalf("%s of system %d is %v", s.name, i, found)
	}

	return found[0]
}

// act has people do something to a stay of the source.
func (h *movedHouse) act() {
	s := h.stays[h.dice.IntN(len(h.stays))]
	if s.at[0] == nil {
		return
	}

	path := "/reservations/" + h.idOf(s, 0)

	switch act := []string{"rent", "days", "posting", "adjusted", "paid", "paid", "template"}[h.dice.IntN(7)]; {
	case act == "rent" && s.edited == nil:
		s.edited = new(int64(50_000 + h.dice.IntN(9000)))
		h.Put(path, object{"lines": array{object{"type": "rent", "amount": *s.edited, "description": "edited"}}}).Want(200)
	case act == "days" && s.moved == nil:
		s.moved = &span{s.at[0].in.AddDays(-1), s.at[0].out}
		h.Put(path, object{"checkIn": s.moved.in}).Want(200)
	case act == "posting" && s.posting == nil:
		s.posting = new(h.day.AddDays(h.dice.IntN(5) - 2))
		h.Put(path, object{"generalLedgerPostingAt": s.posting}).Want(200)
	case act == "adjusted" && s.adjusts == 0:
		s.adjusts = int64(-1000 - h.dice.IntN(1000))
		h.Post(path+"/adjustments", object{"description": "Refund", "amount": s.adjusts, "accountId": h.Account("4000")}).Want(201)
	case act == "paid" && s.deposit == 0:
		s.deposit = int64(1_000 + h.dice.IntN(9_000))
		line := object{"amount": s.deposit, "assignment": "accountsReceivable", "reservationId": h.idOf(s, 0)}
		s.line = h.Post("/transactions", object{
			"type": "deposit", "date": s.at[0].in.AddDays(-3), "accountId": h.Account("1000"), "currency": "usd", "lines": array{line},
		}).Want(201).String("id")
	case act == "template" && h.twin != "" && !h.hasTemplate:
		h.hasTemplate = true
		h.Post("/listings/ownership-periods", object{
			"listingId": h.twin, "startAt": h.base.AddDays(-30), "members": array{object{"contactId": h.owner, "split": 100_000}},
		}).Want(202)
		h.Outlast(nil)
		h.Post("/transactions/recurring-templates", object{
			"type": "expense", "date": "2027-01-01", "pattern": object{"frequency": "monthly"},
			"lines": array{object{"accountId": h.Account("5200"), "amount": 5000, "listingId": h.twin}},
		}).Want(201)
		h.Put("/listings/"+h.twin, object{"uniqueRef": "twin of " + h.listing.ID.String()}).Want(200)
	default:
		return
	}

	h.log = append(h.log, s.name)
	h.counted["edits"]++
}

// drop empties a part of the source before the cutover.
func (h *movedHouse) drop() {
	if h.dice.IntN(3) > 0 {
		return
	}

	for _, s := range h.stays {
		if s.at[0] == nil || h.dice.IntN(3) > 0 {
			continue
		}

		if err := h.servers[0].DeleteReservation(s.name + "@0"); err != nil {
			h.T.Fatal(err)
		}

		s.dropped = true
		h.log = append(h.log, "dropped "+s.name)
		h.counted["dropped"]++
	}

	h.read(0)
}

// lock closes the books to a day before the cutover, or publishes statements of months before it, or neither.
func (h *movedHouse) lock() {
	switch h.dice.IntN(3) {
	case 0:
		h.closed = new(h.base.AddDays(h.dice.IntN(50)))
		h.Post("/team/books-closing", object{"booksClosedAt": h.closed, "reason": "Done"}).Want(201)
		h.log = append(h.log, "closed to "+h.closed.String())
	case 1:
		for month := h.base.AddDays(-20).Month(); month.First().AddDays(31).Before(h.day); month = month.First().AddDays(32).Month() {
			got := h.Post("/statements", object{"month": month.String(), "status": "published", "listingPeriodIds": array{h.listing.Period}})
			if got.Status == 201 {
				h.until = new(month.First().AddDays(32).Month().First().AddDays(-1))
			}
		}

		if h.until != nil {
			h.log = append(h.log, "published to "+h.until.String())
		}
	}
}

// held returns the entries under a lock.
func (h *movedHouse) held() (found []string) {
	h.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[string](ctx, tx, `
			select concat_ws(' ', e.id, e.account_id, e.cent_total, e.txn_at, e.listing_id, e.party) from ledger_entry e
			where e.team_id = @team and (e.txn_at < @closed or e.listing_id = @house and e.party = 'owners' and e.txn_at <= @until) order by 1`,
			db.Args{"team": tx.Team, "closed": h.closed, "house": h.listing.ID, "until": h.until})

		return err
	})

	return found
}

// cut previews the cutover and applies it. One that a lock forbids changes nothing.
func (h *movedHouse) cut() {
	h.T.Helper()

	ask := object{"sourceConnectionId": h.ids[0], "targetConnectionId": h.ids[1], "cutoverAt": h.day}
	said, held := h.months(), h.held()
	h.clear(ask)

	preview := h.Post(previewPath, ask).Want(200)
	locked := preview.Int("impactedReservations.lockedCount") + preview.Int("listingContinuity.lockedCount")

	if locked > 0 {
		if got := h.Post(applyPath, ask); got.Status != 409 && got.Status != 403 {
			h.T.Errorf("with %d locked it answers %d: %s", locked, got.Status, got.Body)
		}

		h.counted["blocked"]++
		h.check()

		return
	}

	for i := range preview.Len("journalChanges") {
		at := fmt.Sprintf("journalChanges.%d.", i)
		said[preview.String(at+"accountCode")+" "+preview.String(at+"month")] += preview.Int(at+"after") - preview.Int(at+"before")
	}

	h.Post(applyPath, ask).Want(200)
	h.Outlast(nil)

	h.applied = true
	h.counted["applied"]++
	h.log = append(h.log, "cut on "+h.day.String())

	isZero := func(_ string, cents int64) bool { return cents == 0 }
	maps.DeleteFunc(said, isZero)

	if got := h.months(); !maps.Equal(got, said) {
		h.T.Errorf("the preview said %v, the books are %v", said, got)
	}

	if now := h.held(); !slices.Equal(now, held) {
		h.T.Errorf("under the lock were\n%s\nand are\n%s", strings.Join(held, "\n"), strings.Join(now, "\n"))
	}

	h.check()

	for i := range h.ids {
		h.read(i)
	}

	h.check()
}

// months returns the sums of accounts by month.
func (h *movedHouse) months() map[string]int64 {
	out := map[string]int64{}

	type row struct {
		Name  string
		Cents int64
	}

	h.Tx(func(ctx context.Context, tx *db.Tx) error {
		rows, err := db.Select[row](ctx, tx, `
			select a.code || ' ' || to_char(e.txn_at, 'YYYY-MM') as name, sum(e.cent_total)::bigint as cents from ledger_entry e
			join account a on a.team_id = e.team_id and a.id = e.account_id where e.team_id = @team group by 1 having sum(e.cent_total) <> 0`,
			db.Args{"team": tx.Team})
		for _, r := range rows {
			out[r.Name] = r.Cents
		}

		return err
	})

	return out
}

// later has the target move a stay, perhaps across the day, or change its rent, and the source drop one.
func (h *movedHouse) later() {
	s := h.stays[h.dice.IntN(len(h.stays))]
	if s.at[1] == nil || s.moved != nil {
		return
	}

	n := slices.Index(h.stays, s)
	in := h.base.AddDays(n*16 + h.dice.IntN(8))
	s.at[1] = &span{in, in.AddDays(1 + h.dice.IntN(6))}
	h.log = append(h.log, "moved "+s.name)
	h.counted["moved later"]++
	h.tell(s)
	h.read(1)

	// What the source drops of the time before is asked about, and counts.
	if s.at[0] != nil && !s.dropped && !s.gone {
		if err := h.servers[0].DeleteReservation(s.name + "@0"); err != nil {
			h.T.Fatal(err)
		}

		s.gone = true

		h.read(0)
	}
}

// counts returns the system that a stay counts at, -1 for none, and its rent there.
func (h *movedHouse) counts(s *movedStay) (system int, rent int64) {
	accounting := func(n *span) day.Day {
		switch {
		case s.posting != nil:
			return *s.posting
		case h.recognition == "checkIn":
			return n.in
		case h.recognition == "bookedAt":
			return s.booked
		default:
			return n.out
		}
	}

	at := s.at[1]
	if at == nil || !h.applied {
		at = s.at[0]
	}

	if s.moved != nil && s.at[0] != nil {
		at = s.moved
	}

	if at == nil {
		return -1, 0
	}

	switch isAfter := !accounting(at).Before(h.day); {
	case !h.applied && s.at[0] != nil && !s.dropped:
		system = 0
	case !h.applied, s.at[1] == nil && (isAfter || s.dropped), s.at[0] == nil && !isAfter:
		return -1, 0
	case isAfter:
		system = 1
	}

	if rent = s.rent[system]; s.edited != nil {
		rent = *s.edited
	}

	return system, rent
}

// want returns the sums of accounts as the world has them.
func (h *movedHouse) want() map[string]int64 {
	out := maps.Clone(h.sums)

	for _, r := range h.rules {
		out["1000"] -= r.spent
		out["5200"] += r.spent
	}

	for _, s := range h.stays {
		out["1000"] += s.deposit
		out["2000"] -= s.deposit

		if system, rent := h.counts(s); system >= 0 {
			out["4000"] -= rent + s.adjusts
			out["2000"] += rent + s.adjusts
		}
	}

	return out
}

// check holds the books to the world.
func (h *movedHouse) check() {
	h.T.Helper()

	if h.T.Failed() {
		return
	}

	got, want := map[string]int64{}, h.want()
	for name, cents := range h.months() {
		code, _, _ := strings.Cut(name, " ")
		got[code] += cents
	}

	isZero := func(_ string, cents int64) bool { return cents == 0 }
	maps.DeleteFunc(got, isZero)
	maps.DeleteFunc(want, isZero)

	if !maps.Equal(got, want) {
		h.T.Errorf("the books have %v, the world %v", got, want)
	}

	// Each deposit is on the stay that counts.
	for _, s := range h.stays {
		system, _ := h.counts(s)
		if s.deposit == 0 || system < 0 {
			continue
		}

		if line := h.Get("/transactions/" + s.line).Want(200).String("lines.0.reservationId"); line != h.idOf(s, system) {
			h.T.Errorf("the deposit of %s is on %s, not on that of system %d", s.name, line, system)
		}
	}

	h.checkNamed()

	if h.T.Failed() {
		h.T.Errorf("by %s: %s\n%s", h.recognition, strings.Join(h.log, ", "), h.describe())
	}
}

// describe returns the stays of the world and those here, for a failure.
func (h *movedHouse) describe() string {
	var out strings.Builder

	for _, s := range h.stays {
		system, rent := h.counts(s)
		fmt.Fprintf(&out, "world: %s %v %v booked %v, rent %v, counts at %d with %d; dropped %t, edited %v, posting %v, adjusted %d, paid %d\n",
			s.name, s.at[0], s.at[1], s.booked, s.rent, system, rent, s.dropped, s.moved, s.posting, s.adjusts, s.deposit)
	}

	h.Tx(func(ctx context.Context, tx *db.Tx) error {
		rows, err := db.Select[string](ctx, tx, `
			select concat_ws(' ', r.source_id, r.status, r.check_in, r.check_out, r.booked_at, r.general_ledger_posting_at, r.listing_id = @house, p.is_retired, (
				select sum(e.cent_total) from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id and a.code = '4000'
				where e.team_id = r.team_id and e.source_id = r.id))
			from reservation r left join reservation_pair p on p.team_id = r.team_id and (p.source_id = r.id or p.target_id = r.id)
			where r.team_id = @team and r.connection_id = any(@connections) order by r.check_in, r.source_id`,
			db.Args{"team": tx.Team, "house": h.listing.ID, "connections": h.ids[:]})
		for _, r := range rows {
			fmt.Fprintf(&out, "here: %s\n", r)
		}

		return err
	})

	return out.String()
}
