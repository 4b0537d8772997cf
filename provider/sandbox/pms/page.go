package pms

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"stayledger/platform/day"
)

// overlap is how far a mark lies before the beginning of its reading.
const overlap = 10 * time.Minute

// maxLookup is how many reservations can be looked up at a time.
const maxLookup = 100

// cursor is where a page begins: behind a number of listings, or behind a reservation.
type cursor struct {
	listings int
	place    place
}

// write returns the text of a cursor, which holds as long as the epoch does.
func (c cursor) write(epoch int) string {
	return base64.RawURLEncoding.EncodeToString(
		fmt.Appendf(nil, "%d %d %s %s", epoch, c.listings, c.place.changed.Format(time.RFC3339Nano), c.place.id))
}

// readCursor reads the text of a cursor. It fails if the text is none of this epoch; an empty one is the beginning.
func readCursor(text string, epoch int) (cursor, *Failure) {
	if text == "" {
		return cursor{}, nil
	}

	raw, err := base64.RawURLEncoding.DecodeString(text)

	parts := strings.SplitN(string(raw), " ", 4)
	if err != nil || len(parts) != 4 || parts[0] != strconv.Itoa(epoch) {
		return cursor{}, forgotten
	}

	count, err := strconv.Atoi(parts[1])
	if err != nil || count < 0 {
		return cursor{}, forgotten
	}

	changed, err := time.Parse(time.RFC3339Nano, parts[2])
	if err != nil {
		return cursor{}, forgotten
	}

	return cursor{count, place{changed, parts[3]}}, nil
}

// writeMark returns the mark of a reading that begins now. The caller has the lock.
func (s *Server) writeMark() string {
	return cursor{place: place{changed: s.now().Add(-overlap)}}.write(s.epoch)
}

// getListings answers with a page of listings.
func (s *Server) getListings(x *exchange) (answer, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	asked := x.r.URL.Query().Get("page")

	from, failure := readCursor(asked, s.epoch)
	if failure != nil {
		return nil, failure
	}

	// A page of listings begins behind so many.
	begin := min(from.listings, len(s.listings))
	end := min(begin+*s.settings.PageSize, len(s.listings))

	page := make([]any, 0, end-begin)
	for _, l := range s.listings[begin:end] {
		page = append(page, l)
	}

	next := ""
	if end < len(s.listings) {
		next = cursor{listings: end}.write(s.epoch)
	}

	return s.spoil(x, "listings", answer{"listings": page, "next": next}, from), nil
}

// nights are the bounds of a reading.
type nights struct{ from, to *day.Day }

// readNights reads the bounds of a reading. It fails if one is no day.
func readNights(q url.Values) (nights, *Failure) {
	var n nights

	for name, into := range map[string]**day.Day{"from": &n.from, "to": &n.to} {
		if text := q.Get(name); text != "" {
			d, err := day.Parse(text)
			if err != nil {
				return nights{}, badRequest
			}

			*into = &d
		}
	}

	return n, nil
}

// has reports whether a reservation has a night within the bounds. A reservation with malformed days always has.
func (n nights) has(r *Reservation) bool {
	in, errIn := day.Parse(r.CheckIn)

	out, errOut := day.Parse(r.CheckOut)
	if errIn != nil || errOut != nil {
		return true
	}

	return (n.to == nil || !in.After(*n.to)) && (n.from == nil || out.After(*n.from))
}

