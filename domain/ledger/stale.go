package ledger

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Reason says why a journal is not the one that would be derived now.
type Reason string

// The reasons. JournalLocked is never given by a change: it is what the others become when locks kept every outstanding change out.
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
	return []string{"reservationChanged", "feeChanged", "mappingChanged", "ownershipChanged", "transactionChanged", "journalLocked"}
}

// Kinds of the tasks that derive journals. Package reservation handles the first, package transaction the second; both take RefreshArgs.
const (
	RefreshReservations = "reservation.refresh"
	RefreshTransactions = "transaction.refresh"
)

// RefreshArgs name the sources whose journals a task derives.
type RefreshArgs struct {
	IDs []id.ID `json:"ids,omitempty"`
	// Stretch, instead of ids, is a part of all reservations.
	Stretch *Stretch `json:"stretch,omitempty"`
	// Strict fails on the first journal that a lock holds instead of leaving it as it is.
	Strict bool `json:"strict,omitempty"`
	// Mode narrows a refresh of reservations; empty means full.
	Mode string `json:"mode,omitempty"`
}

// Stretch is the reservations from one place (inclusive) to another (exclusive, nil: to the end) in the order of listing and id.
type Stretch struct {
	From  Place  `json:"from"`
	Until *Place `json:"until,omitempty"`
}

// Place is that of a reservation.
type Place struct {
	ListingID id.ID `json:"listingId"`
	ID        id.ID `json:"id"`
}

// Outdated is a change that made journals stale.
type Outdated struct {
	Reason Reason
	// Cause is what changed; the operation names it as its primary resource.
	Cause operation.Resource
	// Type of the operation; empty means reservation-journal-refresh.
	Type operation.Type
	// Reservations and Transactions are the sources whose journals may differ now.
	Reservations []id.ID
	Transactions []id.ID
}

// refreshChunk is how many sources one task derives.
const refreshChunk = 500

// Outdate marks journals as stale in the transaction that changes what they are derived from, and starts the operation that derives them
// anew, leaving those that a lock holds. It answers nil when no journal is touched. Transactions come first: a change of one locks it
// before the reservations that it names.
func Outdate(ctx context.Context, tx *db.Tx, o Outdated) (*operation.Acknowledgement, error) {
	if len(o.Reservations)+len(o.Transactions) == 0 {
		return nil, nil //nolint:nilnil // nothing to derive, no operation
	}
	if err := MarkStale(ctx, tx, o); err != nil {
		return nil, err
	}
	return startRefresh(ctx, tx, o)
}

func startRefresh(ctx context.Context, tx *db.Tx, o Outdated) (*operation.Acknowledgement, error) {
	o.Cause.Role = operation.Target
	n := operation.New{Type: o.Type, Primary: &o.Cause, Resources: []operation.Resource{o.Cause}}
	if n.Type == "" {
		n.Type = operation.ReservationJournal
	}
	// In the order of their listings, tasks that run side by side rarely add to the same balances.
	reservations, err := db.Select[id.ID](ctx, tx, `
		select s.id from unnest(@ids::uuid[]) as s (id) left join reservation r on r.team_id = @team and r.id = s.id order by r.listing_id, s.id`,
		db.Args{"team": tx.Team, "ids": o.Reservations})
	if err != nil {
		return nil, fmt.Errorf("order stale journals: %w", err)
	}
	n.Tasks = append(refreshTasks(RefreshTransactions, o.Transactions), refreshTasks(RefreshReservations, reservations)...)
	return operation.Start(ctx, tx, n)
}

func refreshTasks(kind string, ids []id.ID) (tasks []operation.Task) {
	for chunk := range slices.Chunk(ids, refreshChunk) {
		tasks = append(tasks, operation.Task{Kind: kind, Args: RefreshArgs{IDs: chunk}, Priority: 1})
	}
	return tasks
}

// MarkStale marks journals as stale without starting anything: for a change whose own operation derives them.
func MarkStale(ctx context.Context, tx *db.Tx, o Outdated) error {
	if err := o.mark(ctx, tx, "reservation", o.Reservations); err != nil {
		return err
	}
	return o.mark(ctx, tx, "transaction", o.Transactions)
}

