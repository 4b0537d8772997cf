package db_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Writes that stand at the gate while the team is frozen are refused when they get in, and so is every later one. The
// tasks of the operation that froze the team write, and so does work that says it writes in frozen teams.
//
// Proves: ERR-94, OPEN-77.
func TestAFrozenTeamTakesNoWrites(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	operation := id.New(x.DB.Now())

	touch := func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `select 1`, nil)
		return err
	}

	waited := make(chan error, 2)
	alone, beside := x.Scope(), x.Scope()
	alone.Exclusive, beside.Ungated = true, true

	err := x.DB.Write(t.Context(), alone, apitest.SetUp(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update team set freeze_reason = 'deletion', freeze_operation_id = @operation where id = @team`,
			db.Args{"team": tx.Team, "operation": operation})

		for range 2 {
			go func() { waited <- x.DB.Write(t.Context(), x.Scope(), touch) }()
		}

		g := &gated{t: t, db: x.DB, scope: x.Scope()}
		for deadline := time.Now().Add(time.Minute); g.at(false) < 2; {
			if time.Now().After(deadline) {
				t.Error("the writers do not stand at the gate")
				break
			}
		}

		return err
	}))
	if err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if err := <-waited; db.FreezeReason(err) != "deletion" {
			t.Errorf("a writer that waited: %v", err)
		}
	}

	ours, open, other := x.Scope(), x.Scope(), x.Scope()
	ours.Operation, open.Frozen, other.Operation = operation, true, id.New(x.DB.Now())

	for name, c := range map[string]struct {
		scope  db.Scope
		reason string
	}{
		"a write": {x.Scope(), "deletion"}, "a change": {alone, "deletion"}, "work beside all": {beside, "deletion"},
		"another operation": {other, "deletion"}, "the operation": {ours, ""}, "work for frozen teams": {open, ""},
	} {
		for end, run := range map[string]func(context.Context, db.Scope, db.Work) error{"write": x.DB.Write, "lazy": x.DB.WriteLazily, "dry": x.DB.DryRun} {
			if err := run(t.Context(), c.scope, touch); db.FreezeReason(err) != c.reason || c.reason == "" && err != nil {
				t.Errorf("%s, %s: %v", name, end, err)
			}
		}
	}

	if err := x.DB.Read(t.Context(), x.Scope(), touch); err != nil {
		t.Errorf("a read: %v", err)
	}
}

// Settle returns only after the writes that pass no gate.
func TestSettlingWaitsForWorkThatPassesNoGate(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	beside := x.Scope()
	beside.Ungated = true

	var ended atomic.Bool

	inside, leave, settled := make(chan struct{}), make(chan struct{}), make(chan error, 2)

	go func() {
		settled <- x.DB.Write(t.Context(), beside, func(ctx context.Context, tx *db.Tx) error {
			if _, err := tx.Exec(ctx, `select 1`, nil); err != nil {
				return err
			}

			close(inside)
			<-leave

			ended.Store(true)

			return nil
		})
	}()

	<-inside

	go func() {
		err := x.DB.Settle(context.WithoutCancel(t.Context()), x.Scope())
		if !ended.Load() {
			t.Error("work still runs in the team")
		}

		settled <- err
	}()

	// Only when Settle stands there may the work end.
	for deadline := time.Now().Add(time.Minute); ; {
		n, err := standing(t.Context(), x.DB, "stayledger ungated team "+x.ID.String())
		if err != nil || time.Now().After(deadline) {
			t.Errorf("nobody waits for the work: %v", err)
			break
		}

		if n > 0 {
			break
		}
	}

	close(leave)

	for range 2 {
		if err := <-settled; err != nil {
			t.Error(err)
		}
	}
}

// standing counts the transactions that wait for an advisory lock.
func standing(ctx context.Context, d *db.DB, name string) (n int64, err error) {
	err = d.ReadOne(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		n, err = db.Get[int64](ctx, tx, `
			select count(*) from pg_locks l cross join (select hashtextextended(@name, 0)) k (key)
			where l.locktype = 'advisory' and l.objsubid = 1 and (l.classid::bigint << 32 | l.objid::bigint) = k.key and not l.granted
				and l.database = (select oid from pg_database where datname = current_database())`, db.Args{"name": name})

		return err
	})

	return n, err
}
