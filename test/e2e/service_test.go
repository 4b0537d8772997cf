// Package e2e_test drives the built binary over HTTP, as a newcomer would.
package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stayledger/platform/dbtest"
	"stayledger/platform/s3test"
)

var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "stayledger-e2e")
	if err != nil {
		panic(err)
	}

	binary = filepath.Join(dir, "stayledger")
	build := exec.Command("go", "build", "-o", binary, "stayledger/cmd/stayledger")

	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		panic(err)
	}

	code := m.Run()

	s3test.Stop()

	_ = os.RemoveAll(dir)

	os.Exit(code)
}

// withBinary returns the variable PATH with the folder of the binary, for shells that call it by its name.
func withBinary() string {
	return "PATH=" + filepath.Dir(binary) + string(os.PathListSeparator) + os.Getenv("PATH")
}

// secretKey is a test key.
const secretKey = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// emptyDatabase is a database without a schema: the binary brings it.
func emptyDatabase(t *testing.T) string {
	t.Helper()
	return dbtest.URL(t, func(context.Context, string) error { return nil }, "empty")
}

// process is a running stayledger.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	log  *buffer
	base string
	done chan struct{}
}

// start runs the binary and waits until it serves (or, without an address, until it says that it works).
func start(t *testing.T, database, data string, args ...string) *process {
	t.Helper()

	p := launch(t, database, data, args...)
	p.untilReady()

	return p
}

// launch runs the binary and returns at once.
func launch(t *testing.T, database, data string, args ...string) *process {
	t.Helper()
	p := &process{t: t, log: &buffer{}, done: make(chan struct{})}

	// A deployment that others know the address of says it itself.
	if at := slices.Index(args, "--listen"); at > 0 {
		p.base = "http://" + args[at+1]
	} else if args[0] != "work" {
		address := freeAddress(t)
		args, p.base = append(args, "--listen", address), "http://"+address
	}

	p.cmd = exec.CommandContext(context.Background(), binary, args...)

	p.cmd.Env = append(os.Environ(), "STAYLEDGER_SECRET_KEYS="+secretKey, "STAYLEDGER_DATA_DIR="+data, "STAYLEDGER_DRAIN_TIME=0s")
	if database != "" {
		p.cmd.Env = append(p.cmd.Env, "DATABASE_URL="+database)
	}

	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log

	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()

	t.Cleanup(func() { p.signal(syscall.SIGTERM); p.wait(40 * time.Second); p.checkTasks() })

	return p
}

// checkTasks fails the test if the statement of a periodic task was wrong: such a task does nothing, and only the log
// says so.
func (p *process) checkTasks() {
	p.t.Helper()

	for line := range strings.Lines(p.log.String()) {
		if strings.Contains(line, "periodic task") && strings.Contains(line, "SQLSTATE 42") {
			p.t.Errorf("a periodic task failed: %s", line)
		}
	}
}

func (p *process) untilReady() {
	p.t.Helper()

	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		select {
		case <-p.done:
			p.t.Fatalf("stayledger ended: %s", p.log)
		default:
		}

		if p.base == "" && strings.Contains(p.log.String(), `"working"`) {
			return
		}

		if p.base != "" {
			if resp, err := http.Get(p.base + "/readyz"); err == nil {
				_ = resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					return
				}
			}
		}

		time.Sleep(50 * time.Millisecond)
	}

	p.t.Fatalf("stayledger did not get ready: %s", p.log)
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) wait(limit time.Duration) {
	select {
	case <-p.done:
	case <-time.After(limit):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// kill is kill -9.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

func freeAddress(t *testing.T) string {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	defer func() { _ = l.Close() }()

	return l.Addr().String()
}

// buffer is a bytes.Buffer that two goroutines may use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.b.String()
}

// command runs a one-shot command and gives its trimmed output.
func command(t *testing.T, database string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)

	cmd.Env = append(os.Environ(), "DATABASE_URL="+database)

	var stderr bytes.Buffer

	cmd.Stderr = &stderr

	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, &stderr)
	}

	return strings.TrimSpace(string(out))
}