// getReservations answers with a page of reservations, in ascending order of their changes. A reservation that changes
// while it is read moves to the end, and comes again.
func (s *Server) getReservations(x *exchange) (answer, *Failure) {
	q := x.r.URL.Query()

	bounds, failure := readNights(q)
	if failure != nil {
		return nil, failure
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	since, failure := readCursor(q.Get("since"), s.epoch)
	if failure != nil {
		return nil, failure
	}

	from, failure := readCursor(q.Get("page"), s.epoch)
	if failure != nil {
		return nil, failure
	}

	// A reading begins behind its mark, and continues behind the last row of the page before.
	begin := since.place
	if from.place.compare(begin) > 0 {
		begin = from.place
	}

	page, last := []any{}, cursor{}
	next, partial := "", q.Get("since") != ""

	for _, r := range s.reservations.ordered[s.reservations.after(begin):] {
		if (r.gone && (!partial || !isSet(s.settings.Tombstones))) || (!r.gone && !bounds.has(&r.Reservation)) {
			continue
		}

		if len(page) == *s.settings.PageSize {
			next = last.write(s.epoch)
			break
		}

		page = append(page, r.wire())
		last.place = r.place()
	}

	out := answer{"reservations": page, "next": next, "mark": "", "complete": !partial}

	// Only the first page has the mark: later ones would lose what changed while the pages were read.
	if q.Get("page") == "" {
		out["mark"] = s.writeMark()
	}

	return s.spoil(x, "reservations", out, cursor{place: begin}), nil
}

// lookUp answers with reservations by their ids.
func (s *Server) lookUp(x *exchange) (answer, *Failure) {
	var in struct {
		IDs []string `json:"ids"`
	}
	if !x.read(&in) || len(in.IDs) > maxLookup {
		return nil, badRequest
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	page := make([]any, 0, len(in.IDs))

	for _, id := range in.IDs {
		r := s.reservations.byID[id]
		if r == nil {
			r = &row{Reservation: Reservation{ID: id}, gone: true}
		}

		page = append(page, r.wire())
	}

	return s.spoil(x, "reservations", answer{"reservations": page}, cursor{}), nil
}

// spoil changes a page as the fault of the call says. The caller has the lock.
func (s *Server) spoil(x *exchange, list string, out answer, from cursor) answer {
	page, _ := out[list].([]any)

	switch x.fault.Mode { //nolint:exhaustive // The other modes do not change rows.
	case DuplicateIDs:
		out[list] = slices.Concat(page, page)
	case SamePage:
		out["next"] = from.write(s.epoch)
	case Unreadable:
		if len(page) > 0 {
			page[0] = map[string]any{"id": rowID(page[0]), "status": "unheardOf", "name": 5}
		}
	case Lacking:
		if len(page) > 0 {
			out[list] = page[:len(page)-1]
		}
	case Incomplete:
		out["complete"] = false
	case Shift:
		// The first row changes, and so moves behind all others.
		if r := s.reservations.byID[rowID(first(page))]; r != nil && !r.gone {
			moved := *r
			moved.ChangedAt = s.now()
			s.reservations.put(&moved)

			if out["next"] == "" {
				out["next"] = cursor{place: place{changed: moved.ChangedAt.Add(-1)}}.write(s.epoch)
			}
		}
	}

	return out
}

// first returns the first row of a page, nil if it is empty.
func first(page []any) any {
	if len(page) == 0 {
		return nil
	}

	return page[0]
}

// rowID returns the id of a row of a page, which is nothing for no row.
func rowID(r any) string {
	switch r := r.(type) {
	case Reservation:
		return r.ID
	case *Listing:
		return r.ID
	case Payout:
		return r.ID
	case map[string]any:
		id, _ := r["id"].(string)
		return id
	default:
		return ""
	}
}

// putBlock adds or replaces a block.
func (s *Server) putBlock(x *exchange) (answer, *Failure) {
	var b Block
	if !x.read(&b) {
		return nil, badRequest
	}

	begin, errBegin := day.Parse(b.StartAt)

	end, errEnd := day.Parse(b.EndAt)
	if errBegin != nil || errEnd != nil || !end.After(begin) {
		return nil, badRequest
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if !slices.ContainsFunc(s.listings, func(l *Listing) bool { return l.ID == b.ListingID }) {
		return nil, &Failure{Status: http.StatusUnprocessableEntity, Code: "listingUnknown"}
	}

	if s.isTaken(x.r.PathValue("id"), &b) {
		return nil, &Failure{Status: http.StatusUnprocessableEntity, Code: "nightsTaken"}
	}

	s.blocks[x.r.PathValue("id")] = b

	return answer{"id": x.r.PathValue("id")}, nil
}

// isTaken reports whether a guest or another block than the one with an id has nights of a block. The caller has the
// lock.
func (s *Server) isTaken(id string, b *Block) bool {
	for other, o := range s.blocks {
		if other != id && o.ListingID == b.ListingID && o.StartAt < b.EndAt && b.StartAt < o.EndAt {
			return true
		}
	}

	for _, r := range s.reservations.byID {
		o := &r.Reservation
		if !r.gone && o.Status == "booked" && o.ListingID == b.ListingID && o.CheckIn < b.EndAt &&
			b.StartAt < o.CheckOut {
			return true
		}
	}

	return false
}

// deleteBlock removes a block.
func (s *Server) deleteBlock(x *exchange) (answer, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	id := x.r.PathValue("id")
	if _, has := s.blocks[id]; !has {
		return nil, unknown
	}

	delete(s.blocks, id)

	return answer{"id": id}, nil
}
