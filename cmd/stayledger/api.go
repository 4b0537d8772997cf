package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"stayledger/cmd/stayledger/internal/apicall"
	"stayledger/cmd/stayledger/internal/completion"
)

// service is where commands that call the API find it, and with which credential.
type service struct {
	BaseURL string `name:"base-url" env:"STAYLEDGER_BASE_URL" help:"Address of the service; that of the demo on this machine when empty."`
	APIKey  string `name:"api-key" env:"STAYLEDGER_API_KEY" help:"Key of a team or a partner; that of the demo's first team when empty and the demo is called."`
	Token   string `env:"STAYLEDGER_TOKEN" help:"Bearer token of a user, instead of a key."`
	Team    string `env:"STAYLEDGER_TEAM" help:"Id of the team, when the credential reaches several."`
	DataDir string `name:"data-dir" env:"STAYLEDGER_DATA_DIR" help:"Data folder of the demo, with its demo.json."`
}

// errNoService is a command line that does not say where the service is.
var errNoService = errors.New("no service")

// errInterrupted is a call that was ended by a signal.
var errInterrupted = errors.New("interrupted")

// complete takes what is missing from the demo's file. The demo's key goes to the demo only.
func (s *service) complete() error {
	path, err := demoPath(s.DataDir)
	if err != nil {
		return err
	}

	demo, err := loadDemo(path)

	// The file is needed only when something is missing.
	switch {
	case s.BaseURL == "" && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: set STAYLEDGER_BASE_URL and STAYLEDGER_API_KEY, or start the demo (there is no %s)", errNoService, path)
	case s.BaseURL == "" && err != nil:
		return fmt.Errorf("%w: %w", errNoService, err)
	case s.BaseURL == "":
		s.BaseURL = demo.BaseURL
	}

	if s.APIKey == "" && s.Token == "" && demo != nil && s.BaseURL == demo.BaseURL {
		s.APIKey = demo.Team.APIKey
	}

	return nil
}

// client returns a client of the service.
func (s *service) client() (*apicall.Client, error) {
	if err := s.complete(); err != nil {
		return nil, err
	}

	return &apicall.Client{BaseURL: s.BaseURL, APIKey: s.APIKey, Token: s.Token, Team: s.Team}, nil
}

// apiMethods are the methods that the service has.
var apiMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// apiCmd calls the API once.
type apiCmd struct {
	service `embed:""`
	Method  string   `arg:"" help:"GET, POST, PUT, PATCH or DELETE."`
	Path    string   `arg:"" help:"Path of the operation, such as /statements."`
	Values  []string `arg:"" optional:"" name:"values" help:"name=value, name:=json or name==value; see below."`

	Body           string            `help:"File with the body, as it stands; - for standard input." placeholder:"FILE"`
	Form           []string          `short:"F" sep:"none" help:"Part of a multipart form: name=value or name=@file." placeholder:"PART"`
	Header         map[string]string `short:"H" help:"Another header." placeholder:"NAME=VALUE"`
	DryRun         bool              `name:"dry-run" short:"n" help:"Run the whole write and roll it back: the same answer, nothing kept."`
	IdempotencyKey string            `name:"idempotency-key" help:"Key under which a POST is done once; a new one when empty." placeholder:"KEY"`
	All            bool              `short:"a" help:"Follow the pages of a list."`
	NoWait         bool              `name:"no-wait" help:"Do not wait for the operation that the request starts."`
	Pick           string            `short:"q" help:"Print the value at this path only." placeholder:"PATH"`
	JSON           bool              `name:"json" short:"j" help:"Print what --pick selects as JSON."`
	Output         string            `short:"o" help:"Save the answer, or the file that it leads to." placeholder:"FILE"`
	Verbose        bool              `short:"v" help:"Print the heads of requests and answers."`

	call apicall.Call
}

// Help returns the text about values and paths.
func (*apiCmd) Help() string {
	return `  stayledger api GET /statements month=2026-10
  stayledger api POST /contacts type=owner name="Anna Albers" -q id
  stayledger api POST /statements/pdf statementIds:='["…"]' -o statements.pdf

name=value is a parameter of a GET or DELETE, and elsewhere a field of the JSON body with a text; name:=json is a field with any JSON (numbers, true, null, lists,
objects), whose name can be a path, such as lines.0.amount:=100; name==value is a parameter everywhere.

A request that starts an operation is waited for, and the operation's result printed. A GET is sent again when the connection breaks or the service asks for it; a
write is sent once, under a key with which it can be repeated.

--pick takes a path such as id, data.0.id, data.#.id (of all rows), data.#(code=="5200").id (of the first such row) or data.#(status=="draft")#.[id,name] (of all such
rows, with tabs between): the syntax of github.com/tidwall/gjson. A text is printed without quotes, a list with an element on each line; with --json it stays JSON.

The exit code is 1 for a failure and 2 for wrong usage.`
}

