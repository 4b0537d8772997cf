package hostaway

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
)

// limit returns how many rows a page has. The caller has the lock.
func (s *Server) limit(q url.Values) int {
	asked, err := strconv.Atoi(q.Get("limit"))
	if err != nil || asked < 1 {
		asked = pageSize
	}

	return min(asked, *s.settings.PageSize)
}

// getListings answers with a page of listings.
func (s *Server) getListings(x *exchange) (Object, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	q := x.r.URL.Query()

	offset, err := strconv.Atoi(q.Get("offset"))
	if err != nil || offset < 0 || x.fault.Mode == SamePage {
		offset = 0
	}

	begin := min(offset, len(s.listings))
	out := success(slices.Clone(s.listings[begin:min(begin+s.limit(q), len(s.listings))]))
	out["count"], out["limit"], out["offset"] = len(s.listings), s.limit(q), offset

	return out, nil
}

// getReservations answers with a page of reservations. A reservation that changes while they are read moves.
func (s *Server) getReservations(x *exchange) (Object, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	q := x.r.URL.Query()

	// Newest first, unless it is asked for otherwise.
	all := slices.Clone(s.reservations)
	if q.Get("sortOrder") != "updatedOn" {
		slices.Reverse(all)
	}

	// A page begins behind a reservation, wherever that is by now.
	begin := 0
	if after := q.Get("afterId"); after != "" && x.fault.Mode != SamePage {
		begin = slices.IndexFunc(all, func(r *row) bool { return r.id == after }) + 1
		if begin == 0 {
			begin = len(all)
		}
	}

	page, count := []Object{}, 0

	for i, r := range all {
		if !matches(q, r.object) {
			continue
		}

		count++

		if i >= begin && len(page) < s.limit(q) {
			page = append(page, r.wire(q))
		}
	}

	out := success(page)
	out["count"], out["limit"], out["offset"] = count, s.limit(q), nil

	return out, nil
}

// matches reports whether a reservation passes the filters of a query. Filters that are not known are ignored.
func matches(q url.Values, r Object) bool {
	for name, passes := range map[string]func(bound string) bool{
		"latestActivityStart": func(bound string) bool { return r.text("latestActivityOn") >= bound },
		"arrivalEndDate":      func(bound string) bool { return r.text("arrivalDate") <= bound },
		"departureStartDate":  func(bound string) bool { return r.text("departureDate") >= bound },
	} {
		if bound := q.Get(name); bound != "" && !passes(bound) {
			return false
		}
	}

	return true
}

// wire returns a reservation as a query asks for it.
func (r *row) wire(q url.Values) Object {
	out := maps.Clone(r.object)
	if q.Get("includeResources") != "1" {
		delete(out, "financeField")
		delete(out, "reservationUnit")
	}

	return out
}

// getReservation answers with a reservation.
func (s *Server) getReservation(x *exchange) (Object, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	r := s.byID[x.r.PathValue("id")]
	if r == nil {
		return nil, unknown
	}

	return success(r.wire(x.r.URL.Query())), nil
}

// listCharges answers with the payments of the guest of a reservation.
func (s *Server) listCharges(x *exchange) (Object, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return success(append([]Object{}, s.charges[x.r.URL.Query().Get("reservationId")]...)), nil
}

// getFinance answers with the finances of a reservation.
func (s *Server) getFinance(x *exchange) (Object, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	r := s.byID[x.r.PathValue("id")]
	if r == nil {
		return nil, unknown
	}

	return success(r.object["financeField"]), nil
}
