package hostaway

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"stayledger/platform/day"
	"stayledger/provider/pms"
)

// night is a day of a calendar.
type night struct {
	Date        date `json:"date"`
	IsAvailable flag `json:"isAvailable"`
	Note        text `json:"note"`
}

// Block keeps nights from being sold. The system keeps no blocks, only nights: one that changes is freed first. It fails
// with a pms.Error, which is an ErrRefused for a unit of a listing: the system closes only all units of it.
func (c *Client) Block(ctx context.Context, b *pms.Block) error { return c.setNights(ctx, b, false) }

// Free lets the nights of a block be sold again. It succeeds if they can be already. It fails with a pms.Error.
func (c *Client) Free(ctx context.Context, b *pms.Block) error { return c.setNights(ctx, b, true) }

// setNights makes the nights of a block available or not. The description does not say whether the last day that it is
// given is changed, too: it is taken to be, and a day more that was changed is put back. It fails with a pms.Error.
func (c *Client) setNights(ctx context.Context, b *pms.Block, available bool) error {
	if strings.Contains(b.ListingID, ":") || !b.EndAt.After(b.StartAt) {
		return &pms.Error{Kind: pms.ErrRefused}
	}

	// What the days are before says how a day more is put back.
	query := url.Values{"startDate": {b.StartAt.String()}, "endDate": {b.EndAt.String()}}.Encode()

	answer, _, err := c.call(ctx, http.MethodGet, calendarPath(b)+"?"+query, nil)
	if err != nil {
		return err
	}

	before, err := answer.nights()
	if err != nil {
		return err
	}

	note := pms.Text(b.Note)
	if available {
		note = ""
	}

	changed, err := c.putNights(ctx, b, stretch{b.StartAt, b.EndAt.AddDays(-1), available, note})
	if err != nil {
		return err
	}

	for d := b.StartAt; d.Before(b.EndAt); d = d.AddDays(1) {
		if got, there := changed[d]; !there || bool(got.IsAvailable) != available {
			return pms.BadAnswer("has not all nights of a block")
		}
	}

	// The one day that can be too many is that of the end.
	was, known := before[b.EndAt]
	if _, surplus := changed[b.EndAt]; !surplus || !known {
		return nil
	}

	return c.putBack(ctx, b, was)
}

// putBack makes the day after a block what it was. It fails with a pms.Error.
func (c *Client) putBack(ctx context.Context, b *pms.Block, was night) error {
	got, err := c.putNights(ctx, b, stretch{b.EndAt, b.EndAt, bool(was.IsAvailable), was.Note.Clean()})
	if err != nil {
		return err
	}

	if now, there := got[b.EndAt]; !there || now.IsAvailable != was.IsAvailable {
		return pms.BadAnswer("has a night too many")
	}

	return nil
}

// calendarPath returns the path of the calendar of a block's listing.
func calendarPath(b *pms.Block) string {
	return "/listings/" + url.PathEscape(b.ListingID) + "/calendar"
}

// stretch is what days from a first to a last one become.
type stretch struct {
	first, last day.Day
	available   bool
	note        string
}

// putNights changes the days of a listing, and returns those that the system has changed. It fails with a pms.Error.
func (c *Client) putNights(ctx context.Context, b *pms.Block, s stretch) (map[day.Day]night, error) {
	open := 0
	if s.available {
		open = 1
	}

	answer, _, err := c.call(ctx, http.MethodPut, calendarPath(b), map[string]any{
		"startDate": s.first.String(), "endDate": s.last.String(), "isAvailable": open, "note": s.note,
	})
	if err != nil {
		return nil, err
	}

	return answer.nights()
}

// nights returns the days of an answer. It fails with a pms.Error.
func (e *envelope) nights() (map[day.Day]night, error) {
	list, err := e.rows()
	if err != nil {
		return nil, err
	}

	out := make(map[day.Day]night, len(list))

	for _, content := range list {
		var n night
		if json.Unmarshal(content, &n) != nil || n.Date.Day == nil {
			return nil, pms.BadAnswer("has a day that is none")
		}

		out[*n.Date.Day] = n
	}

	return out, nil
}
