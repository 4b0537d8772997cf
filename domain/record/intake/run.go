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
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

const (
	// One page is bounded by this time: the call to the source and the transaction that takes it in.
	pageTime = 5 * time.Minute
	// So long a job goes on with further pages before others have their turn.
	turnTime = time.Second
	// How many records that wait are tried again together, and how many hints are looked up.
	retried = 500
	// The most records of a page, all of which are held in memory.
	mostChanges = 5000
	// How often an answer that is not of the protocol is asked for.
	protocolTries = 3
)

// Open returns the source behind a connection. It runs outside of any transaction. Errors of settings that cannot be
// opened are ErrRefused.
type Open func(ctx context.Context, d *db.DB, scope db.Scope, connection id.ID) (Source, error)

// runner takes in pages.
type runner struct {
	open     Open
	refused  func(ctx context.Context, tx *db.Tx, connection id.ID) error
	makeFile MakeFile
	kinds    map[string]*Kind
	order    []string // the names of the kinds
}

// handler returns the handler of the job that takes in pages.
func (r *runner) handler() job.Handler {
	return job.Handler{
		Timeout: pageTime, TryFor: job.OutsideTime, Lane: job.Bulk, Do: r.do, Exhausted: r.giveUp,
	}
}

// do takes in pages of a sync, one after another until its turn is over: many say nothing new and take a moment.
func (r *runner) do(ctx context.Context, d *db.DB, j job.Job) error {
	args, err := decodeTask(j)
	if err != nil {
		return err
	}

	var s *Sync

	err = d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		s, err = begin(ctx, tx, args.SyncID)
		return err
	})
	if err != nil {
		return err
	}

	// A sync that has ended needs no job, and one that waits for another of its source gets one when that ends.
	if s == nil || s.Status != Started {
		return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error { return job.Done(ctx, tx, j) })
	}

	// A job that has failed before ends with its page: a page that kills its worker is then given up, and no other.
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
		s, err = r.step(ctx, d, t)
	}

	if !errors.Is(err, errSource) {
		return err
	}

	return t.delay(ctx, d, err)
}

// delay notes that the source of a sync cannot be read, and returns the error as the worker sees it: one of the protocol is final after
// some attempts.
func (t *turn) delay(ctx context.Context, d *db.DB, cause error) error {
	if errors.Is(cause, ErrProtocol) && t.job.Attempt >= protocolTries {
		cause = job.Permanent(cause)
	}

	code := faultOf(cause)

	err := d.Write(ctx, t.job.Scope(), func(ctx context.Context, tx *db.Tx) error {
		s, err := reload(ctx, tx, t.sync.SourceID, t.sync.ID)
		if err != nil || s.Status != Started {
			return err
		}

		s.Code = &code
		if err := saveFault(ctx, tx, s); err != nil || code == FaultReconnect {
			return err
		}

		return noteFault(ctx, tx, s, syncDelayed, code)
	})

	return errors.Join(cause, err)
}

// faultOf returns the code of an error of a source.
func faultOf(cause error) FaultCode {
	switch {
	case errors.Is(cause, ErrRefused):
		return FaultReconnect
	case errors.Is(cause, ErrProtocol):
		return FaultProtocol
	case errors.Is(cause, errSource):
		return FaultUnavailable
	}

	return FaultInternal
}

// step takes in one page. The transaction that takes it in also says where the sync goes on, so that each page is taken
// in once, whenever the worker dies. It returns the sync as it is then; nil when the job has ended, with another one
// that goes on or without.
func (r *runner) step(ctx context.Context, d *db.DB, t *turn) (*Sync, error) {
	s, end := t.sync, t.clock()

	// The call outside, with no transaction open.
	next, err := r.get(ctx, d, t)
	if errors.Is(err, ErrCursorLost) && s.Progress.forget(next.kind) {
		return nil, r.commitProgress(ctx, d, t.job, s)
	}

	if limited, ok := errors.AsType[*LimitedError](err); ok {
		return nil, d.Write(ctx, t.job.Scope(), func(ctx context.Context, tx *db.Tx) error { return waitUntil(ctx, tx, t.job, s, limited.Until) })
	}

	if err != nil {
		return nil, sourceError(err)
	}

	// The call of the next step goes on during the transaction of this one.
	r.pullAhead(ctx, d, t, next)

	err = d.Write(ctx, t.job.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		s, err = r.commit(ctx, tx, t, next)
		return err
	})

	end(next.kind)

	return s, err
}

