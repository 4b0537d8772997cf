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

// isFrom reports whether a night is closed by a block of ours: its note has the mark of the block.
func (n *night) isFrom(b *pms.Block) bool {
	return !bool(n.IsAvailable) && strings.Contains(string(n.Note), b.Mark())
}

// Block keeps nights from being sold. The system keeps no blocks, only nights with a note, which has the mark of the block.
// It fails with a pms.Error, which is an ErrRefused for nights that are closed already, and for a unit of a listing: the
// system closes only all units of it.
func (c *Client) Block(ctx context.Context, b *pms.Block) (string, error) {
	before, err := c.nights(ctx, b)
	if err != nil {
		return "", err
	}

	missing := false

	for d := b.StartAt; d.Before(b.EndAt); d = d.AddDays(1) {
		n := before[d]
		if !bool(n.IsAvailable) && !n.isFrom(b) {
			return "", &pms.Error{Kind: pms.ErrRefused}
		}

		missing = missing || bool(n.IsAvailable)
	}

	// A day more that an earlier request has closed, whose answer was lost, is opened again.
	if n := before[b.EndAt]; n.isFrom(b) {
		if err := c.setNights(ctx, b, stretch{b.EndAt, b.EndAt, true, ""}, before); err != nil {
			return "", err
		}

		before[b.EndAt] = night{Date: n.Date, IsAvailable: true}
	}

	if !missing {
		return "", nil
	}

	return "", c.setNights(ctx, b, stretch{b.StartAt, b.EndAt.AddDays(-1), false, b.MarkedNote()}, before)
}

// Unblock lets the nights that a block has closed be sold again. Those that somebody else has closed stay. It succeeds if
// there is none, and fails with a pms.Error.
func (c *Client) Unblock(ctx context.Context, b *pms.Block) error {
	before, err := c.nights(ctx, b)
	if err != nil {
		return err
	}

	// Each stretch of nights that are ours is one call. The day after the block can be one that was closed too many.
	for first := b.StartAt; !first.After(b.EndAt); first = first.AddDays(1) {
		last := first
		for n := before[last]; n.isFrom(b) && !last.After(b.EndAt); n = before[last] {
			last = last.AddDays(1)
		}

		if last == first {
			continue
		}

		if err := c.setNights(ctx, b, stretch{first, last.AddDays(-1), true, ""}, before); err != nil {
			return err
		}

		first = last
	}

	return nil
}

// nights returns the days of a block as they are, and the two behind it. It fails with a pms.Error, which is an ErrRefused
// for a unit of a listing.
func (c *Client) nights(ctx context.Context, b *pms.Block) (map[day.Day]night, error) {
	if strings.Contains(b.ListingID, ":") || !b.EndAt.After(b.StartAt) {
		return nil, &pms.Error{Kind: pms.ErrRefused}
	}

	query := url.Values{"startDate": {b.StartAt.String()}, "endDate": {b.EndAt.AddDays(1).String()}}.Encode()

	answer, _, err := c.call(ctx, http.MethodGet, calendarPath(b)+"?"+query, nil)
	if err != nil {
		return nil, err
	}

	out, err := answer.nights()
	if err != nil {
		return nil, err
	}

	// What a day is decides whether it may be changed, so none may be missing.
	for d := b.StartAt; d.Before(b.EndAt); d = d.AddDays(1) {
		if _, there := out[d]; !there {
			return nil, pms.BadAnswer("has not all nights of a block")
		}
	}

	return out, nil
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

// setNights makes nights available or not. The description does not say whether the last day that it is given is changed,
// too: it is taken to be, and a day more that was changed is put back to what it was before. It fails with a pms.Error.
func (c *Client) setNights(ctx context.Context, b *pms.Block, s stretch, before map[day.Day]night) error {
	changed, err := c.putNights(ctx, b, s)
	if err != nil {
		return err
	}

	for d := s.first; !d.After(s.last); d = d.AddDays(1) {
		if got, there := changed[d]; !there || bool(got.IsAvailable) != s.available {
			return pms.BadAnswer("has not all nights of a block")
		}
	}

	// The one day that can be too many is the next one.
	behind := s.last.AddDays(1)

	was, known := before[behind]
	if _, surplus := changed[behind]; !surplus || !known {
		return nil
	}

	return c.putBack(ctx, b, behind, was)
}

// putBack makes a day what it was. It fails with a pms.Error.
func (c *Client) putBack(ctx context.Context, b *pms.Block, at day.Day, was night) error {
	got, err := c.putNights(ctx, b, stretch{at, at, bool(was.IsAvailable), was.Note.Clean()})
	if err != nil {
		return err
	}

	if now, there := got[at]; !there || now.IsAvailable != was.IsAvailable {
		return pms.BadAnswer("has a night too many")
	}

	return nil
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
