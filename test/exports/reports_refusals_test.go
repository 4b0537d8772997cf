package exports_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/test/world"
)

// The operating view of a report is not exported either, for a team without Operations Accounting.
//
// Proves: RSN-36.
func TestOperatingExportsNeedOperationsAccounting(t *testing.T) {
	t.Parallel()
	g := newGoldenTeam(t)
	before := g.operations()
	g.Exec(`update team set operations_accounting = false where id = @team`, nil)

	for report, selector := range map[string]world.Object{
		"trial-balance": {"startDate": "2026", "endDate": "2026"}, "profit-and-loss": {"startDate": "2026", "endDate": "2026"},
		"balance-sheet": {"date": "2026"}, "journal-entries": {"startDate": "2026"},
	} {
		path := "/reports/" + report + "/csv"
		g.Get(path + query(selector)).Want(200)

		selector["ledger"] = "operating"
		g.Get(path+query(selector)).WantError(apierr.CodeBadRequest, apierr.ReasonOperationsAccountingDisabled)
		g.Post(path, selector).WantError(apierr.CodeBadRequest, apierr.ReasonOperationsAccountingDisabled)
	}

	if after := g.operations(); after != before {
		t.Errorf("operations %s, before %s", after, before)
	}
}

// What a report refuses, its exports refuse in the same words, in both modes and before anything is queued.
func TestReportRefusals(t *testing.T) {
	t.Parallel()
	g := newGoldenTeam(t)
	before := g.operations()

	reports := "/reports/"
	for _, test := range []struct {
		report     string
		exports    []string
		selector   world.Object
		code, path string
	}{
		{"guest-balances", []string{"/csv"}, world.Object{"occupancyStatus": "gone"}, "enum", "occupancyStatus"},
		{"guest-balances", []string{"/csv"}, world.Object{"currency": "xxq"}, "currency", "currency"},
		{"profit-and-loss", []string{"/csv"}, world.Object{"startDate": "2026-02", "endDate": "2026-01"}, "dateOrder", "endDate"},
		{"profit-and-loss", []string{"/csv"}, world.Object{"startDate": "1990", "endDate": "2026", "view": "month"}, "tooMany", "view"},
		{"profit-and-loss", []string{"/csv"}, world.Object{"startDate": "2026", "endDate": "2026", "currency": "xxq"}, "currency", "currency"},
		{"balance-sheet", []string{"/csv"}, world.Object{"date": "2026", "view": "month"}, "enum", "view"},
		{"balance-sheet", []string{"/csv"}, world.Object{"date": "2026", "currency": "xxq"}, "currency", "currency"},
		{"trial-balance", []string{"/csv"}, world.Object{"endDate": "2026"}, "required", "startDate"},
		{"trial-balance", []string{"/csv"}, world.Object{"startDate": "2026", "endDate": "2026", "currency": "xxq"}, "currency", "currency"},
		{"journal-entries", []string{"/csv"}, world.Object{"dateRange": "2026", "startDate": "2026-01"}, "contradiction", "dateRange"},
		{"journal-entries", []string{"/csv"}, world.Object{"sort": "color"}, "enum", "sort"},
		{"manager-statements", []string{"/csv", "/pdf"}, world.Object{"year": 0}, "range", "year"},
		{"manager-statements", []string{"/csv", "/pdf"}, world.Object{"currency": "xxq"}, "currency", "currency"},
		{
			"manager-statements/detail",
			[]string{"/csv", "/pdf", "/journal-entries/csv"},
			world.Object{"startAt": "2026-02", "endAt": "2026-01"},
			"dateOrder", "endAt",
		},
		{
			"manager-statements/detail",
			[]string{"/csv", "/pdf", "/journal-entries/csv"},
			world.Object{"startAt": "2026", "endAt": "2026", "currency": "xxq"},
			"currency", "currency",
		},
		{"trust-reconciliation", []string{"/csv", "/pdf"}, world.Object{"currency": "xxq"}, "currency", "currency"},
		{"trust-reconciliation/by-listing", []string{"/csv", "/pdf"}, world.Object{"currency": "xxq"}, "currency", "currency"},
		{
			"sales-tax-liability",
			[]string{"/csv"},
			world.Object{"startDate": "2026", "endDate": "2026", "taxableLineIds": world.Array{g.villa.ID}},
			"notFound", "taxableLineIds.0",
		},
		{"sales-tax-liability", []string{"/csv"}, world.Object{"startDate": "2026", "endDate": "2026"}, "required", "taxableLineIds"},
	} {
		read := g.Get(reports + test.report + query(test.selector)).Want(400)
		if code := read.String("issues.0.code"); code != test.code {
			t.Errorf("%s refuses with %s, want %s", test.report, code, test.code)
		}

		for _, kind := range test.exports {
			path := reports + test.report + kind
			g.Get(path+query(test.selector)).WantIssue(test.code, test.path)

			post := g.Post(path, test.selector).WantIssue(test.code, test.path)
			if schema := post.String("issues.0.schema"); schema != "body" {
				t.Errorf("POST %s: issue of the %s", path, schema)
			}
		}
	}

	g.Post("/reports/trust-reconciliation/by-listing/csv", world.Object{"listingIds": world.Array{}}).WantIssue("items", "listingIds")
	g.Get("/reports/journal-entries/csv?amount=200...100").WantIssue("malformed", "amount")
	g.Post("/reports/journal-entries/csv", world.Object{"amount": world.Array{"200...100"}}).WantIssue("malformed", "amount.0")
	g.Get("/reports/journal-entries/csv?columns=id,id").WantIssue("unique", "columns.1")
	g.Get("/reports/trust-reconciliation/pdf?locale=x_").WantIssue("malformed", "locale")
	g.Post("/reports/manager-statements/pdf", world.Object{"locale": "no such"}).WantIssue("malformed", "locale")

	if g.operations() != before {
		t.Error("a refused export left an operation")
	}
}

// Proves: AUTH-49.
func TestReportExportScopes(t *testing.T) {
	t.Parallel()
	g := newGoldenTeam(t)

	period := world.Object{"startAt": "2026-01", "endAt": "2026-01"}
	for path, selector := range map[string]world.Object{
		"/reports/manager-statements/csv": {}, "/reports/manager-statements/pdf": {}, "/reports/manager-statements/detail/csv": period,
		"/reports/manager-statements/detail/pdf": period, "/reports/manager-statements/detail/journal-entries/csv": period,
	} {
		for scope, status := range map[string]int{"reports:export": 403, "pm-statements:read": 403, "pm-statements:export": 200} {
			caller := g.As([]string{scope}, nil)

			get := caller.Get(path + query(selector))
			if status == 403 {
				get.WantError(apierr.CodeForbidden, "")
				caller.Post(path, selector).WantError(apierr.CodeForbidden, "")

				continue
			}

			get.Want(status)
			caller.Post(path, selector).Want(202)
		}
	}

	for _, path := range []string{"/reports/journal-entries/csv", "/reports/guest-balances/csv", "/reports/trust-reconciliation/pdf"} {
		g.As([]string{"reports:read", "pm-statements:export"}, nil).Get(path).WantError(apierr.CodeForbidden, "")
		g.As([]string{"reports:export"}, nil).Get(path).Want(200)
	}
}
