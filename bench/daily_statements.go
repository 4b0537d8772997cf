package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"stayledger/platform/id"
)

const (
	// Requests that are compared are sent in statementRounds turns, or until statementTime is over.
	statementRounds = 25
	statementTime   = 12 * time.Second
)

// comparedRequest is a request that others are compared with.
type comparedRequest struct {
	name, path string
	client     *client
}

// medianLatencies returns the median latencies of requests in milliseconds, sent in turns.
func medianLatencies(ctx context.Context, all []comparedRequest) (map[string]float64, error) {
	waits := map[string][]float64{}
	begin := time.Now()

	for round := range statementRounds + 1 {
		for _, a := range all {
			l, err := latencies(ctx, a.client, a.client.request(http.MethodGet, a.path, ""), 1, 0)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.path, err)
			}

			if round > 0 { // the first plans and reads from the disk
				waits[a.name] = append(waits[a.name], l...)
			}
		}

		// Slow requests get fewer rounds, but at least three.
		if round >= 3 && time.Since(begin) > statementTime {
			break
		}
	}

	out := map[string]float64{}
	for name, ms := range waits {
		out[name] = median(ms)
	}

	return out, nil
}

// statements compares statements of many listings over two years, half of them saved, with each other and
// with operations.
func (d *dailyBed) statements(ctx context.Context) ([]Metric, error) {
	c, err := dial(ctx, d.ours, d.landlords.secret)
	if err != nil {
		return nil, err
	}
	defer c.close()

	// First choose the months and the records to read, saved ones and drafts.
	var (
		saved, draft         = d.monthAgo(statementMonths - savedMonths), d.monthAgo(savedMonths / 2)
		savedYear, draftYear = span(
			d.monthAgo(statementMonths-1),
			d.monthAgo(savedMonths),
		), span(d.monthAgo(savedMonths-1), d.monthAgo(0))
		summary = func(from, to string) string {
			return "/reports/owner-statement-summaries-per-layout?limit=50&startAt=" + from + "&endAt=" + to
		}
	)

	savedID, err := firstID(c, "/statements?limit=1&month="+saved)
	if err != nil {
		return nil, err
	}

	draftID, err := firstID(c, "/statements?limit=1&month="+draft)
	if err != nil {
		return nil, err
	}

	operations, err := dial(ctx, d.ours, d.large.secret)
	if err != nil {
		return nil, err
	}
	defer operations.close()

	operationIDs, err := d.loadSomeIDs(ctx)
	if err != nil {
		return nil, err
	}

	// All requests are compared in the same turns, with operations as their base.
	all := []comparedRequest{
		{"operations", "/operations?limit=50", operations},
		{"operation", "/operations/" + operationIDs[0].String(), operations},
		{"saved", "/statements?limit=50&month=" + saved, c},
		{"drafts", "/statements?limit=50&month=" + draft, c},
		{"saved_year", "/statements?limit=50&" + savedYear, c},
		{"drafts_year", "/statements?limit=50&" + draftYear, c},
		{"all", "/statements?limit=50", c},
		{"published", "/statements?limit=50&status=published", c},
		{"late_page", "/statements?limit=50&page=100", c},
		{"total", "/statements?limit=1&" + draftYear, c},
		{"saved_one", "/statements/" + savedID.String(), c},
		{"draft_one", "/statements/" + draftID.String(), c},
		{"summaries_saved", summary(saved, saved), c},
		{"summaries_drafts", summary(draft, draft), c},
		{"summaries_year", summary(d.monthAgo(savedMonths-1), d.monthAgo(0)), c},
	}

	ms, err := medianLatencies(ctx, all)
	if err != nil {
		return nil, err
	}

	detail := map[string]any{
		"ms":       ms,
		"listings": d.landlords.rows,
		"months":   statementMonths,
		"saved":    savedMonths,
	}
	metrics := statementLimits(ms, detail)

	// Last, what each request sends to the database, except those of operations.
	for _, a := range all {
		if a.client != c {
			continue
		}

		costs, err := d.costs(ctx, "statements_"+a.name, &comparison{
			rows: d.landlords.rows * statementMonths,
			team: d.landlords,
			ours: func(c *client, _, _ int) []byte {
				return c.request(http.MethodGet, a.path, "")
			},
		})
		if err != nil {
			return nil, err
		}

		metrics = append(metrics, costs...)
	}

	return metrics, nil
}

