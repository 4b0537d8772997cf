package apitest

import (
	"regexp"

	"stayledger/platform/api"
)

// supported are the families of the contract's dry-run mode, by path. (DRY-03, OPEN-40).
var supported = regexp.MustCompile(`^/(accounts|account-categories|account-connections|bank-records|bank-rules/\{id\}/run|contacts|general-ledger|journals/catch-up|listings|recurring-fees|reservations|statements|tax-rates|transactions|teams?/.*init|team/init|teams/opening-[a-z-]+)\b`)

// unavailable are mutations under those paths that must not dry-run.
var unavailable = regexp.MustCompile(`/(csv|pdf|pdf/batch|journal-entries|preview|line-mappings(/\{id\})?|pay|ach|owner-links|emails|cancel|archive)$`)

// DryRuns reports whether the contract has an endpoint offer dry runs. It does not ask what the endpoint declares: a
// test that calls one of them fails when the declaration is gone.
func DryRuns(e *api.Endpoint) bool {
	return e.Mutates() && supported.MatchString(e.Path) && !unavailable.MatchString(e.Path)
}
