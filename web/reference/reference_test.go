package reference_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stayledger/docs"
	"stayledger/platform/apierr"
	"stayledger/web/reference"
	"stayledger/web/search"
)

// description has what the pages must be able to show: references of every kind, a schema that contains itself, null in
// each of its forms.
const description = `{
 "openapi": "3.1.0", "info": {"title": "toys", "version": "1", "description": "Toys & co."},
 "paths": {"/toys/{id}": {
  "parameters": [{"$ref": "#/components/parameters/id"}],
  "put": {"operationId": "changeToy", "summary": "Change a toy", "tags": ["Toys"], "description": "Refused with ` + "`toyLocked`" + `; see listToys.",
   "security": [{"apiKey": []}, {"bearer": []}], "x-scopes": ["toys:write"], "x-partner": true, "x-owner": false,
   "parameters": [{"name": "dryRun", "in": "query", "schema": {"type": "boolean", "default": false}}, {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}],
   "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ToyChange"}}}},
   "responses": {
    "200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Toy"}}}},
    "202": {"description": "Accepted", "content": {"application/json": {"schema": {"type": "object", "properties": {"operationId": {"type": "string", "format": "uuid"}}}}}},
    "default": {"$ref": "#/components/responses/Error"}}, "x-errors": ["403 toyLocked: Toy is locked"]}},
 "/toys": {"get": {"operationId": "listToys", "summary": "List toys", "tags": ["Toys"], "security": [],
   "parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 250, "default": 100}},
    {"name": "colours", "in": "query", "required": true, "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Colour"}}}],
   "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/Toy"}}}}}}}}},
 "components": {
  "parameters": {"id": {"name": "id", "in": "path", "required": true, "description": "The toy.", "schema": {"type": "string", "format": "uuid"}}},
  "responses": {"Error": {"description": "A failure.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    "x-errors": ["500 INTERNAL_SERVER_ERROR: Internal server error"]}},
  "schemas": {
   "Colour": {"type": "string", "enum": ["red", "blue"]},
   "ToyChange": {"type": "object", "required": ["price", "colour"], "properties": {"price": {"type": "integer", "minimum": 0, "description": "Cents."}, "colour": {"$ref": "#/components/schemas/Colour"}, "name": {"type": ["string", "null"], "maxLength": 20}}},
   "Toy": {"type": "object", "required": ["name", "parts"], "properties": {"name": {"type": "string"}, "maker": {"anyOf": [{"$ref": "#/components/schemas/Maker"}, {"type": "null"}], "description": "Who <made> it."},
     "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Toy"}}, "labels": {"type": "object", "additionalProperties": {"type": "string"}}}},
   "Maker": {"type": "object", "properties": {"town": {"type": "string"}}},
   "Error": {"type": "object", "properties": {"code": {"type": "string", "enum": ["FORBIDDEN"]}, "reason": {"type": "string", "enum": ["toyLocked"]}, "message": {"type": "string"}, "retryable": {"type": "boolean"}}}}}}`

func newSite(t *testing.T, text string) *reference.Site {
	t.Helper()

	s, err := reference.New([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	return s
}

func page(t *testing.T, s *reference.Site, path string) string {
	t.Helper()

	asset, found, err := s.Asset(path)
	if err != nil || !found {
		t.Fatalf("%s: %t %v", path, found, err)
	}

	return string(asset.Body)
}

var tags = regexp.MustCompile(`<[^>]*>`)

// words are the words of a page that a reader sees.
func words(page string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(page, " "))), " ")
}

