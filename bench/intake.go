package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"stayledger/domain/record/intake"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// intakePage is how many records a page of the source has, and a request of the batch.
const intakePage = 500

// intakeKind is a kind of records that is taken in. A further kind is another element of intakeKinds.
type intakeKind struct {
	name  string            // of the kind in the intake
	batch string            // path of the batch endpoint
	rows  func(s sizes) int // that are taken in
	// field returns the n-th record, as a source gives it or as a batch takes it.
	field func(l listed, n int, batch bool) item
}

// item is the fields of a record, as a source and a batch give them.
type item map[string]any

// listed has the ids that records of a team can name.
type listed struct {
	listings []id.ID
	bank     id.ID
	// feed is the account at the bank that a source reads.
	feed id.ID
}

// intakeKinds returns the kinds that are measured.
func intakeKinds() []intakeKind {
	return []intakeKind{
		{
			name: "reservation", batch: "/reservations/batch", rows: func(s sizes) int { return s.taken },
			field: func(l listed, n int, _ bool) item {
				from := time.Date(2025, 1, 1+n%700, 0, 0, 0, 0, time.UTC)

				return item{
					"listingId": l.listings[n%len(l.listings)], "confirmationCode": fmt.Sprintf("HM%07d", n), "guestName": "Guest " + strconv.Itoa(n),
					"checkIn": from.Format(time.DateOnly), "checkOut": from.AddDate(0, 0, 1+n%6).Format(time.DateOnly), "bookingPlatform": "airbnb",
					"bookedAt": from.AddDate(0, 0, -60).Format(time.DateOnly), "status": "booked", "lines": []item{
						{"type": "rent", "amount": 90_000 + n%1000}, {"type": "cleaningFee", "amount": 15_000},
					},
				}
			},
		},
		{
			name: "contact", batch: "/contacts/batch", rows: func(s sizes) int { return s.taken },
			field: func(_ listed, n int, _ bool) item {
				return item{"type": "owner", "name": fmt.Sprintf("Owner %07d", n), "email": fmt.Sprintf("owner%d@example.com", n), "phone": "+1 207 555 0143"}
			},
		},
		{
			name: "bankRecord", batch: "/bank-records/batch", rows: func(s sizes) int { return 4 * s.taken },
			field: func(l listed, n int, batch bool) item {
				place, account := "bankAccountId", l.feed
				if batch {
					place, account = "accountId", l.bank
				}

				return item{
					place: account, "uniqueRef": fmt.Sprintf("FIT%07d", n),
					"date":        time.Date(2025, 1, 1+n%700, 0, 0, 0, 0, time.UTC).Format(time.DateOnly),
					"description": "Movement " + strconv.Itoa(n), "amount": 100 + n%5000,
				}
			},
		},
	}
}

// intakes compares records that are taken in from a source with the same records in the batch endpoint, and a reading
// that says nothing new with the first one.
func intakes(ctx context.Context, b *bed) (all []Metric, err error) {
	for _, k := range intakeKinds() {
		metrics, err := b.intakeRatios(ctx, &k)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}

		all = append(all, metrics...)
	}

	return all, nil
}

// intakeRatios measures a kind. When a page of the first reading has been taken in, a batch of as many records is sent,
// so that a busy moment of the machine meets both. Pages that say nothing new are pulled ahead, so that they overlap:
// their reading is timed as a whole, and the middle of several is taken.
func (b *bed) intakeRatios(ctx context.Context, k *intakeKind) ([]Metric, error) {
	ours, err := b.loadListed(ctx, b.teams[intakeName])
	if err != nil {
		return nil, err
	}

	theirs, err := b.loadListed(ctx, b.teams[batchName])
	if err != nil {
		return nil, err
	}

	source := newPages(k, ours, k.rows(b.sizes))

	var batches []float64

	source.reached = func(page string) error { return b.reachPage(ctx, b.teams[intakeName], page) }
	source.between = func(from, to int) error {
		// Sums are folded behind a page and a batch; that is to be over before the other is timed.
		if _, err := b.awaitFolds(ctx, b.teams[intakeName]); err != nil {
			return err
		}

		took, err := b.timeBatch(ctx, k, theirs, from, to)
		if err != nil {
			return err
		}

		batches = append(batches, took.Seconds())
		_, err = b.awaitFolds(ctx, b.teams[batchName])

		return err
	}

	if _, err := b.takeIn(ctx, source, intake.Done); err != nil {
		return nil, err
	}

	if len(batches) != (len(source.changes)+intakePage-1)/intakePage {
		return nil, fmt.Errorf("%d records were in %d pages", len(source.changes), len(batches))
	}

	// Then the same content again.
	source.reached, source.between = nil, nil
	again := make([]float64, 9)

	for i := range again {
		if again[i], err = b.takeIn(ctx, source, intake.Skipped); err != nil {
			return nil, err
		}
	}

	var first float64

	ratios := make([]float64, len(source.took))
	for i, took := range source.took {
		first += took
		ratios[i] = batches[i] / took
	}

	records := float64(len(source.changes))
	detail := map[string]any{
		"records": records, "page": intakePage, "pagesOfBatchToIntake": ratios,
		"perSecond": records / first, "unchangedPerSecond": records / median(again), "batchPerSecond": intakePage / median(batches),
	}

	return []Metric{
		atLeast("intake_"+k.name+"_ratio", median(ratios), 0.8, detail),
		atLeast("intake_"+k.name+"_unchanged_gain", first/median(again), 20, detail),
	}, nil
}

