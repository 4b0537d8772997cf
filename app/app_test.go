package app_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"go.yaml.in/yaml/v4"

	"stayledger/app"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/access"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/golden"
)

// Proves: VER-02, VER-04.
func TestDescriptionIsCurrentAndValid(t *testing.T) {
	t.Parallel()

	d, err := app.Describe()
	if err != nil {
		t.Fatal(err)
	}

	files, err := d.Files()
	if err != nil {
		t.Fatal(err)
	}

	for name, text := range files {
		golden.File(t, filepath.Join("../docs/openapi", name), text)
	}

	kept, err := os.ReadDir("../docs/openapi")
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range kept {
		if files[file.Name()] == nil {
			t.Errorf("docs/openapi/%s is of a tag that no endpoint has: delete it", file.Name())
		}
	}

	if strings.Contains(string(d.JSON), "x-ignore-books-closed-at") {
		t.Error("the books-closed override is described")
	}

	document, err := libopenapi.NewDocument(d.JSON)
	if err != nil {
		t.Fatal(err)
	}

	v, errs := validator.NewValidator(document)
	if len(errs) > 0 {
		t.Fatal(errs)
	}

	if ok, failures := v.ValidateDocument(); !ok {
		for _, f := range failures {
			t.Errorf("%s: %s", f.Message, f.Reason)
		}
	}
}

// The files that are kept of the description are the whole of it.
func TestDescriptionFilesMergeToIt(t *testing.T) {
	t.Parallel()

	d, err := app.Describe()
	if err != nil {
		t.Fatal(err)
	}

	files, err := d.Files()
	if err != nil {
		t.Fatal(err)
	}

	if len(files) < 20 {
		t.Errorf("%d files, one for each tag expected", len(files))
	}

	merged := map[string]any{}

	for name, text := range files {
		var file map[string]any
		if err := yaml.Unmarshal(text, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		mergeInto(merged, file)
	}

	var whole map[string]any
	if err := yaml.Unmarshal(d.YAML, &whole); err != nil {
		t.Fatal(err)
	}

	if !reflect.DeepEqual(merged, whole) {
		t.Error("the files of docs/openapi, merged, are not the description")
	}
}

func mergeInto(target, from map[string]any) {
	for name, value := range from {
		inTarget, isObject := target[name].(map[string]any)
		inFrom, _ := value.(map[string]any)

		if isObject {
			mergeInto(inTarget, inFrom)
		} else {
			target[name] = value
		}
	}
}

func endpoints() []api.Endpoint { return app.Parts(app.External{}, app.Config{}).Endpoints }

// described decodes the description, its references resolved.
func described(t *testing.T, into any) {
	t.Helper()

	d, err := app.Describe()
	if err != nil {
		t.Fatal(err)
	}

	tree, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}

	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}

	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// Every property of every published schema says what it is, and in which unit: itself, or through what it refers to.
func TestEveryFieldIsDescribed(t *testing.T) {
	t.Parallel()

	d, err := app.Describe()
	if err != nil {
		t.Fatal(err)
	}

	type schema struct {
		Ref         string `json:"$ref"`
		Description string
		Properties  map[string]schema
	}

	var root struct {
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(d.JSON, &root); err != nil {
		t.Fatal(err)
	}

	// Some names describe their field well enough: their lines say "-".
	lines, err := os.ReadFile("fields.txt")
	if err != nil {
		t.Fatal(err)
	}

	named := map[string]bool{}

	for line := range strings.Lines(string(lines)) {
		if name, doc, _ := strings.Cut(strings.TrimSpace(line), ": "); doc == "-" {
			named[name] = true
		}
	}

	schemas, fields := root.Components.Schemas, 0
	for _, owner := range slices.Sorted(maps.Keys(schemas)) {
		for _, name := range slices.Sorted(maps.Keys(schemas[owner].Properties)) {
			property := schemas[owner].Properties[name]
			fields++

			if named[name] || named[owner+"."+name] {
				continue
			}

			if property.Description == "" && schemas[strings.TrimPrefix(property.Ref, "#/components/schemas/")].Description == "" {
				t.Errorf("%s.%s is not described: give its field a doc, or its name a line in fields.txt", owner, name)
			}
		}
	}

	if fields < 2000 {
		t.Errorf("%d fields are too few to be all", fields)
	}
}

// operations returns the operations of the paths of a description by method and path, as far as O has their fields.
func operations[O any](t *testing.T, paths map[string]map[string]json.RawMessage) map[string]O {
	t.Helper()

	out := map[string]O{}

	for path, item := range paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}

			var op O
			if err := json.Unmarshal(raw, &op); err != nil {
				t.Fatal(err)
			}

			out[method+" "+path] = op
		}
	}

	return out
}

