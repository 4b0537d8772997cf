package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/id"
)

// Proves: PAG-25, PAG-26, PAG-28, PAG-30, ERR-16, ERR-17, ERR-83, ERR-87, ERR-88, DRY-04, OPEN-42.
func TestUndeclaredParametersAreRefused(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	for _, query := range []string{"foo=1", "sortBy=name", "sortDirection=desc", "dryRun=true", "dryRun=false", "Limit=5", "limit%5B%5D=5", "x-toy=1"} {
		name, _, _ := strings.Cut(query, "=")
		name = strings.NewReplacer("%5B", "[", "%5D", "]").Replace(name)

		r := x.Get("/toys?limit=5&"+query).WantError(apierr.CodeBadRequest, "").WantIssue("unknownParameter", name)
		if r.String("issues.0.schema") != "#/paths/~1toys/get/parameters" || r.Len("issues") != 1 {
			t.Errorf("%s: %s", query, r.Body)
		}

		if r.String("links.docs") != "http://127.0.0.1/docs#listToys" || r.String("links.schema") != "http://127.0.0.1/openapi.json" {
			t.Errorf("%s: links %s", query, r.Body)
		}
	}
	// Paging is no exception: who has no pages takes no parameters of pages.
	for _, query := range []string{"limit=5", "page=1", "offset=0", "cursor=x", "sort=name"} {
		name, _, _ := strings.Cut(query, "=")
		x.Get("/texts/hello?"+query).WantError(apierr.CodeBadRequest, "").WantIssue("unknownParameter", name)
	}

	if r := x.Get("/toys?limit=0"); r.Has("links") {
		t.Errorf("links on another failure: %s", r.Body)
	}
}

// Proves: PAG-09, PAG-11, PAG-12, PAG-13, PAG-29, ERR-81, ERR-83, OPEN-82.
func TestQueriesAreReadStrictly(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	const some = "01890000-0000-7000-8000-000000000001"
	for query, issue := range map[string]string{
		"limit": "emptyParameter limit", "limit=": "emptyParameter limit", "limit=5&limit=5": "duplicateParameter limit", "limit=5&limit=6": "duplicateParameter limit",
		"kind=%zz": "malformedQuery kind", "%zz=1": "malformedQuery ", "kind=owner;flag=true": "malformedQuery ", "=1": "malformedQuery ", "&limit=1": "malformedQuery ",
		"search=a%00b": "malformedQuery search", "search=%ff": "malformedQuery search",
		"limit=0": "range limit", "limit=251": "range limit", "limit=-1": "range limit", "limit=%2B5": "integer limit", "limit=+5": "integer limit", "limit=007": "integer limit",
		"offset=-0": "integer offset", "limit=1.5": "integer limit", "limit=1e3": "integer limit", "limit=5%20": "integer limit", "limit=0x5": "integer limit", "limit=1_0": "integer limit",
		"offset=9007199254740992": "integer offset", "offset=9007199254740993": "integer offset", "offset=99999999999999999999": "integer offset", "offset=-1": "range offset", "offset=0.5": "integer offset",
		"page=0": "range page", "page=-1": "range page", "page=1.5": "integer page", "page=9007199254740993": "integer page", "page=9007199254740991&limit=250": "range page",
		"any=-9007199254740992": "integer any", "few=4": "range few", "few=-4": "range few",
		"kind=guest": "enum kind", "kind=Owner": "enum kind", "sort=created_desc": "enum sort", "sort=%2Bname": "enum sort", "sort=-": "enum sort",
		"flag=1": "boolean flag", "flag=TRUE": "boolean flag", "flag=yes": "boolean flag", "on=2026-02-30": "date on", "on=2026-2-3": "date on", "on=2026-02-03T00:00:00Z": "date on",
		"ids=x": "uuid ids", "ids=" + some + ",": "malformed ids", "ids=" + some + ";" + some: "malformedQuery ", "ids={" + some + "}": "uuid ids", "ids=" + strings.ReplaceAll(some, "-", ""): "uuid ids",
		"ids=" + some + "&ids=" + some: "duplicateParameter ids", "ids=" + strings.Repeat(some+",", 3) + some: "items ids", "names=a,,b": "malformed names",
		"search=a": "length search", "search=%C3%A4": "length search", "search=abcdef": "length search", "code=abc": "malformed code",
	} {
		code, path, _ := strings.Cut(issue, " ")

		r := x.Get("/toys?"+query).WantError(apierr.CodeBadRequest, "").WantIssue(code, path)
		if r.String("issues.0.schema") != "query" || r.String("message") != "Request validation failed" {
			t.Errorf("%s: %s", query, r.Body)
		}
	}

	for query, want := range map[string]string{
		"": "name", "?search=%C3%A4%C3%B6": "äöname", "?search=a+b": "a bname", "?search=a%2Bb": "a+bname", "?code=ab&kind=vendor&sort=-name": "abvendor-name",
	} {
		if got := x.Get("/toys" + query).Want(200).String("text"); got != want {
			t.Errorf("%q heard as %q, want %q", query, got, want)
		}
	}

	r := x.Get("/toys?flag=false&few=-3&any=-9007199254740991&ids=" + some + "," + strings.ToUpper(some) + "&names=a,b%2Cc").Want(200)
	if r.String("flag") != "false" || r.Int("few") != -3 || r.Int("any") != -9007199254740991 || r.Len("ids") != 2 || r.String("ids.0") != some || r.String("ids.1") != some || r.Len("names") != 3 {
		t.Errorf("heard %s", r.Body)
	}

	if r := x.Get("/toys").Want(200); r.Value("flag") != nil || r.Value("few") != nil {
		t.Errorf("absent values: %s", r.Body)
	}
}