// flagsFirst moves the flags of a call of the API before its other words: kong ends a list of words at the first flag,
// and people write values and flags in any order. The words after -- are none of them flags.
func flagsFirst(k *kong.Kong, args []string) []string {
	if len(args) == 0 || args[0] != "api" {
		return args
	}

	at := slices.IndexFunc(k.Model.Children, func(c *kong.Node) bool { return c.Name == "api" })

	var flags, words []string

	for i := 1; i < len(args); i++ {
		switch word := args[i]; {
		case word == "--":
			return slices.Concat(args[:1], flags, args[i:i+1], words, args[i+1:])
		case len(word) < 2 || word[0] != '-':
			words = append(words, word)
		default:
			flags = append(flags, word)

			// The value of a flag goes with it, whatever it begins with.
			if i+1 < len(args) && completion.Waiting(k.Model.Children[at], word) != nil {
				i++
				flags = append(flags, args[i])
			}
		}
	}

	return slices.Concat(args[:1], flags, words)
}

// Validate builds the request, so that faults of the command line are found before anything is sent.
func (c *apiCmd) Validate() error {
	// First what contradicts itself; then the request, which finds faults of values.
	c.Method = strings.ToUpper(c.Method)
	if !slices.Contains(apiMethods, c.Method) {
		return fmt.Errorf("%s is no method: %s", c.Method, strings.Join(apiMethods, ", "))
	}

	if c.Body != "" && len(c.Form) > 0 {
		return errors.New("--body and --form: a request has one body")
	}

	if c.All && c.Method != http.MethodGet {
		return errors.New("--all follows the pages of a GET")
	}

	c.call = apicall.Call{
		Request: apicall.Request{Method: c.Method, Path: c.Path, Header: http.Header{}, IdempotencyKey: c.IdempotencyKey},
		All:     c.All, NoWait: c.NoWait, Pick: c.Pick, JSON: c.JSON, Output: c.Output, IsTerminal: isTerminal(os.Stdout),
	}

	for name, value := range c.Header {
		c.call.Header.Set(name, value)
	}

	return c.addBody()
}

// addBody adds the body and the parameters of the query to the request.
func (c *apiCmd) addBody() error {
	var err error

	// A body comes from a file, from the parts of a form, or from the fields among the values.
	switch {
	case c.Body != "":
		c.call.Body = apicall.FileBody(c.Body)
	case len(c.Form) > 0:
		if c.call.Body, err = apicall.FormBody(c.Form); err != nil {
			return err
		}
	}

	if err := c.call.AddValues(c.Values); err != nil {
		return err
	}

	if c.DryRun {
		c.call.Query.Set("dryRun", "true")
	}

	return nil
}

// Run sends the request and prints what it is answered with.
func (c *apiCmd) Run(r *runContext) error {
	client, err := c.client()
	if err != nil {
		return err
	}

	// What is not the answer goes to standard error, so that scripts can read the answer.
	if c.Verbose {
		client.Trace = os.Stderr
	}

	// A person who waits sees how far the operation is.
	if isTerminal(os.Stderr) {
		client.Waiting = showWaiting()
	}

	err = client.Run(r.ctx, c.call, os.Stdout)
	if r.ctx.Err() != nil {
		return errInterrupted // a script must not take a part of the answer for the whole
	}

	return err
}

// showWaiting returns what shows the progress of an operation as a bar. An operation that ends at once has none.
func showWaiting() func(apicall.Progress) {
	var bar *progress

	return func(p apicall.Progress) {
		switch {
		case p.HasEnded && bar != nil:
			bar.at(1)
			bar.done()
		case p.HasEnded:
		case bar == nil:
			bar = newProgress(os.Stderr, p.Type)
			bar.at(0)
		case p.Total != nil && *p.Total > 0:
			bar.at(float64(p.Done) / float64(*p.Total))
		}
	}
}
