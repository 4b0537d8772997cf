// Package reservation owns reservations: stays of guests, what they cost, and the journal that is derived from them.
//
// The journal of a reservation is a pure function of the reservation with its lines and adjustments, the mapping of its
// line types, the listing's ownership periods and recurring fees, and the fees that its deposits carried. A write of
// the reservation derives it in its own transaction; whoever changes one of the others marks it stale and leaves it to
// a task.
//
// The page docs/decisions/reservation.md says what the contract leaves open and how it is answered here.
package reservation

import (
	"errors"
	"slices"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Status says whether a booking counts.
type Status string

// The statuses of a reservation.
const (
	Booked   Status = "booked"
	Canceled Status = "canceled"
	Inactive Status = "inactive"
)

// Enum lists the statuses.
func (Status) Enum() []string { return []string{string(Booked), string(Canceled), string(Inactive)} }

// Type distinguishes the stays of guests from those of the owners themselves.
type Type string

// The types of stays.
const (
	Guest     Type = "guest"
	OwnerStay Type = "ownerStay"
)

// Enum lists the types.
func (Type) Enum() []string { return []string{string(Guest), string(OwnerStay)} }

// LedgerStatus says whether a reservation has a journal at all.
type LedgerStatus string

// The general ledger statuses.
const (
	LedgerActive   LedgerStatus = "active"
	LedgerInactive LedgerStatus = "inactive"
)

// Enum lists the general ledger statuses.
func (LedgerStatus) Enum() []string { return []string{string(LedgerActive), string(LedgerInactive)} }

// Reservation is a stay.
type Reservation struct {
	ID                     id.ID                `json:"id"`
	ShortRef               string               `json:"shortRef"`
	UniqueRef              *string              `json:"uniqueRef"`
	AppID                  *string              `json:"appId" doc:"The app that the reservation came from, such as a property management system."`
	SourceID               *string              `json:"sourceId" doc:"The reservation's own key in that app."`
	ConnectionID           *id.ID               `json:"connectionId" doc:"The connection that it came over; null for none."`
	Source                 *contact.Source      `json:"source" db:"-" doc:"The reservation at the app, and the status of the connection; null unless both connectionId and sourceId are there."`
	ListingID              id.ID                `json:"listingId"`
	Listing                listing.Ref          `json:"listing"`
	Type                   Type                 `json:"type" doc:"ownerStay is a stay of the owner; recurring fees say whether they apply to it."`
	Status                 Status               `json:"status" doc:"booked counts in full; canceled keeps its adjustments alone; inactive counts for nothing."`
	GeneralLedgerStatus    LedgerStatus         `json:"generalLedgerStatus" doc:"inactive also while nothing is posted for the reason of generalLedgerInactiveReason."`
	LedgerInactiveReason   *InactiveReason      `json:"generalLedgerInactiveReason" db:"-" enum:"beforeStatementStartDate,outsideAccountingWindow,generalLedgerDisabled" doc:"Why the service posts nothing of it; null otherwise."`
	GuestName              *string              `json:"guestName"`
	BookerName             *string              `json:"bookerName"`
	Guests                 *int64               `json:"guests"`
	ConfirmationCode       *string              `json:"confirmationCode"`
	PMSReferenceCode       *string              `json:"pmsReferenceCode"`
	CheckIn                day.Day              `json:"checkIn"`
	CheckOut               day.Day              `json:"checkOut"`
	BookedAt               *day.Day             `json:"bookedAt"`
	CancelledAt            *day.Day             `json:"cancelledAt"`
	BookingPlatform        *string              `json:"bookingPlatform" doc:"Name of the booking channel."`
	GeneralLedgerPostingAt *day.Day             `json:"generalLedgerPostingAt" doc:"Overrides the date on which the whole reservation is recognised."`
	Currency               string               `json:"currency"`
	Userdata               map[string]any       `json:"userdata"`
	Metadata               map[string]any       `json:"metadata"`
	Lines                  []Line               `json:"lines,omitzero" db:"-"`
	Adjustments            []Adjustment         `json:"adjustments,omitzero" db:"-"`
	Financials             Financials           `json:"financials" db:"-"`
	Payment                Payment              `json:"payment" db:"-"`
	JournalStatus          ledger.JournalStatus `json:"journalStatus" db:"-"`
	Lock                   ledger.Lock          `json:"lock" db:"-"`
	Issues                 []finding.Finding    `json:"issues" db:"-"`
	CreatedAt              day.Instant          `json:"createdAt"`
	UpdatedAt              day.Instant          `json:"updatedAt"`

	Operations *operation.Summary `json:"operations,omitempty" db:"-" doc:"Only in lists with include=operations."`

	// Expected is shown with the financials.
	Expected `json:"-"`

	// CancelledAtIsAssumed says that the day of the cancellation was filled in because none was given.
	CancelledAtIsAssumed bool `json:"-"`

	// ownerless is the sum that the books credit to owners although the stay has none, nil for no such sum: no day on
	// which it is recognised and none of its nights is owned.
	ownerless *money.Cents
	// outside has the findings about its records at sources.
	outside []finding.Finding
	// unposted has the part that the books leave out, nil for none.
	unposted *unposted
	// duplicates are the reservations that are the same stay, brought by other systems.
	duplicates []id.ID
}

// nights returns the length of the stay.
func (r *Reservation) nights() int { return r.CheckIn.DaysUntil(r.CheckOut) }

// posts reports whether the reservation can have a journal, whatever its accounting date is.
func (r *Reservation) posts() bool {
	return r.Status != Inactive && r.GeneralLedgerStatus == LedgerActive
}

// LineStatus says whether a line or an adjustment counts.
type LineStatus string

// The statuses of lines and adjustments.
const (
	LineActive   LineStatus = "active"
	LineInactive LineStatus = "inactive"
)

// Enum lists the statuses of lines.
func (LineStatus) Enum() []string { return []string{string(LineActive), string(LineInactive)} }

// InactiveReason says why something does not count.
type InactiveReason string

// The reasons of this package; recurring fees have more.
const (
	ReservationCancelled  InactiveReason = "reservationCancelled"
	ReservationInactive   InactiveReason = "reservationInactive"
	LineTypeExcluded      InactiveReason = "lineTypeExcluded"
	GeneralLedgerInactive InactiveReason = "generalLedgerInactive"
	OutsideWindow         InactiveReason = "outsideAccountingWindow"
	BeforeStart           InactiveReason = "beforeStatementStartDate"
	LedgerDisabled        InactiveReason = "generalLedgerDisabled"
	UnassignedAccount     InactiveReason = "unassignedAccount"
)

// Line is something that the guest pays for, or a discount when negative.
type Line struct {
	ID             id.ID                  `json:"id"`
	ReservationID  id.ID                  `json:"-"`
	UniqueRef      *string                `json:"uniqueRef"`
	Type           string                 `json:"type" doc:"rent, cleaningFee, guestFee, tax, discount, damage, other, or any type of the source, which is mapped to an account."`
	Description    *string                `json:"description"`
	Amount         money.Cents            `json:"amount"`
	AccountID      *id.ID                 `json:"accountId" doc:"Account instead of the one that the type is mapped to."`
	Status         LineStatus             `json:"status" db:"-" doc:"Inactive lines count neither in the books nor in what the guest owes."`
	InactiveReason *InactiveReason        `json:"inactiveReason" db:"-" enum:"reservationCancelled,reservationInactive,lineTypeExcluded"`
	Classification account.Classification `json:"-"`
}

// Retained is the type of lines kept after a reservation is canceled. Without their own or a mapping's account they go
// to the account assigned to cancellationRevenue.
const Retained = mapping.Retained

// inactive returns the reason why a line of some type does not count, empty if it does. The mapping is that of the
// type, nil for none.
func (r *Reservation) inactive(lineType string, m *mapping.Mapping) InactiveReason {
	switch {
	case r.Status == Inactive:
		return ReservationInactive
	case r.Status == Canceled && !mapping.IsKept(lineType):
		return ReservationCancelled
	case m != nil && m.Status == mapping.Excluded:
		return LineTypeExcluded
	default:
		return ""
	}
}

// Financials are the sums that a guest owes and has paid: active lines and active financial adjustments against
// deposits.
type Financials struct {
	Total       money.Cents `json:"total" doc:"Lines and adjustments."`
	Adjustments money.Cents `json:"adjustments" doc:"The part of total that financial adjustments make."`
	Paid        money.Cents `json:"paid"`
	Balance     money.Cents `json:"balance" doc:"total - paid: positive is still owed, negative is owed back."`
	Expected
}

// Expected is what a system says that comes of a reservation. It is compared with payouts and posted by nothing.
type Expected struct {
	ExpectedPayout        *money.Cents `json:"expectedPayout"`
	ExpectedChannelFee    *money.Cents `json:"expectedChannelFee"`
	ExpectedProcessingFee *money.Cents `json:"expectedProcessingFee"`
}

// PaymentStatus compares the received sum with the expected one.
type PaymentStatus string

// The payment statuses.
const (
	Unpaid    PaymentStatus = "unpaid"
	Underpaid PaymentStatus = "underpaid"
	Overpaid  PaymentStatus = "overpaid"
	Paid      PaymentStatus = "paid"
)

// Enum lists the payment statuses.
func (PaymentStatus) Enum() []string {
	return []string{string(Unpaid), string(Underpaid), string(Overpaid), string(Paid)}
}

// Payment says how far a reservation is paid.
type Payment struct {
	Status   PaymentStatus `json:"status"`
	Expected money.Cents   `json:"expected"`
	Received money.Cents   `json:"received"`
}

// settle computes the status of lines and adjustments from the mappings, and financials and payment from these and
// the sum that deposits paid.
func (r *Reservation) settle(mappings mapping.Set, paid money.Cents) {
	var total, adjusted money.Cents

	// Only lines that count add to the total.
	for i := range r.Lines {
		l := &r.Lines[i]

		l.Status, l.InactiveReason = LineActive, nil
		if reason := r.inactive(l.Type, mappings.Find(r.AppID, r.BookingPlatform, l.Type)); reason != "" {
			l.Status, l.InactiveReason = LineInactive, &reason
			continue
		}

		total += l.Amount
	}

	// Adjustments stay active when the reservation is canceled. Those of type fee do not change what the guest
	// owes.
	for i := range r.Adjustments {
		a := &r.Adjustments[i]

		a.Status, a.InactiveReason = LineActive, nil
		switch {
		case r.Status == Inactive:
			reason := ReservationInactive
			a.Status, a.InactiveReason = LineInactive, &reason
		case a.Type == Financial:
			adjusted += a.Amount
		}
	}

	total += adjusted
	r.Financials = Financials{
		Total: total, Adjustments: adjusted, Paid: paid, Balance: total - paid, Expected: r.Expected,
	}
	r.Payment = Payment{Status: paymentStatus(total, paid), Expected: total, Received: paid}
}

// paymentStatus compares the received sum with the expected one. If both are zero the reservation is paid.
func paymentStatus(expected, received money.Cents) PaymentStatus {
	switch {
	case received == expected:
		return Paid
	case received > expected:
		return Overpaid
	case received == 0:
		return Unpaid
	default:
		return Underpaid
	}
}

// issues returns the findings about a reservation: the sum credited to owners that the stay does not have, the part
// before the first day of the books, the same stay from another system, and each line type without an account. Lines of
// such a type are not posted.
func (r *Reservation) issues(mappings mapping.Set) []finding.Finding {
	out := []finding.Finding{}
	if r.ownerless != nil {
		out = append(out, finding.Finding{
			Code:     "ownershipPeriodMissing",
			Severity: finding.Error,
			Context: map[string]any{
				"listingId": r.ListingID, "centTotal": *r.ownerless, "currency": r.Currency,
			},
		})
	}

	out = append(out, r.outside...)

	if u := r.unposted; u != nil && u.Reason == BeforeStart && !u.Whole {
		out = append(out, u.finding(r.Currency))
	}

	if r.duplicates != nil {
		out = append(out, DuplicateFinding(r.duplicates))
	}

	// Lines need no accounts where there are no books.
	if r.LedgerInactiveReason != nil && *r.LedgerInactiveReason == LedgerDisabled {
		return out
	}

	// Each type is reported once, however many lines it has.
	var types []string

	open := map[string]money.Cents{}

	for i := range r.Lines {
		l := &r.Lines[i]
		if l.Type == Retained || mappings.Find(r.AppID, r.BookingPlatform, l.Type) != nil || l.AccountID != nil {
			continue
		}

		if !slices.Contains(types, l.Type) {
			types = append(types, l.Type)
		}

		open[l.Type] += l.Amount
	}

	for _, t := range types {
		f := finding.Finding{Code: string(UnassignedAccount), Severity: finding.Error, Context: map[string]any{
			"lineType": t, "centTotal": open[t], "currency": r.Currency,
		}}
		if t == mapping.Difference {
			f.Code = totalDeviation
			delete(f.Context, "lineType")
		}

		out = append(out, f)
	}

	return out
}

// totalDeviation is the code for a stay whose lines do not explain the total that its system states. The difference
// is a line that no account takes until a person has said what it is.
const totalDeviation = "totalDeviation"

var (
	errDuplicateUniqueRef = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "A reservation of this uniqueRef exists",
	)
	errDuplicateAdjustment = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "An adjustment of this uniqueRef exists",
	)
	errLocked = apierr.New(
		apierr.CodeForbidden, apierr.ReasonReservationLocked, "The reservation is locked by an accounting lock",
	)
	errInUse = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonInUse, "The reservation is still referenced",
	)
	errAmountRange = apierr.New(
		apierr.CodeBadRequest, "", "The amounts of the reservation and its fees exceed the safe range",
	)
)

// lockError names the reservation in a lock that refuses its change; the reasons of the lock stay in the context. Rule
// RSN-53. Other errors stay as they are.
func lockError(err error) error {
	if !ledger.IsLock(err) {
		return err
	}

	return errLocked.With(apierr.From(err).Context())
}

// IsLocked returns true for a refusal because of a lock, whether a change or a new reservation is refused.
func IsLocked(refusal error) bool { return errors.Is(refusal, errLocked) || ledger.IsLock(refusal) }
