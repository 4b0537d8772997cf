// Command bench measures the service against the limits it promises to keep.
//
// It measures section by section against one PostgreSQL that it starts for itself, durable and with the settings of
// `stayledger demo`. Every limit is a ratio to bare code that does the same without the service, or to the same work at
// another size, measured in one run. So figures of different machines, or of different runs on a busy one, can be
// compared. Times and rates by themselves are figures without a limit.
//
// A section works in a database of its own, a copy of its seed. Seeds are templates in the PostgreSQL of the bench,
// which stays in .bench: the first run makes them, later ones copy them. They are made anew when their definition (the
// files seed_*.go), the newest migration or the month is another one; -fresh drops them first. Dropping the folder
// drops them all (make bench-clean).
//
// Figures are kept in results.json by section, with the commit, the time and the machine, as soon as a section is
// measured: the figures of sections that are not part of a run stay as they are. For each figure that misses its goal
// there is a line, and the exit code is 1; -v prints all figures.
//
// The sections daily-… measure the requests that callers make all day (the page and the single read of every noun, the
// writes of three of them, statements, many writers at once, batches) against bare handlers that read or write the same
// rows. -only daily measures all of them, -only daily-pages one; -daily-only takes parts of the names of what they
// measure, -daily-rows how many rows the teams have.
//
// The section daily-mixed also says in the detail of its first figure what the sessions of the database waited for while the load was
// steady, and which ten requests waited longest, and how long of that for a free client.
//
// The section pgledger compares our postings with transfers of pgledger (github.com/pgr0ss/pgledger), a ledger of
// functions in PostgreSQL: a third denominator, which is another project's code and no bare code of ours. Its SQL is not
// part of this project; -pgledger names the files, uuid-to-ulid.sql before pgledger.sql. Without them the section is
// left out.
//
// Every section is meant to take two minutes at most with its usual sizes, sync three. -large takes a million rows and
// more, and hours.
package main

