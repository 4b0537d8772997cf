package exports_test

import (
	"archive/zip"
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/test/world"
)

// newStatementTeam is the golden team with a payout on a published statement, a reserve, and a listing with an imported
// statement.
func newStatementTeam(t *testing.T) *goldenTeam {
	t.Helper()
	g := newGoldenTeam(t)
	g.Put("/listings/ownership-periods/"+g.hut.Period.String(), world.Object{"reserve": 20001}).Want(202)
	g.Work()
	g.Post("/transactions", world.Object{
		"type": "payout", "date": "2026-02-05", "description": "Payout of January", "lines": world.Array{world.Object{
			"amount": 50000, "listingId": g.villa.ID, "contactId": g.ann, "ownerStatementId": g.Statement(g.villa, "2026-01"),
		}},
	}).Want(201)
	g.Post("/statements/historic", world.Object{
		"uniqueRef": "OLD-2025-11", "listingId": g.Listing("Old mill", g.ben, g.ann).ID, "startAt": "2025-11-01", "endAt": "2025-11-30", "currency": "usd", "status": "published",
		"centBalanceStart": 1000, "centBalanceEnd": 9000, "lines": world.Array{
			world.Object{"uniqueRef": "1", "type": "line", "accountId": g.Account("4000"), "centTotal": 15000, "description": "Rent, \"old\" system"},
			world.Object{"uniqueRef": "2", "type": "line", "accountId": g.Account("5200"), "centTotal": -2500, "description": "-2 bulbs"},
			world.Object{"uniqueRef": "3", "type": "payout", "centTotal": 5000, "description": "Paid out"},
		},
	}).Want(201)
	g.Work()

	return g
}

// The exports of owner statements.
//
// Proves: EXP-P08, EXP-P09, EXP-P10, EXP-P11, EXP-P12.
func TestStatementPaths(t *testing.T) {
	t.Parallel()
	g := newStatementTeam(t)
	months := world.Object{"dateRange": "2025-11-01...2026-02-28", "sort": "startAt"}
	g.ask(t, []pathCase{
		{name: "statements", path: "/statements/csv", selector: months},
		{name: "statements_chosen", path: "/statements/csv", selector: world.Object{
			"month": "2026-01", "listingIds": world.Array{g.flat.ID}, "columns": world.Array{"listing", "balanceEnd", "currency", "status"},
		}},
		{name: "statements_detail", path: "/statements/detail/csv", selector: months},
		{name: "statements_by_period", path: "/statements/by-period/csv", selector: world.Object{"dateRange": "2025-11-01...2026-02-28"}},
		{name: "statements_pdf", path: "/statements/pdf", selector: months},
		{name: "statements_pdf_batch", path: "/statements/pdf/batch", selector: months},
	})
}

// Proves: EXP-20.
func TestStatementArchive(t *testing.T) {
	t.Parallel()
	g := newGoldenTeam(t)
	started := g.Post("/statements/pdf/batch", world.Object{"dateRange": "2026-01-01...2026-02-28"}).Want(202)
	g.Work()
	file := g.fetch(t, g.Get("/operations/"+started.String("operationId")).Want(200).String("resources.0.url"))

	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}

	var names []string

	for _, f := range archive.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}

		first := make([]byte, 5)
		if _, err := io.ReadFull(content, first); err != nil || string(first) != "%PDF-" {
			t.Errorf("%s is no PDF: %q, %v", f.Name, first, err)
		}

		names = append(names, f.Name[:strings.LastIndex(f.Name, " ")])
	}

	slices.Sort(names)

	want := []string{
		"Villa Aurora 2026-01", "Villa Aurora 2026-02", "_Hut_ with a view 2026-01", "_Hut_ with a view 2026-02",
		"Квартира 東京 2026-01", "Квартира 東京 2026-02",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the archive holds %q", names)
	}
}

// The exports of the owners' summaries.
//
// Proves: EXP-P27, EXP-P28, EXP-P29, EXP-P30, EXP-P31.
func TestSummaryPaths(t *testing.T) {
	t.Parallel()

	const path = "/reports/owner-statement-summaries-per-layout"

	g := newStatementTeam(t)
	months := world.Object{"startAt": "2025-11", "endAt": "2026-02"}
	ben := path + "/details/" + g.ben.String()
	g.ask(t, []pathCase{
		{name: "owner_summaries", path: path + "/csv", selector: months},
		{name: "owner_summaries_chosen", path: path + "/csv", selector: world.Object{
			"startAt": "2026-01-20", "endAt": "2026-01-20", "search": "bEN Ω", "columns": world.Array{"name", "netRevenue", "currency"},
		}},
		{name: "owner_summaries_detailed", path: path + "/csv/detailed", selector: months},
		{name: "owner_summaries_detailed_chosen", path: path + "/csv/detailed", selector: world.Object{
			"startAt": "2026-01", "endAt": "2026-01", "search": "bEN Ω", "columns": world.Array{"split", "name", "listing", "netRevenue", "currency"},
		}},
		{name: "owner_summary", path: ben + "/csv", selector: months},
		{name: "owner_summary_chosen", path: ben + "/csv", selector: world.Object{
			"startAt": "2026-01", "endAt": "2026-01", "viewAs": "owner", "columns": world.Array{"layoutColumns", "listing", "currency"},
		}},
		{name: "owner_summary_pdf", path: ben + "/pdf", selector: months},
		{name: "owner_summaries_pdf", path: path + "/pdf", selector: world.Object{"startAt": "2025-11", "endAt": "2026-02", "locale": "de-DE"}},
	})
}