func (o *Outdated) mark(ctx context.Context, tx *db.Tx, source string, ids []id.ID) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		insert into ledger_stale (team_id, source_id, cause_id, source, reason, since)
		select distinct @team::uuid, s.id, coalesce(@cause, '00000000-0000-0000-0000-000000000000'::uuid), @source, @reason, @now::timestamptz
		from unnest(@ids::uuid[]) as s (id) order by s.id
		on conflict (team_id, source_id, cause_id) do update set reason = excluded.reason, status = 'stale'`,
		db.Args{"team": tx.Team, "cause": o.Cause.ID, "source": source, "reason": string(o.Reason), "ids": ids, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("mark journals stale: %w", err)
	}
	return nil
}

// MarkFailed keeps in mind that the journals of these sources could not be derived.
func MarkFailed(ctx context.Context, tx *db.Tx, source string, ids []id.ID) error {
	if len(ids) == 0 {
		return nil
	}
	reason := ReservationChanged
	if source == "transaction" {
		reason = TransactionChanged
	}
	err := tx.Pipeline(ctx,
		db.Stmt{
			SQL: `insert into ledger_stale (team_id, source_id, source, reason, status, since)
				select @team, s.id, @source, @reason, 'failed', @now from unnest(@ids::uuid[]) as s (id)
				where not exists (select from ledger_stale t where t.team_id = @team and t.source_id = s.id)
				on conflict (team_id, source_id, cause_id) do nothing`,
			Args: db.Args{"team": tx.Team, "source": source, "reason": string(reason), "ids": ids, "now": tx.Now},
		},
		db.Stmt{
			SQL:  `update ledger_stale set status = 'failed' where team_id = @team and source_id = any(@ids)`,
			Args: db.Args{"team": tx.Team, "ids": ids},
		})
	if err != nil {
		return fmt.Errorf("mark journals failed: %w", err)
	}
	return nil
}

// settle drops what was outstanding on sources whose journals are now as they should be; those that locks kept as they are stay behind as
// locked. A journal that was left behind without anybody having marked it before is marked now.
func settle(ctx context.Context, tx *db.Tx, sources []id.ID, skipped map[id.ID]bool) error {
	done, left := make([]id.ID, 0, len(sources)), []id.ID{}
	for _, source := range sources {
		if skipped[source] {
			left = append(left, source)
		} else {
			done = append(done, source)
		}
	}
	stmts := []db.Stmt{{
		SQL:  `delete from ledger_stale where team_id = @team and source_id = any(@done)`,
		Args: db.Args{"team": tx.Team, "done": done},
	}}
	if len(left) > 0 {
		stmts = append(stmts,
			db.Stmt{
				SQL:  `update ledger_stale set status = 'locked' where team_id = @team and source_id = any(@left)`,
				Args: db.Args{"team": tx.Team, "left": left},
			},
			db.Stmt{
				SQL: `insert into ledger_stale (team_id, source_id, source, reason, status, since)
					select @team, s.id, case when r.id is null then 'transaction' else 'reservation' end,
						case when r.id is null then 'transactionChanged' else 'reservationChanged' end, 'locked', @now
					from unnest(@left::uuid[]) as s (id) left join reservation r on r.team_id = @team and r.id = s.id
					where not exists (select from ledger_stale t where t.team_id = @team and t.source_id = s.id)`,
				Args: db.Args{"team": tx.Team, "left": left, "now": tx.Now},
			})
	}
	if err := tx.Pipeline(ctx, stmts...); err != nil {
		return fmt.Errorf("settle stale journals: %w", err)
	}
	return nil
}

// RetryLocked derives again what locks have kept from being derived, now that the cause has given some of it free: on these listings, or of
// the whole team when listings is nil.
func RetryLocked(ctx context.Context, tx *db.Tx, cause operation.Resource, listings []id.ID) error {
	type left struct {
		ID     id.ID
		Source string
	}
	found, err := db.Select[left](ctx, tx, `
		update ledger_stale t set status = 'stale' where t.team_id = @team and t.status = 'locked' and (@listings::uuid[] is null
			or exists (select from reservation r where r.team_id = @team and r.id = t.source_id and r.listing_id = any(@listings))
			or exists (select from transaction_line l where l.team_id = @team and l.transaction_id = t.source_id and l.listing_id = any(@listings)))
		returning t.source_id as id, t.source`, db.Args{"team": tx.Team, "listings": listings})
	if err != nil {
		return fmt.Errorf("find journals that were locked: %w", err)
	}
	if len(found) == 0 {
		return nil
	}
	var reservations, transactions []id.ID
	for _, l := range found {
		if l.Source == "reservation" {
			reservations = append(reservations, l.ID)
		} else {
			transactions = append(transactions, l.ID)
		}
	}
	_, err = startRefresh(ctx, tx, Outdated{Cause: cause, Reservations: sortedIDs(reservations), Transactions: sortedIDs(transactions)})
	return err
}
