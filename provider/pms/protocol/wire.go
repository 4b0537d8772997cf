package protocol

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"stayledger/platform/day"
	"stayledger/platform/money"
	"stayledger/platform/outbound"
	"stayledger/provider/pms"
)

// wireListings is a page of listings. Rows are kept as they came: each is read, and fails, alone.
type wireListings struct {
	Listings *[]json.RawMessage `json:"listings"`
	Next     string             `json:"next"`
}

// wireReservations is a page of reservations.
type wireReservations struct {
	Reservations *[]json.RawMessage `json:"reservations"`
	Next         string             `json:"next"`
	Mark         string             `json:"mark"`
	Complete     bool               `json:"complete"`
}

type wireListing struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	Address  *wireAddress `json:"address"`
	Currency string       `json:"currency"`
	ParentID string       `json:"parentId"`
	Unit     string       `json:"unit"`
	Archived bool         `json:"archived"`
}

type wireAddress struct {
	Street     string `json:"street"`
	City       string `json:"city"`
	State      string `json:"state"`
	PostalCode string `json:"postalCode"`
	Country    string `json:"country"`
}

type wireReservation struct {
	ID        string     `json:"id"`
	ListingID string     `json:"listingId"`
	Gone      bool       `json:"gone"`
	Status    pms.Status `json:"status"`
	OwnerStay bool       `json:"ownerStay"`
	Block     bool       `json:"block"`
	Code      string     `json:"code"`
	Channel   string     `json:"channel"`

	Guest struct {
		Name  string `json:"name"`
		Email string `json:"email"`
		Phone string `json:"phone"`
	} `json:"guest"`

	Guests        *int64     `json:"guests"`
	CheckIn       day.Day    `json:"checkIn"`
	CheckOut      day.Day    `json:"checkOut"`
	BookedAt      *day.Day   `json:"bookedAt"`
	CanceledAt    *day.Day   `json:"canceledAt"`
	Currency      string     `json:"currency"`
	Total         wireAmount `json:"total"`
	Lines         []wireLine `json:"lines"`
	ChannelFee    wireAmount `json:"channelFee"`
	ProcessingFee wireAmount `json:"processingFee"`
	ChangedAt     time.Time  `json:"changedAt"`
}

type wireLine struct {
	Type        string     `json:"type"`
	Description string     `json:"description"`
	Amount      wireAmount `json:"amount"`
}

// wireAmount is a decimal as text, empty for none.
type wireAmount string

var errForm = errors.New("not of the protocol")

// UnmarshalJSON reads a text, a number or null. It fails for everything else.
func (a *wireAmount) UnmarshalJSON(content []byte) error {
	switch first := content[0]; {
	case first == 'n':
		*a = ""
	case first == '"':
		text, err := jsontext.AppendUnquote(make([]byte, 0, 24), content)
		if err != nil || len(text) == 0 {
			return errForm
		}

		*a = wireAmount(text)
	case first == '-' || first >= '0' && first <= '9':
		*a = wireAmount(content)
	default:
		return errForm
	}

	return nil
}

// cents returns the amount in the smallest unit of a currency, nil for none. It fails for texts that are no amount.
func (a wireAmount) cents(currency money.Currency) (*money.Cents, error) {
	if a == "" {
		return nil, nil //nolint:nilnil // None is an amount that the system does not say.
	}

	cents, _, err := money.ParseDecimal(string(a), currency)
	if err != nil {
		return nil, errForm
	}

	return &cents, nil
}

// page returns the page, which was asked for by a cursor. It fails with a pms.Error.
func (w *wireListings) page(asked string) (*pms.ListingPage, error) {
	if err := checkNext(w.Next, asked); err != nil {
		return nil, err
	}

	rows, unreadable, err := readRows(w.Listings, readListing)
	if err != nil {
		return nil, err
	}

	return &pms.ListingPage{Listings: rows, Unreadable: unreadable, Next: w.Next}, nil
}