// forget has a kind read from its beginning. It returns false if it is being read from there already: then the source
// cannot be read at all.
func (p *progress) forget(kind string) bool {
	if p.Anew[kind] && p.Page == "" {
		return false
	}

	// Copies, because the progress before is compared with that of the row.
	anew, marks := maps.Clone(p.Anew), maps.Clone(p.Marks)
	if anew == nil {
		anew = map[string]bool{}
	}

	delete(marks, kind)

	anew[kind] = true
	p.Anew, p.Marks, p.Page, p.Partial = anew, marks, "", false

	return true
}

// origin returns the provenance of what the sync writes.
func (s *Sync) origin() Origin {
	return Origin{SourceID: s.SourceID, SyncID: s.ID, ConnectionID: s.ConnectionID, reading: *cmp.Or(s.Progress.Reading, &s.ID)}
}

// errSource marks the errors of a source.
var errSource = errors.New("the source")

// sourceError returns the error of a source as the worker sees it: refused credentials are final.
func sourceError(err error) error {
	err = fmt.Errorf("%w: %w", errSource, err)
	if errors.Is(err, ErrRefused) {
		return job.Permanent(err)
	}

	return err
}

// giveUp ends a sync whose source could not be read. A connection whose credentials are refused has to be connected again.
func (r *runner) giveUp(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
	args, err := decodeTask(j)
	if err != nil {
		return err
	}

	s, err := lockSync(ctx, tx, args.SyncID)
	if err != nil {
		return err
	}

	if !s.Status.ended() {
		code := faultOf(cause)
		if code == FaultReconnect && s.ConnectionID != nil {
			if err := r.refused(ctx, tx, *s.ConnectionID); err != nil {
				return err
			}
		}

		if err := finish(ctx, tx, s, Failed, &code); err != nil {
			return err
		}
	}

	return operation.GiveUp(ctx, tx, j, cause)
}

// begin loads a sync to go on with, and starts one that waited if no other one of its source runs. It returns nil for one
// that has gone with its source.
func begin(ctx context.Context, tx *db.Tx, sync id.ID) (*Sync, error) {
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

// fetched is what one step of a sync takes in.
type fetched struct {
	page *Page
	// kind is the one that was read, empty for none.
	kind string
	// hints are the external ids by kind that were looked up, as they were at an instant.
	hints map[string][]string
	read  time.Time
	// hashed is closed when the records of the page have their hashes; nil if no one makes them.
	hashed chan struct{}
}

// fetch gets what the next step of a sync takes in from its source. What waits is in the database already.
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
	kinds := s.kindsOf(source)
	if s.Progress.Step-stepKinds >= len(kinds) {
		return out, nil
	}

	out.kind = kinds[s.Progress.Step-stepKinds]
	ask := Request{Kind: out.kind, Page: s.Progress.Page, From: s.RangeStart, To: s.RangeEnd}

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

	// A source may give what belongs to the records of a kind with them, but names the kind of each.
	for i := range out.page.Changes {
		c := &out.page.Changes[i]
		c.Kind = cmp.Or(c.Kind, ask.Kind)
	}

	out.startHashing()

	return out, nil
}

// startHashing begins to hash the records of a page. The next page can be pulled meanwhile. What cannot have a hash is
// refused when it is taken in.
func (f *fetched) startHashing() {
	f.hashed = make(chan struct{})

	go func() {
		defer close(f.hashed)

		// A panic would end the process here. The rest is hashed when it is taken in, where the worker takes note of it.
		defer func() { _ = recover() }()

		var h hasher

		for i := range f.page.Changes {
			c := &f.page.Changes[i]
			c.sum, _ = h.sum(c)
		}
	}()
}

