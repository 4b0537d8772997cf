package pms_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/seal"
	sandbox "stayledger/provider/sandbox/pms"
	"stayledger/test/world"
)

// The environment of a worker: its database and its team.
const (
	workerDatabase = "PMS_WORKER_DATABASE"
	workerTeam     = "PMS_WORKER_TEAM"
)

// kills is how many workers the kill test kills, and stays how many reservations the system has then.
var (
	kills = func() int { n, _ := strconv.Atoi(os.Getenv("PMS_KILLS")); return cmp.Or(n, 4) }()
	stays = max(60, 12*kills)
)

// work runs the jobs of a team until the process is killed. What it reads of the system comes over HTTP.
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

	parts := app.Parts(app.External{Box: box}, app.Config{PublicURL: "http://127.0.0.1", LocalProviders: true})

	// The parent waits for this line.
	fmt.Println("works")
	job.NewWorker(job.Config{
		DB: d, Log: slog.New(slog.DiscardHandler), Workers: 2, Handlers: parts.Handlers, Poll: 5 * time.Millisecond, Only: team,
	}).Run(ctx, time.Second)
}

// Workers that are killed at any moment of syncs over our protocol leave rows and books as workers that live: another team
// reads the same system after each sync, without a kill. PMS_KILLS is how many are killed, PMS_KILL_SEED repeats the moments.
func TestKilledWorkersLeaveTheSameRowsAndBooks(t *testing.T) {
	t.Parallel()

	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("PMS_KILL_SEED"), 10, 64); err == nil {
		seed = n
	}

	t.Logf("PMS_KILL_SEED=%d", seed)

	dice := rand.New(rand.NewPCG(seed, 3))
	url, hit, spared := twins(t)
	dead, taken := 0, []string{}

	// Each round changes the system and reads it; a third of the kills at most is in one round.
	for round := 0; dead < kills; round++ {
		if round > 0 {
			hit.shake(round)
		}

		mode := []string{"full", "incremental"}[round%2]
		hit.Post(hit.path("/sync"), object{"mode": mode}).Want(202)

		for n := 0; dead < kills && n <= kills/3 && !hit.isOver(); n++ {
			taken = append(taken, hit.killAWorker(url, 1+dice.IntN(4), time.Duration(dice.IntN(60))*time.Millisecond))
			dead++

			// As after the time of a lease.
			hit.Exec(`update job set worker_id = null, due_at = clock_timestamp() where team_id = @team`, db.Args{})
		}

		hit.Outlast(nil)
		spared.Post(spared.path("/sync"), object{"mode": mode}).Want(202)
		spared.Outlast(nil)
		hit.equals(spared, fmt.Sprintf("after round %d, %s", round, mode))

		if got := hit.latest(); got.String("status") != "completed" || got.Has("counts.reservation.failed") {
			t.Errorf("the sync is %s", got.Body)
		}
	}

	t.Logf("killed %d workers, which left these counts: %s", dead, taken)

	if distinct := slices.Compact(slices.Clone(taken)); len(distinct) < kills/2 {
		t.Errorf("only %d kills came after something was taken in", len(distinct))
	}
}

// twins returns two teams of a database of their own that are connected to one system.
func twins(t *testing.T) (url string, one, other *scene) {
	t.Helper()

	system, err := sandbox.New(sandbox.Config{Token: token, PageSize: 5})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(system)

	t.Cleanup(func() {
		system.Close()
		server.Close()
	})

	silent := true
	system.Set(sandbox.Settings{Silent: &silent})

	if err := system.Generate(sandbox.Plan{Listings: 4, Reservations: stays}); err != nil {
		t.Fatal(err)
	}

	url = apitest.Database(t)

	d, err := db.Open(t.Context(), db.Config{URL: url, MaxConnections: 8})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	one = &scene{World: world.In(t, d), system: system, url: server.URL}
	other = &scene{World: world.In(t, d), system: system, url: server.URL}

	// The books begin before the stays of the system.
	for _, s := range []*scene{one, other} {
		s.Put("/team", object{"statementStartAt": "2020-01-01"}).Want(200)
		s.connect()
	}

	return url, one, other
}

