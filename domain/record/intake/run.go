package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/file"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/outbound"
)

const (
	// The most time for one page: the call to the source and the transaction that takes it in.
	pageTime = 5 * time.Minute
	// A job goes on with further pages for this long before other jobs get their turn.
	turnTime = time.Second
	// This many waiting records are tried again together, and this many hints are looked up.
	retried = 500
	// The most records of a page; all are held in memory.
	mostChanges = 5000
	// An answer that breaks the protocol is asked for this often.
	protocolTries = 3
)

// Open returns the source of a connection. It runs outside any transaction. It fails with ErrRefused for settings
// that cannot be opened.
type Open func(ctx context.Context, d *db.DB, scope db.Scope, connection id.ID) (Source, error)

// runner takes in the pages of syncs.
type runner struct {
	open     Open
	refused  func(ctx context.Context, tx *db.Tx, connection id.ID) error
	makeFile MakeFile
	most     outbound.Reading // of one kind, unless the kind says otherwise
	kinds    map[string]*Kind
	order    []string // the names of the kinds
}

// handler returns the handler of the jobs that take in pages.
func (r *runner) handler() job.Handler {
	return job.Handler{
		Timeout: pageTime, TryFor: job.OutsideTime, Lane: job.Bulk, Do: r.do, Exhausted: r.giveUp,
	}
}

// do takes in pages of a sync until its turn is over: many pages have no news and take a moment.
func (r *runner) do(ctx context.Context, d *db.DB, j job.Job) error {
	args, err := decodeTask(j)
	if err != nil {
		return err
	}

	var s *Sync

	err = d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		s, err = beginSync(ctx, tx, args.SyncID)
		return err
	})
	if err != nil {
		return err
	}

	// An ended sync needs no job. A sync that waits gets one when the present sync of its source ends.
	if s == nil || s.Status != Started {
		return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error { return job.Done(ctx, tx, j) })
	}

	// A retried job takes in one page only: a page that kills its worker then gives up just itself.
	over, end := context.WithTimeout(ctx, turnTime)
	defer end()

	if j.Attempt > 1 {
		end()
	}

	t := &turn{job: j, sync: s, over: over.Done()}
	t.ends, _ = over.Deadline()

	defer t.drop()

	for s = t.sync; s != nil && err == nil; {
		t.sync = s
		s, err = r.takeStep(ctx, d, t)
	}

	if !errors.Is(err, errSource) {
		return err
	}

	return t.sync.delay(ctx, d, j.Scope(), int(j.Attempt), err)
}

// delay saves why a sync cannot go on for now, and returns the error for the worker: a protocol error is final after
// some attempts.
func (s *Sync) delay(ctx context.Context, d *db.DB, scope db.Scope, attempt int, cause error) error {
	if errors.Is(cause, ErrProtocol) && attempt >= protocolTries {
		cause = job.Permanent(cause)
	}

	code := faultCode(cause)

	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error { return noteDelay(ctx, tx, s, code) })

	return errors.Join(cause, err)
}

// noteDelay saves why a sync cannot go on for now, unless it has ended. An extract shows it itself, other syncs at the
// source, too.
func noteDelay(ctx context.Context, tx *db.Tx, s *Sync, code FaultCode) error {
	s, err := lockFromSource(ctx, tx, s.SourceID, s.ID)
	if err != nil || s.Status != Started {
		return err
	}

	s.Code = &code
	if err := updateFault(ctx, tx, s); err != nil || code == FaultReconnect || s.View == Extract {
		return err
	}

	return noteFault(ctx, tx, s, syncDelayed, code)
}

// faultCode returns the fault of an error from reading a source.
func faultCode(cause error) FaultCode {
	switch {
	case errors.Is(cause, ErrRefused):
		return FaultReconnect
	case errors.Is(cause, ErrProtocol):
		return FaultProtocol
	case errors.Is(cause, outbound.ErrEndless):
		return FaultTooMany
	case errors.Is(cause, errSource):
		return FaultUnavailable
	}

	return FaultInternal
}

// takeStep takes in one page. The same transaction saves where the sync goes on, so that each page is taken in once,
// whenever the worker dies. It returns the sync after the page, or nil if the job has ended.
func (r *runner) takeStep(ctx context.Context, d *db.DB, t *turn) (*Sync, error) {
	s, end := t.sync, t.clock()

	// Call the source first, with no transaction open.
	next, err := r.nextPage(ctx, d, t)
	if errors.Is(err, ErrCursorLost) && s.Progress.forget(next.kind) {
		return nil, r.commitProgress(ctx, d, t.job, s)
	}

	if limited, ok := errors.AsType[*LimitedError](err); ok {
		return nil, d.Write(ctx, t.job.Scope(), func(ctx context.Context, tx *db.Tx) error {
			return t.waitUntil(ctx, tx, limited.Until)
		})
	}

	if err != nil {
		return nil, sourceError(err)
	}

	// Pull the next page during this transaction.
	r.pullAhead(ctx, d, t, next)

	err = d.Write(ctx, t.job.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		s, err = r.commitPage(ctx, tx, t, next)
		return err
	})

	end(next.kind)

	return s, err
}

