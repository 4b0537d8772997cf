package e2e_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/provider/pay"
	"stayledger/provider/sandbox"
)

const (
	sandboxKey     = "key-of-the-sandbox"
	callbackSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// till is a team that pays owners through the sandbox. The service has no workers of its own: those are processes that
// come and go.
type till struct {
	*client
	t          *testing.T
	database   string
	data       string
	service    *process
	front      *front
	sandbox    *sandbox.Server
	connection string
	unpaid     []owed
	began      time.Time

	mu   sync.Mutex
	seen func(sandbox.Event)
}

// owed is a published statement that no one has paid yet.
type owed struct {
	id    string
	cents string
}

var local = []string{"--local-providers", "--provider-timeout", "2s"}

// newTill makes the team, with a number of published statements to pay.
func newTill(t *testing.T, statements int) *till {
	t.Helper()
	return tillOn(t, emptyDatabase(t), t.TempDir(), statements)
}

// tillOn makes the team in an empty database.
func tillOn(t *testing.T, database, data string, statements int) *till {
	t.Helper()
	w := &till{t: t, database: database, data: data, began: time.Now()}
	w.service = start(t, w.database, w.data, append([]string{"serve", "--workers", "0"}, local...)...)
	team := command(t, w.database, "team", "create", "Seaside Stays", "--start", "2026-01-01")
	w.client = &client{t: t, base: w.service.base, key: command(t, w.database, "key", "issue", "--team", team)}
	second := &client{t: t, base: w.service.base, key: command(t, w.database, "key", "issue", "--team", team)}

	var err error

	w.sandbox, err = sandbox.New(sandbox.Config{APIKey: sandboxKey, SettleAfter: -1, CallbackEvery: 100 * time.Millisecond, Seen: w.see})
	if err != nil {
		t.Fatal(err)
	}

	w.front = &front{t: t, address: freeAddress(t), handler: w.sandbox}
	w.front.open()
	t.Cleanup(func() {
		w.sandbox.Close()
		w.front.close()
	})

	worker := w.work()
	w.completed(w.post("/team/init", map[string]any{"template": "standard"}))
	w.connect()
	w.earn(statements, second)
	worker.kill()

	return w
}

func (w *till) completed(a *answer) {
	w.t.Helper()

	if s := w.settled(a.want(202).text("operationId")); s.text("status") != "completed" {
		w.t.Fatalf("operation %s", s.body)
	}
}

func (w *till) connect() {
	w.t.Helper()
	w.completed(w.post("/connections", map[string]any{
		"appId": "payProvider", "name": "Sandbox", "settings": map[string]any{"baseUrl": "http://" + w.front.address},
		"credentials": map[string]any{"apiKey": sandboxKey, "callbackSecret": callbackSecret},
	}))
	w.connection = w.get("/connections").want(200).text("data.0.id")
	w.callBackTo(w.base)
}

// callBackTo gives the sandbox the address of the service.
func (w *till) callBackTo(base string) {
	address, secret := base+"/payment-callbacks/"+w.connection, callbackSecret
	w.sandbox.Set(sandbox.Settings{CallbackURL: &address, CallbackSecret: &secret})
}

// earn gives an owner listings with a stay each, and publishes the month. No two statements are of the same amount. The second
// caller frees the owner's bank account.
func (w *till) earn(statements int, second *client) {
	w.t.Helper()
	owner := w.post("/contacts", map[string]any{"type": "owner", "name": "Anna Albers", "email": "anna@example.com"}).want(201).text("id")
	w.completed(w.post("/contacts/"+owner+"/payment-methods/ach", map[string]any{
		"accountHolder": "Anna Albers", "routingNumber": "021000021", "accountNumber": "123456789", "accountType": "checking",
	}))

	methods := "/contacts/" + owner + "/payment-methods"
	second.post(methods+"/"+w.get(methods).want(200).text("data.0.id")+"/release", map[string]any{}).want(200)

	var received []any

	for i := range statements {
		listing := w.post("/listings", map[string]any{"name": fmt.Sprintf("House %03d", i), "initialOwnership": map[string]any{
			"members": []any{map[string]any{"contactId": owner, "split": 100000}},
		}}).want(201).text("id")
		stay := w.post("/reservations", map[string]any{
			"listingId": listing, "checkIn": "2026-01-05", "checkOut": "2026-01-06", "bookedAt": "2026-01-02",
			"lines": []any{map[string]any{"type": "rent", "amount": 10000 + i}},
		}).want(201).text("id")
		received = append(received, map[string]any{"assignment": "accountsReceivable", "amount": 10000 + i, "reservationId": stay})
	}

	w.post("/transactions", map[string]any{"type": "deposit", "date": "2026-01-05", "description": "Card payments", "lines": received}).want(201)
	w.post("/statements", map[string]any{"month": "2026-01", "status": "published"}).want(201)

	for page := 1; ; page++ {
		a := w.get(fmt.Sprintf("/statements?month=2026-01&limit=250&page=%d", page)).want(200)
		for i := range a.list("data") {
			at := fmt.Sprintf("data.%d.", i)
			w.unpaid = append(w.unpaid, owed{a.text(at + "id"), a.text(at + "payment.expected")})
		}

		if a.at("pagination.nextPage") == nil {
			break
		}
	}

	if len(w.unpaid) != statements {
		w.t.Fatalf("%d statements, want %d", len(w.unpaid), statements)
	}
}

// spawn starts a process and does not wait for it.
func (w *till) spawn(base string, args ...string) *process {
	w.t.Helper()
	p := &process{t: w.t, log: &buffer{}, base: base, done: make(chan struct{})}
	p.cmd = exec.CommandContext(context.Background(), binary, args...)

	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = w.service.cmd.Env, p.log, p.log

	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()

	w.t.Cleanup(func() { p.signal(syscall.SIGTERM); p.wait(40 * time.Second) })

	return p
}

// work starts a worker.
func (w *till) work() *process {
	w.t.Helper()
	return w.spawn("", append([]string{"work", "--workers", "4"}, local...)...)
}

// restart brings the service back at the address where it was.
func (w *till) restart() {
	w.t.Helper()
	w.service = w.spawn(w.service.base, w.service.cmd.Args[1:]...)
	w.service.untilReady()
}

// later does what time would: failed jobs are due again, and so is the work of every minute. The leases of workers
// end when all are dead.
func (w *till) later(dead bool) {
	w.t.Helper()

	ctx := w.t.Context()

	c, err := pgx.Connect(ctx, w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()

	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select set_config('stayledger.across_teams', 'on', true)`); err != nil {
			return err
		}

		_, err := tx.Exec(ctx, `
			update job set due_at = clock_timestamp() - interval '1 second' where id in (
				select id from job where worker_id is null or $1 for update skip locked)`, dead)
		if err != nil {
			return err
		}

		for _, sql := range []string{
			`update job_schedule set next_at = clock_timestamp() where name in (
				select name from job_schedule where name = 'payment-ask' for update skip locked)`,
			`update payment set ask_at = clock_timestamp() where id in (select id from payment where ask_at is not null for update skip locked)`,
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// see is called by the sandbox in the middle of a request.
func (w *till) see(e sandbox.Event) {
	w.mu.Lock()
	seen := w.seen
	w.mu.Unlock()

	if seen != nil {
		seen(e)
	}
}

func (w *till) onEvent(f func(sandbox.Event)) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.seen = f
}

// front is the provider's door: open, closed, or one that nothing answers behind.
type front struct {
	t       *testing.T
	address string
	handler http.Handler
	server  *http.Server
	hole    net.Listener
}

// listen waits for the address, which an outgoing connection of this machine can have got while the door was closed.
func (f *front) listen() (l net.Listener) {
	f.t.Helper()
	eventually(f.t, "the provider's address", func() (free bool) {
		var err error

		l, err = net.Listen("tcp", f.address)

		return err == nil
	})

	return l
}

func (f *front) open() {
	f.t.Helper()
	f.close()
	l := f.listen()

	f.server = &http.Server{Handler: f.handler, ReadHeaderTimeout: time.Minute}
	go func(s *http.Server) { _ = s.Serve(l) }(f.server)
}

// close cuts every connection.
func (f *front) close() {
	if f.server != nil {
		_ = f.server.Close()
		f.server = nil
	}

	if f.hole != nil {
		_ = f.hole.Close()
		f.hole = nil
	}
}

// swallow takes connections and never answers; it reports each.
func (f *front) swallow() <-chan struct{} {
	f.t.Helper()
	f.close()
	l := f.listen()
	f.hole = l
	taken := make(chan struct{}, 100)

	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}

			f.t.Cleanup(func() { _ = c.Close() })

			taken <- struct{}{}
		}
	}()

	return taken
}

// tally has the payments that the sandbox holds under a key.
func (w *till) tally(key string) []sandbox.Payment {
	return slices.DeleteFunc(w.sandbox.Payments(), func(p sandbox.Payment) bool { return p.Key != key })
}

// requests counts the orders that have reached the sandbox since an event.
func (w *till) requests(after int) int {
	n := 0

	ctx, stop := context.WithTimeout(w.t.Context(), 10*time.Millisecond)
	defer stop()

	for {
		e, err := w.sandbox.Await(ctx, sandbox.Received, after)
		if err != nil {
			return n
		}

		if e.On == sandbox.Submit {
			n++
		}

		after = e.Sequence
	}
}

// eventually waits until something holds.
func (w *till) eventually(what string, holds func() bool) {
	w.t.Helper()
	eventually(w.t, what, holds)
}

// table prints rows under a heading.
func table(t *testing.T, heading []string, rows [][]string) {
	t.Helper()

	wide := make([]int, len(heading))
	for _, row := range append([][]string{heading}, rows...) {
		for i, cell := range row {
			wide[i] = max(wide[i], len(cell))
		}
	}

	var out strings.Builder

	for _, row := range append([][]string{heading}, rows...) {
		for i, cell := range row {
			_, _ = fmt.Fprintf(&out, "%-*s  ", wide[i], cell)
		}

		_, _ = out.WriteString("\n")
	}

	t.Logf("\n%s", out.String())

	if path := os.Getenv("STAYLEDGER_CRASH_TABLE"); path != "" {
		if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// states counts payments by state.
func states(of map[string]pay.State) string {
	counts := map[string]int{}
	for _, s := range of {
		counts[string(s)]++
	}

	var out []string
	for s, n := range counts {
		out = append(out, fmt.Sprintf("%d %s", n, s))
	}

	slices.Sort(out)

	return strings.Join(out, ", ")
}
