package hostaway

import (
	"cmp"
	"encoding/json"
	"strings"

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
	PaymentStatus     text         `json:"paymentStatus"`
	TotalPrice        number       `json:"totalPrice"`
	ChannelCommission number       `json:"channelCommissionAmount"`
	ExpectedPayout    number       `json:"airbnbExpectedPayoutAmount"`
	CancellationPaid  number       `json:"airbnbListingCancellationPayout"`
	Finance           []wireAmount `json:"financeField"`
	// These say again what fields of the finances say, and count where there is none.
	TaxAmount       number `json:"taxAmount"`
	HostTax         number `json:"airbnbOccupancyTaxAmountPaidToHost"`
	SecurityDeposit number `json:"securityDepositFee"`
	BasePrice       number `json:"airbnbListingBasePrice"`
	AirbnbCleaning  number `json:"airbnbListingCleaningFee"`
	CleaningFee     number `json:"cleaningFee"`

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

// readReservation reads a reservation. It fails with a FormError.
func readReservation(id string, content json.RawMessage) (stay, error) {
	var w wireReservation
	if err := pms.ReadForm(content, &w); err != nil {
		return stay{}, err
	}

	if err := w.check(); err != nil {
		return stay{}, err
	}

	name := cmp.Or(w.GuestName.Clean(), pms.Text(string(w.FirstName+" "+w.LastName)))

	out := stay{Reservation: pms.Reservation{
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
	}}

	if guests, ok := w.Guests.Whole(); ok && guests >= 0 && guests <= maxGuests {
		out.Guests = &guests
	}

	if out.Status == pms.Canceled {
		out.CanceledAt = w.CanceledAt.When
	}

	// Days that are filler are no days: the stay waits until it has some, and has no night. Once it is over it is
	// nothing.
	if w.IsDatesUnspecified {
		if out.Status == pms.Canceled || out.Status == pms.Inactive {
			out.Status = pms.Inactive
		} else {
			out.Status = pms.Pending
		}

		if !out.CheckOut.After(out.CheckIn) {
			out.CheckOut = out.CheckIn.AddDays(1)
		}

		return out, nil
	}

	if err := w.readMoney(&out); err != nil {
		return stay{}, err
	}

	return out, nil
}

// stay is a reservation as the system gives it.
type stay struct {
	pms.Reservation

	// lacksPayments says that the retained amount of a canceled stay depends on payments that must be asked for.
	// refunded is the refund known so far, charged the lines before the cancellation.
	lacksPayments bool
	refunded      money.Cents
	charged       []pms.Line
}

// check fails with a FormError unless everything but the money is of the form.
func (w *wireReservation) check() error {
	_, known := statuses[w.Status]

	switch {
	case !known && w.Status == "":
		return pms.Wrong("status", pms.Missing)
	case !known:
		return pms.Wrong("status", pms.Unknown)
	case !isIn(w.Arrival.Day):
		return pms.Wrong("arrivalDate", pms.Missing)
	case !isIn(w.Departure.Day):
		return pms.Wrong("departureDate", pms.Missing)
	case w.ListingID == "":
		return pms.Wrong("listingMapId", pms.Missing)
	case !outbound.Printable(string(w.ListingID), maxID/2):
		return pms.Wrong("listingMapId", pms.BadForm)
	case !bool(w.IsDatesUnspecified) && !w.Departure.After(*w.Arrival.Day):
		return pms.Wrong("departureDate", pms.NoNight)
	}

	return nil
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

// readMoney fills in what has an amount. An owner stay has nothing. It fails with a FormError.
func (w *wireReservation) readMoney(out *stay) error {
	if out.OwnerStay && w.Currency == "" {
		return nil
	}

	currency, err := pms.ReadCurrency("currency", string(w.Currency))
	if err != nil {
		return err
	}

	out.Currency = string(currency)

	if out.OwnerStay {
		return nil
	}

	f, err := readFinance(w.Finance, currency)
	if err != nil {
		return err
	}

	a, err := w.amounts(currency)
	if err != nil {
		return err
	}

	if out.Status == pms.Canceled {
		a.retain(out, f)
	} else {
		a.charge(out, f)
	}

	return out.CheckAmounts()
}

// amounts are those that a reservation says apart from the fields of its finances; nil for what it does not say.
type amounts struct {
	total, commission, payout, cancellation *money.Cents
	facts                                   []fact
	isUnpaid                                bool
}

// amounts reads them. It fails with a FormError.
func (w *wireReservation) amounts(currency money.Currency) (out amounts, err error) {
	read := func(name string, n number) *money.Cents {
		cents, wrong := n.Cents(currency)
		if wrong != nil {
			err = pms.Wrong(name, pms.NotAmount)
		}

		return cents
	}

	out = amounts{
		total: read("totalPrice", w.TotalPrice), commission: read("channelCommissionAmount", w.ChannelCommission),
		payout:       read("airbnbExpectedPayoutAmount", w.ExpectedPayout),
		cancellation: read("airbnbListingCancellationPayout", w.CancellationPaid),
		isUnpaid:     strings.EqualFold(string(w.PaymentStatus), "unpaid"),
	}

	for _, f := range []struct {
		kind  pms.LineType
		name  string
		label string
		text  number
	}{
		{pms.Rent, "airbnbListingBasePrice", "Base price", w.BasePrice},
		{pms.CleaningFee, "airbnbListingCleaningFee", "Cleaning fee", w.AirbnbCleaning},
		{pms.CleaningFee, "cleaningFee", "Cleaning fee", w.CleaningFee},
		{pms.Tax, "taxAmount", "Tax", w.TaxAmount},
		{pms.Tax, "airbnbOccupancyTaxAmountPaidToHost", "Occupancy tax paid to the host", w.HostTax},
		{pms.SecurityDeposit, "securityDepositFee", "Security deposit", w.SecurityDeposit},
	} {
		if cents := read(f.name, f.text); cents != nil {
			out.facts = append(out.facts, fact{f.kind, f.label, *cents})
		}
	}

	return out, err
}

// charge sets the lines of a stay with their total, and the fee and payout of the channel.
func (a *amounts) charge(out *stay, f *finance) {
	out.ChannelFee, out.ProcessingFee = f.channelFee, f.processingFee
	if out.ChannelFee == nil && a.commission != nil && *a.commission != 0 {
		fee := absolute(*a.commission)
		out.ChannelFee = &fee
	}

	if f.penalties != 0 {
		out.ChannelFee = plus(out.ChannelFee, f.penalties)
	}

	if a.total == nil {
		for _, l := range f.lines {
			out.Lines = append(out.Lines, l.Line)
		}

		out.Lines = append(out.Lines, f.beyond...)
	} else {
		lines, total := f.settle(*a.total, remitters[out.Channel])
		out.Lines, out.Total, out.IsTotalOwed = lines, &total, true
		out.Lines = append(out.Lines, explain(out.Difference(), lines, a.facts)...)
	}

	out.Payout = a.expectPayout(&out.Reservation, f)
}

// remitters are the channels that remit taxes outside their totals.
var remitters = map[string]bool{"airbnb": true, "vrbo": true}

// longStay is the number of nights from which channels pay out month by month.
const longStay = 28

// expectPayout returns the payout that the channel owes for a stay, nil if the system does not state it. For a long
// stay, the sum of payouts only has the months paid so far, so the stated payout for the whole stay comes first.
func (a *amounts) expectPayout(r *pms.Reservation, f *finance) *money.Cents {
	isLong := r.CheckIn.DaysUntil(r.CheckOut) >= longStay
	isSaid := a.payout != nil && *a.payout != 0

	switch {
	case isSaid && (isLong || f.payout == 0):
		return a.payout
	case f.payout == 0:
		return nil
	}

	r.Payout = &f.payout
	if isLong && r.PayoutDeviation() < 0 {
		return nil
	}

	return &f.payout
}

// retain sets the lines of a canceled stay to the retained amount: the payout of the channel, or else the payments of
// the guest less refunds. The old lines show the price before the cancellation. They count only if the retained amount
// equals them less the fee of the channel. A penalty for the cancellation is a fee of the channel.
func (a *amounts) retain(out *stay, f *finance) {
	var kept money.Cents

	isPaidOut := true

	switch {
	case f.canceled != 0:
		kept = f.canceled
	case a.cancellation != nil && *a.cancellation != 0:
		kept = *a.cancellation
	case f.hasPaid:
		kept, isPaidOut = max(f.paid-absolute(f.refund), 0), false
	default:
		isPaidOut, out.lacksPayments = false, isDirect[out.Channel] && !a.isUnpaid
	}

	for _, l := range f.beyond {
		if l.Type == pms.Resolution {
			kept += l.Amount
		}
	}

	a.charge(out, f)

	fee := out.ChannelFee
	out.charged, out.refunded = out.Lines, absolute(f.refund)
	out.Total, out.Payout = nil, nil

	// A payout is net of the fee, so add the fee for the retained amount.
	if isPaidOut && fee != nil && kept+*fee-f.penalties == out.SumOwed() {
		payout := kept - f.penalties
		kept, out.Payout = kept+*fee-f.penalties, &payout
	} else if f.penalties != 0 {
		payout := kept - f.penalties
		out.ChannelFee, out.Payout = &f.penalties, &payout
	}

	out.keep(kept)
}

// isDirect are the channels at which guests pay to the host.
var isDirect = map[string]bool{"direct": true, "bookingEngine": true, "wordpress": true}

// keep sets the lines of a stay that was canceled to an amount that is kept of it.
func (s *stay) keep(kept money.Cents) {
	s.Lines = s.charged
	if kept == 0 || s.SumOwed() != kept {
		s.RetainSum(kept)
	} else {
		s.Retain()
	}
}