// forget makes the sync read a kind from its beginning. It returns false if it already does: then the source cannot
// be read at all.
func (p *progress) forget(kind string) bool {
	if p.Anew[kind] && p.Page == "" {
		return false
	}

	// Change copies: the caller compares the old progress with the row.
	anew, marks := maps.Clone(p.Anew), maps.Clone(p.Marks)
	if anew == nil {
		anew = map[string]bool{}
	}

	delete(marks, kind)

	anew[kind] = true
	p.Anew, p.Marks, p.Page, p.Partial = anew, marks, "", false

	return true
}

// origin returns the provenance of records written by the sync.
func (s *Sync) origin() Origin {
	return Origin{
		SourceID: s.SourceID, SyncID: s.ID, ConnectionID: s.ConnectionID, reading: *cmp.Or(s.Progress.Reading, &s.ID),
	}
}

// errSource marks errors of a source.
var errSource = errors.New("the source")

// sourceError returns the error of a source for the worker: refused credentials and a list without an end are final. The
// failures of our own database and disk are not those of the source.
func sourceError(err error) error {
	if errors.Is(err, file.ErrStore) || errors.Is(err, db.ErrUnavailable) || db.SQLState(err) != "" {
		return err
	}

	err = fmt.Errorf("%w: %w", errSource, err)
	if errors.Is(err, ErrRefused) || errors.Is(err, outbound.ErrEndless) {
		return job.Permanent(err)
	}

	return err
}

// giveUp ends a sync when its source could not be read. After refused credentials the connection must be connected
// again.
func (r *runner) giveUp(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
	args, err := decodeTask(j)
	if err != nil {
		return err
	}

	s, err := lockSync(ctx, tx, args.SyncID)
	if err != nil {
		return err
	}

	if !s.Status.hasEnded() {
		code := faultCode(cause)
		if code == FaultReconnect && s.ConnectionID != nil {
			if err := r.refused(ctx, tx, *s.ConnectionID); err != nil {
				return err
			}
		}

		if err := finishSync(ctx, tx, s, Failed, &code); err != nil {
			return err
		}
	}

	return operation.GiveUp(ctx, tx, j, cause)
}

// beginSync locks a sync, and starts it if it waits and no other sync of its source runs. It returns nil if the sync
// was deleted with its source.
func beginSync(ctx context.Context, tx *db.Tx, sync id.ID) (*Sync, error) {
	s, err := lockSync(ctx, tx, sync)
	if errors.Is(err, apierr.NotFound) {
		return nil, nil
	}

	if err != nil || s.Status != Queued {
		return s, err
	}

	running, err := findBySource(ctx, tx, s.SourceID, Started)
	if err != nil || running != nil {
		return s, err
	}

	s.Status = Started

	return s, startSync(ctx, tx, s)
}

// fetched is the input of one step of a sync.
type fetched struct {
	page *Page
	// kind is the kind that was read, empty without one.
	kind string
	// hints are the external ids that were looked up, by kind, as they were at the instant read.
	hints map[string][]string
	read  time.Time
	// hashed is closed when the records of the page have their hashes; nil if they are hashed later.
	hashed chan struct{}
}

// fetch reads the input of the next step from the source. Waiting records are in the database already.
func (r *runner) fetch(ctx context.Context, d *db.DB, scope db.Scope, s *Sync) (*fetched, error) {
	out := &fetched{page: &Page{}}
	if s.Progress.Step == stepWaiting {
		return out, nil
	}

	source, err := r.open(ctx, d, scope, s.SourceID)
	if err != nil {
		return out, err
	}

	if s.Progress.Step == stepHints {
		return lookUp(ctx, d, scope, source, s)
	}

	// After the last kind nothing is left to be read.
	kinds := s.listKinds(source)
	if s.Progress.Step-stepKinds >= len(kinds) {
		return out, nil
	}

	out.kind = kinds[s.Progress.Step-stepKinds]
	ask := Request{Kind: out.kind, Page: s.Progress.Page, From: s.RangeStart, To: s.RangeEnd}

	// Ask only for what has changed since the last sync.
	if s.Mode == Incremental && !s.Progress.Anew[ask.Kind] {
		err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			ask.Since, err = loadWatermark(ctx, tx, s.SourceID, ask.Kind)
			return err
		})
		if err != nil {
			return out, err
		}
	}

	if out.page, err = source.Pull(ctx, ask); err != nil {
		return out, fmt.Errorf("read %s records of a source: %w", ask.Kind, err)
	}

	if len(out.page.Changes) > mostChanges {
		return out, fmt.Errorf("%w: a page of %d records", ErrProtocol, len(out.page.Changes))
	}

	// A source may return dependent records of other kinds, which then name their kind.
	for i := range out.page.Changes {
		c := &out.page.Changes[i]
		c.Kind = cmp.Or(c.Kind, ask.Kind)
	}

	out.startHashing()

	return out, nil
}

