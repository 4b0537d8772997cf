package proof

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Kind says what is wrong with the trail or its log.
type Kind string

// The kinds of findings. Inserted is a row that the log has gone past and does not have; it can also be one that was
// recorded while the clock of the database went back, and that the daily sweep has not sealed yet.
const (
	Changed           Kind = "changed"
	Removed           Kind = "removed"
	Inserted          Kind = "inserted"
	Reordered         Kind = "reordered"
	NotSealed         Kind = "not sealed"
	TreeDiffers       Kind = "tree differs"
	CheckpointDiffers Kind = "checkpoint differs"
)

// Finding is something that is not as the log has it. Team, Event and Revision are zero for what has none.
type Finding struct {
	Kind        Kind
	Team, Event id.ID
	Revision    int64
	Detail      string
}

// Report is what Verify found.
type Report struct {
	// Events and Gone count the leaves with an event, and those without one because their team was deleted.
	Events, Gone int64
	// Late counts events that the sweep has sealed after later ones; LateFirst names the first of them.
	Late      int64
	LateFirst *Finding
	// Checkpoints were compared in the database and in the file store.
	Checkpoints int
	// Verifier is the key that they were verified with.
	Verifier string
	// Findings are the first things that are wrong, in the order of the log; More counts the others.
	Findings []Finding
	More     int
}

// mostFindings bounds the findings of a report: one is enough to distrust the trail.
const mostFindings = 100

// verifyBatch is how many leaves are verified at a time: whole tiles.
const verifyBatch = 16 * tileHashes

// sealDelay is how old an event may get before it is in the log. It is longer than any work that keeps the horizon back.
const sealDelay = 10 * time.Minute

// verification is a Verify in progress.
type verification struct {
	Config

	report      Report
	head        *head
	tree        *tree
	checkpoints []checkpoint    // not compared yet, by size
	isNote      map[string]bool // whether the database has a checkpoint with this text
	isKept      bool            // some checkpoint is in the file store
	passed      []checkpoint    // not compared with the file store yet
	deleted     map[id.ID]bool
	latest      time.Time // of the events so far
}

// find adds a finding, about a leaf unless that is nil.
func (v *verification) find(kind Kind, l *leafRow, format string, args ...any) {
	f := Finding{Kind: kind, Detail: fmt.Sprintf(format, args...)}
	if l != nil {
		f.Team, f.Event, f.Revision = l.TeamID, l.EventID, l.Revision
	}

	if len(v.report.Findings) == mostFindings {
		v.report.More++
		return
	}

	v.report.Findings = append(v.report.Findings, f)
}

// leafRow is a stored leaf.
type leafRow struct {
	Seq             int64
	TeamID, EventID id.ID
	Revision        int64
	Salt, Hash      []byte
}

func (l *leafRow) key() key { return key{l.TeamID, l.EventID, l.Revision} }

// key names a revision.
type key struct {
	team, event id.ID
	revision    int64
}

// Verify recomputes every leaf from the events and the tree from the leaves, and compares both with what is stored and
// with the checkpoints of the database and the file store. Checkpoints must be signed by the verifier key; if that is
// empty, by the key of the log. The log may grow meanwhile. Memory does not grow with the log.
func (c Config) Verify(ctx context.Context, d *db.DB, verifier string) (*Report, error) {
	v := &verification{Config: c, isNote: map[string]bool{}, deleted: map[id.ID]bool{}}
	v.report.Verifier = verifier

	// The file store comes before the database: what it has now, the database has by then.
	inStore, err := c.readBlob(ctx, latestKey)
	if err != nil {
		return nil, err
	}

	if err := d.Read(ctx, db.AcrossTeams(), v.begin); err != nil {
		return nil, fmt.Errorf("verify the audit log: %w", err)
	}

	if v.head == nil {
		v.compareLatest(inStore)
		return &v.report, nil
	}

	for v.tree.size < v.head.Size {
		if err := d.Read(ctx, db.AcrossTeams(), v.verifyLeaves); err != nil {
			return nil, fmt.Errorf("verify the audit log: %w", err)
		}

		if err := v.compareKept(ctx); err != nil {
			return nil, err
		}
	}

	for _, p := range v.checkpoints {
		v.find(CheckpointDiffers, nil, "a checkpoint has %d leaves, the log has %d", p.TreeSize, v.head.Size)
	}

	v.compareLatest(inStore)

	// Last what the log does not have.
	horizon, err := readHorizon(ctx, d)
	if err != nil {
		return nil, err
	}

	err = d.Read(ctx, wholeScope(), func(ctx context.Context, tx *db.Tx) error {
		return v.findOutside(ctx, tx, horizon.Add(-sealDelay))
	})

	return &v.report, err
}

