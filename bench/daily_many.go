package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/id"
)

const (
	crowdRounds = 2
	crowdTurn   = 1500 * time.Millisecond
	// Batches of batchStays stays are sent, as many as batches says.
	batchStays = 2000
	batches    = 3
)

// crowds has many clients write on one listing, and as many on a listing each.
func (d *dailyBed) crowds(ctx context.Context) (metrics []Metric, err error) {
	k := d.desks[len(d.desks)-1]

	stays, expenses, err := d.fillCrowd(ctx, k)
	if err != nil {
		return nil, err
	}

	// Both helpers return a request for either side: on one listing, or on a listing for each client.
	post := func(path string, of func(listing id.ID, n int) writeBody) func(one bool) request {
		return func(one bool) request {
			return func(c *client, client, n int) []byte {
				return c.request(http.MethodPost, path, body(of(k.listingFor(one, client), n)))
			}
		}
	}

	put := func(path string, ids map[bool][][]id.ID, of func(listing id.ID, n int) writeBody) func(one bool) request {
		return func(one bool) request {
			return func(c *client, client, n int) []byte {
				return c.request(
					http.MethodPut,
					path+ids[one][client][n%ownRows].String(),
					body(of(k.listingFor(one, client), n+n/ownRows)),
				)
			}
		}
	}

	// Measure POST and PUT of stays and of expenses, each with few and with many clients.
	for _, w := range []struct {
		name    string
		request func(one bool) request
	}{
		{"reservation_post", post("/reservations", func(listing id.ID, n int) writeBody {
			w := k.stay(n, true)
			w.ListingID = listing

			return w
		})},
		{"reservation_put", put("/reservations/", stays, func(_ id.ID, n int) writeBody { return k.stay(n, false) })},
		{"transaction_post", post("/transactions", func(listing id.ID, n int) writeBody {
			return k.expense(listing, n, true)
		})},
		{"transaction_put", put("/transactions/", expenses, func(listing id.ID, n int) writeBody {
			return k.expense(listing, n, false)
		})},
	} {
		for _, clients := range []int{8, mostWriters} {
			m, err := d.crowd(ctx, k, w.name, clients, w.request)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}

			metrics = append(metrics, m...)
		}
	}

	return metrics, nil
}

// listingFor returns the listing of a client: the first for all, or one of its own.
func (k *desk) listingFor(one bool, client int) id.ID {
	if one {
		client = 0
	}

	return k.listings[client].ListingID
}

// fillCrowd has the service write stays and expenses for the greatest number of clients: on one listing, and on a
// listing each.
func (d *dailyBed) fillCrowd(ctx context.Context, k *desk) (stays, expenses map[bool][][]id.ID, err error) {
	c, err := dial(ctx, d.ours, k.team.secret)
	if err != nil {
		return nil, nil, err
	}
	defer c.close()

	stays, expenses = map[bool][][]id.ID{}, map[bool][][]id.ID{}

	for _, one := range []bool{true, false} {
		for client := range mostWriters {
			own, spent, err := k.fill(c, k.listingFor(one, client), ownRows)
			if err != nil {
				return nil, nil, err
			}

			stays[one], expenses[one] = append(stays[one], own), append(expenses[one], spent)
		}
	}

	return stays, expenses, nil
}

// crowd compares the rate of clients who share a listing with the rate of as many clients on a listing each.
func (d *dailyBed) crowd(
	ctx context.Context,
	k *desk,
	name string,
	clients int,
	of func(one bool) request,
) ([]Metric, error) {
	before, err := d.deadlocks(ctx)
	if err != nil {
		return nil, err
	}

	var (
		rates, ratios []float64
		apart         []float64
		failed        int
		failure       string
		loads         [2]*load
	)

	// Open both sides before either is measured.
	for i, one := range []bool{true, false} {
		if loads[i], err = newLoad(ctx, clients, d.ours, k.team.secret, of(one)); err != nil {
			return nil, err
		}
		defer loads[i].close()
	}

	// Both sides take turns, so that a busy moment of the machine meets both.
	for range crowdRounds {
		var round [2]float64

		for i, l := range loads {
			m, err := l.run(ctx, crowdTurn)
			if err != nil {
				return nil, err
			}

			round[i] = m.perSecond
			if m.failed > 0 {
				failed, failure = failed+m.failed, m.failure
			}
		}

		rates, apart, ratios = append(rates, round[0]), append(apart, round[1]), append(ratios, round[0]/round[1])
	}

	// Deadlocks count as failures, even if the service tried again.
	after, err := d.deadlocks(ctx)
	detail := map[string]any{
		"rounds":         ratios,
		"onOnePerSecond": median(rates),
		"apartPerSecond": median(apart),
		"clients":        clients,
		"rows":           k.rows,
		"failure":        failure,
		"failed":         failed,
		"deadlocks":      after - before,
	}

	return []Metric{
		atLeast(fmt.Sprintf("daily_%s_%d_on_one_listing_ratio", name, clients), median(ratios), 0.8, detail),
		atMost(
			fmt.Sprintf("daily_%s_%d_on_one_listing_failed", name, clients),
			float64(failed)+float64(after-before),
			0,
			detail,
		),
	}, err
}

