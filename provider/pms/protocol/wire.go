package protocol

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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
	TimeZone string       `json:"timeZone"`
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
	Payout        wireAmount `json:"payout"`
	ChangedAt     time.Time  `json:"changedAt"`
}

type wireLine struct {
	Type        string     `json:"type"`
	Description string     `json:"description"`
	Amount      wireAmount `json:"amount"`
}

// wireAmount is a decimal as text, empty for none.
type wireAmount string

// UnmarshalJSON reads a text, a number or null. It fails for everything else.
func (a *wireAmount) UnmarshalJSON(content []byte) error {
	switch first := content[0]; {
	case first == 'n':
		*a = ""
	case first == '"':
		text, err := jsontext.AppendUnquote(make([]byte, 0, 24), content)
		if err != nil || len(text) == 0 {
			return pms.Wrong("", pms.BadForm)
		}

		*a = wireAmount(text)
	case first == '-' || first >= '0' && first <= '9':
		*a = wireAmount(content)
	default:
		return pms.Wrong("", pms.BadForm)
	}

	return nil
}

// cents returns the amount of a field in the smallest unit of a currency, nil for none. It fails with a FormError.
func (a wireAmount) cents(field string, currency money.Currency) (*money.Cents, error) {
	if a == "" {
		return nil, nil //nolint:nilnil // None is an amount that the system does not say.
	}

	cents, _, err := money.ParseDecimal(string(a), currency)
	if err != nil {
		return nil, pms.Wrong(field, pms.NotAmount)
	}

	return &cents, nil
}

// readPage returns the page, which was asked for by a cursor. It fails with a pms.Error.
func (w *wireListings) readPage(asked string) (*pms.ListingPage, error) {
	if err := checkNext(w.Next, asked); err != nil {
		return nil, err
	}

	rows, unreadable, err := readList(w.Listings, readListing)
	if err != nil {
		return nil, err
	}

	return &pms.ListingPage{Listings: rows, Unreadable: unreadable, Next: w.Next}, nil
}

// readPage returns the page, which was asked for by a query. It fails with a pms.Error.
func (w *wireReservations) readPage(q *pms.Query) (*pms.ReservationPage, error) {
	if err := checkPlace(w.Next, w.Mark, q.Page); err != nil {
		return nil, err
	}

	rows, unreadable, err := w.readRows()
	if err != nil {
		return nil, err
	}

	// What has changed is never everything, whatever the system says.
	complete := w.Complete && q.Since == ""

	return &pms.ReservationPage{
		Reservations: rows, Unreadable: unreadable, Next: w.Next, Mark: w.Mark, Complete: complete,
	}, nil
}

// checkPlace fails with a pms.Error unless a page says where the reading goes on and how the next one begins.
func checkPlace(next, mark, asked string) error {
	if mark != "" && !isCursor(mark) {
		return ErrMark
	}

	return checkNext(next, asked)
}

// checkNext fails with a pms.Error if the next page is malformed, or is the page that was asked for, which would make
// the reading endless.
func checkNext(next, asked string) error {
	switch {
	case next == "":
		return nil
	case !isCursor(next):
		return ErrNext
	case next == asked:
		return ErrOwnNext
	default:
		return nil
	}
}

// isCursor reports whether a text can be a page or a mark: not empty, not too long, and without control characters.
// Blanks are allowed, because it goes back to the system unchanged.
func isCursor(s string) bool {
	return s != "" && len(s) <= maxCursor && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == unicode.ReplacementChar
	})
}

// readRows returns the readable and the unreadable rows. It fails with a pms.Error.
func (w *wireReservations) readRows() ([]pms.Reservation, []pms.Unreadable, error) {
	return readList(w.Reservations, readReservation)
}

// readList reads rows, and returns readable and unreadable rows separately. It fails with a pms.Error if there is no
// list, or a row without an id.
func readList[Row any](
	list *[]json.RawMessage, read func(id string, content json.RawMessage) (Row, error),
) ([]Row, []pms.Unreadable, error) {
	if list == nil {
		return nil, nil, ErrNoList
	}

	if len(*list) > maxRows {
		return nil, nil, ErrTooManyRows
	}

	return pms.ReadRows(*list, rowID, read)
}

