package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// waitingGrowth is how much longer a page of waiting records may take over more teams or more entries.
const waitingGrowth = 1.5

// waits compares a page of issues across many teams with a page across few, and a page of held-back changes to many
// entries with a page of changes to a tenth as many.
func waits(ctx context.Context, b *bed) ([]Metric, error) {
	issues, err := b.pageGrowth(ctx, "team_issues_growth", "/teams/issues", [2]string{someTeamsName, manyTeamsName})
	if err != nil {
		return nil, err
	}

	held, err := b.pageGrowth(ctx, "held_back_growth", "/journals/held-back", [2]string{fewName, manyName})

	return []Metric{issues, held}, err
}

// pageGrowth returns how much longer the first page of a list takes for the second team than for the first. It fails if
// a page is empty.
func (b *bed) pageGrowth(ctx context.Context, name, path string, teams [2]string) (m Metric, err error) {
	var (
		clients [2]*client
		took    [2][]float64
		rows    [2]int
	)

	for i, team := range teams {
		t := b.teams[team]
		if clients[i], err = dial(ctx, b.ours, t.secret); err != nil {
			return m, err
		}
		defer clients[i].close()

		answer, err := clients[i].send(clients[i].request(http.MethodGet, path, ""), true)
		if err != nil {
			return m, fmt.Errorf("%s: %w", path, err)
		}

		var page struct{ Data []json.RawMessage }
		if err := json.Unmarshal(answer, &page); err != nil || len(page.Data) < 50 {
			return m, fmt.Errorf("%s of %s has %d rows: %w", path, team, len(page.Data), err)
		}

		rows[i] = t.rows
	}

	// In turns, so that a busy moment of the machine meets both.
	for range pairs {
		for i, c := range clients {
			spent, err := latencies(ctx, c, c.request(http.MethodGet, path, ""), 40, 0)
			if err != nil {
				return m, err
			}

			took[i] = append(took[i], spent...)
		}
	}

	return atMost(name, median(took[1])/median(took[0]), waitingGrowth, map[string]any{
		"few": rows[0], "many": rows[1], "msOfFew": median(took[0]), "msOfMany": median(took[1]), "p99": quantile(took[1], 0.99),
	}), nil
}
