package proof_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"stayledger/domain/record/proof"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Every event has a proof that checks, and no proof checks that differs in a byte.
//
// Proves: AUD-02.
func TestEveryEventHasAProof(t *testing.T) {
	t.Parallel()
	x := newLog(t)
	x.fill(1000)

	ids := x.events()
	path := func(event id.ID) string { return "/audit/events/" + event.String() + "/proof" }
	x.Get(path(ids[0])).WantError(apierr.CodeConflict, "")

	if got := x.Get("/audit/events/" + ids[0].String()).Want(200); got.Value("chain") != nil {
		t.Errorf("not sealed: %s", got.Body)
	}

	x.sealNow()

	seed := rand.Uint64()
	t.Log("seed", seed)
	dice := rand.New(rand.NewPCG(seed, 0))

	for i, event := range ids {
		body := bytes.TrimSpace(x.Get(path(event)).Want(200).Body)

		p, err := proof.Check(body, "")
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}

		if _, err := proof.Check(body, p.VerifierKey); err != nil {
			t.Fatal(err)
		}

		// Every byte of one proof, some of the others.
		places := []int{dice.IntN(len(body)), dice.IntN(len(body)), dice.IntN(len(body))}
		if i == 0 {
			places = make([]int, len(body))
			for at := range places {
				places[at] = at
			}
		}

		for _, at := range places {
			for _, by := range []byte{1, 0x20, byte(1 + dice.IntN(255))} {
				forged := bytes.Clone(body)
				forged[at] ^= by

				if _, err := proof.Check(forged, ""); !errors.Is(err, proof.ErrProof) {
					t.Fatalf("byte %d of %s xor %d: %v", at, body, by, err)
				}
			}
		}
	}

	// The chain of the event is the leaf of its proof.
	if got := x.Get("/audit/events/" + ids[0].String()).Want(200); got.Int("chain.seq") != x.Get(path(ids[0])).Int("seq") || got.String("chain.hash") == "" {
		t.Errorf("sealed: %s", got.Body)
	}

	if got := x.Get("/audit/events?limit=3").Want(200); got.String("data.0.chain.hash") == "" {
		t.Errorf("sealed: %s", got.Body)
	}

	x.Get(path(id.New(time.Now()))).WantError(apierr.CodeNotFound, "")
	x.Get(path(ids[0])+"?revision=2").WantError(apierr.CodeNotFound, "")
	apitestTeam := apitest.New(t, apitest.Config{DB: x.DB})
	x.In(apitestTeam.ID).Get(path(ids[0])).WantError(apierr.CodeNotFound, "")
}

// events returns the ids of the team's events.
func (x *log) events() (ids []id.ID) {
	x.System(func(ctx context.Context, tx *db.Tx) (err error) {
		ids, err = db.Select[id.ID](ctx, tx, `select id from audit_event where team_id = @team and entity_name like 'Ada %'`, db.Args{"team": x.ID})
		return err
	})

	return ids
}

// Whoever may not read a record can prove its event without learning its values.
func TestProofsHideWhatTheCallerMayNotRead(t *testing.T) {
	t.Parallel()
	x := newLog(t)
	x.fill(1)
	x.sealNow()

	path := "/audit/events/" + x.events()[0].String() + "/proof"
	body := x.As([]string{"audit:read"}, nil).Get(path).Want(200).Body

	p, err := proof.Check(body, "")
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}

	for _, v := range []*proof.Value{p.Event.Changes[0].Old, p.Event.Changes[0].New, p.Event.Changes[1].New, p.Event.Journal} {
		if v.Value != nil || v.Salt != "" || v.Commitment == "" {
			t.Errorf("shows %+v", v)
		}
	}

	x.As([]string{"contacts:read"}, nil).Get(path).WantError(apierr.CodeForbidden, "")

	if _, err := proof.Check(x.Get(path).Body, "stayledger+00000000+AAAA"); !errors.Is(err, proof.ErrProof) {
		t.Errorf("another key: %v", err)
	}
}