// page returns the page, which was asked for by a query. It fails with a pms.Error.
func (w *wireReservations) page(q *pms.Query) (*pms.ReservationPage, error) {
	if err := checkNext(w.Next, q.Page); err != nil {
		return nil, err
	}

	if w.Mark != "" && !outbound.Printable(w.Mark, maxCursor) {
		return nil, pms.BadAnswer("has a mark that is none")
	}

	rows, unreadable, err := w.read()
	if err != nil {
		return nil, err
	}

	// What has changed is never everything, whatever the system says.
	complete := w.Complete && q.Since == ""

	return &pms.ReservationPage{
		Reservations: rows, Unreadable: unreadable, Next: w.Next, Mark: w.Mark, Complete: complete,
	}, nil
}

// checkNext fails with a pms.Error if the next page is none, or is the page that was asked for: whoever follows that
// never ends.
func checkNext(next, asked string) error {
	switch {
	case next == "":
		return nil
	case !outbound.Printable(next, maxCursor):
		return pms.BadAnswer("has a next page that is none")
	case next == asked:
		return pms.BadAnswer("has itself as the next page")
	default:
		return nil
	}
}

// read returns the rows and the ids of those that are not of the protocol. It fails with a pms.Error.
func (w *wireReservations) read() ([]pms.Reservation, []string, error) {
	return readRows(w.Reservations, readReservation)
}

// readRows reads rows, and returns the ids of those that cannot be read; read returns the id of a row in any case. Of
// rows with the same id the last counts. It fails with a pms.Error if there is no list, or a row without an id: what it
// is about cannot be told.
func readRows[Row any](list *[]json.RawMessage, read func(json.RawMessage) (Row, string, error)) ([]Row, []string, error) {
	if list == nil {
		return nil, nil, pms.BadAnswer("has no list")
	}

	if len(*list) > maxRows {
		return nil, nil, pms.BadAnswer("has too many rows")
	}

	var (
		rows       = make([]Row, 0, len(*list))
		unreadable []string
		seen       = make(map[string]bool, len(*list))
	)

	// From the end, so that the last row of an id is met first.
	for _, content := range slices.Backward(*list) {
		row, id, err := read(content)

		switch {
		case !outbound.Printable(id, maxID):
			return nil, nil, pms.BadAnswer("has a row without an id")
		case seen[id]:
		case err != nil:
			unreadable = append(unreadable, id)
		default:
			rows = append(rows, row)
		}

		seen[id] = true
	}

	slices.Reverse(rows)
	slices.Reverse(unreadable)

	return rows, unreadable, nil
}

// readID returns the id of a row that is not of the protocol otherwise; empty if it has none.
func readID(content json.RawMessage) string {
	var key struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(content, &key) != nil {
		return ""
	}

	return key.ID
}

// readListing reads a listing, and returns its id in any case. It fails if it is not of the protocol.
func readListing(content json.RawMessage) (pms.Listing, string, error) {
	var w wireListing
	if err := pms.Unmarshal(content, &w); err != nil {
		return pms.Listing{}, readID(content), errForm
	}

	l, err := w.listing()

	return l, w.ID, err
}

// listing returns the listing. It fails if it is not of the protocol.
func (w *wireListing) listing() (pms.Listing, error) {
	l := pms.Listing{
		ID: w.ID, Name: pms.Text(w.Name), ParentID: w.ParentID, Unit: pms.Text(w.Unit), Archived: w.Archived,
	}

	if l.Name == "" || (l.ParentID != "" && !outbound.Printable(l.ParentID, maxID)) {
		return pms.Listing{}, errForm
	}

	if w.Currency != "" {
		currency, err := money.ParseCurrency(w.Currency)
		if err != nil {
			return pms.Listing{}, errForm
		}

		l.Currency = string(currency)
	}

	if a := w.Address; a != nil {
		l.Address = &pms.Address{
			Street:     pms.Text(a.Street),
			City:       pms.Text(a.City),
			State:      pms.Text(a.State),
			PostalCode: pms.Text(a.PostalCode),
			Country:    pms.Country(a.Country),
		}
	}

	return l, nil
}