// begin loads the state of the log, its checkpoints and the teams that are deleted. Without a log there is no head.
func (v *verification) begin(ctx context.Context, tx *db.Tx) (err error) {
	if v.head, err = db.Maybe[head](ctx, tx, loadHead, nil); err != nil || v.head == nil {
		return err
	}

	if v.tree, err = newTree(0, newTiles(ctx, tx)); err != nil {
		return err
	}

	if v.report.Verifier == "" {
		if _, v.report.Verifier, err = v.keys(v.head); err != nil {
			return err
		}
	}

	// Those that are made from now on are left to the next verification.
	v.checkpoints, err = db.Select[checkpoint](ctx, tx, `select tree_size, root, note, kept_at from audit_checkpoint order by tree_size`, nil)
	if err != nil {
		return fmt.Errorf("read checkpoints: %w", err)
	}

	for _, p := range v.checkpoints {
		v.isNote[p.Note] = true
		v.isKept = v.isKept || p.KeptAt != nil
	}

	teams, err := db.Select[id.ID](ctx, tx, `select id from team where status = 'deleted' or freeze_reason = 'deletion'`, nil)
	for _, team := range teams {
		v.deleted[team] = true
	}

	return err
}

// verifyLeaves verifies the next leaves with the tiles above them.
func (v *verification) verifyLeaves(ctx context.Context, tx *db.Tx) error {
	from, to := v.tree.size, min(v.tree.size+verifyBatch, v.head.Size)

	rows, err := db.Select[leafRow](ctx, tx, `select seq, team_id, event_id, revision::bigint, salt, hash from audit_leaf
		where seq >= @from and seq < @to order by seq`, db.Args{"from": from, "to": to})
	if err != nil {
		return fmt.Errorf("read leaves: %w", err)
	}

	// By their keys, so that each is found by the index, whatever the size of the tables.
	teams, ids, revisions := make([]id.ID, len(rows)), make([]id.ID, len(rows)), make([]int64, len(rows))
	for i := range rows {
		teams[i], ids[i], revisions[i] = rows[i].TeamID, rows[i].EventID, rows[i].Revision
	}

	found, err := db.Select[event](ctx, tx, `select `+eventColumns+` from unnest(@teams::uuid[], @ids::uuid[], @revisions::int[]) k (team_id, id, revision)
		join audit_event e on e.team_id = k.team_id and e.id = k.id and e.revision = k.revision`,
		db.Args{"teams": teams, "ids": ids, "revisions": revisions})
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}

	events := hashLeaves(rows, found)

	stored := newTiles(ctx, tx)

	hashes, err := stored.leaves(from, to)
	if err != nil {
		return err
	}

	for next := range hashes {
		seq := from + int64(next)

		// A leaf that is not there is taken from its tile, to find out whether that is all.
		var row *leafRow
		if len(rows) > 0 && rows[0].Seq == seq {
			row, rows = &rows[0], rows[1:]
		} else {
			v.find(Removed, nil, "leaf %d of the log", seq)
		}

		leaf := hashes[next]

		if row != nil {
			v.verifyLeaf(row, events[row.key()])
			leaf = v.compareLeaf(row, leaf, hashes)
		}

		if err := v.tree.add(leaf); err != nil {
			return err
		}

		if err := v.compareCheckpoints(); err != nil {
			return err
		}
	}

	return v.compareTiles(stored)
}

// recomputed is an event with the leaf that it has by its row.
type recomputed struct {
	recordedAt time.Time
	hashed
}

