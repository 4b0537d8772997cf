package ownerrez

import (
	"cmp"
	"encoding/json"
	"strings"

	"stayledger/platform/day"
	"stayledger/provider/pms"
)

type wireBooking struct {
	PropertyID text  `json:"property_id"`
	Type       text  `json:"type"`
	Status     text  `json:"status"`
	IsBlock    *bool `json:"is_block"`

	Arrival   date   `json:"arrival"`
	Departure date   `json:"departure"`
	Adults    number `json:"adults"`
	Children  number `json:"children"`
	Infants   number `json:"infants"`

	Booked   text `json:"booked_utc"`
	Created  text `json:"created_utc"`
	Updated  text `json:"updated_utc"`
	Canceled text `json:"canceled_utc"`

	ListingSite  text      `json:"listing_site"`
	PlatformCode text      `json:"platform_reservation_number"`
	Email        text      `json:"platform_email_address"`
	Guest        wireGuest `json:"guest"`

	Currency text         `json:"currency_code"`
	Total    number       `json:"total_amount"`
	HostFees number       `json:"total_host_fees"`
	Charges  []wireCharge `json:"charges"`
}

type wireGuest struct {
	FirstName text `json:"first_name"`
	LastName  text `json:"last_name"`
	Emails    []struct {
		Address text `json:"address"`
	} `json:"email_addresses"`
	Phones []struct {
		Number text `json:"number"`
	} `json:"phones"`
}

// The types of bookings, in one spelling.
const (
	guestStay = "booking"
	ownerStay = "owner"
)

// blocks are the types that take nights and are no stays. The hold of a channel is a block that becomes a booking under
// the same id, so that only the present state of a row decides how it counts, never an earlier state.
var blocks = map[string]bool{"block": true, "quotehold": true, "linkedavailability": true}

// statuses say what the statuses of the system are here.
var statuses = map[string]pms.Status{
	"active": pms.Booked, "pending": pms.Pending, "canceled": pms.Canceled, "cancelled": pms.Canceled,
}

// maxGuests is how many people stay at most.
const maxGuests = 10_000

// readBooking reads a booking. It fails with a FormError.
func readBooking(id string, content json.RawMessage) (pms.Reservation, error) {
	var w wireBooking
	if err := pms.ReadForm(content, &w); err != nil {
		return pms.Reservation{}, err
	}

	if err := w.check(); err != nil {
		return pms.Reservation{}, err
	}

	kind := w.kind()

	out := pms.Reservation{
		ID:        id,
		ListingID: string(w.PropertyID),
		Status:    statuses[word(w.Status)],
		OwnerStay: kind == ownerStay,
		Block:     blocks[kind],
		CheckIn:   *w.Arrival.Day,
		CheckOut:  *w.Departure.Day,
		ChangedAt: instant(w.Updated),
	}

	// A block has neither guest nor money; one that is canceled is nothing any more.
	if out.Block {
		if out.Status == pms.Canceled {
			out.Status = pms.Inactive
		}

		return out, nil
	}

	out.Code = cmp.Or(w.PlatformCode.Clean(), "ORB"+id)
	out.Channel = strings.ToLower(w.ListingSite.Clean())
	out.Guest = w.guest()
	out.Guests = w.guests()
	out.BookedAt = pms.When{At: instant(cmp.Or(w.Booked, w.Created))}

	if out.Status == pms.Canceled {
		out.CanceledAt = pms.When{At: instant(w.Canceled)}
	}

	if err := w.readMoney(&out); err != nil {
		return pms.Reservation{}, err
	}

	return out, nil
}

// check fails with a FormError unless everything but the money is of the form.
func (w *wireBooking) check() error {
	kind := w.kind()
	_, known := statuses[word(w.Status)]

	switch {
	case w.Status == "":
		return pms.Wrong("status", pms.Missing)
	case !known:
		return pms.Wrong("status", pms.Unknown)
	case kind != guestStay && kind != ownerStay && !blocks[kind]:
		return pms.Wrong("type", pms.Unknown)
	case w.PropertyID == "":
		return pms.Wrong("property_id", pms.Missing)
	case !isID(string(w.PropertyID)):
		return pms.Wrong("property_id", pms.BadForm)
	case !isIn(w.Arrival.Day):
		return pms.Wrong("arrival", pms.Missing)
	case !isIn(w.Departure.Day):
		return pms.Wrong("departure", pms.Missing)
	case !w.Departure.After(*w.Arrival.Day):
		return pms.Wrong("departure", pms.NoNight)
	}

	return nil
}

// isIn reports whether there is a day that is a day of the calendar.
func isIn(d *day.Day) bool { return d != nil && !d.IsZero() }

// kind returns the type in one spelling. Whatever is said to be a block is one, and a row without a type is a booking.
func (w *wireBooking) kind() string {
	kind := word(w.Type)

	switch {
	case w.IsBlock != nil && *w.IsBlock && !blocks[kind]:
		return "block"
	case kind == "":
		return guestStay
	default:
		return kind
	}
}

// guest returns who stays.
func (w *wireBooking) guest() pms.Guest {
	out := pms.Guest{Name: pms.Text(string(w.Guest.FirstName + " " + w.Guest.LastName)), Email: w.Email.Clean()}

	if out.Email == "" && len(w.Guest.Emails) > 0 {
		out.Email = w.Guest.Emails[0].Address.Clean()
	}

	if len(w.Guest.Phones) > 0 {
		out.Phone = w.Guest.Phones[0].Number.Clean()
	}

	return out
}

// guests returns how many people stay, nil if the system does not say.
func (w *wireBooking) guests() *int64 {
	var (
		sum  int64
		said bool
	)

	for _, n := range []number{w.Adults, w.Children, w.Infants} {
		count, ok := n.Whole()
		if ok && count >= 0 && count <= maxGuests {
			sum += count
			said = true
		}
	}

	if !said {
		return nil
	}

	return &sum
}

// readMoney fills in what has an amount. An owner stay has nothing. It fails with a FormError.
func (w *wireBooking) readMoney(out *pms.Reservation) error {
	if out.OwnerStay && w.Currency == "" {
		return nil
	}

	currency, err := pms.ReadCurrency("currency_code", string(w.Currency))
	if err != nil {
		return err
	}

	out.Currency = string(currency)

	if out.OwnerStay {
		return nil
	}

	if out.Lines, err = readCharges(w.Charges, currency); err != nil {
		return err
	}

	if out.Total, err = w.Total.Cents(currency); err != nil {
		return pms.Wrong("total_amount", pms.NotAmount)
	}

	fees, err := w.HostFees.Cents(currency)
	if err != nil {
		return pms.Wrong("total_host_fees", pms.NotAmount)
	}

	// What the channel keeps is positive here.
	if fees != nil && *fees != 0 {
		fee := max(*fees, -*fees)
		out.ChannelFee = &fee
	}

	if out.Status == pms.Canceled {
		out.RetainTotal()
	}

	return out.CheckAmounts()
}
