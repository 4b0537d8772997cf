package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// request returns the n-th request of the k-th client.
type request func(c *client, k, n int) []byte

// load is a number of clients that send requests of a kind.
type load struct {
	clients []*client
	request request
	sent    []int // by client
}

// newLoad opens the connections of clients.
func newLoad(ctx context.Context, clients int, address, secret string, r request) (*load, error) {
	all, err := dialAll(ctx, clients, address, secret)
	return &load{all, r, make([]int, clients)}, err
}

// close closes the connections.
func (l *load) close() {
	for _, c := range l.clients {
		c.close()
	}
}

// runResult is the outcome of requests that were sent for a time.
type runResult struct {
	perSecond float64 // of those that were answered with success
	failed    int
	failure   string // the first
}

// run has all clients send requests for a time. Requests that begin in it are sent to the end. Failed requests are
// counted, and do not end the run.
func (l *load) run(ctx context.Context, length time.Duration) (out runResult, err error) {
	var (
		mu       sync.Mutex
		answered int
	)

	begin := time.Now()
	_ = each(len(l.clients), func(k int) error {
		for time.Since(begin) < length && ctx.Err() == nil {
			_, err := l.clients[k].send(l.request(l.clients[k], k, l.sent[k]), false)
			l.sent[k]++

			// Only requests that succeed count for the rate. Keep the first failure as an example.
			mu.Lock()
			if err == nil {
				answered++
			} else if out.failed++; out.failed == 1 {
				out.failure = err.Error()
			}
			mu.Unlock()
		}

		return nil
	})
	out.perSecond = float64(answered) / time.Since(begin).Seconds()

	return out, ctx.Err()
}

// comparison is a request at one size, as it is sent to the service and to the bare server.
type comparison struct {
	rows       int
	team       tenant
	ours, bare request
	// alone are the service's requests a second with one client, by round.
	alone []float64
}

// compare measures a request at every size, with each number of clients: requests a second to the bare server's.
// Both take turns, so that a busy moment of the machine meets both.
func (d *dailyBed) compare(ctx context.Context, name string, sizes []*comparison) (metrics []Metric, err error) {
	for _, clients := range dailyClients {
		// First open the connections of all sizes and warm up both sides.
		pairs := make([]pair, len(sizes))
		for i, s := range sizes {
			p := &pairs[i]
			if p.ours, err = newLoad(ctx, clients, d.ours, s.team.secret, s.ours); err != nil {
				return nil, err
			}
			defer p.ours.close()

			if p.bare, err = newLoad(ctx, clients, d.bare, s.team.secret, s.bare); err != nil {
				return nil, err
			}
			defer p.bare.close()

			if err := p.warm(ctx, d.sizes.turn); err != nil {
				return nil, err
			}
		}

		// Then the rounds, in each of which every size has a turn.
		for range dailyRounds {
			for i := range pairs {
				if err := pairs[i].round(ctx, d.sizes.turn); err != nil {
					return nil, err
				}
			}
		}

		for i, s := range sizes {
			p := &pairs[i]

			// Last, one metric per size. A single failure makes the comparison worthless.
			if p.failed > 0 {
				return metrics, fmt.Errorf(
					"%d requests failed of %d clients on %d rows: %s",
					p.failed,
					clients,
					s.rows,
					p.failure,
				)
			}

			if clients == 1 {
				s.alone = p.rates[0]
			}

			if len(p.ratios) > 0 {
				metrics = append(
					metrics,
					atLeast(
						fmt.Sprintf("daily_%s_%d_%d_ratio", name, s.rows, clients),
						median(p.ratios),
						0.35,
						map[string]any{
							"servicePerSecond": median(p.rates[0]),
							"barePerSecond":    median(p.rates[1]),
							"rounds":           p.ratios,
							"rows":             s.rows,
							"clients":          clients,
						},
					),
				)
			}
		}
	}

	return metrics, nil
}

// pair is the same number of clients at the service and at the bare server.
type pair struct {
	ours, bare *load
	rounds     int // that are left
	rates      [2][]float64
	ratios     []float64
	failed     int
	failure    string
}

// warm prepares statements and fills caches. It also sets the number of rounds: one for a slow request, and none
// for a very slow request of many clients.
func (p *pair) warm(ctx context.Context, turn time.Duration) error {
	alone := load{p.ours.clients[:1], p.ours.request, p.ours.sent}

	var took time.Duration

	for range 2 { // the first plans and reads from the disk
		begin := time.Now()

		if m, err := alone.run(ctx, time.Nanosecond); err != nil {
			return err
		} else if m.failed > 0 {
			return errors.New(m.failure)
		}

		took = time.Since(begin)
	}

	// The time of the second request decides on the rounds.
	switch {
	case took > verySlow && len(p.ours.clients) > 1:
		return nil
	case took > slow:
		p.rounds = 1
		return nil
	}

	p.rounds = dailyRounds
	for _, l := range []*load{p.ours, p.bare} {
		if _, err := l.run(ctx, turn/2); err != nil {
			return err
		}
	}

	return nil
}

// round gives both sides a turn, if rounds are left.
func (p *pair) round(ctx context.Context, turn time.Duration) error {
	if p.rounds == 0 {
		return nil
	}

	p.rounds--
	for i, l := range []*load{p.ours, p.bare} {
		m, err := l.run(ctx, turn)
		if err != nil {
			return err
		}

		if m.failed > 0 {
			p.failed, p.failure = p.failed+m.failed, m.failure
		}

		p.rates[i] = append(p.rates[i], m.perSecond)
	}

	// Compare the two turns that followed each other.
	last := len(p.rates[0]) - 1
	p.ratios = append(p.ratios, p.rates[0][last]/p.rates[1][last])

	return nil
}

// costs returns the numbers of statements and round trips of a request, as figures without a goal.
func (d *dailyBed) costs(ctx context.Context, name string, c *comparison) ([]Metric, error) {
	s, spent, err := d.counted.count(ctx, c.team, func(on *client, n int) []byte { return c.ours(on, 0, n) })
	if err != nil {
		return nil, err
	}

	detail := map[string]any{"rows": c.rows}
	if spent != nil {
		detail["database"] = spent
	}

	return []Metric{
		figure("daily_"+name+"_statements", float64(s.statements), detail),
		figure("daily_"+name+"_round_trips", float64(s.roundTrips), detail),
	}, nil
}
