package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"stayledger/domain/record/intake"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/provider/pms"
)

// syncs compares the first sync of a property-management system, over its own protocol and HTTP, with the batch
// endpoint that gets the same records, page by page: after each page of the sync a batch of the records of that page is
// sent, so that a busy moment of the machine meets both. Both derive the journals of the reservations in the
// transaction that saves them, and have as many entries in the end, so that nothing is left to be done behind either.
// The ratio is that of the page in the middle; its detail has that of the whole sync, too.
//
// It also compares the memory of the process, in which the system is not, with that of a first sync of a tenth, and the
// first sync with one in which the same pages say nothing new. The pages of that one are pulled ahead, so that they
// overlap: both are timed as a whole.
func syncs(ctx context.Context, b *bed) ([]Metric, error) {
	few, err := b.syncFirst(ctx, fewName, fewBatchName, b.sizes.synced/10)
	if err != nil {
		return nil, err
	}

	many, err := b.syncFirst(ctx, manyName, manyBatchName, b.sizes.synced)
	if err != nil {
		return nil, err
	}

	ratios := make([]float64, len(many.batches))
	for i := range ratios {
		ratios[i] = many.batches[i] / many.pages[i]
	}

	var batches float64
	for _, seconds := range many.batches {
		batches += seconds
	}

	records := float64(b.sizes.synced)
	rates := map[string]any{
		"records": b.sizes.synced, "page": intakePage, "entries": many.entries, "perSecond": records / many.first.Seconds(),
		"batchPerSecond": records / batches, "unchangedPerSecond": records / many.again, "pagesOfBatchToSync": ratios,
		"ratioOfTotals": batches / many.first.Seconds(), "slowestPageSeconds": slices.Max(many.pages), "slowestBatchSeconds": slices.Max(many.batches),
		"foldedSeconds": many.folded.Seconds(),
	}
	memory := map[string]any{"records": b.sizes.synced, "peakMiB": many.peak, "few": b.sizes.synced / 10, "peakMiBOfFew": few.peak}

	return []Metric{
		atLeast("sync_first_ratio", median(ratios), 0.7, rates),
		atMost("sync_first_peak_growth_mib", many.peak-few.peak, growthGoal, memory),
		atLeast("sync_unchanged_gain", many.first.Seconds()/many.again, 20, rates),
	}, nil
}

// syncResult has the figures of a first sync, and of a second sync that changes nothing.
type syncResult struct {
	// first is from the request to the end of the operation, without the batches between the pages.
	first          time.Duration
	again          float64       // seconds
	folded         time.Duration // from the end of the first sync until the sums of both teams were folded
	pages, batches []float64     // seconds of each
	entries        int64         // of the ledger
	peak           float64       // MiB resident
}

// syncFirst connects a team to a system with so many reservations and reads it twice. Another team gets the same
// records in batches during the first sync. It fails if the sync leaves records out, or if the books of the teams
// differ.
func (b *bed) syncFirst(ctx context.Context, name, batchName string, records int) (r syncResult, err error) {
	s, err := startSystem(ctx, records)
	if err != nil {
		return r, err
	}

	defer func() { err = errors.Join(err, s.close()) }()

	from, err := b.newPageBatches(ctx, s, b.teams[batchName])
	if err != nil {
		return r, err
	}

	// The service calls the system through the relay, which ends with the measurement.
	serving, stop := context.WithCancel(ctx)
	defer stop()

	t := b.teams[name]
	pass := newRelay(s, func(page string) error { return b.reachPage(ctx, t, page) }, func(page string) error { return from.send(ctx, page) })

	address, err := b.listen(serving, pass)
	if err != nil {
		return r, err
	}

	c, err := dial(ctx, b.ours, t.secret)
	if err != nil {
		return r, err
	}
	defer c.close()

	path, err := b.connectSystem(ctx, c, t, address)
	if err != nil {
		return r, err
	}

	// Memory and time of the first sync. The batch of its last page comes behind it.
	peak := watchMemory()
	took, err := c.operate(path+"/sync", `{"mode": "full"}`)
	r.peak, r.first = peak(), took-pass.away

	if pass.end(); err != nil || pass.failed != nil {
		return r, errors.Join(err, pass.failed)
	}

	r.pages, r.batches = pass.took, from.took

	if err := b.checkSynced(ctx, t, intake.Done, records); err != nil {
		return r, err
	}

	// What is left to be folded is work of the first sync and of the batches.
	if r.folded, err = b.awaitFolds(ctx, t, b.teams[batchName]); err != nil {
		return r, err
	}

	// Then the same pages again, which say nothing new: only the whole is timed, since their calls overlap. It takes a
	// second, which autovacuum and new plans can double, so the middle of nine is taken.
	pass.reached, pass.taken = nil, nil
	again := make([]float64, 9)

	for i := range again {
		took, err := c.operate(path+"/sync", `{"mode": "full"}`)
		if err != nil {
			return r, err
		}

		again[i] = took.Seconds()

		if err := b.checkSynced(ctx, t, intake.Skipped, records); err != nil {
			return r, err
		}
	}

	r.again = median(again)

	r.entries, err = b.countSameEntries(ctx, t, b.teams[batchName])

	return r, err
}