// statementLimits compares the milliseconds of requests with those of others.
func statementLimits(ms map[string]float64, detail map[string]any) []Metric {
	metrics := []Metric{atMost("daily_statements_drafts_to_saved", ms["drafts"]/ms["saved"], 3, detail)}
	for _, limit := range []struct {
		name, base string
		most       float64
	}{
		{"saved", "operations", 10},
		{"drafts", "operations", 10},
		{"saved_year", "saved", 1.5},
		{"drafts_year", "drafts", 1.5},
		{"published", "saved", 1.5},
		{"all", "drafts", 1.5},
		{"late_page", "drafts", 1.5},
		{"total", "drafts", 1},
		{"saved_one", "operation", 10},
		{"draft_one", "operation", 10},
		{"summaries_saved", "operations", 15},
		{"summaries_drafts", "operations", 15},
	} {
		metrics = append(
			metrics,
			atMost("daily_statements_"+limit.name+"_to_"+limit.base, ms[limit.name]/ms[limit.base], limit.most, detail),
		)
	}

	return append(
		metrics,
		figure("daily_statements_summaries_year_to_operations", ms["summaries_year"]/ms["operations"], detail),
	)
}

// flatReports compares reports on guests and trust, and the page of fees that charge every stay, over the most
// entries and over the fewest.
func (d *dailyBed) flatReports(ctx context.Context) (metrics []Metric, err error) {
	few, many := d.teams[0], d.teams[len(d.teams)-1]

	for name, template := range map[string]string{
		"guest_balances":                  "/reports/guest-balances?limit=50",
		"trust_reconciliation":            "/reports/trust-reconciliation",
		"trust_reconciliation_by_listing": "/reports/trust-reconciliation/by-listing?limit=50",
		"charging_fees":                   "/recurring-fees?limit=50",
		"account_summary":                 "/accounts/{bank}/summary",
		"open_records":                    "/bank-records/suggestions?limit=50",
	} {
		var all []comparedRequest

		path := ""

		// Both teams get the same request, apart from the id of their bank account.
		for side, t := range map[string]tenant{"few": few.books, "many": many.books} {
			c, err := dial(ctx, d.ours, t.secret)
			if err != nil {
				return nil, err
			}
			defer c.close()

			bank, err := firstID(c, "/accounts?limit=1&type=bank&sort=code")
			if err != nil {
				return nil, err
			}

			all = append(all, comparedRequest{side, strings.Replace(template, "{bank}", bank.String(), 1), c})
			if side == "many" {
				path = all[len(all)-1].path
			}
		}

		// Then compare both, and count what the larger one sends to the database.
		ms, err := medianLatencies(ctx, all)
		if err != nil {
			return nil, err
		}

		metrics = append(metrics, atMost("daily_"+name+"_growth", ms["many"]/ms["few"], 1.5, map[string]any{
			"ms":       ms,
			"fewRows":  few.rows,
			"manyRows": many.rows,
		}))

		costs, err := d.costs(ctx, name, &comparison{
			rows: many.rows,
			team: many.books,
			ours: func(c *client, _, _ int) []byte { return c.request(http.MethodGet, path, "") },
		})
		if err != nil {
			return nil, err
		}

		metrics = append(metrics, costs...)
	}

	return metrics, nil
}

// span returns the query that selects the statements of months.
func span(first, last string) string {
	next, _ := time.Parse("2006-01", last)
	return "dateRange=" + first + "-01..." + next.AddDate(0, 1, -1).Format(time.DateOnly)
}

// firstID returns the id of the first row of a page.
func firstID(c *client, path string) (id.ID, error) {
	answer, err := c.send(c.request(http.MethodGet, path, ""), true)
	if err != nil {
		return id.Zero, err
	}

	var page struct{ Data []idRecord }
	if err := json.Unmarshal(answer, &page); err != nil || len(page.Data) == 0 {
		return id.Zero, fmt.Errorf("%s: %.100s", path, strings.TrimSpace(string(answer)))
	}

	return page.Data[0].ID, nil
}
