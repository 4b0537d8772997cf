package ownerrez

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

	"stayledger/provider/pms"
)

// backward is the time before its creation from which a block is searched: the clock of the system can be behind ours.
const backward = 24 * time.Hour

// wireBlock has the fields of a booking that show whether it is our block.
type wireBlock struct {
	ID      text  `json:"id"`
	Type    text  `json:"type"`
	IsBlock *bool `json:"is_block"`
	Status  text  `json:"status"`
	Notes   text  `json:"notes"`
}

// isClosed reports whether it is a block that closes nights. A channel hold that became a booking is not.
func (w *wireBlock) isClosed() bool {
	b := wireBooking{Type: w.Type, IsBlock: w.IsBlock}

	return b.kind() == "block" && statuses[word(w.Status)] != pms.Canceled
}

// Block creates a booking that is a block. The system does not know our ids, so it first looks for a booking with the
// mark of the block in its notes, from an earlier request. It fails with a pms.Error, which is an ErrRefused for nights
// that are taken.
func (c *Client) Block(ctx context.Context, b *pms.Block) (string, error) {
	property, err := strconv.ParseInt(b.ListingID, 10, 64)
	if err != nil || !b.EndAt.After(b.StartAt) {
		return "", &pms.Error{Kind: pms.ErrRefused}
	}

	found, err := c.findBlocks(ctx, b)
	if err != nil {
		return "", err
	}

	if len(found) > 0 {
		return found[0], nil
	}

	body, err := json.Marshal(map[string]any{
		"property_id": property, "arrival": b.StartAt.String(), "departure": b.EndAt.String(), "is_block": true,
		"title": "Blocked", "notes": b.NoteWithMark(),
	})
	if err != nil {
		return "", fmt.Errorf("request to the system: %w", err)
	}

	var made wireBlock

	_, err = c.call(ctx, request{method: http.MethodPost, path: bookingsPath, body: body}, &made)

	// The nights can be taken by an earlier request for this block that took effect after the search.
	if errors.Is(err, pms.ErrRefused) {
		if found, again := c.findBlocks(ctx, b); again == nil && len(found) > 0 {
			return found[0], nil
		}
	}

	if err != nil {
		return "", err
	}

	if !isID(string(made.ID)) {
		return "", pms.BadAnswer("has a row without an id")
	}

	return string(made.ID), nil
}

// Unblock deletes the bookings with the mark of a block, or else the booking with its remote id. It fails with a
// pms.Error, which is an ErrRefused for an account that may not delete blocks.
func (c *Client) Unblock(ctx context.Context, b *pms.Block) error {
	found, err := c.findBlocks(ctx, b)
	if err != nil {
		return err
	}

	// A person can have removed the mark. If the block became a booking, it must stay.
	if b.RemoteID != "" && len(found) == 0 {
		w, err := c.getBlock(ctx, b.RemoteID)
		if err != nil {
			return err
		}

		if w != nil && w.isClosed() {
			found = append(found, b.RemoteID)
		}
	}

	for _, id := range found {
		if err := c.deleteBlock(ctx, id); err != nil {
			return err
		}
	}

	return nil
}

// findBlocks returns the ids of bookings with the mark of a block that close nights. It fails with a pms.Error.
func (c *Client) findBlocks(ctx context.Context, b *pms.Block) ([]string, error) {
	filters := url.Values{"property_ids": {b.ListingID}, "limit": {strconv.Itoa(pageSize)}}
	if !b.MadeAt.IsZero() {
		filters.Set("since_utc", b.MadeAt.Add(-backward).UTC().Format(time.RFC3339))
	}

	var (
		out  []string
		seen = map[string]bool{}
		left = pms.MostRecords
	)

	// A row that is repeated on a later page counts once.
	for at := (&place{query: url.Values{}}); at != nil; {
		got, err := c.readList(ctx, bookingsPath, filters, *at)
		if err != nil {
			return nil, err
		}

		if err := left.Take(len(got.Items)); err != nil {
			return nil, &pms.Error{Kind: pms.ErrEndless}
		}

		for _, content := range got.Items {
			id, err := rowID(content)
			if err != nil {
				return nil, err
			}

			var w wireBlock
			if json.Unmarshal(content, &w) != nil || seen[id] || !w.isClosed() || !strings.Contains(string(w.Notes),
				b.Mark()) {
				continue
			}

			seen[id] = true
			out = append(out, id)
		}

		at = got.behind
	}

	return out, nil
}

// getBlock returns a booking, or nil if there is none. It fails with a pms.Error.
func (c *Client) getBlock(ctx context.Context, id string) (*wireBlock, error) {
	var w wireBlock

	_, err := c.get(ctx, bookingsPath+"/"+url.PathEscape(id), nil, &w)

	switch e, is := errors.AsType[*pms.Error](err); {
	case is && e.Status == http.StatusNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}

	return &w, nil
}

// deleteBlock deletes a block. Status 404 counts as a success only if the block cannot be read either, because accounts
// without the right to delete blocks get the same status. It fails with a pms.Error.
func (c *Client) deleteBlock(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: bookingsPath + "/" + url.PathEscape(id)}, nil)
	if e, is := errors.AsType[*pms.Error](err); !is || e.Status != http.StatusNotFound {
		return err
	}

	w, again := c.getBlock(ctx, id)
	if again != nil || w == nil || !w.isClosed() {
		return again
	}

	return err
}
