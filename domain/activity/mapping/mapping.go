// Package mapping owns where lines of reservations are posted: an account, a party and a recognition for each type of
// line, for all reservations or those of an app or a channel. A type that arrives without a mapping is noted as one and
// waits for it.
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

// Status says what becomes of lines of a type.
type Status string

// The statuses of a mapping.
const (
	// Mapped lines are posted to the account.
	Mapped Status = "mapped"
	// Unmapped types arrived without a mapping and wait for one; their lines are not posted.
	Unmapped Status = "unmapped"
	// Excluded lines are no part of the books and of what the guest owes.
	Excluded Status = "excluded"
)

// Enum lists the statuses.
func (Status) Enum() []string {
	return []string{string(Mapped), string(Unmapped), string(Excluded)}
}

// Mapping is where lines of a type are posted: those of an app, of a channel, of both or all.
type Mapping struct {
	ID                 id.ID            `json:"id"`
	AppID              *string          `json:"appId" doc:"Null means every app."`
	LineType           string           `json:"lineType"`
	Channel            *string          `json:"channel" doc:"Booking platform, case aside; null means every channel."`
	Status             Status           `json:"status"`
	AccountID          *id.ID           `json:"accountId" doc:"Null unless mapped."`
	Account            *account.NameRef `json:"account"`
	Party              *ledger.Party    `json:"party" doc:"Whose revenue it is; null means nobody's, such as tax."`
	RevenueRecognition *fee.Recognition `json:"revenueRecognition" enum:"checkIn,checkOut,proRata,bookedAt" doc:"Null follows the reservation."`
	CreatedAt          day.Instant      `json:"createdAt"`
	UpdatedAt          day.Instant      `json:"updatedAt"`
}

// Posts is the party as entries state it.
func (m *Mapping) Posts() ledger.Party {
	if m.Party == nil {
		return ledger.NoParty
	}

	return *m.Party
}

// scope is what a mapping is for; empty texts stand for all.
type scope struct{ app, channel, lineType string }

func (m *Mapping) scope() scope {
	return scopeOf(m.AppID, m.Channel, m.LineType)
}

func scopeOf(app, channel *string, lineType string) scope {
	s := scope{lineType: lineType}
	if app != nil {
		s.app = *app
	}

	if channel != nil {
		s.channel = strings.ToLower(*channel)
	}

	return s
}

// alike are the scopes that hold where this one does, the most specific first.
func (s scope) alike() [4]scope {
	return [4]scope{s, {s.app, "", s.lineType}, {"", s.channel, s.lineType}, {"", "", s.lineType}}
}

// Set are all mappings of a team.
type Set struct{ byScope map[scope]*Mapping }

// NewSet makes mappings findable.
func NewSet(all []Mapping) Set {
	m := Set{byScope: make(map[scope]*Mapping, len(all))}
	for i := range all {
		m.byScope[all[i].scope()] = &all[i]
	}

	return m
}

// Of is the mapping that decides on lines of a type that came from an app over a channel, nil when nobody has mapped
// it: an unmapped row decides nothing.
func (m Set) Of(app, channel *string, lineType string) *Mapping {
	for _, s := range scopeOf(app, channel, lineType).alike() {
		if found := m.byScope[s]; found != nil && found.Status != Unmapped {
			return found
		}
	}

	return nil
}

// Knows reports whether somebody can find the line type among the mappings.
func (m Set) Knows(app, channel *string, lineType string) bool {
	for _, s := range scopeOf(app, channel, lineType).alike() {
		if m.byScope[s] != nil {
			return true
		}
	}

	return false
}

var errDuplicate = apierr.New(apierr.CodeConflict, apierr.ReasonDuplicateName, "A mapping of this line type, app and channel exists")