// readReservation reads a reservation, and returns its id in any case. It fails if it is not of the protocol.
func readReservation(content json.RawMessage) (pms.Reservation, string, error) {
	var w wireReservation

	err := pms.Unmarshal(content, &w)
	if err != nil {
		w = wireReservation{ID: readID(content), Gone: isGone(content)}
	}

	// A reservation that is gone has nothing else.
	switch {
	case w.Gone:
		return pms.Reservation{ID: w.ID, Gone: true}, w.ID, nil
	case err != nil:
		return pms.Reservation{}, w.ID, errForm
	}

	r, err := w.reservation()

	return r, w.ID, err
}

// isGone reports whether a row says that it is gone, whatever else it has.
func isGone(content json.RawMessage) bool {
	var key struct {
		Gone bool `json:"gone"`
	}

	return json.Unmarshal(content, &key) == nil && key.Gone
}

// reservation returns the reservation. It fails if it is not of the protocol.
func (w *wireReservation) reservation() (pms.Reservation, error) {
	if !w.isSound() {
		return pms.Reservation{}, errForm
	}

	currency, err := money.ParseCurrency(w.Currency)
	if err != nil {
		return pms.Reservation{}, errForm
	}

	out := pms.Reservation{
		ID:         w.ID,
		ListingID:  w.ListingID,
		Status:     w.Status,
		OwnerStay:  w.OwnerStay,
		Block:      w.Block,
		Code:       pms.Text(w.Code),
		Channel:    pms.Text(w.Channel),
		Guest:      pms.Guest{Name: pms.Text(w.Guest.Name), Email: pms.Text(w.Guest.Email), Phone: pms.Text(w.Guest.Phone)},
		Guests:     w.Guests,
		CheckIn:    w.CheckIn,
		CheckOut:   w.CheckOut,
		BookedAt:   pms.When{Day: w.BookedAt},
		CanceledAt: pms.When{Day: w.CanceledAt},
		Currency:   string(currency),
		ChangedAt:  w.ChangedAt,
	}

	if err := w.readMoney(&out, currency); err != nil {
		return pms.Reservation{}, err
	}

	return out, nil
}

// isSound reports whether everything but the money is of the protocol.
func (w *wireReservation) isSound() bool {
	switch w.Status {
	case pms.Booked, pms.Canceled, pms.Inactive, pms.Inquiry, pms.Pending:
	default:
		return false
	}

	return outbound.Printable(w.ListingID, maxID) && !w.CheckIn.IsZero() && !w.CheckOut.IsZero() &&
		w.CheckOut.After(w.CheckIn) && (w.Guests == nil || *w.Guests >= 0 && *w.Guests <= maxGuests)
}

// maxGuests is how many people stay at most.
const maxGuests = 10_000

// maxLines is how many lines a reservation has at most.
const maxLines = 500

// readMoney fills in what has an amount. It fails if an amount is none, or a line has none.
func (w *wireReservation) readMoney(out *pms.Reservation, currency money.Currency) error {
	for into, amount := range map[**money.Cents]wireAmount{
		&out.Total: w.Total, &out.ChannelFee: w.ChannelFee, &out.ProcessingFee: w.ProcessingFee,
	} {
		cents, err := amount.cents(currency)
		if err != nil {
			return err
		}

		*into = cents
	}

	if len(w.Lines) > maxLines {
		return errForm
	}

	out.Lines = make([]pms.Line, 0, len(w.Lines))

	for i := range w.Lines {
		cents, err := w.Lines[i].Amount.cents(currency)
		if err != nil || cents == nil {
			return errForm
		}

		line := pms.Line{Type: pms.Text(w.Lines[i].Type), Description: pms.Text(w.Lines[i].Description), Amount: *cents}
		if line.Type == "" {
			line.Type = pms.Other
		}

		out.Lines = append(out.Lines, line)
	}

	return nil
}
