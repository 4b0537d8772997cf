package pms_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/db"
	sandbox "stayledger/provider/sandbox/pms"
	"stayledger/test/world"
)

// lateStay is a stay as its system has it.
type lateStay struct {
	name, listing   string
	rent, pet       int64
	in, out         day.Day
	isBad, wasTaken bool // its days are refused; it was here once
}

// lateHistory is a history of stays of a house under statements and closed books.
type lateHistory struct {
	*scene

	dice      *rand.Rand
	house     world.Listing
	stays     []*lateStay
	published []string // statements that are published, in their order
	log       []string
}

// lateHistories is how many histories are lived; LATE_HISTORIES asks for more.
func lateHistories() int {
	if n, err := strconv.Atoi(os.Getenv("LATE_HISTORIES")); err == nil && n > 0 {
		return n
	}

	return 4
}

// Whatever a history holds back, refuses or leaves out is in one list with its cents until it is settled: of each stay the books and the lists
// together have what its system says.
func TestWhatIsHeldBackIsInOneList(t *testing.T) {
	t.Parallel()

	seed := *worldSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}

	for n := range lateHistories() {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d", seed)

			h := &lateHistory{scene: newScene(t), dice: rand.New(rand.NewPCG(seed, uint64(n)))}
			h.begin()

			for range 12 {
				h.step()
				h.check()

				if t.Failed() {
					t.Fatalf("after %s", strings.Join(h.log, ", "))
				}
			}
		})
	}
}

// begin connects a system with a house that is mapped, and one that no one has mapped.
func (h *lateHistory) begin() {
	h.house = h.Listing("House 1", h.Contact("owner", "Ada"))
	h.Listing("House 2", h.Contact("owner", "Bert"))
	h.Listing("House 2", h.Contact("owner", "Carl"))
	h.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})
	h.adopt()
	h.system.SetListing(sandbox.Listing{ID: "L2", Name: "House 2", Currency: "usd"}) // two here have its name
}

// step does something at random and reads the system.
func (h *lateHistory) step() {
	acts := map[string]func() bool{
		"book": h.book, "reprice": h.reprice, "spoil": h.spoil, "mend": h.mend, "publish": h.publish, "reopen": h.reopen, "close": h.close,
		"open": h.open, "map": h.mapPets, "catch up": h.catchUp,
	}
	names := slices.Sorted(maps.Keys(acts))

	for range 1 + h.dice.IntN(3) {
		if name := names[h.dice.IntN(len(names))]; acts[name]() {
			h.log = append(h.log, name)
		}
	}

	h.Outlast(nil)
	h.Post(h.path("/sync"), object{"mode": "full"}).Want(202)
	h.Outlast(nil)
}

// tell writes a stay into its system.
func (h *lateHistory) tell(s *lateStay) bool {
	in, out := s.in, s.out
	if s.isBad {
		in, out = in.AddYears(40), out.AddYears(40) // later than any request may name
	}

	r := sandbox.Reservation{
		ID: s.name, ListingID: s.listing, Status: "booked", Code: "C-" + s.name, Channel: "airbnb", Guest: sandbox.Guest{Name: "Ada"},
		CheckIn: in.String(), CheckOut: out.String(), Currency: "usd", Lines: []sandbox.Line{{Type: "rent", Amount: decimal(s.rent)}},
	}
	if s.pet != 0 {
		r.Lines = append(r.Lines, sandbox.Line{Type: "petFee", Amount: decimal(s.pet)})
	}

	h.system.SetReservation(r)

	return true
}

// book adds a stay of January to April, a third with a line that no account takes, some of the house that is not mapped.
func (h *lateHistory) book() bool {
	at := must(day.Parse("2026-01-01")).AddDays(h.dice.IntN(115))
	s := &lateStay{name: fmt.Sprint("r", len(h.stays)), listing: "L1", rent: int64(100 * (100 + h.dice.IntN(500))), in: at, out: at.AddDays(2)}

	if h.dice.IntN(3) == 0 {
		s.pet = int64(100 * (1 + h.dice.IntN(50)))
	}

	if h.dice.IntN(5) == 0 {
		s.listing = "L2"
	}

	h.stays = append(h.stays, s)

	return h.tell(s)
}

// some returns a stay at random that meets a condition, nil for none.
func (h *lateHistory) some(is func(s *lateStay) bool) *lateStay {
	var found []*lateStay

	for _, s := range h.stays {
		if is(s) {
			found = append(found, s)
		}
	}

	if len(found) == 0 {
		return nil
	}

	return found[h.dice.IntN(len(found))]
}

func (h *lateHistory) reprice() bool {
	s := h.some(func(*lateStay) bool { return true })
	if s == nil {
		return false
	}

	s.rent = int64(100 * (100 + h.dice.IntN(500)))

	return h.tell(s)
}

// spoil has the system say days of a stay that are refused; mend takes that back.
func (h *lateHistory) spoil() bool {
	s := h.some(func(s *lateStay) bool { return !s.isBad && !s.wasTaken })
	if s == nil {
		return false
	}

	s.isBad = true

	return h.tell(s)
}

func (h *lateHistory) mend() bool {
	s := h.some(func(s *lateStay) bool { return s.isBad })
	if s == nil {
		return false
	}

	s.isBad = false

	return h.tell(s)
}

