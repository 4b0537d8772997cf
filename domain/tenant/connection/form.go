package connection

import (
	"net/url"
	"regexp"
	"slices"

	"stayledger/platform/apierr"
	"stayledger/platform/outbound"
)

// matchForm returns a check of texts by a regular expression.
func matchForm(expression string) func(text string) apierr.IssueCode {
	compiled := regexp.MustCompile(expression)

	return func(text string) apierr.IssueCode {
		return wrongUnless(compiled.MatchString(text), apierr.IssueMalformed)
	}
}

// The forms of texts that go into files of fixed columns or into headers.
var (
	Printable    = matchForm(`^[!-~]([ -~]*[!-~])?$`)
	Alphanumeric = matchForm(`^[0-9A-Za-z]+$`)
	Token        = matchForm(`^[!-~]+$`)
)

// wrongUnless returns the code if a text is not right, else "".
func wrongUnless(right bool, code apierr.IssueCode) apierr.IssueCode {
	if right {
		return ""
	}

	return code
}

// OneOf returns a check that a text is one of the values.
func OneOf(values ...string) func(text string) apierr.IssueCode {
	return func(text string) apierr.IssueCode {
		return wrongUnless(slices.Contains(values, text), apierr.IssueEnum)
	}
}

// checkAddress checks the address of an app: it must have the scheme https and a host name or a public IP address. The
// addresses behind a name are checked by checkNames, and again by each call. If private is set, it also allows private
// networks, and http on this machine.
func checkAddress(text string, private bool) apierr.IssueCode {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || u.User != nil || u.RawQuery != "" || u.ForceQuery ||
		u.Fragment != "" {
		return apierr.IssueURL
	}

	return wrongUnless(outbound.Permits(u, private), apierr.IssueAddressNotAllowed)
}
