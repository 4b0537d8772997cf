package hostaway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/outbound"
	"stayledger/provider/pms"
)

// cursor is where a page of reservations begins.
type cursor struct {
	after string // the last reservation of the page before; empty for the first page
	rows  int64  // how many rows the pages before had
	all   int64  // how many rows all pages have, by the first one; 0 if it did not say
}

// String returns the text of a cursor.
func (c cursor) String() string { return fmt.Sprintf("%d/%d/%s", c.rows, c.all, c.after) }

// readCursor reads the text of a cursor. It fails with a pms.Error if it is none.
func readCursor(s string) (cursor, error) {
	if s == "" {
		return cursor{}, nil
	}

	parts := strings.SplitN(s, "/", 3)
	if len(parts) != 3 || !outbound.Printable(parts[2], maxID) {
		return cursor{}, &pms.Error{Kind: pms.ErrCursor}
	}

	rows, err := strconv.ParseInt(parts[0], 10, 64)
	all, wrong := strconv.ParseInt(parts[1], 10, 64)

	if err != nil || wrong != nil || rows < 0 || rows > maxOffset {
		return cursor{}, &pms.Error{Kind: pms.ErrCursor}
	}

	return cursor{parts[2], rows, all}, nil
}

// Reservations gives a page of reservations in the order of their changes, oldest first. One that changes meanwhile
// moves to the end and comes again. It fails with a pms.Error.
func (c *Client) Reservations(ctx context.Context, q *pms.Query) (*pms.ReservationPage, error) {
	at, err := readCursor(q.Page)
	if err != nil {
		return nil, err
	}

	query, err := reservationQuery(q, at)
	if err != nil {
		return nil, err
	}

	answer, header, err := c.call(ctx, http.MethodGet, "/reservations?"+query, nil)
	if err != nil {
		return nil, err
	}

	list, err := answer.rows()
	if err != nil {
		return nil, err
	}

	stays, unreadable, err := pms.ReadRows(list, rowID, readReservation)
	if err != nil {
		return nil, err
	}

	rows, unread, err := c.complete(ctx, stays)
	if err != nil {
		return nil, err
	}

	// What has changed is never everything.
	out := &pms.ReservationPage{Reservations: rows, Unreadable: append(unreadable, unread...), Complete: q.Since == ""}

	if q.Page == "" {
		out.Mark = mark(header)
		at.all, _ = answer.Count.Whole()
	}

	next, err := at.next(list)
	if err != nil {
		return nil, err
	}

	out.Next = next

	return out, nil
}

// reservationQuery returns the query of a page. It fails with a pms.Error if the mark is none.
func reservationQuery(q *pms.Query, at cursor) (string, error) {
	// The lines come only with the resources.
	values := url.Values{"includeResources": {"1"}, "sortOrder": {"updatedOn"}, "limit": {strconv.Itoa(pageSize)}}

	if at.after != "" {
		values.Set("afterId", at.after)
	}

	// The filter knows whole days, and not which zone they are in: a day more is asked for.
	if q.Since != "" {
		since, err := day.Parse(q.Since)
		if err != nil {
			return "", &pms.Error{Kind: pms.ErrCursor}
		}

		values.Set("latestActivityStart", since.AddDays(-1).String())
	}

	// A stay has a night within the bounds if it begins before their end and ends after their beginning.
	if q.From != nil {
		values.Set("departureStartDate", q.From.String())
	}

	if q.To != nil {
		values.Set("arrivalEndDate", q.To.String())
	}

	return values.Encode(), nil
}

// next returns the text of the next page, empty after the last one, which is the first that is empty. It fails with a
// pms.Error if the page is the one before again, or if rows are missing at the end: the system finds the page behind a
// reservation, so that one that changes just then takes the reading over those in between.
func (c cursor) next(list []json.RawMessage) (string, error) {
	if len(list) == 0 {
		if c.rows < c.all {
			return "", &pms.Error{Kind: fmt.Errorf("%w: rows moved while they were read", pms.ErrCursor)}
		}

		return "", nil
	}

	last, err := rowID(list[len(list)-1])
	if err != nil {
		return "", err
	}

	// A filter that is not known is ignored without a word, so this could go on for ever.
	if last == c.after || c.rows+int64(len(list)) > maxOffset {
		return "", pms.BadAnswer("has the page before again")
	}

	return cursor{last, c.rows + int64(len(list)), c.all}.String(), nil
}

// mark returns the day by the clock of the system when it answered, or by ours if that is earlier or the system does
// not say: a clock that is ahead must not hide what changes.
func mark(h http.Header) string {
	now := time.Now().UTC()
	if at, err := http.ParseTime(h.Get("Date")); err == nil && at.Before(now) {
		now = at.UTC()
	}

	return day.Of(now).String()
}

// Lookup gives reservations by their ids as they are now, one call for each. It fails with a pms.Error.
func (c *Client) Lookup(ctx context.Context, ids []string) ([]pms.Reservation, []pms.Unreadable, error) {
	stays, unreadable, err := pms.ReadEach(ids, func(id string) (stay, error) { return c.lookUp(ctx, id) })
	if err != nil {
		return nil, nil, err
	}

	rows, unread, err := c.complete(ctx, stays)

	return rows, append(unreadable, unread...), err
}

// lookUp gives a reservation. It fails with a pms.Error, and with a FormError for one that is not of the form.
func (c *Client) lookUp(ctx context.Context, id string) (stay, error) {
	answer, _, err := c.call(ctx, http.MethodGet, "/reservations/"+url.PathEscape(id)+"?includeResources=1", nil)
	if isAbsent(err) {
		return stay{Reservation: pms.Reservation{ID: id, Gone: true}}, nil
	}

	if err != nil {
		return stay{}, err
	}

	if got, err := rowID(answer.Result); err != nil || got != id {
		return stay{}, pms.BadAnswer("is about another reservation")
	}

	return readReservation(id, answer.Result)
}

// isAbsent reports whether an error says that there is no such thing.
func isAbsent(err error) bool {
	e, is := errors.AsType[*pms.Error](err)
	return is && e.Status == http.StatusNotFound
}
