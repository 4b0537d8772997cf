package ownerrez

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// usualPage is how many rows a page has unless it is asked for otherwise.
const usualPage = 20

// page returns a page of rows, as a query asks for it. Some lists have a link to the next page and no count, others a
// count and no link. The caller has the lock.
func (s *Server) page(x *exchange, rows []Object, links bool) Object {
	if s.settings.Links != nil {
		links = *s.settings.Links
	}

	q := x.r.URL.Query()

	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 1 {
		limit = usualPage
	}

	limit = min(limit, *s.settings.PageSize)

	offset, err := strconv.Atoi(q.Get("offset"))
	if err != nil || offset < 0 || x.fault.Mode == SamePage {
		offset = 0
	}

	begin := min(offset, len(rows))
	end := min(begin+limit, len(rows))
	out := Object{"items": append([]Object{}, rows[begin:end]...), "limit": limit, "offset": offset}

	if !links {
		out["count"] = len(rows)
		return out
	}

	out["next_page_url"] = nil

	if end < len(rows) || x.fault.Mode == SamePage {
		q.Set("offset", strconv.Itoa(end))
		q.Set("limit", strconv.Itoa(limit))
		out["next_page_url"] = s.link(x.r, q)
	}

	return out
}

// link returns the address of a list with a query, as the caller has called it.
func (*Server) link(r *http.Request, q url.Values) string {
	// The sandbox can be below a path, which is not in the URL any more.
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return "http://" + r.Host + path + "?" + q.Encode()
}

// getProperties answers with a page of properties: of those that are active, unless it is asked for the others.
func (s *Server) getProperties(x *exchange) (Object, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	wanted := x.r.URL.Query().Get("active") != "false"

	var rows []Object

	for _, o := range s.properties {
		if active, said := o["active"].(bool); wanted != (active || !said) {
			continue
		}

		row := maps.Clone(o)
		delete(row, "address")
		rows = append(rows, row)
	}

	return s.page(x, rows, false), nil
}

// getProperty answers with a property.
func (s *Server) getProperty(x *exchange) (Object, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	at := slices.IndexFunc(s.properties, func(o Object) bool { return o.id() == x.r.PathValue("id") })
	if at < 0 {
		return nil, unknown
	}

	return maps.Clone(s.properties[at]), nil
}

// getBookings answers with a page of bookings: of some properties, or with changes since an instant. One of the two
// filters is required.
func (s *Server) getBookings(x *exchange) (Object, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	q := x.r.URL.Query()
	since, properties := q.Get("since_utc"), q.Get("property_ids")

	if since == "" && properties == "" {
		return nil, badRequest
	}

	var rows []Object

	for _, r := range s.bookings {
		of := fmt.Sprint(r.object["property_id"])
		if r.object.text(changeStamp) >= since && (properties == "" || slices.Contains(strings.Split(properties, ","),
			of)) {
			rows = append(rows, r.wire(q))
		}
	}

	return s.page(x, rows, true), nil
}

// wire returns a booking as a query asks for it.
func (r *row) wire(q url.Values) Object {
	out := maps.Clone(r.object)

	for name, parameter := range map[string]string{"charges": "include_charges", "guest": "include_guest"} {
		if q.Get(parameter) != "true" {
			delete(out, name)
		}
	}

	return out
}

// getBooking answers with a booking.
func (s *Server) getBooking(x *exchange) (Object, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	r := s.byID[x.r.PathValue("id")]
	if r == nil {
		return nil, unknown
	}

	return r.wire(x.r.URL.Query()), nil
}
