// Command bench measures the service against the limits it promises to keep.
//
// It measures everything in one run against one PostgreSQL that it starts for itself, durable and with the settings of
// `stayledger demo`. Every limit is a ratio to bare code that does the same without the service, or a latency inside
// one process. So figures of different machines, or of different runs on a busy one, can be compared. It prints a line
// for each metric: name, value, goal, and ok or short.
//
// The section daily is the longest. It holds what callers do all day (the page and the single read of every noun, the
// writes of three of them, statements, many writers at once, batches) against bare handlers that read or write the same
// rows. -daily-only takes parts of the names of what it measures, -daily-rows how many rows the teams have: -only daily
// -daily-only transactions,crowds -daily-rows 10000 takes a few minutes.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Metric is one measured figure.
type Metric struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// Goal is the limit with its direction, such as ">= 0.6".
	Goal string `json:"goal"`
	OK   bool   `json:"ok"`
	// Detail holds the measurements that the figure was computed from.
	Detail map[string]any `json:"detail"`
}

// section measures metrics that belong together.
type section struct {
	name    string
	measure func(ctx context.Context, b *bed) ([]Metric, error)
}

// sections returns all sections in the order in which they run.
func sections() []section {
	return []section{
		{"reads", reads},
		{"growth", growth},
		{"start", startLatency},
		{"fairness", fairness},
		{"ack", acknowledgements},
		{"lifecycle", lifecycle},
		{"queue", queue},
		{"posting", posting},
		{"contention", contention},
		{"publishing", publishing},
		{"reports", reports},
		{"exports", exports},
		{"documents", documents},
		{"daily", daily},
	}
}

// options are the flags of the command line.
type options struct {
	out, only, profiles string
	rows, entries       int
	daily, dailyOnly    string
	mixedFor            time.Duration
	timed               bool
}

// main reads the flags and measures until it is done or interrupted.
func main() {
	var o options
	flag.StringVar(&o.out, "out", "results.json", "where to write the figures as JSON")
	flag.StringVar(&o.only, "only", "", "measure only these sections: reads, growth, start, fairness, ack, "+
		"lifecycle, queue, posting, contention, publishing, reports, exports, documents, daily")
	flag.StringVar(&o.profiles, "profiles", "", "folder for a CPU profile of each section; profiling costs time")
	flag.IntVar(&o.rows, "rows", 1_000_000, "operations of the large team")
	flag.IntVar(&o.entries, "entries", 10_000_000, "journal entries of the largest ledger")
	flag.StringVar(&o.daily, "daily-rows", "10000,1000000", "rows of a noun that the requests of a day are measured "+
		"with, the fewest first")
	flag.StringVar(&o.dailyOnly, "daily-only", "", "of the section daily measure only requests with one of these in "+
		"their names, such as transactions,reservation_put,crowds")
	flag.DurationVar(&o.mixedFor, "mixed-for", time.Minute, "how long the section daily has an office read and "+
		"write at a steady rate")
	flag.BoolVar(&o.timed, "timed", false, "tell which statements PostgreSQL spends its time on: of a section on "+
		"the standard error, of the requests of the section daily in their figures; this costs time")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)

	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run starts the bed, measures the sections, prints their metrics and writes them to a file.
func run(ctx context.Context, o options) (err error) {
	// Check the flags before the long preparation.
	dailyRows, err := parseSizes(o.daily)
	if err != nil {
		return err
	}

	b, err := newBed(ctx, o)
	if err != nil {
		return err
	}

	b.dailyRows, b.dailyOnly, b.mixedFor = dailyRows, strings.Split(o.dailyOnly, ","), o.mixedFor
	defer func() { err = errors.Join(err, b.close()) }()

	var all []Metric

	for _, s := range sections() {
		if o.only != "" && !slices.Contains(strings.Split(o.only, ","), s.name) {
			continue
		}

		// A section that fails ends the run.
		metrics, err := runProfiled(o.profiles, s.name, func() ([]Metric, error) { return s.measure(ctx, b) })
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}

		// Each section has its own account of database time, because the counters are reset here.
		if err := b.printSpent(ctx, s.name); err != nil {
			return err
		}

		// Print each section when it is done: a full run takes long.
		for _, m := range metrics {
			verdict := "short"
			if m.OK {
				verdict = "ok"
			}

			_, _ = fmt.Fprintf(os.Stdout, "%s\t%.3g\t%s\t%s\n", m.Name, m.Value, m.Goal, verdict)
		}

		all = append(all, metrics...)
	}

	// Last, write all figures as JSON. Goals contain angle brackets, which must stay readable.
	var text bytes.Buffer

	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")

	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}

	if err := os.WriteFile(o.out, text.Bytes(), 0o644); err != nil { //nolint:gosec // The figures are for everybody.
		return fmt.Errorf("write the figures: %w", err)
	}

	return nil
}

// parseSizes returns the numbers of a list with commas. It refuses numbers below 1000.
func parseSizes(text string) (sizes []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1000 {
			return nil, fmt.Errorf("-daily-rows: %q is no number from 1000 on", part)
		}

		sizes = append(sizes, n)
	}

	return sizes, nil
}

// runProfiled runs a section, under the profiler if there is a folder for it.
func runProfiled(folder, name string, measure func() ([]Metric, error)) ([]Metric, error) {
	if folder == "" {
		return measure()
	}

	file, err := os.Create(filepath.Join(folder, name+".prof")) //nolint:gosec // The developer names the folder.
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}

	defer func() { _ = file.Close() }()

	// Each section has its own profile, so that they can be compared.
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}

	defer pprof.StopCPUProfile()

	return measure()
}

// atLeast returns a metric that is ok from the limit on.
func atLeast(name string, value, limit float64, detail map[string]any) Metric {
	return Metric{Name: name, Value: value, Goal: fmt.Sprintf(">= %g", limit), OK: value >= limit, Detail: detail}
}

// atMost returns a metric that is ok up to the limit.
func atMost(name string, value, limit float64, detail map[string]any) Metric {
	return Metric{Name: name, Value: value, Goal: fmt.Sprintf("<= %g", limit), OK: value <= limit, Detail: detail}
}

// figure returns a metric without a goal.
func figure(name string, value float64, detail map[string]any) Metric {
	return Metric{Name: name, Value: value, Goal: "-", OK: true, Detail: detail}
}

// quantile returns the value below which a part of the figures lies.
func quantile(figures []float64, part float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}

// median returns the middle of the figures.
func median(figures []float64) float64 { return quantile(figures, 0.5) }
