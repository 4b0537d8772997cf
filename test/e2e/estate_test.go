package e2e_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// downloaded returns the file that an operation has made.
func (c *client) downloaded(operation *answer) []byte {
	c.t.Helper()

	done := c.settled(operation.want(202).text("operationId"))
	if done.text("status") != "completed" {
		c.t.Fatalf("operation: %s", done.body)
	}

	for _, r := range done.list("resources") {
		if r["role"] == "result" {
			return c.get(fmt.Sprintf("/files/%v/download", r["id"])).want(200).body
		}
	}

	c.t.Fatalf("no file: %s", done.body)

	return nil
}

// in returns the client with another team selected.
func (c *client) in(team string) *client {
	out := *c
	out.team = team

	return &out
}

// figures are what a team's books say, without ids of the team.
func (c *client) figures() []byte {
	c.t.Helper()

	var out bytes.Buffer
	for _, path := range []string{
		"/reports/trial-balance?startDate=2025-01-01&endDate=2027-12-31", "/reports/trust-reconciliation", "/statements?limit=250&sort=startAt", "/accounts?limit=250",
		"/reservations?limit=250", "/transactions?limit=250", "/bank-records?limit=250",
	} {
		out.Write(c.get(path).want(200).body)
	}

	return out.Bytes()
}

// A partner with 300 teams: it makes them, looks at all of them, makes a new one like the best, takes the books of one along as a
// file, deletes it under load while its worker is killed, and has it back with every figure.
//
// Proves: INIT-01, INIT-02, AUTH-05, AUTH-10, ERR-92.
func TestAPartnerWithThreeHundredTeams(t *testing.T) {
	t.Parallel()
	database, data := emptyDatabase(t), t.TempDir()
	p := start(t, database, data, "serve", "--workers", "0")
	w := start(t, database, data, "work", "--workers", "2")

	partner := command(t, database, "team", "create", "Partners", "--partner")
	c := &client{t: t, base: p.base, key: command(t, database, "key", "issue", "--team", partner, "--partner")}

	// The first customer gets a chart and sample books, the others wait.
	first := c.post("/teams", map[string]any{"name": "Seaside Stays", "statementStartAt": "2026-01-01", "init": map[string]any{}}).want(201).text("id")
	for i := 2; i <= 300; i++ {
		c.post("/teams", map[string]any{"name": fmt.Sprintf("Customer %03d", i)}).want(201)
	}

	seaside := c.in(first)
	seaside.settled(seaside.post("/team/generate-demo-data", map[string]any{"months": 3, "listings": 6, "seed": 7}).want(202).text("operationId"))

	seen := map[string]bool{}

	for page := 1; page <= 4; page++ {
		for _, row := range c.get(fmt.Sprintf("/partner/overview?limit=100&page=%d", page)).want(200).list("data") {
			seen[fmt.Sprint(row["id"])] = true
			// The figure of the overview is that of the team's own reconciliation.
			if trust, _ := row["trustBank"].([]any); row["id"] == first {
				if want := seaside.get("/reports/trust-reconciliation").want(200).text("book.centTotal"); len(trust) != 1 || fmt.Sprint(trust[0].(map[string]any)["centTotal"]) != want {
					t.Errorf("the overview has %v, the reconciliation %s", row["trustBank"], want)
				}
			}
		}
	}

	if len(seen) != 300 {
		t.Errorf("the overview has %d teams", len(seen))
	}

	// A duplicate has the listings, owners and fees, and no books.
	done := c.in(first).settled(seaside.post("/team/duplicate", map[string]any{"name": "Lakeside Stays"}).want(202).text("operationId"))
	twin := ""

	for _, r := range done.list("resources") {
		if r["role"] == "result" {
			twin = fmt.Sprint(r["id"])
		}
	}

	for path, want := range map[string]string{"/listings": seaside.get("/listings").text("pagination.total"), "/recurring-fees": seaside.get("/recurring-fees").text("pagination.total"), "/reservations": "0", "/transactions": "0"} {
		// Credentials are remembered for moments.
		eventually(t, "the way into the new team", func() bool { return c.in(twin).get(path).status == 200 })

		if got := c.in(twin).get(path).want(200).text("pagination.total"); got != want {
			t.Errorf("the duplicate has %s of %s, not %s", got, path, want)
		}
	}

	// The books leave as a file that others can read.
	before := seaside.figures()
	file := filepath.Join(t.TempDir(), "team.zip")

	if err := os.WriteFile(file, seaside.downloaded(seaside.post("/team/export", nil)), 0o600); err != nil {
		t.Fatal(err)
	}

	journal := filepath.Join(t.TempDir(), "journal.hledger")
	if err := os.WriteFile(journal, unzipped(t, file, "journal.hledger"), 0o600); err != nil {
		t.Fatal(err)
	}

	if out, err := exec.CommandContext(t.Context(), "hledger", "-f", journal, "check", "balanced", "ordereddates").CombinedOutput(); err != nil {
		t.Errorf("hledger: %v: %s", err, out)
	}

	// The team goes while others write in it and its worker is killed again and again.
	started := deleteUnderLoad(t, seaside, first)

	for range 5 {
		time.Sleep(20 * time.Millisecond) // the moment of the kill is the chance that is tried; the end is waited for
		w.kill()

		w = start(t, database, data, "work", "--workers", "2")
	}

	if got := seaside.settled(started); got.text("status") != "completed" {
		t.Fatalf("deletion: %s", got.body)
	}

	eventually(t, "the end of the team", func() bool { return seaside.get("/team").status == 410 })
	c.in(twin).get("/listings").want(200)

	// It comes back under another name, and every figure is what it was.
	back := restored(t, database, data, file, partner)
	eventually(t, "the way into the restored team", func() bool { return c.in(back).get("/team").status == 200 })

	if after := c.in(back).figures(); !bytes.Equal(bytes.ReplaceAll(after, []byte(back), []byte(first)), before) {
		t.Errorf("the restored team has other figures:\n%.3000s\n%.3000s", before, after)
	}

	if got := c.in(back).get("/team").want(200).text("name"); got != "Seaside again" {
		t.Errorf("restored as %s", got)
	}
}

