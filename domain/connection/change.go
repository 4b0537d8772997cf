package connection

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/seal"
	"stayledger/provider/pay"
)

// Create is a connection to be.
type Create struct {
	AppID       App               `json:"appId"`
	Name        string            `json:"name" minLength:"1" maxLength:"200"`
	UniqueRef   *string           `json:"uniqueRef,omitempty" minLength:"1" maxLength:"200" doc:"The caller's own reference, unique in the team."`
	Settings    map[string]string `json:"settings,omitempty" maxProperties:"50" doc:"As the app wants them."`
	Credentials map[string]string `json:"credentials,omitempty" maxProperties:"50" doc:"As the app wants them; sealed, and never returned."`
}

// Update changes the fields that are present.
type Update struct {
	Name      *string           `json:"name,omitempty" minLength:"1" maxLength:"200"`
	UniqueRef api.Opt[string]   `json:"uniqueRef,omitzero" minLength:"1" maxLength:"200"`
	Settings  map[string]string `json:"settings,omitempty" maxProperties:"50" doc:"All settings. A changed address forgets the credentials."`
	Status    *string           `json:"status,omitempty" enum:"active,disabled"`
}

// Connect connects again.
type Connect struct {
	Credentials map[string]string `json:"credentials,omitempty" maxProperties:"50" doc:"In place of the present ones; absent keeps these."`
}

// writer is what decisions know of the service.
type writer struct {
	box   *seal.Box
	open  Opener
	rules rules
}

// setSettings checks settings and puts them in place. It reports whether credentials would go to another address than before.
func (w writer) setSettings(c *Connection, given map[string]string) (moved bool, err error) {
	a := appOf(c.AppID)
	values, issues := check("settings", a.settings, given, w.rules)
	if issues != nil {
		return false, apierr.BadRequest.At(issues...)
	}
	old := map[string]string{}
	if c.Settings != nil {
		if err := json.Unmarshal(c.Settings, &old); err != nil {
			return false, fmt.Errorf("settings of connection %v: %w", c.ID, err)
		}
	}
	for i := range a.settings {
		if f := &a.settings[i]; f.address && old[f.name] != values[f.name] {
			moved = true
		}
	}
	c.Settings, err = encode(values)
	return moved, err
}

// setCredentials checks credentials and seals them.
func (w writer) setCredentials(c *Connection, given map[string]string) error {
	values, issues := check("credentials", appOf(c.AppID).credentials, given, w.rules)
	if issues != nil {
		return apierr.BadRequest.At(issues...)
	}
	if len(values) == 0 {
		c.Credentials = nil
		return nil
	}
	plain, err := encode(values)
	if err != nil {
		return err
	}
	c.Credentials = w.box.Seal(plain, label(c.ID))
	return nil
}

// checkOpens refuses what the provider itself would refuse to start with.
func (w writer) checkOpens(c *Connection) error {
	a := appOf(c.AppID)
	if slices.ContainsFunc(a.credentials, func(f field) bool { return f.required }) && c.Credentials == nil {
		return nil // to be given when it is connected
	}
	_, err := w.open(c)
	wrong, ok := errors.AsType[*pay.SettingsError](err)
	if !ok {
		return err
	}
	part := "settings"
	for i := range a.credentials {
		if a.credentials[i].name == wrong.Field {
			part = "credentials"
		}
	}
	return apierr.BadRequest.At(apierr.Issue{Message: "Value is malformed", Code: "malformed", Path: []any{part, wrong.Field}, Schema: "body"})
}

// setStatus switches a connection off, or on again when it has worked.
func setStatus(c *Connection, to Status) error {
	if to == Active && c.ConnectedAt == nil {
		return errReconnect
	}
	c.Status = to
	return nil
}
