package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

type demoFile struct {
	BaseURL      string `json:"baseUrl"`
	Today        string `json:"today"`
	Partner      keyed  `json:"partner"`
	Team         keyed  `json:"team"`
	SecondTeam   keyed  `json:"secondTeam"`
	MultiTeamKey string `json:"multiTeamKey"`
	User         struct {
		UserID      string `json:"userId"`
		AccessToken string `json:"accessToken"`
	} `json:"user"`
	Owner struct {
		ContactID   string `json:"contactId"`
		AccessToken string `json:"accessToken"`
	} `json:"owner"`
}

type keyed struct {
	TeamID      string `json:"teamId"`
	APIKey      string `json:"apiKey"`
	ReadOnlyKey string `json:"readOnlyKey"`
}

// TestDemo starts the demo with its own PostgreSQL, kills it with -9, and finds everything again.
//
// Proves: AUTH-01, AUTH-02, AUTH-06, AUTH-07, AUTH-10, AUTH-25, VER-02, VER-03, VER-06, ERR-87, ERR-88, OPEN-75.
func TestDemo(t *testing.T) {
	t.Parallel()
	// Not t.TempDir: PostgreSQL's own account must be able to pass through to its files.
	data, err := os.MkdirTemp("", "stayledger-demo") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(data) })

	if err := os.Chmod(data, 0o711); err != nil { // PostgreSQL's account passes through
		t.Fatal(err)
	}

	args := []string{"demo", "--months", "3", "--listings", "3", "--seed", "5", "--today", "2026-06-15"}
	p := start(t, "", data, args...)
	d := readDemo(t, data)
	c := &client{t: t, base: p.base, key: d.Team.APIKey}

	before := c.get("/reports/trial-balance?startDate=2026-04&endDate=2026-06").want(200)
	if before.text("totals.ending") != "0" || before.text("totals.debit") == "0" {
		t.Errorf("demo trial balance: %s", before.body)
	}

	everyCredential(t, p.base, d)
	published(t, c)

	p.signal(syscall.SIGKILL)
	<-p.done

	// Earlier versions did not write the first day of the books.
	whole := demoText(t, data)
	begin := strings.Index(whole, `  "startsAt"`)

	if begin < 0 {
		t.Fatalf("demo.json is %s", whole)
	}

	line, rest, _ := strings.Cut(whole[begin:], "\n")
	if err := os.WriteFile(filepath.Join(data, "demo.json"), []byte(whole[:begin]+rest), 0o600); err != nil {
		t.Fatal(err)
	}

	again := start(t, "", data, args...)
	c.base = again.base

	if !strings.Contains(demoText(t, data), line) {
		t.Errorf("demo.json lacks %s", line)
	}

	after := c.get("/reports/trial-balance?startDate=2026-04&endDate=2026-06").want(200)
	if string(after.body) != string(before.body) {
		t.Errorf("the second start has other books:\n%s\n%s", before.body, after.body)
	}

	readme(t, data)
	lookAround(t, again.log.String())
	sandboxOfTheDemo(c, data)
	again.signal(syscall.SIGTERM)
	again.wait(40 * time.Second)

	if again.cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("an orderly stop exits with %d: %s", again.cmd.ProcessState.ExitCode(), again.log)
	}
}

