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

// isFrom reports whether our block closes the night: its note has the mark of the block.
func (n *night) isFrom(b *pms.Block) bool {
	return !bool(n.IsAvailable) && strings.Contains(string(n.Note), b.Mark())
}

// Block closes nights. The system has no blocks, only notes of nights, which get the mark of the block. It fails with a
// pms.Error, which is an ErrRefused for nights that are closed already, and for a unit of a listing, because the system
// can only close all units at once.
func (c *Client) Block(ctx context.Context, b *pms.Block) (string, error) {
	before, err := c.loadNights(ctx, b)
	if err != nil {
		return "", err
	}

	// First check that every night is free, or closed by an earlier request for this block.
	missing := false

	for d := b.StartAt; d.Before(b.EndAt); d = d.AddDays(1) {
		n := before[d]
		if !bool(n.IsAvailable) && !n.isFrom(b) {
			return "", &pms.Error{Kind: pms.ErrRefused}
		}

		missing = missing || bool(n.IsAvailable)
	}

	// If the answer to an earlier request was lost, the day after the block can be closed, too. Open it.
	if n := before[b.EndAt]; n.isFrom(b) {
		if err := c.setNights(ctx, b, stretch{b.EndAt, b.EndAt, true, ""}, before); err != nil {
			return "", err
		}

		before[b.EndAt] = night{Date: n.Date, IsAvailable: true}
	}

	if !missing {
		return "", nil
	}

	return "", c.setNights(ctx, b, stretch{b.StartAt, b.EndAt.AddDays(-1), false, b.NoteWithMark()}, before)
}

// Unblock opens the nights that a block has closed. Nights that somebody else has closed stay closed. It fails with a
// pms.Error.
func (c *Client) Unblock(ctx context.Context, b *pms.Block) error {
	before, err := c.loadNights(ctx, b)
	if err != nil {
		return err
	}

	// Each run of our nights is one call. The day after the block is included, because it may have been closed by
	// mistake.
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

// loadNights returns the present state of the nights of a block, and of two days after it. It fails with a pms.Error,
// which is an ErrRefused for a unit of a listing.
func (c *Client) loadNights(ctx context.Context, b *pms.Block) (map[day.Day]night, error) {
	if strings.Contains(b.ListingID, ":") || !b.EndAt.After(b.StartAt) {
		return nil, &pms.Error{Kind: pms.ErrRefused}
	}

	query := url.Values{"startDate": {b.StartAt.String()}, "endDate": {b.EndAt.AddDays(1).String()}}.Encode()

	answer, _, err := c.call(ctx, http.MethodGet, calendarPath(b)+"?"+query, nil)
	if err != nil {
		return nil, err
	}

	out, err := answer.readNights()
	if err != nil {
		return nil, err
	}

	// The state of a night decides whether we may change it, so every night must be in the answer.
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

// stretch sets the state of the days from first to last.
type stretch struct {
	first, last day.Day
	available   bool
	note        string
}

// setNights opens or closes nights. The description of the system does not say whether the end date is included. We
// assume that it is; if the answer shows that one day more was changed, that day is set back. It fails with a
// pms.Error.
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

	// Only the next day can have been changed by mistake.
	behind := s.last.AddDays(1)

	was, known := before[behind]
	if _, surplus := changed[behind]; !surplus || !known {
		return nil
	}

	return c.putBack(ctx, b, behind, was)
}

// putBack sets a day back to its state before. It fails with a pms.Error.
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

// putNights changes days of a listing, and returns the days that the system has changed. It fails with a pms.Error.
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

	return answer.readNights()
}

// readNights returns the days of an answer. It fails with a pms.Error.
func (e *envelope) readNights() (map[day.Day]night, error) {
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
