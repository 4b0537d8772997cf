// Package fee owns recurring fees: what the manager charges an owner for every reservation, on which listings and when, and the formulas
// they are computed with.
package fee

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"stayledger/domain/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Type is what a fee is for.
type Type string

// The types of fees.
const (
	ManagementFee     Type = "managementFee"
	AdditionalFee     Type = "additionalFee"
	BookingChannelFee Type = "bookingChannelFee"
	CleaningFee       Type = "cleaningFee"
	MerchantFeeType   Type = "merchantFee"
)

// RateType says what a fee's rate is a rate of.
type RateType string

// The rate types.
const (
	// Flat rates are cents per reservation.
	Flat RateType = "flat"
	// Percentage rates are parts per 100000 of the formula's value.
	Percentage RateType = "percentage"
)

// Recognition is when revenue counts.
type Recognition string

// The recognition settings of a team, a fee or a reservation.
const (
	CheckIn  Recognition = "checkIn"
	CheckOut Recognition = "checkOut"
	ProRata  Recognition = "proRata"
	BookedAt Recognition = "bookedAt"
)

// AccountRef names an account.
type AccountRef struct {
	ID   id.ID  `json:"id"`
	Name string `json:"name"`
}

// Fee is a recurring fee.
type Fee struct {
	ID                    id.ID        `json:"id"`
	UniqueRef             *string      `json:"uniqueRef"`
	Name                  string       `json:"name"`
	Icon                  *string      `json:"icon"`
	Status                string       `json:"status" enum:"active,inactive"`
	Type                  Type         `json:"type" enum:"managementFee,additionalFee,bookingChannelFee,cleaningFee,merchantFee"`
	Formula               string       `json:"formula" doc:"What a percentage fee is taken of, such as rent + cleaningFee - discount; empty for a flat one."`
	RateType              RateType     `json:"rateType" enum:"flat,percentage"`
	DefaultRate           int64        `json:"defaultRate" doc:"Cents per reservation (flat), or parts per 100000 of the formula's value (percentage)."`
	RevenueRecognition    *Recognition `json:"revenueRecognition" enum:"checkIn,checkOut,proRata,bookedAt" doc:"Null follows the reservation."`
	CreditParty           ledger.Party `json:"creditParty" enum:"owners,manager"`
	DebitParty            ledger.Party `json:"debitParty" enum:"owners,manager"`
	CreditAccountID       id.ID        `json:"creditAccountId"`
	DebitAccountID        id.ID        `json:"debitAccountId"`
	CreditAccount         AccountRef   `json:"creditAccount"`
	DebitAccount          AccountRef   `json:"debitAccount"`
	BookingChannelsFilter []string     `json:"bookingChannelsFilter" doc:"Channels that the fee applies to; empty means all."`
	Lock                  ledger.Lock  `json:"lock" db:"-" doc:"What holds journal entries of the fee; at most 100 statements and dates are named."`
	CreatedAt             day.Instant  `json:"createdAt"`
	UpdatedAt             day.Instant  `json:"updatedAt"`
	// ListingPeriods are shown by the single read alone.
	ListingPeriods []Period `json:"listingPeriods,omitzero" db:"-"`
}

// Applies reports whether the fee is charged on a reservation of a booking platform.
func (f Fee) Applies(platform string) bool {
	return len(f.BookingChannelsFilter) == 0 || slices.ContainsFunc(f.BookingChannelsFilter, func(channel string) bool { return strings.EqualFold(channel, platform) })
}

// Period is a span of time in which a listing is charged a fee: from StartAt (nil: inception) to EndAt (nil: open), the end exclusive.
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

// Subscription is an active fee on a listing during one of its listing periods.
type Subscription struct {
	Fee    Fee
	Period Period
	// Rate is the period's own rate, else the fee's.
	Rate    int64
	formula Formula
}

// NewSubscription joins a fee with a listing period. It fails when the fee's formula is no formula, which no stored one is.
func NewSubscription(f Fee, p Period) (Subscription, error) {
	s := Subscription{Fee: f, Period: p, Rate: f.DefaultRate}
	if p.Rate != nil {
		s.Rate = *p.Rate
	}
	var err error
	if f.RateType == Percentage {
		s.formula, err = ParseFormula(f.Formula)
	}
	return s, err
}

// Amount is what the fee comes to; of tells the amount behind a name of the formula.
func (s Subscription) Amount(of func(name string) money.Cents) money.Cents {
	switch s.Fee.RateType {
	case Flat:
		return money.Cents(s.Rate)
	case Percentage:
		return money.Rate(s.Rate).Of(s.formula.Value(of))
	default:
		return 0
	}
}

var (
	errDuplicateName      = apierr.New(apierr.CodeConflict, apierr.ReasonDuplicateName, "A recurring fee of this name exists")
	errDuplicateUniqueRef = apierr.New(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "A recurring fee of this uniqueRef exists")
	errPeriodOverlap      = apierr.BadRequest.At(apierr.Issue{Message: "Listing periods of one fee and listing overlap", Code: "overlap", Path: []any{"startAt"}, Schema: "body"})
	errPeriodOrder        = apierr.BadRequest.At(apierr.Issue{Message: "The period ends before it has a day", Code: "order", Path: []any{"endAt"}, Schema: "body"})
)

// standardTypes are the line types that every team knows, beside those it maps.
var standardTypes = []string{"rent", "cleaningFee", "guestFee", "tax", Discount, "damage", "other", "cancellation", MerchantFee, ChannelFee}

// checkFormula refuses a formula that is none, with the position where it stops being one; known are the line types that the team maps.
func checkFormula(rateType RateType, formula string, known []string) error {
	refuse := func(message string, position int) error {
		return apierr.BadRequest.
			At(apierr.Issue{Message: message, Code: "formulaInvalid", Path: []any{"formula"}, Schema: "body"}).
			With(map[string]any{"position": position})
	}
	if formula == "" && rateType == Flat {
		return nil
	}
	parsed, err := ParseFormula(formula)
	if wrong, ok := errors.AsType[*FormulaError](err); ok {
		return refuse(wrong.Message, wrong.Position)
	}
	for _, name := range parsed.Names() {
		if !slices.Contains(standardTypes, name) && !slices.Contains(known, name) {
			before, _, _ := strings.Cut(formula, name)
			return refuse("the formula names an unknown line type", utf8.RuneCountInString(before)+1)
		}
	}
	return nil
}
