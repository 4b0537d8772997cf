package app

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"

	"stayledger/platform/db"
)

type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
}

func newMetrics(d *db.DB) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "stayledger_request_seconds", Help: "Time to answer a request, by endpoint and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60},
		}, []string{"endpoint", "status"}),
	}
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "stayledger_jobs", Help: "Jobs that wait or run; NaN while the database is out of reach.",
	}, func() float64 { return jobs(d) })
	m.registry.MustRegister(m.requests, waiting, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func jobs(d *db.DB) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var n int64
	err := d.ReadOne(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select count(*) from job`, nil)
		return err
	})
	if err != nil {
		n, err := strconv.ParseFloat("NaN", 64)
		if err != nil {
			return 0
		}
		return n
	}
	return float64(n)
}

func (m *metrics) request(endpoint string, status int, took time.Duration) {
	m.requests.WithLabelValues(endpoint, strconv.Itoa(status)).Observe(took.Seconds())
}

func (m *metrics) handler() http.HandlerFunc {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}).ServeHTTP
}

// startTraces sends traces when an address is set. Without one nothing is installed: instrumentation costs even when it goes nowhere.
func startTraces(ctx context.Context, endpoint string) (stop func(), err error) {
	if endpoint == "" {
		return func() {}, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fmt.Errorf("OpenTelemetry: %w", err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = provider.Shutdown(closing)
	}, nil
}

func traced(h http.Handler, on bool) http.Handler {
	if !on {
		return h
	}
	return otelhttp.NewHandler(h, "http")
}
