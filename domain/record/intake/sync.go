package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// Status is how far a sync is.
type Status string

// The states of a sync.
const (
	Queued    Status = "queued"
	Started   Status = "started"
	Completed Status = "completed"
	Failed    Status = "failed"
)

// Enum lists the states.
func (Status) Enum() []string {
	return []string{string(Queued), string(Started), string(Completed), string(Failed)}
}

// hasEnded reports whether a sync reads no more.
func (s Status) hasEnded() bool { return s == Completed || s == Failed }

// View says whether a sync writes records or makes a file.
type View string

// The views.
const (
	Automate View = "automate"
	Extract  View = "extract"
)

// Enum lists the views.
func (View) Enum() []string { return []string{string(Automate), string(Extract)} }

// Mode says how much a sync reads.
type Mode string

// The modes: what has changed since the last sync, or everything.
const (
	Incremental Mode = "incremental"
	Full        Mode = "full"
)

// Enum lists the modes.
func (Mode) Enum() []string { return []string{string(Incremental), string(Full)} }

// Trigger says why a sync was started.
type Trigger string

// The triggers. Webhook syncs look up the records named by hints, Unlocked syncs try waiting records again, and all
// others read the source.
const (
	Manual   Trigger = "manual"
	Schedule Trigger = "schedule"
	Webhook  Trigger = "webhook"
	Connect  Trigger = "connect"
	Cutover  Trigger = "cutover"
	Unlocked Trigger = "unlocked"
)

// Enum lists the triggers.
func (Trigger) Enum() []string {
	return []string{string(Manual), string(Schedule), string(Webhook), string(Connect), string(Cutover), string(Unlocked)}
}

// Counts are the records of a sync by kind and outcome.
type Counts map[string]map[Outcome]int64

// Reasons are how many records of a sync have a reason.
type Reasons map[Reason]int64

// Sync is a reading of a source.
type Sync struct {
	ID           id.ID        `json:"id"`
	ConnectionID *id.ID       `json:"connectionId"`
	OperationID  id.ID        `json:"operationId"`
	View         View         `json:"view" doc:"Whether records are written or a file is made."`
	Mode         Mode         `json:"mode" doc:"What has changed since the last sync, or everything."`
	Trigger      Trigger      `json:"trigger" doc:"Why it was started: by hand, by its schedule, by a webhook, by connecting, by a cutover, or because a lock is gone that records waited for."`
	Extractor    *string      `json:"extractor" doc:"Which file is made; null where records are written."`
	Kinds        []string     `json:"kinds" doc:"Kinds of records that were asked for; empty for all that the connection has."`
	DateRange    *Range       `json:"dateRange" db:"-" doc:"Days that were asked for; null for all."`
	Status       Status       `json:"status"`
	Counts       Counts       `json:"counts" doc:"Records by kind and outcome."`
	Reasons      Reasons      `json:"reasons" doc:"Records that failed or were skipped by reason, once it has ended; conflict counts completed ones, too."`
	Error        *Fault       `json:"error" db:"-" doc:"Why the sync failed, or while it is started why it cannot go on for now; null for neither, and when it was cancelled."`
	QueuedAt     day.Instant  `json:"queuedAt"`
	StartedAt    *day.Instant `json:"startedAt"`
	FinishedAt   *day.Instant `json:"finishedAt"`
	SourceID     id.ID        `json:"-"`
	RangeStart   *day.Day     `json:"-"`
	RangeEnd     *day.Day     `json:"-"`
	Code         *FaultCode   `json:"-"`
	Progress     progress     `json:"-"`
	Items        int64        `json:"-"`
}

// Range is a range of days, both included.
type Range struct {
	StartAt *day.Day `json:"startAt"`
	EndAt   *day.Day `json:"endAt"`
}

// Fault says why a sync failed.
type Fault struct {
	Code FaultCode `json:"code"`
}

// FaultCode says in our own words why a source could not be read; texts of the source never get through.
type FaultCode string

// The faults.
const (
	// FaultUnavailable: the source could not be reached; a sync ends after a day without success.
	FaultUnavailable FaultCode = "unavailable"
	// FaultProtocol: the answers of the source break its protocol.
	FaultProtocol FaultCode = "protocolError"
	// FaultReconnect: the source refuses the credentials.
	FaultReconnect FaultCode = "reconnectRequired"
	// FaultInternal: a defect here kept records from being taken in.
	FaultInternal FaultCode = "internal"
	// FaultTooMany: the source has more pages or records than are read, or its pages do not end.
	FaultTooMany FaultCode = "tooManyRecords"
	// FaultIncomplete: a complete reading lacked most records; a person decides about them.
	FaultIncomplete FaultCode = "incompleteRead"
)

// Enum lists the faults.
func (FaultCode) Enum() []string {
	return []string{
		string(FaultUnavailable), string(FaultProtocol), string(FaultReconnect), string(FaultInternal), string(FaultTooMany), string(FaultIncomplete),
	}
}

