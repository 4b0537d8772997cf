// Package mapping owns where lines of reservations are posted: an account, a party and a recognition for each type of
// line, for all reservations or for an app's or a channel's. A type that arrives without a mapping is noted as unmapped
// and waits for a mapping.
package mapping

import (
	"strings"

	"stayledger/domain/activity/fee"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
)

// Status says how lines of a type are handled.
type Status string

// The statuses of a mapping.
const (
	// Mapped lines are posted to the account.
	Mapped Status = "mapped"
	// Unmapped types arrived without a mapping and wait for one; their lines are not posted.
	Unmapped Status = "unmapped"
	// Excluded lines are no part of the books and of the guest's debt.
	Excluded Status = "excluded"
)

// Enum lists the statuses.
func (Status) Enum() []string {
	return []string{string(Mapped), string(Unmapped), string(Excluded)}
}

// Mapping says where lines of a type are posted: an app's lines, a channel's, lines from both or all lines.
type Mapping struct {
	ID                 id.ID            `json:"id"`
	AppID              *string          `json:"appId" doc:"Null means every app."`
	LineType           string           `json:"lineType"`
	Channel            *string          `json:"channel" doc:"Booking platform, case aside; null means every channel."`
	Status             Status           `json:"status"`
	AccountID          *id.ID           `json:"accountId" doc:"Null unless mapped."`
	Account            *account.NameRef `json:"account"`
	Party              *ledger.Party    `json:"party" doc:"The party that earns it; null means none, as for tax."`
	RevenueRecognition *fee.Recognition `json:"revenueRecognition" enum:"checkIn,checkOut,proRata,bookedAt" doc:"Null follows the reservation."`
	CreatedAt          day.Instant      `json:"createdAt"`
	UpdatedAt          day.Instant      `json:"updatedAt"`
}

// Posts returns the party as entries state it.
func (m *Mapping) Posts() ledger.Party {
	if m.Party == nil {
		return ledger.NoParty
	}

	return *m.Party
}

// scope is the app, channel and line type that a mapping applies to; an empty text means all.
type scope struct{ app, channel, lineType string }

// scope returns the scope of the mapping.
func (m *Mapping) scope() scope {
	return newScope(m.AppID, m.Channel, m.LineType)
}

// newScope returns the scope of an app, a channel and a line type. Channels are compared case aside.
func newScope(app, channel *string, lineType string) scope {
	s := scope{lineType: lineType}
	if app != nil {
		s.app = *app
	}

	if channel != nil {
		s.channel = strings.ToLower(*channel)
	}

	return s
}

// widerScopes returns the scopes of the mappings that apply to lines of this scope, the most specific first.
func (s scope) widerScopes() [4]scope {
	return [4]scope{s, {s.app, "", s.lineType}, {"", s.channel, s.lineType}, {"", "", s.lineType}}
}

// Set has all mappings of a team.
type Set struct{ byScope map[scope]*Mapping }

// NewSet indexes mappings by their scopes.
func NewSet(all []Mapping) Set {
	m := Set{byScope: make(map[scope]*Mapping, len(all))}
	for i := range all {
		m.byScope[all[i].scope()] = &all[i]
	}

	return m
}

// Find returns the mapping that decides on lines of a type that came from an app over a channel. It returns nil if
// there is none: an unmapped row decides nothing.
func (m Set) Find(app, channel *string, lineType string) *Mapping {
	for _, s := range newScope(app, channel, lineType).widerScopes() {
		// An unmapped row of a specific scope does not hide a mapping of a wider one.
		if found := m.byScope[s]; found != nil && found.Status != Unmapped {
			return found
		}
	}

	return nil
}

// Knows reports whether there is a row for the line type, mapped or not.
func (m Set) Knows(app, channel *string, lineType string) bool {
	for _, s := range newScope(app, channel, lineType).widerScopes() {
		if m.byScope[s] != nil {
			return true
		}
	}

	return false
}

var errDuplicate = apierr.New(
	apierr.CodeConflict, apierr.ReasonDuplicateName, "A mapping of this line type, app and channel exists",
)
