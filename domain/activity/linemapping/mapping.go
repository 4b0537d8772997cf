// Package linemapping owns where imported lines of money are posted, such as resolutions, withheld tax or the share of
// a co-host: an account or an assignment, and a party, for each type of line, for an app or for every app. A type that
// arrives without a mapping is noted as unmapped. What an import could not post waits until the type is mapped, which
// is a job. See docs/decisions/linemapping.md.
package linemapping

import (
	"strings"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// Status says how lines of a type are handled.
type Status string

// The statuses of a mapping.
const (
	// StatusMapped lines are posted to the account, or to the account of the assignment.
	StatusMapped Status = "mapped"
	// StatusUnmapped types arrived without a mapping and wait for one; their lines are not posted.
	StatusUnmapped Status = "unmapped"
	// StatusExcluded lines are no part of the books.
	StatusExcluded Status = "excluded"
)

// Enum lists the statuses.
func (Status) Enum() []string {
	return []string{string(StatusMapped), string(StatusUnmapped), string(StatusExcluded)}
}

// Mapping says where lines of a type are posted: those of an app or of every app.
type Mapping struct {
	ID          id.ID               `json:"id"`
	AppID       *string             `json:"appId" doc:"Null means every app."`
	LineType    string              `json:"lineType" doc:"Type of the imported lines, case aside."`
	LineKey     string              `json:"-"`
	Status      Status              `json:"status"`
	AccountID   *id.ID              `json:"accountId" doc:"Null unless mapped, and where an assignment names the account."`
	Account     *account.NameRef    `json:"account"`
	Assignment  *account.Assignment `json:"assignment" doc:"Names the account by its assignment when a line is posted; null where the mapping has an account."`
	Party       *ledger.Party       `json:"party" doc:"The party that earns or bears it; null means none, as for tax."`
	Description *string             `json:"description" doc:"What people should know of the type."`
	CreatedAt   day.Instant         `json:"createdAt"`
	UpdatedAt   day.Instant         `json:"updatedAt"`
}

// isNamed reports whether the mapping names where its lines go: an account or an assignment.
func (m *Mapping) isNamed() bool { return m.AccountID != nil || m.Assignment != nil }

// lineKey returns the text as which a line type is compared.
func lineKey(lineType string) string { return strings.ToLower(lineType) }

// lineKeys returns the texts as which line types are compared; nil for nil.
func lineKeys(lineTypes []string) (keys []string) {
	for _, t := range lineTypes {
		keys = append(keys, lineKey(t))
	}

	return keys
}

// scope has the app and line type that a mapping applies to; an empty app means every app.
type scope struct{ app, lineKey string }

// Set has all mappings of a team.
type Set struct{ byScope map[scope]*Mapping }

// newSet indexes mappings by their scopes.
func newSet(all []Mapping) Set {
	s := Set{byScope: make(map[scope]*Mapping, len(all))}
	for i := range all {
		s.byScope[scope{ptr.Value(all[i].AppID), all[i].LineKey}] = &all[i]
	}

	return s
}

// Find returns the mapping or exclusion that decides on lines of a type from an app: that of the app, else that for
// every app. It returns nil for lines that wait: an unmapped row decides nothing, and hides no mapping for every app.
func (s Set) Find(appID *string, lineType string) *Mapping {
	for _, app := range [2]string{ptr.Value(appID), ""} {
		if m := s.byScope[scope{app, lineKey(lineType)}]; m != nil && m.Status != StatusUnmapped {
			return m
		}
	}

	return nil
}

var errDuplicate = apierr.New(
	apierr.CodeConflict, apierr.ReasonDuplicateName, "A mapping of this line type and app exists",
)
