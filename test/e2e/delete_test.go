package e2e_test

import (
	"testing"
	"time"
)

// A team is deleted while its workers are killed. Afterwards its requests are answered with 410, and whoever has asked for
// the deletion and the team's partner can read how it went. Another team of the partner stays as it is.
//
// Proves: INIT-01, ERR-39, ERR-92, OPEN-81.
func TestADeletedTeamIsGone(t *testing.T) {
	t.Parallel()
	database, data := emptyDatabase(t), t.TempDir()
	p := start(t, database, data, "serve", "--workers", "2")

	partner := command(t, database, "team", "create", "Partners", "--partner")
	team := command(t, database, "team", "create", "Seaside Stays", "--start", "2026-01-01", "--under", partner)
	other := command(t, database, "team", "create", "Hill Homes", "--start", "2026-01-01", "--under", partner)

	issue := func(of string, more ...string) *client {
		args := append([]string{"key", "issue", "--team", of}, more...)
		return &client{t: t, base: p.base, key: command(t, database, args...)}
	}

	asking, second, beside, manages := issue(team), issue(team), issue(other), issue(partner, "--partner")
	manages.team = team

	for _, c := range []*client{asking, beside} {
		c.settled(c.post("/team/generate-demo-data", map[string]any{"months": 3, "listings": 6, "seed": 7}).want(202).text("operationId"))
	}

	before := beside.get("/reports/trial-balance?startDate=2026-01-01&endDate=2026-12-31").want(200).body

	// Another name deletes nothing.
	asking.call("DELETE", "/team", map[string]any{"confirmName": "Seaside"}).want(400)
	asking.put("/team", map[string]any{"phone": "+1 305 555 0100"}).want(200)

	// Without a worker the team waits, frozen.
	p.signal(15)
	p.wait(30 * time.Second)
	p = start(t, database, data, "serve", "--workers", "0")

	for _, c := range []*client{asking, second, beside, manages} {
		c.base = p.base
	}

	operation := asking.call("DELETE", "/team", map[string]any{"confirmName": "Seaside Stays"}).want(202).text("operationId")
	if got := asking.put("/team", map[string]any{"phone": "1"}).want(423).text("code"); got != "TEAM_DELETION_FROZEN" {
		t.Errorf("a write in a team that is deleted: %s", got)
	}

	if got := asking.call("DELETE", "/team", map[string]any{"confirmName": "Seaside Stays"}).want(423).text("code"); got != "TEAM_DELETION_FROZEN" {
		t.Errorf("a second deletion: %s", got)
	}

	for range 3 {
		w := start(t, database, data, "work", "--workers", "2")

		time.Sleep(50 * time.Millisecond) // the moment of the kill is the chance that is tried; the end is waited for
		w.kill()
	}

	start(t, database, data, "work", "--workers", "2")

	if got := asking.settled(operation); got.text("status") != "completed" || got.text("type") != "team-delete" {
		t.Fatalf("operation: %s", got.body)
	}

	// Credentials are remembered for moments, until the notification of the change has arrived.
	eventually(t, "the end of the team's credentials", func() bool {
		return asking.get("/team").status == 410 && manages.get("/team").status == 410 && second.get("/team").status == 401
	})

	for name, c := range map[string]*client{"the key that asked": asking, "the partner": manages} {
		if got := c.get("/team").want(410).text("code"); got != "TEAM_DELETED" {
			t.Errorf("%s: %s", name, got)
		}

		c.get("/reservations").want(410)

		if got := c.get("/operations/" + operation).want(200).text("status"); got != "completed" {
			t.Errorf("%s reads that the deletion is %s", name, got)
		}
	}

	second.get("/team").want(401)

	if after := beside.get("/reports/trial-balance?startDate=2026-01-01&endDate=2026-12-31").want(200).body; string(after) != string(before) {
		t.Errorf("the other team has %s, and had %s", after, before)
	}
}
