package proof_test

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	"stayledger/domain/record/proof"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// victim is the event that changes are made to: one in the middle of the log.
type victim struct {
	Seq, Size  int64
	TeamID, ID id.ID
}

// Whoever owns the database can change anything in it, and is found out.
func TestEveryChangeIsFoundAndNamed(t *testing.T) {
	t.Parallel()

	const one = ` where team_id = @team and id = @id`

	for what, c := range map[string]struct {
		sql  string
		want proof.Kind
	}{
		"an old value":           {`update audit_event set changes = jsonb_set(changes, '{0,old}', '"b@example.com"')` + one, proof.Changed},
		"a new value":            {`update audit_event set changes = jsonb_set(changes, '{0,new}', '7000')` + one, proof.Changed},
		"the key of a change":    {`update audit_event set changes = jsonb_set(changes, '{0,key}', '"phone"')` + one, proof.Changed},
		"a change removed":       {`update audit_event set changes = changes - 0` + one, proof.Changed},
		"a member of a change":   {`update audit_event set changes = jsonb_set(changes, '{0,note}', '1')` + one, proof.Changed},
		"an empty value":         {`update audit_event set changes = jsonb_set(changes, '{1,old}', 'null')` + one, proof.Changed},
		"the type":               {`update audit_event set type = 'created'` + one, proof.Changed},
		"the type of the record": {`update audit_event set entity_type = 'listing'` + one, proof.Changed},
		"the record":             {`update audit_event set entity_id = gen_random_uuid()` + one, proof.Changed},
		"the name":               {`update audit_event set entity_name = 'Eve'` + one, proof.Changed},
		"no name":                {`update audit_event set entity_name = null` + one, proof.Changed},
		"the order of refs":      {`update audit_event set refs = jsonb_build_array(refs -> 1, refs -> 0)` + one, proof.Changed},
		"the kind of actor":      {`update audit_event set actor_type = 'apiKey'` + one, proof.Changed},
		"the actor":              {`update audit_event set actor_id = gen_random_uuid()` + one, proof.Changed},
		"the action":             {`update audit_event set action_id = gen_random_uuid()` + one, proof.Changed},
		"the journal":            {`update audit_event set journal = jsonb_set(journal, '{entriesAdded}', '0')` + one, proof.Changed},
		"the source":             {`update audit_event set source_type = 'user'` + one, proof.Changed},
		"the connection":         {`update audit_event set connection_id = gen_random_uuid()` + one, proof.Changed},
		"the operation":          {`update audit_event set operation_id = null` + one, proof.Changed},
		"the sync":               {`update audit_event set sync_id = gen_random_uuid()` + one, proof.Changed},
		"the override":           {`update audit_event set is_override = true` + one, proof.Changed},
		"when it happened":       {`update audit_event set occurred_at = occurred_at - interval '1 ms'` + one, proof.Changed},
		"when it was recorded":   {`update audit_event set recorded_at = recorded_at - interval '1 us'` + one, proof.Changed},
		"when it was settled":    {`update audit_event set settled_at = null` + one, proof.Changed},
		"the salt":               {`update audit_leaf set salt = sha256(salt) where seq = @seq`, proof.Changed},
		"the hash of the leaf":   {`update audit_leaf set hash = sha256(hash) where seq = @seq`, proof.Changed},
		"an event removed":       {`delete from audit_event` + one, proof.Removed},
		"an event and its salt":  {`delete from audit_event` + one + `; update audit_leaf set salt = null where seq = @seq`, proof.Removed},
		"the revision":           {`update audit_event set revision = 2` + one, proof.Removed},
		"another team":           {`update audit_event set team_id = @other` + one, proof.Removed},
		"an event and its leaf":  {`delete from audit_event` + one + `; delete from audit_leaf where seq = @seq`, proof.Removed},
		"a leaf removed":         {`delete from audit_leaf where seq = @seq`, proof.Removed},
		"leaves that swap places": {`update audit_leaf set seq = seq + 1000000 where seq in (@seq::bigint, @seq::bigint + 1);
			update audit_leaf set seq = 2 * @seq::bigint + 1000001 - seq where seq >= 1000000`, proof.Reordered},
		"an event in the past": {`insert into audit_event (team_id, id, revision, action_id, actor_type, type, entity_type, entity_id, refs, source_type, changes, occurred_at, recorded_at)
			select team_id, gen_random_uuid(), 1, action_id, 'user', 'created', 'contact', entity_id, '[]', 'user', '[]', occurred_at, recorded_at from audit_event` + one, proof.Inserted},
		"a revision in the past": {`insert into audit_event (team_id, id, revision, action_id, actor_type, type, entity_type, entity_id, refs, source_type, changes, occurred_at, recorded_at)
			select team_id, id, 2, action_id, 'user', 'created', 'contact', entity_id, '[]', 'user', '[]', occurred_at, recorded_at from audit_event` + one, proof.Inserted},
		"a leaf at the end":     {`insert into audit_leaf select @size, team_id, gen_random_uuid(), 1, salt, hash from audit_leaf where seq = @seq`, proof.Inserted},
		"a tile":                {`update audit_tile set hashes = overlay(hashes placing sha256('x') from 33 for 32) where level = 0 and n = 1`, proof.TreeDiffers},
		"an upper tile":         {`update audit_tile set hashes = overlay(hashes placing sha256('x') from 1 for 32) where level = 1`, proof.TreeDiffers},
		"more in a tile":        {`update audit_tile set hashes = hashes || sha256('x') where level = 1`, proof.TreeDiffers},
		"a tile removed":        {`delete from audit_tile where level = 1`, proof.TreeDiffers},
		"the root":              {`update audit_checkpoint set root = sha256(root)`, proof.CheckpointDiffers},
		"the checkpoint":        {`update audit_checkpoint set note = replace(note, E'\n— ', E'\n\n— ')`, proof.CheckpointDiffers},
		"a checkpoint removed":  {`delete from audit_checkpoint`, proof.CheckpointDiffers},
		"the end of everything": {`delete from audit_leaf where seq = @size - 1; update audit_log set size = size - 1`, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			x := newLog(t)
			other := apitest.New(t, apitest.Config{DB: x.DB})
			x.fill(700)
			x.sealNow()

			if r := x.verify(); len(r.Findings) != 0 || r.Events < 700 || r.Checkpoints != 1 {
				t.Fatalf("untouched: %+v", r)
			}

			v := x.victim()
			x.tamper(c.sql, db.Args{"seq": v.Seq, "team": v.TeamID, "id": v.ID, "size": v.Size, "other": other.ID})

			r := x.verify()
			if len(r.Findings) == 0 {
				t.Fatal("not found")
			}

			t.Log(r.Findings[0])

			f := r.Findings[0]
			if c.want != "" && f.Kind != c.want {
				t.Errorf("found %+v, want %s", r.Findings, c.want)
			}

			// The second of two that swapped is the first that is out of place.
			if f.Kind == proof.Changed && (f.Team != v.TeamID || f.Event != v.ID || f.Revision != 1) {
				t.Errorf("named %+v, want event %s of team %s", f, v.ID, v.TeamID)
			}
		})
	}
}

