package ownerrez

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"stayledger/provider/pms"
)

const propertiesPath = "/properties"

// listingPage is how many listings are asked for at a time: each takes a call of its own for its address.
const listingPage = 20

type wireListing struct {
	Name     text          `json:"name"`
	Active   *bool         `json:"active"`
	Currency text          `json:"currency_code"`
	TimeZone text          `json:"time_zone"`
	Address  *wireAddress  `json:"address"`
	All      []wireAddress `json:"addresses"`
}

type wireAddress struct {
	Line       text `json:"address"`
	Street1    text `json:"street1"`
	Street2    text `json:"street2"`
	City       text `json:"city"`
	State      text `json:"state"`
	Province   text `json:"province"`
	PostalCode text `json:"postal_code"`
	Country    text `json:"country"`
}

// states are the values of the filter of listings, in the order of reading. Without the filter the system leaves out
// those that are not active.
var states = []string{"true", "false"}

// Listings gives a page of all listings: first of the active ones, then of the others. It fails with a pms.Error.
func (c *Client) Listings(ctx context.Context, page string) (*pms.ListingPage, error) {
	active, rest, _ := strings.Cut(cmp.Or(page, states[0]), "/")
	if !slices.Contains(states, active) {
		return nil, &pms.Error{Kind: pms.ErrCursor}
	}

	at, err := readPlace(rest)
	if err != nil {
		return nil, err
	}

	filters := url.Values{"limit": {strconv.Itoa(listingPage)}, "active": {active}}

	got, err := c.readList(ctx, propertiesPath, filters, at)
	if err != nil {
		return nil, err
	}

	rows, unreadable, err := pms.ReadRows(got.Items, rowID, readListing)
	if err != nil {
		return nil, err
	}

	if err := c.fillDetails(ctx, rows); err != nil {
		return nil, err
	}

	out := &pms.ListingPage{Listings: rows, Unreadable: unreadable}

	switch {
	case got.behind != nil:
		out.Next = active + "/" + got.behind.String()
	case active == states[0]:
		out.Next = states[1]
	}

	return out, nil
}

// fillDetails asks for the addresses and time zones of listings, which lists can be without. It fails with a pms.Error.
func (c *Client) fillDetails(ctx context.Context, rows []pms.Listing) error {
	for i := range rows {
		l := &rows[i]
		if l.Address != nil {
			continue
		}

		details, err := c.readDetails(ctx, l.ID)
		if err != nil {
			return err
		}

		l.Address, l.TimeZone = details.address(), cmp.Or(l.TimeZone, details.TimeZone.Clean())
	}

	return nil
}

// readListing reads a listing. It fails with a FormError.
func readListing(id string, content json.RawMessage) (pms.Listing, error) {
	var w wireListing
	if err := pms.ReadForm(content, &w); err != nil {
		return pms.Listing{}, err
	}

	out := pms.Listing{
		ID: id, Name: w.Name.Clean(), Address: w.address(), TimeZone: w.TimeZone.Clean(), Archived: w.Active != nil &&
			!*w.Active,
	}
	if out.Name == "" {
		return pms.Listing{}, pms.Wrong("name", pms.Missing)
	}

	if w.Currency != "" {
		currency, err := pms.ReadCurrency("currency_code", string(w.Currency))
		if err != nil {
			return pms.Listing{}, err
		}

		out.Currency = string(currency)
	}

	return out, nil
}

// readDetails asks for a listing. Fields that cannot be read are absent, because the rest is worth more; all are
// absent if the listing was deleted meanwhile. It fails with a pms.Error, also for an answer about another listing.
func (c *Client) readDetails(ctx context.Context, id string) (w wireListing, err error) {
	var content json.RawMessage

	_, err = c.get(ctx, propertiesPath+"/"+url.PathEscape(id), nil, &content)

	switch {
	// It was deleted since the list was read.
	case isAbsent(err):
		return w, nil
	case err != nil:
		return w, err
	}

	if got, err := rowID(content); err != nil || got != id {
		return w, pms.BadAnswer("is about another listing")
	}

	_ = json.Unmarshal(content, &w) // What cannot be read is absent.

	return w, nil
}

// address returns the address, nil if the listing has none.
func (w *wireListing) address() *pms.Address {
	a := w.Address
	if a == nil && len(w.All) > 0 {
		a = &w.All[0]
	}

	if a == nil {
		return nil
	}

	street := cmp.Or(strings.TrimSpace(string(a.Street1+" "+a.Street2)), string(a.Line))

	out := pms.Address{
		Street:     pms.Text(street),
		City:       a.City.Clean(),
		State:      cmp.Or(a.State.Clean(), a.Province.Clean()),
		PostalCode: a.PostalCode.Clean(),
		Country:    pms.Country(string(a.Country)),
	}

	if out == (pms.Address{}) {
		return nil
	}

	return &out
}

// listingIDs asks for the ids of all listings, in the order of their texts. It returns the headers of the first answer,
// and fails with a pms.Error.
func (c *Client) listingIDs(ctx context.Context) ([]string, http.Header, error) {
	var (
		ids   []string
		first http.Header
		left  = pms.MostListings
	)

	for _, active := range states {
		filters := url.Values{"limit": {strconv.Itoa(pageSize)}, "active": {active}}

		for at := new(place); at != nil; {
			got, err := c.readList(ctx, propertiesPath, filters, *at)
			if err != nil {
				return nil, nil, err
			}

			if err := left.Take(len(got.Items)); err != nil {
				return nil, nil, &pms.Error{Kind: pms.ErrEndless}
			}

			if first == nil {
				first = got.header
			}

			for _, row := range got.Items {
				id, err := rowID(row)
				if err != nil {
					return nil, nil, err
				}

				ids = append(ids, id)
			}

			at = got.behind
		}
	}

	slices.Sort(ids)

	return slices.Compact(ids), first, nil
}

// isAbsent reports whether an error says that there is no such thing.
func isAbsent(err error) bool {
	e, is := errors.AsType[*pms.Error](err)
	return is && e.Status == http.StatusNotFound
}