// loadListed returns what the records of a team can name.
func (b *bed) loadListed(ctx context.Context, t tenant) (l listed, err error) {
	if l.listings, err = b.loadIDs(ctx, t, `select id from listing where team_id = @team order by name`); err != nil {
		return l, err
	}

	if l.bank, err = b.loadID(ctx, t, `select id from account where team_id = @team and code = '1000'`); err != nil {
		return l, err
	}

	l.feed, err = b.loadID(ctx, t, `select id from account_connection where team_id = @team`)

	return l, err
}

// takeIn has the source read by a sync and returns how many seconds that takes, from its first page on. It fails unless
// every record has the outcome: a reading that leaves records out would be too fast.
func (b *bed) takeIn(ctx context.Context, source *pages, want intake.Outcome) (float64, error) {
	t := b.teams[intakeName]
	b.source = source

	connection, err := b.loadID(ctx, t, `select id from connection where team_id = @team`)
	if err != nil {
		return 0, err
	}

	if err := b.db.Write(ctx, t.scope(b.db), func(ctx context.Context, tx *db.Tx) error {
		_, err := intake.Start(ctx, tx, intake.New{ConnectionID: connection, View: intake.Automate, Mode: intake.Full, Trigger: intake.Manual})
		return err
	}); err != nil {
		return 0, err
	}

	if err := b.outlastSync(ctx, t); err != nil {
		return 0, err
	}

	took := time.Since(source.began).Seconds()

	done, err := b.count(ctx, t, `select coalesce((counts->'`+source.kind.name+`'->>'`+string(want)+`')::bigint, 0) from sync
		where team_id = @team order by queued_at desc limit 1`)
	if err == nil && done != int64(len(source.changes)) {
		err = fmt.Errorf("%d of %d records are %s", done, len(source.changes), want)
	}

	return took, err
}

// outlastSync waits until the last sync of a team has ended. It fails if the sync does.
func (b *bed) outlastSync(ctx context.Context, t tenant) error {
	ctx, stop := context.WithTimeout(ctx, 10*patience)
	defer stop()

	for {
		var status intake.Status

		if err := b.db.ReadOne(ctx, t.scope(b.db), func(ctx context.Context, tx *db.Tx) (err error) {
			status, err = db.Get[intake.Status](ctx, tx, `select status from sync where team_id = @team order by queued_at desc limit 1`,
				db.Args{"team": tx.Team})

			return err
		}); err != nil {
			return err
		}

		if status == intake.Completed {
			return nil
		}

		if status != intake.Queued && status != intake.Started {
			return fmt.Errorf("the sync has %s", status)
		}

		time.Sleep(10 * time.Millisecond)
	}
}

// timeBatch sends some records to the batch endpoint and returns how long the request takes, without making its text.
func (b *bed) timeBatch(ctx context.Context, k *intakeKind, l listed, from, to int) (time.Duration, error) {
	items := make([]item, to-from)
	for i := range items {
		items[i] = k.field(l, from+i, true)
	}

	text, err := json.Marshal(map[string]any{"data": items})
	if err != nil {
		return 0, fmt.Errorf("encode a batch: %w", err)
	}

	begin := time.Now()
	err = b.sendBatch(ctx, b.teams[batchName], k.batch, string(text))

	return time.Since(begin), err
}

// pages is a source of one kind that has some records.
type pages struct {
	kind    *intakeKind
	changes []intake.Change
	// reached is called with a page that is asked for and returns when the sync goes on at it; then between is called
	// with the places of the records that have been taken in, before the page is given. Nil for nothing.
	reached func(page string) error
	between func(from, to int) error

	began time.Time // when the first page was asked for
	given time.Time // when the last one was given
	took  []float64 // seconds of each page that was taken in before the next one was given
}

// newPages returns a source with so many records.
func newPages(k *intakeKind, l listed, rows int) *pages {
	p := &pages{kind: k, changes: make([]intake.Change, rows)}

	for i := range p.changes {
		values := intake.Values{}

		for name, v := range k.field(l, i, false) {
			text, err := json.Marshal(v)
			if err != nil {
				panic(err) // of nothing but texts, numbers and ids
			}

			values[name] = text
		}

		p.changes[i] = intake.Change{Kind: k.name, ExternalID: strconv.Itoa(i), Values: values}
	}

	return p
}

// Kinds lists the kind.
func (p *pages) Kinds() []string { return []string{p.kind.name} }

// Pull gives the next page. The last one is empty: it shows when the one before has been taken in.
func (p *pages) Pull(_ context.Context, r intake.Request) (*intake.Page, error) {
	from, _ := strconv.Atoi(r.Page)

	switch {
	case from == 0:
		p.began = time.Now()
	case p.between != nil:
		if err := p.reached(r.Page); err != nil {
			return nil, err
		}

		p.took = append(p.took, time.Since(p.given).Seconds())

		if err := p.between((from-1)/intakePage*intakePage, from); err != nil {
			return nil, err
		}
	}

	out := &intake.Page{}

	if from < len(p.changes) {
		to := min(from+intakePage, len(p.changes))
		out.Changes, out.Next = p.changes[from:to], strconv.Itoa(to)
	}

	p.given = time.Now()

	return out, nil
}

// Lookup gives nothing: it is never asked, since nothing is gone.
func (*pages) Lookup(context.Context, string, []string) ([]intake.Change, error) { return nil, nil }
