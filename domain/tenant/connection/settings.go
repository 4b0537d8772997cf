package connection

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
	"stayledger/provider/pay"
)

// field is one setting or credential. All are texts.
type field struct {
	name     string
	required bool
	// fallback is the value if the field is absent.
	fallback string
	min, max int
	// check gives what is wrong with a text of the right length, empty when nothing is; nil takes any.
	check func(text string, r rules) apierr.IssueCode
	// capitals puts the text in capital letters, the only ones of files of banks.
	capitals bool
	// address says where credentials are sent: a changed address must not get those that were meant for another.
	address bool
}

// rules has what checks need to know about the service.
type rules struct {
	// private allows addresses of no public network, and plain http ones of this machine.
	private bool
}

// fundingAccount is the setting that names the bank account to pay from.
const fundingAccount = "fundingAccountId"

// check returns the values that fields take, with the fallbacks of absent ones, and the issues, which are at the
// given part of the body.
func check(part string, fields []field, given map[string]string, r rules) (map[string]string, []apierr.Issue) {
	var issues []apierr.Issue

	out := map[string]string{}

	// Each field is taken out of a copy, so that the unknown ones are left.
	left := maps.Clone(given)

	for i := range fields {
		f := &fields[i]
		text, present := given[f.name]
		delete(left, f.name)

		switch {
		case present:
			if wrong := f.wrong(text, r); wrong != "" {
				issues = append(issues, wrong.InBody(part, f.name))
				continue
			}

			// The value is stored in one form, so that it can be compared.
			if f.capitals {
				text = strings.ToUpper(text)
			}

			out[f.name] = text
		case f.required:
			issues = append(issues, apierr.IssueRequired.InBody(part, f.name))
		case f.fallback != "":
			out[f.name] = f.fallback
		}
	}

	// What no field took is unknown.
	for _, name := range slices.Sorted(maps.Keys(left)) {
		issues = append(issues, apierr.IssueUnknownField.InBody(part, name))
	}

	return out, issues
}

// wrong returns the code of what is wrong with the text of a setting, empty for nothing.
func (f *field) wrong(text string, r rules) apierr.IssueCode {
	if n := utf8.RuneCountInString(text); n < f.min || n > f.max {
		return apierr.IssueLength
	}

	if f.check == nil {
		return ""
	}

	return f.check(text, r)
}

// writer has what decisions need from the service.
type writer struct {
	box   *seal.Box
	open  Opener
	rules rules
	used  *parts.Usage
}

// setSettings checks settings and sets them. It reports whether credentials would go to another address than
// before.
func (w writer) setSettings(c *Connection, given map[string]string) (moved bool, err error) {
	a := findApp(c.AppID)

	values, issues := check("settings", a.settings, given, w.rules)
	if issues != nil {
		return false, apierr.BadRequest.At(issues...)
	}

	// Compare the fields that are addresses with the old settings; a new connection has none.
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

	// Only settings that passed the checks are set.
	c.Settings, err = encode(values)

	return moved, err
}

// setCredentials checks credentials and seals them.
func (w writer) setCredentials(c *Connection, given map[string]string) error {
	values, issues := check("credentials", findApp(c.AppID).credentials, given, w.rules)
	if issues != nil {
		return apierr.BadRequest.At(issues...)
	}

	// An app without credentials has nothing to seal.
	if len(values) == 0 {
		c.Credentials = nil
		return nil
	}

	// They are sealed under the id of the connection, so that they cannot be moved to another row.
	plain, err := encode(values)
	if err != nil {
		return err
	}

	c.Credentials = w.box.Seal(plain, label(c.ID))

	return nil
}

// checkOpens fails for settings or credentials that the provider's code refuses, with an issue at the field.
func (w writer) checkOpens(c *Connection) error {
	a := findApp(c.AppID)
	if slices.ContainsFunc(a.credentials, func(f field) bool { return f.required }) && c.Credentials == nil {
		return nil // to be given when it is connected
	}

	// Opening runs the provider's own checks of the form, without a call over the network.
	_, err := w.open(c)

	wrong, ok := errors.AsType[*pay.SettingsError](err)
	if !ok {
		return err
	}

	// The provider names a field; find out which part of the body it came from.
	part := "settings"

	for i := range a.credentials {
		if a.credentials[i].name == wrong.Field {
			part = "credentials"
		}
	}

	return apierr.BadRequest.At(apierr.IssueMalformed.InBody(part, wrong.Field))
}

func encode(values map[string]string) (json.RawMessage, error) {
	out, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}

	return out, nil
}

// label returns the name that credentials are sealed under.
func label(connection id.ID) string { return "connection:" + connection.String() }

// SealedColumn names the column that keeps credentials.
func SealedColumn() seal.Column {
	return seal.Column{Table: "connection", Name: "credentials", Label: label}
}

// OpenCredentials returns the credentials of a connection, or nil if it has none.
func (c *Connection) OpenCredentials(box *seal.Box) (json.RawMessage, error) {
	if c.Credentials == nil {
		return nil, nil
	}

	plain, err := box.Open(c.Credentials, label(c.ID))
	if err != nil {
		return nil, fmt.Errorf("credentials of connection %v: %w", c.ID, err)
	}

	return plain, nil
}

// CallbackSecret returns the secret that the app signs its callbacks with. It is empty if the app sends none or the
// connection has no credentials.
func (c *Connection) CallbackSecret(box *seal.Box) (string, error) {
	if !c.AppID.Can(TellsOutcomes) || c.Credentials == nil {
		return "", nil
	}

	plain, err := c.OpenCredentials(box)
	if err != nil {
		return "", err
	}

	// The error leaves the cause out, which could quote the secret.
	var secrets pay.HTTPCredentials
	if err := json.Unmarshal(plain, &secrets); err != nil {
		return "", fmt.Errorf("credentials of connection %v are malformed", c.ID)
	}

	return secrets.CallbackSecret, nil
}

// FundingAccount returns the bank account that the settings name to pay from, or the zero id.
func (c *Connection) FundingAccount() id.ID {
	var s struct {
		FundingAccountID id.ID `json:"fundingAccountId"`
	}
	if err := json.Unmarshal(c.Settings, &s); err != nil {
		return id.Zero // they were checked when they were written
	}

	return s.FundingAccountID
}

// Opener opens the provider behind a connection; package app gives one that knows the keys and the providers.
type Opener func(c *Connection) (pay.Provider, error)

// Open returns a function that opens the providers of connections, with credentials that the box has sealed. Its
// errors wrap those of provider/pay.
func Open(box *seal.Box, options ...pay.HTTPOption) Opener {
	return func(c *Connection) (pay.Provider, error) {
		credentials, err := c.OpenCredentials(box)
		if err != nil {
			return nil, err
		}

		// The provider gets its own settings only, without those that are ours.
		settings := map[string]json.RawMessage{}
		if err := json.Unmarshal(c.Settings, &settings); err != nil {
			return nil, fmt.Errorf("settings of connection %v: %w", c.ID, err)
		}

		delete(settings, fundingAccount) // it is ours

		raw, err := json.Marshal(settings)
		if err != nil {
			return nil, fmt.Errorf("settings of connection %v: %w", c.ID, err)
		}

		return findApp(c.AppID).open(raw, credentials, options)
	}
}
