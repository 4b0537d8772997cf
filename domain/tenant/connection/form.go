package connection

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/platform/outbound"
	"stayledger/provider/pay"
)

func form(expression string) func(string, rules) apierr.IssueCode {
	compiled := regexp.MustCompile(expression)

	return func(text string, _ rules) apierr.IssueCode {
		return wrongUnless(compiled.MatchString(text), apierr.IssueMalformed)
	}
}

// The forms of texts that go into files of fixed columns or into headers.
var (
	printable    = form(`^[!-~]([ -~]*[!-~])?$`)
	alphanumeric = form(`^[0-9A-Za-z]+$`)
	token        = form(`^[!-~]+$`)
)

func wrongUnless(right bool, code apierr.IssueCode) apierr.IssueCode {
	if right {
		return ""
	}

	return code
}

// amongValues returns a check that the text is one of the values.
func amongValues(values ...string) func(string, rules) apierr.IssueCode {
	return func(text string, _ rules) apierr.IssueCode {
		return wrongUnless(slices.Contains(values, text), apierr.IssueEnum)
	}
}

func uuid(text string, _ rules) apierr.IssueCode {
	_, err := id.Parse(text)
	return wrongUnless(err == nil, apierr.IssueUUID)
}

func routing(text string, _ rules) apierr.IssueCode {
	return wrongUnless(pay.ValidRouting(text), apierr.IssueRoutingNumberInvalid)
}

// odfi checks the routing number of the originating bank, with or without its check digit.
func odfi(text string, r rules) apierr.IssueCode {
	if eightDigits.MatchString(text) {
		return ""
	}

	return routing(text, r)
}

var eightDigits = regexp.MustCompile(`^[0-9]{8}$`)

// address checks the address of an app: https, at a public name or number. The address that a name resolves to is
// checked when it is called.
func address(text string, r rules) apierr.IssueCode {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return apierr.IssueURL
	}

	machine, near := nearness(u.Hostname())
	allowed := u.Scheme == "https" && (!near || r.private) || u.Scheme == "http" && machine && r.private

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
