package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const contendedStays = 240 // on one listing

// contendedSeed is a team with stays on one listing, in two months.
func contendedSeed() *seed {
	return &seed{name: "contended", sizes: []int{contendedStays}, on: operationsSeed(fewOperations), fill: func(ctx context.Context, b *bed) error {
		return b.newContended(ctx, "contended")
	}}
}

// newContended creates a team with stays on one listing and keeps it under a name. The stays come from the service itself,
// in one batch, so that their journals are its own.
func (b *bed) newContended(ctx context.Context, name string) error {
	t, err := b.newBooks(ctx)
	if err != nil {
		return err
	}

	if err := b.keepTeam(ctx, name, t); err != nil {
		return err
	}

	listing, err := b.loadID(ctx, t, `select id from listing where team_id = @team order by id limit 1`)
	if err != nil {
		return err
	}

	items := make([]string, contendedStays)
	for n := range items {
		items[n] = fmt.Sprintf(`{"listingId": %q, "bookedAt": "2024-12-01", "confirmationCode": "HM%04d", %s}`, listing, n, stayFields(n, n))
	}

	return b.sendBatch(ctx, t, "/reservations/batch", `{"data": [`+strings.Join(items, ",")+`]}`)
}

// sendBatch sends a batch and fails if an item of it is refused.
func (b *bed) sendBatch(ctx context.Context, t tenant, path, body string) error {
	c, err := dial(ctx, b.ours, t.secret)
	if err != nil {
		return err
	}
	defer c.close()

	answer, err := c.send(c.request(http.MethodPost, path, body), true)
	if err != nil {
		return err
	}

	var out struct{ Issues []json.RawMessage }
	if err := json.Unmarshal(answer, &out); err != nil {
		return fmt.Errorf("read the answer to a batch: %w", err)
	}

	if len(out.Issues) > 0 {
		return fmt.Errorf("%s: %d items were refused, such as %s", path, len(out.Issues), out.Issues[0])
	}

	return nil
}

// stayFields returns the fields of the n-th stay that changes: every change moves it to the other of two months,
// with another rent.
func stayFields(n, change int) string {
	checkIn := time.Date(2025, time.Month(3+change%2), 1+n/2%24, 0, 0, 0, 0, time.UTC)

	return fmt.Sprintf(`"checkIn": %q, "checkOut": %q, "lines": [{"type": "rent", "amount": %d}, {"type": "cleaningFee", "amount": 5000}]`,
		checkIn.Format(time.DateOnly), checkIn.AddDate(0, 0, 3).Format(time.DateOnly), 10_000+change)
}