// patience is how long tests wait for what has no limit of its own. A machine that is busy is slow, and that is no fault.
const patience = 3 * time.Minute

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()

	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not %s within %s", what, patience)
		}
	}
}

// client calls one service with one key, or with the bearer token of a person.
type client struct {
	t    *testing.T
	base string
	key  string
	// bearer says that the key is a bearer token whatever it begins with.
	bearer bool
	// team is the team that is selected; empty leaves it to the service.
	team string
	// region is the data region of a slice; empty for none.
	region string
}

type answer struct {
	t      *testing.T
	call   string
	status int
	header http.Header
	closes bool // the connection closes after it
	body   []byte
}

func (c *client) call(method, path string, body any) *answer {
	c.t.Helper()

	var reader io.Reader

	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}

		reader = bytes.NewReader(encoded)
	}

	if !strings.HasPrefix(path, "http") {
		path = c.base + path
	}

	req, err := http.NewRequestWithContext(c.t.Context(), method, path, reader)
	if err != nil {
		c.t.Fatal(err)
	}

	req.Header.Set("Content-Type", "application/json")

	switch {
	case strings.HasPrefix(c.key, "ut_"), c.bearer:
		req.Header.Set("Authorization", "Bearer "+c.key)
	case c.key != "":
		req.Header.Set("x-api-key", c.key)
	}

	if c.team != "" {
		req.Header.Set("X-Team-Id", c.team)
	}

	if c.region != "" {
		req.Header.Set("X-Data-Region", c.region)
	}

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}

	defer func() { _ = resp.Body.Close() }()

	content, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}

	return &answer{t: c.t, call: method + " " + path, status: resp.StatusCode, header: resp.Header, closes: resp.Close, body: content}
}

func (c *client) get(path string) *answer { c.t.Helper(); return c.call(http.MethodGet, path, nil) }
func (c *client) post(path string, body any) *answer {
	c.t.Helper()
	return c.call(http.MethodPost, path, body)
}

func (c *client) put(path string, body any) *answer {
	c.t.Helper()
	return c.call(http.MethodPut, path, body)
}

func (a *answer) want(status int) *answer {
	a.t.Helper()

	if a.status != status {
		a.t.Fatalf("%s: %d, want %d: %s", a.call, a.status, status, a.body)
	}

	return a
}

// at finds the value at a path such as "data.0.id".
func (a *answer) at(path string) any {
	a.t.Helper()

	var v any

	d := json.NewDecoder(bytes.NewReader(a.body))
	d.UseNumber()

	if err := d.Decode(&v); err != nil {
		a.t.Fatalf("%s: %v: %s", a.call, err, a.body)
	}

	for part := range strings.SplitSeq(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			next, ok := node[part]
			if !ok {
				a.t.Fatalf("%s: nothing at %s: %s", a.call, path, a.body)
			}

			v = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(node) {
				a.t.Fatalf("%s: nothing at %s: %s", a.call, path, a.body)
			}

			v = node[i]
		default:
			a.t.Fatalf("%s: nothing at %s: %s", a.call, path, a.body)
		}
	}

	return v
}

func (a *answer) text(path string) string { a.t.Helper(); return fmt.Sprint(a.at(path)) }

func (a *answer) list(path string) []map[string]any {
	a.t.Helper()
	items, _ := a.at(path).([]any)

	out := make([]map[string]any, len(items))
	for i := range items {
		out[i], _ = items[i].(map[string]any)
	}

	return out
}

// settled polls an operation until it has ended.
func (c *client) settled(operation string) *answer {
	c.t.Helper()

	deadline := time.Now().Add(5 * time.Minute)
	for time.Now().Before(deadline) {
		a := c.get("/operations/" + operation + "?waitSeconds=5").want(200)
		if s := a.text("status"); s == "completed" || s == "failed" {
			return a
		}
	}

	c.t.Fatalf("operation %s did not settle", operation)

	return nil
}
