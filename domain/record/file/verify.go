package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"

	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// checks returns the facts about stored files that an operator can have verified.
func checks(store blob.Store) []parts.Check {
	return []parts.Check{
		{
			Name: "file-store", Fact: "the file store is the one of this database",
			Do: func(ctx context.Context, v *parts.Verification) error { return verifyMarker(ctx, v, store) },
		},
		{
			Name: "files", Fact: "the store has each file that has not been purged, as it was written",
			Do: func(ctx context.Context, v *parts.Verification) error { return verifyFiles(ctx, v, store) },
		},
	}
}

// verifyMarker compares the marker of the store with that of the database.
func verifyMarker(ctx context.Context, v *parts.Verification, store blob.Store) error {
	var ours *id.ID

	err := v.DB.ReadOne(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) { // the marker is no team's
		ours, err = loadMarker(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}

	theirs, err := readMarker(ctx, store)
	if err != nil {
		return err
	}

	v.Checked++

	// A service that never started has marked nothing.
	switch {
	case ours == nil && theirs != "":
		v.Find(parts.Fault{Table: "file_store", ID: theirs, Detail: "the store has a marker and the database has none"})
	case ours != nil && theirs == "":
		v.Find(parts.Fault{Table: "file_store", ID: ours.String(), Detail: "the store has no object " + markerKey})
	case ours != nil && theirs != ours.String():
		v.Find(parts.Fault{Table: "file_store", ID: ours.String(), Detail: "the store has the marker " + theirs + " of another database"})
	}

	return nil
}

// verifyBatch is how many files are looked up at a time, and verifyAtOnce how many of them at the same time.
const (
	verifyBatch  = 500
	verifyAtOnce = 16
)

// kept is a file that must have content.
type kept struct {
	TeamID, ID id.ID
	ByteSize   int64
	SHA256     []byte
	BlobKey    string
}

// keptSQL selects the files that must have content. Those that are due to be purged can be gone already.
const keptSQL = `select team_id, id, byte_size, sha256, blob_key from file where purged_at is null and (purge_at is null or purge_at > @now)`

// verifyFiles looks for the content of all files, batch by batch.
func verifyFiles(ctx context.Context, v *parts.Verification, store blob.Store) error {
	var last kept

	for {
		batch, err := loadKept(ctx, v, ` and (team_id, id) > (@team, @id) order by team_id, id limit @limit`,
			db.Args{"team": last.TeamID.String(), "id": last.ID.String(), "limit": verifyBatch})
		if err != nil {
			return err
		}

		problems := compareAll(ctx, store, batch, v.Hashes)
		if err := ctx.Err(); err != nil {
			return err
		}

		v.Checked += int64(len(batch))

		if err := findProblems(ctx, v, batch, problems); err != nil || len(batch) < verifyBatch {
			return err
		}

		last = batch[len(batch)-1]
	}
}

// loadKept selects the files that must have content and meet a condition.
func loadKept(ctx context.Context, v *parts.Verification, condition string, args db.Args) (out []kept, err error) {
	err = v.DB.ReadOne(ctx, v.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		args["now"] = tx.Now
		out, err = db.Select[kept](ctx, tx, keptSQL+condition, args)

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}

	return out, nil
}

// compareAll returns what is wrong with each file of a batch, empty for a sound one.
func compareAll(ctx context.Context, store blob.Store, batch []kept, hashes bool) []string {
	var (
		problems = make([]string, len(batch))
		places   = make(chan struct{}, verifyAtOnce)
		group    sync.WaitGroup
	)

	for i := range batch {
		places <- struct{}{}

		group.Go(func() {
			defer func() { <-places }()

			problems[i] = batch[i].compare(ctx, store, hashes)
		})
	}

	group.Wait()

	return problems
}

// compare returns how the stored content differs from the row, or "".
func (k *kept) compare(ctx context.Context, store blob.Store, hashes bool) string {
	object, err := store.Open(ctx, k.BlobKey)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return "the store does not have " + k.BlobKey
	case err != nil:
		return "cannot be opened: " + err.Error()
	}

	defer func() { _ = object.Close() }()

	if object.Size() != k.ByteSize {
		return fmt.Sprintf("the store has %d bytes of %s, not %d", object.Size(), k.BlobKey, k.ByteSize)
	}

	if !hashes {
		return ""
	}

	sum := sha256.New()
	if _, err := io.Copy(sum, object); err != nil {
		return "cannot be read: " + err.Error()
	}

	if !bytes.Equal(sum.Sum(nil), k.SHA256) {
		return "the store has another content of " + k.BlobKey
	}

	return ""
}

// findProblems reports the problems of files that must still have content: the service can have deleted or purged some
// of them since they were loaded.
func findProblems(ctx context.Context, v *parts.Verification, batch []kept, problems []string) error {
	var ids []id.ID

	for i := range batch {
		if problems[i] != "" {
			ids = append(ids, batch[i].ID)
		}
	}

	if len(ids) == 0 {
		return nil
	}

	still, err := loadKept(ctx, v, ` and id = any(@ids) and not exists (select from team t where t.id = team_id and t.freeze_reason = 'deletion')`,
		db.Args{"ids": ids})
	if err != nil {
		return err
	}

	isStill := map[id.ID]bool{}
	for _, k := range still {
		isStill[k.ID] = true
	}

	for i := range batch {
		if k := &batch[i]; problems[i] != "" && isStill[k.ID] {
			v.Find(parts.Fault{TeamID: k.TeamID, Table: "file", ID: k.ID.String(), Detail: problems[i]})
		}
	}

	return nil
}