// shake changes most reservations of the system: their money and nights, some are canceled with money kept, some are the
// owner's, and a few are deleted.
func (s *scene) shake(round int) {
	s.T.Helper()

	for i := range stays {
		name := fmt.Sprintf("res_0_%07d", i+1)
		if i%40 == round%40 {
			_ = s.system.DeleteReservation(name) // It can be deleted already.

			continue
		}

		if i%3 == round%3 {
			continue
		}

		_ = s.system.ChangeReservation(name, func(r *sandbox.Reservation) {
			r.Guest.Name = fmt.Sprintf("Guest of round %d", round)
			r.OwnerStay = i%11 == round%11

			switch i % 7 {
			case round % 7:
				r.Status, r.CanceledAt, r.Total = "canceled", sandbox.Optional(r.CheckIn), "80.25"
				r.Lines = []sandbox.Line{{Type: "retained", Amount: "80.25"}}
			default:
				r.Status, r.CanceledAt, r.Total = "booked", "", sandbox.Optional(fmt.Sprintf("%d.10", 500+10*round+i))
				r.Lines = []sandbox.Line{{Type: "rent", Amount: "400"}, {Type: "cleaningFee", Amount: "50"}, {Type: "tax", Amount: "40.10"}}
			}
		})
	}
}

// latest returns the sync that was queued last.
func (s *scene) latest() *apitest.Response {
	s.T.Helper()

	return s.Get("/syncs/" + s.Get("/syncs?limit=1&connectionIds="+s.connection.String()).Want(200).String("data.0.id")).Want(200)
}

// counts returns what became of the records of the latest sync so far.
func (s *scene) counts() string { return fmt.Sprint(s.latest().Value("counts")) }

// isOver reports whether the latest sync has ended.
func (s *scene) isOver() bool {
	status := s.latest().String("status")

	return status == "completed" || status == "failed"
}

// newWorker returns a process that works for the team.
func (s *scene) newWorker(url string) *exec.Cmd {
	worker := exec.CommandContext(s.T.Context(), os.Args[0])
	worker.Env = append(os.Environ(), workerDatabase+"="+url, workerTeam+"="+s.ID.String())

	return worker
}

// killAWorker starts a worker in a process of its own, and kills it a moment after it has taken in some pages or ended the
// sync. It returns the counts of the sync then.
func (s *scene) killAWorker(url string, pages int, moment time.Duration) string {
	s.T.Helper()

	before := s.counts()
	worker := s.newWorker(url)

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

	for deadline := time.Now().Add(time.Minute); pages > 0 && !s.isOver(); time.Sleep(time.Millisecond) {
		if now := s.counts(); now != before {
			before = now
			pages--
		}

		if time.Now().After(deadline) {
			s.T.Fatalf("the worker took in nothing beyond %s", before)
		}
	}

	time.Sleep(moment) // in the middle of some page

	if err := worker.Process.Kill(); err != nil {
		s.T.Fatal(err)
	}

	_ = worker.Wait()

	return s.counts()
}

// equals holds rows and books to those of another team that reads the same system.
func (s *scene) equals(other *scene, when string) {
	s.T.Helper()

	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"rows", s.rows(), other.rows()},
		{"entries", s.books(), other.books()},
	} {
		if len(c.want) < stays/2 {
			s.T.Errorf("%s: only %d %s without kills", when, len(c.want), c.what)
		}

		if !slices.Equal(c.got, c.want) {
			s.T.Errorf("%s: %d %s with kills, %d without, or others:\n%q\n%q", when, len(c.got), c.what, len(c.want), c.got, c.want)
		}
	}
}

// rows returns the reservations of the team with their lines, without ids, sorted.
func (s *scene) rows() (out []string) {
	s.T.Helper()
	s.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = db.Select[string](ctx, tx, `
			select concat_ws(' ', r.source_id, l.name, r.status, r.type, r.confirmation_code, r.guest_name, r.guests, r.check_in, r.check_out, r.booked_at,
				r.cancelled_at, r.booking_platform, r.currency, (select string_agg(concat_ws(' ', n.type, n.description, n.amount), ', ' order by n.position)
					from reservation_line n where n.team_id = r.team_id and n.reservation_id = r.id))
			from reservation r join listing l on l.team_id = r.team_id and l.id = r.listing_id where r.team_id = @team order by 1`, db.Args{"team": tx.Team})

		return err
	})

	return out
}
