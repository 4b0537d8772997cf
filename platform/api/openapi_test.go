package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"stayledger/platform/api"
)

func TestTheDescriptionIsValid(t *testing.T) {
	t.Parallel()
	d, err := newTeam(t).Server().OpenAPI()
	asJSON, asYAML, asJSON30 := d.JSON, d.YAML, d.JSON30
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text    []byte
		version string
	}{"json": {asJSON, "3.1.0"}, "yaml": {asYAML, "3.1.0"}, "3.0": {asJSON30, "3.0.3"}} {
		document, err := libopenapi.NewDocument(c.text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if document.GetVersion() != c.version {
			t.Errorf("%s: version %s", name, document.GetVersion())
		}
		v, errs := validator.NewValidator(document)
		if len(errs) > 0 {
			t.Fatalf("%s: %v", name, errs)
		}
		if ok, found := v.ValidateDocument(); !ok {
			for _, e := range found {
				t.Errorf("%s: %s %v", name, e.Error(), e.SchemaValidationErrors)
			}
		}
	}
	if strings.Contains(string(asJSON30), `"null"`) || strings.Contains(string(asJSON30), `"examples"`) || strings.Contains(string(asJSON30), `"contentMediaType"`) {
		t.Error("3.0 uses words of 3.1")
	}
}

