// Package pms reads property-management systems. Each system has a client in a package of its own below this one, built
// from its published description and tried against our sandbox. All clients return the types of this package: listings,
// and reservations with the charges of the guest as lines.
//
// Clients know no ledger and no database. Nothing is stored here; the caller keeps pages, marks and tokens.
package pms

import (
	"context"
	"strings"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/money"
	"stayledger/platform/outbound"
)

// Timeout is how long a call may take.
const Timeout = 25 * time.Second

// MostListings bounds the listings of an account, and MostRecords the records of any other kind: more of either mean
// that the pages do not end. The pages of a system can have a single row, so there are fewer pages than rows.
var (
	MostListings = outbound.Reading{Pages: 2_000, Rows: 20_000}
	MostRecords  = outbound.Reading{Pages: 10_000, Rows: 500_000}
)

// Client reads one account at a system. It is safe for use by many goroutines. Its calls take at most Timeout, follow
// no redirect, read bounded answers, and fail with an Error.
type Client interface {
	// Account returns the account. It is the cheapest call that proves the credentials.
	Account(ctx context.Context) (*Account, error)
	// Listings returns a page of listings. All pages together have every listing.
	Listings(ctx context.Context, page string) (*ListingPage, error)
	// Reservations returns a page of reservations.
	Reservations(ctx context.Context, q *Query) (*ReservationPage, error)
	// Lookup returns the present state of reservations by id. A reservation that the system no longer has is returned
	// with Gone set.
	Lookup(ctx context.Context, ids []string) ([]Reservation, []Unreadable, error)
}

// Payer is a client of a system with payouts of channels.
type Payer interface {
	// Payouts returns a page of payouts. The query bounds their days. A system without payouts returns an empty page.
	Payouts(ctx context.Context, q *Query) (*PayoutPage, error)
}

// Hooks is a client of a system that sends messages about what has changed.
type Hooks interface {
	// Subscribe makes the system send messages to an address, signed with the secret. It replaces an earlier
	// subscription.
	Subscribe(ctx context.Context, url, secret string) error
	// Unsubscribe ends the subscription. It succeeds if there is none.
	Unsubscribe(ctx context.Context) error
}

// Blocker is a client of a system with a calendar that can be blocked.
type Blocker interface {
	// Block keeps nights from being sold, and returns the id of the block at the system, or "" if the system has no ids
	// for blocks. Sending the same ID again makes no second block. It fails with an ErrRefused when the nights are
	// taken, or the listing cannot be blocked.
	Block(ctx context.Context, b *Block) (remoteID string, err error)
	// Unblock lets the nights of a block be sold again, and no other nights. It succeeds if there is no such block.
	Unblock(ctx context.Context, b *Block) error
}

// Block keeps the nights of a listing from being sold.
type Block struct {
	// ID is ours, and stays the same when the block is sent again.
	ID string
	// RemoteID is its name at the system, empty for none and while that is not known.
	RemoteID  string
	ListingID string
	// StartAt is the first day, EndAt the day on which the listing is free again.
	StartAt, EndAt day.Day
	Note           string
	// MadeAt is when it was made here: no system has had it before.
	MadeAt time.Time
}

// Mark returns the text by which a block is found again in systems that know no ids of ours.
func (b *Block) Mark() string { return "[stayledger " + b.ID + "]" }

// NoteWithMark returns the note with the mark at its end. A long note is cut, never the mark.
func (b *Block) NoteWithMark() string {
	note := []rune(Text(b.Note))
	if room := MaxText - len(b.Mark()) - 1; len(note) > room {
		note = note[:room]
	}

	return strings.TrimSpace(string(note) + " " + b.Mark())
}

// Account is an account at a system.
type Account struct{ ID, Name string }

// Query asks for reservations.
type Query struct {
	// Since is the Mark of an earlier reading: only what has changed since is asked for. Empty asks for everything.
	Since string
	// Page is the Next of the page before; empty begins.
	Page string
	// From and To bound the nights, both days included; nil for no bound. Reservations outside can be given too.
	From, To *day.Day
}

// ListingPage is a page of listings.
type ListingPage struct {
	Listings []Listing
	// Unreadable are listings that are not of the protocol.
	Unreadable []Unreadable
	// Next continues; empty after the last page.
	Next string
}

// ReservationPage is a page of reservations.
type ReservationPage struct {
	Reservations []Reservation
	// Unreadable are reservations that are not of the protocol. Each fails alone.
	Unreadable []Unreadable
	// Next continues; empty after the last page.
	Next string
	// Mark is the Since of the next reading: the clock of the system when this one began, less an overlap. Only the
	// first page needs to have it.
	Mark string
	// Complete says that the pages of this reading have every reservation with a night within the bounds of the query.
	Complete bool
}

// PayoutPage is a page of payouts.
type PayoutPage struct {
	Payouts    []Payout
	Unreadable []Unreadable
	// Next continues; empty after the last page.
	Next string
	// Mark is the Since of the next reading, as of reservations.
	Mark string
	// Complete says that the pages of this reading have every payout.
	Complete bool
}

// Payout is a sum that a channel has paid out. Everything but ID is zero for one that is Gone.
type Payout struct {
	ID        string
	Gone      bool
	Channel   string
	Reference string // by which the bank shows it
	Day       day.Day
	Currency  string
	Amount    money.Cents
	Members   []PayoutMember
	ChangedAt time.Time
}

