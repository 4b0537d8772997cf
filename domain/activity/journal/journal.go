// Package journal owns postings without a document behind them: journals that are written by hand, their reversals, and
// the books of an earlier system, which are imported into the historical ledger.
//
// A journal is one posting of the trust or the operating ledger. It is written under the same locks as everything that
// is derived, and it is taken back by a reversal of its own date, which leaves the original as it was and names it.
//
// The page docs/decisions/journal.md says what the contract leaves open and how it is answered here.
package journal

import (
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Books is a ledger that journals are written in by hand; the historical one is only imported.
type Books ledger.Ledger

// Enum lists the ledgers.
func (Books) Enum() []string { return []string{string(ledger.Trust), string(ledger.Operating)} }

// Journal is a posting written by hand.
type Journal struct {
	ID            id.ID                `json:"id"`
	ShortRef      string               `json:"shortRef"`
	UniqueRef     *string              `json:"uniqueRef" doc:"The caller's own reference, unique in the team."`
	Date          day.Day              `json:"date" doc:"Accounting date."`
	Description   *string              `json:"description"`
	Currency      string               `json:"currency" doc:"ISO 4217 in lower case."`
	Ledger        Books                `json:"ledger"`
	Total         money.Cents          `json:"total" doc:"Cents; the sum of the debits, which is that of the credits."`
	Lines         []Line               `json:"lines"`
	ReversesID    *id.ID               `json:"reversesId" doc:"The journal that this one takes back."`
	ReversedByID  *id.ID               `json:"reversedById" doc:"The journal that takes this one back."`
	Lock          ledger.Lock          `json:"lock" db:"-"`
	JournalStatus ledger.JournalStatus `json:"journalStatus" db:"-" doc:"Of the posting; it follows the owners of the listings."`
	CreatedAt     day.Instant          `json:"createdAt"`
	UpdatedAt     day.Instant          `json:"updatedAt"`
}

// Line is one entry of a journal.
type Line struct {
	AccountID         id.ID           `json:"accountId"`
	Account           account.Ref     `json:"account"`
	CentTotal         money.Cents     `json:"centTotal" doc:"Cents; debit positive, credit negative."`
	Party             *ledger.Party   `json:"party" doc:"The party that has the income or cost; null for money that is held for others."`
	ListingID         *id.ID          `json:"listingId"`
	Listing           *listing.Ref    `json:"listing"`
	ContactID         *id.ID          `json:"contactId"`
	Contact           *contact.Ref    `json:"contact"`
	ReservationID     *id.ID          `json:"reservationId"`
	Reservation       *ReservationRef `json:"reservation"`
	OwnershipPeriodID *id.ID          `json:"ownershipPeriodId" doc:"The ownership period that was named, null for none."`
	Description       *string         `json:"description"`
}

// ReservationRef names a reservation.
type ReservationRef struct {
	ID               id.ID   `json:"id"`
	ShortRef         string  `json:"shortRef"`
	ConfirmationCode *string `json:"confirmationCode"`
}

// Reversed names the reversal that keeps a journal from being changed.
type Reversed struct {
	ReversedByID id.ID `json:"reversedById"`
}

// reversedInUse is the context of a refused deletion.
type reversedInUse struct {
	apierr.InUse
	Reversed
}

// Unbalanced says by how much debits exceed credits, in cents; negative when credits do.
type Unbalanced struct {
	Difference money.Cents `json:"difference"`
}

var (
	errDuplicateRef = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "A journal with this reference already exists",
	)
	errUnbalanced = apierr.New(apierr.CodeUnprocessableContent, "", "The lines of the journal do not balance")
	errReversed   = apierr.New(apierr.CodeConflict, "", "The journal is reversed already")
	errInUse      = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "The journal is reversed by another one")
)

// noParty are the assignments of the accounts that hold money of guests: it is no party's income until a stay is
// recognised.
var noParty = []account.Assignment{account.AccountsReceivable, account.DepositCoHostPayout}