func description(t *testing.T) func(path string) any {
	t.Helper()
	described, err := newTeam(t).Server().OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := described.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	return func(path string) any {
		node := any(tree)
		for part := range strings.SplitSeq(path, ".") {
			m, _ := node.(map[string]any)
			node = m[strings.ReplaceAll(part, "~1", "/")]
		}
		return node
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Proves: DRY-03, VER-04.
func TestTheDescriptionSaysWhatTheEndpointsDo(t *testing.T) {
	t.Parallel()
	at := description(t)
	for path, want := range map[string]string{
		"paths.~1toys.get.x-scopes":                                         `["toys:read|toys:write"]`,
		"paths.~1toys.post.x-scopes":                                        `[]`,
		"paths.~1toys.get.operationId":                                      `"listToys"`,
		"paths.~1panic.get.security":                                        `[]`,
		"security":                                                          `[{"apiKey":[]},{"bearer":[]}]`,
		"components.schemas.Making.properties.kind.enum":                    `["owner","vendor"]`,
		"components.schemas.Making.properties.other.anyOf":                  `[{"enum":["owner","vendor"],"type":"string"},{"type":"null"}]`,
		"components.schemas.Making.properties.nickname.type":                `["string","null"]`,
		"components.schemas.Making.properties.nickname.maxLength":           `10`,
		"components.schemas.Making.additionalProperties":                    `false`,
		"components.schemas.Toy.properties.place.anyOf":                     `[{"$ref":"#/components/schemas/Place"},{"type":"null"}]`,
		"components.schemas.Toy.properties.nickname.type":                   `["string","null"]`,
		"components.schemas.Toy.properties.createdAt.format":                `"date-time"`,
		"components.schemas.Toy.properties.id.format":                       `"uuid"`,
		"components.schemas.Envelope.properties.code.enum":                  "",
		"paths.~1toys.post.responses.201.headers.X-Service-Audit-Action-Id": "",
	} {
		path = strings.ReplaceAll(path, "schemas.Making", "schemas."+schema("Making"))
		path = strings.ReplaceAll(path, "schemas.Toy", "schemas."+schema("Toy"))
		got := strings.ReplaceAll(text(t, at(path)), schema("Place"), "Place")
		if want != "" && got != want || got == "null" {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if m, ok := at("paths.~1toys.post").(map[string]any); ok {
		parameters := text(t, m["parameters"])
		for _, name := range []string{`"name":"dryRun"`, `"name":"Idempotency-Key"`, `"name":"x-team-id"`} {
			if !strings.Contains(parameters, name) {
				t.Errorf("POST /toys does not declare %s: %s", name, parameters)
			}
		}
	}
	if parameters := text(t, at("paths.~1toys.get.parameters")); strings.Contains(parameters, "dryRun") || strings.Contains(parameters, "Idempotency") || !strings.Contains(parameters, `"maxItems":3`) || !strings.Contains(parameters, `"explode":false`) {
		t.Errorf("GET /toys declares %s", parameters)
	}
	if parameters := text(t, at("paths.~1call.post.parameters")); strings.Contains(parameters, "Idempotency") {
		t.Errorf("POST /call promises to keep answers: %s", parameters)
	}
	failures, _ := at("paths.~1toys.post.responses").(map[string]any)
	for status, answer := range failures {
		if status >= "400" && !strings.Contains(text(t, answer), `"#/components/schemas/`) {
			t.Errorf("%s has no envelope: %s", status, text(t, answer))
		}
	}
}

// schema is the published name of a type of this package.
func schema(name string) string { return "Api_test" + name }

// Every answer fits the description, and what the edge refuses the description refuses too.
//
// Proves: VER-04.
func TestAnswersFitTheDescription(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	described, err := x.Server().OpenAPI()
	asJSON := described.JSON
	if err != nil {
		t.Fatal(err)
	}
	document, err := libopenapi.NewDocument(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	v, errs := validator.NewValidator(document)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, c := range []struct{ method, path, body string }{
		{http.MethodGet, "/toys?flag=true&on=2026-01-02", ""},
		{http.MethodGet, "/toys?limit=0", ""},
		{http.MethodPost, "/toys", `{"name":"n","kind":"owner","nickname":null,"home":null,"other":null}`},
		{http.MethodPost, "/toys", `{"name":"n","kind":"owner","home":{"city":"Rome","zip":null},"place":{"city":"Rome","zip":1}}`},
		{http.MethodPost, "/toys", `{"name":"n","kind":"guest"}`},
		{http.MethodPost, "/toys", `{"name":"n","kind":"owner","halt":"condition"}`},
		{http.MethodPost, "/toys", `{"name":"n","kind":"owner","halt":"cause"}`},
		{http.MethodGet, "/rooms/a", ""},
		{http.MethodGet, "/rooms/a?limit=10", ""},
		{http.MethodGet, "/texts/x", ""},
		{http.MethodGet, "/panic", ""},
		{http.MethodGet, "/sleep", ""},
		{http.MethodGet, "/sleep?seconds=9", ""},
	} {
		ask := func() *http.Request {
			r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Api-Key", "sk")
			return r
		}
		w := httptest.NewRecorder()
		x.Server().ServeHTTP(w, ask())
		if ok, found := v.ValidateHttpResponse(ask(), w.Result()); !ok {
			for _, e := range found {
				t.Errorf("%s %s: %d %s: %s %v", c.method, c.path, w.Code, w.Body, e.Error(), e.SchemaValidationErrors)
			}
		}
		if ok, found := v.ValidateHttpRequest(ask()); ok != (w.Code != http.StatusBadRequest) {
			t.Errorf("%s %s %s: answered %d, the description says %v", c.method, c.path, c.body, w.Code, found)
		}
		if e := x.Server().Find(c.method, c.path); e == nil {
			t.Errorf("%s %s is no endpoint", c.method, c.path)
		} else if err := x.Server().Conforms(e, w.Code, w.Body.Bytes()); err != nil {
			t.Error(err)
		}
	}
}

// What the harness holds every answer to: a nullable object is checked inside.
func TestAnswersAreHeldToTheDescription(t *testing.T) {
	t.Parallel()
	s := newTeam(t).Server()
	const toy = `{"id":"0198a5a5-0000-7000-8000-000000000000","kind":"owner","name":"n","nickname":null,"createdAt":"2026-01-02T03:04:05.678Z","place":`
	for place, departs := range map[string]string{
		`null}`: "", `{"city":"Rome","zip":null}}`: "", `{"city":5,"zip":null}}`: "place city", `{"zip":null}}`: "place city", `{"city":"Rome","zip":null,"more":1}}`: "place more", `[]}`: "place",
	} {
		err := s.Conforms(s.Find(http.MethodPost, "/toys"), http.StatusCreated, []byte(toy+place))
		if (err != nil) != (departs != "") || err != nil && !strings.Contains(err.Error(), "["+departs+"]") {
			t.Errorf("%s: %v", place, err)
		}
	}
}

func TestSchemaLocationsExist(t *testing.T) {
	t.Parallel()
	at := description(t)
	for _, e := range toys() {
		path := strings.TrimPrefix(api.SchemaLocation(&e), "#/paths/")
		template, method, _ := strings.Cut(path, "/")
		if at("paths."+template+"."+method) == nil {
			t.Errorf("%s does not exist", api.SchemaLocation(&e))
		}
	}
}
