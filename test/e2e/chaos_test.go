package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/pgserver"
	"stayledger/provider/pay"
	"stayledger/provider/sandbox"
)

// TestChaos keeps books, pays owners and exports while processes are killed, the database crashes, the provider is away
// and the disk is full. When all of that is over nothing may be lost, doubled or left unsettled. CHAOS is how long it
// goes on (make chaos: ten minutes); CHAOS_SEED repeats the order of the faults.
//
// Proves: OPS-86, OPS-87.
//
//nolint:paralleltest // It needs the machine for itself.
func TestChaos(t *testing.T) {
	if os.Getenv("CHAOS") == "" {
		t.Skip("it takes minutes: make chaos")
	}

	lasts, err := time.ParseDuration(os.Getenv("CHAOS"))
	if err != nil {
		t.Fatal(err)
	}

	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}

	t.Logf("CHAOS_SEED=%d", seed)
	s := newStorm(t, lasts, rand.New(rand.NewPCG(1, seed)))
	s.rage(lasts)
	s.calm()
	s.check()
}

// storm is a till with surroundings that fail: its own PostgreSQL, its own small disk, its own provider.
type storm struct {
	*till
	dice    *rand.Rand
	server  *pgserver.Server
	disk    string // a file system of its own for stored files; empty where none can be mounted
	workers []*process
	faults  map[string]int
	users   *users
	paid    []owed
	earned  int64 // what the statements to be paid are worth together
}

// paymentsPerMinute is how many statements are paid in a minute of the storm.
const paymentsPerMinute = 24

func newStorm(t *testing.T, lasts time.Duration, dice *rand.Rand) *storm {
	t.Helper()

	parent, err := os.MkdirTemp("", "chaos") //nolint:usetesting // the account of root's PostgreSQL cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(parent) })

	if err := os.Chmod(parent, 0o711); err != nil {
		t.Fatal(err)
	}

	server, err := pgserver.Start(t.Context(), pgserver.Options{Dir: filepath.Join(parent, "postgres"), Durable: true})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = server.Stop(t.Context()) })

	s := &storm{dice: dice, server: server, faults: map[string]int{}}
	data := filepath.Join(parent, "data")
	s.mount(t, filepath.Join(data, "files"))
	s.till = tillOn(t, server.URL(pgserver.Role, pgserver.Role), data, max(6, int(lasts.Minutes()*paymentsPerMinute)))
	s.earned = earnedBy(t, s.unpaid)
	s.settleSoon()
	s.workers = []*process{s.work(), s.work()}
	s.users = newUsers(s.client)

	return s
}

// settleSoon has the provider pay what it takes from then on.
func (s *storm) settleSoon() {
	soon := int64(500)
	s.sandbox.Set(sandbox.Settings{SettleAfterMS: &soon})
}

// mount gives stored files a disk of 2 GiB that can be filled without harm to anybody else.
func (s *storm) mount(t *testing.T, folder string) {
	t.Helper()

	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}

	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=2g", "tmpfs", folder).CombinedOutput(); err != nil {
		t.Logf("no disk of its own, so none is filled: %s", out)
		return
	}

	s.disk = folder

	t.Cleanup(func() { _ = exec.Command("umount", "-l", folder).Run() })
}

// rage lets things fail, one after the other and sometimes two at a time, while people work.
func (s *storm) rage(lasts time.Duration) {
	s.t.Helper()

	stop := make(chan struct{})

	var working sync.WaitGroup
	s.users.start(&working, stop, s.payer())

	end := time.Now().Add(lasts)
	for time.Now().Before(end) {
		time.Sleep(time.Duration(500+s.dice.IntN(2500)) * time.Millisecond)
		f := s.fault()
		s.faults[f.name]++
		f.strike()
	}

	s.front.open()
	s.empty()
	close(stop)
	working.Wait()
}

// trouble is something that goes wrong, and what it takes until it is over.
type trouble struct {
	name   string
	strike func()
}

