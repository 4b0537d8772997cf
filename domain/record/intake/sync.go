package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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

// ended returns true for a sync that reads no more.
func (s Status) ended() bool { return s == Completed || s == Failed }

// View says what a sync makes of what it reads.
type View string

// The views: records are written, or a file is made.
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

// The triggers. A sync that a webhook has started looks at the records that hints name, one of released locks at the
// records that waited for them; all others read the source.
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

// Sync is one reading of a source.
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

// FaultCode is a code of our own; nothing of what the source says comes through.
type FaultCode string

// The faults.
const (
	// FaultUnavailable: the source could not be reached, for a day when the sync has ended by it.
	FaultUnavailable FaultCode = "unavailable"
	// FaultProtocol: the source gave answers that are not of its protocol.
	FaultProtocol FaultCode = "protocolError"
	// FaultReconnect: the source refuses the credentials.
	FaultReconnect FaultCode = "reconnectRequired"
	// FaultInternal: what the source gave could not be taken in, by a fault of ours.
	FaultInternal FaultCode = "internal"
	// FaultIncomplete: a reading that was to be complete lacked most of the records; a person decides about them.
	FaultIncomplete FaultCode = "incompleteRead"
)

// Enum lists the faults.
func (FaultCode) Enum() []string {
	return []string{string(FaultUnavailable), string(FaultProtocol), string(FaultReconnect), string(FaultInternal), string(FaultIncomplete)}
}

// show completes a sync with what is made of several columns.
func (s *Sync) show() {
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

// taskKind is the kind of the job that takes in one page.
var taskKind = job.NewKind("intake.page")

type taskArgs struct {
	SyncID id.ID `json:"syncId"`
}

// task returns the job that takes in the next page of a sync.
func (s *Sync) task() job.New {
	return job.New{Kind: taskKind, Args: taskArgs{s.ID}, OperationID: s.OperationID}
}

// Start starts a sync of a connection. At most one of a source runs and one waits: a sync that is asked for while another
// waits joins it, which then reads what either was to read.
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

		if err := saveRequest(ctx, tx, waiting); err != nil {
			return nil, err
		}

		return acknowledge(ctx, tx, waiting)
	}

	return n.sync(tx).insert(ctx, tx)
}

// sync returns the sync that is to start.
func (n *New) sync(tx *db.Tx) *Sync {
	return &Sync{
		ID: tx.NewID(), SourceID: n.ConnectionID, View: n.View, Mode: n.Mode, Trigger: n.Trigger, Kinds: n.Kinds,
		RangeStart: n.From, RangeEnd: n.To, Status: Queued,
	}
}

// insert inserts a sync that waits, and starts its operation.
func (s *Sync) insert(ctx context.Context, tx *db.Tx) (*operation.Acknowledgement, error) {
	ack, err := operation.Start(ctx, tx, s.operation())
	if err != nil {
		return nil, err
	}

	s.OperationID = ack.OperationID

	return ack, insertSync(ctx, tx, s)
}

// Hold keeps the syncs of a connection from starting, ending and taking in a page until the transaction ends. Whoever
// locks the connection as well does so afterwards, as pages do.
func Hold(ctx context.Context, tx *db.Tx, connection id.ID) error {
	err := lockSource(ctx, tx, connection, false)
	if errors.Is(err, apierr.NotFound) {
		return nil // it was never read
	}

	return err
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

// acknowledge returns the acknowledgement of the operation of a sync that waits.
func acknowledge(ctx context.Context, tx *db.Tx, s *Sync) (*operation.Acknowledgement, error) {
	ref := operation.Ref{ID: s.OperationID.String()}
	ref.Resolve()

	found, err := operation.Find(ctx, tx, &ref)
	if err != nil {
		return nil, err
	}

	return found.Acknowledge(), nil
}

// join widens a sync that waits to what another one was to read.
func (s *Sync) join(n *New) {
	if n.Mode == Full {
		s.Mode = Full
	}

	// Hints and released locks are looked at by every sync; one that reads the source is the wider one.
	if s.Trigger == Unlocked || s.Trigger == Webhook && n.Trigger != Unlocked {
		s.Trigger = n.Trigger
	}

	// No kinds are all kinds, and no bound is the wider one.
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

// finish ends a sync, and lets the one that waits for it begin.
func finish(ctx context.Context, tx *db.Tx, s *Sync, to Status, code *FaultCode) error {
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

// settleFaults makes an issue of the fault that has ended a sync, and ends those of earlier ones when it has read the source. A reading that
// lacked records has an issue of its own, and so has a connection with credentials that are refused.
func (s *Sync) settleFaults(ctx context.Context, tx *db.Tx) error {
	over := []string{syncDelayed}
	if s.Status == Completed && s.reads() {
		over = append(over, syncFailed)
	}

	if err := endFaults(ctx, tx, s, over...); err != nil || s.Code == nil || *s.Code == FaultIncomplete || *s.Code == FaultReconnect {
		return err
	}

	return noteFault(ctx, tx, s, syncFailed, *s.Code)
}

// reads reports whether a sync reads its source: those that hints or released locks have started do not.
func (s *Sync) reads() bool { return s.Trigger != Unlocked && s.Trigger != Webhook }

// retryKind is the kind of the job that starts syncs of what waits.
var retryKind = job.NewKind("intake.retry")

// RetryWaiting has the records tried again that wait for a lock. Code that removes a lock calls it in the same
// transaction. A job starts the syncs: the transaction holds records already, and a sync locks its source before them.
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

// retry starts syncs of the sources with records that wait for a lock.
func retry(ctx context.Context, d *db.DB, j job.Job) error {
	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
		if err := startWaiting(ctx, tx); err != nil {
			return err
		}

		return job.Done(ctx, tx, j)
	})
}

// startWaiting starts a sync of each source with records that wait for a lock, in the order of the sources.
func startWaiting(ctx context.Context, tx *db.Tx) error {
	sources, err := db.Select[id.ID](ctx, tx, `
		select distinct source_id from external_record where team_id = @team and locked order by source_id`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("find records that wait for a lock: %w", err)
	}

	for _, v := range sources {
		if _, err := Start(ctx, tx, New{ConnectionID: v, View: Automate, Mode: Incremental, Trigger: Unlocked}); err != nil {
			return err
		}
	}

	return nil
}

// progress is where a sync goes on.
type progress struct {
	// Step is what is done next: the records that wait, those that hints name, then the kinds of the source in order.
	Step int `json:"step"`
	// Page continues the step: a page of the source, or the last record that was tried.
	Page string `json:"page,omitempty"`
	// Partial says that the reading of a kind has had a page that does not belong to a complete one.
	Partial bool `json:"partial,omitempty"`
	// Then is the step after the hints, zero for the first kind: a complete reading has records that it lacked looked up.
	Then int `json:"then,omitempty"`
	// Reading marks the records that were seen; the sync itself does while it has not begun anew.
	Reading *id.ID `json:"reading,omitempty"`
	// Marks are the watermarks of the kinds that were read.
	Marks map[string]string `json:"marks,omitempty"`
	// Anew are the kinds that are read from their beginning because the source did not know where it was.
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
