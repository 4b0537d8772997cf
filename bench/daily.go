package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"stayledger/platform/id"
)

const (
	dailyRounds = 3
	// A request slower than slow is measured once, and one slower than verySlow with one client only.
	slow, verySlow = 300 * time.Millisecond, time.Second
	sampledIDs     = 500
)

// dailyClients are the numbers of clients that send the requests of a day at the same time.
var dailyClients = []int{1, 8}

// dailySections are the sections about the requests that callers send all day, which are compared with bare code that
// reads or writes the same rows. The teams have as many rows of the noun as the command line says, in a database with
// nine other teams.
func dailySections() []section {
	return []section{
		{"daily-pages", dailyRowsSeed, daily("", (*dailyBed).pages)},
		{"daily-singles", dailyRowsSeed, daily("", (*dailyBed).singles)},
		{"daily-writes", dailyRowsSeed, daily("", (*dailyBed).writes)},
		{"daily-statements", func(s sizes) *seed { return landlordsSeed(s.landlords) }, daily("statements", (*dailyBed).statements)},
		{"daily-flat", dailyRowsSeed, daily("flat", (*dailyBed).flatReports)},
		{"daily-crowds", dailyRowsSeed, daily("crowds", (*dailyBed).crowds)},
		{"daily-batch", dailyRowsSeed, daily("batch", (*dailyBed).batch)},
		{"daily-absolute", dailyRowsSeed, daily("absolute", (*dailyBed).absolute)},
		{"daily-mixed", dailyRowsSeed, daily("mixed", (*dailyBed).measureMixed)},
		{pgledgerName, dailyRowsSeed, daily(pgledgerName, (*dailyBed).comparePgledger)},
	}
}

// dailyRowsSeed is the seed of most of the sections.
func dailyRowsSeed(s sizes) *seed { return dailySeed(s.daily) }

// daily returns the measurement of a section, with the bed that it needs. Name is that of its only part; empty for one
// that has several.
func daily(
	name string,
	measure func(d *dailyBed, ctx context.Context) ([]Metric, error),
) func(ctx context.Context, b *bed) ([]Metric, error) {
	return func(ctx context.Context, b *bed) (all []Metric, err error) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()

		d := &dailyBed{bed: b, landlords: b.teams[landlordsName]}
		for _, rows := range b.sizes.daily {
			if t, is := b.dailyTeams(rows); is {
				d.teams = append(d.teams, t)
			}
		}

		// A second service counts statements: counting in the measured one would cost time.
		if d.counted, err = b.startCounted(ctx); err != nil {
			return nil, err
		}
		defer d.counted.close()

		if err := d.serveBare(ctx); err != nil {
			return nil, err
		}
		defer d.pool.Close()

		if name == "" {
			return measure(d, ctx)
		}

		return d.part(name, func() ([]Metric, error) { return measure(d, ctx) }), ctx.Err()
	}
}

// part measures a part of the section if it is wanted. One that fails prints the request and its answer, and does
// not keep others from being measured.
func (d *dailyBed) part(name string, measure func() ([]Metric, error)) []Metric {
	if !d.isWanted(name) {
		return nil
	}

	metrics, err := measure()
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "bench: daily: %s: %v\n", name, err)
		metrics = append(metrics, atMost("daily_"+name+"_failed", 1, 0, map[string]any{"error": err.Error()}))
	}

	return metrics
}

// isWanted reports whether something is to be measured.
func (d *dailyBed) isWanted(name string) bool {
	return slices.ContainsFunc(strings.Split(d.options.dailyOnly, ","), func(part string) bool { return strings.Contains(name, part) })
}

// dailyBed is the bed with the teams of the section.
type dailyBed struct {
	*bed

	teams     []dailyTeams // by size, the smallest first
	landlords tenant       // a team with the statements of two years
	counted   countingService
	pool      *pgxpool.Pool // of the bare server, without policies and triggers
	bare      string        // address of the bare server
	desks     []*desk       // of the teams
}