// unzipped returns the content of an entry of a ZIP.
func unzipped(t *testing.T, path, entry string) []byte {
	t.Helper()

	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}

	defer func() { _ = z.Close() }()

	f, err := z.Open(entry)
	if err != nil {
		t.Fatal(err)
	}

	content, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}

	return content
}

// deleteUnderLoad starts the deletion of a team while eight callers write in it, and returns its operation. Afterwards their
// writes are refused, each with 423 or, at the end, 410.
func deleteUnderLoad(t *testing.T, c *client, team string) string {
	t.Helper()

	var (
		callers sync.WaitGroup
		mu      sync.Mutex
		odd     []int
	)

	stop := make(chan struct{})

	for i := range 8 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}

				status := written(c, team, i)

				mu.Lock()
				if !slices.Contains([]int{200, 201, 423, 410, 503}, status) {
					odd = append(odd, status)
				}
				mu.Unlock()
			}
		})
	}

	started := c.call("DELETE", "/team", map[string]any{"confirmName": "Seaside Stays"}).want(202).text("operationId")

	time.AfterFunc(2*time.Second, func() { close(stop) })
	t.Cleanup(func() {
		callers.Wait()

		if len(odd) > 0 {
			t.Errorf("writes while the team goes: %v", odd)
		}
	})

	return started
}

// written changes a contact of the team, outside of the test's own goroutine, and returns the status.
func written(c *client, team string, i int) int {
	body := fmt.Sprintf(`{"type":"vendor","name":"Load %d"}`, i)

	r, err := http.NewRequest(http.MethodPost, c.base+"/contacts", bytes.NewReader([]byte(body)))
	if err != nil {
		return 0
	}

	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", c.key)
	r.Header.Set("X-Team-Id", team)

	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}

	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()

	return resp.StatusCode
}

// restored makes a team of an archive by the command line and returns its id.
func restored(t *testing.T, database, data, file, partner string) string {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), binary, "team", "restore", file, "--name", "Seaside again", "--under", partner)

	cmd.Env = append(os.Environ(), "DATABASE_URL="+database, "STAYLEDGER_SECRET_KEYS="+secretKey, "STAYLEDGER_DATA_DIR="+data)

	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("restore: %v: %s", err, out)
	}

	return string(bytes.TrimSpace(out))
}
