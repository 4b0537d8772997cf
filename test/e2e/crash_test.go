package e2e_test

import (
	"fmt"
	"testing"
	"time"
)

// TestKilledWorker kills workers with -9 in the middle of an operation of many tasks: nothing is lost, nothing happens
// twice, and the operation ends on another worker.
//
// Proves: OPS-02, OPS-82, OPS-83, OPS-84, OPS-86, OPS-87.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	database, data := emptyDatabase(t), t.TempDir()
	p := start(t, database, data, "serve", "--workers", "0")
	team := command(t, database, "team", "create", "Seaside Stays", "--start", "2025-01-01")
	c := &client{t: t, base: p.base, key: command(t, database, "key", "issue", "--team", team)}

	const listings = 24

	ack := c.post("/team/generate-demo-data", map[string]any{"months": 6, "listings": listings, "seed": 7}).want(202)

	operation := ack.text("operationId")
	if got := c.get("/operations/" + operation).text("status"); got != "queued" {
		t.Fatalf("without a worker the operation is %s", got)
	}

	for range 2 {
		w := start(t, database, data, "work", "--workers", "2")
		c.untilListings(t, c.listings()+2)
		w.kill()

		if got := c.get("/operations/" + operation).text("status"); got != "running" {
			t.Errorf("after a kill the operation is %s, want running", got)
		}
	}

	p.signal(15)
	p.wait(30 * time.Second)
	p = start(t, database, data, "serve", "--workers", "2")
	c.base = p.base
	c.untilListings(t, c.listings()+1) // what the dead left is taken again within a minute

	done := c.settled(operation)
	if done.text("status") != "completed" {
		t.Fatalf("operation %s", done.body)
	}

	if got := c.listings(); got != listings {
		t.Errorf("%d listings, want %d", got, listings)
	}

	refs := map[string]bool{}

	for page := 1; ; page++ {
		a := c.get(fmt.Sprintf("/reservations?limit=250&page=%d", page)).want(200)
		for _, r := range a.list("data") {
			ref := fmt.Sprint(r["confirmationCode"])
			if refs[ref] {
				t.Errorf("reservation %s exists twice", ref)
			}

			refs[ref] = true
		}

		if a.at("pagination.nextPage") == nil {
			break
		}
	}

	a := c.get("/reports/trial-balance?startDate=2020-01-01&endDate=2030-01-01").want(200)
	if a.text("totals.ending") != "0" || a.text("totals.debit") == "0" {
		t.Errorf("trial balance after the kills: %s", a.body)
	}
}

func (c *client) listings() int {
	c.t.Helper()

	n := 0
	if _, err := fmt.Sscan(c.get("/listings?limit=1").want(200).text("pagination.total"), &n); err != nil {
		c.t.Fatal(err)
	}

	return n
}

func (c *client) untilListings(t *testing.T, n int) {
	t.Helper()

	deadline := time.Now().Add(patience)
	for c.listings() < n {
		if time.Now().After(deadline) {
			t.Fatalf("fewer than %d listings", n)
		}

		time.Sleep(20 * time.Millisecond)
	}
}
