package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// Reason says why a journal is not the one that would be derived now.
type Reason string

// The reasons. No change gives JournalLocked: the others turn into it when locks held back every outstanding change.
const (
	ReservationChanged Reason = "reservationChanged"
	FeeChanged         Reason = "feeChanged"
	MappingChanged     Reason = "mappingChanged"
	OwnershipChanged   Reason = "ownershipChanged"
	TransactionChanged Reason = "transactionChanged"
	JournalLocked      Reason = "journalLocked"
)

// Enum lists the reasons.
func (Reason) Enum() []string {
	return []string{
		"reservationChanged", "feeChanged", "mappingChanged", "ownershipChanged", "transactionChanged", "journalLocked",
	}
}

// Outdated is a change that made journals stale.
type Outdated struct {
	Reason Reason
	// Cause is the record that changed; the operation names it as its primary resource.
	Cause operation.Resource
	// Also are further resources that the operation names.
	Also []operation.Resource
	// Type of the operation; empty means reservation-journal-refresh.
	Type operation.Type
	// Sources are those with journals that may differ now.
	Sources map[Noun][]id.ID
}

// Outdate marks journals as stale in the transaction that changes the records behind them, and starts the operation to
// derive all but the locked journals anew. It returns nil if no journal is affected.
func Outdate(ctx context.Context, tx *db.Tx, o Outdated) (*operation.Acknowledgement, error) {
	if !o.hasSources() {
		return nil, nil //nolint:nilnil // nothing to derive, no operation
	}

	// The marks are in the same transaction as the change, so that no reader sees the journals as current.
	if err := markStale(ctx, tx, &o); err != nil {
		return nil, err
	}

	return operation.Start(ctx, tx, o.operation())
}

// hasSources reports whether any journal is affected.
func (o *Outdated) hasSources() bool {
	for _, ids := range o.Sources {
		if len(ids) > 0 {
			return true
		}
	}

	return false
}

// operation returns the operation that derives the journals of the sources.
func (o *Outdated) operation() operation.New {
	o.Cause.Role = operation.Target

	n := operation.New{
		Type:      cmp.Or(o.Type, operation.ReservationJournal),
		Primary:   &o.Cause,
		Resources: append([]operation.Resource{o.Cause}, o.Also...),
	}
	for _, noun := range nouns() {
		n.Tasks = append(n.Tasks, noun.tasks(o.Sources[noun], RefreshArgs{})...)
	}

	// An operation has at least one task, even if there is nothing to derive.
	if n.Tasks == nil {
		n.Tasks = []operation.Task{Reservations.task(RefreshArgs{})}
	}

	return n
}

// markStale marks the journals of all nouns as stale.
func markStale(ctx context.Context, tx *db.Tx, o *Outdated) error {
	for _, noun := range nouns() {
		if err := o.mark(ctx, tx, noun, o.Sources[noun]); err != nil {
			return err
		}
	}

	return nil
}

// mark marks the journals of one noun as stale.
func (o *Outdated) mark(ctx context.Context, tx *db.Tx, source Noun, ids []id.ID) error {
	if len(ids) == 0 {
		return nil
	}

	// A journal has one row for each cause. A new change of the same cause makes a locked or failed row stale
	// again.
	_, err := tx.Exec(ctx, `
		insert into ledger_stale (team_id, source_id, cause_id, source, reason, since)
		select distinct @team::uuid, s.id, coalesce(@cause, '00000000-0000-0000-0000-000000000000'::uuid), @source, @reason, @now::timestamptz
		from unnest(@ids::uuid[]) as s (id) order by s.id
		on conflict (team_id, source_id, cause_id) do update set reason = excluded.reason, status = 'stale', held_at = null, held_by = null`,
		db.Args{
			"team":   tx.Team,
			"cause":  o.Cause.ID,
			"source": string(source),
			"reason": string(o.Reason),
			"ids":    ids,
			"now":    tx.Now,
		})
	if err != nil {
		return fmt.Errorf("mark journals stale: %w", err)
	}

	return nil
}

// markFailed records that the journals of these sources could not be derived.
func markFailed(ctx context.Context, tx *db.Tx, source Noun, ids []id.ID) error {
	if len(ids) == 0 {
		return nil
	}

	// Sources without an outstanding change get a row of their own; then all rows of the sources are failed, and no
	// lock holds anything back.
	err := tx.Pipeline(ctx,
		db.Stmt{
			SQL: `insert into ledger_stale (team_id, source_id, source, reason, status, since)
				select @team, s.id, @source, @reason, 'failed', @now from unnest(@ids::uuid[]) as s (id)
				where not exists (select from ledger_stale t where t.team_id = @team and t.source_id = s.id)
				on conflict (team_id, source_id, cause_id) do nothing`,
			Args: db.Args{
				"team":   tx.Team,
				"source": string(source),
				"reason": string(source.changeReason()),
				"ids":    ids,
				"now":    tx.Now,
			},
		},
		freeHeld(tx, ids),
		db.Stmt{
			SQL:  `update ledger_stale set status = 'failed', held_at = null, held_by = null where team_id = @team and source_id = any(@ids)`,
			Args: db.Args{"team": tx.Team, "ids": ids},
		})
	if err != nil {
		return fmt.Errorf("mark journals failed: %w", err)
	}

	return nil
}

