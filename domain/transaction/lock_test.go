package transaction_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/transaction"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
)

// Proves: BKC-01, BKC-02, BKC-03, BKC-05, BKC-06, BKC-10, ERR-67, ERR-69, ERR-70, RSN-16.
func TestClosedBooksAndTheOverride(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const header = "x-ignore-books-closed-at"
	w.Post("/transactions", with(w.deposit("2026-03-15", 1), "uniqueRef", "used")).Want(201)
	w.closeBooks("2026-03-01")
	body := w.deposit("2026-02-10", 100)
	locked := func(r *apitest.Response) {
		t.Helper()
		r.WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
		if r.String("context.lockReason") != "period" || r.String("context.booksClosedAt") != "2026-03-01" {
			t.Errorf("context %s", r.Body)
		}
	}
	locked(w.Post("/transactions", body))
	for _, value := range []string{"false", "TRUE", "1", "yes"} {
		locked(w.Post("/transactions", body, header, value))
	}
	path := "/transactions/" + w.Post("/transactions", body, header, "true").Want(201).String("id")
	locked(w.Put(path, object{"description": "x"}))
	w.Put(path, object{"description": "x"}, header, "true").Want(200)
	w.Post("/transactions", with(body, "uniqueRef", "used"), header, "true").WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
	locked(w.Delete(path))
	locked(w.Delete(path + "?onLocked=archive"))
	w.Delete(path, header, "true").Want(204)
	// The opening balance of a listing is no transaction route.
	locked(w.Put("/listings/"+w.villa.String()+"/opening-balance", object{"amount": 1}, header, "true"))
}

// Proves: BKC-07, BKC-08, DRY-10, DRY-11, ERR-67, ERR-68, RSN-56, RSN-63.
func TestStatementLocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const header = "x-ignore-books-closed-at"
	attached := "/transactions/" + w.Post("/transactions", w.expense("2026-01-15", 100)).Want(201).String("id")
	s := w.statement("published", "2026-01-01", "2026-01-31", true)
	w.closeBooks("2026-02-01")
	locked := func(r *apitest.Response, reason apierr.Reason) {
		t.Helper()
		r.WantError(apierr.CodeForbidden, reason)
		if r.String("context.lockReason") != "statement" || r.String("context.statementIds.0") != s.String() {
			t.Errorf("context %s", r.Body)
		}
	}
	locked(w.Post("/transactions", w.expense("2026-01-20", 100), header, "true"), apierr.ReasonStatementPeriod)
	locked(w.Put(attached, object{"date": "2026-01-16"}, header, "true"), apierr.ReasonStatementAttachment)
	locked(w.Delete(attached, header, "true"), apierr.ReasonStatementAttachment)
	w.Post("/transactions", w.deposit("2026-01-20", 100), header, "true").Want(201)
}

// Proves: DRY-01, DRY-02, DRY-04, DRY-05, DRY-06, DRY-07, DRY-08, DRY-09, DRY-14, DRY-15, DRY-24, DRY-25, DRY-26, DRY-27, DRY-28, DRY-48.
func TestDryRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := with(w.deposit("2026-02-10", 100), "uniqueRef", "once")
	before := w.Fingerprint()
	dry := w.Post("/transactions?dryRun=true", body).Want(201)
	if w.Fingerprint() != before {
		t.Error("rows changed")
	}
	w.Get("/transactions/"+dry.String("id")).WantError(apierr.CodeNotFound, "")
	if dry.Header.Get("X-Service-Audit-Should-Poll") != "false" || dry.Header.Get("X-Service-Audit-Action-Id") != "" {
		t.Errorf("headers %v", dry.Header)
	}
	made := w.Post("/transactions?dryRun=false", body).Want(201)
	var a, b map[string]any
	dry.Into(&a)
	made.Into(&b)
	if !slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))) || dry.Int("total") != 100 || dry.String("lines.0.listing.name") != "Villa" {
		t.Errorf("dry %s\nreal %s", dry.Body, made.Body)
	}
	path := "/transactions/" + made.String("id")
	if got := w.Put(path+"?dryRun=true", object{"description": "new"}).Want(200).String("description"); got != "new" {
		t.Errorf("description %s", got)
	}
	w.Delete(path + "?dryRun=true").Want(204)
	if got := w.Get(path).Want(200).String("description"); got != "null" {
		t.Errorf("description %s", got)
	}

	w.Post("/transactions?dryRun=true", with(body, "dryRun", true)).WantIssue("unknownField", "dryRun")
	w.Get("/transactions?dryRun=true").Want(400)
	w.Post("/transactions?dryRun=true", with(body, "type", "gift")).WantError(apierr.CodeBadRequest, "")
	w.As([]string{"transactions:read"}, nil).Post("/transactions?dryRun=true", body).WantError(apierr.CodeForbidden, "")
	w.Post("/transactions?dryRun=true", body).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
	w.Delete(path + "?onLocked=archive").Want(204)
	w.Put(path+"?dryRun=true", object{"description": "x"}).WantError(apierr.CodeBadRequest, apierr.ReasonTransactionInactive)
	w.closeBooks("2026-03-01")
	w.Post("/transactions?dryRun=true", w.deposit("2026-02-10", 1)).WantError(apierr.CodeForbidden, apierr.ReasonBooksClosed)
}

// Proves: DRY-03, BKC-11.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	endpoints := transaction.Endpoints()
	for i := range endpoints {
		if e := &endpoints[i]; e.DryRun != e.Mutates() {
			t.Errorf("%s %s declares dryRun: %v", e.Method, e.Path, e.DryRun)
		}
	}
	described, err := api.NewServer(api.Config{DB: apitest.DB(t)}, endpoints).OpenAPI()
	published := described.JSON
	if err != nil {
		t.Fatal(err)
	}
	if text := string(published); strings.Contains(text, "ignore-books") || strings.Count(text, `"dryRun"`) != 4 {
		t.Errorf("description: %s", text)
	}
}