// hashLeaves recomputes leaves from their events.
func hashLeaves(rows []leafRow, events []event) map[key]*recomputed {
	salts := make(map[key][]byte, len(rows))
	for i := range rows {
		salts[rows[i].key()] = rows[i].Salt
	}

	ordered := make([][]byte, len(events))
	for i := range events {
		ordered[i] = salts[key{events[i].TeamID, events[i].ID, events[i].Revision}]
	}

	out := make(map[key]*recomputed, len(events))
	for i, leaf := range hashAll(events, ordered) {
		out[key{events[i].TeamID, events[i].ID, events[i].Revision}] = &recomputed{events[i].RecordedAt, leaf}
	}

	return out
}

// leaves returns the hashes of leaves by the tiles, zero for those that tiles lack.
func (t *tiles) leaves(from, to int64) ([]tlog.Hash, error) {
	var places []place
	for n := from / tileHashes; n*tileHashes < to; n++ {
		places = append(places, place{0, n})
	}

	if err := t.load(places); err != nil {
		return nil, err
	}

	hashes := make([]tlog.Hash, to-from)

	for i := range hashes {
		seq := from + int64(i)

		tile, at := t.known[place{0, seq / tileHashes}], seq%tileHashes*tlog.HashSize
		if int64(len(tile)) >= at+tlog.HashSize {
			copy(hashes[i][:], tile[at:])
		}
	}

	return hashes, nil
}

// verifyLeaf compares a leaf with its event.
func (v *verification) verifyLeaf(row *leafRow, e *recomputed) {
	switch {
	case e == nil && row.Salt == nil && v.deleted[row.TeamID]:
		v.report.Gone++
		return
	case e == nil:
		v.find(Removed, row, "leaf %d has no event", row.Seq)
		return
	}

	v.report.Events++

	// Only the sweep puts an event after later ones.
	if e.recordedAt.Before(v.latest) {
		if v.report.Late++; v.report.LateFirst == nil {
			v.report.LateFirst = &Finding{Team: row.TeamID, Event: row.EventID, Revision: row.Revision}
		}
	} else {
		v.latest = e.recordedAt
	}

	if e.err == nil && bytes.Equal(e.hash[:], row.Hash) {
		return
	}

	v.find(Changed, row, "the event, or the salt or hash of leaf %d", row.Seq)
}

// compareLeaf compares the hash of a leaf with that of its tile, and returns the one to go on with.
func (v *verification) compareLeaf(row *leafRow, inTile tlog.Hash, near []tlog.Hash) tlog.Hash {
	var hash tlog.Hash
	if copy(hash[:], row.Hash); hash == inTile {
		return hash
	}

	if slices.Contains(near, hash) {
		v.find(Reordered, row, "leaf %d has another place in the tree", row.Seq)
		return inTile
	}

	v.find(TreeDiffers, row, "leaf %d is not in its tile", row.Seq)

	return hash
}

// compareCheckpoints compares the checkpoint of the present size, if there is one, with the tree.
func (v *verification) compareCheckpoints() error {
	if len(v.checkpoints) == 0 || v.checkpoints[0].TreeSize > v.tree.size {
		return nil
	}

	p := v.checkpoints[0]
	v.checkpoints = v.checkpoints[1:]
	v.report.Checkpoints++

	root, err := v.tree.root()
	if err != nil {
		return fmt.Errorf("hash the tree: %w", err)
	}

	signed, err := openCheckpoint(p.Note, v.report.Verifier)

	switch {
	case err != nil:
		v.find(CheckpointDiffers, nil, "that of %d leaves: %s", p.TreeSize, err)
	case signed.N != v.tree.size || p.TreeSize != v.tree.size || signed.Hash != root || !bytes.Equal(p.Root, root[:]):
		v.find(CheckpointDiffers, nil, "that of %d leaves has another root than the tree", p.TreeSize)
	}

	v.passed = append(v.passed, p)

	return nil
}

