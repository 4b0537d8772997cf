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
)

// Field is a setting or credential. All values are texts.
type Field struct {
	Name     string
	Required bool
	// Fallback is the value if the field is absent.
	Fallback string
	// Min and Max bound the length in characters.
	Min, Max int
	// Check returns the fault of a text of the right length, or "". Nil accepts any text.
	Check func(text string) apierr.IssueCode
	// Capitals stores the text in capital letters, as files for banks require.
	Capitals bool
	// Address marks the address that credentials are sent to. Credentials for one address must not reach another.
	Address bool
	// BankAccount marks the id of a bank account of the chart, which the client of the app does not get.
	BankAccount bool
}

// checkValues returns the values to store, with fallbacks for absent fields, and the issues. Part is the part of the
// body that issues point at.
func checkValues(part string, fields []Field, given map[string]string, private bool) (map[string]string, []apierr.Issue) {
	var issues []apierr.Issue

	out := map[string]string{}

	// Remove each known field from a copy, so that unknown names are left.
	left := maps.Clone(given)

	for i := range fields {
		f := &fields[i]
		text, present := given[f.Name]
		delete(left, f.Name)

		switch {
		case present:
			if wrong := f.checkText(text, private); wrong != "" {
				issues = append(issues, wrong.InBody(part, f.Name))
				continue
			}

			// The value is stored in one form, so that it can be compared.
			if f.Capitals {
				text = strings.ToUpper(text)
			}

			out[f.Name] = text
		case f.Required:
			issues = append(issues, apierr.IssueRequired.InBody(part, f.Name))
		case f.Fallback != "":
			out[f.Name] = f.Fallback
		}
	}

	// Every name that is left has no field.
	for _, name := range slices.Sorted(maps.Keys(left)) {
		issues = append(issues, apierr.IssueUnknownField.InBody(part, name))
	}

	return out, issues
}

// checkText returns the fault of a value, or "".
func (f *Field) checkText(text string, private bool) apierr.IssueCode {
	if n := utf8.RuneCountInString(text); n < f.Min || n > f.Max {
		return apierr.IssueLength
	}

	switch {
	case f.Address:
		return checkAddress(text, private)
	case f.BankAccount:
		_, err := id.Parse(text)
		return wrongUnless(err == nil, apierr.IssueUUID)
	case f.Check == nil:
		return ""
	}

	return f.Check(text)
}

// writer has the configuration and the usage of connections, for its endpoints and jobs.
type writer struct {
	Config

	used *parts.Usage
}

// setSettings checks settings and sets them. It reports whether an address has changed, to which credentials would go.
func (w writer) setSettings(c *Connection, given map[string]string) (moved bool, err error) {
	a := w.Apps.find(c.AppID)

	values, issues := checkValues("settings", a.Settings, given, w.Private)
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

	for i := range a.Settings {
		if f := &a.Settings[i]; f.Address && old[f.Name] != values[f.Name] {
			moved = true
		}
	}

	// Only settings that passed the checks are set.
	c.Settings, err = encodeValues(values)

	return moved, err
}

// setCredentials checks credentials and seals them.
func (w writer) setCredentials(c *Connection, given map[string]string) error {
	values, issues := checkValues("credentials", w.Apps.find(c.AppID).Credentials, given, w.Private)
	if issues != nil {
		return apierr.BadRequest.At(issues...)
	}

	// An app without credentials has nothing to seal.
	if len(values) == 0 {
		c.Credentials = nil
		return nil
	}

	// The label has the id of the connection, so that sealed credentials cannot be copied to another row.
	plain, err := encodeValues(values)
	if err != nil {
		return err
	}

	c.Credentials = w.Box.Seal(plain, sealLabel(c.ID))

	return nil
}

// checkForm fails for settings or credentials that the client of the app refuses, with an issue at the field.
func (w writer) checkForm(c *Connection) error {
	a := w.Apps.find(c.AppID)
	if slices.ContainsFunc(a.Credentials, func(f Field) bool { return f.Required }) && c.Credentials == nil {
		return nil // to be given when it is connected
	}

	access, err := a.Access(w.Box, c)
	if err != nil {
		return err
	}

	err = a.Form(access)

	wrong, ok := errors.AsType[*FieldError](err)
	if !ok {
		return err
	}

	// The client names a field; find out which part of the body it came from.
	part := "settings"
	if slices.ContainsFunc(a.Credentials, func(f Field) bool { return f.Name == wrong.Field }) {
		part = "credentials"
	}

	return apierr.BadRequest.At(apierr.IssueMalformed.InBody(part, wrong.Field))
}

// encodeValues returns settings or credentials as JSON.
func encodeValues(values map[string]string) (json.RawMessage, error) {
	out, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}

	return out, nil
}

// sealLabel returns the label under which the credentials of a connection are sealed.
func sealLabel(connection id.ID) string { return "connection:" + connection.String() }

// CredentialsColumn returns the column of sealed credentials, for a change of the key.
func CredentialsColumn() seal.Column {
	return seal.Column{Table: "connection", Name: "credentials", Label: sealLabel}
}

// OpenCredentials returns the credentials of a connection, or nil if it has none.
func (c *Connection) OpenCredentials(box *seal.Box) (json.RawMessage, error) {
	if c.Credentials == nil {
		return nil, nil
	}

	plain, err := box.Open(c.Credentials, sealLabel(c.ID))
	if err != nil {
		return nil, fmt.Errorf("credentials of connection %v: %w", c.ID, err)
	}

	return plain, nil
}