// publish publishes the next month, unless something keeps it from that.
func (h *lateHistory) publish() bool {
	if len(h.published) == 4 {
		return false
	}

	id := h.Statement(h.house, fmt.Sprintf("2026-%02d", len(h.published)+1)).String()
	if h.Put("/statements/"+id, object{"status": "published"}).Status != 200 {
		return false
	}

	h.published = append(h.published, id)

	return true
}

// reopen returns the last published month to draft.
func (h *lateHistory) reopen() bool {
	n := len(h.published) - 1
	if n < 0 {
		return false
	}

	done := h.Put("/statements/"+h.published[n], object{"status": "draft"}).Status == 200
	if done {
		h.published = h.published[:n]
	}

	return done
}

func (h *lateHistory) close() bool {
	return h.Post("/team/close-books", object{"booksClosedAt": fmt.Sprintf("2026-%02d-01", 1+h.dice.IntN(5)), "reason": "month end"}).Status < 300
}

func (h *lateHistory) open() bool {
	return h.Post("/team/close-books", object{"booksClosedAt": nil, "reason": "a mistake"}).Status < 300
}

// mapPets maps the line type that no account takes.
func (h *lateHistory) mapPets() bool {
	got := h.Get("/reservations/line-mappings?lineType=petFee&status=unmapped").Want(200)

	return got.Len("data") > 0 &&
		h.Put("/reservations/line-mappings/"+got.String("data.0.id"), object{"accountId": h.Account("4020"), "party": "owners"}).Status == 200
}

func (h *lateHistory) catchUp() bool {
	return h.Post("/journals/catch-up", object{}).Want(200).Len("data") > 0
}

// placed is where the money of a stay is.
type placed struct {
	booked, held, unassigned, said int64
	codes                          []string // of its issues
}

// check holds the books and the lists to what the system says of each stay.
func (h *lateHistory) check() {
	h.T.Helper()

	at := map[string]*placed{}
	for _, s := range h.stays {
		at[s.name] = &placed{}
	}

	of := h.here()
	h.readBooks(of, at)
	h.readHeld(of, at)
	h.readIssues(of, at)

	for _, s := range h.stays {
		p := at[s.name]
		waits := slices.Contains(p.codes, "recordFailed") || slices.Contains(p.codes, "recordUnmapped")
		total, isHere := s.rent+s.pet, slices.Contains(slices.Collect(maps.Values(of)), s.name)
		s.wasTaken = s.wasTaken || isHere

		switch {
		case waits && isHere:
			// A catch-up has taken in what the system said before.
		case waits && (p.said != total || p.booked != 0 || p.held != 0 || len(p.codes) != 1):
			h.T.Errorf("%s of %d waits, and is %+v", s.name, total, *p)
		case !waits && !isHere && p.said != total:
			h.T.Errorf("%s of %d waits for a lock, and is %+v", s.name, total, *p)
		case !waits && isHere && p.booked+p.held+p.unassigned != total:
			h.T.Errorf("%s of %d is %+v", s.name, total, *p)
		case !waits && len(p.codes) > 2:
			h.T.Errorf("%s is in several lists: %v", s.name, p.codes)
		}
	}
}

// here returns the names of the stays by the ids of their reservations.
func (h *lateHistory) here() map[string]string {
	out := map[string]string{}

	found := h.Get("/reservations?limit=250").Want(200)
	for i := range found.Len("data") {
		out[found.String(fmt.Sprintf("data.%d.id", i))] = found.String(fmt.Sprintf("data.%d.sourceId", i))
	}

	return out
}

// readBooks adds what stays have on accounts of revenue.
func (h *lateHistory) readBooks(of map[string]string, at map[string]*placed) {
	type row struct {
		Source string
		Cents  int64
	}

	h.Tx(func(ctx context.Context, tx *db.Tx) error {
		rows, err := db.Select[row](ctx, tx, `
			select e.source_id::text as source, -sum(e.cent_total)::bigint as cents from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
			where e.team_id = @team and e.status = 'active' and a.code like '4%' group by 1`, db.Args{"team": tx.Team})
		for _, r := range rows {
			if p := at[of[r.Source]]; p != nil {
				p.booked += r.Cents
			}
		}

		return err
	})
}

// readHeld adds what is held back of revenue.
func (h *lateHistory) readHeld(of map[string]string, at map[string]*placed) {
	var page struct {
		Data []struct {
			SourceID, ExternalID *string
			Entries              []struct {
				AccountName string
				Party       *string
				CentTotal   int64
			}
		}
	}

	h.Get("/journals/held-back?limit=250").Want(200).Into(&page)

	for _, d := range page.Data {
		name := ""
		if d.ExternalID != nil {
			name = *d.ExternalID
		} else if d.SourceID != nil {
			name = of[*d.SourceID]
		}

		for _, e := range d.Entries {
			if p := at[name]; p != nil && e.Party != nil {
				p.held -= e.CentTotal
			}
		}
	}
}

// readIssues adds the issues of stays.
func (h *lateHistory) readIssues(of map[string]string, at map[string]*placed) {
	var list struct {
		Data []struct {
			Code     string
			EntityID string
			Context  struct {
				ExternalID string
				CentTotal  int64
			}
		}
	}

	h.Get("/teams/issues?limit=250").Want(200).Into(&list)

	for _, d := range list.Data {
		p := at[d.Context.ExternalID]
		if p == nil {
			p = at[of[d.EntityID]]
		}

		switch {
		case p == nil:
			continue
		case d.Code == "unassignedAccount":
			p.unassigned += d.Context.CentTotal
		default:
			p.said = d.Context.CentTotal
		}

		p.codes = append(p.codes, d.Code)
	}
}