// startHashing hashes the records of a page in the background while the next page is pulled. Records that cannot be
// hashed are refused when they are taken in.
func (f *fetched) startHashing() {
	f.hashed = make(chan struct{})

	go func() {
		defer close(f.hashed)

		// A panic here would end the process. The remaining records are hashed when they are taken in, where the
		// worker reports a panic.
		defer func() { _ = recover() }()

		var h hasher

		for i := range f.page.Changes {
			c := &f.page.Changes[i]
			c.sum, _ = h.sum(c)
		}
	}()
}

// listKinds returns the kinds to read, in the order of the source.
func (s *Sync) listKinds(source Source) []string {
	if !s.reads() {
		return nil
	}

	var out []string

	for _, kind := range source.Kinds() {
		if len(s.Kinds) == 0 || slices.Contains(s.Kinds, kind) {
			out = append(out, kind)
		}
	}

	return out
}

// lookUp reads the records named by hints.
func lookUp(ctx context.Context, d *db.DB, scope db.Scope, source Source, s *Sync) (*fetched, error) {
	out := &fetched{page: &Page{}}

	// Note the instant: hints that come again later are not deleted.
	err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		out.read = tx.Now
		out.hints, err = loadHints(ctx, tx, s.SourceID, retried)

		return err
	})
	if err != nil {
		return out, err
	}

	for kind, ids := range out.hints {
		found, err := source.Lookup(ctx, kind, ids)
		if err != nil {
			return out, fmt.Errorf("look up %s records of a source: %w", kind, err)
		}

		for i := range found {
			found[i].Kind = kind
		}

		out.page.Changes = append(out.page.Changes, found...)
	}

	return out, nil
}

// commitPage takes in a page and saves where the sync goes on. It returns the sync for the job to go on with, or nil
// if the job has ended in this transaction. A page that another worker has taken in meanwhile is dropped.
func (r *runner) commitPage(ctx context.Context, tx *db.Tx, t *turn, f *fetched) (*Sync, error) {
	s, err := lockFromSource(ctx, tx, t.sync.SourceID, t.sync.ID)
	if err != nil {
		return nil, err
	}

	if s.Status != Started || s.Items != t.sync.Items || !s.Progress.equal(&t.sync.Progress) {
		return nil, job.Done(ctx, tx, t.job)
	}

	// Take in the records, as changes made by the connection.
	in := &intake{kinds: r.kinds, origin: s.origin(), complete: f.page.Complete}

	if s.ConnectionID != nil {
		audit.FromConnection(tx, *s.ConnectionID, &s.ID)
	}

	changes := f.page.Changes
	if s.Progress.Step == stepWaiting {
		if changes, err = loadWaiting(ctx, tx, in.origin, s.Progress.Page, retried); err != nil {
			return nil, err
		}
	}

	// takeChanges compares hashes, so wait for the background.
	if f.hashed != nil {
		<-f.hashed
	}

	if err := in.takeChanges(ctx, tx, changes); err != nil {
		return nil, err
	}

	if err := deleteHints(ctx, tx, s.SourceID, f); err != nil {
		return nil, err
	}

	// Then decide where to go on. After a complete reading this finds the records that are gone.
	more, fault, err := r.advance(ctx, tx, s, f, changes)
	if err != nil {
		return nil, err
	}

	savePage(tx, s, in.items)

	// An earlier attempt may have noted that the source cannot be read.
	if t.job.Attempt > 1 || s.Code != nil {
		if err := endFaults(ctx, tx, s, syncDelayed); err != nil {
			return nil, err
		}
	}

	switch {
	case fault != nil:
		if err := finishSync(ctx, tx, s, Failed, fault); err != nil {
			return nil, err
		}

		if err := operation.GiveUp(ctx, tx, t.job, errStopped); err != nil {
			return nil, err
		}

		return nil, job.Done(ctx, tx, t.job)
	case more && !t.isOver():
		return s, nil
	case more:
		return nil, insertNextJob(ctx, tx, t.job, s)
	}

	operation.Settle(tx, t.job)

	return nil, finishSync(ctx, tx, s, Completed, nil)
}

// shortWait is a wait for a source that nobody has to be told of: limits of calls make a sync wait all the time.
const shortWait = time.Minute