// hold is the lock that a journal waits for: the day of a posting in closed books, or the statement or bank record that
// holds it. Any lock will do: when it is gone the journal is derived again, and then meets the next.
type hold struct {
	at     *day.Day
	by     id.ID
	reason string
}

// newHold returns the lock behind the refusal of a posting on a day. Among several statements it is the earliest, which
// is the last to be opened.
func newHold(refusal error, at day.Day) (hold, error) {
	var lock *apierr.Error
	errors.As(refusal, &lock)

	reason := string(lock.Reason())

	switch c, ok := lock.Context().(LockContext); {
	case ok && IsDayLock(refusal):
		return hold{at: &at, reason: reason}, nil
	case ok && len(c.StatementIDs) > 0:
		return hold{by: c.StatementIDs[0], reason: reason}, nil
	case ok && len(c.BankRecordIDs) > 0:
		return hold{by: c.BankRecordIDs[0], reason: reason}, nil
	}

	return hold{}, fmt.Errorf("a lock does not say what holds: %w", refusal)
}

// OutstandingSQL returns the SQL of the rows s of outstanding changes, to be used like a table. A row is locked while
// the lock that it remembers exists, for any user, and stale from then on.
func OutstandingSQL() string {
	exists := anyLock(func(r *lockRule) string {
		// A personal lock counts as well: it exists for some user.
		return strings.ReplaceAll(cmp.Or(r.onDay("s.held_at"), r.holder), "@reader", "null::uuid")
	})

	return `(select s.team_id, s.source_id, s.cause_id, s.source, s.reason, s.since,
		case when s.status <> 'locked' or ` + exists + ` then s.status else 'stale' end as status from ledger_stale s)`
}

// settle deletes the outstanding changes of sources with current journals. Sources kept unchanged by locks stay marked
// as locked, with the lock and the difference it holds back. Outstanding changes of partly derived sources stay as they
// are. A journal that stays behind without a mark is marked now.
func settle(tx *db.Tx, of subset, held map[id.ID]HeldBack) {
	var (
		done, left, part, by, empty []id.ID
		at                          []*day.Day
		rows                        []heldRow
		lines                       []heldLineRow
	)

	for _, source := range of.sources {
		h, is := held[source]
		switch {
		case is && len(h.Lines) == 0:
			empty = append(empty, source)
		case is:
			rows = append(rows, h.lock.row(tx, of.noun, &source, nil, source.String()))
			lines = append(lines, lineRows(source.String(), h.Lines)...)
		}

		switch {
		case is:
			left, by, at = append(left, source), append(by, h.lock.by), append(at, h.lock.at)
		case of.behind[source]:
			part = append(part, source)
		default:
			done = append(done, source)
		}
	}

	// Sources that were just made have no outstanding changes.
	var stmts []db.Stmt
	if len(done) > 0 && !of.made {
		stmts = append(stmts, db.Stmt{
			SQL: `
			with freed as (delete from ledger_held where team_id = @team and source_id = any(@done::uuid[]) and origin_id is null)
			delete from ledger_stale where team_id = @team and source_id = any(@done::uuid[])`,
			Args: db.Args{"team": tx.Team, "done": done},
		})
	}

	if len(empty) > 0 {
		stmts = append(stmts, freeHeld(tx, empty))
	}

	if len(rows) > 0 {
		stmts = append(stmts, saveHeld(tx, rows, lines))
	}

	if len(left) > 0 {
		stmts = append(stmts, db.Stmt{
			SQL: `update ledger_stale s set status = 'locked', held_at = h.at, held_by = h.by
				from unnest(@left::uuid[], @at::date[], @by::uuid[]) as h (id, at, by) where s.team_id = @team and s.source_id = h.id`,
			Args: db.Args{"team": tx.Team, "left": left, "at": at, "by": by},
		})
	}

	// Rows that exist already were handled above or stay as they are.
	if len(left)+len(part) > 0 {
		stmts = append(stmts, db.Stmt{
			SQL: `insert into ledger_stale (team_id, source_id, source, reason, status, held_at, held_by, since)
				select @team, s.id, case when r.id is not null then 'reservation' when j.id is not null then 'journal' else 'transaction' end,
					case when r.id is not null then 'reservationChanged' when j.id is not null then 'ownershipChanged' else 'transactionChanged' end,
					case when s.at is null and s.by is null then 'stale' else 'locked' end, s.at, s.by, @now
				from unnest(@sources::uuid[], @at::date[], @by::uuid[]) as s (id, at, by)
				left join reservation r on r.team_id = @team and r.id = s.id left join journal j on j.team_id = @team and j.id = s.id
				where not exists (select from ledger_stale t where t.team_id = @team and t.source_id = s.id)`,
			Args: db.Args{"team": tx.Team, "sources": slices.Concat(left, part), "at": at, "by": by, "now": tx.Now},
		})
	}

	tx.SendSoon(func(err error) error { return fmt.Errorf("settle stale journals: %w", err) }, stmts...)
}