func TestManyMistakesGetAShortAnswer(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	var unknown, malformed strings.Builder
	for n := range 1000 {
		unknown.WriteString("&p" + strings.Repeat("x", n+1) + "=1")
		malformed.WriteString("&;")
	}

	for _, query := range []string{unknown.String()[1:], malformed.String()[1:]} {
		if n := x.Get("/toys?" + query).Want(400).Len("issues"); n != 100 {
			t.Errorf("%d issues", n)
		}
	}

	if n := x.Post("/toys", `{"name":"n","kind":"owner","free":{`+strings.Repeat(`"a":1,`, 300)+`"a":1}}`).Want(400).Len("issues"); n != 100 {
		t.Errorf("%d issues of a body", n)
	}
}

// Proves: OPEN-42.
func TestDryRunIsTrueOrFalse(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	server := httptest.NewServer(x.Server())
	t.Cleanup(server.Close)

	for query, want := range map[string]int{"dryRun": 400, "dryRun=1": 400, "dryRun=": 400, "dryRun=True": 400, "dryRun=true&dryRun=true": 400, "dryRun=true": 201, "dryRun=false": 201, "": 201} {
		r, err := http.Post(server.URL+"/toys?"+query, "application/json", strings.NewReader(`{"name":"n","kind":"owner"}`))
		if err != nil {
			t.Fatal(err)
		}

		r.Body.Close()

		if r.StatusCode != want {
			t.Errorf("%q answered %d", query, r.StatusCode)
		}
	}
}

// Proves: ERR-80.
func TestPathsAreReadOnceAndNeverRedirected(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for path, want := range map[string]string{
		"/texts/a": "a", "/texts/100%25": "100%", "/texts/%2541": "%41", "/texts/a%2Fb": "a/b", "/texts/%C3%A4": "ä", "/texts/a%2F%2541": "a/%41", "/texts/a+b": "a+b", "/texts/a%20b": "a b", "/texts/a%3Fb": "a?b",
	} {
		if got := x.Get(path).Want(200).String("text"); got != want {
			t.Errorf("%s heard as %q, want %q", path, got, want)
		}
	}

	for _, path := range []string{"/texts/%00", "/texts/%ff", "/texts/a%2F%00"} {
		x.Get(path).WantError(apierr.CodeBadRequest, "").WantIssue("malformed", "text")
	}

	for _, path := range []string{"//toys", "/toys/", "/./toys", "/rooms/../toys", "/TOYS", "/texts//", "/texts/a/b", "/%2Ftoys", "/toys%2F"} {
		r := x.Get(path).WantError(apierr.CodeNotFound, "")
		if r.Header.Get("Location") != "" {
			t.Errorf("%s is sent to %s", path, r.Header.Get("Location"))
		}
	}

	r := x.Delete("/toys/abc").WantError(apierr.CodeBadRequest, "").WantIssue("uuid", "id")
	if r.String("issues.0.schema") != "path" || strings.Contains(string(r.Body), "abc") {
		t.Errorf("a bad id: %s", r.Body)
	}

	x.Delete("/toys/"+id.New(x.DB.Now()).String()).WantError(apierr.CodeNotFound, "")
}

