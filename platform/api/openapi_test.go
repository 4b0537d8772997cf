package api_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
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

	tree, err := described.Resolve()
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
		"components.schemas.Error.properties.code.x-known-values":           "",
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
	if got := text(t, failures["default"]); !strings.HasPrefix(got, `{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Error"}}}`) {
		t.Errorf("failures are described as %s", got)
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

// An example that nothing can show is refused, as is a second one of a schema.
func TestExamplesBelongToBodies(t *testing.T) {
	t.Parallel()

	type body struct{ Name string }

	type input struct{ Body body }

	type named struct{ Name string }

	answer := func(context.Context, *db.DB, db.Scope, *input) (*named, error) { return &named{}, nil }
	silent := func(context.Context, *db.DB, db.Scope, *api.None) (*api.None, error) { return &api.None{}, nil }
	show := func(examples map[string]api.Example) (string, error) {
		d, err := api.NewServer(api.Config{Log: slog.New(slog.DiscardHandler), Examples: examples}, []api.Endpoint{
			api.External(api.Endpoint{Method: http.MethodPost, Path: "/one", ID: "one", Public: true}, answer),
			api.External(api.Endpoint{Method: http.MethodPost, Path: "/two", ID: "two", Public: true}, answer),
			api.External(api.Endpoint{Method: http.MethodPost, Path: "/none", ID: "none", Public: true}, silent),
		}).OpenAPI()

		return string(d.JSON) + string(d.JSON30), err
	}

	ann, ben := map[string]any{"Name": "Ann"}, map[string]any{"Name": "Ben"}
	for name, c := range map[string]struct {
		examples map[string]api.Example
		ok       bool
	}{
		"a request and an answer": {map[string]api.Example{"one": {Request: ann, Answer: ben}}, true},
		"the same twice":          {map[string]api.Example{"one": {Request: ann}, "two": {Request: ann}}, true},
		"two of a schema":         {map[string]api.Example{"one": {Request: ann}, "two": {Request: ben}}, false},
		"no such operation":       {map[string]api.Example{"three": {Request: ann}}, false},
		"no body":                 {map[string]api.Example{"none": {Request: ann}}, false},
		"no answer":               {map[string]api.Example{"none": {Answer: ann}}, false},
	} {
		text, err := show(c.examples)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}

		if strings.Count(text, `"Ann"`) != map[bool]int{true: 2}[c.ok] {
			t.Errorf("%s: the example stands %d times in the two forms", name, strings.Count(text, `"Ann"`))
		}
	}
}

// In 3.0 null is allowed next to the type: a validator refuses it next to a reference to a schema with a type but
// without null.
func TestNullIn30StandsWithItsType(t *testing.T) {
	t.Parallel()

	d, err := newTeam(t).Server().OpenAPI()
	if err != nil {
		t.Fatal(err)
	}

	var root any
	if err := json.Unmarshal(d.JSON30, &root); err != nil {
		t.Fatal(err)
	}

	found := 0

	var walk func(node any)

	walk = func(node any) {
		switch n := node.(type) {
		case []any:
			for _, one := range n {
				walk(one)
			}
		case map[string]any:
			values, listed := n["enum"].([]any)
			switch {
			case n["nullable"] == nil:
			case n["type"] == nil || n["allOf"] != nil || n["$ref"] != nil || listed && !slices.Contains(values, nil):
				t.Errorf("null is not allowed by %v", n)
			default:
				found++
			}

			for _, one := range n {
				walk(one)
			}
		}
	}
	walk(root)

	if found == 0 {
		t.Error("nothing may be null")
	}
}

// An answer lists the conditions of its status in the order in which they are checked.
func TestAnswersListTheirConditions(t *testing.T) {
	t.Parallel()

	broken, late := apierr.New(apierr.CodeBadRequest, apierr.ReasonAccountInUse, "It is in use"), apierr.New(apierr.CodeBadRequest, apierr.ReasonAlreadyPaid, "It is late")
	answer := func(context.Context, *db.DB, db.Scope, *api.None) (*api.None, error) { return &api.None{}, nil }

	d, err := api.NewServer(api.Config{Log: slog.New(slog.DiscardHandler)}, []api.Endpoint{
		api.External(api.Endpoint{Method: http.MethodPost, Path: "/one", ID: "one", Public: true, Doc: "Does it.", Errors: apierr.List{broken, late}}, answer),
	}).OpenAPI()
	if err != nil {
		t.Fatal(err)
	}

	var root struct {
		Paths map[string]map[string]struct {
			Description string
			Errors      []string `json:"x-errors"`
		}
	}
	if err := json.Unmarshal(d.JSON, &root); err != nil {
		t.Fatal(err)
	}

	one := root.Paths["/one"]["post"]
	if want := []string{"400 accountInUse: It is in use", "400 alreadyPaid: It is late"}; one.Description != "Does it." || !slices.Equal(one.Errors, want) {
		t.Errorf("it is described as %q with the errors %q, want %q", one.Description, one.Errors, want)
	}
}

// What a refusal names as the place of the declared parameters is there in the description as it is published.
func TestSchemaLocationsExist(t *testing.T) {
	t.Parallel()

	d, err := newTeam(t).Server().OpenAPI()
	if err != nil {
		t.Fatal(err)
	}

	var root any
	if err := json.Unmarshal(d.JSON, &root); err != nil {
		t.Fatal(err)
	}

	for _, e := range toys() {
		node := root
		for step := range strings.SplitSeq(strings.TrimPrefix(api.SchemaLocation(&e), "#/"), "/") {
			in, _ := node.(map[string]any)
			node = in[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		}

		op, _ := node.(map[string]any)
		if _, is := op["parameters"].([]any); !is {
			t.Errorf("%s has no parameters", api.SchemaLocation(&e))
		}
	}
}

// Components that refer to components are met from several places, in any order.
func TestResolvedIsTheSameEachTime(t *testing.T) {
	t.Parallel()

	enum := `{"type":"string","enum":["a"]}`
	shared := `{"components":{"schemas":{"Letter":` + enum + `},"parameters":{"Letter":{"name":"letter","in":"query","schema":{"$ref":"#/components/schemas/Letter"}}}},
		"paths":{"/a":{"get":{"parameters":[{"$ref":"#/components/parameters/Letter"}]}},"/b":{"get":{"parameters":[{"$ref":"#/components/parameters/Letter"}]}}}}`
	want := `{"get":{"parameters":[{"in":"query","name":"letter","schema":{"enum":["a"],"type":"string"}}]}}`

	for range 20 {
		tree, err := api.Description{JSON: []byte(shared)}.Resolve()
		if err != nil {
			t.Fatal(err)
		}

		paths, _ := tree["paths"].(map[string]any)
		for path, methods := range paths {
			if got, err := json.Marshal(methods); err != nil || string(got) != want {
				t.Fatalf("%s: %s, %v", path, got, err)
			}
		}
	}
}