// PayoutMember is a part of a payout: gross less fees. Taxes are the part of gross that the host has to remit.
type PayoutMember struct {
	// ReservationID is the stay at the system, empty for none; Code is that of the channel.
	ReservationID, Code, Description string
	Gross, Fees, Taxes               money.Cents
}

// Listing is a place that is let.
type Listing struct {
	ID string
	// Name is the one that managers see.
	Name string
	// Address is nil when the system has none.
	Address  *Address
	Currency string // an ISO code in lower case, empty if the system does not say
	TimeZone string // an IANA name, empty if the system does not say
	// ParentID is the listing that this one is a unit of, and Unit the name of the unit; empty for none.
	ParentID, Unit string
	Archived       bool
}

// Address is where a listing is. Each part can be empty.
type Address struct {
	Street, City, State, PostalCode string
	// Country is a two-letter code.
	Country string
}

// Status says how a reservation counts in the books.
type Status string

// The statuses.
const (
	Booked   Status = "booked"
	Canceled Status = "canceled"
	// Inactive was booked and is nothing any more, such as a declined or expired request.
	Inactive Status = "inactive"
	// Inquiry is a request for a stay that is not booked yet.
	Inquiry Status = "inquiry"
	// Pending waits for payment or confirmation.
	Pending Status = "pending"
)

// Reservation is a stay at a listing. Everything but ID is zero for one that is Gone.
type Reservation struct {
	ID        string
	ListingID string
	// Gone says that the system does not have it any more.
	Gone   bool
	Status Status
	// OwnerStay says that the owner stays: the nights are taken and there is no revenue.
	OwnerStay bool
	// Block says that it takes nights without a guest and is no reservation.
	Block bool

	Code     string // by which guest and channel know it, empty for none
	Channel  string // such as airbnb, empty if the system does not say
	Guest    Guest
	Guests   *int64
	CheckIn  day.Day
	CheckOut day.Day
	BookedAt When
	// CanceledAt is zero unless it is canceled and the system says when.
	CanceledAt When
	Currency   string // an ISO code in lower case
	// Total is stated by the system: the guest pays it; nil if it does not say. The lines without taxes that the
	// channel pays should add up to it.
	Total *money.Cents
	// IsTotalOwed says that the total is known to be without these taxes.
	IsTotalOwed bool
	Lines       []Line
	// ChannelFee is the commission that the channel keeps, and ProcessingFee what the payment costs; nil if the system
	// does not say. Neither is paid by the guest.
	ChannelFee, ProcessingFee *money.Cents
	// UnknownTax is the tax of a canceled stay before its cancellation, if an unknown share of the retained amount is
	// tax; 0 otherwise.
	UnknownTax money.Cents
	// NotKept is the excess of the lines of a canceled stay over its total, which is the retained amount; 0 for none.
	NotKept money.Cents
	// Payout is stated by the system: the channel pays it out for the stay; nil if it does not say. It is the total
	// less the channel's fee.
	Payout *money.Cents
	// ChangedAt is the system's own stamp of the last change; zero if it has none.
	ChangedAt time.Time
}

// When is a day as a system says it: the day, or an instant, of which the day depends on the time zone. The zero value
// says nothing.
type When struct {
	Day *day.Day
	At  time.Time
}

// In returns the day in a time zone, nil for none.
func (w When) In(zone day.Zone) *day.Day {
	if w.At.IsZero() {
		return w.Day
	}

	d := zone.Day(w.At)

	return &d
}

// Guest is who stays.
type Guest struct{ Name, Email, Phone string }

// LineType says what a line is for. A system's own types pass as they are, and are mapped to accounts like any other.
type LineType = string

// The types of lines.
const (
	Rent        LineType = "rent"
	CleaningFee LineType = "cleaningFee"
	GuestFee    LineType = "guestFee"
	Tax         LineType = "tax"
	// ChannelTax is a tax that the channel collects and pays to the authority.
	ChannelTax LineType = "channelTax"
	Discount   LineType = "discount"
	Damage     LineType = "damage"
	// SecurityDeposit is held for the guest and given back.
	SecurityDeposit LineType = "securityDeposit"
	// Resolution is an amount that guest and host have settled at the channel after the booking.
	Resolution LineType = "resolution"
	// Retained is the amount that is kept of a canceled stay, RetainedTax the tax on it, and RetainedDeposit a deposit
	// that was not returned yet.
	Retained        LineType = "retained"
	RetainedTax     LineType = "retainedTax"
	RetainedDeposit LineType = "retainedDeposit"
	// Difference is the stated total less the other lines, for an unknown reason.
	Difference LineType = "difference"
)

// Line is something that the guest pays for, in the smallest unit of the reservation's currency. A discount is
// negative.
type Line struct {
	Type        LineType
	Description string
	Amount      money.Cents
}

// Event has the records that a message of a system names. The content of messages is not believed.
type Event struct {
	// AccountID is the account that it is about, of a message that an app gets for all of its accounts; empty
	// otherwise.
	AccountID string
	// ReservationIDs are reservations that have changed.
	ReservationIDs []string
	// Listings says that some listing has changed.
	Listings bool
	// Revoked says that the account takes the access back.
	Revoked bool
}
