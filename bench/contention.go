package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

const (
	contentionTime = 6 * time.Second
	manyWriters    = 24
	exclusiveTurns = 3 // of each kind of change
)

// contention has clients change stays of one listing at the same time. It also measures how long a change of many
// journals waits while as many clients as the service has connections change stays.
func contention(ctx context.Context, b *bed) ([]Metric, error) {
	t := b.teams["contended"]

	stays, err := b.loadIDs(ctx, t, `select id from reservation where team_id = @team order by confirmation_code`)
	if err != nil {
		return nil, err
	}

	detail := map[string]any{"stays": contendedStays, "seconds": contentionTime.Seconds()}
	perSecond := map[int]float64{}
	failed := 0

	// First the rate with a single client, with a few, and with a client for each connection.
	for _, clients := range []int{1, 8, manyWriters} {
		m, err := b.changeStays(ctx, t, stays, clients, time.After(contentionTime))
		if err != nil {
			return nil, err
		}

		perSecond[clients] = m.perSecond
		failed += m.failed
		detail[fmt.Sprintf("of%dClients", clients)] = m.detail()
	}

	// More clients must not make the listing slower, and none may fail.
	metrics := []Metric{
		atLeast("stay_changes_8_clients_ratio", perSecond[8]/perSecond[1], 1, detail),
		atLeast("stay_changes_24_clients_ratio", perSecond[manyWriters]/perSecond[1], 1, detail),
		atMost("stay_changes_failed", float64(failed), 0, detail),
	}
	wait, err := b.exclusiveChanges(ctx, t, stays)

	return append(metrics, wait...), err
}

// loadID returns an id that a statement finds.
func (b *bed) loadID(ctx context.Context, t tenant, sql string) (v id.ID, err error) {
	err = b.db.ReadOne(ctx, t.scope(b.db), func(ctx context.Context, tx *db.Tx) (err error) {
		v, err = db.Get[id.ID](ctx, tx, sql, db.Args{"team": tx.Team})
		return err
	})

	return v, err
}

// loadIDs returns the ids that a statement finds.
func (b *bed) loadIDs(ctx context.Context, t tenant, sql string) (all []id.ID, err error) {
	err = b.db.ReadOne(ctx, t.scope(b.db), func(ctx context.Context, tx *db.Tx) (err error) {
		all, err = db.Select[id.ID](ctx, tx, sql, db.Args{"team": tx.Team})
		return err
	})

	return all, err
}

// changeResult is the outcome of the changes of some clients.
type changeResult struct {
	perSecond      float64
	made, failed   int
	deadlocks      int64
	p99MS, worstMS float64
	failure        string
}

// detail returns the outcome as a detail of a metric.
func (m changeResult) detail() map[string]any {
	d := map[string]any{
		"perSecond": m.perSecond,
		"made":      m.made,
		"failed":    m.failed,
		"deadlocks": m.deadlocks,
		"p99Ms":     m.p99MS,
		"maxMs":     m.worstMS,
	}
	if m.failure != "" {
		d["failure"] = m.failure
	}

	return d
}

// changeStays has clients change the rent of stays, each of its own, until the end.
func (b *bed) changeStays(
	ctx context.Context,
	t tenant,
	stays []id.ID,
	writers int,
	end <-chan time.Time,
) (m changeResult, err error) {
	clients, err := dialAll(ctx, writers, b.ours, t.secret)
	if err != nil {
		return m, err
	}

	// PostgreSQL counts deadlocks since its start.
	before, err := b.deadlocks(ctx)
	if err != nil {
		return m, err
	}

	var (
		over  atomic.Bool
		mu    sync.Mutex
		waits []float64
	)

	go func() { <-end; over.Store(true) }()

	begin := time.Now()

	err = each(writers, func(i int) error {
		defer clients[i].close()

		for n := 0; !over.Load() && ctx.Err() == nil; n++ {
			// Client i has every stay with that remainder, so no two change the same one.
			k := (i + n*writers) % len(stays)
			body := "{" + stayFields(k, k+1+n/(len(stays)/writers)) + "}"
			sent := time.Now()
			_, err := clients[i].send(
				clients[i].request(http.MethodPut, "/reservations/"+stays[k].String(), body),
				false,
			)
			took := float64(time.Since(sent).Nanoseconds()) / 1e6

			mu.Lock()

			waits = append(waits, took)

			if err != nil {
				m.failed++
				m.failure = err.Error()
			} else {
				m.made++
			}
			mu.Unlock()
		}

		return nil
	})
	if err != nil {
		return m, err
	}

	// Only changes that succeed count for the rate.
	m.perSecond = float64(m.made) / time.Since(begin).Seconds()
	m.p99MS, m.worstMS = quantile(waits, 0.99), quantile(waits, 1)
	after, err := b.deadlocks(ctx)
	m.deadlocks = after - before

	return m, err
}

