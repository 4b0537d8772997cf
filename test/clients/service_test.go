package clients_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"stayledger/platform/dbtest"
)

// patience is how long the service may take to start.
const patience = 3 * time.Minute

// service is the built binary, serving an empty team.
type service struct {
	binary   string
	database string
	base     string
}

// serve builds the binary, and starts it with a database of its own.
func serve(t *testing.T) *service {
	t.Helper()

	s := &service{
		binary:   filepath.Join(t.TempDir(), "stayledger"),
		database: dbtest.URL(t, func(context.Context, string) error { return nil }, "empty"),
	}
	run(t, ".", exec.CommandContext(t.Context(), "go", "build", "-o", s.binary, "stayledger/cmd/stayledger"))

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	address := listener.Addr().String()
	s.base = "http://" + address
	_ = listener.Close()

	var log bytes.Buffer

	cmd := exec.CommandContext(context.Background(), s.binary, "serve", "--listen", address) // it ends by the signal below
	cmd.Stdout, cmd.Stderr = &log, &log

	cmd.Env = append(os.Environ(), "DATABASE_URL="+s.database, "STAYLEDGER_DATA_DIR="+t.TempDir(), "STAYLEDGER_DRAIN_TIME=0s",
		"STAYLEDGER_SECRET_KEYS=MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})

	// The loop ends when the service says that it is ready, however fast the machine is.
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if resp, err := http.Get(s.base + "/readyz"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return s
			}
		}

		if time.Now().After(deadline) {
			t.Fatalf("the service did not get ready: %s", &log)
		}
	}
}

// environment makes an empty team with two keys and returns what the tests of a client need.
func (s *service) environment(t *testing.T, name string) []string {
	t.Helper()

	team := s.command(t, "team", "create", name, "--start", "2025-01-01")

	return append(os.Environ(), "STAYLEDGER_URL="+s.base,
		"STAYLEDGER_KEY="+s.command(t, "key", "issue", "--team", team),
		"STAYLEDGER_READER_KEY="+s.command(t, "key", "issue", "--team", team, "--scope", "reservations:read"))
}

// command runs a command of the binary and returns what it prints.
func (s *service) command(t *testing.T, args ...string) string {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), s.binary, args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+s.database)

	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}

	return strings.TrimSpace(string(out))
}

// run runs a command in a folder and shows what it printed if it fails.
func run(t *testing.T, folder string, cmd *exec.Cmd) {
	t.Helper()

	cmd.Dir = folder

	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}