// rowID returns the id of a row. It fails with a pms.Error if it has none: what it is about cannot be known.
func rowID(content json.RawMessage) (string, error) {
	var key struct {
		ID string `json:"id"`
	}
	if pms.Unmarshal(content, &key) != nil || !outbound.Printable(key.ID, maxID) {
		return "", ErrRowID
	}

	return key.ID, nil
}

// readListing reads a listing. It fails with a FormError.
func readListing(_ string, content json.RawMessage) (pms.Listing, error) {
	var w wireListing
	if err := pms.ReadForm(content, &w); err != nil {
		return pms.Listing{}, err
	}

	l := pms.Listing{
		ID: w.ID, Name: pms.Text(w.Name), TimeZone: pms.Text(w.TimeZone), ParentID: w.ParentID, Unit: pms.Text(w.Unit),
		Archived: w.Archived,
	}

	switch {
	case l.Name == "":
		return pms.Listing{}, pms.Wrong("name", pms.Missing)
	case l.ParentID != "" && !outbound.Printable(l.ParentID, maxID):
		return pms.Listing{}, pms.Wrong("parentId", pms.BadForm)
	}

	if w.Currency != "" {
		currency, err := readCurrency(w.Currency)
		if err != nil {
			return pms.Listing{}, err
		}

		l.Currency = string(currency)
	}

	// A faulty address is no reason to lose a listing: its texts are cut, and an unknown country is left out.
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

// readReservation reads a reservation. It fails with a FormError.
func readReservation(id string, content json.RawMessage) (pms.Reservation, error) {
	// A reservation that is gone has nothing else.
	if isGone(content) {
		return pms.Reservation{ID: id, Gone: true}, nil
	}

	var w wireReservation
	if err := pms.ReadForm(content, &w); err != nil {
		return pms.Reservation{}, err
	}

	return w.toReservation()
}

// isGone reports whether a row says that it is gone, whatever else it has.
func isGone(content json.RawMessage) bool {
	var key struct {
		Gone bool `json:"gone"`
	}

	return json.Unmarshal(content, &key) == nil && key.Gone
}

// toReservation returns the reservation in the form of package pms. It fails with a FormError.
func (w *wireReservation) toReservation() (pms.Reservation, error) {
	if err := w.check(); err != nil {
		return pms.Reservation{}, err
	}

	out := pms.Reservation{
		ID:        w.ID,
		ListingID: w.ListingID,
		Status:    w.Status,
		OwnerStay: w.OwnerStay,
		Block:     w.Block,
		Code:      pms.Text(w.Code),
		Channel:   pms.Text(w.Channel),
		Guest: pms.Guest{
			Name: pms.Text(w.Guest.Name), Email: pms.Text(w.Guest.Email),
			Phone: pms.Text(w.Guest.Phone),
		},
		Guests:     w.Guests,
		CheckIn:    w.CheckIn,
		CheckOut:   w.CheckOut,
		BookedAt:   pms.When{Day: w.BookedAt},
		CanceledAt: pms.When{Day: w.CanceledAt},
		ChangedAt:  w.ChangedAt,
	}

	// Nights without a guest have no money, and need no currency.
	if (out.Block || out.OwnerStay) && w.Currency == "" {
		return out, nil
	}

	currency, err := readCurrency(w.Currency)
	if err != nil {
		return pms.Reservation{}, err
	}

	out.Currency = string(currency)

	return out, w.readMoney(&out, currency)
}

// readCurrency reads a currency, which is in lower case. It fails with a FormError.
func readCurrency(code string) (money.Currency, error) {
	if code == "" {
		return "", pms.Wrong("currency", pms.Missing)
	}

	out, err := money.ParseCurrency(code)
	if err != nil {
		return "", pms.Wrong("currency", pms.Unknown)
	}

	return out, nil
}

// check fails with a FormError unless everything but the money is of the protocol.
func (w *wireReservation) check() error {
	switch w.Status {
	case pms.Booked, pms.Canceled, pms.Inactive, pms.Inquiry, pms.Pending:
	case "":
		return pms.Wrong("status", pms.Missing)
	default:
		return pms.Wrong("status", pms.Unknown)
	}

	switch {
	case w.ListingID == "":
		return pms.Wrong("listingId", pms.Missing)
	case !outbound.Printable(w.ListingID, maxID):
		return pms.Wrong("listingId", pms.BadForm)
	case w.CheckIn.IsZero():
		return pms.Wrong("checkIn", pms.Missing)
	case w.CheckOut.IsZero():
		return pms.Wrong("checkOut", pms.Missing)
	case !w.CheckOut.After(w.CheckIn):
		return pms.Wrong("checkOut", pms.NoNight)
	case w.Guests != nil && (*w.Guests < 0 || *w.Guests > maxGuests):
		return pms.Wrong("guests", pms.OutOfRange)
	}

	return nil
}

// maxGuests is how many people stay at most.
const maxGuests = 10_000

// maxLines is how many lines a reservation has at most.
const maxLines = 500

// readMoney fills in the amounts. A canceled stay gets only what is retained, so its status is set before. It fails
// with a FormError, also for a fee below zero, too many lines and amounts with a sum out of range.
func (w *wireReservation) readMoney(out *pms.Reservation, currency money.Currency) error {
	for _, f := range []struct {
		name       string
		text       wireAmount
		into       **money.Cents
		isPositive bool
	}{
		{"total", w.Total, &out.Total, false},
		{"payout", w.Payout, &out.Payout, false},
		{"channelFee", w.ChannelFee, &out.ChannelFee, true},
		{"processingFee", w.ProcessingFee, &out.ProcessingFee, true},
	} {
		cents, err := f.text.cents(f.name, currency)
		if err != nil {
			return err
		}

		if f.isPositive && cents != nil && *cents < 0 {
			return pms.Wrong(f.name, pms.WrongSign)
		}

		*f.into = cents
	}

	if len(w.Lines) > maxLines {
		return pms.Wrong("lines", pms.TooMany)
	}

	out.Lines = make([]pms.Line, 0, len(w.Lines))

	for i := range w.Lines {
		line, err := w.Lines[i].read(currency)
		if e, is := errors.AsType[*pms.FormError](err); is {
			return pms.Wrong("lines."+strconv.Itoa(i)+"."+e.Field, e.Fault)
		}

		out.Lines = append(out.Lines, line)
	}

	if out.Status == pms.Canceled {
		retain(out)
	}

	return out.CheckAmounts()
}

// retain makes the lines of a canceled stay what is kept of it. Where lines say so themselves, or the total is nothing,
// the others stay as they are: they do not count. Otherwise the total says how much is kept.
func retain(out *pms.Reservation) {
	says := func(l pms.Line) bool {
		return l.Type == pms.Retained || l.Type == pms.RetainedTax || l.Type == pms.RetainedDeposit
	}

	if slices.ContainsFunc(out.Lines, says) || out.Total != nil && *out.Total == 0 {
		out.Total = nil
		return
	}

	out.RetainTotal()
}

// read returns the line. It fails with a FormError.
func (w *wireLine) read(currency money.Currency) (pms.Line, error) {
	line := pms.Line{Type: pms.Text(w.Type), Description: pms.Text(w.Description)}
	if line.Type == "" {
		return line, pms.Wrong("type", pms.Missing)
	}

	cents, err := w.Amount.cents("amount", currency)

	switch {
	case err != nil:
		return line, err
	case cents == nil:
		return line, pms.Wrong("amount", pms.Missing)
	case line.Type == pms.Discount && *cents > 0:
		return line, pms.Wrong("amount", pms.WrongSign)
	}

	line.Amount = *cents

	return line, nil
}