// batch compares batches of reservations with a COPY of the rows that they write.
func (d *dailyBed) batch(ctx context.Context) ([]Metric, error) {
	t, err := d.newBooks(ctx)
	if err != nil {
		return nil, err
	}

	listings, err := d.pool.Query(ctx, `select id from listing where team_id = $1 order by id`, t.team)
	if err != nil {
		return nil, fmt.Errorf("find listings: %w", err)
	}

	ids, err := pgx.CollectRows(listings, pgx.RowTo[id.ID])
	if err != nil {
		return nil, fmt.Errorf("find listings: %w", err)
	}

	// The desk only makes the stays; they are on the listings of a team of their own.
	k := d.desks[0]
	took := time.Duration(0)

	for range batches {
		items := make([]writeBody, batchStays)
		for n := range items {
			items[n] = k.stay(n, true)
			items[n].ListingID = ids[n%len(ids)]
		}

		text, err := json.Marshal(map[string]any{"data": items})
		if err != nil {
			return nil, err
		}

		c, err := dial(ctx, d.ours, t.secret)
		if err != nil {
			return nil, err
		}
		defer c.close()

		// Only the request is timed, without making its text.
		begin := time.Now()

		if _, err := c.send(c.request(http.MethodPost, "/reservations/batch", string(text)), false); err != nil {
			return nil, fmt.Errorf("a batch: %w", err)
		}

		took += time.Since(begin)
	}

	// Then copy the rows that the batches wrote, and check that they wrote all stays.
	rows, copying, err := d.copyTables(ctx,
		t,
		"reservation",
		"reservation_line",
		"ledger_entry",
		"audit_event",
		"audit_reference",
	)
	if err != nil {
		return nil, err
	}

	if rows["reservation"] != batches*batchStays {
		return nil, fmt.Errorf("%d reservations of batches", rows["reservation"])
	}

	return []Metric{atLeast("daily_reservation_batch_ratio", copying.Seconds()/took.Seconds(), 0.5, map[string]any{
		"reservations":    batches * batchStays,
		"perSecond":       batches * batchStays / took.Seconds(),
		"copiedPerSecond": batches * batchStays / copying.Seconds(),
		"rows":            rows,
	})}, nil
}

// absolute measures requests a second by themselves, to compare them with other services on two cores.
func (d *dailyBed) absolute(ctx context.Context) (metrics []Metric, err error) {
	k, size := d.desks[len(d.desks)-1], len(d.desks)-1
	get := func(paths ...string) request {
		return func(c *client, client, n int) []byte {
			return c.request(http.MethodGet, paths[(37*client+n)%len(paths)], "")
		}
	}

	// First the single reads and the writes that other parts of the section use.
	single := map[string][]string{}

	for _, n := range nouns() {
		if r, err := d.singleReads(ctx, &n); err != nil {
			return nil, err
		} else {
			single[n.name] = r.ours[size]
		}
	}

	posts := k.writesAtService()

	// Then the list of requests, with each number of clients.
	for _, p := range []struct {
		name    string
		team    tenant
		request request
	}{
		{"expense_post", k.team, posts["transaction_post"]},
		{"journal_post", k.team, k.postJournal},
		{"reservation_post", k.team, posts["reservation_post"]},
		{"transaction_one", k.team, get(single["transactions"]...)},
		{"reservation_one", k.team, get(single["reservations"]...)},
		{"journal_one", k.team, get(single["journals"]...)},
		{"transactions_page", k.team, get("/transactions?limit=50")},
		{"reservations_page", k.team, get("/reservations?limit=50")},
		{"journals_page", k.team, get("/general-ledger/journals?limit=50")},
		{"journal_entries_page", k.team, get("/reports/journal-entries?limit=50")},
		{"operations_page", d.large, get("/operations?limit=50")},
		{"account_summary", k.team, get("/accounts/" + k.bank.String() + "/summary")},
		{"trial_balance", k.team, get("/reports/trial-balance?startDate=2026-01-01&endDate=2026-06-30")},
	} {
		for _, clients := range []int{1, 8, 16} {
			l, err := newLoad(ctx, clients, d.ours, p.team.secret, p.request)
			if err != nil {
				return nil, err
			}
			defer l.close()

			// One request to warm up. If it is very slow, leave out the runs with many clients.
			begin := time.Now()

			if _, err := (&load{l.clients[:1], l.request, l.sent}).run(ctx, time.Nanosecond); err != nil {
				return nil, err
			}

			if clients > 1 && time.Since(begin) > verySlow {
				continue
			}

			m, err := l.run(ctx, 2*d.sizes.turn)
			if err != nil {
				return nil, err
			}

			metrics = append(
				metrics,
				figure(fmt.Sprintf("daily_absolute_%s_%d_per_second", p.name, clients), m.perSecond, map[string]any{
					"rows": k.rows, "clients": clients, "failed": m.failed, "failure": m.failure,
				}),
			)
		}
	}

	return metrics, nil
}

// writesAtService returns the writes of a day as they are sent to the service, by name.
func (k *desk) writesAtService() map[string]request {
	all := map[string]request{}
	for _, w := range dailyWrites() {
		all[w.name] = w.request(k, atService)
	}

	return all
}

// postJournal makes the request that posts the n-th journal of a client.
func (k *desk) postJournal(c *client, client, n int) []byte {
	return c.request(http.MethodPost, "/general-ledger/journals", fmt.Sprintf(`{"date": "2026-03-05", "description": "Correction", "lines": [
		{"accountId": %q, "centTotal": %d}, {"accountId": %q, "centTotal": %d, "listingId": %q}]}`, k.bank, -1000-n, k.repairs, 1000+n, k.listings[client].ListingID))
}