// A selection that names an ownership period without an owner, a contact of another team, and one that contradicts
// itself are refused in both modes before anything is queued; another team's names select nothing.
//
// Proves: EXP-21, EXP-23, EXP-24, EXP-25, OPEN-47.
func TestStatementSelectionsThatAreRefused(t *testing.T) {
	t.Parallel()
	g, other := newGoldenTeam(t), world.New(t)
	bare := g.Listing("Nobody's", g.ann)
	g.Exec(`delete from listing_ownership_member where team_id = @team and period_id = @period`, db.Args{"period": bare.Period})
	orphan := bare.Period.String()
	before := g.operations()

	for _, path := range []string{"/statements/csv", "/statements/detail/csv", "/statements/by-period/csv"} {
		for _, field := range []string{"periodIds", "ownershipPeriodIds"} {
			selector := world.Object{field: world.Array{g.villa.Period.String(), orphan}}
			for mode, answer := range map[string]interface{ String(string) string }{
				"GET":  g.Get(path+query(selector)).WantError(apierr.CodeBadRequest, ""),
				"POST": g.Post(path, selector).WantError(apierr.CodeBadRequest, ""),
			} {
				if answer.String("context.reason") != "ownershipPeriodsWithoutOwners" || answer.String("context.ownershipPeriodIds") != `["`+orphan+`"]` {
					t.Errorf("%s %s by %s: %s", mode, path, field, answer.String("context"))
				}
			}
		}

		g.Get(path+"?columns=listing,listing").WantIssue("unique", "columns.1")
		g.Post(path, world.Object{"columns": world.Array{}}).WantIssue("items", "columns")
		g.As([]string{"statements:read"}, nil).Get(path).WantError(apierr.CodeForbidden, "")
	}

	const summaries = "/reports/owner-statement-summaries-per-layout"

	stranger := other.Contact("owner", "Stranger").String()
	for _, format := range []string{"/csv", "/pdf"} {
		g.Get(summaries+"/details/"+stranger+format+"?startAt=2026&endAt=2026").WantError(apierr.CodeNotFound, "")
		g.Post(summaries+"/details/"+stranger+format, world.Object{"startAt": "2026", "endAt": "2026"}).WantError(apierr.CodeNotFound, "")

		for _, path := range []string{summaries + format, summaries + "/details/" + g.ann.String() + format} {
			g.Get(path+"?startAt=2026&endAt=2025").WantIssue("dateOrder", "endAt")
			g.Post(path, world.Object{"startAt": "2026", "endAt": "2025"}).WantIssue("dateOrder", "endAt")
			g.Post(path, world.Object{"startAt": "2026"}).WantError(apierr.CodeBadRequest, "")
			g.Post(path, world.Object{"startAt": "2026", "endAt": "2026", "currency": "zzz"}).WantIssue("currency", "currency")
			g.As([]string{"reports:read"}, nil).Get(path+"?startAt=2026&endAt=2026").WantError(apierr.CodeForbidden, "")
		}
	}

	if g.operations() != before {
		t.Error("a refused selection started an operation")
	}
}

// Another team's exports hold nothing of this one, even when it names this one's listings.
func TestStatementExportsKeepToTheTeam(t *testing.T) {
	t.Parallel()

	g, other := newGoldenTeam(t), &goldenTeam{World: world.New(t)}
	for path, selector := range map[string]world.Object{
		"/statements/csv":                                            {"listingIds": world.Array{g.villa.ID}},
		"/statements/detail/csv":                                     {"statementIds": world.Array{g.Statement(g.villa, "2026-01")}},
		"/statements/by-period/csv":                                  {"ownershipPeriodIds": world.Array{g.villa.Period}},
		"/reports/owner-statement-summaries-per-layout/csv":          {"startAt": "2026", "endAt": "2026", "listingIds": world.Array{g.villa.ID}},
		"/reports/owner-statement-summaries-per-layout/csv/detailed": {"startAt": "2026", "endAt": "2026"},
	} {
		file := other.fetch(t, other.Get(path+query(selector)).Want(200).String("url"))
		if bytes.Count(file, []byte("\n")) != 1 {
			t.Errorf("%s holds %s", path, file)
		}
	}
}