// deadlocks returns how many deadlocks the server has resolved so far.
func (b *bed) deadlocks(ctx context.Context) (n int64, err error) {
	time.Sleep(1100 * time.Millisecond) // a session reports what it counted at most once a second

	err = b.bare.QueryRow(ctx, `select deadlocks from pg_stat_database where datname = current_database()`).Scan(&n)

	return n, err
}

// exclusiveChanges makes changes that touch many journals while writers use all connections.
func (b *bed) exclusiveChanges(ctx context.Context, t tenant, stays []id.ID) ([]Metric, error) {
	found := map[string]id.ID{}

	for name, sql := range map[string]string{
		"fee":     `select id from fee where team_id = @team and name = 'Management'`,
		"mapping": `select id from reservation_line_mapping where team_id = @team and line_type = 'rent' limit 1`,
		"period":  `select p.id from listing_ownership_period p join reservation r on r.team_id = @team and r.listing_id = p.listing_id where p.team_id = @team limit 1`,
		"owner":   `select contact_id from listing_ownership_member where team_id = @team limit 1`,
		"rent":    `select id from account where team_id = @team and code = '4000'`,
		"other":   `select id from account where team_id = @team and code = '4010'`,
	} {
		var err error
		if found[name], err = b.loadID(ctx, t, sql); err != nil {
			return nil, fmt.Errorf("find a %s: %w", name, err)
		}
	}

	// Every turn must change something, so the account alternates.
	account := func(turn int) id.ID {
		if turn%2 == 0 {
			return found["other"]
		}

		return found["rent"]
	}

	// Each of these changes affects many journals at once.
	changes := []struct {
		name, method, path string
		body               func(turn int) string
	}{
		{"fee", http.MethodPut, "/recurring-fees/" + found["fee"].String(), func(turn int) string { return fmt.Sprintf(`{"defaultRate": %d}`, 21_000+turn) }},
		{"mapping", http.MethodPut, "/reservations/line-mappings/" + found["mapping"].String(), func(turn int) string { return fmt.Sprintf(`{"accountId": %q}`, account(turn)) }},
		{"ownership", http.MethodPut, "/listings/ownership-periods/" + found["period"].String(), func(turn int) string {
			return fmt.Sprintf(`{"reserve": %d, "members": [{"contactId": %q, "split": 100000}]}`, 1000+turn, found["owner"])
		}},
		{"closing", http.MethodPost, "/team/books-closing", func(turn int) string {
			return fmt.Sprintf(`{"softClosedAt": "2023-01-%02d", "reason": "Measured"}`, 1+turn)
		}},
	}

	c, err := dial(ctx, b.ours, t.secret)
	if err != nil {
		return nil, err
	}
	defer c.close()

	over := make(chan time.Time)

	type outcome struct {
		m   changeResult
		err error
	}

	// The writers run until the last change is done.
	writing := make(chan outcome, 1)

	go func() {
		m, err := b.changeStays(ctx, t, stays, manyWriters, over)
		writing <- outcome{m, err}
	}()

	time.Sleep(2500 * time.Millisecond) // the writers are at it

	waits := map[string][]float64{}
	failures := map[string]string{}
	worst, failed := 0.0, 0

	// Then make the changes one after the other, and keep the longest wait of all.
	for turn := range exclusiveTurns {
		for _, change := range changes {
			sent := time.Now()
			_, err := c.send(c.request(change.method, change.path, change.body(turn)), false)
			took := time.Since(sent).Seconds()
			waits[change.name] = append(waits[change.name], took)
			worst = max(worst, took)

			if err != nil {
				failed++
				failures[change.name] = err.Error()
			}
		}
	}

	close(over)

	w := <-writing
	if err := errors.Join(w.err, ctx.Err()); err != nil {
		return nil, err
	}

	detail := map[string]any{
		"writers":        manyWriters,
		"seconds":        waits,
		"whatWritersDid": w.m.detail(),
		"failures":       failures,
	}

	return []Metric{
		atMost("exclusive_change_wait_s", worst, 5, detail),
		atMost("exclusive_changes_failed", float64(failed), 0, detail),
	}, nil
}