// waitUntil replaces the job with one that goes on when the source takes calls again. If that is not soon, it saves why
// the sync cannot go on for now.
func (t *turn) waitUntil(ctx context.Context, tx *db.Tx, until time.Time) error {
	next := t.sync.task()
	next.DueAt = until

	if until.Sub(tx.Now) > shortWait {
		if err := noteDelay(ctx, tx, t.sync, FaultUnavailable); err != nil {
			return err
		}
	}

	if err := job.Insert(ctx, tx, next); err != nil {
		return err
	}

	return job.Done(ctx, tx, t.job)
}

// insertNextJob ends the job of a page and inserts the job of the next page.
func insertNextJob(ctx context.Context, tx *db.Tx, j job.Job, s *Sync) error {
	if err := job.Insert(ctx, tx, s.task()); err != nil {
		return err
	}

	return job.Done(ctx, tx, j)
}

// commitProgress saves where a sync goes on when a step took in nothing.
func (r *runner) commitProgress(ctx context.Context, d *db.DB, j job.Job, s *Sync) error {
	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
		now, err := lockFromSource(ctx, tx, s.SourceID, s.ID)
		if err != nil {
			return err
		}

		if now.Status != Started || now.Progress.Step != s.Progress.Step {
			return job.Done(ctx, tx, j)
		}

		now.Progress = s.Progress
		savePage(tx, now, nil)

		return insertNextJob(ctx, tx, j, now)
	})
}

// equal reports whether both are the same place in a sync.
func (p *progress) equal(o *progress) bool {
	return p.Step == o.Step && p.Page == o.Page && maps.Equal(p.Anew, o.Anew)
}

// advance sets where a sync goes on after a page. It reports whether there is more to read, or the fault that ends
// the sync.
func (r *runner) advance(
	ctx context.Context, tx *db.Tx,
	s *Sync,
	f *fetched,
	changes []Change,
) (more bool, fault *FaultCode, err error) {
	p := &s.Progress

	switch p.Step {
	case stepWaiting:
		if len(changes) == retried {
			p.Page = position(&changes[len(changes)-1])
			return true, nil, nil
		}

		p.Step, p.Page = stepHints, ""

		return s.Trigger != Unlocked, nil, nil
	case stepHints:
		if len(f.hints) == 0 {
			p.Step, p.Then = max(p.Then, stepKinds), 0
		}

		return true, nil, nil
	}

	if f.kind == "" {
		return false, nil, nil
	}

	if r.isTooMany(p, f) {
		tooMany := FaultTooMany
		return false, &tooMany, nil
	}

	// A reading is complete if all its pages are: only complete pages have noted the records they saw.
	p.Partial = p.Partial || !f.page.Complete

	// Keep the watermark of the first page: changes during the reading come again with the next sync.
	if p.Marks[f.kind] == "" && f.page.Watermark != "" {
		if p.Marks == nil {
			p.Marks = map[string]string{}
		}

		p.Marks[f.kind] = f.page.Watermark
	}

	if p.Page = f.page.Next; p.Page != "" {
		return true, nil, nil
	}

	// This was the last page of the kind. Look up the records that a complete reading lacked: a record that moved to
	// another page while it was read is not gone.
	next := p.Step + 1
	p.Pages, p.Rows = 0, 0

	complete := !p.Partial
	if p.Partial = false; complete {
		if fault, err = hintUnseen(ctx, tx, s.origin(), f); fault != nil || err != nil {
			return false, fault, err
		}

		p.Step, p.Then = stepHints, next
	} else {
		p.Step = next
	}

	// A reading of some days says nothing about changes outside them, so it sets no watermark.
	if mark := p.Marks[f.kind]; mark != "" && s.RangeStart == nil && s.RangeEnd == nil {
		if err := upsertWatermark(ctx, tx, s.SourceID, f.kind, mark); err != nil {
			return false, nil, err
		}
	}

	return true, nil, nil
}

// isTooMany counts a page of a kind, and reports whether more was read of it than any source has.
func (r *runner) isTooMany(p *progress, f *fetched) bool {
	p.Pages++
	p.Rows += len(f.page.Changes)

	most := r.most
	if k := r.kinds[f.kind]; k != nil && k.Most != (outbound.Reading{}) {
		most = k.Most
	}

	return p.Pages > most.Pages || p.Rows > most.Rows
}

// hintUnseen adds hints for the records that a complete reading lacked. If most records are missing, it returns a
// fault until a person decides.
func hintUnseen(ctx context.Context, tx *db.Tx, from Origin, f *fetched) (*FaultCode, error) {
	unseen, all, err := listUnseen(ctx, tx, from, f.kind, f.page.Window)
	if err != nil {
		return nil, err
	}

	gone, fault, err := checkMissing(ctx, tx, from, &shortfall{f.kind, unseen, all})
	if err != nil || fault != nil {
		return fault, err
	}

	return nil, upsertHints(ctx, tx, from.SourceID, f.kind, gone)
}
