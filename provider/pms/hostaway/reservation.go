package hostaway

import (
	"cmp"
	"encoding/json"

	"stayledger/platform/day"
	"stayledger/platform/money"
	"stayledger/platform/outbound"
	"stayledger/provider/pms"
)

type wireReservation struct {
	ListingID text `json:"listingMapId"`
	Status    text `json:"status"`

	ChannelID            text `json:"channelId"`
	ChannelName          text `json:"channelName"`
	ConfirmationCode     text `json:"confirmationCode"`
	ChannelReservationID text `json:"channelReservationId"`
	ReservationID        text `json:"reservationId"`

	GuestName text   `json:"guestName"`
	FirstName text   `json:"guestFirstName"`
	LastName  text   `json:"guestLastName"`
	Email     text   `json:"guestEmail"`
	Phone     text   `json:"phone"`
	Guests    number `json:"numberOfGuests"`

	Arrival            date   `json:"arrivalDate"`
	Departure          date   `json:"departureDate"`
	IsDatesUnspecified flag   `json:"isDatesUnspecified"`
	BookedAt           moment `json:"reservationDate"`
	CanceledAt         moment `json:"cancellationDate"`
	UpdatedOn          text   `json:"updatedOn"`
	LatestActivityOn   text   `json:"latestActivityOn"`

	Currency          text         `json:"currency"`
	TotalPrice        number       `json:"totalPrice"`
	ChannelCommission number       `json:"channelCommissionAmount"`
	AirbnbPayout      number       `json:"airbnbListingCancellationPayout"`
	Finance           []wireAmount `json:"financeField"`

	Units []struct {
		ListingUnitID text `json:"listingUnitId"`
	} `json:"reservationUnit"`
}

// statuses say what the statuses of the system are here. An owner stay is booked, too.
var statuses = map[text]pms.Status{
	"new":                       pms.Booked,
	"modified":                  pms.Booked,
	ownerStay:                   pms.Booked,
	"awaitingPayment":           pms.Pending,
	"awaitingGuestVerification": pms.Pending,
	"pending":                   pms.Pending,
	"unconfirmed":               pms.Pending,
	"cancelled":                 pms.Canceled,
	"inquiry":                   pms.Inquiry,
	"inquiryPreapproved":        pms.Inquiry,
	"inquiryDenied":             pms.Inactive,
	"inquiryTimedout":           pms.Inactive,
	"inquiryNotPossible":        pms.Inactive,
	"declined":                  pms.Inactive,
	"expired":                   pms.Inactive,
	"unknown":                   pms.Inactive,
}

const ownerStay = "ownerStay"

// channels are the names of channels by their numbers. Others go by the name that the system has for them.
var channels = map[text]string{
	"2000": "direct",
	"2001": "airbnb",
	"2002": "vrbo",
	"2005": "booking",
	"2007": "expedia",
	"2009": "vrbo",
	"2010": "vrbo",
	"2013": "bookingEngine",
	"2015": "ical",
	"2016": "tripadvisor",
	"2017": "wordpress",
	"2018": "airbnb",
	"2019": "marriott",
	"2020": "partner",
	"2021": "gds",
	"2022": "google",
}

// maxGuests is how many people stay at most.
const maxGuests = 10_000

