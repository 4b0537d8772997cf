package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/pgserver"
)

const (
	manyPeriods = 10_000
	fewPeriods  = 2_500
	// The statements of publishedMonth are published here. The earlierMonths before it have statements that are
	// published already, with their entries.
	publishedMonth = "2026-10"
	earlierMonths  = 3
)

// publishing publishes one month of statements of ten thousand ownership periods as one operation, and compares it
// with the same rows written by two SQL statements. It also measures the memory of the process, and the waits of
// others meanwhile.
func publishing(ctx context.Context, b *bed) ([]Metric, error) {
	few, err := b.publish(ctx, fewPeriods)
	if err != nil {
		return nil, err
	}

	many, err := b.publish(ctx, manyPeriods)
	if err != nil {
		return nil, err
	}

	bare, err := b.publishBare(ctx, manyPeriods)
	if err != nil {
		return nil, err
	}

	// Then the details of the metrics.
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
		atMost("publish_growth", many.took.Seconds()/few.took.Seconds()/(manyPeriods/fewPeriods), 1.2, detail),
		atMost("publish_peak_mib", many.peak, memoryGoal, memory),
		atMost("publish_peak_growth_mib", many.peak-few.peak, 32, memory),
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

// publish publishes a month of a fresh team over the API.
func (b *bed) publish(ctx context.Context, periods int) (p publishResult, err error) {
	t, err := b.newOwnersBooks(ctx, periods)
	if err != nil {
		return p, err
	}

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
	if err == nil && p.entries != int64(periods)*entriesOfMonth {
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

// entriesOfMonth is how many owners' entries a period has in a month: two stays with rent, cleaning and two fees
// each, and a bill.
const entriesOfMonth = 9

// newOwnersBooks creates a team with many listings, entries of some months, and the statements of all these months but
// the last.
func (b *bed) newOwnersBooks(ctx context.Context, periods int) (t tenant, err error) {
	if t, err = b.newManager(ctx, periods); err != nil {
		return t, err
	}

	// The entries of earlier months already belong to a statement.
	entries := fmt.Sprintf(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, party,
			listing_id, ownership_period_id, trigger_type, created_at, statement_id)
		select $1, gen_random_uuid(), s.source, 'bench:' || s.source, e.ref, 'trust', s.at, a.id, e.cents, 'usd', e.party, p.listing_id, p.id, 'reservation', now(),
			case when e.party = 'owners' and month > 0 then md5(p.id::text || month)::uuid end
		from listing_ownership_period p
		cross join lateral (select md5(p.id::text || month || ':' || n)::uuid as source, n, month,
				(date '%s-01' - make_interval(months => month) + make_interval(days => 3 + 9 * n))::date as at
			from generate_series(0, %d) month cross join generate_series(0, 2) n) s
		join (values (0, 'ar', 115000, '2000', null), (0, 'rent', -100000, '4000', 'owners'), (0, 'clean', -15000, '4010', 'owners'),
			(0, 'fee', 20000, '5100', 'owners'), (0, 'feem', -20000, '4100', 'manager'), (0, 'cl', 15000, '5110', 'owners'), (0, 'clm', -15000, '4110', 'manager'),
			(2, 'bill', 5000, '5200', 'owners'), (2, 'ap', -5000, '2200', null)) as e (kind, ref, cents, code, party) on e.kind = s.n - s.n %% 2
		join account a on a.team_id = $1 and a.code = e.code
		where p.team_id = $1`, publishedMonth, earlierMonths)

	// Then the first month, the entries, the statements of earlier months, and the kept sums.
	err = b.asAdministrator(ctx, append([]string{
		fmt.Sprintf(`update team set statement_start_at = (date '%s-01' - make_interval(months => %d))::date where id = $1`, publishedMonth, earlierMonths),
		entries,
		strings.NewReplacer("$months", fmt.Sprintf("generate_series(1, %d)", earlierMonths), "$last", publishedMonth, "$earlier", strconv.Itoa(earlierMonths)).Replace(`
			insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start, net_revenue,
				expenses, payouts, balance_end, reserve, published_at, created_at, updated_at)
			select team_id, md5(id::text || month)::uuid, concat('s', month, id), id, listing_id, 'published', 'usd', at, at + interval '1 month - 1 day',
				($earlier - month) * 155000, 155000, 0, 0, ($earlier + 1 - month) * 155000, 0, now(), current_timestamp, transaction_timestamp()
			from (select p.*, month, (date '$last-01' - make_interval(months => month))::date as at from listing_ownership_period p cross join $months month
				where p.team_id = $1) x`),
	}, insertSums...), t)
	if err != nil {
		return t, err
	}

	return t, b.asAdministrator(ctx, []string{
		"vacuum analyze",
		"checkpoint",
	}, tenant{}) // so that neither disturbs the measurement
}

// publishBare returns how long the rows of a month take if SQL alone writes them: the statements from the sums of
// their entries, then the entries' statement. The operation cannot do less.
func (b *bed) publishBare(ctx context.Context, periods int) (time.Duration, error) {
	t, err := b.newOwnersBooks(ctx, periods)
	if err != nil {
		return 0, err
	}

	// As the administrator, so that policies cost the base nothing.
	conn, err := pgx.Connect(ctx, b.server.URL("postgres", pgserver.Role))
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
