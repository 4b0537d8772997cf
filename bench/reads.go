package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/id"
)

const (
	httpClients = 8
	pairs       = 5
	turn        = 1500 * time.Millisecond
)

// reads compares the two reads of operations with those of the bare server.
func reads(ctx context.Context, b *bed) ([]Metric, error) {
	ids, err := b.loadSomeIDs(ctx)
	if err != nil {
		return nil, err
	}

	// A comparison is worth nothing if the servers answer differently.
	if err := b.checkSameAnswers(ctx, ids[0]); err != nil {
		return nil, err
	}

	// Single reads take many ids, so that no row is always in the caches of the processor.
	single := make([]string, len(ids))
	for i, v := range ids {
		single[i] = "/operations/" + v.String()
	}

	get, err := b.readRatio(ctx, "operation_get_ratio", single)
	if err != nil {
		return nil, err
	}

	list, err := b.readRatio(ctx, "operation_list_ratio", []string{"/operations"})

	return []Metric{get, list}, err
}

// loadSomeIDs loads ids of operations from all of the large team's time, in random order.
func (b *bed) loadSomeIDs(ctx context.Context) ([]id.ID, error) {
	// A part of the pages is enough of many rows.
	const wanted = 5000

	percent := min(100, 400*wanted/max(b.large.rows, 1))

	rows, err := b.bare.Query(ctx, `select id from operation tablesample system ($2) where team_id = $1 order by md5(id::text) limit $3`, b.large.team, percent, wanted)
	if err != nil {
		return nil, fmt.Errorf("sample ids: %w", err)
	}
	defer rows.Close()

	var out []id.ID

	for rows.Next() {
		var v id.ID
		if err := rows.Scan(&v); err != nil {
			return nil, fmt.Errorf("sample ids: %w", err)
		}

		out = append(out, v)
	}

	if len(out) == 0 {
		return nil, errors.New("no operations to read")
	}

	return out, rows.Err()
}

// checkSameAnswers checks that both servers give the same answers, and that the counts of the list are right.
func (b *bed) checkSameAnswers(ctx context.Context, operationID id.ID) error {
	var answers [2][2][]byte

	for i, address := range []string{b.ours, b.bareHTTP} {
		c, err := dial(ctx, address, b.large.secret)
		if err != nil {
			return err
		}
		defer c.close()

		for n, path := range []string{"/operations/" + operationID.String(), "/operations"} {
			if answers[n][i], err = c.send(c.request(http.MethodGet, path, ""), true); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}

	// A single operation must be equal to the byte.
	if !bytes.Equal(answers[0][0], answers[0][1]) {
		return fmt.Errorf("the servers differ: %s %s", answers[0][0], answers[0][1])
	}

	// The bare list has no counts, so compare its rows, and the counts with the rows that were filled in.
	var lists [2]operation.List
	for i := range lists {
		if err := json.Unmarshal(answers[1][i], &lists[i]); err != nil {
			return fmt.Errorf("decode list: %w", err)
		}
	}

	if lists[0].Total != int64(b.large.rows) || lists[0].Counts.Queued != inFlight {
		return fmt.Errorf("the list counts %+v of %d operations", lists[0].Counts, b.large.rows)
	}

	if len(lists[0].Items) != 50 || len(lists[1].Items) != 50 || lists[0].Items[49].ID != lists[1].Items[49].ID {
		return errors.New("the servers list different operations")
	}

	return nil
}

// readRatio measures the median, over adjacent turns, of the service's requests a second to the bare server's.
func (b *bed) readRatio(ctx context.Context, name string, paths []string) (Metric, error) {
	var (
		clients [2][]*client
		rates   [2][]float64
		ratios  []float64
	)

	for i, address := range []string{b.ours, b.bareHTTP} {
		var err error
		if clients[i], err = dialAll(ctx, httpClients, address, b.large.secret); err != nil {
			return Metric{}, err
		}
		defer func() {
			for _, c := range clients[i] {
				c.close()
			}
		}()

		if _, err := rate(ctx, clients[i], paths, turn); err != nil { // Warms caches and prepares statements.
			return Metric{}, err
		}
	}

	// Both sides take turns, so that a busy moment of the machine meets both.
	for pair := range pairs {
		for i := range clients {
			r, err := rate(ctx, clients[i], paths, turn)
			if err != nil {
				return Metric{}, err
			}

			rates[i] = append(rates[i], r)
		}

		ratios = append(ratios, rates[0][pair]/rates[1][pair])
	}

	return atLeast(name, median(ratios), 0.6, map[string]any{
		"pairRatios": ratios, "serviceRequestsPerSecond": median(rates[0]), "bareRequestsPerSecond": median(rates[1]),
		"clients": httpClients, "operations": b.large.rows,
	}), nil
}

// growth compares how long the list takes one client with a large team and with a small one.
func growth(ctx context.Context, b *bed) ([]Metric, error) {
	var (
		clients [2]*client
		medians [2][]float64
		ratios  []float64
	)

	for i, t := range []tenant{b.large, b.small} {
		var err error
		if clients[i], err = dial(ctx, b.ours, t.secret); err != nil {
			return nil, err
		}
		defer clients[i].close()

		if _, err := latencies(ctx,
			clients[i],
			clients[i].request(http.MethodGet, "/operations", ""),
			0,
			turn,
		); err != nil {
			return nil, err
		}
	}

	// Both teams take turns, so that a busy moment of the machine meets both.
	for pair := range pairs {
		for i, c := range clients {
			l, err := latencies(ctx, c, c.request(http.MethodGet, "/operations", ""), 0, turn)
			if err != nil {
				return nil, err
			}

			medians[i] = append(medians[i], median(l))
		}

		ratios = append(ratios, medians[0][pair]/medians[1][pair])
	}

	return []Metric{atMost("operation_list_growth", median(ratios), 1.5, map[string]any{
		"pairRatios": ratios,
		"largeMs":    median(medians[0]),
		"smallMs":    median(medians[1]),
		"large":      b.large.rows,
		"small":      b.small.rows,
	})}, nil
}