func TestAPageShowsWhatTheDescriptionSays(t *testing.T) {
	t.Parallel()
	s := newSite(t, description)

	change, list := page(t, s, "/docs/operations/changeToy"), page(t, s, "/docs/operations/listToys")
	for _, want := range []string{
		"Change a toy", "PUT /toys/{id}", "toys:write", "team keys, partner keys, signed-in users", "?dryRun=true", "Takes Idempotency-Key", "poll the operation",
		"id uuid required The toy.", "price integer required Cents. not negative", "colour string required red blue", "name string or null at most 20 characters",
		"application/json: Toy", "maker Maker or null Who <made> it.", "1 field of maker town string", "parts list of Toy required The same fields as above.", "labels object 1 field of labels (any name) string",
		"403 toyLocked : Toy is locked. 500 INTERNAL_SERVER_ERROR : Internal server error.",
	} {
		if !strings.Contains(words(change), want) {
			t.Errorf("the page lacks %q", want)
		}
	}

	for _, want := range []string{`<a href="/docs/chapters/errors#toyLocked"><code>toyLocked</code></a>`, `<a href="/docs/operations/listToys"><code>listToys</code></a>`, `aria-current="page"`} {
		if !strings.Contains(change, want) {
			t.Errorf("the page lacks %s", want)
		}
	}

	for _, want := range []string{"anybody, without a credential", "limit integer 1 to 250 · default 100", "colours list of string required separated by commas red blue", "By page and limit", "limit=10&colours=red"} {
		if !strings.Contains(words(list), want) {
			t.Errorf("the list lacks %q", want)
		}
	}

	if errors := words(page(t, s, "/docs/chapters/errors")); !strings.Contains(errors, "toyLocked 1 operation Change a toy") {
		t.Error("the reason does not lead to its operation")
	}
}

func TestRequestsAreWrittenAlikeInEachLanguage(t *testing.T) {
	t.Parallel()

	r := reference.Request{
		Method: "POST", Path: "/toys", Query: []reference.Value{{Name: "a b", Text: "1,2&3"}}, Headers: []reference.Value{{Name: "X-One", Text: `it's "1"`}},
		Type: "application/json", Body: "{\n  \"name\": \"it's `one`\"\n}", Credential: "x-api-key",
	}
	for language, wants := range map[string][]string{
		r.Curl():       {`curl "$STAYLEDGER_URL/toys?a+b=1,2%263"`, `-H "x-api-key: $STAYLEDGER_KEY"`, `-H 'X-One: it'\''s "1"'`, `it'\''s`},
		r.Go():         {`http.NewRequest("POST", os.Getenv("STAYLEDGER_URL")+"/toys?a+b=1,2%263", body)`, `req.Header.Set("X-One", "it's \"1\"")`, "it's ` + \"`\" + `one` + \"`\" + `"},
		r.TypeScript(): {"`${process.env.STAYLEDGER_URL}/toys?a+b=1,2%263`", `"X-One": "it's \"1\""`, "body: JSON.stringify({", `method: "POST"`},
	} {
		for _, want := range wants {
			if !strings.Contains(language, want) {
				t.Errorf("it lacks %s:\n%s", want, language)
			}
		}
	}
}

