package completion_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"stayledger/cmd/stayledger/internal/completion"
)

// grammar is a small program with what command lines can have.
type grammar struct {
	Key struct {
		Issue struct {
			Audience string `enum:"backend,portal" default:"backend"`
			Team     string `short:"t"`
			Partner  bool   `short:"p"`
		} `cmd:""`
		List struct{} `cmd:""`
	} `cmd:""`
	API struct {
		Method string   `arg:""`
		Path   string   `arg:""`
		Values []string `arg:"" optional:""`
		Pick   string
	} `cmd:"" name:"api"`
	Script struct {
		Shell string `arg:"" enum:"bash,zsh"`
	} `cmd:""`
	Hidden struct{} `cmd:"" hidden:""`
}

const description = `{"paths": {
	"/stays": {
		"parameters": [{"in": "header", "name": "x-team-id"}],
		"get": {"responses": {}, "parameters": [{"in": "query", "name": "month"}, {"$ref": "#/components/parameters/Limit"}]},
		"post": {"responses": {}, "parameters": [{"in": "query", "name": "dryRun"}],
			"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Stay"}}}}}
	},
	"/stays/{id}": {"get": {"responses": {}}},
	"/stays/{id}/lines/{line}": {"delete": {"responses": {}, "parameters": [{"in": "query", "name": "force"}]}}
}, "components": {
	"parameters": {"Limit": {"in": "query", "name": "limit"}},
	"schemas": {"Stay": {"properties": {"name": {}, "amount": {}}}}
}}`

// TestWordsThatCanComeNext shows what is offered for a command line; the last word is what was typed of it.
func TestWordsThatCanComeNext(t *testing.T) {
	t.Parallel()

	var g grammar

	k, err := kong.New(&g, kong.Name("program"))
	if err != nil {
		t.Fatal(err)
	}

	operations := func() (*completion.API, error) { return completion.ReadAPI([]byte(description)), nil }

	for line, want := range map[string]string{
		"":                             "api key script",
		"k":                            "key",
		"key ":                         "issue list",
		"key issue --":                 "--audience --help --partner --team",
		"key issue --audience ":        "backend portal",
		"key issue --team ":            "",
		"key issue -pt ":               "",
		"key issue -pt x --p":          "--partner",
		"key issue -t x --p":           "--partner",
		"key issue --partner --au":     "--audience",
		"script z":                     "zsh",
		"api ":                         "DELETE GET POST",
		"api GET ":                     "/stays /stays/{id}",
		"api get /stays/":              "/stays/{id}",
		"api DELETE /stays/7/l":        "/stays/7/lines/{line}",
		"api --pick id GET /stays ":    "limit= month=",
		"api POST /stays ":             "amount= dryRun== name=",
		"api POST /stays a=1 n":        "name=",
		"api DELETE /stays/7/lines/8 ": "force=",
		"api GET /none ":               "",
	} {
		got, err := completion.Words(k.Model, operations, strings.Split(line, " "))
		if err != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %q, %v, want %q", line, got, err, want)
		}
	}
}

// TestEveryShellHasAScript reads the scripts.
func TestEveryShellHasAScript(t *testing.T) {
	t.Parallel()

	for _, shell := range completion.Shells {
		if text, err := completion.Script(shell); err != nil || !strings.Contains(string(text), "stayledger complete -- ") {
			t.Errorf("%s: %s, %v", shell, text, err)
		}
	}

	if _, err := completion.Script("../bash"); err == nil {
		t.Error("a shell that does not exist has a script")
	}
}
