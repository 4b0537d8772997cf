package e2e_test

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestStopInOrder stops a serving process: a held poll is answered at once with the state that is; readiness
// says 503 while requests are still served; then the process ends by itself.
func TestStopInOrder(t *testing.T) {
	t.Parallel()
	database, data := emptyDatabase(t), t.TempDir()
	p := start(t, database, data, "serve", "--workers", "0", "--drain-time", "6s", "--shutdown-grace", "20s")
	team := command(t, database, "team", "create", "Seaside Stays", "--start", "2025-01-01")
	c := &client{t: t, base: p.base, key: command(t, database, "key", "issue", "--team", team)}
	operation := c.post("/team/generate-demo-data", map[string]any{"months": 1, "listings": 1, "seed": 7}).want(202).text("operationId")

	polled := make(chan *answer, 1)
	go func() { polled <- c.get("/operations/" + operation + "?waitSeconds=20") }()

	untilListened(t, database, "stayledger_operation")
	p.signal(syscall.SIGTERM)

	select {
	case a := <-polled:
		if a.want(200).text("status") != "queued" {
			t.Errorf("the poll answered %s", a.body)
		}
	case <-p.done:
		t.Fatalf("stayledger ended before the poll was answered: %s", p.log)
	case <-time.After(15 * time.Second):
		t.Fatal("the poll is held until its time is over")
	}

	c.get("/readyz").want(http.StatusServiceUnavailable)
	c.get("/healthz").want(http.StatusOK)
	// A new poll is served and not held, and asks the client to connect anew the next time.
	if a := c.get("/operations/" + operation + "?waitSeconds=20").want(200); a.text("status") != "queued" || !a.closes {
		t.Errorf("while stopping: %v %s", a.header, a.body)
	}

	select {
	case <-p.done:
		if state := p.cmd.ProcessState; !state.Success() {
			t.Errorf("ended with %s: %s", state, p.log)
		}
	case <-time.After(patience):
		t.Fatalf("stayledger does not end: %s", p.log)
	}

	if conn, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://")); err == nil {
		_ = conn.Close()

		t.Error("somebody still listens")
	}
}

// untilListened waits until a connection listens on a channel.
func untilListened(t *testing.T, database, channel string) {
	t.Helper()

	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()

	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var n int

		err := conn.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and query = $1`, `listen "`+channel+`"`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}

		if n > 0 {
			return
		}
	}

	t.Fatalf("nobody listens on %s", channel)
}