func TestDescriptionsThatCannotBeShownAreRefused(t *testing.T) {
	t.Parallel()

	for name, change := range map[string][2]string{
		"no JSON":                     {`{`, `[`},
		"a reference to nowhere":      {`#/components/schemas/Maker`, `#/components/schemas/Nobody`},
		"a reference to elsewhere":    {`#/components/schemas/Maker`, `https://example.com/maker`},
		"a reference to itself":       {`"Maker": {`, `"Maker": {"$ref": "#/components/schemas/Maker", `},
		"an operation without its id": {`"operationId": "listToys", `, ``},
	} {
		if _, err := reference.New([]byte(strings.Replace(description, change[0], change[1], 1))); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}

// The policy refuses code and style in markup, and texts that become markup.
func TestNoFileHoldsWhatThePolicyRefuses(t *testing.T) {
	t.Parallel()

	forbidden := regexp.MustCompile(`(?i)\son[a-z]+="|\sstyle="|<style|<script>|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|localStorage|document\.cookie|@import|console\.(error|warn)`)
	elsewhere := regexp.MustCompile(`(?:src|href)="[^/#"]|(?:src|href)="//|url\(`)
	s := newSite(t, description)
	seen := 0

	for _, path := range append(s.Addresses(), "/docs/reference.css", "/docs/reference.js", "/nothing") {
		asset, _, err := s.Asset(path)
		if err != nil {
			t.Fatal(err)
		}

		// A reader may follow a link to another site; the page itself takes nothing from there.
		body := bytes.ReplaceAll(asset.Body, []byte(`<a href="https://`), []byte(`<a href="/`))
		for _, form := range []*regexp.Regexp{forbidden, elsewhere} {
			if found := form.Find(body); found != nil {
				t.Errorf("%s holds %q", path, found)
			}
		}

		seen++
	}

	if seen < 15 {
		t.Errorf("%d files", seen)
	}
}

// Every address that a page names is one of the reference or of its neighbours, and every place in a page is there.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	s := newSite(t, description)
	neighbours := regexp.MustCompile(`^(/(openapi\.json|openapi\.yaml|openapi-3\.0\.json|console)$|https?:)`)
	links := regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	checked := 0

	for _, from := range s.Addresses() {
		if from == "/docs/search" {
			continue
		}

		for _, link := range links.FindAllStringSubmatch(page(t, s, from), -1) {
			address, place, _ := strings.Cut(html.UnescapeString(link[1]), "#")
			address, _, _ = strings.Cut(address, "?")
			checked++

			if neighbours.MatchString(address) {
				continue
			}

			to := from
			if address != "" {
				to = address
			}

			if to == "/docs/search" {
				continue // its own page, which Search answers
			}
			// Reasons of the contract that this description does not have are linked from texts of the chapters.
			if target, found, err := s.Asset(to); err != nil || !found {
				t.Errorf("%s leads to %s, which is not there (%v)", from, address, err)
			} else if place != "" && place != "duplicateUniqueRef" && !strings.Contains(string(target.Body), fmt.Sprintf("id=%q", place)) {
				t.Errorf("%s leads to %s, which has no %s", from, address, place)
			}
		}
	}

	if checked < 100 {
		t.Errorf("%d links", checked)
	}
}

// hits are the addresses that a search finds, the best first.
func hits(t *testing.T, s *reference.Site, query string) []search.Hit {
	t.Helper()

	asset, found, err := s.Search("/docs/search.json", query)
	if err != nil || !found {
		t.Fatalf("%t %v", found, err)
	}

	var out []search.Hit
	if err := json.Unmarshal(asset.Body, &out); err != nil {
		t.Fatal(err)
	}

	return out
}

func TestTheSearchKnowsOperationsFieldsReasonsAndChapters(t *testing.T) {
	t.Parallel()
	s := newSite(t, description)

	for _, row := range []struct{ query, address, note string }{
		{"changeToy", "/docs/operations/changeToy", "PUT /toys/{id}"},
		{"changing toys", "/docs/operations/changeToy", ""},
		{"PUT toys", "/docs/operations/changeToy", ""},
		{"town", "/docs/operations/changeToy", "field town"},
		{"dryRun", "/docs/chapters/dry-run", ""},
		{"colou", "/docs/operations/listToys", "parameter colours"},
		{"toyLocked", "/docs/chapters/errors#toyLocked", ""},
		{"idempotency", "/docs/chapters/idempotency", ""},
		{"states of an operation", "/docs/chapters/waiting#states", ""},
		{"standard webhooks", "/docs/guides/webhooks", ""},
	} {
		found := hits(t, s, row.query)
		at := slices.IndexFunc(found, func(h search.Hit) bool { return h.Address == row.address })

		if at < 0 || at > 2 || !strings.Contains(found[at].Note, row.note) {
			t.Errorf("%q is found at place %d: %+v", row.query, at, found[:min(3, len(found))])
		}
	}

	if found := hits(t, s, "fundingBalanceOfNobody"); found == nil || len(found) > 0 {
		t.Errorf("found %+v", found)
	}
}