// serveBare opens the bare server. Its paths begin with the index of the team's size.
func (d *dailyBed) serveBare(ctx context.Context) error {
	config, err := pgxpool.ParseConfig(d.url(superuser))
	if err != nil {
		return fmt.Errorf("bare pool: %w", err)
	}

	config.MaxConns = connections
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"

	// In this role neither triggers nor foreign keys cost the bare writes anything.
	config.ConnConfig.RuntimeParams["session_replication_role"] = "replica"
	if d.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return fmt.Errorf("bare pool: %w", err)
	}

	if _, err := d.pool.Exec(ctx, bareSums); err != nil {
		return fmt.Errorf("bare tables: %w", err)
	}

	mux := http.NewServeMux()

	// Every size has its own paths, for reads and for writes.
	for size := range d.teams {
		k, err := d.openDesk(ctx, size)
		if err != nil {
			return err
		}

		d.desks = append(d.desks, k)
		d.serveWrites(mux, k)

		for _, n := range nouns() {
			d.serveNoun(mux, size, &n)
		}
	}

	d.bare, err = d.listen(ctx, mux)

	return err
}

// serveNoun adds the page of a noun and its single reads to the bare server.
func (d *dailyBed) serveNoun(mux *http.ServeMux, size int, n *noun) {
	type page struct{ Data any }

	team, path := n.team(&d.teams[size]).team, fmt.Sprintf("GET /%d/%s", size, n.name)

	// The page reads no lines; a single read has them.
	first := strings.Replace(n.sql, "$lines", "null::jsonb", 1) + " where t.team_id = $1 " + n.first + " limit 50"

	mux.HandleFunc(path, d.bareAnswer(func(r *http.Request) (any, error) {
		rows, err := n.read(r.Context(), d.pool, first, team)
		return page{rows}, err
	}))

	single := strings.Replace(n.sql, "$lines", n.lines, 1) + " where t.team_id = $1"

	// A noun without ids has only one row, whatever the path says.
	if n.of == noID {
		mux.HandleFunc(path+"/{id}", d.bareAnswer(func(r *http.Request) (any, error) {
			return n.read(r.Context(), d.pool, single, team)
		}))

		return
	}

	single += " and t.id = $2"

	mux.HandleFunc(path+"/{id}", d.bareAnswer(func(r *http.Request) (any, error) {
		one, err := id.Parse(r.PathValue("id"))
		if err != nil {
			return nil, err
		}

		return n.read(r.Context(), d.pool, single, team, one)
	}))
}

// dailyRead is a page or a single read. By size it has the paths at the service and at the bare server, in the same
// order.
type dailyRead struct {
	name       string
	teams      []tenant
	ours, bare [][]string
}

// pageRead returns the read of a noun's first page.
func (d *dailyBed) pageRead(n *noun) *dailyRead {
	r := &dailyRead{name: n.name + "_page"}
	for size := range d.teams {
		r.teams = append(r.teams, n.team(&d.teams[size]))
		r.ours, r.bare = append(r.ours, []string{n.page}), append(r.bare, []string{fmt.Sprintf("/%d/%s", size, n.name)})
	}

	return r
}

// singleReads returns the single reads of a noun.
func (d *dailyBed) singleReads(ctx context.Context, n *noun) (*dailyRead, error) {
	r := &dailyRead{name: n.name + "_one"}

	for size := range d.teams {
		t := &d.teams[size]
		r.teams = append(r.teams, n.team(t))

		ids, err := d.sampleIDs(ctx, n, t)
		if err != nil {
			return nil, err
		}

		var ours, bare []string
		for _, v := range ids {
			ours, bare = append(ours, n.one+v), append(bare, fmt.Sprintf("/%d/%s/%s", size, n.name, v))
		}

		if n.of == noID {
			ours, bare = []string{n.one}, []string{fmt.Sprintf("/%d/%s/any", size, n.name)}
		}

		r.ours, r.bare = append(r.ours, ours), append(r.bare, bare)
	}

	return r, nil
}

// sampleIDs returns ids from all of a team's rows, in random order.
func (d *dailyBed) sampleIDs(ctx context.Context, n *noun, t *dailyTeams) ([]string, error) {
	if n.of == noID {
		return nil, nil
	}

	nth := n.nth
	if nth == "" {
		nth = "i::bigint * $rows / $all"
	}

	// Ids of filled rows are computed from their number, so no table is read.
	nth = strings.NewReplacer("$rows", strconv.Itoa(t.rows), "$all", strconv.Itoa(sampledIDs)).Replace(nth)

	var ids []string

	err := d.pool.QueryRow(ctx, fmt.Sprintf("select array_agg(%s::text order by md5(i::text)) from "+
		"generate_series(0, %d) i", n.of.idSQL(nth), sampledIDs-1),
		n.team(t).team).Scan(&ids)
	if err != nil {
		return nil, fmt.Errorf("ids of %s: %w", n.name, err)
	}

	return ids, nil
}

