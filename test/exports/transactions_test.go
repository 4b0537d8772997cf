package exports_test

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"stayledger/domain/record/export"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/golden"
	"stayledger/test/fixture"
)

// steady are the columns with the same cells in every run.
const steady = "uniqueRef,type,status,date,paymentDate,description,isOpeningBalance,accountCode,account,paymentAccountCode,contact,line,lineUniqueRef,lineDescription," +
	"lineAccountCode,lineAccount,lineContact,listing,reservation,party,amount,taxAmount,markupAmount,total,transactionTotal,currency"

// Proves: EXP-01, EXP-02, EXP-03, EXP-04, EXP-05, EXP-07, EXP-10, EXP-P07, OPEN-48.
func TestTransactionsCSV(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.transactions()

	got := w.awaited("/transactions/csv", "columns", steady, "sort", "date")
	if ct, name := got.Header.Get("Content-Type"), got.Header.Get("Content-Disposition"); ct != "text/csv; charset=utf-8" ||
		!strings.HasPrefix(name, "attachment; filename=transactions-2") || !strings.HasSuffix(name, ".csv") {
		t.Errorf("content type %q, %q", ct, name)
	}

	golden.File(t, "testdata/transactions.csv", got.Body)

	queued := w.queued("/transactions/csv", object{"columns": strings.Split(steady, ","), "sort": "date"})
	if !bytes.Equal(queued.Body, got.Body) {
		t.Errorf("POST gives\n%s\nGET gives\n%s", queued.Body, got.Body)
	}

	all := rows(t, w.awaited("/transactions/csv").Body)
	if want := "id,shortRef," + steady; strings.Join(all[0], ",") != want {
		t.Errorf("columns %v", all[0])
	}

	if len(all) != 5 || all[1][5] != "2026-03-01" || all[4][0] != all[3][0] {
		t.Errorf("rows %v", all)
	}
}

func rows(t *testing.T, content []byte) [][]string {
	t.Helper()

	all, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}

	return all
}

func TestTransactionsCSVFollowsTheSelection(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.transactions()

	for name, test := range map[string]struct {
		query []string
		body  object
		want  string
	}{
		"type":    {[]string{"type", "payout"}, object{"type": list{"payout"}}, "Payout to Ann"},
		"range":   {[]string{"dateRange", "2026-02"}, object{"dateRange": "2026-02"}, `Payout to Ann|Boiler, "urgent"|Boiler, "urgent"`},
		"order":   {[]string{"sort", "amount"}, object{"sort": "amount"}, `|Payout to Ann|Boiler, "urgent"|Boiler, "urgent"`},
		"search":  {[]string{"search", "boiler"}, object{"search": "boiler"}, `Boiler, "urgent"|Boiler, "urgent"`},
		"contact": {[]string{"contactId", w.vendor.String()}, object{"contactId": w.vendor}, `Boiler, "urgent"|Boiler, "urgent"`},
		"nothing": {[]string{"type", "deposit"}, object{"type": list{"deposit"}}, ""},
	} {
		test.body["columns"] = list{"description", "currency"}
		get := w.awaited("/transactions/csv", append(test.query, "columns", "description,currency")...)

		post := w.queued("/transactions/csv", test.body)
		if !bytes.Equal(get.Body, post.Body) {
			t.Errorf("%s: GET gives\n%s\nPOST gives\n%s", name, get.Body, post.Body)
		}

		var found []string
		for _, row := range rows(t, get.Body)[1:] {
			found = append(found, row[0])
			if row[1] != "USD" {
				t.Errorf("%s: currency %q", name, row[1])
			}
		}

		if strings.Join(found, "|") != test.want {
			t.Errorf("%s: got %q", name, found)
		}
	}
}

func TestTransactionsCSVRefusals(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)

	before := w.operations()
	for name, test := range map[string]struct {
		query      []string
		body       any
		code, path string
	}{
		"column": {[]string{"columns", "id,secret"}, object{"columns": list{"id", "secret"}}, "enum", "columns"},
		"twice":  {[]string{"columns", "id,id"}, object{"columns": list{"id", "id"}}, "unique", "columns"},
		"range":  {[]string{"dateRange", "yesterday"}, object{"dateRange": "yesterday"}, "dateRange", "dateRange"},
		"sort":   {[]string{"sort", "color"}, object{"sort": "color"}, "enum", "sort"},
	} {
		get, post := w.Get(fixture.Query("/transactions/csv", test.query...)).Want(400), w.Post("/transactions/csv", test.body).Want(400)
		for mode, answer := range map[string]*apitest.Response{"GET": get, "POST": post} {
			if code, path := answer.String("issues.0.code"), answer.String("issues.0.path.0"); code != test.code || path != test.path {
				t.Errorf("%s %s: issue %s at %s", mode, name, code, path)
			}
		}
	}
	// A query cannot say an empty list; a body must not say it either, and be taken for everything.
	w.Get("/transactions/csv?ids=").WantIssue("emptyParameter", "ids")
	w.Post("/transactions/csv", object{"ids": list{}}).WantIssue("items", "ids")

	if got := w.Post("/transactions/csv", object{"dateRange": "x"}).String("issues.0.schema"); got != "body" {
		t.Errorf("issue of schema %q", got)
	}

	w.Get("/transactions/csv?limit=1").Want(400)
	w.Get("/transactions/csv?dryRun=true").Want(400)
	w.Post("/transactions/csv?dryRun=true", object{}).Want(400)
	w.Post("/transactions/csv", object{"limit": 1}).WantIssue("unknownField", "limit")
	reader := w.As([]string{"transactions:read"}, nil)
	reader.Get("/transactions/csv").WantError(apierr.CodeForbidden, "")
	reader.Post("/transactions/csv", object{}).WantError(apierr.CodeForbidden, "")

	if w.operations() != before {
		t.Error("a refused export left an operation")
	}
}

// Proves: EXP-12, EXP-13, EXP-14, EXP-15, ERR-45, OPEN-46, OPEN-83.
func TestTooLargeForGet(t *testing.T) {
	t.Parallel()
	w := newVillaTeamWith(t, export.Config{Limits: export.Limits{Rows: 3}})
	w.transactions()
	before := w.operations()
	answer := w.Get("/transactions/csv").WantError(apierr.CodeExportRequiresPost, "")
	wantRequiresPost(t, answer.Body)

	if answer.Len("issues") != 0 || w.operations() != before {
		t.Errorf("answer %s", answer.Body)
	}

	w.awaited("/transactions/csv", "dateRange", "2026-02") // exactly as many as the limit

	if got := rows(t, w.queued("/transactions/csv", object{}).Body); len(got) != 5 {
		t.Errorf("POST gives %d rows", len(got))
	}
}

func wantRequiresPost(t *testing.T, body []byte) {
	t.Helper()

	if !strings.Contains(string(body), `"context":{"recommendedMethod":"POST","reason":"selectionTooLarge"}`) {
		t.Errorf("answer %s", body)
	}
}

func TestExportsOfOneTeamOnly(t *testing.T) {
	t.Parallel()
	w, other := newVillaTeam(t), newVillaTeam(t)
	w.transactions()

	if got := rows(t, other.awaited("/transactions/csv").Body); len(got) != 1 {
		t.Errorf("another team exports %v", got)
	}

	operation := w.Post("/transactions/csv", object{}).Want(202).ID("operationId")
	w.Work()
	url := w.Get("/operations/" + operation.String()).String("resources.0.url")
	other.Get(url).WantError(apierr.CodeNotFound, "")
	other.Get("/operations/"+operation.String()).WantError(apierr.CodeNotFound, "")
}
