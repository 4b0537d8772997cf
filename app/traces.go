package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/exaring/otelpgx"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/job"
)

// traces makes the spans of requests, jobs and statements. A span names the route, the kind of job or the statement,
// and never a team, a person or an amount: whoever runs the collector may not read the books. A nil *traces makes none,
// and costs nothing.
type traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// joined continues the trace of whoever calls.
var joined = propagation.TraceContext{}

// newTraces returns traces that send spans to the collector of the settings, or nil without one. Sampling, headers
// and the name of the service follow OpenTelemetry's own environment variables.
func newTraces(ctx context.Context, c *Config) (*traces, error) {
	address := c.OTLPTraces
	if address == "" && c.OTLPEndpoint != "" {
		var err error
		if address, err = url.JoinPath(c.OTLPEndpoint, "v1", "traces"); err != nil {
			return nil, fmt.Errorf("--otlp-endpoint: %w", err)
		}
	}

	if address == "" {
		return nil, nil //nolint:nilnil // no collector, no traces
	}

	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(address))
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}

	b := ReadBuild()

	// The environment can overrule the name of the service.
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			attribute.String("service.name", "stayledger"), attribute.String("service.version", b.Version)),
		resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}

	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))

	return &traces{provider: provider, tracer: provider.Tracer("stayledger")}, nil
}

// close sends what has not been sent.
func (t *traces) close(ctx context.Context) {
	if t == nil {
		return
	}

	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()

	_ = t.provider.Shutdown(closing)
}

// traceStatements returns the tracer of database statements. Values are parameters, which it leaves out.
func (t *traces) traceStatements() db.Tracer {
	if t == nil {
		return nil
	}

	return otelpgx.NewTracer(otelpgx.WithTracerProvider(t.provider), otelpgx.WithDisableConnectionDetailsInAttributes())
}

// traceRequests returns the edge's hook, which begins a span for each request.
func (t *traces) traceRequests() func(*http.Request, *api.Endpoint) (*http.Request, func(int)) {
	if t == nil {
		return nil
	}

	return func(r *http.Request, e *api.Endpoint) (*http.Request, func(int)) {
		ctx := joined.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := t.tracer.Start(ctx,
			e.Method+" "+e.Path,
			trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(
				attribute.String("http.request.method", e.Method),
				attribute.String("http.route", e.Path),
				attribute.String("stayledger.endpoint", e.ID),
			),
		)

		return r.WithContext(ctx), func(status int) {
			span.SetAttributes(attribute.Int("http.response.status_code", status))

			if status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, http.StatusText(status))
			}

			span.End()
		}
	}
}

// traceAttempt begins the span of an attempt at a job.
func (t *traces) traceAttempt(ctx context.Context, j job.Job) (context.Context, func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}

	ctx, span := t.tracer.Start(ctx, "job "+j.Kind, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("stayledger.job.kind", j.Kind), attribute.Int("stayledger.job.attempt", int(j.Attempt))))

	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "attempt failed")
		}

		span.End()
	}
}

// traceLogs adds the ids of the trace that a line belongs to.
func (t *traces) traceLogs(log *slog.Logger) *slog.Logger {
	if t == nil {
		return log
	}

	return slog.New(tracedLines{log.Handler()})
}

type tracedLines struct{ slog.Handler }

// Handle writes a line with the ids of its trace.
func (h tracedLines) Handle(ctx context.Context, r slog.Record) error {
	if s := trace.SpanContextFromContext(ctx); s.IsValid() {
		r.AddAttrs(slog.String("trace", s.TraceID().String()), slog.String("span", s.SpanID().String()))
	}

	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the ids on lines of a derived logger.
func (h tracedLines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tracedLines{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the ids on lines of a derived logger.
func (h tracedLines) WithGroup(name string) slog.Handler {
	return tracedLines{h.Handler.WithGroup(name)}
}