// outdatedSource is a source with a journal that has to be derived.
type outdatedSource struct {
	ID     id.ID
	Source Noun
}

// retry starts the operation that derives sources again.
func retry(ctx context.Context, tx *db.Tx, found []outdatedSource, resources []operation.Resource) error {
	if len(found) == 0 {
		return nil
	}

	o := Outdated{Cause: resources[0], Also: resources[1:], Sources: map[Noun][]id.ID{}}
	for _, s := range found {
		o.Sources[s.Source] = append(o.Sources[s.Source], s.ID)
	}

	// Tasks take the sources in the order of their ids.
	for _, ids := range o.Sources {
		slices.SortFunc(ids, id.ID.Compare)
	}

	_, err := operation.Start(ctx, tx, o.operation())

	return err
}

// caughtUpSQL selects the sources with postings that have caught up a difference: when a lock goes, their journals
// can be derived as a whole.
const caughtUpSQL = `select distinct e.source_id as id, case when exists (select from reservation r where r.team_id = @team and r.id = e.source_id) then 'reservation'
		when exists (select from journal j where j.team_id = @team and j.id = e.source_id) then 'journal' else 'transaction' end as source
	from ledger_entry e where e.team_id = @team and e.txn_code like '` + catchUpCode + `%'`

// RetryReleased derives again the journals that statements or bank records held, now that these hold nothing any more.
// Code that removes such a lock calls it in the same transaction, after having waited for all who share it
// (shareLocks): a journal that met the lock before is found here, and a journal derived later does not meet it. The
// operation names the listings.
func RetryReleased(ctx context.Context, tx *db.Tx, released, listings []id.ID) error {
	found, err := db.Select[outdatedSource](ctx, tx, `
		select distinct source_id as id, source from ledger_stale where team_id = @team and status = 'locked' and held_by = any(@released::uuid[])
		union `+caughtUpSQL+` and e.listing_id in (
			select l.id from listing l where l.team_id = @team and (l.id = any(@listings::uuid[]) or l.parent_id = any(@listings::uuid[])))`,
		db.Args{"team": tx.Team, "released": released, "listings": listings})
	if err != nil {
		return fmt.Errorf("find journals that were locked: %w", err)
	}

	// The operation names the listings of the statements, not the journals.
	resources := make([]operation.Resource, len(listings))
	for i, v := range listings {
		resources[i] = operation.Resource{Type: operation.Listing, ID: v, Role: operation.Target}
	}

	if err := retry(ctx, tx, found, resources); err != nil {
		return err
	}

	return tryHeldBack(ctx, tx)
}

// RetryReopened derives again the journals that the closed books held and that are open to the actor now. Code that
// opens days calls it in the same transaction, with the team for itself.
func RetryReopened(ctx context.Context, tx *db.Tx) error {
	found, err := db.Select[outdatedSource](ctx, tx, `
		select distinct s.source_id as id, s.source from ledger_stale s
		where s.team_id = @team and s.status = 'locked' and s.held_at is not null and not `+
		anyLock(func(r *lockRule) string { return r.onDay("s.held_at") })+` union `+caughtUpSQL,
		db.Args{"team": tx.Team, "reader": tx.Actor.User})
	if err != nil {
		return fmt.Errorf("find journals that the closed books held: %w", err)
	}

	if err := retry(ctx, tx, found, []operation.Resource{{Type: operation.Team, ID: tx.Team}}); err != nil {
		return err
	}

	return tryHeldBack(ctx, tx)
}

// HeldBackKind is the kind of job that retries the dates of recurring templates after locks held them back. Package
// recurring handles it.
var HeldBackKind = job.NewKind("transaction.held-back")

// tryHeldBack has tried again what a lock kept from being made at all, which has no journal to derive again: the
// transactions of recurring templates, by a job that it queues, and what came from outside.
func tryHeldBack(ctx context.Context, tx *db.Tx) error {
	if err := intake.RetryWaiting(ctx, tx); err != nil {
		return err
	}

	waiting, err := db.Get[bool](ctx, tx, `
		select exists (select from transaction_template where team_id = @team and held_back <> '[]' and status = 'active')`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("find recurring dates that were held back: %w", err)
	}

	// Without such dates there is nothing to queue.
	if !waiting {
		return nil
	}

	return job.Insert(ctx, tx, job.New{Kind: HeldBackKind})
}

// HasStale reports whether journals of the team wait to be derived by a task that goes on. Those that a lock holds, and
// those that failed, wait for a person.
func HasStale(ctx context.Context, tx *db.Tx) (bool, error) {
	stale, err := db.Get[bool](ctx, tx, `select exists (select from ledger_stale where team_id = @team and status = 'stale')`, db.Args{"team": tx.Team})
	if err != nil {
		return false, fmt.Errorf("look for stale journals: %w", err)
	}

	return stale, nil
}