// kindsOf returns the kinds to read, in the order of the source.
func (s *Sync) kindsOf(source Source) []string {
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

// lookUp gets the records that hints name.
func lookUp(ctx context.Context, d *db.DB, scope db.Scope, source Source, s *Sync) (*fetched, error) {
	out := &fetched{page: &Page{}}

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

// commit takes in a page and says where the sync goes on. It returns the sync for the job to go on with, or nil with the
// job ended in the same transaction. A page that another worker has taken in meanwhile is dropped.
func (r *runner) commit(ctx context.Context, tx *db.Tx, t *turn, f *fetched) (*Sync, error) {
	s, err := reload(ctx, tx, t.sync.SourceID, t.sync.ID)
	if err != nil {
		return nil, err
	}

	if s.Status != Started || s.Items != t.sync.Items || !s.Progress.equal(&t.sync.Progress) {
		return nil, job.Done(ctx, tx, t.job)
	}

	in := &intake{kinds: r.kinds, origin: s.origin(), complete: f.page.Complete}

	if s.ConnectionID != nil {
		audit.FromConnection(tx, *s.ConnectionID)
	}

	changes := f.page.Changes
	if s.Progress.Step == stepWaiting {
		if changes, err = loadWaiting(ctx, tx, in.origin, s.Progress.Page, retried); err != nil {
			return nil, err
		}
	}

	if f.hashed != nil {
		<-f.hashed
	}

	if err := in.take(ctx, tx, changes); err != nil {
		return nil, err
	}

	if err := deleteHints(ctx, tx, s.SourceID, f); err != nil {
		return nil, err
	}

	// Then where to go on. A complete reading says which records are gone.
	more, fault, err := s.advance(ctx, tx, f, changes)
	if err != nil {
		return nil, err
	}

	savePage(tx, s, in.items)

	if t.job.Attempt > 1 {
		if err := endFaults(ctx, tx, s, syncDelayed); err != nil {
			return nil, err
		}
	}

	switch {
	case fault != nil:
		if err := finish(ctx, tx, s, Failed, fault); err != nil {
			return nil, err
		}

		if err := operation.GiveUp(ctx, tx, t.job, errStopped); err != nil {
			return nil, err
		}

		return nil, job.Done(ctx, tx, t.job)
	case more && !t.isOver():
		return s, nil
	case more:
		return nil, goOn(ctx, tx, t.job, s)
	}

	operation.Settle(tx, t.job)

	return nil, finish(ctx, tx, s, Completed, nil)
}

// waitUntil ends a job whose source takes no calls for a while, and inserts one that goes on then.
func waitUntil(ctx context.Context, tx *db.Tx, j job.Job, s *Sync, until time.Time) error {
	next := s.task()
	next.DueAt = until

	if err := job.Insert(ctx, tx, next); err != nil {
		return err
	}

	return job.Done(ctx, tx, j)
}

// goOn ends the job of a page and inserts that of the next one.
func goOn(ctx context.Context, tx *db.Tx, j job.Job, s *Sync) error {
	if err := job.Insert(ctx, tx, s.task()); err != nil {
		return err
	}

	return job.Done(ctx, tx, j)
}

// commitProgress saves where a sync goes on without having taken anything in.
func (r *runner) commitProgress(ctx context.Context, d *db.DB, j job.Job, s *Sync) error {
	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
		now, err := reload(ctx, tx, s.SourceID, s.ID)
		if err != nil {
			return err
		}

		if now.Status != Started || now.Progress.Step != s.Progress.Step {
			return job.Done(ctx, tx, j)
		}

		now.Progress = s.Progress
		savePage(tx, now, nil)

		return goOn(ctx, tx, j, now)
	})
}

// equal returns true for the same place in a sync.
func (p *progress) equal(o *progress) bool {
	return p.Step == o.Step && p.Page == o.Page && maps.Equal(p.Anew, o.Anew)
}

// advance sets where a sync goes on after a page. It reports whether there is more, or the fault that ends the sync.
func (s *Sync) advance(
	ctx context.Context, tx *db.Tx,
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

	// A reading is complete if all of its pages are: only those have noted which records they saw.
	p.Partial = p.Partial || !f.page.Complete

	// The watermark is that of the first page, before which nothing was missed.

	if p.Marks[f.kind] == "" && f.page.Watermark != "" {
		if p.Marks == nil {
			p.Marks = map[string]string{}
		}

		p.Marks[f.kind] = f.page.Watermark
	}

	if p.Page = f.page.Next; p.Page != "" {
		return true, nil, nil
	}

	// The last page of a kind. Records that a complete reading lacks are looked up before the next one: those that have
	// moved to another page while it was read are not gone.
	next := p.Step + 1

	complete := !p.Partial
	if p.Partial = false; complete {
		if fault, err = hintUnseen(ctx, tx, s.origin(), f); fault != nil || err != nil {
			return false, fault, err
		}

		p.Step, p.Then = stepHints, next
	} else {
		p.Step = next
	}

	if mark := p.Marks[f.kind]; mark != "" && s.RangeStart == nil && s.RangeEnd == nil {
		if err := saveWatermark(ctx, tx, s.SourceID, f.kind, mark); err != nil {
			return false, nil, err
		}
	}

	return true, nil, nil
}

// hintUnseen has the records looked up which a complete reading lacked. A reading that lacks most of the records is taken
// for a fault of the source until a person decides.
func hintUnseen(ctx context.Context, tx *db.Tx, from Origin, f *fetched) (*FaultCode, error) {
	unseen, all, err := listUnseen(ctx, tx, from, f.kind, f.page.Window)
	if err != nil {
		return nil, err
	}

	gone, fault, err := checkMissing(ctx, tx, from, &shortfall{f.kind, unseen, all})
	if err != nil || fault != nil {
		return fault, err
	}

	return nil, keepHints(ctx, tx, from.SourceID, f.kind, gone)
}
