package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"stayledger/platform/id"
)

// metricGoal is how many milliseconds a metric may take, and metricGrowth how much longer it may take over ten times as
// many records of syncs.
const metricGoal, metricGrowth = 10, 1.5

// cutovers compares a cutover, which is applied in the request, with the refresh of journals that it queues: both are
// about the same reservations. It also measures the metrics of two teams that differ in how many records their syncs
// have had.
func cutovers(ctx context.Context, b *bed) ([]Metric, error) {
	applied, err := b.applyCutover(ctx, b.teams[movingName])
	if err != nil {
		return nil, err
	}

	metrics, err := b.timeMetrics(ctx)

	return append([]Metric{applied}, metrics...), err
}

// applyCutover moves a team to its other system. It fails if entries of the source are left, or if the target has none.
func (b *bed) applyCutover(ctx context.Context, t tenant) (m Metric, err error) {
	c, err := dial(ctx, b.ours, t.secret)
	if err != nil {
		return m, err
	}
	defer c.close()

	// First the books as they are before: both systems post.
	posted, err := c.operate("/reservations/journal-entries", "{}")
	if err != nil {
		return m, err
	}

	connections, err := b.loadIDs(ctx, t, `select id from connection where team_id = @team order by name`)
	if err != nil {
		return m, err
	}

	var done struct {
		QueuedReservationRefreshCount int
		OperationIDs                  []id.ID
	}

	begin := time.Now()

	if err := c.ask(http.MethodPost, "/connections/pms-cutover/apply", item{
		"sourceConnectionId": connections[0], "targetConnectionId": connections[1], "cutoverAt": cutoverAt,
	}, &done); err != nil {
		return m, err
	}

	// The refresh has begun by now; what it does meanwhile counts for neither.
	apply := time.Since(begin)
	begin = time.Now()

	for _, operation := range done.OperationIDs {
		if err := c.outlast("/operations/" + operation.String()); err != nil {
			return m, err
		}
	}

	refresh := time.Since(begin)

	if err := b.checkMoved(ctx, t); err != nil {
		return m, err
	}

	if done.QueuedReservationRefreshCount != t.rows {
		return m, fmt.Errorf("%d of %d reservations are refreshed", done.QueuedReservationRefreshCount, t.rows)
	}

	n := float64(t.rows)

	return atLeast("cutover_apply_ratio", refresh.Seconds()/apply.Seconds(), 0.5, map[string]any{
		"reservations": t.rows, "applyPerSecond": n / apply.Seconds(), "refreshPerSecond": n / refresh.Seconds(), "firstPostingPerSecond": n / posted.Seconds(),
		"workers": workers,
	}), nil
}

// checkMoved fails unless the stays of the target have all entries of a team that has moved.
func (b *bed) checkMoved(ctx context.Context, t tenant) error {
	const posted = `select count(distinct e.source_id) from ledger_entry e join reservation r on r.team_id = e.team_id and r.id = e.source_id
		join connection c on c.team_id = r.team_id and c.id = r.connection_id
		where e.team_id = @team and e.status = 'active' and c.name = `

	for system, want := range map[string]int{"source": 0, "target": t.rows / 2} {
		n, err := b.count(ctx, t, posted+`'`+system+`'`)
		if err == nil && n != int64(want) {
			err = fmt.Errorf("%d stays of the %s have entries, want %d", n, system, want)
		}

		if err != nil {
			return err
		}
	}

	return nil
}

// timeMetrics returns how long the metrics of the teams with few and with many records of syncs take. The stays and
// books of both teams are the same.
func (b *bed) timeMetrics(ctx context.Context) (out []Metric, err error) {
	few, err := b.openMetrics(ctx, b.teams[fewName])
	if err != nil {
		return nil, err
	}
	defer few.close()

	many, err := b.openMetrics(ctx, b.teams[manyName])
	if err != nil {
		return nil, err
	}
	defer many.close()

	const period = "?startDate=2025-01&endDate=2025-12"

	for _, metric := range []struct{ name, path string }{
		{"sync_by_status", "/metrics/sync-by-status?view=automate&connectionId="},
		{"occupancy", "/metrics/occupancy-rate-over-time" + period},
		{"listing_revenue", "/metrics/listing-revenue" + period},
	} {
		var took [2][]float64

		// In turns, so that a busy moment of the machine meets both.
		for range pairs {
			for i, c := range []*metricClient{few, many} {
				spent, err := c.latencies(ctx, metric.path)
				if err != nil {
					return nil, err
				}

				took[i] = append(took[i], spent...)
			}
		}

		detail := map[string]any{
			"records": many.rows, "few": few.rows, "stays": metricStays, "msOfFew": median(took[0]), "p99": quantile(took[1], 0.99),
		}
		out = append(out, atMost("metric_"+metric.name+"_ms", median(took[1]), metricGoal, detail),
			atMost("metric_"+metric.name+"_growth", median(took[1])/median(took[0]), metricGrowth, detail))
	}

	return out, nil
}

// metricClient asks for the metrics of a team.
type metricClient struct {
	*client

	rows   int
	source id.ID
}

// openMetrics posts the stays of a team and returns a client of its metrics. It fails if they say nothing.
func (b *bed) openMetrics(ctx context.Context, t tenant) (*metricClient, error) {
	if _, err := b.refreshAll(ctx, t); err != nil {
		return nil, err
	}

	source, err := b.loadID(ctx, t, `select id from connection where team_id = @team and name = 'source'`)
	if err != nil {
		return nil, err
	}

	c, err := dial(ctx, b.ours, t.secret)
	if err != nil {
		return nil, err
	}

	m := &metricClient{client: c, rows: t.rows, source: source}

	answer, err := c.send(c.request(http.MethodGet, "/metrics/sync-by-status?view=automate&connectionId="+source.String(), ""), true)
	if err != nil {
		return nil, err
	}

	var counted struct{ Data []struct{ Total int } }
	if err := json.Unmarshal(answer, &counted); err != nil {
		return nil, fmt.Errorf("read a metric: %w", err)
	}

	total := 0
	for _, row := range counted.Data {
		total += row.Total
	}

	if total != t.rows {
		return nil, fmt.Errorf("the metric counts %d of %d records", total, t.rows)
	}

	return m, nil
}

// latencies returns how long some requests for a metric take, in milliseconds. A path that ends with = gets the
// connection.
func (m *metricClient) latencies(ctx context.Context, path string) ([]float64, error) {
	if path[len(path)-1] == '=' {
		path += m.source.String()
	}

	return latencies(ctx, m.client, m.request(http.MethodGet, path, ""), 40, 0)
}