// The canonical form does not depend on how a value is printed.
func TestCommitmentsAreOfValuesNotOfTexts(t *testing.T) {
	t.Parallel()

	salt := bytes.Repeat([]byte{7}, 32)
	commit := func(value string) string {
		c, err := proof.Commitment(json.RawMessage(value), salt, "new x")
		if err != nil {
			t.Fatal(value, err)
		}

		return c
	}

	for _, same := range [][2]string{
		{`1.50`, `1.5`}, {`"\u00fc<"`, `"ü\u003c"`}, {`[1, 2]`, `[1,2.0]`}, {`{"a":1,"b":[]}`, `{"b": [], "a": 1}`}, {`-0`, `0`},
	} {
		if commit(same[0]) != commit(same[1]) {
			t.Errorf("%s and %s differ", same[0], same[1])
		}
	}

	for _, other := range [][2]string{
		{`1`, `"1"`},
		{`[1,2]`, `[12]`},
		{`["a","b"]`, `["ab"]`},
		{`[[],1]`, `[[1]]`},
		{`null`, `"n"`},
		{`true`, `false`},
		{`{"a":1}`, `["a",1]`},
		{`9007199254740993`, `9007199254740992`},
		{`0.1`, `0.10000000000000001`},
	} {
		if commit(other[0]) == commit(other[1]) {
			t.Errorf("%s and %s are the same", other[0], other[1])
		}
	}
}

var errBroken = errors.New("broken")

