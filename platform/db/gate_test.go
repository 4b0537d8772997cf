package db_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// gated is a team that lets a test watch transactions at its gate.
type gated struct {
	t     *testing.T
	db    *db.DB
	scope db.Scope
	mu    sync.Mutex
	in    []string // who got in, in that order
	group sync.WaitGroup
}

func newGated(t *testing.T, wait time.Duration) *gated {
	t.Helper()
	d := open(t, db.Config{URL: apitest.Database(t), MaxConnections: 60, GateWait: wait})
	g := &gated{t: t, db: d, scope: db.Scope{Team: id.New(d.Now())}}
	t.Cleanup(g.group.Wait)

	return g
}

func (g *gated) exclusive() db.Scope {
	s := g.scope
	s.Exclusive = true

	return s
}

// at counts the transactions that are inside the gate, or that stand before it.
func (g *gated) at(inside bool) (n int64) {
	g.t.Helper()

	err := g.db.ReadOne(g.t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `
			select count(*) from pg_locks l cross join (select hashtextextended('stayledger team ' || @team::text, 0)) k (key)
			where l.locktype = 'advisory' and l.objsubid = 1 and (l.classid::bigint << 32 | l.objid::bigint) = k.key and l.granted = @inside
				and l.database = (select oid from pg_database where datname = current_database())`, db.Args{"team": g.scope.Team.String(), "inside": inside})

		return err
	})
	if err != nil {
		g.t.Error(err)
	}

	return n
}

// standing waits until so many stand before the gate.
func (g *gated) standing(n int64) {
	g.t.Helper()

	for deadline := time.Now().Add(time.Minute); g.at(false) != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			g.t.Fatalf("%d stand before the gate, want %d", g.at(false), n)
		}
	}
}

// enter starts a transaction that notes when it got in and stays until it is let out.
func (g *gated) enter(s db.Scope, name string, out <-chan struct{}) {
	run := g.db.Write
	if name == "dry" {
		run = g.db.DryRun
	}

	g.group.Go(func() {
		err := run(context.WithoutCancel(g.t.Context()), s, func(ctx context.Context, tx *db.Tx) error {
			if _, err := tx.Exec(ctx, `select 1`, nil); err != nil {
				return err
			}

			if s.Exclusive && g.at(true) != 1 {
				g.t.Error("somebody is inside with an exclusive transaction")
			}

			g.mu.Lock()
			g.in = append(g.in, name)
			g.mu.Unlock()
			<-out

			return nil
		})
		if err != nil {
			g.t.Errorf("%s: %v", name, err)
		}
	})
}

// inside waits until so many got in and gives them.
func (g *gated) inside(n int) []string {
	g.t.Helper()

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		g.mu.Lock()
		in := slices.Clone(g.in)
		g.mu.Unlock()

		if len(in) >= n {
			return in
		}

		if time.Now().After(deadline) {
			g.t.Fatalf("only %q got in", in)
		}
	}
}

func TestTheGateIsFair(t *testing.T) {
	t.Parallel()
	g := newGated(t, time.Minute)

	let := make([]chan struct{}, 4)
	for i := range let {
		let[i] = make(chan struct{})
	}

	g.enter(g.scope, "writer", let[0])
	g.enter(g.scope, "writer", let[0])
	g.inside(2)
	g.enter(g.exclusive(), "change", let[1])
	g.standing(1)

	for range 24 { // none of those that came after the change passes it by
		g.enter(g.scope, "late", let[2])
	}

	g.standing(25)
	g.enter(g.exclusive(), "second change", let[3])
	g.standing(26)
	close(let[0])

	if in := g.inside(3); in[2] != "change" {
		t.Errorf("%q got in before the change", in)
	}

	close(let[1])

	if in := g.inside(27); slices.Contains(in, "second change") {
		t.Errorf("the second change passed writers by: %q", in)
	}

	g.standing(1)
	close(let[2])
	g.inside(28)
	close(let[3])
}

func TestWhoPassesTheGate(t *testing.T) {
	t.Parallel()
	g := newGated(t, time.Minute)
	leave := make(chan struct{})
	g.enter(g.exclusive(), "change", leave)
	g.inside(1)

	look := func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `select 1`, nil)
		return err
	}
	other, ungated := db.Scope{Team: id.New(g.db.Now())}, g.scope
	ungated.Ungated = true

	for name, pass := range map[string]func() error{
		"a read":               func() error { return g.db.Read(t.Context(), g.scope, look) },
		"a read of one":        func() error { return g.db.ReadOne(t.Context(), g.scope, look) },
		"another team":         func() error { return g.db.Write(t.Context(), other, look) },
		"the service's own":    func() error { return g.db.Write(t.Context(), db.AcrossTeams(), look) },
		"work beside all":      func() error { return g.db.Write(t.Context(), ungated, look) },
		"nobody's transaction": func() error { return g.db.Write(t.Context(), db.Scope{}, look) },
	} {
		if err := pass(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	g.enter(g.scope, "writer", leave)
	g.enter(g.scope, "dry", leave)
	g.standing(2)
	close(leave)
	g.inside(3)
}

func TestTheGateIsNotWaitedForForever(t *testing.T) {
	t.Parallel()
	g := newGated(t, 20*time.Millisecond)
	leave := make(chan struct{})
	g.enter(g.scope, "long work", leave)
	g.inside(1)

	err := g.db.Write(t.Context(), g.exclusive(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `select 1`, nil)
		return err
	})
	if !db.IsLockTimeout(err) {
		t.Errorf("waiting in vain: %v", err)
	}

	err = g.db.Write(t.Context(), g.scope, func(ctx context.Context, tx *db.Tx) error {
		bound, err := db.Get[string](ctx, tx, `select current_setting('lock_timeout')`, nil)
		if bound != "5s" {
			t.Errorf("the wait for rows is bounded by %s", bound)
		}

		return err
	})
	if err != nil {
		t.Error(err)
	}

	close(leave)
}

func TestExclusiveWorkIsDeclared(t *testing.T) {
	t.Parallel()

	g := newGated(t, time.Minute)
	for _, c := range []struct {
		scope db.Scope
		want  error
	}{{g.scope, db.ErrNotExclusive}, {g.exclusive(), nil}, {db.AcrossTeams(), db.ErrNotExclusive}} {
		err := g.db.Write(t.Context(), c.scope, func(_ context.Context, tx *db.Tx) error { return tx.Exclusively() })
		if !errors.Is(err, c.want) {
			t.Errorf("exclusive %t: %v", c.scope.Exclusive, err)
		}
	}
}
