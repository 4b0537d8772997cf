package exports_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/db"
	"stayledger/platform/money"
	"stayledger/platform/pdf/pdftest"
)

// collectCents finds all amounts in a piece of JSON under the keys value, amount and total, or directly under one of named.
func collectCents(v any, under string, found map[money.Cents]bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, one := range v {
			collectCents(one, key, found)
		}
	case []any:
		for _, one := range v {
			collectCents(one, under, found)
		}
	case float64:
		if slices.Contains([]string{"value", "amount", "total", "balanceStart", "netRevenue", "expenses", "payouts", "balanceEnd", "available"}, under) {
			found[money.Cents(v)] = true
		}
	}
}

// Proves: EXP-P11.
func TestStatementPDFShowsTheFiguresOfTheStatement(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.books()
	id := w.month("2026-02")

	var told map[string]any
	if err := json.Unmarshal(w.Get("/statements/"+id).Want(200).Body, &told); err != nil {
		t.Fatal(err)
	}

	figures := map[money.Cents]bool{}

	for _, part := range []string{"summary", "financials", "tables", "shares"} {
		delete(told, "drilldowns")
		collectCents(told[part], "", figures)
	}

	if len(figures) < 8 {
		t.Fatalf("figures %v", figures)
	}

	shown := strings.Join(texts(t, w.awaited("/statements/pdf", "statementIds", id).Body), "\n")
	for figure := range figures {
		if text := strings.ReplaceAll(figure.Format("", "en"), "-", "−"); !strings.Contains(shown, text) {
			t.Errorf("%s is not shown in %s", text, shown)
		}
	}
}

func TestStatementPDFFollowsItsLayout(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.books()
	w.Exec(`update team set support_email = 'owners@example.com' where id = @team`, db.Args{})

	field := func(name, field string) object {
		return object{"name": name, "type": "field", "value": object{"field": field}}
	}
	rest := object{"rest": true}
	w.Post("/statement-layouts", object{
		"name": "Ours", "isDefault": true, "summaryType": "invoice", "showTeamEmail": true,
		"netRevenueSections": list{object{"name": "What came in", "columns": list{
			field("Who", "guestName"),
			object{"name": "For us only", "type": "field", "value": object{"field": "date"}, "visible": "manager"},
			object{"name": "Sum", "type": "accounts", "value": rest},
		}}},
		"otherSections": list{object{"name": "What it cost", "aggregate": true, "columns": list{
			field("When", "date"), object{"name": "Costs", "type": "accounts", "value": rest},
		}}},
	}).Want(201)
	id := w.month("2026-02")
	body := w.awaited("/statements/pdf", "statementIds", id).Body
	wantTexts(t, body, "owners@example.com", "What came in", "Who", "Sum", "What it cost", "When", "Costs", "Amount due", "Previous balance", "−178.45", "Payouts")

	shown := texts(t, body)
	for _, hidden := range []string{"For us only", "Reservations", "Other revenue", "Balance forward"} {
		if slices.Contains(shown, hidden) {
			t.Errorf("%q is shown", hidden)
		}
	}

	if n := count(shown, "−178.45"); n != 2 { // in the summary and in the table of one row
		t.Errorf("the costs are shown %d times", n)
	}
}

func TestEntriesThatNoColumnAddsUpAreShown(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.books()
	w.income("2026-02-12", 1234)
	w.Post("/statement-layouts", object{
		"name": "Narrow", "isDefault": true,
		"netRevenueSections": list{object{"name": "Fees only", "columns": list{
			object{"name": "Sum", "type": "accounts", "value": object{"accountIds": list{w.accounts["5100"]}}},
		}}},
		"otherSections": list{object{"name": "Costs", "visible": "none", "columns": list{object{"name": "All", "type": "accounts", "value": object{"rest": true}}}}},
	}).Want(201)

	shown := texts(t, w.awaited("/statements/pdf", "statementIds", w.month("2026-02")).Body)
	if !slices.Contains(shown, "12.34") || slices.Contains(shown, "Repairs, supplies, utilities") || count(shown, "−178.45") != 1 {
		t.Errorf("shown %q", shown)
	}
}

func TestStatementPDFHasTheLogo(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.books()

	var logo bytes.Buffer

	picture := image.NewNRGBA(image.Rect(0, 0, 30, 10))
	picture.Set(3, 3, color.NRGBA{R: 200, A: 128})

	if err := png.Encode(&logo, picture); err != nil {
		t.Fatal(err)
	}

	w.Exec(`insert into team_logo (team_id, content, content_type, width, height, sha256, updated_at) values (@team, @logo, 'image/png', 30, 10, '', now())`,
		db.Args{"logo": logo.Bytes()})

	file, err := pdftest.Read(w.awaited("/statements/pdf", "month", "2026-02").Body)
	if err != nil {
		t.Fatal(err)
	}

	root, err := file.Structure()
	if err != nil {
		t.Fatal(err)
	}

	if figures := root.All("Figure"); len(figures) != 1 || figures[0].Alt != "Test team logo" {
		t.Errorf("figures %+v", figures)
	}
}

func TestArchiveNames(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.books()
	w.Exec(`update listing set name = @name where team_id = @team and id = @id`, db.Args{"id": w.villa, "name": "../Ville: a\\b*? " + strings.Repeat("長い", 60)})

	names := slices.Sorted(maps.Keys(entries(t, w.queued("/statements/pdf/batch", object{"dateRange": "2026-01-01...2026-02-28"}).Body)))
	if len(names) != 2 {
		t.Fatalf("%d files", len(names))
	}

	for i, name := range names {
		if strings.ContainsAny(name[:len(name)-len(".pdf")], "/\\:*?.\"<>|") || len(name) > 200 || !strings.Contains(name, []string{" 2026-01 ", " 2026-02 "}[i]) {
			t.Errorf("%q", name)
		}
	}
}
