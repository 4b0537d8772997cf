package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"stayledger/app"
)

const (
	// The neighbour of a team that is exported or deleted sends so many requests a second from so many clients: about a
	// tenth of what the service could answer.
	neighbourRate, neighbourClients = 120, 4
	// A quiet time comes before each busy one, in which exports follow each other for about as long, or a team is deleted.
	neighbourQuiet = 5 * time.Second
	// How many busy times of exports there are. Each deletion takes a team of its own.
	neighbourExports = 4
	// The goal of the neighbour: how much higher the 99th percentile of its waits may be in busy times.
	neighbourGoal = 2
	// The goal of the overview: how much longer it may take of many customers than of few.
	overviewGoal = 3
	// How often a list is read to its end in a turn.
	overviewReads = 10
)

// teams compares the overview of a partner with many customers with that of one with few, and measures what the export and
// the deletion of a large team cost: the memory of the process, and the waits of another team meanwhile.
func teams(ctx context.Context, b *bed) (metrics []Metric, err error) {
	for _, list := range []struct {
		name, path string
		metric     func(growth float64, detail map[string]any) Metric
	}{
		{"overview", "/partner/overview", func(growth float64, detail map[string]any) Metric {
			return atMost("partner_overview_growth", growth, overviewGoal, detail)
		}},
		{"teams", "/teams", func(growth float64, detail map[string]any) Metric {
			return figure("partner_teams_growth", growth, detail)
		}},
	} {
		growth, detail, err := b.listGrowth(ctx, list.path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list.name, err)
		}

		metrics = append(metrics, list.metric(growth, detail))
	}

	// Each of them needs the teams of the one before: a team that is deleted can be exported no more.
	for _, measure := range []func(context.Context, *bed) ([]Metric, error){measureExports, measureRestore, measureDeletions} {
		more, err := measure(ctx, b)
		if err != nil {
			return nil, err
		}

		metrics = append(metrics, more...)
	}

	return metrics, nil
}

// listGrowth returns how much longer a list of all customers takes to its end for the partner with many than for that with
// few.
func (b *bed) listGrowth(ctx context.Context, path string) (growth float64, detail map[string]any, err error) {
	partners := [2]tenant{b.teams[fewCustomersName], b.teams[manyCustomersName]}

	var (
		clients [2]*client
		took    [2][]float64
	)

	for i, t := range partners {
		if clients[i], err = dial(ctx, b.ours, t.secret); err != nil {
			return 0, nil, err
		}
		defer clients[i].close()

		// The first reads warm up caches and plans.
		for range overviewReads {
			if _, err := clients[i].readAll(path, t.rows); err != nil {
				return 0, nil, err
			}
		}
	}

	// In turns, so that a busy moment of the machine meets both.
	for range pairs {
		for i, c := range clients {
			for range overviewReads {
				spent, err := c.readAll(path, partners[i].rows)
				if err != nil {
					return 0, nil, err
				}

				took[i] = append(took[i], float64(spent.Nanoseconds())/1e6)
			}
		}
	}

	few, many := median(took[0]), median(took[1])

	return many / few, map[string]any{
		"few": partners[0].rows, "many": partners[1].rows, "msOfFew": few, "msOfMany": many,
		"p99OfFew": quantile(took[0], 0.99), "p99OfMany": quantile(took[1], 0.99),
		"msPerTeamOfFew": few / float64(partners[0].rows), "msPerTeamOfMany": many / float64(partners[1].rows),
		"msPerFurtherTeam": (many - few) / float64(partners[1].rows-partners[0].rows),
	}, nil
}

// readAll reads a list page by page to its end and returns how long that takes. It fails unless there are so many rows.
func (c *client) readAll(path string, want int) (time.Duration, error) {
	begin := time.Now()
	rows := 0

	for next := new(1); next != nil; {
		answer, err := c.send(c.request(http.MethodGet, path+"?limit=250&page="+strconv.Itoa(*next), ""), true)
		if err != nil {
			return 0, err
		}

		var page struct {
			Data       []json.RawMessage
			Pagination struct{ NextPage *int }
		}
		if err := json.Unmarshal(answer, &page); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}

		rows += len(page.Data)
		next = page.Pagination.NextPage
	}

	if rows != want {
		return 0, fmt.Errorf("%s has %d rows, want %d", path, rows, want)
	}

	return time.Since(begin), nil
}

