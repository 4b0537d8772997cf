// Package fee owns recurring fees: what the manager charges an owner for every reservation, on which listings and when,
// and the formulas they are computed with.
//
// The page docs/decisions/fee.md says what the contract leaves open and how it is answered here.
package fee

import (
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/books/tax"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Type is the purpose of a fee.
type Type string

// The types of fees.
const (
	ManagementFee     Type = "managementFee"
	AdditionalFee     Type = "additionalFee"
	BookingChannelFee Type = "bookingChannelFee"
	CleaningFee       Type = "cleaningFee"
	MerchantFeeType   Type = "merchantFee"
)

// Enum lists the types.
func (Type) Enum() []string {
	return []string{
		string(ManagementFee),
		string(AdditionalFee),
		string(BookingChannelFee),
		string(CleaningFee),
		string(MerchantFeeType),
	}
}

// RateType says what a fee's rate is a rate of.
type RateType string

// The rate types.
const (
	// Flat rates are cents per reservation.
	Flat RateType = "flat"
	// Percentage rates are parts per 100000 of the formula's value.
	Percentage RateType = "percentage"
)

// Recognition says when revenue counts.
type Recognition string

// The recognition settings of a team, a fee or a reservation.
const (
	CheckIn  Recognition = "checkIn"
	CheckOut Recognition = "checkOut"
	ProRata  Recognition = "proRata"
	BookedAt Recognition = "bookedAt"
)

// The statuses of a fee.
const (
	active   = "active"
	inactive = "inactive"
)

// TaxRateRef names a tax rate.
type TaxRateRef struct {
	ID          id.ID      `json:"id"`
	Name        string     `json:"name"`
	BasisPoints money.Rate `json:"basisPoints" doc:"Parts per 100000."`
}

// Financial is a line type of the formula, and an account that its lines are posted on.
type Financial struct {
	LineType  string  `json:"lineType"`
	AccountID id.ID   `json:"accountId"`
	Name      string  `json:"name" doc:"That of the account."`
	App       *AppRef `json:"app" doc:"The app that the lines came from; null means any."`
	Channel   *string `json:"channel" doc:"The booking platform of the lines; null means any."`
}

// AppRef names an app.
type AppRef struct {
	ID string `json:"id"`
}

// Fee is a recurring fee.
type Fee struct {
	ID                     id.ID                `json:"id"`
	UniqueRef              *string              `json:"uniqueRef"`
	Name                   string               `json:"name"`
	Icon                   *string              `json:"icon"`
	Status                 string               `json:"status" enum:"active,inactive"`
	Type                   Type                 `json:"type"`
	Formula                string               `json:"formula" doc:"What a percentage fee is taken of, such as rent + cleaningFee - discount; empty for a flat one."`
	RateType               RateType             `json:"rateType" enum:"flat,percentage"`
	DefaultRate            int64                `json:"defaultRate" doc:"Cents per reservation (flat), or parts per 100000 of the formula's value (percentage)."`
	RevenueRecognition     *Recognition         `json:"revenueRecognition" enum:"checkIn,checkOut,proRata,bookedAt" doc:"Null follows the reservation."`
	CreditParty            ledger.Party         `json:"creditParty"`
	DebitParty             ledger.Party         `json:"debitParty"`
	CreditAccountID        id.ID                `json:"creditAccountId"`
	DebitAccountID         id.ID                `json:"debitAccountId"`
	CreditAccount          account.NameRef      `json:"creditAccount"`
	DebitAccount           account.NameRef      `json:"debitAccount"`
	ChargeBasis            ChargeBasis          `json:"chargeBasis" doc:"How often a flat rate is charged."`
	TaxRateID              *id.ID               `json:"taxRateId"`
	TaxRate                *TaxRateRef          `json:"taxRate"`
	TaxBehavior            *tax.Behavior        `json:"taxBehavior" doc:"included takes the tax out of the amount of the fee, excluded adds it."`
	StatusFilter           StatusFilter         `json:"statusFilter" doc:"Reservations that the fee is charged on."`
	OwnerStayFilter        OwnerStayFilter      `json:"ownerStayFilter"`
	BookingChannelsFilter  []string             `json:"bookingChannelsFilter" doc:"Channels that the fee applies to; empty means all."`
	AccountTotalConditions []Condition          `json:"accountTotalConditions" doc:"The fee is charged where all hold."`
	LinkedAccounts         []account.NameRef    `json:"linkedAccounts" db:"-" doc:"Accounts that the formula, its line types and the conditions depend on."`
	IncludedFinancials     []Financial          `json:"includedFinancials" db:"-" doc:"Where the line types of the formula are posted."`
	JournalStatus          ledger.JournalStatus `json:"journalStatus" db:"-" doc:"Whether the journals follow what the fee is now."`
	Lock                   ledger.Lock          `json:"lock" db:"-" doc:"What holds journal entries of the fee; at most 100 statements and dates are named."`
	CreatedAt              day.Instant          `json:"createdAt"`
	UpdatedAt              day.Instant          `json:"updatedAt"`
	// References are the records that the formula names, by the names in its stored text.
	References []Reference `json:"-"`
	// Named are the accounts that formula and conditions name, in the order of names; one can be there several times.
	Named []account.NameRef `json:"-"`
	// Stored is the text of the formula as it was written, while Formula has the current names.
	Stored string `json:"-" db:"-"`
	// ListingPeriods are shown by the single read alone.
	ListingPeriods []Period `json:"listingPeriods,omitzero" db:"-"`
}

// Period is a span of time in which a listing is charged a fee: from StartAt (nil: inception) to EndAt (nil: open),
// the end exclusive.
type Period struct {
	ID           id.ID       `json:"id"`
	FeeID        id.ID       `json:"recurringFeeId"`
	ListingID    id.ID       `json:"listingId"`
	StartAt      *day.Day    `json:"startAt" doc:"Null means since inception."`
	EndAt        *day.Day    `json:"endAt" doc:"The first day without the fee; null means open."`
	Rate         *int64      `json:"rate" doc:"Replaces the fee's default rate; null means the default."`
	RecurringFee Summary     `json:"recurringFee"`
	CreatedAt    day.Instant `json:"createdAt"`
	UpdatedAt    day.Instant `json:"updatedAt"`
}

// Summary is a fee as its listing periods show it.
type Summary struct {
	ID          id.ID    `json:"id"`
	Name        string   `json:"name"`
	Type        Type     `json:"type"`
	RateType    RateType `json:"rateType"`
	DefaultRate int64    `json:"defaultRate"`
}

// Covers reports whether the period holds on a day.
func (p Period) Covers(d day.Day) bool {
	return (p.StartAt == nil || !d.Before(*p.StartAt)) && (p.EndAt == nil || d.Before(*p.EndAt))
}

var (
	errDuplicateName = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateName, "A recurring fee of this name exists",
	)
	errDuplicateUniqueRef = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "A recurring fee of this uniqueRef exists",
	)
	errInUse         = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "The recurring fee is in use")
	errPeriodOverlap = apierr.BadRequest.At(apierr.IssueOverlap.InBody("startAt"))
	errPeriodOrder   = apierr.BadRequest.At(apierr.IssueDateOrder.InBody("endAt"))
)

// standardTypes are the line types that every team knows, in addition to those it maps.
var standardTypes = []string{
	"rent", "cleaningFee", "guestFee", "tax", Discount, "damage", "other", "cancellation", MerchantFee, ChannelFee,
}
