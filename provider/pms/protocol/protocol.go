// Package protocol reads property-management systems that speak our own published protocol
// (docs/guides/pms-protocol.md): whoever serves it can be connected. It is tried against our sandbox
// (provider/sandbox/pms).
package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"stayledger/platform/outbound"
	"stayledger/provider/pms"
)

// The bounds of answers.
const (
	maxID     = 200  // bytes of an identifier
	maxCursor = 1000 // bytes of a page or a mark
	maxRows   = 1000 // of a page
	maxToken  = 4000 // bytes of our own token
	// MaxLookup is how many reservations are asked for at a time.
	MaxLookup = 100
)

// The faults of an answer that is JSON and breaks a rule of the protocol. Each is a pms.Error and wraps pms.ErrAnswer.
var (
	ErrNoAccount   = pms.BadAnswer("has no account")
	ErrNoList      = pms.BadAnswer("has no list")
	ErrTooManyRows = pms.BadAnswer("has too many rows")
	ErrRowID       = pms.BadAnswer("has a row without an id")
	ErrNext        = pms.BadAnswer("has a next page that is none")
	ErrOwnNext     = pms.BadAnswer("has itself as the next page")
	ErrMark        = pms.BadAnswer("has a mark that is none")
)

// Client speaks to one system. It is safe for use by many goroutines.
type Client struct {
	base   string
	token  string
	caller *pms.Caller
}

// The protocol has messages and blocks, so its client has them, too.
var (
	_ pms.Client  = (*Client)(nil)
	_ pms.Hooks   = (*Client)(nil)
	_ pms.Blocker = (*Client)(nil)
)

// New returns a client and makes no call. It fails with a pms.SettingsError of baseUrl or token.
func New(settings, credentials json.RawMessage, o pms.Options) (*Client, error) {
	var (
		where struct {
			BaseURL string `json:"baseUrl"`
		}
		key struct {
			Token string `json:"token"`
		}
	)

	// Each fault names its field, so that a person sees which setting to correct.
	if json.Unmarshal(settings, &where) != nil {
		return nil, &pms.SettingsError{Field: "baseUrl", Problem: "is not a text"}
	}

	if json.Unmarshal(credentials, &key) != nil {
		return nil, &pms.SettingsError{Field: "token", Problem: "is not a text"}
	}

	// Check everything that goes into an address or a header.
	u, err := url.Parse(where.BaseURL)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "" || len(where.BaseURL) > maxToken:
		return nil, &pms.SettingsError{Field: "baseUrl", Problem: "is not an address such as " +
			"https://pms.example.com/stayledger"}
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, &pms.SettingsError{Field: "baseUrl", Problem: "has more than a host and a path"}
	case u.Scheme != "https" && (u.Scheme != "http" || !o.AllowPrivate):
		return nil, &pms.SettingsError{Field: "baseUrl", Problem: "does not start with https://"}
	case !outbound.Printable(key.Token, maxToken):
		return nil, &pms.SettingsError{Field: "token", Problem: "is missing or holds characters that none has"}
	}

	return &Client{base: strings.TrimSuffix(u.String(), "/"), token: key.Token, caller: pms.NewCaller(o)}, nil
}

// call sends a request and decodes its answer, unless into is nil. It fails with a pms.Error.
func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return fmt.Errorf("request to the system: %w", err)
		}
	}

	r, err := http.NewRequestWithContext(ctx, method, c.base+path, &content)
	if err != nil {
		return fmt.Errorf("request to the system: %w", err)
	}

	r.Header.Set("Authorization", "Bearer "+c.token)

	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}

	_, err = c.caller.Do(ctx, r, into)

	return err //nolint:wrapcheck // It is a pms.Error.
}

// Account returns the account of the token. It fails with a pms.Error.
func (c *Client) Account(ctx context.Context) (*pms.Account, error) {
	var w struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	if err := c.call(ctx, http.MethodGet, "/account", nil, &w); err != nil {
		return nil, err
	}

	if !outbound.Printable(w.ID, maxID) {
		return nil, ErrNoAccount
	}

	return &pms.Account{ID: w.ID, Name: pms.Text(w.Name)}, nil
}

// Listings gives a page of all listings. It fails with a pms.Error.
func (c *Client) Listings(ctx context.Context, page string) (*pms.ListingPage, error) {
	var w wireListings
	if err := c.call(ctx, http.MethodGet, "/listings"+queryString("page", page), nil, &w); err != nil {
		return nil, err
	}

	return w.readPage(page)
}

// Reservations gives a page of reservations. It fails with a pms.Error.
func (c *Client) Reservations(ctx context.Context, q *pms.Query) (*pms.ReservationPage, error) {
	from, to := "", ""
	if q.From != nil {
		from = q.From.String()
	}

	if q.To != nil {
		to = q.To.String()
	}

	var w wireReservations

	path := "/reservations" + queryString("since", q.Since, "page", q.Page, "from", from, "to", to)
	if err := c.call(ctx, http.MethodGet, path, nil, &w); err != nil {
		return nil, err
	}

	return w.readPage(q)
}

