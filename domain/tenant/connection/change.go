package connection

import (
	"stayledger/platform/api"
	"stayledger/platform/day"
)

// Create is a connection to be.
type Create struct {
	AppID       AppID             `json:"appId" maxLength:"50" doc:"Key of the app."`
	Name        string            `json:"name" minLength:"1" maxLength:"200"`
	UniqueRef   *string           `json:"uniqueRef,omitempty" nullable:"true" minLength:"1" maxLength:"200" doc:"The caller's own reference, unique in the team."`
	Settings    map[string]string `json:"settings,omitempty" maxProperties:"50" doc:"As the app wants them."`
	Credentials map[string]string `json:"credentials,omitempty" maxProperties:"50" doc:"As the app wants them; sealed, and never returned."`
}

// Update changes the fields that are present.
type Update struct {
	Name      *string           `json:"name,omitempty" minLength:"1" maxLength:"200"`
	UniqueRef api.Opt[string]   `json:"uniqueRef,omitzero" minLength:"1" maxLength:"200"`
	Settings  map[string]string `json:"settings,omitempty" maxProperties:"50" doc:"All settings. A changed address forgets the credentials."`
	Status    *string           `json:"status,omitempty" enum:"active,disabled"`

	AccountingStartAt api.Opt[day.Day] `json:"accountingStartAt,omitzero" doc:"For property-management systems only."`
	IsSyncEnabled     *bool            `json:"isSyncEnabled,omitempty" doc:"Whether it is read by its schedule."`
	AccountingEndAt   api.Opt[day.Day] `json:"accountingEndAt,omitzero" doc:"Not included."`
}

// Connect connects again.
type Connect struct {
	Credentials map[string]string `json:"credentials,omitempty" maxProperties:"50" doc:"In place of the present ones; absent keeps these."`
}
