// Package reservation owns reservations: stays of guests, what they cost, and the journal that is derived from them.
//
// The journal of a reservation is a pure function of the reservation, the mapping of its line types, the listing's ownership periods and
// recurring fees, and the fees that its deposits carried. Whoever changes one of these calls Refresh in the same transaction.
package reservation

import (
	"stayledger/domain/account"
	"stayledger/domain/ledger"
	"stayledger/domain/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Status is what became of a booking.
type Status string

// The statuses of a reservation.
const (
	Booked   Status = "booked"
	Canceled Status = "canceled"
	Inactive Status = "inactive"
)

// Enum lists the statuses.
func (Status) Enum() []string { return []string{string(Booked), string(Canceled), string(Inactive)} }

// LedgerStatus says whether a reservation has a journal at all.
type LedgerStatus string

// The general ledger statuses.
const (
	LedgerActive   LedgerStatus = "active"
	LedgerInactive LedgerStatus = "inactive"
)

// Enum lists the general ledger statuses.
func (LedgerStatus) Enum() []string { return []string{string(LedgerActive), string(LedgerInactive)} }

// discount is the line type whose amounts are negative.
const discount = "discount"

// ListingRef is the listing of a reservation.
type ListingRef struct {
	ID        id.ID   `json:"id"`
	Name      string  `json:"name"`
	UniqueRef *string `json:"uniqueRef"`
	ShortRef  string  `json:"shortRef"`
}

// Reservation is a stay.
type Reservation struct {
	ID                     id.ID          `json:"id"`
	ShortRef               string         `json:"shortRef"`
	UniqueRef              *string        `json:"uniqueRef"`
	ListingID              id.ID          `json:"listingId"`
	Listing                ListingRef     `json:"listing"`
	Status                 Status         `json:"status"`
	GeneralLedgerStatus    LedgerStatus   `json:"generalLedgerStatus"`
	GuestName              *string        `json:"guestName"`
	BookerName             *string        `json:"bookerName"`
	Guests                 *int64         `json:"guests"`
	ConfirmationCode       *string        `json:"confirmationCode"`
	PMSReferenceCode       *string        `json:"pmsReferenceCode"`
	CheckIn                day.Day        `json:"checkIn"`
	CheckOut               day.Day        `json:"checkOut"`
	BookedAt               *day.Day       `json:"bookedAt"`
	CancelledAt            *day.Day       `json:"cancelledAt"`
	BookingPlatform        *string        `json:"bookingPlatform" doc:"Name of the booking channel."`
	GeneralLedgerPostingAt *day.Day       `json:"generalLedgerPostingAt" doc:"Overrides the date on which the whole reservation is recognised."`
	Currency               string         `json:"currency"`
	Userdata               map[string]any `json:"userdata"`
	Metadata               map[string]any `json:"metadata"`
	Lines                  []Line         `json:"lines,omitzero" db:"-"`
	Financials             Financials     `json:"financials" db:"-"`
	Payment                Payment        `json:"payment" db:"-"`
	JournalStatus          JournalStatus  `json:"journalStatus" db:"-"`
	Lock                   ledger.Lock    `json:"lock" db:"-"`
	Issues                 []Issue        `json:"issues" db:"-"`
	CreatedAt              day.Instant    `json:"createdAt"`
	UpdatedAt              day.Instant    `json:"updatedAt"`

	Operations *operation.Summary `json:"operations,omitempty" db:"-" doc:"Only in lists with include=operations."`
}

// Nights is the length of the stay.
func (r *Reservation) Nights() int { return r.CheckIn.DaysUntil(r.CheckOut) }

// posts reports whether the reservation has a journal: cancelling and deactivating take it out of the books.
func (r *Reservation) posts() bool {
	return r.Status == Booked && r.GeneralLedgerStatus == LedgerActive
}

// Line is something that the guest pays for, or a discount when negative.
type Line struct {
	ID             id.ID                  `json:"id"`
	ReservationID  id.ID                  `json:"-"`
	UniqueRef      *string                `json:"uniqueRef"`
	Type           string                 `json:"type" doc:"rent, cleaningFee, guestFee, tax, discount, damage, other, or any type that is mapped to an account."`
	Description    *string                `json:"description"`
	Amount         money.Cents            `json:"amount"`
	AccountID      *id.ID                 `json:"accountId" doc:"Account instead of the one that the type is mapped to."`
	Classification account.Classification `json:"-"`
}

// Financials is what a guest owes and has paid. Nothing is owed for a reservation that is not booked.
type Financials struct {
	Total   money.Cents `json:"total"`
	Paid    money.Cents `json:"paid"`
	Balance money.Cents `json:"balance" doc:"total - paid: positive is still owed, negative is owed back."`
}

// PaymentStatus compares what was received with what was expected.
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

// Payment is how far a reservation is paid.
type Payment struct {
	Status   PaymentStatus `json:"status"`
	Expected money.Cents   `json:"expected"`
	Received money.Cents   `json:"received"`
}

// settle fills in what follows from the lines and what deposits brought in.
func (r *Reservation) settle(lines []Line, paid money.Cents) {
	var total money.Cents
	if r.Status == Booked {
		for i := range lines {
			total += lines[i].Amount
		}
	}
	r.Financials = Financials{Total: total, Paid: paid, Balance: total - paid}
	r.Payment = Payment{Status: paymentStatus(total, paid), Expected: total, Received: paid}
}

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

// JournalStatus says whether the journal shows the reservation as it is. Writes of the reservation derive it in their own transaction; changes
// of ownership and of the team's settings leave that to an operation, and until it settles the journal is being recalculated.
type JournalStatus struct {
	Status       string  `json:"status" enum:"current,stale,recalculating,failed"`
	OperationIDs []id.ID `json:"operationIds"`
}

// journalStatus is that of a journal that these operations are going to derive.
func journalStatus(pending []id.ID) JournalStatus {
	if len(pending) > 0 {
		return JournalStatus{Status: "recalculating", OperationIDs: pending}
	}
	return JournalStatus{Status: "current", OperationIDs: []id.ID{}}
}

// Issue is a finding about a reservation that somebody should look at.
type Issue struct {
	Code     string         `json:"code"`
	Severity string         `json:"severity" enum:"error,warning"`
	Context  map[string]any `json:"context"`
}

// Mapping is where lines of a type are posted.
type Mapping struct {
	AccountID id.ID        `json:"accountId"`
	Party     ledger.Party `json:"party"`
}

// issues are the line types that have no account, each once. Their lines are not posted.
func issues(lines []Line, mappings map[string]Mapping) []Issue {
	out := []Issue{}
	seen := map[string]bool{}
	for i := range lines {
		l := &lines[i]
		if _, mapped := mappings[l.Type]; mapped || l.AccountID != nil || seen[l.Type] {
			continue
		}
		seen[l.Type] = true
		out = append(out, Issue{Code: "unassignedAccount", Severity: "error", Context: map[string]any{"lineType": l.Type}})
	}
	return out
}

var (
	errDuplicateUniqueRef = apierr.New(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "A reservation of this uniqueRef exists")
	errAmountRange        = apierr.New(apierr.CodeBadRequest, "", "The amounts of the reservation and its fees exceed the safe range")
)
