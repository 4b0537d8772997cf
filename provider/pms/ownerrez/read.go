package ownerrez

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"stayledger/provider/pms"
)

const bookingsPath = "/bookings"

// overlap is how much of the time before a reading is read again by the next one.
const overlap = 10 * time.Minute

// group is how many listings the bookings are asked for at a time.
const group = 100

// cursor is where a page of bookings begins. A reading of everything goes over the listings in groups.
type cursor struct {
	// after is the last listing of the groups that were read, and listings the group that is being read.
	after    string
	listings []string
	at       place
}

// String returns the text of a cursor.
func (c cursor) String() string {
	return url.Values{"after": {c.after}, "listings": {strings.Join(c.listings, ",")}, "at": {c.at.String()}}.Encode()
}

// readCursor reads the text of a cursor; an empty one is the beginning. It fails with a pms.Error if it is none.
func readCursor(s string) (cursor, error) {
	var out cursor

	parts, err := url.ParseQuery(s)
	if err != nil {
		return cursor{}, &pms.Error{Kind: pms.ErrCursor}
	}

	if out.at, err = readPlace(parts.Get("at")); err != nil {
		return cursor{}, err
	}

	if listings := parts.Get("listings"); listings != "" {
		out.listings = strings.Split(listings, ",")
	}

	// Of a page that is not the first, something is known.
	out.after = parts.Get("after")
	if s != "" && out.after == "" && out.at.rows == 0 && out.listings == nil {
		return cursor{}, &pms.Error{Kind: pms.ErrCursor}
	}

	return out, nil
}

// Reservations gives a page of reservations: what has changed since a mark, or else those of all listings, a group of
// listings at a time. It does not ask for bounds, since the description does not say what they leave out. It fails with a
// pms.Error.
func (c *Client) Reservations(ctx context.Context, q *pms.Query) (*pms.ReservationPage, error) {
	at, err := readCursor(q.Page)
	if err != nil {
		return nil, err
	}

	if q.Since == "" {
		return c.readAll(ctx, at, q.Page == "")
	}

	if _, err := time.Parse(time.RFC3339, q.Since); err != nil {
		return nil, &pms.Error{Kind: pms.ErrCursor}
	}

	out, got, err := c.readBookings(ctx, url.Values{"since_utc": {q.Since}}, at.at)
	if err != nil {
		return nil, err
	}

	if q.Page == "" {
		out.Mark = mark(got.header)
	}

	if got.behind != nil {
		out.Next = cursor{at: *got.behind}.String()
	}

	return out, nil
}

// readAll gives a page of the bookings of all listings. Which group comes next is found by the listings as they are then,
// behind the last one that was read: one that comes or goes meanwhile moves none of the others. It fails with a pms.Error.
func (c *Client) readAll(ctx context.Context, at cursor, first bool) (*pms.ReservationPage, error) {
	var header http.Header

	// Between groups the next one is looked for.
	if at.listings == nil {
		ids, h, err := c.listingIDs(ctx)
		if err != nil {
			return nil, err
		}

		header, at.listings = h, nextGroup(ids, at.after)
	}

	begun := ""
	if first {
		begun = mark(header)
	}

	if len(at.listings) == 0 {
		return &pms.ReservationPage{Mark: begun, Complete: true}, nil
	}

	out, got, err := c.readBookings(ctx, url.Values{"property_ids": {strings.Join(at.listings, ",")}}, at.at)
	if err != nil {
		return nil, err
	}

	out.Mark, out.Complete = begun, true

	switch {
	case got.behind != nil:
		out.Next = cursor{at.after, at.listings, *got.behind}.String()
	case len(at.listings) == group:
		out.Next = cursor{after: at.listings[group-1]}.String()
	}

	return out, nil
}

// nextGroup returns the listings behind one, as many as a group has at most.
func nextGroup(ids []string, after string) []string {
	begin := 0
	for begin < len(ids) && ids[begin] <= after {
		begin++
	}

	return ids[begin:min(begin+group, len(ids))]
}

// readBookings asks for a page of the bookings that pass a filter, which it adds to. It returns the page also as the list
// that it is, and fails with a pms.Error.
func (c *Client) readBookings(ctx context.Context, filters url.Values, at place) (*pms.ReservationPage, *list, error) {
	filters.Set("limit", strconv.Itoa(pageSize))
	filters.Set("include_charges", "true")
	filters.Set("include_guest", "true")

	got, err := c.readList(ctx, bookingsPath, filters, at)
	if err != nil {
		return nil, nil, err
	}

	rows, unreadable, err := pms.ReadRows(got.Items, rowID, readBooking)
	if err != nil {
		return nil, nil, err
	}

	return &pms.ReservationPage{Reservations: rows, Unreadable: unreadable}, got, nil
}

// mark returns the clock of the system when it answered, less the overlap. It is ours if that is earlier or the system does
// not say: a clock that is ahead must not hide what changes.
func mark(h http.Header) string {
	now := time.Now().UTC()
	if at, err := http.ParseTime(h.Get("Date")); err == nil && at.Before(now) {
		now = at.UTC()
	}

	return now.Add(-overlap).Format(time.RFC3339)
}

// Lookup gives reservations by their ids as they are now, one call for each. It fails with a pms.Error.
func (c *Client) Lookup(ctx context.Context, ids []string) ([]pms.Reservation, []pms.Unreadable, error) {
	return pms.ReadEach(ids, func(id string) (pms.Reservation, error) { return c.lookUp(ctx, id) })
}

// lookUp gives a reservation. It fails with a pms.Error, and with a FormError for one that is not of the form.
func (c *Client) lookUp(ctx context.Context, id string) (pms.Reservation, error) {
	var content json.RawMessage

	query := url.Values{"include_charges": {"true"}, "include_guest": {"true"}}

	_, err := c.get(ctx, bookingsPath+"/"+url.PathEscape(id), query, &content)

	switch {
	case isAbsent(err):
		return pms.Reservation{ID: id, Gone: true}, nil
	case err != nil:
		return pms.Reservation{}, err
	}

	if got, err := rowID(content); err != nil || got != id {
		return pms.Reservation{}, pms.BadAnswer("is about another reservation")
	}

	return readBooking(id, content)
}
