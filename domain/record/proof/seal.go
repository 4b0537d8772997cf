package proof

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// sealBatch is how many events one transaction seals, and more only if one transaction has recorded more: their order
// is by the instant, and the log goes on after an instant.
const sealBatch = 10_000

// firstSpan is the time that the first batch looks at. After a full batch the next one looks at as much time as that had
// events of, after any other at twice as much, so that a backlog of years is never sorted as a whole for each batch.
const (
	firstSpan = time.Minute
	leastSpan = time.Millisecond
	mostSpan  = 365 * 24 * time.Hour
)

// head is the state of the log.
type head struct {
	ID            id.ID
	Key           []byte
	Size          int64
	SealedThrough *time.Time
}

const loadHead = `select id, key, size, case when isfinite(sealed_through) then sealed_through end as sealed_through from audit_log`

// lockHead returns the state of the log and keeps other processes from adding to it until the transaction ends. The
// first call makes the log with its signing key.
//
// It is an advisory lock, taken before the transaction writes: a run with nothing to do writes nothing, and whoever
// follows the trail of a team sees that the transaction is not about that team (db.OldestWrite).
func (c Config) lockHead(ctx context.Context, tx *db.Tx) (*head, error) {
	if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('stayledger audit log', 0))`, nil); err != nil {
		return nil, fmt.Errorf("lock the audit log: %w", err)
	}

	h, err := db.Maybe[head](ctx, tx, loadHead, nil)
	if err != nil || h != nil {
		return h, err
	}

	log := tx.NewID()

	key, err := newKey(log)
	if err != nil {
		return nil, err
	}

	h = &head{ID: log, Key: c.Box.Seal(key, label(log))}

	if _, err := tx.Exec(ctx, `insert into audit_log (team_id, id, key) values ('ffffffff-ffff-ffff-ffff-ffffffffffff', @id, @key)`, db.Args{"id": h.ID, "key": h.Key}); err != nil {
		return nil, fmt.Errorf("make the audit log: %w", err)
	}

	return h, nil
}

// sealDue appends what was committed since, and makes a checkpoint if one is due.
func (c Config) sealDue(ctx context.Context, d *db.DB) error {
	if err := c.seal(ctx, d); err != nil {
		return err
	}

	return c.makeCheckpoint(ctx, d, checkpointTime)
}

// readHorizon returns the instant before which everything recorded is committed. It has a transaction of its own: what
// ends after it is seen by the transactions that begin later.
func readHorizon(ctx context.Context, d *db.DB) (horizon time.Time, err error) {
	err = d.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		horizon, err = tx.OldestWrite(ctx, nil)
		return err
	})

	return horizon, err
}

// seal appends all events up to the safe horizon, in the order (recorded_at, team, id, revision), batch by batch.
func (c Config) seal(ctx context.Context, d *db.DB) error {
	horizon, err := readHorizon(ctx, d)
	if err != nil {
		return err
	}

	for span, isDone := firstSpan, false; !isDone; {
		var next time.Duration

		err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
			h, err := c.lockHead(ctx, tx)
			if err != nil {
				return err
			}

			next, isDone, err = h.sealSpan(ctx, tx, horizon, span)

			return err
		})
		if err != nil {
			return fmt.Errorf("seal audit events: %w", err)
		}

		span = min(max(next, leastSpan), mostSpan)
	}

	return nil
}

// sealSpan appends the first events after those that are sealed, of a span of time and up to the horizon. It returns the
// span to look at next, and whether the horizon is reached.
func (h *head) sealSpan(ctx context.Context, tx *db.Tx, horizon time.Time, span time.Duration) (next time.Duration, isDone bool, err error) {
	// An empty log begins with the first event there is.
	from := h.SealedThrough
	if from == nil {
		first, err := db.Get[*time.Time](ctx, tx, `select min(recorded_at) - interval '1 microsecond' from audit_event`, nil)
		if err != nil || first == nil {
			return 0, true, err
		}

		from = first
	}

	until := from.Add(span)
	if isDone = !until.Before(horizon); isDone {
		until = horizon
	}

	if !from.Before(until) {
		return 0, true, nil
	}

	// Find them by the instant, then load them. The instant of the last one comes whole.
	events, err := db.Select[event](ctx, tx, `
		select `+eventColumns+` from audit_event e where e.recorded_at > @from and e.recorded_at < @until
		order by e.recorded_at fetch first @most rows with ties`,
		db.Args{"from": *from, "until": until, "most": sealBatch})
	if err != nil {
		return 0, false, fmt.Errorf("read events to seal: %w", err)
	}

	// A full batch ends at its last event, any other one just before the end of the span.
	through, next := until.Add(-time.Microsecond), 2*span
	if n := len(events); n >= sealBatch {
		through, isDone = events[n-1].RecordedAt, false
		next = through.Sub(events[0].RecordedAt)
	}

	if len(events) == 0 && isDone {
		return 0, true, nil // nothing to remember: the next run looks at the same pages again
	}

	return next, isDone, h.append(ctx, tx, events, through)
}

// append inserts the leaves of events and the hashes of their tiles.
func (h *head) append(ctx context.Context, tx *db.Tx, events []event, through time.Time) error {
	t, err := newTree(h.Size, newTiles(ctx, tx))
	if err != nil {
		return err
	}

	events = slices.SortedFunc(slices.Values(events), compareEvents)

	n := len(events)
	teams, ids, revisions, salts, hashes := make([]id.ID, n), make([]id.ID, n), make([]int64, n), make([][]byte, n), make([][]byte, n)

	for i := range events {
		teams[i], ids[i], revisions[i], salts[i] = events[i].TeamID, events[i].ID, events[i].Revision, make([]byte, 32)
		_, _ = rand.Read(salts[i]) // never fails
	}

	for i, leaf := range hashAll(events, salts) {
		if leaf.err != nil {
			return fmt.Errorf("event %s of team %s: %w", ids[i], teams[i], leaf.err)
		}

		if err := t.add(leaf.hash); err != nil {
			return err
		}

		hashes[i] = leaf.hash[:]
	}

	// Tiles grow at their end.
	var (
		levels, places []int64
		added          [][]byte
	)

	for at, hashes := range t.added {
		levels, places, added = append(levels, at.level), append(places, at.n), append(added, hashes)
	}

	return tx.Pipeline(ctx,
		db.Stmt{
			SQL: `insert into audit_leaf (seq, team_id, event_id, revision, salt, hash)
			select @size + u.n - 1, u.team_id, u.event_id, u.revision, u.salt, u.hash
			from unnest(@teams::uuid[], @ids::uuid[], @revisions::int[], @salts::bytea[], @hashes::bytea[]) with ordinality
				as u (team_id, event_id, revision, salt, hash, n)`,
			Args: db.Args{"size": h.Size, "teams": teams, "ids": ids, "revisions": revisions, "salts": salts, "hashes": hashes},
		},
		db.Stmt{
			SQL: `insert into audit_tile as t (level, n, hashes)
			select u.level, u.n, u.hashes from unnest(@levels::int[], @ns::bigint[], @hashes::bytea[]) as u (level, n, hashes)
			on conflict (level, n) do update set hashes = t.hashes || excluded.hashes`,
			Args: db.Args{"levels": levels, "ns": places, "hashes": added},
		},
		db.Stmt{
			SQL:  `update audit_log set size = @size, sealed_through = greatest(sealed_through, @through) where id = @id`,
			Args: db.Args{"size": t.size, "through": through, "id": h.ID},
		},
	)
}

// compareEvents compares events by their order in the log.
func compareEvents(a, b event) int {
	return cmp.Or(a.RecordedAt.Compare(b.RecordedAt), a.TeamID.Compare(b.TeamID), a.ID.Compare(b.ID), cmp.Compare(a.Revision, b.Revision))
}

// unsealedSQL selects events e that are older than what the log has gone past and are not in it: the clock of the
// database went back when they were recorded, or somebody inserted them.
const unsealedSQL = ` from audit_event e where e.recorded_at <= (select sealed_through from audit_log)
	and not exists (select from audit_leaf l where l.team_id = e.team_id and l.event_id = e.id and l.revision = e.revision)`

// wholeTime bounds a statement that reads the keys of all events.
const wholeTime = time.Hour

// wholeScope returns the scope of work with such a statement.
func wholeScope() db.Scope {
	scope := db.AcrossTeams()
	scope.Timeout = wholeTime

	return scope
}

// sweep seals events that slipped past. It reads the keys of all events, so it runs rarely.
func (c Config) sweep(ctx context.Context, d *db.DB) error {
	for {
		var found int

		err := d.Write(ctx, wholeScope(), func(ctx context.Context, tx *db.Tx) error {
			h, err := c.lockHead(ctx, tx)
			if err != nil || h.SealedThrough == nil {
				return err
			}

			events, err := db.Select[event](ctx, tx, `select `+eventColumns+unsealedSQL+` limit @most`, db.Args{"most": sealBatch})
			if err != nil {
				return fmt.Errorf("read events that slipped past: %w", err)
			}

			if found = len(events); found == 0 {
				return nil
			}

			return h.append(ctx, tx, events, *h.SealedThrough)
		})
		if err != nil {
			return fmt.Errorf("sweep audit events: %w", err)
		}

		if found < sealBatch {
			return nil
		}
	}
}