func (s *storm) fault() trouble {
	all := []trouble{
		{"worker killed", func() { s.replace(syscall.SIGKILL) }},
		{"worker killed", func() { s.replace(syscall.SIGKILL) }},
		{"worker stopped in order", func() { s.replace(syscall.SIGTERM) }},
		{"service killed", func() { s.service.kill(); s.restart() }},
		{"service stopped in order", func() { s.service.signal(syscall.SIGTERM); s.service.wait(time.Minute); s.restart() }},
		{"database crashed", func() { s.crash(); s.revive() }},
		{"provider away for seconds", func() { s.away(time.Duration(1+s.dice.IntN(8)) * time.Second) }},
		{"provider away for half a minute", func() { s.away(30 * time.Second) }},
		{"provider takes calls and never answers", func() { s.front.swallow(); s.pause(5); s.front.open() }},
		{"provider cuts connections, recorded or not", func() {
			s.sandbox.Break(sandbox.Fault{Mode: sandbox.DropBefore, Times: 2})
			s.sandbox.Break(sandbox.Fault{Mode: sandbox.DropAfter, Times: 2})
		}},
		{"provider answers nonsense", func() { s.sandbox.Break(sandbox.Fault{Mode: sandbox.Garbage, Times: 2}) }},
		{"provider cannot be asked", func() { s.sandbox.Break(sandbox.Fault{Mode: sandbox.Unavailable, On: sandbox.Find, Times: 3}) }},
	}
	if s.disk != "" {
		all = append(all, trouble{"disk full", func() { s.fill(); s.pause(20); s.empty() }}, trouble{"disk full, worker killed", func() { s.fill(); s.pause(3); s.replace(syscall.SIGKILL); s.empty() }})
	}

	return all[s.dice.IntN(len(all))]
}

func (s *storm) pause(seconds int) { time.Sleep(time.Duration(1+s.dice.IntN(seconds)) * time.Second) }

// replace ends a worker and starts another.
func (s *storm) replace(how syscall.Signal) {
	n := s.dice.IntN(len(s.workers))
	s.workers[n].signal(how)
	s.workers[n].wait(time.Minute)
	s.workers[n] = s.work()
}

// crash ends the database at once, without a checkpoint, as when the power fails; its supervisor starts it again, which
// recovers it. Killing the postmaster alone would leave its children with the shared memory, and nothing could start
// next to them.
func (s *storm) crash() { _ = syscall.Kill(s.server.Pid(), syscall.SIGQUIT) }

// revive brings back processes that ended because they started while the database was down.
func (s *storm) revive() {
	s.pause(3)

	for i, w := range s.workers {
		select {
		case <-w.done:
			s.workers[i] = s.work()
		default:
		}
	}

	select {
	case <-s.service.done:
		s.restart()
	default:
	}
}

func (s *storm) away(lasts time.Duration) {
	s.front.close()
	time.Sleep(lasts)
	s.front.open()
}

func (s *storm) filler() string { return filepath.Join(s.disk, "filler") }

// fill leaves no byte on the disk of stored files.
func (s *storm) fill() {
	f, err := os.Create(s.filler())
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()

	block := make([]byte, 1<<20)
	for err == nil {
		_, err = f.Write(block)
	}

	for err = nil; err == nil; {
		_, err = f.Write(block[:1])
	}
}

func (s *storm) empty() {
	if s.disk != "" {
		_ = os.Remove(s.filler())
	}
}

// calm waits until all work has ended, giving it time as time would.
func (s *storm) calm() {
	s.t.Helper()
	s.sandbox.Reset() // nothing goes wrong any more
	s.settleSoon()

	for _, p := range s.sandbox.Payments() {
		if p.State == pay.Submitted {
			s.sandbox.Settle(p.Key, pay.Paid, "")
		}
	}

	s.recovered()
	s.revive()

	began := time.Now()

	for {
		s.later(false)
		open := s.count(`select count(*) from operation where status in ('queued', 'running')`)
		unsettled := s.count(`select count(*) from payment where status not in ('paid', 'failed', 'canceled', 'returned')`)

		jobs := s.count(`select count(*) from job`)
		if open+unsettled+jobs == 0 {
			s.t.Logf("all settled %s after the last fault", time.Since(began).Round(time.Second))
			return
		}

		if time.Since(began) > 5*time.Minute {
			s.t.Errorf("five minutes after the last fault %d operations, %d payments and %d jobs are not settled", open, unsettled, jobs)
			return
		}

		time.Sleep(500 * time.Millisecond)
	}
}

// recovered waits until the database takes connections again: after its last crash it can be at its log for a while.
func (s *storm) recovered() {
	s.t.Helper()

	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		c, err := pgx.Connect(s.t.Context(), s.database)
		if err == nil {
			_ = c.Close(s.t.Context())
			return
		}

		if time.Now().After(deadline) {
			s.t.Fatalf("the database does not come back: %v", err)
		}
	}
}

// check holds the books against what was acknowledged and what the provider has.
func (s *storm) check() {
	s.t.Helper()

	heading, row := []string{}, []string{}
	for name, n := range s.faults {
		heading, row = append(heading, name), append(row, strconv.Itoa(n))
	}

	table(s.t, heading, [][]string{row})
	s.users.check(s)
	s.checkPayments()

	if n := s.count(`select count(*) from operation where status = 'failed'`); n > 0 {
		s.t.Errorf("%d operations failed", n)
	}

	fmt.Fprintln(os.Stderr, s.users.summary())
}
