package intake_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/domain/record/intake"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/seal"
	"stayledger/test/world"
)

// The environment of a worker: its database, its team and the listing of the stays.
const (
	workerDatabase = "INTAKE_WORKER_DATABASE"
	workerTeam     = "INTAKE_WORKER_TEAM"
	workerListing  = "INTAKE_WORKER_LISTING"
)

// kills is how many workers the kill test kills, and stays how many the source has then.
var (
	kills = func() int { n, _ := strconv.Atoi(os.Getenv("INTAKE_KILLS")); return cmp.Or(n, 8) }()
	stays = 20 * kills
)

// many gives a source the stays of the kill test, the same in each process.
func (l *liar) many() {
	l.pageSize = 10

	for i := range stays {
		l.set(fmt.Sprintf("K%04d", i), func(r *record) { r.checkIn = fmt.Sprintf("2026-02-%02d", 1+i%28) })
	}
}

// work runs the jobs of a team until the process is killed.
func work(url string) {
	ctx := context.Background()

	d, err := db.Open(ctx, db.Config{URL: url, MaxConnections: 8})
	if err != nil {
		panic(err)
	}

	box, err := seal.New(world.Keys)
	if err != nil {
		panic(err)
	}

	team, err := id.Parse(os.Getenv(workerTeam))
	if err != nil {
		panic(err)
	}

	source := newLiar()
	if source.listing, err = id.Parse(os.Getenv(workerListing)); err != nil {
		panic(err)
	}

	source.many()

	parts := app.Parts(app.External{
		Box:     box,
		Sources: func(context.Context, *db.DB, db.Scope, id.ID) (intake.Source, error) { return source, nil },
	}, app.Config{PublicURL: "http://127.0.0.1"})

	// The parent waits for this line.
	fmt.Println("works")
	job.NewWorker(job.Config{
		DB: d, Log: slog.New(slog.DiscardHandler), Workers: 2, Handlers: parts.Handlers, Poll: 5 * time.Millisecond, Only: team,
	}).Run(ctx, time.Second)
}

// Workers that are killed at any moment lose no record and take none in twice.
func TestKilledWorkersLoseNothing(t *testing.T) {
	t.Parallel()

	seed := uint64(time.Now().UnixNano())
	dice := rand.New(rand.NewPCG(seed, 2))

	t.Logf("seed %d", seed)

	url := apitest.Database(t)

	d, err := db.Open(t.Context(), db.Config{URL: url, MaxConnections: 8})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	s := newSceneIn(t, d)
	s.source.many()
	s.Tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := intake.Start(ctx, tx, intake.New{ConnectionID: s.connection, View: intake.Automate, Mode: intake.Full, Trigger: intake.Manual})
		return err
	})

	dead := 0

	for taken := s.taken(); dead < kills && taken < int64(stays); taken = s.taken() {
		s.killAWorker(url, taken, time.Duration(dice.IntN(60))*time.Millisecond)

		dead++

		// As after the time of a lease.
		s.Exec(`update job set worker_id = null, due_at = clock_timestamp() where team_id = @team`, db.Args{})
	}

	t.Logf("killed %d workers, which took in %d records", dead, s.taken())
	s.Outlast(nil)
	s.same()

	if got := s.latest(); got.String("status") != "completed" || s.taken() != int64(stays) || got.Has("counts.reservation.skipped") {
		t.Errorf("the sync is %s", got.Body)
	}

	if dead < kills/2 {
		t.Errorf("only %d workers were killed", dead)
	}
}

// taken returns how many records the latest sync has taken in.
func (s *scene) taken() int64 {
	s.T.Helper()

	if now := s.latest(); now.Has("counts.reservation.completed") {
		return now.Int("counts.reservation.completed")
	}

	return 0
}

// killAWorker starts a worker in a process of its own, and kills it a moment after it has taken in a page beyond what was
// taken in before.
func (s *scene) killAWorker(url string, before int64, moment time.Duration) {
	s.T.Helper()

	worker := exec.CommandContext(s.T.Context(), os.Args[0])
	worker.Env = append(os.Environ(), workerDatabase+"="+url, workerTeam+"="+s.ID.String(), workerListing+"="+s.villa.ID.String())

	out, err := worker.StdoutPipe()
	if err != nil {
		s.T.Fatal(err)
	}

	if err := worker.Start(); err != nil {
		s.T.Fatal(err)
	}

	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		s.T.Fatalf("the worker says %q: %v", line, err)
	}

	for deadline := time.Now().Add(time.Minute); s.taken() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.T.Fatalf("the worker took in nothing beyond %d records", before)
		}
	}

	time.Sleep(moment) // in the middle of some page

	if err := worker.Process.Kill(); err != nil {
		s.T.Fatal(err)
	}

	_ = worker.Wait()
}
