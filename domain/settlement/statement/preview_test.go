package statement_test

import (
	"strings"
	"testing"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
	"stayledger/test/world"
)

// A layout is tried on a real month without being kept.
func TestPreviewOfALayout(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ada"))
	w.Stay(villa, "2026-01-09", 100_000)
	w.Stay(villa, "2026-02-09", 50_000)
	w.Publish("2026-01", villa)
	january, february := w.Statement(villa, "2026-01"), w.Statement(villa, "2026-02")

	const preview = "/statement-layouts/preview"

	before, saved := w.Fingerprint(), w.Get("/statements/"+january.String()).Want(200)

	for _, named := range []world.Object{{"statementId": february}, {"listingId": villa.ID, "month": "2026-02"}, {"listingId": villa.ID, "month": "2026-02", "currency": "USD"}} {
		r := w.Post(preview, fixture.With(named, "layout", design(w, "Tried", "4000"))).Want(200)
		if r.ID("id") != february || r.String("layout.name") != "Tried" || r.Int("tables.0.total") != 50_000 || r.Len("tables.0.columns") != 3 || r.String("summary.0.name") != "netRevenue" || r.Len("issues") != 0 {
			t.Errorf("preview of %v: %s", named, r.Body)
		}

		wantInts(t, r, map[string]int64{"financials.balanceStart": 100_000, "financials.netRevenue": 50_000})
	}

	if r := w.Post(preview, world.Object{"statementId": february, "layout": design(w, "Tried", "4000"), "viewAs": "owner"}).Want(200); r.Len("tables.0.columns") != 2 {
		t.Errorf("the owner's preview: %s", r.Body)
	}
	// A saved statement shows what the layout would bring as well, and stays as it is.
	r := w.Post(preview, world.Object{"statementId": january, "layout": design(w, "Poor", "4010")}).Want(200)
	if got := issuesAt(r, "issues"); got != "netRevenueLayoutMismatch error, line_unassignedAccount error" || r.String("status") != "published" {
		t.Errorf("preview with %s: %s", got, r.Body)
	}

	if after := w.Get("/statements/" + january.String()).Want(200); string(after.Body) != string(saved.Body) || w.Fingerprint() != before {
		t.Error("a preview changed something")
	}

	for issue, body := range map[string]world.Object{
		"notFound statementId":      {"statementId": id.New(w.DB.Now())},
		"notFound listingId":        {"listingId": villa.ID, "month": "2025-02"},
		"required statementId":      {"month": "2026-02"},
		"required month":            {"listingId": villa.ID},
		"contradiction statementId": {"statementId": january, "month": "2026-01"},
		"notFound layout.netRevenueSections.0.columns.1.value.accountIds.0": {"statementId": january, "layout": unknownAccount(w)},
		"notFound layout.listingIds.1":                                      {"statementId": january, "layout": fixture.With(design(w, "Tried", "4000"), "listingIds", world.Array{villa.ID, id.New(w.DB.Now())})},
	} {
		if body["layout"] == nil {
			body["layout"] = design(w, "Tried", "4000")
		}

		code, path, _ := strings.Cut(issue, " ")
		w.Post(preview, body).WantIssue(code, path)
	}
}

func unknownAccount(w *world.World) world.Object {
	d := design(w, "Tried", "4000")
	column := d["netRevenueSections"].(world.Array)[0].(world.Object)["columns"].(world.Array)[1].(world.Object)
	column["value"] = world.Object{"accountIds": world.Array{id.New(w.DB.Now())}}

	return d
}

// Owners are shown the files that they may see, of the expenses on their own statements, by links that work for them.
// Proves: ATT-15, ATT-16.
func TestAttachmentsOfExpenses(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ada, ben := w.Contact("owner", "Ada"), w.Contact("owner", "Ben")
	villa, barn := w.Listing("Villa", ada), w.Listing("Barn", ben)
	attach := func(transaction id.ID, name string, accessible bool) {
		v := id.New(w.DB.Now())
		w.Exec(`insert into file (team_id, id, kind, filename, content_type, byte_size, sha256, blob_key, created_at)
			values (@team, @id, 'attachment', @name, 'application/pdf', 42, '', @name, @now)`, db.Args{"id": v, "name": name, "now": w.DB.Now()})
		w.Exec(`insert into transaction_attachment (team_id, id, transaction_id, is_owner_accessible, created_at, updated_at)
			values (@team, @id, @transaction, @accessible, @now, @now)`, db.Args{"id": v, "transaction": transaction, "accessible": accessible, "now": w.DB.Now()})
	}
	boiler := w.Expense(villa, "2026-01-20", 25_000)
	attach(boiler, "bill.pdf", true)
	attach(boiler, "margin.pdf", false)
	attach(w.Expense(villa, "2026-02-20", 100), "later.pdf", true)
	attach(w.Expense(barn, "2026-01-20", 100), "barn.pdf", true)
	w.Publish("2026-01")
	january, barns := "/statements/"+w.Statement(villa, "2026-01").String(), "/statements/"+w.Statement(barn, "2026-01").String()

	manager := w.Get(january).Want(200)
	if manager.Len("attachments") != 2 || manager.ID("attachments.0.transactionId") != boiler {
		t.Errorf("the manager is shown %s", manager.Value("attachments"))
	}

	owner := w.As([]string{"statements:read"}, &ada)
	for _, r := range []interface{ Len(string) int }{w.Get(january + "?viewAs=owner").Want(200), owner.Get(january).Want(200)} {
		if r.Len("attachments") != 1 {
			t.Errorf("the owner is shown %v", r)
		}
	}

	shown := owner.Get(january).Want(200)
	if got := shown.String("attachments.0.filename"); got != "bill.pdf" || shown.Int("attachments.0.byteSize") != 42 || !strings.Contains(shown.String("attachments.0.url"), shown.String("attachments.0.id")) {
		t.Errorf("the owner is shown %s", shown.Value("attachments"))
	}

	owner.Get(barns).Want(404)
}
