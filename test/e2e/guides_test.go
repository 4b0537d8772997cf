package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Addresses of this machine that the guides name: of the sandbox, and of a receiver of webhooks. Here each guide has a
// sandbox of its own at a free port, and the test is the receiver.
const (
	guideSandbox  = "127.0.0.1:8085"
	guideReceiver = "127.0.0.1:3000"
)

// reader is somebody who pastes the blocks of a guide into a shell.
type reader struct {
	// env is what the guide says has to be set.
	env []string
	// receiver is the address that gets webhooks; empty for guides without one.
	receiver string
	// isOnce is for guides that end something, such as a connection: they cannot be pasted a second time.
	isOnce bool
	// check holds what is there afterwards against what the guide says; nil for guides whose output says it.
	check func(t *testing.T)
}

// guides has a row for each guide, with what it says has to be there. A guide without a reader has a test of its own.
var guides = []struct {
	name string
	with func(t *testing.T, d *guideDemo) reader
	// others is for pages that name requests of other programs as well: protocols, vendors, sandboxes.
	others bool
}{
	{name: "bank-accounts", with: firstTeam},
	{name: "bank-feeds", with: firstTeam, others: true},
	{name: "close-a-month", with: firstTeam},
	{name: "concepts", with: firstTeam},
	{name: "connect-a-system", with: ownTeam},
	{name: "cutover", with: movers},
	{name: "embedding", with: operator},
	{name: "errors-and-retries", with: firstTeam},
	{name: "first-hour"}, // TestImportOfTheFirstHour pastes it and goes on with its books
	{name: "hostaway", with: ownTeam, others: true},
	{name: "leaving", with: secondTeam},
	{name: "migration", with: operator},
	{name: "move-in", with: firstTeam},
	{name: "move-to-another-system", with: firstTeam},
	{name: "operating", with: operator},
	{name: "ownerrez", with: ownTeam, others: true},
	{name: "payment-provider", with: ownTeam, others: true},
	{name: "people-and-keys", with: operator},
	{name: "pms-protocol", with: ownTeam, others: true},
	{name: "reconcile-a-bank", with: secondTeam},
	{name: "webhooks", with: receivers},
}

// TestTheCommandsOfTheGuides pastes all blocks of each guide that are for a shell into one, as a reader would, and holds
// what they print against what the guide says of it.
func TestTheCommandsOfTheGuides(t *testing.T) {
	t.Parallel()

	rows := map[string]bool{}
	for _, g := range guides {
		rows[g.name] = true
	}

	files, err := filepath.Glob("../../docs/guides/*.md")
	if err != nil || len(files) != len(rows) {
		t.Errorf("%d guides, %d rows: %v", len(files), len(rows), err)
	}

	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".md"); !rows[name] {
			t.Errorf("the guide %s has no row", name)
		}
	}

	d := startGuideDemo(t)

	there := d.endpoints(t)

	for _, g := range guides {
		if !g.others {
			checkRequests(t, g.name, there)
		}

		if g.with == nil {
			continue
		}

		t.Run(g.name, func(t *testing.T) {
			t.Parallel()

			r := g.with(t, d)
			paste(t, g.name, &r)

			if !r.isOnce {
				paste(t, g.name, &r)
			}

			if r.check != nil {
				r.check(t)
			}
		})
	}
}

// guideDemo is the demo that readers have running.
type guideDemo struct {
	*demoFile

	data     string
	database string
}

// startGuideDemo starts a demo with fresh books of its own.
func startGuideDemo(t *testing.T) *guideDemo {
	t.Helper()

	d := &guideDemo{data: t.TempDir(), database: emptyDatabase(t)}
	start(t, d.database, d.data, "demo", "--months", "3", "--listings", "8")
	d.demoFile = readDemo(t, d.data)

	return d
}

// firstTeam reads with the demo alone: the commands find its first team.
func firstTeam(_ *testing.T, d *guideDemo) reader {
	return reader{env: []string{"STAYLEDGER_DATA_DIR=" + d.data}}
}

// secondTeam reads with another team of the demo, for guides whose records would get into the month that another guide
// closes.
func secondTeam(_ *testing.T, d *guideDemo) reader {
	return reader{env: []string{"STAYLEDGER_DATA_DIR=" + d.data, "STAYLEDGER_API_KEY=" + d.SecondTeam.APIKey}}
}

// ownTeam reads with a new team, for guides that connect systems: an account of a system is connected once to a team, and
// its stays would get into the books of the others.
func ownTeam(t *testing.T, d *guideDemo) reader {
	t.Helper()

	c := d.newTeam(t)

	return reader{env: []string{"STAYLEDGER_DATA_DIR=" + d.data, "STAYLEDGER_BASE_URL=" + c.base, "STAYLEDGER_API_KEY=" + c.key}}
}

// newTeam makes a team with the standard chart whose books begin with 2026.
func (d *guideDemo) newTeam(t *testing.T) *client {
	t.Helper()

	team := command(t, d.database, "team", "create", t.Name(), "--start", "2026-01-01")
	c := &client{t: t, base: d.BaseURL, key: command(t, d.database, "key", "issue", "--team", team)}
	c.settled(c.post("/team/init", object{"template": "standard"}).want(202).text("operationId"))

	return c
}

