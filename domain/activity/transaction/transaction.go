// Package transaction owns the money that moves: deposits, expenses, transfers and payouts, the opening balances among
// them, and the journals derived from them.
//
// A transaction has one account, the bank or for a bill the payable, and lines that say what the money is for. Its
// journal is a pure function of its row and a few facts (Journal); every change stores the row and hands the derived
// postings to the ledger, which refuses what a lock protects. An archived transaction (status inactive) keeps its row
// and has no journal.
//
// The page docs/decisions/transaction.md says what the contract leaves open and how it is answered here.
package transaction

import (
	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
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

// Type is the kind of a transaction; it never changes.
type Type string

// The types.
const (
	// Deposit is money in: guest payments, channel payouts, security deposits, opening balances.
	Deposit Type = "deposit"
	// Expense is a bill, or money spent at once.
	Expense Type = "expense"
	// Transfer moves money between two accounts of the team.
	Transfer Type = "transfer"
	// Payout pays out a balance; a negative one is paid in by its owner.
	Payout Type = "payout"
)

// Enum lists the types.
func (Type) Enum() []string {
	return []string{string(Deposit), string(Expense), string(Transfer), string(Payout)}
}

// Status distinguishes transactions that count from archived ones.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// TaxBehavior says whether an amount contains its tax.
type TaxBehavior string

// The tax behaviours.
const (
	TaxIncluded TaxBehavior = "included"
	TaxExcluded TaxBehavior = "excluded"
)

// TaxPayee says who gets the tax on a line's amount.
type TaxPayee string

// The payees of a tax: the vendor, who has it on the bill and remits it, or the authority, which the manager owes it
// to.
const (
	TaxToVendor    TaxPayee = "vendor"
	TaxToAuthority TaxPayee = "authority"
)

// Enum lists the payees.
func (TaxPayee) Enum() []string { return []string{string(TaxToVendor), string(TaxToAuthority)} }

// orDefault returns the payee, or the usual one if it is empty: a tax that the bill contains is the vendor's, a tax on
// top of it is charged by the manager.
func (p TaxPayee) orDefault(behavior TaxBehavior) TaxPayee {
	switch {
	case p != "":
		return p
	case behavior == TaxIncluded:
		return TaxToVendor
	default:
		return TaxToAuthority
	}
}

// Transaction is a movement of money with the purposes that it serves.
type Transaction struct {
	ID               id.ID        `json:"id"`
	ShortRef         string       `json:"shortRef"`
	UniqueRef        *string      `json:"uniqueRef" doc:"The caller's own reference, unique in the team; the empty text is a value like any other."`
	Type             Type         `json:"type"`
	Status           Status       `json:"status" enum:"active,inactive" doc:"An inactive transaction is archived and has no journal."`
	Date             day.Day      `json:"date" doc:"Accounting date."`
	Description      *string      `json:"description"`
	Currency         string       `json:"currency" doc:"ISO 4217 in lower case."`
	IsOpeningBalance bool         `json:"isOpeningBalance"`
	AccountID        id.ID        `json:"accountId"`
	Account          account.Ref  `json:"account" doc:"The bank account, or what a bill is owed on."`
	ContactID        *id.ID       `json:"contactId"`
	Contact          *contact.Ref `json:"contact" doc:"Vendor or owner."`
	Payment          *Payment     `json:"payment" doc:"When and from where a bill was paid; null for a bill that is open or was paid at once."`
	PaidStatus       PaidStatus   `json:"paidStatus" doc:"unpaid without a payment, and when a provider did not move the money, gave it back or does not answer; underpaid when a part of a payout came back."`
	Total            money.Cents  `json:"total" doc:"Cents that move through the account: into it for a deposit, out of it otherwise."`
	AttachmentIDs    []id.ID      `json:"attachmentIds"`
	ConnectionID     *id.ID       `json:"connectionId" doc:"The connection that it came over; null for none."`
	SourceID         *string      `json:"sourceId" doc:"The transaction's own key in the app of the connection."`
	Issues           []Issue      `json:"issues" db:"-"`
	Lines            []Line       `json:"lines,omitzero" doc:"Left out of lists unless includeLines is true."`
	CreatedAt        day.Instant  `json:"createdAt"`
	UpdatedAt        day.Instant  `json:"updatedAt"`

	RecurringTemplateID *id.ID   `json:"recurringTemplateId" doc:"The template that the transaction is an instance of."`
	RecurringAt         *day.Day `json:"recurringAt" doc:"The date of the template that the transaction is for."`

	Source *contact.Source `json:"source" doc:"The transaction at the app, and the status of the connection; null unless both connectionId and sourceId are there."`

	Lock          ledger.Lock          `json:"lock" db:"-"`
	JournalStatus ledger.JournalStatus `json:"journalStatus" db:"-"`
	Operations    *operation.Summary   `json:"operations,omitempty" db:"-" doc:"Only in lists with include=operations."`

	// MayBeOpen says that a payment of it may not have arrived, or was returned.
	MayBeOpen bool `json:"-"`
}

// Issue is something about a transaction that a person should look at: money that did not arrive, or a date that
// may be a slip.
type Issue struct {
	Code     string           `json:"code" enum:"paymentFailed,paymentCanceled,paymentReturned,paymentUnknown,paymentGivenUp,paymentAwaitingApproval,dateFarAhead,insufficientOwnerFunds" doc:"insufficientOwnerFunds: owners had less than they bear of a bill paid by hand. dateFarAhead: more than a year from today. paymentAwaitingApproval: a second person has to approve it. paymentUnknown: the provider has not answered; it is asked for a day. paymentGivenUp: a person decides."`
	Severity finding.Severity `json:"severity"`
	Context  IssueContext     `json:"context"`
}

// IssueContext says which payment an issue is about, for dateFarAhead which date, for insufficientOwnerFunds which
// owners.
type IssueContext struct {
	TransactionID id.ID       `json:"transactionId"`
	PaymentID     id.ID       `json:"paymentId,omitzero"`
	ContactID     id.ID       `json:"contactId,omitzero"`
	Amount        money.Cents `json:"amount,omitzero" doc:"Cents of the payment, or what the owners bear."`

	OwnershipPeriodID id.ID        `json:"ownershipPeriodId,omitzero" db:"-" doc:"Of insufficientOwnerFunds."`
	Available         *money.Cents `json:"available,omitempty" db:"-" doc:"What the owners had."`
	Currency          string       `json:"currency,omitempty"`
	Date              day.Day      `json:"date,omitzero" db:"-" doc:"The date that lies ahead, the transaction's or its payment's; of dateFarAhead only."`
}

// Payment is a bill's payment on a date of its own.
type Payment struct {
	Date      day.Day `json:"date"`
	AccountID id.ID   `json:"accountId" doc:"The bank account that paid."`
}

// Line is one purpose of a transaction's money.
type Line struct {
	ID            id.ID               `json:"id"`
	UniqueRef     *string             `json:"uniqueRef"`
	Description   *string             `json:"description"`
	Assignment    *account.Assignment `json:"assignment" doc:"The assignment that gave the account, null when the account was named."`
	AccountID     id.ID               `json:"accountId"`
	Account       account.Ref         `json:"account"`
	Amount        money.Cents         `json:"amount" doc:"Cents, without markup, and without the tax when that is excluded."`
	AppliedAmount *Applied            `json:"appliedAmount"`
	Markup        *Markup             `json:"markup"`
	Total         money.Cents         `json:"total" doc:"Cents charged: amount, markup and the excluded taxes of both."`
	ListingID     *id.ID              `json:"listingId"`
	Listing       *listing.Ref        `json:"listing"`
	ReservationID *id.ID              `json:"reservationId"`
	Reservation   *ReservationRef     `json:"reservation"`
	// FollowsReservation also makes a stored line move with the stay: see followStays.
	FollowsReservation bool `json:"followsReservation" doc:"Whether the listing was left to the reservation: it changes when the stay moves to another listing. A listing that the caller named stays."`

	OwnerStatementID  *id.ID            `json:"ownerStatementId" db:"statement_id" doc:"The owner statement that a payout pays."`
	OwnershipPeriodID *id.ID            `json:"ownershipPeriodId" doc:"The ownership period that was named, null for none."`
	Party             *ledger.Party     `json:"party" doc:"The party that has the income or cost; null for money that is held for others."`
	ContactID         *id.ID            `json:"contactId"`
	Contact           *contact.Ref      `json:"contact"`
	Issues            []finding.Finding `json:"issues"`

	RecurringTemplate *TemplateRef `json:"recurringTemplate"`

	MatchReservationConfirmationCode *string      `json:"matchReservationConfirmationCode" db:"match_confirmation_code" doc:"Names the reservation before it is known."`
	MatchReservationStripeGuestRef   *string      `json:"matchReservationStripeGuestRef" db:"match_stripe_guest_ref" doc:"Names the reservation by stripeGuestRef in its metadata."`
	MatchLineTypeClassification      *string      `json:"matchLineTypeClassification"`
	MatchStatus                      *MatchStatus `json:"matchStatus" doc:"Whether the reservation was found; null for a line that waits for none."`
}

// PaidStatus says whether a debt was paid.
type PaidStatus string

// The states of a bill.
const (
	Unpaid PaidStatus = "unpaid"
	Paid   PaidStatus = "paid"
)

// Enum lists the states; those in between are shared with reservations.
func (PaidStatus) Enum() []string { return []string{"unpaid", "underpaid", "overpaid", "paid"} }

// MatchStatus says whether a line has found the reservation that it names.
type MatchStatus string

// Enum lists the match states.
func (MatchStatus) Enum() []string { return []string{"matched", "unmatched"} }

// TemplateRef names a recurring template.
type TemplateRef struct {
	ID id.ID `json:"id"`
}

// Applied is the tax on a line's amount.
type Applied struct {
	TaxRateID   id.ID       `json:"taxRateId"`
	TaxBehavior TaxBehavior `json:"taxBehavior" enum:"included,excluded"`
	TaxPayee    TaxPayee    `json:"taxPayee" doc:"vendor: it is paid with the bill. authority: the manager owes it, on the account assigned expense_salesTax."`
	TaxAmount   money.Cents `json:"taxAmount" doc:"Cents of tax, computed."`
}

// Markup is added by the manager to a cost that an owner bears.
type Markup struct {
	Amount      money.Cents  `json:"amount"`
	TaxRateID   *id.ID       `json:"taxRateId"`
	TaxBehavior *TaxBehavior `json:"taxBehavior" enum:"included,excluded"`
	TaxAmount   money.Cents  `json:"taxAmount" doc:"Cents of tax on the markup, computed."`
}

// ReservationRef names a reservation.
type ReservationRef struct {
	ID               id.ID   `json:"id"`
	ShortRef         string  `json:"shortRef"`
	ConfirmationCode *string `json:"confirmationCode"`
	UniqueRef        *string `json:"uniqueRef"`
	Status           string  `json:"status" enum:"booked,canceled,inactive"`
	CheckIn          day.Day `json:"checkIn"`
	CheckOut         day.Day `json:"checkOut"`
}

// Refusals that other nouns answer with as well. The first two are declared where accounts and their banks are.
var (
	ErrNotBank     = account.ErrNotBank
	ErrArchived    = bank.ErrArchived
	ErrBeforeStart = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonBeforeStatementStartDate, "The date is before the statement start date",
	)
	ErrListing = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonListingInactive, "The listing is inactive on this date",
	)
	ErrNotReady = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonStatementNotReadyForPayment, "The owner statement is not published",
	)
	ErrAttempted = apierr.New(
		apierr.CodeConflict, apierr.ReasonPaymentAttempted, "An ACH payment was already attempted",
	)
)

var (
	errDuplicateRef = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "A transaction with this reference already exists",
	)
	errDuplicateSource = apierr.New(
		apierr.CodeConflict, "", "A transaction with this key of the connection already exists",
	)
	errInUse     = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "The transaction is still referenced")
	errLinked    = apierr.New(apierr.CodeConflict, "", "The attachment is linked to another transaction")
	errRecurring = apierr.New(
		apierr.CodeConflict, "", "The recurring template has a transaction on this date already",
	)
)

// DraftRefusals are the conditions that refuse a transaction as such, locks aside.
var DraftRefusals = apierr.List{
	account.ErrRequiredMissing,
	ErrBeforeStart,
	ErrNotBank,
	ErrNotReady,
	ErrListing,
	errLinked,
	errRecurring,
	apierr.OperationsDisabled,
	errDuplicateRef,
}

// writeRefusals are the conditions of the routes that take the key of a connection, in the same order.
func writeRefusals() apierr.List {
	return apierr.List{DraftRefusals, errDuplicateSource, ErrOverdraft, ledger.Refusals}
}

// Refusals returns the conditions that a new transaction can fail with, in the order in which they are checked.
func Refusals() apierr.List { return apierr.List{DraftRefusals, ledger.Refusals} }
