package reservation

import (
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// AdjustmentType says which parties an adjustment moves money between.
type AdjustmentType string

// The types of adjustments.
const (
	// Financial adjustments change what the guest owes.
	Financial AdjustmentType = "financial"
	// FeeAdjustment moves money between owner and manager alone.
	FeeAdjustment AdjustmentType = "fee"
)

// Enum lists the types.
func (AdjustmentType) Enum() []string { return []string{string(Financial), string(FeeAdjustment)} }

// Adjustment is a correction apart from the lines of a reservation. It is posted on its own and stays active when
// the stay is canceled.
type Adjustment struct {
	ID                     id.ID           `json:"id"`
	ReservationID          id.ID           `json:"-"`
	UniqueRef              *string         `json:"uniqueRef"`
	Type                   AdjustmentType  `json:"type"`
	Description            *string         `json:"description"`
	Amount                 money.Cents     `json:"amount" doc:"financial: what the guest owes more; fee: what goes to the party, or to the fee's credit party."`
	AccountID              *id.ID          `json:"accountId" doc:"Null when the recurring fee says where it is posted."`
	Party                  *ledger.Party   `json:"party" doc:"financial: null means by the account, owners for revenue and expense."`
	RecurringFeeID         *id.ID          `json:"recurringFeeId"`
	OwnershipPeriodID      *id.ID          `json:"ownershipPeriodId" doc:"The ownership period whose owners have it; null for the owners of the nights."`
	ReservationRef         *string         `json:"reservationRef"`
	GeneralLedgerPostingAt *day.Day        `json:"generalLedgerPostingAt" doc:"Null follows the reservation."`
	Metadata               map[string]any  `json:"metadata"`
	Status                 LineStatus      `json:"status" db:"-"`
	InactiveReason         *InactiveReason `json:"inactiveReason" db:"-" enum:"reservationInactive"`
	CreatedAt              day.Instant     `json:"createdAt"`
	UpdatedAt              day.Instant     `json:"updatedAt"`

	// What the account and the fee add to the journal.
	Classification  account.Classification `json:"-"`
	FeeName         string                 `json:"-"`
	DebitAccountID  id.ID                  `json:"-"`
	CreditAccountID id.ID                  `json:"-"`
	DebitParty      ledger.Party           `json:"-"`
	CreditParty     ledger.Party           `json:"-"`
}

// partyOrDefault returns the party of a financial adjustment: the named party, else the party its account implies.
func (a *Adjustment) partyOrDefault() ledger.Party {
	if a.Party != nil {
		return *a.Party
	}

	return defaultParty(a.Classification)
}

// defaultParty returns the party that an amount on an account belongs to if the caller named none: the owners for
// income and cost, no party for money that is owed.
func defaultParty(c account.Classification) ledger.Party {
	if c == account.Revenue || c == account.Expense {
		return ledger.Owners
	}

	return ledger.NoParty
}

// otherParty returns the owners for the manager and the manager for everyone else.
func otherParty(p ledger.Party) ledger.Party {
	if p == ledger.Manager {
		return ledger.Owners
	}

	return ledger.Manager
}

// label returns the text that entries and previews show for the adjustment: its description, else the name of its
// fee.
func (a *Adjustment) label() string {
	switch {
	case a.Description != nil && *a.Description != "":
		return *a.Description
	case a.FeeName != "":
		return a.FeeName
	default:
		return "Adjustment"
	}
}