// awaitFolds returns when the sums of teams are folded, and how long that took. It fails after a minute.
func (b *bed) awaitFolds(ctx context.Context, teams ...tenant) (time.Duration, error) {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()

	begin := time.Now()

	for _, t := range teams {
		for {
			left, err := b.count(ctx, t, `select count(*) from (select from ledger_delta where team_id = @team limit 1) d`)
			if err != nil {
				return 0, err
			}

			if left == 0 {
				break
			}

			time.Sleep(20 * time.Millisecond)
		}
	}

	return time.Since(begin), nil
}

// reachPage returns when the sync of a team goes on at a page, empty for the first: those before it have been taken in.
// A sync can ask for a page ahead. It fails after a minute.
func (b *bed) reachPage(ctx context.Context, t tenant, page string) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()

	for {
		var at string

		err := b.db.ReadOne(ctx, t.scope(b.db), func(ctx context.Context, tx *db.Tx) (err error) {
			at, err = db.Get[string](ctx, tx, `select coalesce(progress->>'page', '') from sync where team_id = @team order by queued_at desc limit 1`,
				db.Args{"team": tx.Team})

			return err
		})
		if err != nil || at == page {
			return err
		}

		time.Sleep(4 * time.Millisecond)
	}
}

// connectSystem connects a team to a system and says which listings here are those of it. It returns the path of the
// connection.
func (b *bed) connectSystem(ctx context.Context, c *client, t tenant, address string) (path string, err error) {
	var started struct {
		OperationID string
		Resource    struct{ ID string }
	}

	if err := c.ask(http.MethodPost, "/connections", item{
		"appId": protocolApp(), "name": "Rentals", "settings": item{"baseUrl": "http://" + address}, "credentials": item{"token": systemToken},
	}, &started); err != nil {
		return "", err
	}

	if err := c.outlast("/operations/" + started.OperationID); err != nil {
		return "", err
	}

	path = "/connections/" + started.Resource.ID

	var mappings struct {
		Data []struct{ TargetListingConnectionID, UniqueRef string }
	}

	if err := c.ask(http.MethodGet, path+"/listing-mappings", nil, &mappings); err != nil {
		return "", err
	}

	listings, err := b.loadIDs(ctx, t, listingsSQL)
	if err != nil {
		return "", err
	}

	if len(listings) != len(mappings.Data) {
		return "", fmt.Errorf("the system has %d listings, the team %d", len(mappings.Data), len(listings))
	}

	// In the order of the system's own ids, as batches have them.
	slices.SortFunc(mappings.Data, func(a, b struct{ TargetListingConnectionID, UniqueRef string }) int {
		return strings.Compare(a.UniqueRef, b.UniqueRef)
	})

	decisions := make([]item, len(listings))
	for i := range decisions {
		decisions[i] = item{"targetListingConnectionId": mappings.Data[i].TargetListingConnectionID, "listingId": listings[i]}
	}

	return path, c.ask(http.MethodPut, path+"/listing-mappings", item{"data": decisions}, nil)
}

// listingsSQL selects the listings of a team in an order that all teams of newBooks have.
const listingsSQL = `select id from listing where team_id = @team order by name`