// readReservation reads a reservation. It fails if it is not of the form.
func readReservation(id string, content json.RawMessage) (pms.Reservation, error) {
	var w wireReservation
	if err := pms.Unmarshal(content, &w); err != nil || !w.isSound() {
		return pms.Reservation{}, errForm
	}

	name := cmp.Or(w.GuestName.Clean(), pms.Text(string(w.FirstName+" "+w.LastName)))

	out := pms.Reservation{
		ID:        id,
		ListingID: w.listing(),
		Status:    statuses[w.Status],
		OwnerStay: w.Status == ownerStay,
		Code:      cmp.Or(w.ConfirmationCode.Clean(), w.ChannelReservationID.Clean(), w.ReservationID.Clean()),
		Channel:   cmp.Or(channels[w.ChannelID], w.ChannelName.Clean()),
		Guest:     pms.Guest{Name: name, Email: w.Email.Clean(), Phone: w.Phone.Clean()},
		CheckIn:   *w.Arrival.Day,
		CheckOut:  *w.Departure.Day,
		BookedAt:  w.BookedAt.When,
		ChangedAt: instant(cmp.Or(w.UpdatedOn, w.LatestActivityOn)),
	}

	if guests, ok := w.Guests.Whole(); ok && guests >= 0 && guests <= maxGuests {
		out.Guests = &guests
	}

	if out.Status == pms.Canceled {
		out.CanceledAt = w.CanceledAt.When
	}

	// Days that are filler are no days: the stay waits until it has some. Once it is over there will be none.
	if w.IsDatesUnspecified {
		if out.Status == pms.Canceled || out.Status == pms.Inactive {
			return pms.Reservation{}, errForm
		}

		out.Status = pms.Pending
	}

	if err := w.readMoney(&out); err != nil {
		return pms.Reservation{}, err
	}

	return out, nil
}

// isSound reports whether everything but the money is of the form.
func (w *wireReservation) isSound() bool {
	if _, known := statuses[w.Status]; !known || !isIn(w.Arrival.Day) || !isIn(w.Departure.Day) {
		return false
	}

	return outbound.Printable(string(w.ListingID), maxID/2) && w.Departure.After(*w.Arrival.Day)
}

// isIn reports whether there is a day that is a day of the calendar.
func isIn(d *day.Day) bool { return d != nil && !d.IsZero() }

// listing returns where the stay is: at a unit of the listing if it is at one only.
func (w *wireReservation) listing() string {
	id := string(w.ListingID)

	if len(w.Units) == 1 && outbound.Printable(string(w.Units[0].ListingUnitID), maxID/2) {
		return unitID(id, string(w.Units[0].ListingUnitID))
	}

	return id
}

// readMoney fills in what has an amount. An owner stay has nothing. It fails if an amount is none.
func (w *wireReservation) readMoney(out *pms.Reservation) error {
	if out.OwnerStay && w.Currency == "" {
		return nil
	}

	currency, err := money.ParseCurrency(string(w.Currency))
	if err != nil {
		return errForm
	}

	out.Currency = string(currency)

	if out.OwnerStay {
		return nil
	}

	f, err := readFinance(w.Finance, currency)
	if err != nil {
		return err
	}

	if out.Status == pms.Canceled {
		return w.readRetained(out, f, currency)
	}

	total, err := w.TotalPrice.Cents(currency)
	if err != nil {
		return err
	}

	if total != nil {
		all := *total + f.beyond()
		out.Total = &all
	}

	commission, err := w.ChannelCommission.Cents(currency)
	if err != nil {
		return err
	}

	out.Lines, out.ChannelFee, out.ProcessingFee = f.lines, f.channelFee, f.processingFee
	if out.ChannelFee == nil && commission != nil && *commission != 0 {
		fee := absolute(*commission)
		out.ChannelFee = &fee
	}

	// Amounts that are right each can have a sum that is not.
	for _, c := range []*money.Cents{out.Total, out.ChannelFee, out.ProcessingFee} {
		if c != nil && !c.Valid() {
			return errForm
		}
	}

	return nil
}

// readRetained fills in what is kept of a stay that was canceled: what the channel pays out for it, or else what the
// guest has paid and did not get back. The lines of the stay say what it would have cost, so none of them stays. It fails
// if an amount is none.
func (w *wireReservation) readRetained(out *pms.Reservation, f *finance, currency money.Currency) error {
	payout, err := w.AirbnbPayout.Cents(currency)
	if err != nil {
		return err
	}

	var kept money.Cents

	switch {
	case f.payout != 0:
		kept = f.payout
	case payout != nil && *payout != 0:
		kept = *payout
	default:
		kept = max(f.paid-absolute(f.refund), 0)
	}

	if !kept.Valid() {
		return errForm
	}

	if kept != 0 {
		out.Lines = []pms.Line{{Type: pms.Retained, Description: "Kept of the canceled stay", Amount: kept}}
	}

	return nil
}
