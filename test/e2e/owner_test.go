package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestOwnerAccess goes the way of an owner: a statement is published and sent, the message lies in the folder, its link
// opens the page, and what the page does opens the statement.
func TestOwnerAccess(t *testing.T) {
	t.Parallel()
	database, data := emptyDatabase(t), t.TempDir()
	p := start(t, database, data, "serve")
	team := command(t, database, "team", "create", "Seaside Stays", "--start", "2026-01-01")

	c := &client{t: t, base: p.base, key: command(t, database, "key", "issue", "--team", team)}
	if got := c.settled(c.post("/team/init", map[string]any{"template": "standard"}).want(202).text("operationId")).text("status"); got != "completed" {
		t.Fatalf("team initialization %s", got)
	}

	if log := p.log.String(); !strings.Contains(log, filepath.Join(data, "mail")) {
		t.Errorf("the start does not say where mail goes: %s", log)
	}

	owner := c.post("/contacts", map[string]any{"type": "owner", "name": "Anna Albers", "email": "anna@example.com"}).want(201).text("id")
	c.post("/listings", map[string]any{"name": "Beach House", "initialOwnership": map[string]any{
		"members": []any{map[string]any{"contactId": owner, "split": 100000}},
	}}).want(201)
	statement, _ := c.post("/statements", map[string]any{"month": "2026-01", "status": "published"}).want(201).list("data")[0]["id"].(string)
	c.post("/statements/"+statement+"/emails", map[string]any{}).want(202)

	url := regexp.MustCompile(`/owner#(\S+)`).FindStringSubmatch(message(t, filepath.Join(data, "mail")))
	if url == nil {
		t.Fatal("the message has no link")
	}

	page, err := http.Get(p.base + "/owner")
	if err != nil {
		t.Fatal(err)
	}

	_ = page.Body.Close()

	policy := page.Header.Get("Content-Security-Policy")
	if page.StatusCode != 200 || !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || page.Header.Get("Referrer-Policy") != "no-referrer" ||
		page.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the page came with %d %v", page.StatusCode, page.Header)
	}

	anybody := &client{t: t, base: p.base}

	session := anybody.post("/owner-statement-links/exchange", map[string]any{"token": url[1]}).want(200)
	if session.text("statementId") != statement || session.text("teamName") != "Seaside Stays" {
		t.Errorf("the session is %s", session.body)
	}

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.base+"/statements/"+statement, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}

	r.Header.Set("Authorization", "Bearer "+session.text("accessToken"))

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}

	_ = answer.Body.Close()
	if answer.StatusCode != 200 {
		t.Errorf("the statement answered %d", answer.StatusCode)
	}

	if log := p.log.String(); strings.Contains(log, url[1]) || strings.Contains(log, session.text("accessToken")) {
		t.Error("a secret is in the log")
	}
}

// message waits for the one message in a folder and gives its text, with the soft line ends of its encoding taken out.
func message(t *testing.T, folder string) string {
	t.Helper()

	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		found, err := filepath.Glob(filepath.Join(folder, "*.eml"))
		if err != nil {
			t.Fatal(err)
		}

		if len(found) == 1 {
			content, err := os.ReadFile(found[0])
			if err != nil {
				t.Fatal(err)
			}

			return strings.ReplaceAll(strings.ReplaceAll(string(content), "=\r\n", ""), "\r\n", "\n")
		}
	}

	t.Fatal("no message")

	return ""
}