// lookAround runs what the demo prints for its database, and lists the keys there.
func lookAround(t *testing.T, printed string) {
	t.Helper()

	_, line, found := strings.Cut(printed, "database    ")
	line, _, _ = strings.Cut(line, "\n")

	_, database, _ := strings.Cut(line, `psql "`)
	if !found || !strings.HasPrefix(database, "postgres://") {
		t.Fatalf("the demo does not say where its database is: %s", printed)
	}

	keys := command(t, strings.TrimSuffix(database, `"`), "key", "list")
	for _, want := range []string{"BUNDLES", "  Back office      admin\n", "  Reporting        reporting\n", "  backend  "} {
		if !strings.Contains(keys+"\n", want) {
			t.Errorf("the keys lack %q:\n%s", want, keys)
		}
	}

	if _, err := exec.LookPath("psql"); err != nil {
		t.Log("psql is not here; the line for the database was not tried")
		return
	}

	shell := exec.CommandContext(t.Context(), "sh", "-c", line+` -Atc "select name from team order by name"`)
	if out, err := shell.CombinedOutput(); err != nil || string(out) != "Alpine Retreats\nHarbour Partners\nSeaside Stays\n" {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
}

// sandboxOfTheDemo connects the demo's first team to a sandbox that finds the demo, as the guide says it: the stays are of
// the months of the demo's books.
func sandboxOfTheDemo(c *client, data string) {
	c.t.Helper()

	text, err := os.ReadFile("../../docs/guides/pms-protocol.md")
	if err != nil {
		c.t.Fatal(err)
	}

	_, script, found := strings.Cut(string(text), "```sh\nCONNECTION=")
	script, _, _ = strings.Cut(script, "```")

	if !found {
		c.t.Fatal("the guide does not connect the sandbox")
	}

	base := startSandbox(c.t, 3, 36, "--from=", "--data-dir", data)
	script = strings.NewReplacer("http://127.0.0.1:8085", base, "house-keys", sandboxKey).Replace("CONNECTION=" + script)

	shell := exec.CommandContext(c.t.Context(), "sh", "-euc", script+"echo $CONNECTION")

	shell.Env = append(os.Environ(), "STAYLEDGER_DATA_DIR="+data, withBinary())

	out, err := shell.CombinedOutput()
	if err != nil {
		c.t.Fatalf("the guide: %v\n%s", err, out)
	}

	lines := strings.Fields(string(out))
	months := map[string]int{}

	for _, s := range c.get("/reservations?limit=250&connectionIds=" + lines[len(lines)-1]).want(200).list("data") {
		checkIn, _ := s["checkIn"].(string)
		months[checkIn[:min(7, len(checkIn))]]++
	}

	if months["2026-04"]+months["2026-05"]+months["2026-06"] != 36 || months["2026-04"] == 0 || months["2026-06"] == 0 {
		c.t.Errorf("stays are of %v", months)
	}
}

// demoText returns the file that a demo writes.
func demoText(t *testing.T, data string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(data, "demo.json"))
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

func readDemo(t *testing.T, data string) *demoFile {
	t.Helper()

	var d demoFile
	if err := json.Unmarshal([]byte(demoText(t, data)), &d); err != nil {
		t.Fatal(err)
	}

	return &d
}

func everyCredential(t *testing.T, base string, d *demoFile) {
	t.Helper()

	read := func(key, path string) *answer { return (&client{t: t, base: base, key: key}).get(path) }
	if got := read(d.Team.APIKey, "/team").want(200).text("id"); got != d.Team.TeamID {
		t.Errorf("the team's key reads team %s", got)
	}

	read(d.Team.ReadOnlyKey, "/contacts").want(200)
	(&client{t: t, base: base, key: d.Team.ReadOnlyKey}).post("/contacts", map[string]any{"type": "vendor", "name": "X"}).want(403)

	if got := read(d.Partner.APIKey, "/teams").want(200).text("pagination.total"); got != "2" {
		t.Errorf("the partner manages %s teams, want 2", got)
	}

	read(d.Partner.APIKey, "/me").want(403)
	read(d.MultiTeamKey, "/transactions").want(400)
	read("sk_us_nonsense", "/team").want(401)
	read("", "/team").want(401)
}

// published reads what links.schema promises, the changelog and the reference.
func published(t *testing.T, c *client) {
	t.Helper()

	refused := c.get("/operations?foo=1").want(400)

	schema := refused.text("links.schema")
	if !strings.Contains(refused.text("issues.0.schema"), "#/paths/~1operations/get") {
		t.Errorf("the issue does not name the operation: %s", refused.body)
	}

	open := &client{t: t}
	if got := open.get(schema).want(200).text("openapi"); !strings.HasPrefix(got, "3.1") {
		t.Errorf("%s is OpenAPI %s", schema, got)
	}

	if schema != c.base+"/openapi.json" {
		t.Errorf("the schema is at %s", schema)
	}

	if got := open.get(c.base + "/openapi-3.0.json").want(200).text("openapi"); !strings.HasPrefix(got, "3.0") {
		t.Errorf("the description for older tools is OpenAPI %s", got)
	}

	if got := string(open.get(c.base + "/openapi.yaml").want(200).body); !strings.Contains(got, "openapi: 3.1") && !strings.Contains(got, `openapi: "3.1`) {
		t.Errorf("the description as YAML begins %.200s", got)
	}

	if again := c.get("/contacts?bar=2").want(400).text("links.schema"); again != schema {
		t.Errorf("the schema moved from %s to %s", schema, again)
	}

	if changes := string(open.get(c.base + "/changelog.md").want(200).body); !strings.Contains(changes, "\n## 2026-") {
		t.Errorf("the changelog has no dates: %s", changes)
	}

	open.get(c.base + "/docs").want(200)
	open.get(c.base + "/healthz").want(200)
	open.get(c.base + "/metrics").want(404)
}