// compareKept compares the checkpoints that were passed with the file store. No transaction is open meanwhile.
func (v *verification) compareKept(ctx context.Context) error {
	for i, p := range v.passed {
		text, err := v.readBlob(ctx, checkpointKey(p.TreeSize))
		if err != nil {
			return err
		}

		// Only the newest one can still be on its way to the store.
		isNewest := i == len(v.passed)-1 && len(v.checkpoints) == 0
		if text != p.Note && (text != "" || p.KeptAt != nil || !isNewest) {
			v.find(CheckpointDiffers, nil, "that of %d leaves is another one in the file store, or is missing there", p.TreeSize)
		}
	}

	v.passed = nil

	return nil
}

// compareTiles compares the hashes above the leaves with the stored tiles, as far as they are complete, or all at the end.
func (v *verification) compareTiles(stored *tiles) error {
	var places []place

	for at, hashes := range v.tree.added {
		switch {
		case at.level == 0: // compared leaf by leaf
			delete(v.tree.added, at)
		case len(hashes) == tileHashes*tlog.HashSize || v.tree.size == v.head.Size:
			places = append(places, at)
		}
	}

	if err := stored.load(places); err != nil {
		return err
	}

	for _, at := range places {
		if hashes := v.tree.added[at]; !bytes.HasPrefix(stored.known[at], hashes) {
			v.find(TreeDiffers, nil, "tile %d of level %d", at.n, at.level)
		}

		delete(v.tree.added, at)
	}

	return nil
}

// compareLatest checks that the database has the latest checkpoint of the file store.
func (v *verification) compareLatest(inStore string) {
	switch {
	case inStore != "" && !v.isNote[inStore]:
		v.find(CheckpointDiffers, nil, "the database lacks the latest one of the file store, %q", inStore)
	case inStore == "" && v.isKept:
		v.find(CheckpointDiffers, nil, "the file store lacks the latest one")
	}
}

// findOutside finds events that are not in the log and should be, and rows of the log that are not in its tree.
func (v *verification) findOutside(ctx context.Context, tx *db.Tx, before time.Time) error {
	beyond, err := db.Select[leafRow](ctx, tx, `select seq, team_id, event_id, revision::bigint, salt, hash from audit_leaf
		where seq >= (select size from audit_log) order by seq limit @most`, db.Args{"most": mostFindings})
	if err != nil {
		return fmt.Errorf("read leaves: %w", err)
	}

	for i := range beyond {
		v.find(Inserted, &beyond[i], "leaf %d is beyond the end of the log", beyond[i].Seq)
	}

	// A level of tiles has a hash for each 256 of the level below.
	extra, err := db.Select[int64](ctx, tx, `select t.level::bigint from audit_tile t cross join audit_log g
		group by t.level, g.size having sum(length(t.hashes)) / 32 <> g.size >> (8 * t.level) order by 1`, nil)
	if err != nil {
		return fmt.Errorf("count hashes: %w", err)
	}

	for _, level := range extra {
		v.find(TreeDiffers, nil, "level %d has more or fewer hashes than the log has leaves for it", level)
	}

	// Events that the log has gone past, and those that it should have reached.
	for _, q := range []struct {
		kind   Kind
		detail string
		sql    string
		args   db.Args
	}{
		{Inserted, "is older than the end of the log and not in it", unsealedSQL, db.Args{}},
		{
			NotSealed, "is not in the log yet: does the service run?",
			` from audit_event e where e.recorded_at > (select sealed_through from audit_log) and e.recorded_at < @before`,
			db.Args{"before": before},
		},
	} {
		q.args["most"] = mostFindings

		rows, err := db.Select[leafRow](ctx, tx, `select 0::bigint as seq, e.team_id, e.id as event_id, e.revision::bigint, null::bytea as salt,
			null::bytea as hash`+q.sql+` order by e.recorded_at, e.team_id, e.id, e.revision limit @most`, q.args)
		if err != nil {
			return fmt.Errorf("find events outside the log: %w", err)
		}

		for i := range rows {
			v.find(q.kind, &rows[i], "%s", q.detail)
		}
	}

	return nil
}

// SealNow appends what is committed and makes a checkpoint of it, whenever the last one was made.
func (c Config) SealNow(ctx context.Context, d *db.DB) error {
	if err := c.seal(ctx, d); err != nil {
		return err
	}

	return c.makeCheckpoint(ctx, d, -time.Hour)
}
