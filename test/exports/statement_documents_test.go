package exports_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/record/export"
	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// books gives the villa's owners two months of income and an expense.
func (w *villaTeam) books() {
	w.t.Helper()
	w.income("2026-01-15", 100000)
	w.income("2026-02-10", 20000)
	w.transactions()
}

// month is the id of the statement of a month.
func (w *villaTeam) month(month string) string {
	w.t.Helper()
	return w.Get("/statements?month=" + month).Want(200).String("data.0.id")
}

// Proves: EXP-06, EXP-P11.
func TestStatementsPDF(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.books()

	one := w.awaited("/statements/pdf", "statementIds", w.month("2026-02"))
	if ct := one.Header.Get("Content-Type"); ct != "application/pdf" {
		t.Errorf("content type %s", ct)
	}
	// 200.00 came in, 123.45 and 55.00 went out, 100.00 was paid; 1000.00 were there.
	wantTexts(t, one.Body, "Villa Aurora", "Test team", "Feb 1, 2026 – Feb 28, 2026", "Ann Owner", "Ben Owner", "Balance start", "1,000.00", "200.00",
		"−178.45", "−100.00", "921.55", "$921.55", "60% · $512.93", "40% · $408.62", "Rent of a summer guest", "Draft", "Page 1 of 1")

	if post := w.queued("/statements/pdf", object{"statementIds": list{w.month("2026-02")}}); !bytes.Equal(post.Body, one.Body) {
		t.Error("POST gives another document than GET")
	}

	both := w.awaited("/statements/pdf", "dateRange", "2026-01-01...2026-02-28", "sort", "startAt", "locale", "en-GB")
	wantTexts(t, both.Body, "1 Jan 2026 – 31 Jan 2026", "1 Feb 2026 – 28 Feb 2026", "US$1,000.00", "US$921.55")

	if n := count(texts(t, both.Body), "Page 1 of 1"); n != 2 { // A4 is longer than Letter
		t.Errorf("%d statements are of one page", n)
	}
}

func count(all []string, text string) int {
	n := 0

	for _, one := range all {
		if one == text {
			n++
		}
	}

	return n
}

func TestPublishedStatementPDF(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.books()

	for _, month := range []string{"2026-01", "2026-02"} {
		w.Post("/statements", object{"month": month, "status": "published", "listingPeriodIds": list{w.period}}).Want(201)
	}

	got := w.awaited("/statements/pdf", "status", "published", "month", "2026-02")
	wantTexts(t, got.Body, "Published", "$921.55")
}

// Proves: EXP-19, EXP-20, EXP-P12, ERR-45, OPEN-45.
func TestStatementsPDFBatch(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.books()
	before := w.operations()

	answer := w.Get("/statements/pdf/batch?statementIds="+w.month("2026-02")).WantError(apierr.CodeExportRequiresPost, "")
	if wantRequiresPost(t, answer.Body); w.operations() != before {
		t.Error("the GET started an operation")
	}

	w.Get("/statements/pdf/batch?status=everything").Want(400)

	got := w.queued("/statements/pdf/batch", object{"dateRange": "2026-01-01...2026-02-28"})
	if ct := got.Header.Get("Content-Type"); ct != "application/zip" {
		t.Errorf("content type %s", ct)
	}

	files := entries(t, got.Body)

	names := slices.Sorted(maps.Keys(files))
	if len(names) != 2 || !strings.HasPrefix(names[0], "Villa Aurora 2026-01 ") || !strings.HasPrefix(names[1], "Villa Aurora 2026-02 ") {
		t.Fatalf("files %q", names)
	}

	wantTexts(t, files[names[0]], "$1,000.00")
	wantTexts(t, files[names[1]], "$921.55")
}

// Proves: EXP-22, EXP-23, EXP-24, EXP-25, OPEN-47, OPEN-83.
func TestOwnershipPeriodsWithoutOwners(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.books()
	orphans := []id.ID{w.ownership(fixture.Listing(w.Team, "Empty")), w.ownership(fixture.Listing(w.Team, "Also empty"))}
	slices.SortFunc(orphans, id.ID.Compare)
	named := []string{w.period.String(), orphans[0].String(), orphans[1].String()}
	before := w.operations()

	for _, field := range []string{"ownershipPeriodIds", "periodIds"} {
		for _, path := range []string{"/statements/pdf", "/statements/pdf/batch"} {
			get := w.Get(fixture.Query(path, field, strings.Join(named, ",")))

			post := w.Post(path, object{field: named})
			for mode, answer := range map[string]interface {
				String(path string) string
				Len(path string) int
			}{"GET": get.WantError(apierr.CodeBadRequest, ""), "POST": post.WantError(apierr.CodeBadRequest, "")} {
				if answer.String("context.reason") != "ownershipPeriodsWithoutOwners" || answer.Len("context.ownershipPeriodIds") != 2 ||
					answer.String("context.ownershipPeriodIds.0") != named[1] || answer.String("context.ownershipPeriodIds.1") != named[2] {
					t.Errorf("%s %s by %s: %s", mode, path, field, answer.String("context"))
				}
			}
		}
	}

	if w.operations() != before {
		t.Error("a refused selection started an operation")
	}

	w.awaited("/statements/pdf", "ownershipPeriodIds", w.period.String(), "month", "2026-02")
	w.awaited("/statements/pdf", "month", "2026-02") // names no period, so none is complained of
}

func TestEmptyStatementSelection(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)

	before := w.operations()
	for _, path := range []string{"/statements/pdf", "/statements/pdf/batch"} {
		w.Get(path+"?year=1999").WantError(apierr.CodeBadRequest, "").WantIssue("selectionEmpty", "")
		w.Post(path, object{"year": 1999}).WantError(apierr.CodeBadRequest, "").WantIssue("selectionEmpty", "")
	}

	if w.operations() != before {
		t.Error("a refused selection started an operation")
	}
}

func TestStatementsPDFLimits(t *testing.T) {
	t.Parallel()

	for name, limits := range map[string]export.Limits{"documents": {Documents: 1}, "pages": {Pages: 1}} {
		w := newVillaTeamWith(t, export.Config{Limits: limits})
		w.books()
		w.awaited("/statements/pdf", "month", "2026-02")
		wantRequiresPost(t, w.Get("/statements/pdf?dateRange=2026-01-01...2026-02-28").WantError(apierr.CodeExportRequiresPost, "").Body)

		if t.Failed() {
			t.Log(name)
		}
	}
}

func TestStatementsPDFRefusals(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.Get("/statements/pdf?locale=a/b").WantIssue("malformed", "locale")
	w.Post("/statements/pdf", object{"locale": "a/b"}).WantIssue("malformed", "locale")

	if r := w.Post("/statements/pdf", object{"dateRange": "x"}).WantIssue("dateRange", "dateRange"); r.Len("issues") != 1 || r.String("issues.0.schema") != "body" {
		t.Errorf("issues %s", r.String("issues"))
	}

	w.As([]string{"statements:read"}, nil).Get("/statements/pdf").WantError(apierr.CodeForbidden, "")
}