// receivers reads with the demo and a receiver, which gets what the guide makes.
func receivers(t *testing.T, d *guideDemo) reader {
	t.Helper()

	got := make(chan struct{}, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Webhook-Signature") != "" && bytes.Contains(body, []byte(`"entityType":"webhook"`)) {
			select {
			case got <- struct{}{}:
			default:
			}
		}
	}))

	t.Cleanup(receiver.Close)

	r := firstTeam(t, d)
	r.receiver = receiver.Listener.Addr().String()
	r.check = func(t *testing.T) {
		t.Helper()

		select {
		case <-got:
		case <-time.After(patience):
			t.Error("the webhook that the guide makes is not forwarded")
		}
	}

	return r
}

// operator reads with the database of the demo.
func operator(_ *testing.T, d *guideDemo) reader {
	return reader{env: []string{"STAYLEDGER_DATA_DIR=" + d.data, "DATABASE_URL=" + d.database, "STAYLEDGER_SECRET_KEYS=" + secretKey}}
}

// endpoints returns the endpoints of the demo as the description names them, without the names of parameters.
func (d *guideDemo) endpoints(t *testing.T) map[string]bool {
	t.Helper()

	described := (&client{t: t}).get(d.BaseURL + "/openapi.json").want(200)

	var description struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(described.body, &description); err != nil {
		t.Fatal(err)
	}

	out := map[string]bool{}

	for path, item := range description.Paths {
		for method := range item {
			out[strings.ToUpper(method)+" "+guideParameter.ReplaceAllString(path, "{}")] = true
		}
	}

	return out
}

// guideRequest is a request as guides name it, in sentences and commands.
var guideRequest = regexp.MustCompile(`\b(?:GET|POST|PUT|PATCH|DELETE) /[\w/{}$-]+`)

// guideParameter is a parameter of a path: {id} in sentences, $HOUSE in commands.
var guideParameter = regexp.MustCompile(`\{\w+\}|\$\{?\w+\}?`)

// checkRequests holds all requests that a guide names against the endpoints that there are.
func checkRequests(t *testing.T, name string, there map[string]bool) {
	t.Helper()

	for _, request := range guideRequest.FindAllString(guideText(t, name), -1) {
		if !there[guideParameter.ReplaceAllString(request, "{}")] {
			t.Errorf("the guide %s names %s, which there is not", name, request)
		}
	}
}

// paste runs the blocks of a guide in one shell and holds what they print against what the guide says. A block that goes
// on until it is stopped runs beside the others, as in a terminal of its own.
func paste(t *testing.T, name string, r *reader) {
	t.Helper()

	sandbox := freeAddress(t)
	env := slices.Concat(os.Environ(), r.env, []string{withBinary(), "STAYLEDGER_SANDBOX_LISTEN=" + sandbox})
	here := strings.NewReplacer(guideSandbox, sandbox, guideReceiver, r.receiver)

	var script strings.Builder

	for _, block := range guideBlocks(t, name) {
		block = here.Replace(block)

		switch {
		case strings.HasPrefix(block, "stayledger sandbox --"):
			runBeside(t, block, env, "sandbox at")
		case strings.HasPrefix(block, "stayledger listen"):
			runBeside(t, block, env, "signing with")
		default:
			script.WriteString(block)
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	shell := exec.CommandContext(ctx, "bash", "-c", "set -euo pipefail\n"+script.String())
	shell.Dir, shell.Env = t.TempDir(), env

	var says buffer

	shell.Stderr = &says

	out, err := shell.Output()
	if err != nil {
		t.Fatalf("the guide %s: %v\n%s%s", name, err, out, &says)
	}

	checkPromises(t, script.String(), string(out))
}

// guideText returns the text of a guide.
func guideText(t *testing.T, name string) string {
	t.Helper()

	text, err := os.ReadFile("../../docs/guides/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// guideBlocks returns the blocks of a guide that are for a shell.
func guideBlocks(t *testing.T, name string) []string {
	t.Helper()

	var blocks []string

	for i, block := range strings.Split(guideText(t, name), "```") {
		switch language, content, _ := strings.Cut(block, "\n"); {
		case i%2 == 0:
		case language == "sh":
			blocks = append(blocks, content)
		case language == "":
			t.Errorf("a block of the guide %s has no language: sh is pasted, text is not", name)
		}
	}

	return blocks
}

// runBeside runs a block until the test ends, and returns once it has printed what it begins with.
func runBeside(t *testing.T, block string, env []string, begins string) {
	t.Helper()

	p := &process{t: t, log: &buffer{}, done: make(chan struct{})}
	p.cmd = exec.CommandContext(context.Background(), "bash", "-c", "exec "+block)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, p.log, p.log

	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}

	go func() { _ = p.cmd.Wait(); close(p.done) }()

	t.Cleanup(func() { p.signal(syscall.SIGTERM); p.wait(patience) })
	eventually(t, "running: "+block, func() bool { return strings.Contains(p.log.String(), begins) })
}

// checkPromises looks for each line that a guide says is printed (a comment that begins with "# => ", in which … is any
// text) among the lines that were printed, in their order.
func checkPromises(t *testing.T, script, out string) {
	t.Helper()

	rest := strings.Split(out, "\n")

	for line := range strings.Lines(script) {
		promise, is := strings.CutPrefix(strings.TrimSpace(line), "# => ")
		if !is {
			continue
		}

		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(promise), "…", ".*") + "$")

		at := slices.IndexFunc(rest, pattern.MatchString)
		if at < 0 {
			t.Errorf("the guide says that %q is printed, and there is only\n%s", promise, strings.Join(rest, "\n"))
			return
		}

		rest = rest[at+1:]
	}
}
