package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	activityEvery = 50 * time.Millisecond
	// Of all waits these many are kept, the most frequent ones.
	mostWaits = 15
)

// activityWait is a state in which a session of the database was found: what it waited for in which statement. Without a
// wait it computed, or waited for a processor.
type activityWait struct {
	Type  string `json:"type"`
	Event string `json:"event"`
	// Query is the beginning of the statement.
	Query string `json:"query"`
}

// countedWait is a wait with the number of times that it was found.
type countedWait struct {
	activityWait

	Found int `json:"found"`
}

// watchActivity samples what the sessions of the database do until the returned function is called, which returns the
// most frequent waits, and by how many samples they were counted.
func (b *bed) watchActivity(ctx context.Context) (stop func() (map[string]any, error), err error) {
	conn, err := pgx.Connect(ctx, b.url(superuser))
	if err != nil {
		return nil, fmt.Errorf("watch the database: %w", err)
	}

	sampling, end := context.WithCancel(ctx)
	found, samples := map[activityWait]int{}, 0
	done := make(chan error, 1)

	go func() {
		ticker := time.NewTicker(activityEvery)
		defer ticker.Stop()

		for {
			select {
			case <-sampling.Done():
				done <- nil
				return
			case <-ticker.C:
			}

			// A sample is not interrupted by the end, so that the connection can be closed in order.
			waits, err := sampleActivity(ctx, conn)
			if err != nil {
				done <- err
				return
			}

			samples++

			for _, w := range waits {
				found[w]++
			}
		}
	}()

	return func() (map[string]any, error) {
		end()

		err := <-done
		_ = conn.Close(context.WithoutCancel(ctx))

		return map[string]any{"samples": samples, "waits": mostFrequent(found)}, err
	}, nil
}

// sampleActivity returns what all other sessions of the database do that are not idle.
func sampleActivity(ctx context.Context, conn *pgx.Conn) ([]activityWait, error) {
	rows, err := conn.Query(ctx, `
		select coalesce(wait_event_type, case when state = 'active' then 'none' else state end), coalesce(wait_event, ''),
			left(regexp_replace(query, '\s+', ' ', 'g'), 60)
		from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`)
	if err != nil {
		return nil, fmt.Errorf("watch the database: %w", err)
	}

	return pgx.CollectRows(rows, pgx.RowToStructByPos[activityWait])
}

// mostFrequent returns the waits that were found most often, the most frequent first.
func mostFrequent(found map[activityWait]int) []countedWait {
	all := make([]countedWait, 0, len(found))
	for _, w := range slices.SortedFunc(maps.Keys(found), func(a, b activityWait) int {
		return cmp.Or(cmp.Compare(found[b], found[a]), cmp.Compare(a.Event+a.Query, b.Event+b.Query))
	}) {
		all = append(all, countedWait{w, found[w]})
	}

	return all[:min(mostWaits, len(all))]
}
