package reservation

import (
	"context"
	"errors"
	"slices"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// The bounds of a batch: the size of its body and the time of one of its statements.
const (
	batchBytes   = api.MaxBatch
	batchTimeout = 5 * time.Minute
)

// batchChunk is how many items are saved and derived together.
const batchChunk = 250

// BatchStatus is the status of an item: that of a reservation, or an inquiry.
type BatchStatus string

// inquiry is the status of a request for a stay that is not booked.
const inquiry BatchStatus = "inquiry"

// Enum lists the statuses of an item.
func (BatchStatus) Enum() []string { return append(Status("").Enum(), string(inquiry)) }

// OnInquiry says how inquiries are handled.
type OnInquiry string

// The outcomes of an inquiry: it is left out, or imported as an inactive reservation.
const (
	SkipInquiry   OnInquiry = "skip"
	ImportInquiry OnInquiry = "import"
)

// Enum lists the outcomes.
func (OnInquiry) Enum() []string { return []string{string(SkipInquiry), string(ImportInquiry)} }

// OnLineTotalDeviation says how an item is handled if its lines do not add up to its total.
type OnLineTotalDeviation string

// The outcomes of a deviation: the lines count, or the item is refused.
const (
	IgnoreDeviation OnLineTotalDeviation = "ignore"
	IssueDeviation  OnLineTotalDeviation = "issue"
)

// Enum lists the outcomes.
func (OnLineTotalDeviation) Enum() []string {
	return []string{string(IgnoreDeviation), string(IssueDeviation)}
}

// BatchItem is one reservation of a batch.
type BatchItem struct {
	ID     *id.ID       `json:"id,omitempty" doc:"The reservation to change; without it the uniqueRef decides. A new one needs listingId, checkIn and checkOut."`
	Status *BatchStatus `json:"status,omitempty"`
	Total  *money.Cents `json:"total,omitempty" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"What the lines should add up to; see onLineTotalDeviation."`
	Fields
}

// Batch is many reservations at once.
type Batch struct {
	AppID                *string              `json:"appId,omitempty" minLength:"1" maxLength:"100" doc:"The app of new items that name none."`
	OnInquiry            OnInquiry            `json:"onInquiry,omitempty" doc:"skip (default) passes inquiries over, import keeps them as inactive reservations."`
	OnLineTotalDeviation OnLineTotalDeviation `json:"onLineTotalDeviation,omitempty" doc:"ignore (default) takes the lines, issue refuses an item if its lines do not add up to its total."`
	Data                 []BatchItem          `json:"data" minItems:"1" maxItems:"20000"`
}

type batchInput struct {
	Atomic bool `query:"atomic" doc:"Nothing lands unless everything does."`
	Body   Batch
}

// errNothingLands rolls an atomic batch back if one of its items was refused.
var errNothingLands = errors.New("reservation: an item of an atomic batch was refused")

// batch saves the items of a batch, a chunk at a time, and answers with the saved and the refused ones in the order
// of the body.
func batch(ctx context.Context, tx *db.Tx, in *batchInput) (*api.Outcome, error) {
	b := &batcher{
		batch:   &in.Body,
		written: map[id.ID]bool{},
		out:     api.Outcome{Data: []api.Written{}, Issues: []api.Refused{}},
	}

	var wanted []int

	for i := range in.Body.Data {
		if s := in.Body.Data[i].Status; s == nil || *s != inquiry || in.Body.OnInquiry == ImportInquiry {
			wanted = append(wanted, i)
		}
	}

	// All reservations are locked before the first chunk, see hold.
	if err := b.lockAll(ctx, tx); err != nil {
		return nil, err
	}

	// Everything happens in one savepoint, so that an atomic batch can be undone and still be answered.
	err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		for chunk := range slices.Chunk(wanted, batchChunk) {
			if err := b.saveChunk(ctx, tx, chunk); err != nil {
				return err
			}
		}

		if in.Atomic && len(b.out.Issues) > 0 {
			return errNothingLands
		}

		return nil
	})
	if errors.Is(err, errNothingLands) {
		b.out.Data, err = []api.Written{}, nil
	}

	slices.SortFunc(b.out.Issues, func(a, b api.Refused) int { return a.Index - b.Index })

	return &b.out, err
}

// batcher saves the items of a batch.
type batcher struct {
	batch *Batch
	// written are the reservations that an item was saved to: a second item for one of them is refused.
	written map[id.ID]bool
	out     api.Outcome
}

// lockAll locks all reservations that the batch names, at once. Its items come in any order and are saved in chunks;
// if each chunk locked its own, two batches could wait for each other.
func (b *batcher) lockAll(ctx context.Context, tx *db.Tx) error {
	ids, refs := []id.ID{}, []string{}

	for i := range b.batch.Data {
		item := &b.batch.Data[i]
		if item.ID != nil {
			ids = append(ids, *item.ID)
		}

		if ref := item.UniqueRef.Value; ref != nil {
			refs = append(refs, *ref)
		}
	}

	_, err := lockNamed(ctx, tx, ids, refs)

	return err
}