// victim returns an event in the middle.
func (x *log) victim() (v victim) {
	x.System(func(ctx context.Context, tx *db.Tx) (err error) {
		v, err = db.Get[victim](ctx, tx, `select l.seq, e.team_id, e.id, (select size from audit_log) as size
			from audit_leaf l join audit_event e on e.team_id = l.team_id and e.id = l.event_id and e.entity_name = 'Ada 300'`, nil)

		return err
	})

	return v
}

// The file store is out of reach of the database, and the other way round.
func TestTheFileStoreIsComparedToo(t *testing.T) {
	t.Parallel()
	x := newLog(t)
	x.fill(3)
	x.sealNow()

	size := x.size()
	key := "audit-checkpoint/latest"

	o, err := x.Store.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}

	text, err := io.ReadAll(o)
	if err != nil {
		t.Fatal(err)
	}

	// All that the database has goes, consistently: only the store knows of it.
	x.tamper(`delete from audit_checkpoint; delete from audit_leaf; delete from audit_tile; delete from audit_log; delete from audit_event`, nil)

	if r := x.verify(); len(r.Findings) != 1 || r.Findings[0].Kind != proof.CheckpointDiffers {
		t.Errorf("%d leaves and %q are gone: %+v", size, text, r)
	}
}

// size returns how many leaves the log has.
func (x *log) size() (n int64) {
	x.System(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select size from audit_log`, nil)
		return err
	})

	return n
}

// An erased value leaves its commitment, with which the leaf and proofs stay as they were.
func TestErasedValuesKeepTheLog(t *testing.T) {
	t.Parallel()
	x := newLog(t)
	x.fill(700)
	x.sealNow()

	v := x.victim()

	var salt []byte

	x.System(func(ctx context.Context, tx *db.Tx) (err error) {
		salt, err = db.Get[[]byte](ctx, tx, `select salt from audit_leaf where seq = @seq`, db.Args{"seq": v.Seq})
		return err
	})

	commit := func(value, label string) string {
		c, err := proof.Commitment(json.RawMessage(value), salt, label)
		if err != nil {
			t.Fatal(err)
		}

		return c
	}

	x.tamper(`update audit_event set changes = jsonb_set(changes, '{0,old}', jsonb_build_object('erased', @old::text)), entity_name = 'erased:' || @name::text
		where team_id = @team and id = @id`, db.Args{
		"team": v.TeamID, "id": v.ID, "old": commit(`"a300@example.com"`, "old email"), "name": commit(`"Ada 300"`, "name"),
	})

	if r := x.verify(); len(r.Findings) != 0 {
		t.Errorf("%+v", r.Findings)
	}

	body := x.Get("/audit/events/" + v.ID.String() + "/proof").Want(200).Body
	if p, err := proof.Check(body, ""); err != nil || p.Event.EntityName.Value != nil || p.Event.Changes[0].Old.Value != nil || p.Event.Changes[0].New.Value == nil {
		t.Errorf("%s: %v", body, err)
	}
}

// A deleted team takes its events and salts along; the tree is verified all the same.
func TestADeletedTeamKeepsTheTree(t *testing.T) {
	t.Parallel()
	x := newLog(t)
	x.fill(700)
	x.sealNow()

	x.Exec(`update team set freeze_reason = 'deletion' where team_id = @team`, nil)

	if err := x.DB.Write(t.Context(), x.Scope(), apitest.SetUp(func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `select set_config('stayledger.erasing', @team::text, true)`, db.Args{"team": x.ID.String()}); err != nil {
			return err
		}

		_, err := tx.Exec(ctx, `delete from audit_event where team_id = @team`, db.Args{"team": tx.Team})

		return err
	})); err != nil {
		t.Fatal(err)
	}

	x.System(func(ctx context.Context, tx *db.Tx) error {
		left, err := db.Get[int64](ctx, tx, `select count(*) from audit_leaf where salt is not null and team_id = @team`, db.Args{"team": x.ID})
		if left != 0 {
			t.Errorf("%d salts are left", left)
		}

		return err
	})

	if r := x.verify(); len(r.Findings) != 0 || r.Gone < 700 {
		t.Errorf("%+v", r)
	}
}

// The application itself can only add.
func TestTheLogIsAppendOnly(t *testing.T) {
	t.Parallel()
	x := newLog(t)
	x.sealNow()

	for _, sql := range []string{
		`update audit_leaf set hash = sha256(hash)`, `update audit_leaf set salt = null`, `delete from audit_leaf`, `truncate audit_leaf`,
		`update audit_tile set hashes = sha256(hashes)`, `delete from audit_tile`, `truncate audit_tile`,
		`update audit_checkpoint set note = 'x'`, `update audit_checkpoint set kept_at = null`, `delete from audit_checkpoint`, `truncate audit_checkpoint`,
	} {
		err := x.DB.Write(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, sql, nil)
			return err
		})
		if db.SQLState(err) != "SL012" {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// An event that slipped past is named until the sweep has sealed it.
func TestTheSweepSealsWhatSlippedPast(t *testing.T) {
	t.Parallel()
	x := newLog(t)
	x.fill(10)
	x.sealNow()
	x.tamper(`insert into audit_event (team_id, id, revision, action_id, actor_type, type, entity_type, entity_id, refs, source_type, changes, occurred_at, recorded_at)
		select team_id, gen_random_uuid(), 1, action_id, 'user', 'created', 'contact', entity_id, '[]', 'user', '[]', occurred_at, recorded_at - interval '1 hour'
		from audit_event limit 1`, nil)

	if r := x.verify(); len(r.Findings) != 1 || r.Findings[0].Kind != proof.Inserted {
		t.Fatalf("%+v", r)
	}

	if err := x.Sweep(t.Context(), x.DB); err != nil {
		t.Fatal(err)
	}

	if r := x.verify(); len(r.Findings) != 0 || r.Late != 1 {
		t.Errorf("%+v", r)
	}
}
