package reservation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// The bounds of a batch: its body's size and the time for each statement.
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

	externalID string // at the system that it comes from, empty for none
}

// Batch is many reservations at once.
type Batch struct {
	ConnectionID         *id.ID               `json:"connectionId,omitempty" doc:"The connection that new items come over, and items of reservations that came over none or over one that is not active."`
	AppID                *string              `json:"appId,omitempty" minLength:"1" maxLength:"100" doc:"The app of new items that name none."`
	OnInquiry            OnInquiry            `json:"onInquiry,omitempty" doc:"skip (default) passes inquiries over, import keeps them as inactive reservations."`
	OnLineTotalDeviation OnLineTotalDeviation `json:"onLineTotalDeviation,omitempty" doc:"ignore (default) takes the lines, issue refuses an item if its lines do not add up to its total."`
	Data                 []BatchItem          `json:"data" minItems:"1" maxItems:"20000"`

	lenience ledger.Lenience // with the locks on what is changed
}

type batchInput struct {
	Atomic bool `query:"atomic" doc:"Nothing lands unless everything does."`
	Body   Batch
}

// batch saves the items of a batch and answers with the saved and the refused ones in the order of the body.
func batch(ctx context.Context, tx *db.Tx, in *batchInput) (*api.Outcome, error) {
	return api.Land(ctx, tx, in.Atomic, func(ctx context.Context, tx *db.Tx) ([]api.Attempt, error) {
		return saveBatch(ctx, tx, &in.Body)
	})
}

// saveBatch creates or changes reservations, each by itself, and derives their journals. It returns an attempt for each
// item in the order of the batch; inquiries that are passed over have none.
func saveBatch(ctx context.Context, tx *db.Tx, all *Batch) ([]api.Attempt, error) {
	b := &batcher{batch: all, written: map[id.ID]bool{}, out: make([]api.Attempt, len(all.Data))}

	var wanted []int

	for i := range all.Data {
		if s := all.Data[i].Status; s == nil || *s != inquiry || all.OnInquiry == ImportInquiry {
			wanted = append(wanted, i)
		}
	}

	if err := checkConnection(ctx, tx, all.ConnectionID); err != nil {
		return nil, err
	}

	// All reservations are locked before the first chunk, see lockAll.
	if err := b.lockAll(ctx, tx); err != nil {
		return nil, err
	}

	for chunk := range slices.Chunk(wanted, batchChunk) {
		if err := b.saveChunk(ctx, tx, chunk); err != nil {
			return nil, err
		}
	}

	return b.out, nil
}

// checkConnection fails with the issue notFound for a connection that the team does not have. It keeps the connection
// from being deleted until the transaction ends.
func checkConnection(ctx context.Context, tx *db.Tx, connection *id.ID) error {
	if connection == nil {
		return nil
	}

	_, err := db.One[bool](ctx, tx, apierr.BadRequest.At(apierr.IssueNotFound.InBody("connectionId")),
		`select true from connection where team_id = @team and id = @id for key share`, db.Args{"team": tx.Team, "id": connection})
	if err != nil {
		return fmt.Errorf("find the connection of reservations: %w", err)
	}

	return nil
}

// loadIdle returns the inactive connections among the connections the stored reservations came over. The connection
// that brings them now is left out.
func loadIdle(ctx context.Context, tx *db.Tx, found []Reservation, now *id.ID) (map[id.ID]bool, error) {
	var ids []id.ID

	for i := range found {
		if c := found[i].ConnectionID; now != nil && c != nil && *c != *now {
			ids = append(ids, *c)
		}
	}

	if len(ids) == 0 {
		return nil, nil
	}

	idle, err := db.Select[id.ID](ctx, tx, `select id from connection where team_id = @team and id = any(@ids) and status not in ('active', 'connecting')`,
		db.Args{"team": tx.Team, "ids": id.Distinct(ids)})
	if err != nil {
		return nil, fmt.Errorf("find connections that nothing comes over: %w", err)
	}

	out := make(map[id.ID]bool, len(idle))
	for _, c := range idle {
		out[c] = true
	}

	return out, nil
}

// batcher saves the items of a batch.
type batcher struct {
	batch *Batch
	// written has the reservations that an item was saved to: a second item for the same reservation is refused.
	written map[id.ID]bool
	// idle has the inactive connections that stored reservations came over.
	idle map[id.ID]bool
	out  []api.Attempt
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

// saveChunk saves some items and derives their journals together. It fails only with defects; refused items are
// collected.
func (b *batcher) saveChunk(ctx context.Context, tx *db.Tx, items []int) error {
	refusals, err := db.Halves(ctx, tx, len(items), apierr.IsRefusal, func(ctx context.Context, tx *db.Tx, from, to int) error {
		var k saveContext

		drafts, refused, err := b.loadDrafts(ctx, tx, items[from:to], &k)
		if err != nil {
			return err
		}

		if k.lenience = b.batch.lenience; len(drafts) > 0 {
			if err := k.saveAll(ctx, tx, drafts); err != nil {
				return err
			}
		}

		// The attempt has succeeded, so its outcome counts.
		maps.Copy(refused, b.attempts(drafts))

		for i, a := range refused {
			b.out[i] = a
		}

		return nil
	})
	if err != nil {
		return err
	}

	for i, refusal := range refusals {
		if refusal != nil {
			b.out[items[i]] = b.refuse(items[i], refusal)
		}
	}

	return nil
}

// attempts returns the attempts of saved drafts by index, and notes that they were written.
func (b *batcher) attempts(drafts []*draft) map[int]api.Attempt {
	out := make(map[int]api.Attempt, len(drafts))

	for _, d := range drafts {
		b.written[d.ID] = true
		out[d.index] = api.Attempt{ID: d.ID, UniqueRef: d.UniqueRef}
	}

	return out
}

// refuse returns the attempt of an item that is refused.
func (b *batcher) refuse(index int, err error) api.Attempt {
	return api.Attempt{UniqueRef: b.batch.Data[index].UniqueRef.Value, Refusal: apierr.From(err)}
}

// loadDrafts locks and loads the records that the items name, which go into k, and returns a draft of each item that
// passes all checks, a refusal for every other item.
func (b *batcher) loadDrafts(
	ctx context.Context, tx *db.Tx,
	items []int,
	k *saveContext,
) (good []*draft, bad map[int]api.Attempt, err error) {
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

	if b.idle, err = loadIdle(ctx, tx, found, b.batch.ConnectionID); err != nil {
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

	bad = map[int]api.Attempt{}
	taken := map[id.ID]bool{}

	for _, i := range items {
		d, err := b.draft(tx, i, byID, byRef)
		if err != nil {
			bad[i] = b.refuse(i, err)
			continue
		}

		if b.written[d.ID] || taken[d.ID] {
			bad[i] = b.refuse(i, errDuplicateUniqueRef.With(apierr.Duplicate{ID: d.ID}))
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
			bad[d.index] = b.refuse(d.index, err)
			continue
		}

		good = append(good, d)
	}

	return good, bad, nil
}

// draft returns the draft of an item: a change of the named reservation, else a new reservation. It fails with
// apierr.NotFound for an unknown id, and with issues for a new reservation that lacks required fields.
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

	if c := b.batch.ConnectionID; c != nil && (d.ConnectionID == nil || b.idle[*d.ConnectionID]) {
		d.ConnectionID = c
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