// measureExports returns what exports of a large team cost.
func measureExports(ctx context.Context, b *bed) ([]Metric, error) {
	large := b.teams[wholeName(0)]
	export := func(t tenant) (time.Duration, error) {
		return b.operateOn(ctx, t, http.MethodPost, "/team/export", "{}")
	}

	few, err := peakDuring(func() (time.Duration, error) { return export(b.teams[wholeSmallName]) })
	if err != nil {
		return nil, err
	}

	many, err := peakDuring(func() (time.Duration, error) { return export(large) })
	if err != nil {
		return nil, err
	}

	// Then the other team works, at times alone.
	waits, err := b.neighbourWaits(ctx, neighbourExports, func(int) error {
		for begin := time.Now(); time.Since(begin) < neighbourQuiet*3/4; {
			if _, err := export(large); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	return append(waits.metrics("team_export"),
		atMost("team_export_peak_growth_mib", many.peak-few.peak, growthGoal, peakDetail(large, many, few)),
		figure("team_export_s", many.took.Seconds(), map[string]any{"entries": large.rows, "entriesPerSecond": float64(large.rows) / many.took.Seconds()}),
	), nil
}

// measureDeletions returns what deletions of large teams cost.
func measureDeletions(ctx context.Context, b *bed) ([]Metric, error) {
	last := b.teams[wholeName(wholeTeams-1)]

	few, err := peakDuring(func() (time.Duration, error) { return b.deleteTeam(ctx, b.teams[wholeSmallName]) })
	if err != nil {
		return nil, err
	}

	many, err := peakDuring(func() (time.Duration, error) { return b.deleteTeam(ctx, last) })
	if err != nil {
		return nil, err
	}

	// Then the other team works, at times alone.
	waits, err := b.neighbourWaits(ctx, wholeTeams-1, func(n int) error {
		_, err := b.deleteTeam(ctx, b.teams[wholeName(n)])
		return err
	})
	if err != nil {
		return nil, err
	}

	return append(waits.metrics("team_delete"),
		atMost("team_delete_peak_growth_mib", many.peak-few.peak, growthGoal, peakDetail(last, many, few)),
		figure("team_delete_s", many.took.Seconds(), map[string]any{"entries": last.rows, "entriesPerSecond": float64(last.rows) / many.took.Seconds()}),
	), nil
}

// peakDuring does something and returns its time and the highest memory of the process.
func peakDuring(do func() (time.Duration, error)) (p exportPeakResult, err error) {
	peak := watchMemory()
	p.took, err = do()
	p.peak = peak()

	return p, err
}

// peakDetail returns the memory for a large and for a small team as a detail of a metric.
func peakDetail(large tenant, many, few exportPeakResult) map[string]any {
	return map[string]any{"entries": large.rows, "peakMiB": many.peak, "peakMiBOfFew": few.peak, "seconds": many.took.Seconds(), "secondsOfFew": few.took.Seconds()}
}

// operateOn starts an operation of a team and returns how long it takes, from the request to its end.
func (b *bed) operateOn(ctx context.Context, t tenant, method, path, body string) (time.Duration, error) {
	c, err := dial(ctx, b.ours, t.secret)
	if err != nil {
		return 0, err
	}
	defer c.close()

	return c.operateBy(method, path, body)
}

// deleteTeam deletes a team and returns how long that takes. It fails if entries are left.
func (b *bed) deleteTeam(ctx context.Context, t tenant) (time.Duration, error) {
	took, err := b.operateOn(ctx, t, http.MethodDelete, "/team", `{"confirmName": "Team of 0"}`)
	if err != nil {
		return 0, err
	}

	left, err := b.count(ctx, t, `select (select count(*) from ledger_entry where team_id = @team) + (select count(*) from audit_event where team_id = @team and entity_type <> 'team')`)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d entries and events of a deleted team are left", left)
	}

	return took, err
}

// neighbourRound has the waits of the neighbour in milliseconds, by kind of request: in a quiet time and in the busy one
// after it.
type neighbourRound struct {
	quiet, busy map[string][]float64
	seconds     float64 // of the busy time
}

// neighbourRounds are rounds of quiet and busy times.
type neighbourRounds []neighbourRound

// neighbourWaits does something several times, and has the neighbour read and write before and meanwhile. It fails if a
// request of the neighbour does.
func (b *bed) neighbourWaits(ctx context.Context, times int, do func(n int) error) (neighbourRounds, error) {
	m, err := b.neighbourLoad(ctx)
	if err != nil {
		return nil, err
	}

	l, err := newLoad(ctx, neighbourClients, b.ours, b.teams[neighbourName].secret, nil)
	if err != nil {
		return nil, err
	}
	defer l.close()

	// The first requests warm up caches and plans.
	if _, failed := l.sendSteadily(ctx, m, neighbourRate, time.Second); failed.failed > 0 {
		return nil, errors.New(failed.failure)
	}

	var all neighbourRounds

	for n := range times {
		quiet, failed := l.sendSteadily(ctx, m, neighbourRate, neighbourQuiet)
		if failed.failed > 0 {
			return nil, errors.New(failed.failure)
		}

		// The neighbour works as long as the other thing takes.
		working, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		begin := time.Now()

		go func() {
			defer stop()

			ended <- do(n)
		}()

		busy, failed := l.sendSteadily(working, m, neighbourRate, 10*patience)

		if err := <-ended; err != nil {
			return nil, err
		}

		if failed.failed > 0 {
			return nil, errors.New(failed.failure)
		}

		wait := func(s *sentRequest) float64 { return s.MS }
		all = append(all, neighbourRound{quiet.byKind(wait), busy.byKind(wait), time.Since(begin).Seconds()})
	}

	return all, ctx.Err()
}

// The kinds of the neighbour's requests.
const neighbourReads, neighbourWrites = "reads", "writes"

// metrics returns how much higher the 99th percentile of the waits is in busy times, for reads and for writes: the middle
// of the rounds, since a busy moment of the machine can meet one side of a round.
func (all neighbourRounds) metrics(name string) (out []Metric) {
	for _, kind := range []string{neighbourReads, neighbourWrites} {
		var quiet, busy, ratios, seconds []float64

		for _, r := range all {
			quiet, busy = append(quiet, r.quiet[kind]...), append(busy, r.busy[kind]...)
			ratios = append(ratios, quantile(r.busy[kind], 0.99)/quantile(r.quiet[kind], 0.99))
			seconds = append(seconds, r.seconds)
		}

		out = append(out, atMost(name+"_neighbour_"+kind+"_p99_ratio", median(ratios), neighbourGoal, map[string]any{
			"quietP50Ms": median(quiet), "quietP99Ms": quantile(quiet, 0.99), "quietMaxMs": quantile(quiet, 1), "quietSent": len(quiet),
			"busyP50Ms": median(busy), "busyP99Ms": quantile(busy, 0.99), "busyMaxMs": quantile(busy, 1), "busySent": len(busy),
			"perSecond": neighbourRate, "busySeconds": seconds, "rounds": ratios,
		}))
	}

	return out
}

// neighbourLoad returns the requests of the neighbour: of three two read and one writes.
func (b *bed) neighbourLoad(ctx context.Context) (*mixedLoad, error) {
	t := b.teams[neighbourName]

	stays, err := b.loadIDs(ctx, t, `select id from reservation where team_id = @team order by confirmation_code`)
	if err != nil {
		return nil, err
	}

	bank, err := b.loadID(ctx, t, `select id from account where team_id = @team and code = '1000'`)
	if err != nil {
		return nil, err
	}

	reads := []string{"/reservations?limit=50", "/reports/journal-entries?limit=50", "/accounts/" + bank.String() + "/summary", "/general-ledger/journals?limit=50"}
	for _, stay := range stays[:len(reads)] {
		reads = append(reads, "/reservations/"+stay.String())
	}

	return &mixedLoad{kinds: []string{neighbourReads, neighbourReads, neighbourWrites}, requests: map[string]request{
		neighbourReads: func(c *client, k, n int) []byte {
			return c.request(http.MethodGet, reads[(k+n)%len(reads)], "")
		},
		// Each client has stays of its own, and every write changes one.
		neighbourWrites: func(c *client, k, n int) []byte {
			stay := (k + n*neighbourClients) % len(stays)
			return c.request(http.MethodPut, "/reservations/"+stays[stay].String(), "{"+stayFields(stay, n)+"}")
		},
	}}, nil
}

// measureRestore returns how long a team takes to be restored from the last archive of the large team. It fails unless the
// restored team has all entries.
func measureRestore(ctx context.Context, b *bed) ([]Metric, error) {
	large := b.teams[wholeName(0)]

	path, err := b.downloadArchive(ctx, large)
	if err != nil {
		return nil, err
	}

	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}

	// The team has no secrets, so any key will do.
	config := &app.Config{DataDir: b.folder, SecretKeys: []string{base64.StdEncoding.EncodeToString(make([]byte, 32))}}
	began := time.Now()

	made, err := app.RestoreTeam(ctx, config, b.db, slog.New(slog.DiscardHandler), app.ArchivedTeam{Path: path})
	if err != nil {
		return nil, err
	}

	took := time.Since(began).Seconds()

	n, err := b.count(ctx, tenant{team: made}, `select count(*) from ledger_entry where team_id = @team`)
	if err == nil && n != int64(large.rows) {
		err = fmt.Errorf("%d entries are restored, want %d", n, large.rows)
	}

	mib := float64(info.Size()) / (1 << 20)

	return []Metric{figure("team_restore_s", took, map[string]any{
		"entries": large.rows, "entriesPerSecond": float64(large.rows) / took, "archiveMiB": mib, "mibPerSecond": mib / took,
	})}, errors.Join(err, os.Remove(path))
}

// downloadArchive downloads the last archive of a team and returns the path of the file.
func (b *bed) downloadArchive(ctx context.Context, t tenant) (path string, err error) {
	archive, err := b.loadID(ctx, t, `select id from file where team_id = @team and kind = 'archive' order by id desc limit 1`)
	if err != nil {
		return "", err
	}

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.ours+"/files/"+archive.String()+"/download", nil)
	if err != nil {
		return "", fmt.Errorf("download the archive: %w", err)
	}

	r.Header.Set("X-Api-Key", t.secret)

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", fmt.Errorf("download the archive: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()

	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("download the archive: %s", answer.Status)
	}

	path = filepath.Join(b.folder, "team.zip")

	file, err := os.Create(path) //nolint:gosec // The folder is the bed's.
	if err != nil {
		return "", fmt.Errorf("download the archive: %w", err)
	}

	_, err = io.Copy(file, answer.Body)

	return path, errors.Join(err, file.Close())
}
