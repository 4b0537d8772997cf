package connection

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"stayledger/platform/apierr"
	"stayledger/platform/outbound"
)

// form returns a check of texts by a regular expression.
func form(expression string) func(text string) apierr.IssueCode {
	compiled := regexp.MustCompile(expression)

	return func(text string) apierr.IssueCode {
		return wrongUnless(compiled.MatchString(text), apierr.IssueMalformed)
	}
}

// The forms of texts that go into files of fixed columns or into headers.
var (
	Printable    = form(`^[!-~]([ -~]*[!-~])?$`)
	Alphanumeric = form(`^[0-9A-Za-z]+$`)
	Token        = form(`^[!-~]+$`)
)

// wrongUnless returns the code if something is not right.
func wrongUnless(right bool, code apierr.IssueCode) apierr.IssueCode {
	if right {
		return ""
	}

	return code
}

// OneOf returns a check that the text is one of the values.
func OneOf(values ...string) func(text string) apierr.IssueCode {
	return func(text string) apierr.IssueCode {
		return wrongUnless(slices.Contains(values, text), apierr.IssueEnum)
	}
}

// address checks the address of an app: https, at a public name or number. What a name resolves to is
// checked by checkNames, and again when it is called. With private it may be one of no public network, and a plain http one of this machine.
func address(text string, private bool) apierr.IssueCode {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return apierr.IssueURL
	}

	machine, near := nearness(u.Hostname())
	allowed := u.Scheme == "https" && (!near || private) || u.Scheme == "http" && machine && private

	return wrongUnless(allowed, apierr.IssueAddressNotAllowed)
}

// nearness reports whether host is a name or number of this machine, and whether it is one of no public network.
func nearness(host string) (machine, near bool) {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		name := strings.ToLower(strings.TrimSuffix(host, "."))
		machine = name == "localhost" || strings.HasSuffix(name, ".localhost")

		return machine, machine
	}

	return ip.Unmap().IsLoopback(), !outbound.Public(ip)
}
