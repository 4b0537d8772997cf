package access

import (
	"slices"
	"strings"
)

// Resources and what can be done to each. Actions never imply one another. (AUTH-18 … AUTH-23).
var scopes = map[string][]string{
	"accounts":         {"read", "write", "delete", "export"},
	"bank":             {"read", "write", "delete", "execute", "export"},
	"connections":      {"read", "write", "delete", "execute"},
	"contacts":         {"read", "write", "delete", "export", "import"},
	"contacts:vendors": {"write"},
	"files":            {"read"},
	"flows":            {"execute"},
	"journals":         {"post"},
	"legacy":           {"import"},
	"listings":         {"read", "write", "delete", "export"},
	"migrations":       {"execute"},
	"operations":       {"read"},
	"partner":          {"read", "manage"},
	"payments":         {"approve", "manage", "override"},
	"pm-statements":    {"read", "export"},
	"recurring-fees":   {"read", "write", "delete"},
	"reports":          {"read", "export"},
	"reservations":     {"read", "write", "delete", "export", "import"},
	"statements":       {"read", "write", "delete", "publish", "pay", "export", "import"},
	"tax-rates":        {"read", "write", "delete"},
	"team":             {"read", "write", "delete", "execute"},
	"transactions":     {"read", "write", "delete", "pay", "mark-paid", "export", "import"},
	"webhooks":         {"read", "manage"},
	"audit":            {"read"},
	"access":           {"read", "manage"},
	"general-ledger":   {"read", "import", "manage"},
	"layouts":          {"read", "write", "delete"},
	"line-mappings":    {"read", "write", "export"},
	"metrics":          {"read"},
	"csv-imports":      {"read", "import"},
}

// Scopes lists every scope that a credential can hold, sorted.
func Scopes() []string {
	var out []string

	for resource, actions := range scopes {
		for _, a := range actions {
			out = append(out, resource+":"+a)
		}
	}

	slices.Sort(out)

	return out
}

// Bundle is a reviewed set of scopes that keys are issued with.
type Bundle string

// The capability bundles.
const (
	Reporting   Bundle = "reporting"
	Bookkeeping Bundle = "bookkeeping"
	Statements  Bundle = "statements"
	Payments    Bundle = "payments"
	Setup       Bundle = "setup"
	Admin       Bundle = "admin"
)

// Enum lists the bundles.
func (Bundle) Enum() []string {
	return []string{"reporting", "bookkeeping", "statements", "payments", "setup", "admin"}
}

// Scopes returns the scopes that a bundle grants, or nil if b is no bundle. Every bundle but admin includes
// reporting.
func (b Bundle) Scopes() []string {
	reporting := filter(func(_, action string) bool { return action == "read" || action == "export" })
	writing := func(resources ...string) []string {
		return filter(func(resource, action string) bool {
			return action == "write" && slices.Contains(resources, resource)
		})
	}

	// Imports of listings and the like belong to setup, which brings a team in.
	switch b {
	case Reporting:
		return reporting
	case Bookkeeping:
		return union(
			reporting,
			writing("contacts", "contacts:vendors", "transactions", "bank", "reservations"),
			[]string{"journals:post"},
		)
	case Statements:
		return union(reporting, []string{"statements:write", "statements:publish"})
	case Payments:
		return union(reporting, []string{"statements:pay", "transactions:pay", "transactions:mark-paid"})
	case Setup:
		return union(
			reporting,
			writing(
				"team",
				"listings",
				"accounts",
				"recurring-fees",
				"tax-rates",
				"layouts",
				"line-mappings",
				"connections",
			),
			[]string{"webhooks:manage", "team:execute"},
			filter(func(_, action string) bool { return action == "import" }),
		)
	case Admin:
		return Scopes()
	}

	return nil
}

// Bundles returns the largest bundles that a set of scopes holds whole, and the scopes that are in none of them: the
// shortest list that Expand turns into the set.
func Bundles(granted []string) (bundles []Bundle, rest []string) {
	holds := func(b Bundle) bool { return len(union(granted, b.Scopes())) == len(union(granted)) }
	isIn := func(all []string) func(string) bool {
		return func(s string) bool { return slices.Contains(all, s) }
	}

	rest = union(granted)

	// Admin has all others, and each but admin has reporting, which is the first of the list and so comes last.
	for _, name := range slices.Backward(Bundle("").Enum()) {
		b := Bundle(name)
		if adds := slices.ContainsFunc(rest, isIn(b.Scopes())); adds && holds(b) {
			bundles = append(bundles, b)
			rest = slices.DeleteFunc(rest, isIn(b.Scopes()))
		}
	}

	return bundles, rest
}

// filter returns the scopes that keep accepts by their resource and action.
func filter(keep func(resource, action string) bool) []string {
	var out []string

	for _, s := range Scopes() {
		i := strings.LastIndexByte(s, ':')
		if keep(s[:i], s[i+1:]) {
			out = append(out, s)
		}
	}

	return out
}

func union(sets ...[]string) []string {
	out := slices.Concat(sets...)
	slices.Sort(out)

	return slices.Compact(out)
}

// Expand turns a list of scopes and bundle names into scopes; unknown names are returned apart.
func Expand(names []string) (granted, unknown []string) {
	all := Scopes()

	for _, n := range names {
		switch {
		case slices.Contains(all, n):
			granted = append(granted, n)
		case Bundle(n).Scopes() != nil:
			granted = append(granted, Bundle(n).Scopes()...)
		default:
			unknown = append(unknown, n)
		}
	}

	return union(granted), unknown
}