// Proves: ERR-01, ERR-29, ERR-31.
func TestUnknownRoutesAndMethods(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	for call, allow := range map[string]string{
		"PATCH /toys": "GET, POST", "PUT /toys": "GET, POST", "OPTIONS /toys": "GET, POST", "HEAD /toys": "GET, POST", "BREW /toys": "GET, POST", "GET /toys/1": "DELETE", "POST /texts/a%2Fb": "GET",
	} {
		method, path, _ := strings.Cut(call, " ")

		r := x.Call(method, path, nil).WantError(apierr.CodeMethodNotSupported, "")
		if r.Header.Get("Allow") != allow {
			t.Errorf("%s allows %q, want %q", call, r.Header.Get("Allow"), allow)
		}
	}

	for _, call := range []string{"GET /", "GET /nothing", "POST /nothing", "BREW /nothing", "GET /toys/a/b"} {
		method, path, _ := strings.Cut(call, " ")
		if r := x.Call(method, path, nil).WantError(apierr.CodeNotFound, ""); r.Header.Get("Allow") != "" || r.Len("issues") != 0 {
			t.Errorf("%s: %s", call, r.Body)
		}
	}
}

// Proves: OPEN-25.
func TestHeadersOfEveryAnswer(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for _, path := range []string{"/toys", "/toys?foo=1", "/nothing", "/panic", "/file", "/toys?limit=0"} {
		r := x.Get(path)
		if _, err := id.Parse(r.Header.Get("X-Request-Id")); err != nil {
			t.Errorf("%s: request id %q", path, r.Header.Get("X-Request-Id"))
		}

		if r.Header.Get("X-Api-Version") != "2026-11-01" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, r.Header)
		}

		if r := x.Get(path, "x-request-id", "given.Id_7-x"); r.Header.Get("X-Request-Id") != "given.Id_7-x" {
			t.Errorf("%s: request id %q", path, r.Header.Get("X-Request-Id"))
		}

		for _, bad := range []string{"a b", "a\nb", strings.Repeat("x", 65), "ä", `"><script>`} {
			if r := x.Get(path, "x-request-id", bad); r.Header.Get("X-Request-Id") == bad {
				t.Errorf("%s: request id %q came back", path, bad)
			}
		}
	}

	x.Get("/toys", "x-api-version", "2026-11-01").Want(200)
	x.Get("/toys", "x-api-version", "2026-11-02").WantError(apierr.CodeBadRequest, "").WantIssue("unknownVersion", "x-api-version")
	x.Get("/toys", "x-toy", "\xff").WantError(apierr.CodeBadRequest, "").WantIssue("malformed", "x-toy")

	if got := x.Get("/toys", "x-toy", "!").Want(200).String("text"); got != "name!" {
		t.Errorf("a header heard as %q", got)
	}
}

func TestScopesAreAskedForBeforeTheQuery(t *testing.T) {
	t.Parallel()

	x := apitest.New(t, apitest.Config{Silent: true, Endpoints: toys(), Scopes: []string{"toys:paint"}})
	if r := x.Get("/toys?foo=1").WantError(apierr.CodeForbidden, ""); r.String("context.requiredScopes.0") != "toys:read|toys:write" || r.Has("links") {
		t.Errorf("%s", r.Body)
	}

	x.As([]string{"toys:write"}, nil).Get("/toys").Want(200)
}