// ask sends a request with a body, nil for none, and decodes the answer, unless into is nil.
func (c *client) ask(method, path string, body item, into any) error {
	var text []byte

	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}

	answer, err := c.send(c.request(method, path, string(text)), true)
	if err != nil || into == nil {
		return err
	}

	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}

	return nil
}

// checkSynced fails unless the last sync of a team gave so many reservations an outcome: one that leaves some out would
// be too fast.
func (b *bed) checkSynced(ctx context.Context, t tenant, want intake.Outcome, records int) error {
	n, err := b.count(ctx, t, `select coalesce((counts->'reservation'->>'`+string(want)+`')::bigint, 0) from sync
		where team_id = @team order by queued_at desc limit 1`)
	if err == nil && n != int64(records) {
		err = fmt.Errorf("%d of %d reservations are %s", n, records, want)
	}

	return err
}

// countSameEntries returns how many entries the ledger of a team has. It fails unless both teams have as many, and some
// for each reservation.
func (b *bed) countSameEntries(ctx context.Context, one, other tenant) (n int64, err error) {
	const entries = `select count(*) from ledger_entry where team_id = @team`

	if n, err = b.count(ctx, one, entries); err != nil {
		return 0, err
	}

	same, err := b.count(ctx, other, entries)
	if err == nil && (n != same || n == 0) {
		err = fmt.Errorf("a sync posts %d entries, batches of the same records %d", n, same)
	}

	return n, err
}

// pageBatches sends the records of a system's pages to the batch endpoint.
type pageBatches struct {
	bed    *bed
	system pms.Client
	to     tenant
	// listings are those of the team by the ids of the system's.
	listings map[string]id.ID
	took     []float64 // seconds of each batch
}

// newPageBatches returns the batches of a team: the pages of a system with the team's own listings.
func (b *bed) newPageBatches(ctx context.Context, s *system, to tenant) (*pageBatches, error) {
	client, err := s.client()
	if err != nil {
		return nil, err
	}

	here, err := b.loadIDs(ctx, to, listingsSQL)
	if err != nil {
		return nil, err
	}

	// All listings fit on a page.
	there, err := client.Listings(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read the listings of a system: %w", err)
	}

	if len(there.Listings) != len(here) {
		return nil, fmt.Errorf("the system has %d listings, the team %d", len(there.Listings), len(here))
	}

	slices.SortFunc(there.Listings, func(a, b pms.Listing) int { return strings.Compare(a.ID, b.ID) })

	p := &pageBatches{bed: b, system: client, to: to, listings: map[string]id.ID{}}
	for i := range here {
		p.listings[there.Listings[i].ID] = here[i]
	}

	return p, nil
}

// send sends the records of a page. Only the request is timed.
func (p *pageBatches) send(ctx context.Context, page string) error {
	got, err := p.system.Reservations(ctx, &pms.Query{Page: page})
	if err != nil {
		return fmt.Errorf("read a page of a system: %w", err)
	}

	items := make([]item, len(got.Reservations))
	for i := range items {
		items[i] = p.item(&got.Reservations[i])
	}

	text, err := json.Marshal(item{"data": items})
	if err != nil {
		return fmt.Errorf("encode a batch: %w", err)
	}

	begin := time.Now()
	err = p.bed.sendBatch(ctx, p.to, "/reservations/batch", string(text))
	p.took = append(p.took, time.Since(begin).Seconds())

	return err
}

// item returns a reservation of the system with the fields that a sync fills.
func (p *pageBatches) item(r *pms.Reservation) item {
	lines := make([]item, len(r.Lines))
	for i, l := range r.Lines {
		lines[i] = item{"type": l.Type, "description": l.Description, "amount": l.Amount}
	}

	return item{
		"listingId": p.listings[r.ListingID], "appId": protocolApp(), "sourceId": r.ID, "pmsReferenceCode": r.ID, "type": "guest",
		"guestName": r.Guest.Name, "guests": r.Guests, "confirmationCode": r.Code, "checkIn": r.CheckIn, "checkOut": r.CheckOut,
		"bookedAt": r.BookedAt.In(day.UTC), "bookingPlatform": r.Channel, "status": "booked", "currency": r.Currency, "lines": lines,
	}
}
