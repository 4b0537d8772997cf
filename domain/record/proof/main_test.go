package proof_test

import (
	"context"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/domain/record/proof"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/test/world"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// log is a deployment of its own, with a team and its audit log.
type log struct {
	*world.World
	proof.Config
}

func newLog(t *testing.T) *log {
	t.Helper()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t)})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	x := &log{}
	x.World = world.In(t, d, func(e *app.External) { x.Config = proof.Config{Box: e.Box, Store: e.Store} })

	return x
}

// sealNow seals everything and makes a checkpoint.
func (x *log) sealNow() {
	x.T.Helper()

	if err := x.SealNow(x.T.Context(), x.DB); err != nil {
		x.T.Fatal(err)
	}
}

func (x *log) verify() *proof.Report {
	x.T.Helper()

	r, err := x.Verify(x.T.Context(), x.DB, "")
	if err != nil {
		x.T.Fatal(err)
	}

	return r
}

// tamper changes tables as somebody does who owns the database: their triggers are off meanwhile.
func (x *log) tamper(sql string, args db.Args) {
	x.T.Helper()

	tables := []string{"audit_event", "audit_leaf", "audit_tile", "audit_checkpoint", "audit_log"}

	err := x.DB.Write(x.T.Context(), db.AcrossTeams(), apitest.SetUp(func(ctx context.Context, tx *db.Tx) error {
		for _, table := range tables {
			if _, err := tx.Exec(ctx, `alter table `+table+` disable trigger user`, nil); err != nil {
				return err
			}
		}

		for s := range strings.SplitSeq(sql, ";") {
			used := db.Args{}

			for name, v := range args {
				if strings.Contains(s, "@"+name) {
					used[name] = v
				}
			}

			n, err := tx.Exec(ctx, s, used)
			if err != nil {
				return err
			}

			if n == 0 {
				x.T.Errorf("nothing changed: %s", s)
			}
		}

		for _, table := range tables {
			if _, err := tx.Exec(ctx, `alter table `+table+` enable trigger user`, nil); err != nil {
				return err
			}
		}

		return nil
	}))
	if err != nil {
		x.T.Fatal(sql, err)
	}
}

// fill inserts events with every field.
func (x *log) fill(many int) {
	x.T.Helper()

	err := x.DB.Write(x.T.Context(), x.Scope(), apitest.SetUp(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `
			insert into audit_event (team_id, id, revision, action_id, actor_type, actor_id, type, entity_type, entity_id, entity_name, refs, source_type,
				connection_id, operation_id, changes, journal, occurred_at, recorded_at, settled_at)
			select @team, gen_random_uuid(), 1, gen_random_uuid(), 'user', gen_random_uuid(), 'updated', 'contact', gen_random_uuid(), 'Ada ' || n,
				jsonb_build_array(jsonb_build_object('role', 'owner', 'type', 'contact', 'id', gen_random_uuid()),
					jsonb_build_object('role', 'listing', 'type', 'listing', 'id', gen_random_uuid())), 'integration',
				md5('connection ' || n)::uuid, md5('operation ' || n)::uuid, jsonb_build_array(jsonb_build_object('key', 'email', 'old', 'a' || n || '@example.com', 'new', n),
					jsonb_build_object('key', 'tags', 'new', jsonb_build_array('x', 1.50, true, null, jsonb_build_object('<b>', 'ü')))),
				jsonb_build_object('entriesAdded', n, 'entriesRetired', 0, 'delta', jsonb_build_array()), now(), clock_timestamp(), now()
			from generate_series(1, @many::int) as s (n)`, db.Args{"team": tx.Team, "many": many})

		return err
	}))
	if err != nil {
		x.T.Fatal(err)
	}
}