// Every body of a request has an example, in 3.1 and in 3.0; files have none.
func TestEveryBodyHasAnExample(t *testing.T) {
	t.Parallel()

	d, err := app.Describe()
	if err != nil {
		t.Fatal(err)
	}

	type schema struct {
		Ref      string `json:"$ref"`
		Example  any
		Examples []any
	}

	for form, text := range map[string][]byte{"3.1": d.JSON, "3.0": d.JSON30} {
		var root struct {
			Paths      map[string]map[string]json.RawMessage
			Components struct{ Schemas map[string]schema }
		}
		if err := json.Unmarshal(text, &root); err != nil {
			t.Fatal(err)
		}

		bodies := 0

		for name, op := range operations[struct {
			RequestBody struct {
				Content map[string]struct{ Schema schema }
			}
		}](t, root.Paths) {
			for kind, body := range op.RequestBody.Content {
				if kind == "application/octet-stream" {
					continue
				}

				bodies++

				s := body.Schema
				if s.Ref != "" {
					s = root.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
				}

				if (form == "3.1") != (len(s.Examples) == 1) || (form == "3.0") != (s.Example != nil) {
					t.Errorf("%s: the body of %s has no example: give its operation one in examples.json", form, name)
				}
			}
		}

		if bodies < 100 {
			t.Errorf("%s: %d bodies", form, bodies)
		}
	}
}

// Every line of fields.txt describes a field that says nothing of itself; the lines stand in the order of their names.
func TestEveryLineAboutFieldsIsUsed(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("fields.txt")
	if err != nil {
		t.Fatal(err)
	}

	var names []string

	marks := map[string]string{}

	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, ": ")
		names = append(names, name)
		marks[name] = "<" + name + ">"
	}

	if order := func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }; !slices.IsSortedFunc(names, order) {
		t.Error("the lines are not in the order of their names")
	}

	d, err := api.NewServer(api.Config{Log: slog.New(slog.DiscardHandler), Fields: marks}, endpoints()).OpenAPI()
	if err != nil {
		t.Fatal(err)
	}

	for i, name := range names {
		if i > 0 && name == names[i-1] {
			t.Errorf("two lines describe %s", name)
		}

		if !strings.Contains(string(d.JSON), `"`+marks[name]+`"`) {
			t.Errorf("no field takes its description from the line of %s: take it away", name)
		}
	}
}

