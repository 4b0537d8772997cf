package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
)

// Cursor is the declared query parameter of an opaque-cursor list. It belongs to one team, path and set of filters;
// with any other, or tampered with, it is refused.
type Cursor struct {
	// Position is where the page starts; empty on the first page.
	Position string
	seal     func(string) string
}

// Next returns the cursor of the page that starts at a position.
func (c Cursor) Next(position string) *string {
	text := c.seal(position)
	return &text
}

// cursor reads and authenticates the cursor of a request. It returns false if the cursor was made for another
// endpoint, team or filter. An empty text gives the first page.
func (s *Server) cursor(rc *requestContext, path string, query map[string]string, text string) (Cursor, bool) {
	// The code covers the endpoint, the team and every filter but cursor and limit.
	mac := func(key []byte, position string) []byte {
		h := hmac.New(sha256.New, key)

		names := make([]string, 0, len(query))
		for name := range query {
			if name != "cursor" && name != "limit" {
				names = append(names, name)
			}
		}

		slices.Sort(names)
		// The number of names keeps a filter from passing for the beginning of a position.
		_, _ = fmt.Fprintf(h, "%s\x00%s\x00%s\x00%d\x00", rc.plan.endpoint.ID, path, rc.scope.Team, len(names))
		for _, name := range names {
			h.Write([]byte(name + "\x00" + query[name] + "\x00"))
		}

		h.Write([]byte(position))

		return h.Sum(nil)[:16]
	}

	c := Cursor{seal: func(position string) string {
		return base64.RawURLEncoding.EncodeToString(append(mac(s.CursorKey, position), position...))
	}}
	if text == "" {
		return c, true
	}

	// Sixteen bytes of code, then the position.
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < 16 {
		return c, false
	}

	c.Position = string(raw[16:])
	made := func(key []byte) bool { return hmac.Equal(raw[:16], mac(key, c.Position)) }

	return c, made(s.CursorKey) || slices.ContainsFunc(s.FormerKeys, made)
}