// deriveFields sets the fields of the API that combine several columns.
func (s *Sync) deriveFields() {
	if s.RangeStart != nil || s.RangeEnd != nil {
		s.DateRange = &Range{s.RangeStart, s.RangeEnd}
	}

	if s.Code != nil {
		s.Error = &Fault{*s.Code}
	}
}

// New describes a sync to start.
type New struct {
	ConnectionID id.ID
	View         View
	Mode         Mode
	Trigger      Trigger
	// Kinds are the kinds to read, none for all; From and To the days, both included, nil for no bound.
	Kinds    []string
	From, To *day.Day
}

// taskKind names the jobs that take in one page.
var taskKind = job.NewKind("intake.page")

type taskArgs struct {
	SyncID id.ID `json:"syncId"`
}

// task returns the job for the next page of a sync.
func (s *Sync) task() job.New {
	return job.New{Kind: taskKind, Args: taskArgs{s.ID}, OperationID: s.OperationID}
}

// Start queues a sync of a connection. A source has at most one running and one waiting sync: if one waits already,
// it is widened to read what either would have read.
func Start(ctx context.Context, tx *db.Tx, n New) (*operation.Acknowledgement, error) {
	if err := lockSource(ctx, tx, n.ConnectionID, true); err != nil {
		return nil, err
	}

	waiting, err := findBySource(ctx, tx, n.ConnectionID, Queued)
	if err != nil {
		return nil, err
	}

	if waiting != nil {
		waiting.join(&n)

		if err := updateRequest(ctx, tx, waiting); err != nil {
			return nil, err
		}

		return acknowledge(ctx, tx, waiting)
	}

	return n.sync(tx).insert(ctx, tx)
}

// sync returns the new sync, which waits.
func (n *New) sync(tx *db.Tx) *Sync {
	return &Sync{
		ID: tx.NewID(), SourceID: n.ConnectionID, View: n.View, Mode: n.Mode, Trigger: n.Trigger, Kinds: n.Kinds,
		RangeStart: n.From, RangeEnd: n.To, Status: Queued,
	}
}

// insert inserts a waiting sync and starts its operation.
func (s *Sync) insert(ctx context.Context, tx *db.Tx) (*operation.Acknowledgement, error) {
	ack, err := operation.Start(ctx, tx, s.operation())
	if err != nil {
		return nil, err
	}

	s.OperationID = ack.OperationID

	return ack, insertSync(ctx, tx, s)
}

// Hold keeps the syncs of a connection from starting, ending and taking in pages until the transaction ends. Callers
// that also lock the connection do so afterwards, as pages do.
func Hold(ctx context.Context, tx *db.Tx, connection id.ID) error {
	err := lockSource(ctx, tx, connection, false)
	if errors.Is(err, apierr.NotFound) {
		return nil // it was never read
	}

	return err
}

// EndAll ends the syncs of a connection that is not read any more, as a person would. Callers Hold them before they lock
// the connection. A page on its way is dropped.
func EndAll(ctx context.Context, tx *db.Tx, connection id.ID) error {
	q := syncQuery(tx)
	q.And("s.source_id = @source and s.status in ('queued', 'started')", db.Args{"source": connection})

	open, err := db.Select[Sync](ctx, tx, q.SQL(""), q.Args)
	if err != nil {
		return fmt.Errorf("find the syncs of a connection: %w", err)
	}

	// Those that are queued come first, or the end of another one would start them.
	slices.SortStableFunc(open, func(a, b Sync) int { return strings.Compare(string(a.Status), string(b.Status)) })

	for i := range open {
		if err := endByHand(ctx, tx, &open[i], Failed, operation.Failed); err != nil {
			return err
		}
	}

	return nil
}

// operation describes the operation of a sync.
func (s *Sync) operation() operation.New {
	of := operation.Resource{Type: operation.Connection, ID: s.SourceID, Role: operation.Source}

	typ, kind := operation.ConnectionSync, taskKind
	if s.View == Extract {
		typ, kind = operation.ConnectionExtract, extractKind
	}

	return operation.New{
		Type: typ, Primary: &of, Resources: []operation.Resource{of},
		Tasks: []operation.Task{{Kind: kind, Args: taskArgs{s.ID}}},
	}
}

// acknowledge returns the acknowledgement for a waiting sync.
func acknowledge(ctx context.Context, tx *db.Tx, s *Sync) (*operation.Acknowledgement, error) {
	ref := operation.Ref{ID: s.OperationID.String()}
	ref.Resolve()

	found, err := operation.Find(ctx, tx, &ref)
	if err != nil {
		return nil, err
	}

	return found.Acknowledge(), nil
}

