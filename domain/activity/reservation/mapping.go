package reservation

import (
	"strings"

	"stayledger/domain/activity/fee"
	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
)

// MappingStatus says what becomes of lines of a type.
type MappingStatus string

// The statuses of a mapping.
const (
	// Mapped lines are posted to the account.
	Mapped MappingStatus = "mapped"
	// Unmapped types arrived without a mapping and wait for one; their lines are not posted.
	Unmapped MappingStatus = "unmapped"
	// Excluded lines are no part of the books and of what the guest owes.
	Excluded MappingStatus = "excluded"
)

// Enum lists the statuses.
func (MappingStatus) Enum() []string {
	return []string{string(Mapped), string(Unmapped), string(Excluded)}
}

// Mapping is where lines of a type are posted: those of an app, of a channel, of both or all.
type Mapping struct {
	ID                 id.ID            `json:"id"`
	AppID              *string          `json:"appId" doc:"Null means every app."`
	LineType           string           `json:"lineType"`
	Channel            *string          `json:"channel" doc:"Booking platform, case aside; null means every channel."`
	Status             MappingStatus    `json:"status"`
	AccountID          *id.ID           `json:"accountId" doc:"Null unless mapped."`
	Account            *AccountRef      `json:"account"`
	Party              *ledger.Party    `json:"party" enum:"owners,manager" doc:"Whose revenue it is; null means nobody's, such as tax."`
	RevenueRecognition *fee.Recognition `json:"revenueRecognition" enum:"checkIn,checkOut,proRata,bookedAt" doc:"Null follows the reservation."`
	CreatedAt          day.Instant      `json:"createdAt"`
	UpdatedAt          day.Instant      `json:"updatedAt"`
}

// Posts is the party as entries state it.
func (m *Mapping) posts() ledger.Party {
	if m.Party == nil {
		return ledger.NoParty
	}
	return *m.Party
}

// scope is what a mapping is for; empty texts stand for all.
type scope struct{ app, channel, lineType string }

func (m *Mapping) scope() scope {
	return scope{deref(m.AppID), strings.ToLower(deref(m.Channel)), m.LineType}
}

// scopes are the scopes that hold for a line type of a reservation, the most specific first.
func (r *Reservation) scopes(lineType string) [4]scope {
	app, channel := deref(r.AppID), strings.ToLower(deref(r.BookingPlatform))
	return [4]scope{{app, channel, lineType}, {app, "", lineType}, {"", channel, lineType}, {"", "", lineType}}
}

// Mappings are all mappings of a team.
type Mappings struct{ byScope map[scope]*Mapping }

// NewMappings makes mappings findable.
func NewMappings(all []Mapping) Mappings {
	m := Mappings{byScope: make(map[scope]*Mapping, len(all))}
	for i := range all {
		m.byScope[all[i].scope()] = &all[i]
	}
	return m
}

// Of is the mapping that decides on lines of a type, nil when nobody has mapped it: an unmapped row decides nothing.
func (m Mappings) Of(r *Reservation, lineType string) *Mapping {
	for _, s := range r.scopes(lineType) {
		if found := m.byScope[s]; found != nil && found.Status != Unmapped {
			return found
		}
	}
	return nil
}

// knows reports whether somebody can find the line type among the mappings.
func (m Mappings) knows(r *Reservation, lineType string) bool {
	for _, s := range r.scopes(lineType) {
		if m.byScope[s] != nil {
			return true
		}
	}
	return false
}

// unknown are the line types of a reservation that no row of the mappings names.
func (m Mappings) unknown(r *Reservation) (types []string) {
	for i := range r.Lines {
		if l := &r.Lines[i]; l.AccountID == nil && !m.knows(r, l.Type) {
			types = append(types, l.Type)
		}
	}
	return types
}

var errDuplicateMapping = apierr.New(apierr.CodeConflict, apierr.ReasonDuplicateName, "A mapping of this line type, app and channel exists")
