package hostaway

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"stayledger/platform/outbound"
	"stayledger/provider/pms"
)

// pageSize is how many rows are asked for at a time.
const pageSize = 100

// maxOffset is how many rows are read at most: more mean that the pages do not end.
const maxOffset = 5_000_000

type wireListing struct {
	Name          text   `json:"name"`
	InternalName  text   `json:"internalListingName"`
	Address       text   `json:"address"`
	Street        text   `json:"street"`
	City          text   `json:"city"`
	State         text   `json:"state"`
	PostalCode    text   `json:"zipcode"`
	Country       text   `json:"countryCode"`
	Currency      text   `json:"currencyCode"`
	TimeZone      text   `json:"timeZoneName"`
	SpecialStatus text   `json:"specialStatus"`
	Units         []unit `json:"listingUnits"`
}

// unit is one of several places that are let as one listing.
type unit struct {
	ID     text `json:"id"`
	Name   text `json:"name"`
	Number text `json:"unitNumber"`
}

// unitID returns the id that a unit has here. Units have numbers of their own, which can be those of listings.
func unitID(listing, unit string) string { return listing + ":" + unit }

// Listings gives a page of all listings, each followed by its units. It fails with a pms.Error.
func (c *Client) Listings(ctx context.Context, page string) (*pms.ListingPage, error) {
	offset := 0

	if page != "" {
		var err error
		if offset, err = strconv.Atoi(page); err != nil || offset < 0 || offset > maxOffset {
			return nil, &pms.Error{Kind: pms.ErrCursor}
		}
	}

	path := "/listings?includeResources=1&limit=" + strconv.Itoa(pageSize) + "&offset=" + strconv.Itoa(offset)

	answer, _, err := c.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}

	list, err := answer.rows()
	if err != nil {
		return nil, err
	}

	rows, unreadable, err := pms.ReadRows(list, rowID, readListing)
	if err != nil {
		return nil, err
	}

	out := &pms.ListingPage{Listings: slices.Concat(rows...), Unreadable: unreadable}

	// The count says where the end is; without one it is behind the first page that is empty.
	offset += len(list)
	if count, ok := answer.Count.Whole(); len(list) > 0 && (!ok || int64(offset) < count) {
		out.Next = strconv.Itoa(offset)
	}

	return out, nil
}

// readListing reads a listing, and returns it and its units. It fails with a FormError.
func readListing(id string, content json.RawMessage) ([]pms.Listing, error) {
	var w wireListing
	if err := pms.ReadForm(content, &w); err != nil {
		return nil, err
	}

	l := pms.Listing{
		ID:       id,
		Name:     cmp.Or(w.InternalName.Clean(), w.Name.Clean()),
		Address:  w.address(),
		TimeZone: w.TimeZone.Clean(),
		Archived: strings.EqualFold(string(w.SpecialStatus), "archived"),
	}

	if l.Name == "" {
		return nil, pms.Wrong("name", pms.Missing)
	}

	if w.Currency != "" {
		currency, err := pms.ReadCurrency("currencyCode", string(w.Currency))
		if err != nil {
			return nil, err
		}

		l.Currency = string(currency)
	}

	out := []pms.Listing{l}

	for i, u := range w.Units {
		if !outbound.Printable(string(u.ID), maxID/2) {
			return nil, pms.Wrong("listingUnits."+strconv.Itoa(i)+".id", pms.BadForm)
		}

		// Units have the address and the currency of the listing.
		part := l
		part.ID, part.ParentID = unitID(id, string(u.ID)), id
		part.Unit = cmp.Or(u.Name.Clean(), u.Number.Clean(), string(u.ID))
		part.Name = pms.Text(l.Name + ", " + part.Unit)
		out = append(out, part)
	}

	return out, nil
}

// address returns the address, nil if the listing has none.
func (w *wireListing) address() *pms.Address {
	out := pms.Address{
		// The street is without a number in places; the whole address is better than none.
		Street:     cmp.Or(w.Street.Clean(), w.Address.Clean()),
		City:       w.City.Clean(),
		State:      w.State.Clean(),
		PostalCode: w.PostalCode.Clean(),
		Country:    pms.Country(string(w.Country)),
	}

	if out == (pms.Address{}) {
		return nil
	}

	return &out
}