// Names are unique also for generators that know no case, and none is both a parameter and a schema: otherwise clients
// do not compile.
func TestNamesOfTheDescriptionAreUnique(t *testing.T) {
	t.Parallel()

	var root struct {
		Components map[string]map[string]any
	}
	described(t, &root)

	seen := map[string]string{}

	for _, kind := range []string{"schemas", "parameters"} {
		for name := range root.Components[kind] {
			if !regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`).MatchString(name) {
				t.Errorf("%s %s is no name of a type in every language", kind, name)
			}

			folded := strings.ToLower(name)
			if other := seen[folded]; other != "" {
				t.Errorf("%s %s is also %s", kind, name, other)
			}

			seen[folded] = kind + " " + name
		}
	}

	if len(seen) < 400 {
		t.Errorf("%d names are too few to be all", len(seen))
	}
}

// parameter is one of a described endpoint.
type parameter struct {
	Name   string `json:"name"`
	In     string `json:"in"`
	Schema struct {
		Enum []string `json:"enum"`
	} `json:"schema"`
}

// Proves: BKC-11, OPS-31, OPS-90.
func TestDescriptionTellsWhatItMust(t *testing.T) {
	t.Parallel()

	var d struct {
		Paths map[string]map[string]struct {
			OperationID string         `json:"operationId"`
			Scopes      []string       `json:"x-scopes"`
			Parameters  []parameter    `json:"parameters"`
			Responses   map[string]any `json:"responses"`
		} `json:"paths"`
	}
	described(t, &d)

	for path := range d.Paths {
		if !strings.HasPrefix(path, "/operations") {
			continue
		}

		if methods := slices.Collect(maps.Keys(d.Paths[path])); len(methods) != 1 || methods[0] != "get" {
			t.Errorf("%s: operations offer reads only", path)
		}
	}

	for _, p := range d.Paths["/operations"]["get"].Parameters {
		if p.Name == "type" {
			golden.List(t, "operation types in the description", p.Schema.Enum, operation.Type("").Enum())
		}
	}

	for _, e := range endpoints() {
		o := d.Paths[e.Path][strings.ToLower(e.Method)]

		// A route that only we call is served and not told of.
		if e.Internal {
			if o.OperationID != "" {
				t.Errorf("%s %s is internal and in the description", e.Method, e.Path)
			}

			continue
		}

		dry := slices.ContainsFunc(o.Parameters, func(p parameter) bool { return p.Name == "dryRun" && p.In == "query" })
		if o.OperationID != e.ID || dry != e.DryRun || o.Responses["default"] == nil {
			t.Errorf("%s %s is described wrongly", e.Method, e.Path)
		}
	}
}

func TestEndpointsAskForScopesThatExist(t *testing.T) {
	t.Parallel()

	known := access.Scopes()

	for _, e := range endpoints() {
		if e.Public || e.Selection == api.NoTeam {
			continue
		}

		if len(e.Scopes) == 0 {
			t.Errorf("%s %s asks for no scope", e.Method, e.Path)
		}

		for _, s := range e.Scopes {
			for alternative := range strings.SplitSeq(s, "|") {
				if !slices.Contains(known, alternative) {
					t.Errorf("%s %s: no scope %q", e.Method, e.Path, alternative)
				}
			}
		}
	}
}

// Proves: DRY-03, DRY-53, DRY-45, DRY-57, DRY-63, DRY-64, OPEN-40.
func TestDryRunIsDeclaredByItsFamiliesAndNoOther(t *testing.T) {
	t.Parallel()

	for _, e := range endpoints() {
		if want := apitest.DryRuns(&e); e.DryRun != want {
			t.Errorf("%s %s: dry run declared %v, want %v", e.Method, e.Path, e.DryRun, want)
		}
	}
}

// Codes of the contract that no condition has, since what they are about is not built. Whoever builds it takes the code
// from here and proves its status.
func TestCodesThatNothingReturns(t *testing.T) {
	t.Parallel()

	var none []apierr.Code

	for _, code := range apierr.Codes() {
		if !slices.ContainsFunc(apierr.All(), func(e *apierr.Error) bool { return e.Code() == code }) {
			none = append(none, code)
		}
	}

	golden.List(t, "codes that nothing returns", none, []apierr.Code{
		apierr.CodeInvalidBankfeedConnectMode, apierr.CodeBankfeedConnectionNotFound, apierr.CodeBankfeedConnectInProgress,
		apierr.CodeBankfeedConnectConfigurationChanged, apierr.CodeBankfeedConnectExpired,
		apierr.CodeBankfeedConnectRequiresNewLink, apierr.CodeBankfeedProviderUnavailable,
	})
}

// An acknowledgement is 202 on every route that has one, and nothing else is.
//
// Proves: OPEN-28.
func TestAcknowledgementsAreAccepted(t *testing.T) {
	t.Parallel()

	var d struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
	}
	described(t, &d)

	routes := 0

	for path, methods := range d.Paths {
		for method, o := range methods {
			for status, r := range o.Responses {
				if ref, _ := r.Content["application/json"].Schema["$ref"].(string); !strings.HasSuffix(ref, "Acknowledgement") {
					continue
				}

				if routes++; status != "202" {
					t.Errorf("%s %s: an acknowledgement is described as %s", method, path, status)
				}
			}
		}
	}

	if routes < 40 {
		t.Errorf("%d routes have an acknowledgement", routes)
	}
}

// sharedReasons are the reasons that several conditions have, each with a text of its own, and how many: the contract
// gives nouns that are in use, or names that are taken, one reason. All other reasons have one text.
var sharedReasons = map[apierr.Reason]int{
	apierr.ReasonAccountClassificationLocked: 2,  // of the ledger, of the bank
	apierr.ReasonBeforeStatementStartDate:    2,  // a date, a month
	apierr.ReasonBooksClosed:                 2,  // a date, records that would move
	apierr.ReasonDuplicateName:               7,  // of seven nouns
	apierr.ReasonDuplicateUniqueRef:          13, // of thirteen nouns
	apierr.ReasonInUse:                       13, // of thirteen nouns
	apierr.ReasonNotBankAccount:              3,  // an account as such, one for payouts, one for funding
	apierr.ReasonReservationLocked:           2,  // one reservation, those of a cutover
	apierr.ReasonStatementAttachment:         3,  // entries, an ownership period, records that would move
	apierr.ReasonTransactionInactive:         2,  // a transaction, a template
}

// A condition is declared once, in the package whose rule it is: a caller who branches on code and reason reads the same
// text for it wherever it is met. A text that another package has in slightly different words is a double, too.
//
// Proves: ERR-08.
func TestConditionsAreStatic(t *testing.T) {
	t.Parallel()

	conditions := apierr.All()
	if len(conditions) < 100 {
		t.Errorf("only %d conditions are declared", len(conditions))
	}

	declared := map[string]string{}       // messages, by code, reason and message without articles
	texts := map[apierr.Reason][]string{} // messages, by reason

	for _, e := range conditions {
		if strings.ContainsAny(e.Message(), "%\n") || strings.HasSuffix(e.Message(), ".") {
			t.Errorf("message %q", e.Message())
		}

		words := slices.DeleteFunc(strings.Fields(strings.ToLower(e.Message())), func(word string) bool {
			return slices.Contains([]string{"a", "an", "the"}, word)
		})

		key := fmt.Sprint(e.Code(), " ", e.Reason(), " ", words)
		if other, twice := declared[key]; twice {
			t.Errorf("declared twice: %s %s %q and %q", e.Code(), e.Reason(), other, e.Message())
		}

		declared[key] = e.Message()
		if e.Reason() != "" {
			texts[e.Reason()] = append(texts[e.Reason()], e.Message())
		}
	}

	for reason, messages := range texts {
		if want := max(1, sharedReasons[reason]); len(messages) != want {
			t.Errorf("%s has %d conditions, want %d; share one, or say in sharedReasons why it is another: %q", reason, len(messages), want, messages)
		}
	}
}
