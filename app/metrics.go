package app

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"stayledger/platform/db"
	"stayledger/platform/job"
)

// metrics has the figures for operators. Labels are endpoints, kinds, lanes and states, never teams.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	attempts *prometheus.HistogramVec
}

// newMetrics registers what the process counts and what is read from the database on each request for metrics. The
// lanes map kinds of jobs to lanes.
func newMetrics(d *db.DB, log *slog.Logger, lanes map[string]string) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "stayledger_request_seconds", Help: "Time to answer a request, by endpoint and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60},
		}, []string{"endpoint", "status"}),
		attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "stayledger_job_attempt_seconds", Help: "Time of an attempt at a job, by kind and outcome: done, " +
				"failed, or lost to another worker.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 60, 300},
		}, []string{"kind", "outcome"}),
	}

	// A constant gauge is the usual way to publish versions.
	b := ReadBuild()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "stayledger_build_info", Help: "Always 1; the labels say which program runs.",
		ConstLabels: prometheus.Labels{
			"version":  b.Version,
			"revision": b.Revision,
			"go":       b.Go,
			"schema":   strconv.FormatInt(b.Schema, 10),
		},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.attempts, build, &backlog{db: d, log: log, lanes: lanes}, pool{d},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	return m
}

// observeRequest counts a request of an endpoint by its status and measures how long it took.
func (m *metrics) observeRequest(endpoint string, status int, took time.Duration) {
	m.requests.WithLabelValues(endpoint, strconv.Itoa(status)).Observe(took.Seconds())
}

// observeAttempt begins to measure an attempt at a job. Call the returned function with the error that ended it.
func (m *metrics) observeAttempt(j job.Job) func(error) {
	start := time.Now()

	return func(err error) {
		outcome := "done"

		switch {
		case job.LeaseLost(err):
			outcome = "lost"
		case err != nil:
			outcome = "failed"
		}

		m.attempts.WithLabelValues(j.Kind, outcome).Observe(time.Since(start).Seconds())
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// describe returns the description of a metric.
func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("stayledger_"+name, help, labels, nil)
}

// pool collects the states of the process's database connections.
type pool struct{ db *db.DB }

var (
	poolConnections = describe("pool_connections", "Database connections of this process by state: used, idle, and "+
		"the most there may be.", "state")
	poolWaits  = describe("pool_waits_total", "Transactions that had to wait for a connection.")
	poolWaited = describe("pool_wait_seconds_total", "Time that transactions waited for a connection.")
)

// Describe names the metrics.
func (pool) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{poolConnections, poolWaits, poolWaited} {
		out <- d
	}
}

// Collect reads them.
func (p pool) Collect(out chan<- prometheus.Metric) {
	s := p.db.Stats()
	for state, n := range map[string]int32{"used": s.InUse, "idle": s.Total - s.InUse, "most": s.Max} {
		out <- prometheus.MustNewConstMetric(poolConnections, prometheus.GaugeValue, float64(n), state)
	}

	out <- prometheus.MustNewConstMetric(poolWaits, prometheus.CounterValue, float64(s.Waits))

	out <- prometheus.MustNewConstMetric(poolWaited, prometheus.CounterValue, s.WaitSeconds)
}

// backlog collects the jobs and operations that wait in the database, for all processes together. While the database is
// out of reach, databaseUp is its only metric.
type backlog struct {
	db    *db.DB
	log   *slog.Logger
	lanes map[string]string
}

var (
	databaseUp = describe("database_up", "1 when the database answered this reading, else 0.")
	jobsNow    = describe("jobs", "Jobs by lane and state: due, running, later (a retry or a date ahead), "+
		"unknown kinds in lane none.", "lane", "state")
	jobOldest = describe("job_oldest_due_seconds", "Age of the job that is due and has waited longest, by "+
		"lane; 0 when none waits.", "lane")
	operationsOpen = describe("operations_open", "Operations that are not settled, by status.", "status")
	operationAge   = describe("operation_oldest_seconds", "Age of the oldest operation that is not settled, by "+
		"status; 0 when there is none.", "status")
)

// Describe names the metrics.
func (*backlog) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{databaseUp, jobsNow, jobOldest, operationsOpen, operationAge} {
		out <- d
	}
}

// kindBacklog counts the jobs of a kind by state. A job is running until its worker's lease ends.
type kindBacklog struct {
	Kind                string
	Due, Running, Later int64
	Oldest              float64 // seconds
}

// statusBacklog are the open operations of a status.
type statusBacklog struct {
	Status string
	N      int64
	Oldest float64 // seconds
}

// Collect reads the backlog from the database and sends it. If the database is out of reach, it says only that.
func (b *backlog) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}

	kinds, operations, err := b.read()
	if err != nil {
		b.log.Warn("read metrics from the database", "error", err)
		gauge(databaseUp, 0)

		return
	}

	gauge(databaseUp, 1)

	// Add up kinds by lane; lanes without jobs count zero.
	sums := map[string]kindBacklog{}
	for _, lane := range b.lanes {
		sums[lane] = kindBacklog{}
	}

	for _, k := range kinds {
		lane, known := b.lanes[k.Kind]
		if !known {
			lane = "none"
		}

		s := sums[lane]
		sums[lane] = kindBacklog{
			Due:     s.Due + k.Due,
			Running: s.Running + k.Running,
			Later:   s.Later + k.Later,
			Oldest:  max(s.Oldest, k.Oldest),
		}
	}

	// Send each figure with its labels.
	for lane, s := range sums {
		gauge(jobsNow, float64(s.Due), lane, "due")
		gauge(jobsNow, float64(s.Running), lane, "running")
		gauge(jobsNow, float64(s.Later), lane, "later")
		gauge(jobOldest, s.Oldest, lane)
	}

	for _, o := range operations {
		gauge(operationsOpen, float64(o.N), o.Status)
		gauge(operationAge, o.Oldest, o.Status)
	}
}

// read loads jobs by kind and unsettled operations by status.
func (b *backlog) read() (kinds []kindBacklog, operations []statusBacklog, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()

	err = b.db.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		kinds, err = db.Select[kindBacklog](ctx, tx, `
			select kind, count(*) filter (where due_at <= clock_timestamp()) as due,
				count(*) filter (where due_at > clock_timestamp() and worker_id is not null) as running,
				count(*) filter (where due_at > clock_timestamp() and worker_id is null) as later,
				coalesce(extract(epoch from clock_timestamp() - min(due_at) filter (where due_at <= clock_timestamp())), 0)::float8 as oldest
			from job group by kind`, nil)
		if err != nil {
			return err
		}

		operations, err = db.Select[statusBacklog](ctx, tx, `
			select s.status, count(o.id) as n, coalesce(extract(epoch from clock_timestamp() - min(o.created_at)), 0)::float8 as oldest
			from unnest('{queued,running}'::text[]) as s (status) left join operation o on o.status = s.status and o.status <> 'completed'
			group by s.status`, nil)

		return err
	})

	return kinds, operations, err
}

// attempt measures and traces an attempt of a job. The returned function ends it.
func (a *App) attempt(ctx context.Context, j job.Job) (context.Context, func(error)) {
	ctx, traced := a.traces.traceAttempt(ctx, j)
	measured := a.watch.observeAttempt(j)

	return ctx, func(err error) {
		measured(err)
		traced(err)
	}
}