import (
	"context"
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

// section measures metrics that belong together, in a database of its own with the rows of a seed.
type section struct {
	name    string
	seed    func(s sizes) *seed
	measure func(ctx context.Context, b *bed) ([]Metric, error)
}

// sections returns all sections in the order in which they run.
func sections() []section {
	operations := func(s sizes) *seed { return operationsSeed(s.operations) }
	ledgers := func(s sizes) *seed { return ledgersSeed(s.entries) }

	return slices.Concat([]section{
		{"reads", operations, reads},
		{"growth", operations, growth},
		{"start", operations, startLatency},
		{"fairness", operations, fairness},
		{"ack", operations, acknowledgements},
		{"lifecycle", operations, lifecycle},
		{"queue", operations, queue},
		{"posting", func(s sizes) *seed { return staysSeed(s.stays/4, s.stays) }, posting},
		{"contention", func(sizes) *seed { return contendedSeed() }, contention},
		{"publishing", func(s sizes) *seed { return ownersSeed(s.periods/4, s.periods) }, publishing},
		{"reports", ledgers, reports},
		{"exports", ledgers, exports},
		{"documents", func(s sizes) *seed { return ownersSeed(s.papers/10, s.papers) }, documents},
		{"intake", func(sizes) *seed { return intakeSeed() }, intakes},
		{"sync", func(sizes) *seed { return syncSeed() }, syncs},
		{"cutover", func(s sizes) *seed { return cutoverSeed(s.synced, s.synced, 10*s.synced) }, cutovers},
		{"waiting", func(s sizes) *seed { return waitingSeed(s.entries) }, waits},
		{"migration", func(sizes) *seed { return migrationSeed() }, legacyMoves},
		{"events", func(s sizes) *seed { return eventsSeed(s.events) }, events},
		{"imports", func(sizes) *seed { return intakeSeed() }, imports},
		{"teams", func(s sizes) *seed { return teamsSeed(s.whole) }, teams},
	}, dailySections())
}

// sizes are how many rows the sections work with.
type sizes struct {
	operations int   // of the large team
	entries    int   // of the largest ledger
	stays      int   // whose journals are refreshed
	periods    int   // whose statements are published
	papers     int   // statements of the larger archive
	taken      int   // records that are taken in from outside
	synced     int   // reservations of a property-management system
	moved      int   // listings of a legacy team with three years of statements
	events     int   // of the longer trail
	whole      int   // journal entries of teams that are exported and deleted
	daily      []int // rows of a noun, the fewest first
	landlords  int   // listings of the team with statements
	// turn is how long each side of a comparison of daily requests has at a time.
	turn time.Duration
}

// usual are the sizes with which every section takes at most two minutes, sync three; large are those of a million rows
// and more.
var (
	usual = sizes{
		operations: 100_000, entries: 300_000, stays: 20_000, periods: 2_000, papers: 2_000, taken: 5_000,
		synced: 20_000, moved: 300, events: 1_000_000, whole: 100_000, daily: []int{2_000, 20_000}, landlords: 250, turn: 200 * time.Millisecond,
	}
	large = sizes{
		operations: 1_000_000, entries: 10_000_000, stays: 200_000, periods: 30_000, papers: 5_000, taken: 200_000,
		synced: 200_000, moved: 1_000, events: 10_000_000, whole: 1_000_000, daily: []int{10_000, 1_000_000}, landlords: 1_000, turn: 500 * time.Millisecond,
	}
)

// options are the flags of the command line.
type options struct {
	out, only, profiles      string
	dir, log                 string
	rows, entries            int
	stays, taken, synced     int
	system                   int
	daily, dailyOnly         string
	pgledger                 string
	mixedFor                 time.Duration
	large, fresh, timed, all bool
}

// main reads the flags and measures until it is done or interrupted.
func main() {
	var o options

	flag.StringVar(&o.out, "out", "", "where to keep the figures (results.json, or results-large.json of -large)")
	flag.StringVar(&o.dir, "dir", "../.bench", "folder of PostgreSQL, which keeps the seeds")
	flag.StringVar(&o.only, "only", "", "measure only these sections: "+strings.Join(names(), ", ")+"; daily is all of daily-…")
	flag.StringVar(&o.profiles, "profiles", "", "folder for a CPU profile of each section; profiling costs time")
	flag.StringVar(&o.log, "log", os.DevNull, "where the service writes its log")
	flag.BoolVar(&o.large, "large", false, "measure with a million rows and more, which takes hours")
	flag.IntVar(&o.rows, "rows", 0, "operations of the large team")
	flag.IntVar(&o.entries, "entries", 0, "journal entries of the largest ledger")
	flag.IntVar(&o.stays, "stays", 0, "reservations whose journals are refreshed")
	flag.IntVar(&o.taken, "taken", 0, "records that are taken in from outside")
	flag.IntVar(&o.synced, "synced", 0, "reservations of the property-management system that is read by syncs, and of the team that moves to another")
	flag.IntVar(&o.system, "system", 0, "serve a property-management system with so many reservations and measure nothing, as "+
		"the section sync has it")
	flag.StringVar(&o.daily, "daily-rows", "", "rows of a noun that the requests of a day are measured with, the fewest first")
	flag.StringVar(&o.dailyOnly, "daily-only", "", "of the sections daily-… measure only requests with one of these in "+
		"their names, such as transactions,reservation_put,crowds")
	flag.StringVar(&o.pgledger, "pgledger", "", "SQL files of pgledger for the section pgledger, with commas between them, in "+
		"the order in which they are loaded; without them the section is left out")
	flag.DurationVar(&o.mixedFor, "mixed-for", 40*time.Second, "how long the section daily-mixed has an office read and "+
		"write at a steady rate")
	flag.BoolVar(&o.fresh, "fresh", false, "make the seeds anew")
	flag.BoolVar(&o.all, "v", false, "print all figures, not only those that miss their goal")
	flag.BoolVar(&o.timed, "timed", false, "tell which statements PostgreSQL spends its time on: of a section on "+
		"the standard error, of daily requests in their figures; this costs time")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	var err error
	if o.system > 0 {
		err = serveSystem(ctx, o.system)
	} else {
		err = run(ctx, o)
	}

	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// names returns the names of all sections.
func names() (all []string) {
	for _, s := range sections() {
		all = append(all, s.name)
	}

	return all
}

// chosenSizes returns the sizes of a run. It fails for numbers of rows that are too small.
func (o *options) chosenSizes() (s sizes, err error) {
	s = usual
	if o.large {
		s = large
	}

	for _, given := range []struct{ n, to *int }{{&o.rows, &s.operations}, {&o.entries, &s.entries}, {&o.stays, &s.stays}, {&o.taken, &s.taken}, {&o.synced, &s.synced}} {
		if *given.n != 0 {
			*given.to = *given.n
		}
	}

	if o.daily != "" {
		s.daily, err = parseSizes(o.daily)
	}

	return s, err
}

// chosenSections returns the sections of a run. It fails if a name is that of none.
func (o *options) chosenSections() (out []section, err error) {
	if o.only == "" {
		return sections(), nil
	}

	for name := range strings.SplitSeq(o.only, ",") {
		found := len(out)

		for _, s := range sections() {
			if s.name == name || strings.HasPrefix(s.name, name+"-") {
				out = append(out, s)
			}
		}

		if len(out) == found {
			return nil, fmt.Errorf("-only: there is no section %q, but %s", name, strings.Join(names(), ", "))
		}
	}

	return out, nil
}

// errMissed says that a goal was missed or a section failed; what it was has been printed.
var errMissed = errors.New("not all goals are met")

// run measures the sections and keeps the figures of each when it is done. A section that fails does not keep the
// others from being measured. It fails if one did, or if a goal is missed.
func run(ctx context.Context, o options) (err error) {
	// Check the flags before the long preparation.
	size, err := o.chosenSizes()
	if err != nil {
		return err
	}

	chosen, err := o.chosenSections()
	if err != nil {
		return err
	}

	c, err := startCluster(ctx, &o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()

	k, err := newKeeper(ctx, c, o)
	if err != nil {
		return err
	}

	missed := false

	for _, s := range chosen {
		if s.name == pgledgerName && o.pgledger == "" {
			_, _ = fmt.Fprintf(os.Stdout, "%s is left out: -pgledger names no SQL files\n", s.name)
			continue
		}

		metrics, took, err := c.measure(ctx, s, size, o)
		if ctx.Err() != nil {
			return ctx.Err()
		}

		if err != nil {
			missed = true
			_, _ = fmt.Fprintf(os.Stdout, "%s failed: %v\n", s.name, err)

			continue
		}

		missed = show(s.name, metrics, took, o.all) || missed

		if err := k.keep(s.name, metrics, took, size); err != nil {
			return err
		}
	}

	if missed {
		return errMissed
	}

	return nil
}

// show prints a line for a section and one for each figure that misses its goal, or for every figure. It reports
// whether one misses it.
func show(name string, metrics []Metric, took time.Duration, all bool) (missed bool) {
	_, _ = fmt.Fprintf(os.Stdout, "%s: %d figures in %.0f s\n", name, len(metrics), took.Seconds())

	for _, m := range metrics {
		switch {
		case !m.OK:
			missed = true
			_, _ = fmt.Fprintf(os.Stdout, "  MISSED %s %.3g, goal %s\n", m.Name, m.Value, m.Goal)
		case all:
			_, _ = fmt.Fprintf(os.Stdout, "  %s %.3g, goal %s\n", m.Name, m.Value, m.Goal)
		}
	}

	return missed
}

// measure measures a section in a copy of its seed, which is dropped afterwards. It returns how long all of it took but
// the making of the seed.
func (c *cluster) measure(
	ctx context.Context,
	s section,
	size sizes,
	o options,
) (metrics []Metric, took time.Duration, err error) {
	template, err := c.prepare(ctx, s.seed(size))
	if err != nil {
		return nil, 0, err
	}

	begin := time.Now()
	name := fmt.Sprintf("run_%d_%s", os.Getpid(), strings.ReplaceAll(s.name, "-", "_"))

	if err := c.copy(ctx, template, name); err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, c.drop(context.WithoutCancel(ctx), name)) }()

	if c.timed {
		if err := c.asSuperuser(ctx, name, "create extension pg_stat_statements"); err != nil {
			return nil, 0, err
		}
	}

	b, err := c.open(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, b.close()) }()

	b.sizes, b.options = size, o
	if err := b.serve(ctx); err != nil {
		return nil, 0, err
	}

	metrics, err = runProfiled(o.profiles, s.name, func() ([]Metric, error) { return s.measure(ctx, b) })
	took = time.Since(begin)

	// Each section has its own account of database time, because the counters are reset here.
	return metrics, took, errors.Join(err, b.printSpent(ctx, s.name))
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