// saveChunk saves some items and derives their journals together. If that fails, it tries each half by itself, down to
// the item that is to blame. It fails only with defects; refused items are collected.
func (b *batcher) saveChunk(ctx context.Context, tx *db.Tx, items []int) error {
	var (
		drafts  []*draft
		refused []api.Refused
	)

	err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		var k saveContext
		if drafts, refused, err = b.loadDrafts(ctx, tx, items, &k); err != nil || len(drafts) == 0 {
			return err
		}

		return k.saveAll(ctx, tx, drafts)
	})

	// A savepoint has undone the attempt, so its outcome counts only if it succeeded.
	refusal := apierr.From(err)
	switch {
	case err == nil:
		b.out.Issues = append(b.out.Issues, refused...)
		for _, d := range drafts {
			b.written[d.ID] = true
			b.out.Data = append(b.out.Data, api.Written{ID: d.ID, UniqueRef: d.UniqueRef, Index: d.index})
		}

		return nil
	case refusal.Code().Status() >= 500:
		return err
	case len(items) == 1:
		b.out.Issues = append(b.out.Issues, api.Refusal(items[0], b.batch.Data[items[0]].UniqueRef.Value, refusal))
		return nil
	}

	// One of several items is refused: the others must not fail with it.
	half := len(items) / 2
	if err := b.saveChunk(ctx, tx, items[:half]); err != nil {
		return err
	}

	return b.saveChunk(ctx, tx, items[half:])
}

// loadDrafts locks and loads the records that the items name, which go into k, and returns drafts of the items that
// pass all checks and refusals of the others.
func (b *batcher) loadDrafts(
	ctx context.Context, tx *db.Tx,
	items []int,
	k *saveContext,
) (good []*draft, bad []api.Refused, err error) {
	var (
		ids  []id.ID
		refs []string
	)

	// First collect the names that the items use.
	for _, i := range items {
		item := &b.batch.Data[i]
		if item.ID != nil {
			ids = append(ids, *item.ID)
		}

		if ref := item.UniqueRef.Value; ref != nil {
			refs = append(refs, *ref)
		}
	}

	named, err := lockNamed(ctx, tx, ids, refs)
	if err != nil {
		return nil, nil, err
	}

	found, err := loadReservations(ctx, tx, named)
	if err != nil {
		return nil, nil, err
	}

	// Index the stored reservations by both names that an item may use.
	byID, byRef := map[id.ID]*Reservation{}, map[string]*Reservation{}
	for i := range found {
		byID[found[i].ID] = &found[i]
		if ref := found[i].UniqueRef; ref != nil {
			byRef[*ref] = &found[i]
		}
	}

	// Then make a draft of each item, in order: an item may use a uniqueRef that an earlier one gave up.
	var drafts []*draft

	refuse := func(i int, err error) {
		bad = append(bad, api.Refusal(i, b.batch.Data[i].UniqueRef.Value, apierr.From(err)))
	}
	taken := map[id.ID]bool{}

	for _, i := range items {
		d, err := b.draft(tx, i, byID, byRef)
		if err != nil {
			refuse(i, err)
			continue
		}

		if b.written[d.ID] || taken[d.ID] {
			refuse(i, errDuplicateUniqueRef)
			continue
		}

		taken[d.ID] = true
		if d.before != nil && d.before.UniqueRef != nil {
			delete(byRef, *d.before.UniqueRef) // a later item may take the reference that this one gives up
		}

		if d.UniqueRef != nil {
			byRef[*d.UniqueRef] = &d.Reservation
		}

		drafts = append(drafts, d)
	}

	// Last, check the drafts against the records that they refer to, loaded for all of them at once.
	if *k, err = loadSaveContext(ctx, tx, drafts); err != nil {
		return nil, nil, err
	}

	for _, d := range drafts {
		if err := k.check(d); err != nil {
			refuse(d.index, err)
			continue
		}

		good = append(good, d)
	}

	return good, bad, nil
}

// draft returns the draft of an item: a change of the reservation that it names, else a new reservation. It fails
// with apierr.NotFound for an unknown id, and with issues for a new one that lacks required fields.
func (b *batcher) draft(
	tx *db.Tx,
	index int,
	byID map[id.ID]*Reservation,
	byRef map[string]*Reservation,
) (*draft, error) {
	item := &b.batch.Data[index]

	var old *Reservation

	switch {
	case item.ID != nil:
		if old = byID[*item.ID]; old == nil {
			return nil, apierr.NotFound
		}
	case item.UniqueRef.Value != nil:
		old = byRef[*item.UniqueRef.Value]
	}

	// An item that names no stored reservation creates one.
	d := &draft{before: old, index: index}
	if old != nil {
		d.Reservation = *old
	} else {
		d.ID = tx.NewID()

		d.ShortRef, d.AppID, d.CreatedAt, d.relined = d.ID.ShortRef(), b.batch.AppID, day.At(tx.Now), true
		if issues := item.missingFields(); issues != nil {
			return nil, apierr.BadRequest.At(issues...)
		}
	}

	d.change(item.asUpdate())
	d.UpdatedAt = day.At(tx.Now)
	d.settleDefaults(tx)

	// The stated total is compared only with lines that the item brings; a new item without lines has a total of
	// zero.
	if b.batch.OnLineTotalDeviation == IssueDeviation && item.Total != nil && d.relined {
		var sum money.Cents
		for i := range d.Lines {
			sum += d.Lines[i].Amount
		}

		if sum != *item.Total {
			d.issues = append(d.issues, apierr.IssueLineTotalDeviation.InBody("total"))
		}
	}

	return d, nil
}

// missingFields returns an issue for each absent field that only a change can do without.
func (item *BatchItem) missingFields() (issues []apierr.Issue) {
	for _, field := range []struct {
		name   string
		absent bool
	}{{"listingId", item.ListingID == nil}, {"checkIn", item.CheckIn == nil}, {"checkOut", item.CheckOut == nil}} {
		if field.absent {
			issues = append(issues, apierr.IssueRequired.InBody(field.name))
		}
	}

	return issues
}

// asUpdate returns the item as a change. An inquiry that is imported is an inactive reservation.
func (item *BatchItem) asUpdate() *Update {
	u := Update{Fields: item.Fields}
	if item.Status != nil {
		status := Status(*item.Status)
		if *item.Status == inquiry {
			status = Inactive
		}

		u.Status = &status
	}

	return &u
}