// pages compares the page of every noun.
func (d *dailyBed) pages(ctx context.Context) (all []Metric, err error) {
	for _, n := range nouns() {
		all = append(all, d.part(n.name+"_page", func() ([]Metric, error) { return d.compareReads(ctx, d.pageRead(&n)) })...)
	}

	return all, ctx.Err()
}

// singles compares the single read of every noun.
func (d *dailyBed) singles(ctx context.Context) (all []Metric, err error) {
	for _, n := range nouns() {
		all = append(all, d.part(n.name+"_one", func() ([]Metric, error) {
			r, err := d.singleReads(ctx, &n)
			if err != nil {
				return nil, err
			}

			return d.compareReads(ctx, r)
		})...)
	}

	return all, ctx.Err()
}

// compareReads measures a read: requests a second to the bare server's at every size and with every number of
// clients, how much slower it is with the most rows than with the fewest, and the statements that it sends to the
// database.
func (d *dailyBed) compareReads(ctx context.Context, r *dailyRead) ([]Metric, error) {
	get := func(paths []string) request {
		return func(c *client, _, n int) []byte { return c.request(http.MethodGet, paths[n%len(paths)], "") }
	}

	sides := make([]*comparison, len(r.teams))
	for size := range sides {
		// A comparison is worth nothing if the servers read different rows.
		if err := d.checkSameIDs(ctx, r, size); err != nil {
			return nil, err
		}

		sides[size] = &comparison{
			rows: d.teams[size].rows,
			team: r.teams[size],
			ours: get(r.ours[size]),
			bare: get(r.bare[size]),
		}
	}

	metrics, err := d.compare(ctx, r.name, sides)
	if err != nil {
		return nil, err
	}

	// Growth compares rounds with one client, in which nothing but the size differs.
	few, many := sides[0], sides[len(sides)-1]
	if len(sides) > 1 {
		growth := make([]float64, min(len(few.alone), len(many.alone)))
		for i := range growth {
			growth[i] = few.alone[i] / many.alone[i]
		}

		metrics = append(metrics, atMost("daily_"+r.name+"_growth", median(growth), 1.5, map[string]any{
			"rounds": growth,
			"few":    few.rows,
			"many":   many.rows,
		}))
	}

	costs, err := d.costs(ctx, r.name, many)

	return append(metrics, costs...), err
}

// checkSameIDs checks that both servers return the same rows.
func (d *dailyBed) checkSameIDs(ctx context.Context, r *dailyRead, size int) error {
	var found [2][]id.ID

	for i, side := range []struct{ address, path string }{{d.ours, r.ours[size][0]}, {d.bare, r.bare[size][0]}} {
		c, err := dial(ctx, side.address, r.teams[size].secret)
		if err != nil {
			return err
		}
		defer c.close()

		answer, err := c.send(c.request(http.MethodGet, side.path, ""), true)
		if err != nil {
			return err
		}

		if found[i], err = idsIn(answer); err != nil {
			return fmt.Errorf("%s: %w", side.path, err)
		}
	}

	if len(found[0]) == 0 || !slices.Equal(found[0], found[1]) {
		return fmt.Errorf(
			"of %d rows the servers tell of %d and %d, or of different ones: %s, %s",
			d.teams[size].rows,
			len(found[0]),
			len(found[1]),
			r.ours[size][0],
			r.bare[size][0],
		)
	}

	return nil
}

// idRecord is a record of which only the id matters.
type idRecord struct{ ID id.ID }

// idsIn returns the ids of a page, of a list or of a single record.
func idsIn(answer []byte) (ids []id.ID, err error) {
	var page struct {
		idRecord

		Data []idRecord
	}
	if err := json.Unmarshal(answer, &page.Data); err != nil {
		if err := json.Unmarshal(answer, &page); err != nil {
			return nil, err
		}
	}

	if page.Data == nil {
		page.Data = []idRecord{page.idRecord}
	}

	for _, one := range page.Data {
		ids = append(ids, one.ID)
	}

	return ids, nil
}
