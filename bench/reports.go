package main

import (
	"context"
	"fmt"
	"net/http"
)

// reportRounds is how often each report is asked of each team, in turns, so that a busy moment of the machine meets
// all teams.
const reportRounds = 40

// reportPaths returns the reports that are measured, for dates at month ends and for any other day.
func reportPaths() map[string][2]string {
	return map[string][2]string{
		"trial_balance": {
			"/reports/trial-balance?startDate=2025-01-01&endDate=2025-12-31",
			"/reports/trial-balance?startDate=2025-01-14&endDate=2025-12-17",
		},
		"profit_and_loss": {
			"/reports/profit-and-loss?startDate=2025-01-01&endDate=2025-12-31&view=month",
			"/reports/profit-and-loss?startDate=2025-01-14&endDate=2025-12-17&view=month",
		},
		"balance_sheet": {"/reports/balance-sheet?date=2025-12-31", "/reports/balance-sheet?date=2025-12-17"},
	}
}

// reports compares how long the same reports take for teams with few, ten times and a hundred times as many entries.
func reports(ctx context.Context, b *bed) ([]Metric, error) {
	teams := b.ledgers()[1:]
	sizes := make([]int, len(teams))

	clients := make([]*client, len(teams))
	for i, t := range teams { // connect now: the server closes connections that are silent for long
		var err error
		if clients[i], err = dial(ctx, b.ours, t.secret); err != nil {
			return nil, err
		}

		sizes[i] = t.rows
		defer clients[i].close()
	}

	var metrics []Metric

	for _, name := range []string{"trial_balance", "profit_and_loss", "balance_sheet"} {
		// Dates within a month cost more: their part of the month is read by day.
		paths := reportPaths()[name]

		monthEnds, err := medianInTurns(ctx, clients, paths[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}

		anyDays, err := medianInTurns(ctx, clients, paths[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}

		last := len(sizes) - 1
		detail := map[string]any{
			"entries":    sizes,
			"monthEndMs": monthEnds,
			"anyDayMs":   anyDays,
			"requests":   reportRounds,
			"listings":   portfolio,
		}
		metrics = append(
			metrics,
			atMost("report_"+name+"_growth", monthEnds[last]/monthEnds[0], 1.5, detail),
			atMost("report_"+name+"_ms", monthEnds[last], 5, detail),
			atMost("report_"+name+"_anyday_ms", anyDays[last], 60, detail),
		)
	}

	return metrics, nil
}

// medianInTurns returns the median latency of a request for each client, asked in turns.
func medianInTurns(ctx context.Context, clients []*client, path string) ([]float64, error) {
	waits := make([][]float64, len(clients))
	for round := range reportRounds + 3 {
		for i, c := range clients {
			l, err := latencies(ctx, c, c.request(http.MethodGet, path, ""), 1, 0)
			if err != nil {
				return nil, err
			}

			if round >= 3 { // the first ones plan and fill the caches
				waits[i] = append(waits[i], l...)
			}
		}
	}

	out := make([]float64, len(clients))
	for i := range waits {
		out[i] = median(waits[i])
	}

	return out, nil
}
