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

func form(expression string) func(string, rules) *apierr.Issue {
	compiled := regexp.MustCompile(expression)
	return func(text string, _ rules) *apierr.Issue {
		return wrongUnless(compiled.MatchString(text), "Value is malformed", "malformed")
	}
}

// The forms of texts that go into files of fixed columns or into headers.
var (
	printable    = form(`^[!-~]([ -~]*[!-~])?$`)
	alphanumeric = form(`^[0-9A-Za-z]+$`)
	token        = form(`^[!-~]+$`)
)

func wrongUnless(right bool, message, code string) *apierr.Issue {
	if right {
		return nil
	}
	return &apierr.Issue{Message: message, Code: code}
}

func oneOf(values ...string) func(string, rules) *apierr.Issue {
	return func(text string, _ rules) *apierr.Issue {
		return wrongUnless(slices.Contains(values, text), "Value is not one of the allowed values", "enum")
	}
}

func uuid(text string, _ rules) *apierr.Issue {
	_, err := id.Parse(text)
	return wrongUnless(err == nil, "Value is not a uuid", "uuid")
}

func routing(text string, _ rules) *apierr.Issue {
	return wrongUnless(pay.ValidRouting(text), "Routing number is not valid", "routingNumberInvalid")
}

// odfi is the routing number of the bank that originates, with or without its check digit.
func odfi(text string, r rules) *apierr.Issue {
	if eightDigits.MatchString(text) {
		return nil
	}
	return routing(text, r)
}

var eightDigits = regexp.MustCompile(`^[0-9]{8}$`)

// address is where an app is spoken to: https, at a public name or number. What a name resolves to is checked when it is called.
func address(text string, r rules) *apierr.Issue {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return &apierr.Issue{Message: "Value is not an address", Code: "url"}
	}
	machine, near := nearness(u.Hostname())
	allowed := u.Scheme == "https" && (!near || r.private) || u.Scheme == "http" && machine && r.private
	return wrongUnless(allowed, "Address is not a public https address", "addressNotAllowed")
}

// nearness tells the names and numbers of this machine, and those of no public network.
func nearness(host string) (machine, near bool) {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		name := strings.ToLower(strings.TrimSuffix(host, "."))
		machine = name == "localhost" || strings.HasSuffix(name, ".localhost")
		return machine, machine
	}
	return ip.Unmap().IsLoopback(), !outbound.Public(ip)
}