// What somebody asks for is shown as text, and no query takes long.
func TestTheSearchShowsWhatWasAskedAsText(t *testing.T) {
	t.Parallel()
	s := newSite(t, description)

	for _, query := range []string{
		"", " ", "<script>alert(1)</script>", `"><b>`, "\xff\xfe\x00", strings.Repeat("page ", 100_000), strings.Repeat("a", 100_000), "\u202e({[*+?^$|", strings.Repeat("é", 150),
	} {
		asset, found, err := s.Search("/docs/search", query)
		if err != nil || !found {
			t.Fatalf("%q: %t %v", query[:min(20, len(query))], found, err)
		}

		if body := string(asset.Body); strings.Contains(body, "<script>") || strings.Contains(body, `"><b>`) || len(body) > 60_000 {
			t.Errorf("%q: %d bytes", query[:min(20, len(query))], len(body))
		}
	}

	asset, _, err := s.Search("/docs/search", "signed webhooks")
	if err != nil || !strings.Contains(string(asset.Body), "<mark>Webhooks</mark>") {
		t.Errorf("the words are not marked: %v", err)
	}
}

func TestEveryReasonHasItsSentence(t *testing.T) {
	t.Parallel()

	for _, reason := range apierr.Reasons() {
		if reference.AboutReason(string(reason)) == "" {
			t.Errorf("web/reference/chapters/reasons.txt says nothing of %s", reason)
		}
	}
}

// The changelog is shown whole: each entry of the file is in the page, under its day and its kind.
func TestTheChangelogIsShownWhole(t *testing.T) {
	t.Parallel()

	shown := page(t, newSite(t, description), "/changelog")
	days := regexp.MustCompile(`(?m)^## (\d{4}-\d\d-\d\d)$`).FindAllStringSubmatch(docs.Changelog, -1)

	for _, day := range days {
		if !strings.Contains(shown, fmt.Sprintf(`<h2 id=%q>%s</h2>`, day[1], day[1])) {
			t.Errorf("there is no %s", day[1])
		}
	}

	_, content, _ := strings.Cut(shown, "<main")

	if entries := strings.Count(docs.Changelog, "\n- "); entries == 0 || strings.Count(content, "<li>") != entries {
		t.Errorf("%d entries are shown as %d", entries, strings.Count(content, "<li>"))
	}

	_, day, _ := strings.Cut(content, ">2026-11-28</h2>")
	day, _, _ = strings.Cut(day, "<h2")
	day = words(day)

	for _, kind := range []string{"Contract", "Additions", "Operation stayledger directory"} {
		if !strings.Contains(day, kind) {
			t.Errorf("the day has no %q", kind)
		}
	}
}

// Each guide has a row of the contents, and each page is there as Markdown.
func TestEveryGuideIsInTheContents(t *testing.T) {
	t.Parallel()
	s := newSite(t, description)

	files, err := docs.Guides.ReadDir("guides")
	if err != nil {
		t.Fatal(err)
	}

	contents := page(t, s, "/llms.txt")

	for _, file := range files {
		name, isGuide := strings.CutSuffix(file.Name(), ".md")
		if !isGuide {
			continue
		}

		if !strings.Contains(page(t, s, "/docs"), `"/docs/guides/`+name+`"`) || !strings.Contains(contents, "(/docs/guides/"+name+".md)") {
			t.Errorf("the contents lack %s", name)
		}
	}

	for _, address := range s.Addresses() {
		asset, isThere, err := s.Asset(address + ".md")
		if address == "/docs" || address == "/docs/search" {
			continue
		}

		if err != nil || !isThere || asset.ContentType != "text/markdown; charset=utf-8" || !strings.HasPrefix(string(asset.Body), "# ") && !strings.Contains(string(asset.Body), "\n# ") {
			t.Errorf("%s.md: %t %v %.80s", address, isThere, err, asset.Body)
		}
	}

	for _, row := range []struct{ address, has string }{
		{"/docs/operations/changeToy.md", "PUT `/toys/{id}`"}, {"/docs/chapters/errors.md", "## The form of errors"}, {"/docs/guides/concepts.md", "](move-in.md)"},
	} {
		if !strings.Contains(page(t, s, row.address), row.has) {
			t.Errorf("%s lacks %q", row.address, row.has)
		}
	}
}
