package exports_test

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/record/export"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/test/fixture"
)

// listPath is the export of a collection. The one selects a single row of those that lists adds,
// as a query and as a body.
type listPath struct {
	path, scope, sort string
	one               []string
	body              object
}

var listPaths = []listPath{
	{"/accounts/csv", "accounts:export", "name", []string{"codes", "1000"}, object{"codes": list{"1000"}}},
	{"/bank-records/csv", "bank:export", "date", []string{"search", "=cmd"}, object{"search": "=cmd"}},
	{"/contacts/csv", "contacts:export", "name", []string{"type", "vendor"}, object{"type": "vendor"}},
	{"/listings/csv", "listings:export", "name", []string{"search", "@Hut"}, object{"search": "@Hut"}},
	{"/reservations/csv", "reservations:export", "checkIn", []string{"search", "-guest"}, object{"search": "-guest"}},
	{"/reservations/line-mappings/csv", "line-mappings:export", "lineType", []string{"appId", "+app"}, object{"appId": list{"+app"}}},
	{"/transactions/csv", "transactions:export", "date", []string{"uniqueRefs", "=1+1"}, object{"uniqueRefs": list{"=1+1"}}},
}

// lists adds two rows of each collection, one of them with a text that a spreadsheet would run.
func (w *villaTeam) lists() {
	w.t.Helper()
	w.transaction(object{
		"type": "payout", "date": "2026-02-20", "uniqueRef": "=1+1", "description": "\tPayout", "lines": list{object{"amount": 1, "listingId": w.villa, "contactId": w.ann}},
	})
	w.transaction(object{
		"type": "payout", "date": "2026-02-21", "lines": list{object{"amount": 2, "listingId": w.villa, "contactId": w.ann}},
	})
	fixture.Listing(w.Team, "@Hut")
	w.Exec(`update account set unique_ref = '=A1' where team_id = @team and code = '1000'`, nil)
	w.Exec(`update reservation_line_mapping set app_id = '+app' where team_id = @team and line_type = 'rent'`, nil)

	for _, guest := range []string{"-guest", "Grace"} {
		r := w.id()
		w.Exec(`insert into reservation (team_id, id, short_ref, listing_id, status, guest_name, check_in, check_out, currency, created_at, updated_at)
			values (@team, @id, @ref, @listing, 'booked', @guest, '2026-02-10', '2026-02-15', 'usd', now(), now())`,
			db.Args{"id": r, "ref": r.ShortRef(), "listing": w.villa, "guest": guest})
	}

	for _, text := range []string{"=cmd|' /C calc'!A0", "Rent"} {
		w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, description, created_at, updated_at)
			values (@team, @id, @account, '2026-02-01', 100, @text, now(), now())`, db.Args{"id": w.id(), "account": w.accounts["1000"], "text": text})
	}
}

// Columns come as they are asked for, and the same cells in any order.
func TestListColumns(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.lists()

	for _, p := range listPaths {
		all := rows(t, w.awaited(p.path, "sort", p.sort).Body)
		if len(all) < 3 {
			t.Errorf("%s has %d rows", p.path, len(all)-1)
		}

		names := slices.Clone(all[0])
		slices.Reverse(names)

		turned := rows(t, w.awaited(p.path, "sort", p.sort, "columns", strings.Join(names, ",")).Body)
		for i := range turned {
			slices.Reverse(turned[i])
		}

		if !slices.EqualFunc(turned, all, slices.Equal) {
			t.Errorf("%s: columns in the other order give %v, want %v", p.path, turned, all)
		}

		last := names[0]
		if got := rows(t, w.queued(p.path, object{"columns": list{last}}).Body); len(got) != len(all) || !slices.Equal(got[0], []string{last}) || len(got[1]) != 1 {
			t.Errorf("%s: column %s alone gives %v", p.path, last, got)
		}
	}
}

// Proves: EXP-07.
func TestListSelections(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.lists()

	for _, p := range listPaths {
		get, post := w.awaited(p.path, p.one...), w.queued(p.path, p.body)
		if !bytes.Equal(get.Body, post.Body) {
			t.Errorf("%s: GET gives\n%s\nPOST gives\n%s", p.path, get.Body, post.Body)
		}

		found := rows(t, get.Body)
		if len(found) != 2 {
			t.Errorf("%s: %v selects %v", p.path, p.one, found)
		}

		harmless := false

		for _, cell := range found[1] {
			if cell != "" && strings.ContainsAny(cell[:1], "=+@\t") {
				t.Errorf("%s: cell %q would be run", p.path, cell)
			}

			harmless = harmless || len(cell) > 1 && cell[0] == '\'' && strings.ContainsAny(cell[1:2], "=+-@\t")
		}

		if !harmless {
			t.Errorf("%s: no cell of %v is neutralised", p.path, found)
		}

		backward := rows(t, w.awaited(p.path, "sort", "-"+p.sort).Body)
		if forward := rows(t, w.awaited(p.path, "sort", p.sort).Body); slices.Equal(forward[1], backward[1]) || !slices.Equal(forward[1], backward[len(backward)-1]) {
			t.Errorf("%s is not sorted by %s", p.path, p.sort)
		}
	}
}

func TestListRefusals(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	before := w.operations()

	for _, p := range listPaths {
		for name, test := range map[string]struct {
			query      []string
			body       object
			code, path string
		}{
			"column": {[]string{"columns", "id,secret"}, object{"columns": list{"id", "secret"}}, "enum", "columns"},
			"twice":  {[]string{"columns", "id,status,id"}, object{"columns": list{"id", "status", "id"}}, "unique", "columns"},
			"sort":   {[]string{"sort", "color"}, object{"sort": "color"}, "enum", "sort"},
			"status": {[]string{"status", "purple"}, object{"status": "purple"}, "enum", "status"},
			"search": {[]string{"search", strings.Repeat("x", 201)}, object{"search": strings.Repeat("x", 201)}, "length", "search"},
		} {
			get, post := w.Get(fixture.Query(p.path, test.query...)).Want(400), w.Post(p.path, test.body).Want(400)
			for mode, answer := range map[string]*apitest.Response{"GET": get, "POST": post} {
				if code, path := answer.String("issues.0.code"), answer.String("issues.0.path.0"); code != test.code || path != test.path {
					t.Errorf("%s %s: %s is issue %s at %s", mode, p.path, name, code, path)
				}
			}
		}

		w.Get(fixture.Query(p.path, "color", "red")).WantIssue("unknownParameter", "color")
		w.Get(fixture.Query(p.path, "limit", "1")).WantIssue("unknownParameter", "limit")
		w.Post(p.path, object{"color": "red"}).WantIssue("unknownField", "color")
		w.Post(p.path, object{"columns": list{}}).WantIssue("items", "columns")
		reader := w.As([]string{strings.Replace(p.scope, ":export", ":read", 1)}, nil)
		reader.Get(p.path).WantError(apierr.CodeForbidden, "")
		reader.Post(p.path, object{}).WantError(apierr.CodeForbidden, "")
		w.As([]string{p.scope}, nil).Get(p.path).Want(200)
	}

	for path, field := range map[string]string{"/accounts/csv": "ids", "/contacts/csv": "ids", "/listings/csv": "parent", "/reservations/csv": "ids", "/bank-records/csv": "accountId"} {
		value := any("x")
		if field == "ids" {
			value = list{"x"}
		}

		w.Get(fixture.Query(path, field, "x")).WantIssue("uuid", field)

		if at := w.Post(path, object{field: value}).Want(400).String("issues.0.path.0"); at != field {
			t.Errorf("%s: issue at %s", path, at)
		}
	}

	for path, field := range map[string]string{"/reservations/csv": "date", "/bank-records/csv": "dateRange"} {
		w.Get(fixture.Query(path, field, "yesterday")).WantIssue("dateRange", field)

		if post := w.Post(path, object{field: "yesterday"}).WantIssue("dateRange", field); post.String("issues.0.schema") != "body" {
			t.Errorf("%s: %s", path, post.Body)
		}
	}

	if w.operations() != before {
		t.Error("a refused export left an operation")
	}
}

func TestListsOfOneTeamOnly(t *testing.T) {
	t.Parallel()
	w, other := newVillaTeam(t), newVillaTeam(t)
	w.lists()

	for _, p := range listPaths {
		mine := map[string]bool{}
		for _, row := range rows(t, w.awaited(p.path, "columns", "id").Body)[1:] {
			mine[row[0]] = true
		}

		theirs := rows(t, other.awaited(p.path, "columns", "id").Body)[1:]
		for _, row := range theirs {
			if mine[row[0]] {
				t.Errorf("%s: another team exports %v", p.path, row)
			}
		}

		if got := rows(t, other.queued(p.path, object{"columns": list{"id"}}).Body)[1:]; len(got) != len(theirs) {
			t.Errorf("%s: POST gives %v, GET %v", p.path, got, theirs)
		}
	}
}

// Proves: EXP-12, EXP-13, EXP-14, EXP-15.
func TestListsTooLargeForGet(t *testing.T) {
	t.Parallel()
	w := newVillaTeamWith(t, export.Config{Limits: export.Limits{Rows: 1}})
	w.lists()

	before := w.operations()
	for _, p := range listPaths {
		wantRequiresPost(t, w.Get(p.path).WantError(apierr.CodeExportRequiresPost, "").Body)
		w.follow(w.Get(fixture.Query(p.path, p.one...)).Want(200)).Want(200) // exactly as many as the limit
	}

	if w.operations() != before {
		t.Error("a GET left an operation")
	}

	for _, p := range listPaths {
		content := w.queued(p.path, object{}).Body
		if all, err := csv.NewReader(bytes.NewReader(content)).ReadAll(); err != nil || len(all) < 3 {
			t.Errorf("%s: POST gives %s, %v", p.path, content, err)
		}
	}
}
