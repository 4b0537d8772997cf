package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// publishing publishes one month of statements of many ownership periods as one operation, and compares it
// with the same rows written by two SQL statements. It also measures the memory of the process, and the waits of
// others meanwhile.
func publishing(ctx context.Context, b *bed) ([]Metric, error) {
	few, err := b.publish(ctx, fewName)
	if err != nil {
		return nil, err
	}

	many, err := b.publish(ctx, manyName)
	if err != nil {
		return nil, err
	}

	bare, err := b.publishBare(ctx)
	if err != nil {
		return nil, err
	}

	// Then the details of the metrics.
	fewPeriods, manyPeriods := float64(b.teams[fewName].rows), float64(b.teams[manyName].rows)
	rate := manyPeriods / many.took.Seconds()
	detail := map[string]any{
		"statements":               manyPeriods,
		"earlierMonths":            earlierMonths,
		"entriesOfMonth":           many.entries,
		"statementsPerSecond":      rate,
		"bareStatementsPerSecond":  manyPeriods / bare.Seconds(),
		"few":                      fewPeriods,
		"statementsPerSecondOfFew": fewPeriods / few.took.Seconds(),
	}
	memory := map[string]any{
		"statements":   manyPeriods,
		"peakMiB":      many.peak,
		"peakMiBOfFew": few.peak,
		"few":          fewPeriods,
	}
	waits := map[string]any{
		"othersP99Ms":    quantile(many.others, 0.99),
		"othersMedianMs": median(many.others),
		"idleP99Ms":      quantile(many.idle, 0.99),
		"idleMedianMs":   median(many.idle),
		"bareP99Ms":      quantile(many.bare, 0.99),
		"bareMedianMs":   median(many.bare),
		"requests":       len(many.others),
	}

	return []Metric{
		atLeast("publish_ratio", bare.Seconds()/many.took.Seconds(), 0.3, detail),
		atMost("publish_growth", many.took.Seconds()/few.took.Seconds()/(manyPeriods/fewPeriods), 1.1, detail),
		atMost("publish_peak_mib", many.peak, memoryGoal, memory),
		atMost("publish_peak_growth_mib", many.peak-few.peak, growthGoal, memory),
		atMost("publish_others_p99_ratio", quantile(many.others, 0.99)/quantile(many.bare, 0.99), 2, waits),
	}, nil
}

// publishResult is the outcome of publishing a month.
type publishResult struct {
	took    time.Duration
	peak    float64 // MiB resident
	entries int64
	// idle, others and bare are the waits of another team's reads in milliseconds: before, meanwhile, and meanwhile at
	// the bare server.
	idle, others, bare []float64
}

// publish publishes a month of a team over the API.
func (b *bed) publish(ctx context.Context, name string) (p publishResult, err error) {
	t := b.teams[name]

	c, err := dial(ctx, b.ours, t.secret)
	if err != nil {
		return p, err
	}
	defer c.close()

	// First the waits while nothing is published, for comparison.
	if p.idle, err = b.measureWaits(ctx, b.ours, time.After(3*time.Second)); err != nil {
		return p, err
	}

	// Readers wait at both servers at the same time: both share the database, so only the service's own part
	// differs.
	ended := make(chan time.Time)

	type waited struct {
		ms  []float64
		err error
	}

	ours, bare := make(chan waited, 1), make(chan waited, 1)
	for address, to := range map[string]chan waited{b.ours: ours, b.bareHTTP: bare} {
		go func() {
			ms, err := b.measureWaits(ctx, address, ended)
			to <- waited{ms, err}
		}()
	}

	// Then publish the month, and stop the readers.
	peak := watchMemory()
	p.took, err = c.operate("/statements/batch", `{"month": "`+publishedMonth+`", "status": "published"}`)
	p.peak = peak()

	close(ended)

	for _, side := range []struct {
		from chan waited
		to   *[]float64
	}{{ours, &p.others}, {bare, &p.bare}} {
		w := <-side.from
		if *side.to = w.ms; err == nil {
			err = w.err
		}
	}

	if err != nil {
		return p, err
	}

	// Last, check that every entry of the month belongs to a statement.
	p.entries, err = b.count(ctx, t, `select count(*) from ledger_entry e join statement s on s.team_id = e.team_id and s.id = e.statement_id
		where e.team_id = @team and s.start_at = '`+publishedMonth+`-01'`)
	if err == nil && p.entries != int64(t.rows)*entriesOfMonth {
		err = fmt.Errorf("%d entries are attached", p.entries)
	}

	return p, err
}

// measureWaits returns how long single reads of another team wait at a server, one every few milliseconds, until the
// end.
func (b *bed) measureWaits(ctx context.Context, address string, ended <-chan time.Time) ([]float64, error) {
	c, err := dial(ctx, address, b.large.secret)
	if err != nil {
		return nil, err
	}
	defer c.close()

	ids, err := b.loadSomeIDs(ctx)
	if err != nil {
		return nil, err
	}

	var out []float64

	for n := 0; ; n++ {
		select {
		case <-ended:
			return out, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}

		// The pause keeps the reader from being a load of its own.
		one, err := latencies(ctx, c, c.request(http.MethodGet, "/operations/"+ids[n%len(ids)].String(), ""), 1, 0)
		if err != nil {
			return nil, err
		}

		out = append(out, one...)
	}
}

// publishBare returns how long the rows of a month take if SQL alone writes them: the statements from the sums of
// their entries, then the entries' statement. The operation cannot do less.
func (b *bed) publishBare(ctx context.Context) (time.Duration, error) {
	t := b.teams[bareName]

	// As the administrator, so that policies cost the base nothing.
	conn, err := pgx.Connect(ctx, b.url(superuser))
	if err != nil {
		return 0, fmt.Errorf("publish: %w", err)
	}

	defer func() { _ = conn.Close(ctx) }()

	begin := time.Now()

	for _, sql := range []string{
		`insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start, net_revenue,
				expenses, payouts, balance_end, reserve, published_at, created_at, updated_at)
			select $1, gen_random_uuid(), concat('x', p.id), p.id, p.listing_id, 'published', 'usd', date '` + publishedMonth + `-01', date '` + publishedMonth + `-31',
				s.balance_end, e.net, 0, 0, s.balance_end + e.net, 0, now(), current_timestamp, transaction_timestamp()
			from listing_ownership_period p
			join statement s on s.team_id = $1 and s.ownership_period_id = p.id and s.start_at = date '` + publishedMonth + `-01' - interval '1 month'
			join (select ownership_period_id, -sum(cent_total) as net from ledger_entry where team_id = $1 and party = 'owners'
				and txn_at between '` + publishedMonth + `-01' and '` + publishedMonth + `-31' group by 1) e on e.ownership_period_id = p.id
			where p.team_id = $1`,
		// The planner would choose a nested loop for a hundred thousand entries, and then the base would be too slow.
		"set enable_nestloop = off",
		`update ledger_entry e set statement_id = s.id from statement s where e.team_id = $1 and s.team_id = $1 and s.start_at = '` + publishedMonth + `-01'
			and e.party = 'owners' and s.ownership_period_id = e.ownership_period_id and e.txn_at between s.start_at and s.end_at`,
	} {
		args := []any{t.team}
		if !strings.Contains(sql, "$1") {
			args = nil
		}

		if _, err := conn.Exec(ctx, sql, args...); err != nil {
			return 0, fmt.Errorf("publish: %w", err)
		}
	}

	return time.Since(begin), nil
}
