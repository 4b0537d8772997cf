package app_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/platform/api"
	"stayledger/platform/golden"
)

// exportPaths are those of the contract, EXP-P01 to EXP-P32 in order, and three beyond them.
const exportPaths = `/audit/events/csv; /accounts/csv; /bank-records/csv; /contacts/csv; /listings/csv; /reservations/csv; /reservations/line-mappings/csv; /transactions/csv;
	/statements/csv; /statements/detail/csv; /statements/by-period/csv; /statements/pdf; /statements/pdf/batch; /reports/guest-balances/csv;
	/reports/profit-and-loss/csv; /reports/balance-sheet/csv; /reports/trial-balance/csv; /reports/journal-entries/csv;
	/reports/manager-statements/csv; /reports/manager-statements/detail/csv; /reports/manager-statements/detail/pdf;
	/reports/manager-statements/pdf; /reports/manager-statements/detail/journal-entries/csv; /reports/trust-reconciliation/csv;
	/reports/trust-reconciliation/by-listing/csv; /reports/trust-reconciliation/pdf; /reports/trust-reconciliation/by-listing/pdf;
	/reports/owner-statement-summaries-per-layout/csv; /reports/owner-statement-summaries-per-layout/csv/detailed;
	/reports/owner-statement-summaries-per-layout/details/{contactId}/csv; /reports/owner-statement-summaries-per-layout/details/{contactId}/pdf;
	/reports/owner-statement-summaries-per-layout/pdf; /reports/sales-tax-liability/csv; /reports/information-returns/csv;
	/csv-imports/previews/{importId}/rows/csv`

// Both modes of every export exist, with a minute to answer in; none declares dryRun or is open to owners. What they
// answer is asked in test/exports.
//
// Proves: LIM-07.
func TestExportsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()

	var want, declared, served []string
	for path := range strings.SplitSeq(exportPaths, ";") {
		want = append(want, strings.TrimSpace(path))
	}

	all := app.Parts(app.External{}, app.Config{})
	for _, e := range all.Exports {
		declared = append(declared, e.Route())
	}

	for i := range all.Endpoints {
		e := &all.Endpoints[i]
		if !slices.Contains(want, e.Path) {
			continue
		}

		served = append(served, e.Method+" "+e.Path)
		if e.DryRun || len(e.Scopes) == 0 || e.Public || slices.Contains(e.Credentials(), api.Owner) || e.Timeout != time.Minute+5*time.Second {
			t.Errorf("%s %s is declared as %+v", e.Method, e.Path, e)
		}
	}

	// Nouns are in the order of the reference, which is another one than that of the contract's list.
	slices.Sort(want)
	slices.Sort(declared)
	golden.List(t, "declared exports", declared, want)

	var both []string
	for _, path := range want {
		both = append(both, "GET "+path, "POST "+path)
	}

	slices.Sort(both)
	slices.Sort(served)
	golden.List(t, "endpoints of exports", served, both)
}
