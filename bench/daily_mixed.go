package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// The mixed load comes from this many clients, at the part mixedShare of the highest rate that they reach.
	mixedClients = 8
	mixedShare   = 0.7
	// The memory that the process takes in the first and in the last part of the time is compared.
	mixedParts = 5
)

// mixedLoad is the load of an office: of twenty requests sixteen read and four write.
type mixedLoad struct {
	kinds    []string
	requests map[string]request
}

// at returns the n-th request of a client. Clients begin at different places of the round.
func (m *mixedLoad) at(client, n int) (kind string, r request) {
	kind = m.kinds[(7*client+n)%len(m.kinds)]
	return kind, m.requests[kind]
}

// measureMixed has clients read and write at the same time at a steady rate. It measures the longest waits of readers
// and the memory of the process.
func (d *dailyBed) measureMixed(ctx context.Context) ([]Metric, error) {
	k := d.desks[len(d.desks)-1]

	m, writes, err := d.newMix(ctx, k)
	if err != nil {
		return nil, err
	}

	l, err := newLoad(ctx, mixedClients, d.ours, k.team.secret, func(c *client, client, n int) []byte {
		_, r := m.at(client, n)
		return r(c, client, n)
	})
	if err != nil {
		return nil, err
	}
	defer l.close()

	// First find the highest rate, then send at a part of it: beyond the highest rate waits would only show the
	// queue.
	peak, err := l.run(ctx, min(d.options.mixedFor, 20*time.Second))
	if err != nil {
		return nil, err
	}

	watch, err := d.watchActivity(ctx)
	if err != nil {
		return nil, err
	}

	sent, memory, failed := d.steady(ctx, l, m, peak.perSecond*mixedShare)

	activity, err := watch()
	if err != nil {
		return nil, err
	}

	waits := sent.byKind(func(s *sentRequest) float64 { return s.MS })
	answers := sent.byKind(func(s *sentRequest) float64 { return s.MS - s.QueuedMS })
	worst, kinds := 0.0, map[string]any{}

	// Only readers have a limit. Each is compared with its own median.
	for kind, ms := range waits {
		p50, p99 := median(ms), quantile(ms, 0.99)

		kinds[kind] = map[string]any{
			"p50Ms": p50, "p99Ms": p99, "sent": len(ms),
			"p50AnswerMs": median(answers[kind]), "p99AnswerMs": quantile(answers[kind], 0.99),
		}
		if !writes[kind] {
			worst = max(worst, p99/p50)
		}
	}

	detail := map[string]any{
		"rows":          k.rows,
		"peakPerSecond": peak.perSecond,
		"seconds":       d.options.mixedFor.Seconds(),
		"kinds":         kinds,
		"slowest":       sent.slowest(),
		"activity":      activity,
		"memoryMiB":     memory,
		"failed":        failed.failed,
		"failure":       failed.failure,
	}

	return []Metric{
		atMost("daily_mixed_worst_p99_to_p50", worst, 5, detail),
		atMost("daily_mixed_growth_mib", memory[len(memory)-1]-memory[0], 32, detail),
		atMost("daily_mixed_failed", float64(peak.failed+failed.failed), 0, detail),
	}, ctx.Err()
}

// newMix returns the mixed load for a team, and which of its kinds write.
func (d *dailyBed) newMix(ctx context.Context, k *desk) (*mixedLoad, map[string]bool, error) {
	get := func(paths ...string) request {
		return func(c *client, client, n int) []byte {
			return c.request(http.MethodGet, paths[(37*client+n)%len(paths)], "")
		}
	}
	m := &mixedLoad{requests: map[string]request{
		"transactions_page":    get("/transactions?limit=50"),
		"reservations_page":    get("/reservations?limit=50"),
		"journals_page":        get("/general-ledger/journals?limit=50"),
		"journal_entries_page": get("/reports/journal-entries?limit=50"),
		"account_summary":      get("/accounts/" + k.bank.String() + "/summary"),
	}}

	// First the reads, of pages and of single stays and transactions.
	for _, n := range nouns() {
		if n.name != "transactions" && n.name != "reservations" {
			continue
		}

		r, err := d.singleReads(ctx, &n)
		if err != nil {
			return nil, nil, err
		}

		m.requests[n.name+"_one"] = get(r.ours[k.size]...)
	}

	// Then the writes. Frequent requests appear several times in a round, all others once.
	times := map[string]int{
		"transactions_page": 3,
		"reservations_page": 3,
		"transactions_one":  3,
		"reservations_one":  3,
		"journals_page":     2,
	}
	writes := map[string]bool{}

	for _, w := range dailyWrites() {
		if w.team(k) == k.team {
			m.requests[w.name], writes[w.name] = w.request(k, atService), true
		}
	}

	// The order of a map changes between runs, so sort the kinds.
	for _, kind := range slices.Sorted(maps.Keys(m.requests)) {
		for range max(times[kind], 1) {
			m.kinds = append(m.kinds, kind)
		}
	}

	return m, writes, nil
}