// join widens a waiting sync by the wishes of another one.
func (s *Sync) join(n *New) {
	if n.Mode == Full {
		s.Mode = Full
	}

	// Every sync looks at hints and released locks, so reading the source is the wider trigger.
	if s.Trigger == Unlocked || s.Trigger == Webhook && n.Trigger != Unlocked {
		s.Trigger = n.Trigger
	}

	// No kinds means all kinds, and no bound is the widest.
	if len(s.Kinds) == 0 || len(n.Kinds) == 0 {
		s.Kinds = nil
	} else {
		for _, kind := range n.Kinds {
			if !slices.Contains(s.Kinds, kind) {
				s.Kinds = append(s.Kinds, kind)
			}
		}
	}

	if s.RangeStart == nil || n.From == nil || n.From.Before(*s.RangeStart) {
		s.RangeStart = n.From
	}

	if s.RangeEnd == nil || n.To == nil || s.RangeEnd.Before(*n.To) {
		s.RangeEnd = n.To
	}
}

// finishSync ends a sync. Unless the sync only extracts, it also raises or ends the issues of the source, and starts
// the job of the next sync that waits.
func finishSync(ctx context.Context, tx *db.Tx, s *Sync, to Status, code *FaultCode) error {
	s.Status, s.Code = to, code
	if err := endSync(ctx, tx, s); err != nil || s.View == Extract {
		return err
	}

	if err := s.settleFaults(ctx, tx); err != nil {
		return err
	}

	next, err := findBySource(ctx, tx, s.SourceID, Queued)
	if err != nil || next == nil {
		return err
	}

	return job.Insert(ctx, tx, next.task())
}

// settleFaults raises an issue for the fault that ended a sync, and deletes earlier ones after the source was read.
// Incomplete readings and refused credentials have issues elsewhere.
func (s *Sync) settleFaults(ctx context.Context, tx *db.Tx) error {
	over := []string{syncDelayed}
	if s.Status == Completed && s.reads() {
		over = append(over, syncFailed)
	}

	if err := endFaults(ctx, tx, s, over...); err != nil {
		return err
	}

	if s.Code == nil || *s.Code == FaultIncomplete || *s.Code == FaultReconnect {
		return nil
	}

	return noteFault(ctx, tx, s, syncFailed, *s.Code)
}

// reads reports whether a sync reads its source, and not only hints or waiting records.
func (s *Sync) reads() bool { return s.Trigger != Unlocked && s.Trigger != Webhook }

// retryKind names the jobs that start syncs for waiting records.
var retryKind = job.NewKind("intake.retry")

// RetryWaiting tries records again that wait for a lock. Code that removes a lock calls it in the same transaction. A
// job starts the syncs, because this transaction already locks records and a sync locks its source first.
func RetryWaiting(ctx context.Context, tx *db.Tx) error {
	waiting, err := db.Get[bool](ctx, tx, `select exists (select from external_record where team_id = @team and locked)`,
		db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("find records that wait for a lock: %w", err)
	}

	if !waiting {
		return nil
	}

	return job.Insert(ctx, tx, job.New{Kind: retryKind})
}

// retry starts syncs for records that wait for a lock.
func retry(ctx context.Context, d *db.DB, j job.Job) error {
	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
		if err := startWaiting(ctx, tx); err != nil {
			return err
		}

		return job.Done(ctx, tx, j)
	})
}

// startWaiting starts a sync for each source with records that wait for a lock, in the order of ids.
func startWaiting(ctx context.Context, tx *db.Tx) error {
	sources, err := db.Select[id.ID](ctx, tx, `
		select distinct source_id from external_record where team_id = @team and locked order by source_id`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("find records that wait for a lock: %w", err)
	}

	for _, v := range sources {
		again := New{ConnectionID: v, View: Automate, Mode: Incremental, Trigger: Unlocked}
		if _, err := Start(ctx, tx, again); err != nil {
			return err
		}
	}

	return nil
}

// progress says where a sync goes on.
type progress struct {
	// Step is the next step: waiting records, hints, then the kinds of the source in order.
	Step int `json:"step"`
	// Page continues the step: a page of the source, or the position of the last waiting record.
	Page string `json:"page,omitempty"`
	// Partial says that some page of this kind was not complete.
	Partial bool `json:"partial,omitempty"`
	// Pages and Rows are how much of this kind was read.
	Pages int `json:"pages,omitempty"`
	Rows  int `json:"rows,omitempty"`
	// Then is the step after looking up the records that a complete reading lacked; zero is the first kind.
	Then int `json:"then,omitempty"`
	// Reading marks the seen records; nil means the id of the sync, until it begins anew.
	Reading *id.ID `json:"reading,omitempty"`
	// Marks are the watermarks by kind.
	Marks map[string]string `json:"marks,omitempty"`
	// Anew are kinds read from their beginning because the source lost its cursor.
	Anew map[string]bool `json:"anew,omitempty"`
}

// The first steps of a sync.
const (
	stepWaiting = iota
	stepHints
	stepKinds
)

// decodeTask returns the arguments of a job.
func decodeTask(j job.Job) (args taskArgs, err error) {
	if err = json.Unmarshal(j.Args, &args); err != nil {
		err = job.Permanent(fmt.Errorf("decode task arguments: %w", err))
	}

	return args, err
}

// errStopped ends the task of a sync that was ended meanwhile.
var errStopped = errors.New("the sync has ended")