// Payouts returns a page of channel payouts. A system without payouts answers 404, 405 or 501, which means an empty
// page. It fails with a pms.Error.
func (c *Client) Payouts(ctx context.Context, q *pms.Query) (*pms.PayoutPage, error) {
	var from, to string
	if q.From != nil {
		from = q.From.String()
	}

	if q.To != nil {
		to = q.To.String()
	}

	var w wirePayouts

	err := asNotOffered(c.call(ctx, http.MethodGet, "/payouts"+queryString("since", q.Since, "page", q.Page, "from", from,
		"to", to), nil, &w))

	switch {
	case q.Page == "" && errors.Is(err, pms.ErrNotOffered):
		return &pms.PayoutPage{}, nil
	case err != nil:
		return nil, err
	}

	return w.readPage(q)
}

// asNotOffered turns the failure of a system that lacks the request into an ErrNotOffered. It returns any other error
// unchanged.
func asNotOffered(err error) error {
	e, is := errors.AsType[*pms.Error](err)
	if is && slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented},
		e.Status) {
		return &pms.Error{Kind: pms.ErrNotOffered, Status: e.Status}
	}

	return err
}

// Lookup returns reservations by id, MaxLookup in a call. Ids that the answer lacks are returned with Gone set. It
// fails with a pms.Error, which is an ErrNotOffered if the system has no lookup.
func (c *Client) Lookup(
	ctx context.Context, ids []string,
) (out []pms.Reservation, unreadable []pms.Unreadable, err error) {
	for len(ids) > 0 {
		asked := ids[:min(len(ids), MaxLookup)]
		ids = ids[len(asked):]

		var w wireReservations
		if err := c.call(ctx, http.MethodPost, "/reservations/lookup", map[string]any{"ids": asked}, &w); err != nil {
			return nil, nil, asNotOffered(err)
		}

		rows, wrong, err := w.readRows()
		if err != nil {
			return nil, nil, err
		}

		found, unread := matchAnswer(asked, rows, wrong)
		out, unreadable = append(out, found...), append(unreadable, unread...)
	}

	return out, unreadable, nil
}

// matchAnswer returns the rows of an answer for the ids that were asked for, each id once. An id without a row is gone;
// an unreadable row proves that its reservation is not.
func matchAnswer(
	asked []string, rows []pms.Reservation, unreadable []pms.Unreadable,
) (found []pms.Reservation, unread []pms.Unreadable) {
	// Index the rows by id; their order is up to the system.
	known := make(map[string]*pms.Reservation, len(rows))
	for i := range rows {
		known[rows[i].ID] = &rows[i]
	}

	wrong := make(map[string]*pms.Unreadable, len(unreadable))
	for i := range unreadable {
		wrong[unreadable[i].ID] = &unreadable[i]
	}

	done := make(map[string]bool, len(asked))

	for _, id := range asked {
		isTwice := done[id]
		done[id] = true

		switch row, broken := known[id], wrong[id]; {
		case isTwice:
		case broken != nil:
			unread = append(unread, *broken)
		case row != nil:
			found = append(found, *row)
		default:
			found = append(found, pms.Reservation{ID: id, Gone: true})
		}
	}

	return found, unread
}

// Subscribe has messages sent to an address. It fails with a pms.Error.
func (c *Client) Subscribe(ctx context.Context, to, secret string) error {
	return c.call(ctx, http.MethodPut, "/webhook", map[string]string{"url": to, "secret": secret}, nil)
}

// Unsubscribe ends the messages. It fails with a pms.Error.
func (c *Client) Unsubscribe(ctx context.Context) error {
	return ignoreAbsent(c.call(ctx, http.MethodDelete, "/webhook", nil, nil))
}

// Block keeps nights from being sold. The system knows a block by our id, so it gives none. It fails with a pms.Error.
func (c *Client) Block(ctx context.Context, b *pms.Block) (string, error) {
	return "", c.call(ctx, http.MethodPut, blockPath(b), map[string]string{
		"listingId": b.ListingID, "startAt": b.StartAt.String(), "endAt": b.EndAt.String(), "note": b.Note,
	}, nil)
}

// Unblock takes a block away. It fails with a pms.Error.
func (c *Client) Unblock(ctx context.Context, b *pms.Block) error {
	return ignoreAbsent(c.call(ctx, http.MethodDelete, blockPath(b), nil, nil))
}

// blockPath returns the path of a block.
func blockPath(b *pms.Block) string { return "/blocks/" + url.PathEscape(b.ID) }

// ignoreAbsent returns nil for status 404 of a deletion, and any other error unchanged.
func ignoreAbsent(err error) error {
	if e, is := errors.AsType[*pms.Error](err); is && e.Status == http.StatusNotFound {
		return nil
	}

	return err
}

// queryString returns the query of a request from pairs of names and values. Empty values are left out.
func queryString(pairs ...string) string {
	values := url.Values{}

	for pair := range slices.Chunk(pairs, 2) {
		if name, value := pair[0], pair[len(pair)-1]; value != "" {
			values.Set(name, value)
		}
	}

	if len(values) == 0 {
		return ""
	}

	return "?" + values.Encode()
}
