package job_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// street is a database of the test's own with several teams and one worker for all of them.
type street struct {
	t     *testing.T
	teams []*apitest.Team
}

func newStreet(t *testing.T, teams int) *street {
	t.Helper()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t)})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	s := &street{t: t}
	for range teams {
		s.teams = append(s.teams, apitest.New(t, apitest.Config{Silent: true, DB: d}))
	}

	return s
}

// queue gives a team work.
func (s *street) queue(team, n int, j job.New) {
	s.t.Helper()
	s.teams[team].Tx(func(ctx context.Context, tx *db.Tx) error {
		jobs := make([]job.New, n)
		for i := range jobs {
			jobs[i] = j
		}

		statement, err := job.Statement(tx, jobs...)
		if err != nil {
			return err
		}

		return tx.Pipeline(ctx, statement)
	})
}

func (s *street) name(team id.ID) int {
	return slices.IndexFunc(s.teams, func(x *apitest.Team) bool { return x.ID == team })
}

// work starts a worker for all teams.
func (s *street) work(c job.Config) (*job.Worker, func()) {
	s.t.Helper()
	return runFor(s.t, s.teams[0].DB, id.Zero, c, time.Second)
}

// recorded is a handler that records in which order jobs began, by team. It ends them one after another in that order:
// a job that is slow to end keeps its team's place, and the others would go on at the free places meanwhile.
func (s *street) recorded() (job.Handler, func() []int) {
	var (
		mu    sync.Mutex
		order []int
	)

	h := job.Handler{Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		mu.Lock()
		defer mu.Unlock()

		order = append(order, s.name(j.TeamID))

		return finish(ctx, d, j)
	}}

	return h, func() []int { mu.Lock(); defer mu.Unlock(); return slices.Clone(order) }
}

// One team has queued two hundred jobs before two others queue a few: those come up in turn, not after all of it.
func TestTeamsTakeTurns(t *testing.T) {
	t.Parallel()

	for _, lane := range []job.Lane{job.Quick, job.Bulk, job.Rendering} {
		t.Run(string(lane), func(t *testing.T) {
			t.Parallel()
			s := newStreet(t, 3)
			s.queue(1, 200, job.New{Kind: kind("k")})
			s.queue(1, 200, job.New{Kind: kind("also")})
			s.queue(0, 3, job.New{Kind: kind("k")})
			s.queue(2, 3, job.New{Kind: kind("k")})
			h, order := s.recorded()
			h.Lane = lane
			_, _ = s.work(job.Config{Workers: 2, BulkWorkers: 2, Handlers: map[job.Kind]job.Handler{kind("k"): h, kind("also"): h}})

			eventually(t, "the end of all jobs", func() bool { return len(order()) == 406 })

			got := order()

			for _, team := range []int{0, 2} {
				last := 0

				for i, v := range got {
					if v == team {
						last = i
					}
				}

				if last > 20 {
					t.Errorf("the three jobs of team %d had to wait for %d others", team, last-2)
				}
			}
		})
	}
}

// The places of a worker are full of work that does not end; another team's starts all the same, and the first place
// that gets free goes to a third team, not to the first one again.
func TestWorkThatLastsLeavesAPlaceToOthers(t *testing.T) {
	t.Parallel()

	for _, lane := range []job.Lane{job.Quick, job.Bulk, job.Rendering} {
		t.Run(string(lane), func(t *testing.T) {
			t.Parallel()
			s := newStreet(t, 3)
			began, end := make(chan int, 100), make(chan struct{})
			release := sync.OnceFunc(func() { close(end) })
			t.Cleanup(release)

			one := make(chan struct{})
			h := job.Handler{Lane: lane, Do: func(ctx context.Context, d *db.DB, j job.Job) error {
				began <- s.name(j.TeamID)

				if s.name(j.TeamID) == 0 {
					select {
					case <-one:
					case <-end:
					}
				} else {
					<-end
				}

				return finish(ctx, d, j)
			}}

			s.queue(0, 10, job.New{Kind: kind("k")})
			_, _ = s.work(job.Config{Workers: 4, BulkWorkers: 4, Handlers: map[job.Kind]job.Handler{kind("k"): h}})

			for range 4 {
				if team := apitest.Receive(t, began); team != 0 {
					t.Fatalf("team %d began", team)
				}
			}

			s.queue(1, 10, job.New{Kind: kind("k")})

			if team := apitest.Receive(t, began); team != 1 {
				t.Errorf("team %d began, want the second", team)
			}

			s.queue(2, 10, job.New{Kind: kind("k")})

			one <- struct{}{} // one job of the first team ends

			if team := apitest.Receive(t, began); team != 2 {
				t.Errorf("team %d began, want the third", team)
			}

			release()
			eventually(t, "the end of all jobs", func() bool { return len(rows(t, s.teams[0]))+len(rows(t, s.teams[1]))+len(rows(t, s.teams[2])) == 0 })
		})
	}
}

// No worker polls here: the end of each job starts the next.
func TestABacklogIsWorkedOffWithoutPolls(t *testing.T) {
	t.Parallel()
	s := newStreet(t, 2)
	s.queue(0, 50, job.New{Kind: kind("k")})
	s.queue(1, 50, job.New{Kind: kind("k")})

	var done atomic.Int32

	_, _ = s.work(job.Config{Workers: 2, Poll: time.Hour, Handlers: map[job.Kind]job.Handler{kind("k"): {Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		defer done.Add(1)
		return finish(ctx, d, j)
	}}}})

	eventually(t, "the end of all jobs", func() bool { return done.Load() == 100 })
}

// A claim reads what it takes, not what waits: ten thousand jobs of one team cost another's claim nothing, in either
// lane.
func TestAClaimDoesNotReadWhatWaits(t *testing.T) {
	t.Parallel()
	s := newStreet(t, 2)
	s.queue(0, 10_000, job.New{Kind: kind("bulk")})
	s.queue(0, 10_000, job.New{Kind: kind("k")})
	s.queue(1, 1, job.New{Kind: kind("k")})

	type cost struct{ Claimed, Read, Scans int64 }

	var got cost

	s.teams[0].System(func(ctx context.Context, tx *db.Tx) error {
		claimed, err := db.Get[int64](ctx, tx, `
			select count(*) from job_claim(@worker, '15 s', '{k}', @nobody, @nobody, 10, '{}', '{}')`, db.Args{"worker": tx.NewID(), "nobody": nil})
		if err != nil {
			return err
		}

		got, err = db.Get[cost](ctx, tx, `
			select @claimed::bigint as claimed, idx_tup_fetch as read, seq_scan as scans from pg_stat_xact_user_tables where relname = 'job'`, db.Args{"claimed": claimed})

		return err
	})

	if got.Claimed < 5 || got.Read > 100 || got.Scans > 0 {
		t.Errorf("a claim cost %+v", got)
	}
}
