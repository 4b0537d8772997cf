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

// overlap is the time before a reading that the next reading covers again.
const overlap = 10 * time.Minute

// group is the number of listings in a request for bookings.
const group = 100

// cursor is the position of a page of bookings. A complete reading asks for one group of listings after the other.
type cursor struct {
	// after is the last listing of the groups before, listings the present group.
	after    string
	listings []string
	at       place
}

// String returns the text of a cursor.
func (c cursor) String() string {
	return url.Values{"after": {c.after}, "listings": {strings.Join(c.listings, ",")}, "at": {c.at.String()}}.Encode()
}

// readCursor reads the text of a cursor; an empty text means the beginning. It fails with a pms.Error for any other
// text.
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

	// A cursor that is not empty must name a position.
	out.after = parts.Get("after")
	if s != "" && out.after == "" && out.at.rows == 0 && out.listings == nil {
		return cursor{}, &pms.Error{Kind: pms.ErrCursor}
	}

	return out, nil
}

// Reservations returns a page of reservations: the changes since a mark, or else the reservations of all listings,
// group by group. It does not use bounds, because the description does not say which reservations they leave out. It
// fails with a pms.Error.
func (c *Client) Reservations(ctx context.Context, q *pms.Query) (*pms.ReservationPage, error) {
	at, err := readCursor(q.Page)
	if err != nil {
		return nil, err
	}

	if q.Since == "" {
		return c.readAll(ctx, at, q.Page == "")
	}

	// A malformed mark is not ours, so the reading has to begin again.
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

// readAll returns a page of the bookings of all listings. The next group begins after the last listing that was read,
// so that new or deleted listings move none of the others. It fails with a pms.Error.
func (c *Client) readAll(ctx context.Context, at cursor, first bool) (*pms.ReservationPage, error) {
	var header http.Header

	// At the end of a group, choose the next one from the present listings.
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

	// Only a full group can have another one after it.
	switch {
	case got.behind != nil:
		out.Next = cursor{at.after, at.listings, *got.behind}.String()
	case len(at.listings) == group:
		out.Next = cursor{after: at.listings[group-1]}.String()
	}

	return out, nil
}

// nextGroup returns the next listings after one, at most a group.
func nextGroup(ids []string, after string) []string {
	begin := 0
	for begin < len(ids) && ids[begin] <= after {
		begin++
	}

	return ids[begin:min(begin+group, len(ids))]
}

// readBookings loads a page of bookings that pass the filters. It returns reservations and the list, which has the
// place of the next page. It fails with a pms.Error.
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

// mark returns the time of the answer by the clock of the system, less the overlap. If our clock is earlier, or the
// answer has no time, our clock counts: a clock that is ahead must not hide changes.
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
