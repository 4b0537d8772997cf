// Package budget keeps calls to hosts outside within their limits, over all teams and processes. How many calls a host
// takes now is a row of the table call_budget, which its function take_call alone writes, by the clock of the database.
//
// The fewer of the last calls a team made, the sooner it gets the next one, so a team that asks for thousands does not
// keep another from its few. Within a process a host has a few places in which teams take turns, so that only those in
// front ask the database. What a host that is not called any more has left in memory and database goes by itself.
package budget

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/fair"
	"stayledger/platform/id"
	"stayledger/platform/inside"
	"stayledger/platform/job"
	"stayledger/platform/outbound"
)

const (
	// A call waits for patience at most. Limits let calls through faster, so a long reading goes on.
	patience = 5 * time.Second
	// A host has so many places in a process, of which one team has four.
	places = 5
	// Further calls of a team are refused at once when crowd of it wait.
	crowd = 1000
	// Calls that are refused together come back within longest.
	longest = time.Minute
)

// Budgets are the lines in which the calls of a process wait, one for each host that is called now. They are safe for
// use by many goroutines.
type Budgets struct {
	mu    sync.Mutex
	lines map[string]*line
}

// line is where calls to a host wait.
type line struct {
	*fair.Places

	calls int // that wait or have a place
}

// New returns budgets without lines.
func New() *Budgets { return &Budgets{lines: map[string]*line{}} }

// Take counts a call of a team to a host before it is sent, and waits if it can be sent soon. It fails with an
// outbound.LimitedError if it cannot, and counts nothing then. It must not be called in a transaction.
func (b *Budgets) Take(ctx context.Context, d *db.DB, team id.ID, host string, l outbound.Limit) error {
	if err := inside.Check(ctx); err != nil {
		return fmt.Errorf("count a call: %w", err)
	}

	latest := time.Now().Add(patience)

	waiting, stop := context.WithDeadline(ctx, latest)
	defer stop()

	// The team's turn comes first. Most calls of a crowd end here, without the database.
	line := b.join(host)
	defer b.leave(host)

	if err := line.Take(waiting, team); err != nil {
		return b.refuse(host, l, 0)
	}

	defer line.Give(team)

	// Those in front ask until the host takes their call.
	for {
		wait, err := ask(ctx, d, team, host, l)
		switch {
		case err != nil:
			return err
		case wait <= 0:
			return nil
		case time.Now().Add(wait).After(latest):
			return b.refuse(host, l, wait)
		}

		select {
		case <-time.After(wait):
		case <-waiting.Done():
			return b.refuse(host, l, wait)
		}
	}
}

// join returns the line of a host with one call more, which leave takes out.
func (b *Budgets) join(host string) *line {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.lines[host] == nil {
		b.lines[host] = &line{Places: fair.New(places, crowd)}
	}

	b.lines[host].calls++

	return b.lines[host]
}

// leave takes a call out of the line of a host, and with the last one the line.
func (b *Budgets) leave(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.lines[host].calls--; b.lines[host].calls == 0 {
		delete(b.lines, host)
	}
}

// refuse returns the error of a call that is to come back after a wait, at a time by which those that are in line with
// it could be through. The times of many differ.
func (b *Budgets) refuse(host string, l outbound.Limit, wait time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()

	every, _ := l.Pace()
	spread := min(time.Duration(b.lines[host].calls)*every, longest)

	return &outbound.LimitedError{Until: time.Now().Add(max(wait, every) + rand.N(max(spread, 1)))} //nolint:gosec // It is no secret.
}

// ask counts a call of a team to a host and returns 0, or counts nothing and returns how long the team has to wait.
func ask(ctx context.Context, d *db.DB, team id.ID, host string, l outbound.Limit) (wait time.Duration, err error) {
	every, burst := l.Pace()

	err = d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		wait, err = db.Get[time.Duration](ctx, tx, `select take_call(@host, @team, @every, @burst)`,
			db.Args{"host": host, "team": team, "every": every, "burst": burst})

		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count a call: %w", err)
	}

	return wait, nil
}

// Every returns the task that deletes the rows of hosts that are not called any more.
func Every() job.Every {
	return job.Every{Name: "call-budget", Interval: time.Minute, Do: func(ctx context.Context, d *db.DB) error {
		return d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `delete from call_budget where forget_at <= clock_timestamp()`, nil)
			return err
		})
	}}
}