// steady sends the load at a fixed rate. It returns what was sent, and the highest memory of the process in each part of the
// time, in MiB.
func (d *dailyBed) steady(
	ctx context.Context,
	l *load,
	m *mixedLoad,
	perSecond float64,
) (sent sentRequests, memory []float64, failed runResult) {
	// Memory is sampled in the background, a peak for each part of the time.
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)

		for range mixedParts {
			peak := watchMemory()

			select {
			case <-time.After(d.options.mixedFor / mixedParts):
			case <-ctx.Done():
			}

			memory = append(memory, peak())
		}
	}()

	sent, failed = l.sendSteadily(ctx, m, perSecond, d.options.mixedFor)

	<-sampled

	return sent, memory, failed
}

// sentRequest is a request of the steady load. Its wait of MS milliseconds begins when it was due, at DueMS from the
// beginning; for the first QueuedMS of it no client was free to send it.
type sentRequest struct {
	Kind     string  `json:"kind"`
	MS       float64 `json:"ms"`
	QueuedMS float64 `json:"queuedMs"`
	DueMS    float64 `json:"dueMs"`
}

// sentRequests are the requests of a steady load.
type sentRequests []sentRequest

// byKind returns a figure of the requests, by their kind.
func (all sentRequests) byKind(figure func(s *sentRequest) float64) map[string][]float64 {
	out := map[string][]float64{}
	for i := range all {
		out[all[i].Kind] = append(out[all[i].Kind], figure(&all[i]))
	}

	return out
}

// slowest returns the ten requests with the longest waits, the longest first.
func (all sentRequests) slowest() sentRequests {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b sentRequest) int { return cmp.Compare(b.MS, a.MS) })
	return sorted[:min(10, len(sorted))]
}

// sendSteadily sends a mixed load at a fixed rate for a time, or until the context ends, however long the answers take. It
// returns what was sent, and what failed.
func (l *load) sendSteadily(ctx context.Context, m *mixedLoad, perSecond float64, length time.Duration) (sent sentRequests, failed runResult) {
	var (
		mu  sync.Mutex
		due atomic.Int64
	)

	interval := time.Duration(float64(time.Second) / perSecond)
	begin := time.Now()

	_ = each(len(l.clients), func(k int) error {
		for ctx.Err() == nil {
			// Every request has its time. A client that is free takes the next one, at once if it is late.
			at := time.Duration(due.Add(1)-1) * interval
			if at >= length {
				return nil
			}

			time.Sleep(time.Until(begin.Add(at)))
			kind, r := m.at(k, l.sent[k])
			queued := time.Since(begin) - at
			_, err := l.clients[k].send(r(l.clients[k], k, l.sent[k]), false)
			wait := time.Since(begin) - at
			l.sent[k]++

			mu.Lock()

			sent = append(sent, sentRequest{kind, milliseconds(wait), milliseconds(queued), milliseconds(at)})

			if err != nil {
				if failed.failed++; failed.failed == 1 {
					failed.failure = fmt.Sprintf("%s: %v", kind, err)
				}
			}
			mu.Unlock()
		}

		return nil
	})

	return sent, failed
}

// milliseconds returns a time in milliseconds.
func milliseconds(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1e6 }