// While many write, some for long and some in vain, and sealers are killed in between, each committed revision gets one
// leaf, and each tree continues the one before.
func TestEachRevisionIsSealedOnce(t *testing.T) {
	t.Parallel()

	const writers, writes = 6, 25

	x := newLog(t)
	seed := rand.Uint64()
	t.Log("seed", seed)

	var (
		group, sealers sync.WaitGroup
		done           atomic.Bool
		killed         atomic.Int64
	)

	for n := range writers {
		dice := rand.New(rand.NewPCG(seed, uint64(n)))

		group.Go(func() {
			for range writes {
				err := x.DB.Write(t.Context(), x.Scope(), apitest.SetUp(func(ctx context.Context, tx *db.Tx) error {
					one := id.New(time.Now())

					// As after any other write, and in the statement of the product, the transaction has an identifier.
					if _, err := tx.Exec(ctx, `select pg_current_xact_id()`, nil); err != nil {
						return err
					}

					// Events get their instant before the transaction waits and commits or not.
					for revision := range 1 + dice.IntN(3) {
						if _, err := tx.Exec(ctx, `insert into audit_event (team_id, id, revision, action_id, actor_type, type, entity_type, entity_id, refs,
								source_type, changes, occurred_at, recorded_at)
							values (@team, @id, @revision, @id, 'user', 'updated', 'contact', @id, '[]', 'user', '[{"key": "name", "new": "Ada"}]', now(), clock_timestamp())`,
							db.Args{"team": tx.Team, "id": one, "revision": revision + 1}); err != nil {
							return err
						}
					}

					if _, err := tx.Exec(ctx, `select pg_sleep(@wait)`, db.Args{"wait": dice.Float64() / 20}); err != nil {
						return err
					}

					if dice.IntN(4) == 0 {
						return errBroken
					}

					return nil
				}))
				// Between the look and the signal, a sealer's connection may pass on to a writer, which then wrote nothing.
				if err != nil && !errors.Is(err, errBroken) && !errors.Is(err, db.ErrUnavailable) {
					t.Error(err)
				}
			}
		})
	}

	// Two sealers in turn with somebody who ends their connections.
	for range 2 {
		sealers.Go(func() {
			for !done.Load() {
				if err := x.Seal(t.Context(), x.DB); err != nil {
					killed.Add(1)
				}
			}
		})
	}

	sealers.Go(func() {
		for !done.Load() {
			err := x.DB.Write(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
					and state <> 'idle' and query like '%audit\_l%'`, nil)

				return err
			})
			if err == nil {
				x.sealSome()
			}
		}
	})

	group.Wait()
	done.Store(true)
	sealers.Wait()

	x.sealNow()

	if err := x.Sweep(t.Context(), x.DB); err != nil {
		t.Fatal(err)
	}

	if r := x.verify(); len(r.Findings) != 0 || r.Late != 0 {
		t.Errorf("%+v", r)
	}

	t.Logf("%d runs of a sealer were killed", killed.Load())
	x.wantOnceEach()
	x.wantPrefixes()
}

// A batch that is broken off halfway adds nothing, and the next run seals the same events.
func TestABatchIsSealedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	x := newLog(t)
	x.sealNow()

	before := x.size()
	x.fill(300)

	ddl := func(sql string) {
		x.System(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, sql, nil)
			return err
		})
	}
	ddl(`create trigger broken before update on audit_log execute function audit_append_only()`)

	if err := x.Seal(t.Context(), x.DB); err == nil {
		t.Error("it was not broken off")
	}

	ddl(`drop trigger broken on audit_log`)

	if r := x.verify(); x.size() != before || r.Events != before || len(r.Findings) != 0 {
		t.Errorf("%d leaves, %d before: %+v", x.size(), before, r)
	}

	x.sealNow()

	if r := x.verify(); r.Events != before+300 || len(r.Findings) != 0 {
		t.Errorf("%+v", r)
	}

	x.wantOnceEach()
	x.wantPrefixes()
}

// sealSome makes a checkpoint of what there is, however recent the last one is.
func (x *log) sealSome() { _ = x.SealNow(x.T.Context(), x.DB) }

// wantOnceEach checks that the log has each revision once, without gaps.
func (x *log) wantOnceEach() {
	x.T.Helper()
	x.System(func(ctx context.Context, tx *db.Tx) error {
		type counts struct{ Leaves, Events, Joined, Last int64 }

		c, err := db.Get[counts](ctx, tx, `select (select count(*) from audit_leaf) as leaves, (select count(*) from audit_event) as events,
			(select count(*) from audit_leaf l join audit_event e on e.team_id = l.team_id and e.id = l.event_id and e.revision = l.revision) as joined,
			(select max(seq) from audit_leaf) as last`, nil)
		if c.Leaves != c.Events || c.Joined != c.Events || c.Last != c.Events-1 {
			x.T.Errorf("%+v", c)
		}

		return err
	})
}

// wantPrefixes checks that each checkpoint continues the one before.
func (x *log) wantPrefixes() {
	x.T.Helper()
	x.System(func(ctx context.Context, tx *db.Tx) error {
		type row struct {
			TreeSize int64
			Root     []byte
		}

		rows, err := db.Select[row](ctx, tx, `select tree_size, root from audit_checkpoint order by tree_size`, nil)
		x.T.Logf("%d checkpoints", len(rows))

		for i := 1; i < len(rows); i++ {
			was, is := rows[i-1], rows[i]

			p, err := tlog.ProveTree(is.TreeSize, was.TreeSize, proof.Tiles(ctx, tx))
			if err != nil {
				return err
			}

			if err := tlog.CheckTree(p, is.TreeSize, tlog.Hash(is.Root), was.TreeSize, tlog.Hash(was.Root)); err != nil {
				x.T.Errorf("from %d to %d: %v", was.TreeSize, is.TreeSize, err)
			}
		}

		return err
	})
}

// A checkpoint is made at most every ten minutes, and never of a tree that has one.
func TestCheckpointsAreTenMinutesApart(t *testing.T) {
	t.Parallel()
	x := newLog(t)

	count := func() (n int64) {
		x.System(func(ctx context.Context, tx *db.Tx) (err error) {
			n, err = db.Get[int64](ctx, tx, `select count(*) from audit_checkpoint where kept_at is not null`, nil)
			return err
		})

		return n
	}

	due := func(want int64) {
		t.Helper()

		if err := x.SealDue(t.Context(), x.DB); err != nil {
			t.Fatal(err)
		}

		if got := count(); got != want {
			t.Errorf("%d checkpoints, want %d", got, want)
		}
	}

	due(1)
	x.fill(1)
	due(1)
	x.tamper(`update audit_checkpoint set created_at = created_at - interval '11 minutes'`, nil)
	due(2)
	x.tamper(`update audit_checkpoint set created_at = created_at - interval '11 minutes'`, nil)
	due(2)
}

// TestRates measures how many leaves a second are appended and verified. AUDIT_EVENTS sets how many.
func TestRates(t *testing.T) { //nolint:paralleltest // it measures
	many, _ := strconv.Atoi(os.Getenv("AUDIT_EVENTS"))
	if many == 0 {
		t.Skip("AUDIT_EVENTS is not set")
	}

	x := newLog(t)
	x.sealNow()
	x.fill(many)

	began := time.Now()

	if err := x.Seal(t.Context(), x.DB); err != nil {
		t.Fatal(err)
	}

	t.Logf("sealed %.0f leaves a second", float64(many)/time.Since(began).Seconds())

	// What autovacuum does after a while: then a run with little to do is as fast as with a small trail.
	x.System(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `select brin_summarize_new_values('audit_event_instant')`, nil)
		return err
	})
	x.fill(1)

	began = time.Now()

	if err := x.Seal(t.Context(), x.DB); err != nil {
		t.Fatal(err)
	}

	t.Logf("sealed one more in %s", time.Since(began))

	began = time.Now()
	r := x.verify()
	t.Logf("verified %.0f leaves a second: %+v", float64(r.Events)/time.Since(began).Seconds(), r)
}
