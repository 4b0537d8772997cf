// Package file owns stored files: finished exports, payment files, and the attachments of transactions. The bytes are
// in the blob store under a key made of ids; the row has the team, the name and the time of the purge.
//
// No bytes are left behind: a draft row exists from before the first byte until the row of the file replaces it, so the
// sweep finds the bytes of a writer that died in between.
//
// The page docs/decisions/file.md says what the contract leaves open and how it is answered here.
package file

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/blob"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Kind says where a file comes from.
type Kind string

// The kinds of files.
const (
	Export     Kind = "export"
	Attachment Kind = "attachment"
	// Payment files are for a bank to read.
	Payment Kind = "payment"
	// Import files have rows to take in.
	Import Kind = "import"
	// Archive files have everything that a team owns.
	Archive Kind = "archive"
)

// Enum lists the kinds.
func (Kind) Enum() []string {
	return []string{string(Export), string(Attachment), string(Payment), string(Import), string(Archive)}
}

// KeepExports is how long the content of an export stays: OPEN-48.
const KeepExports = 30 * 24 * time.Hour

// Callers know the schema of files by a name that no platform has for a type of its own.
var _ = api.PublishAs[File]("StoredFile")

// File is a stored file as its team sees it. The row outlives its content.
type File struct {
	ID          id.ID        `json:"id"`
	Kind        Kind         `json:"kind"`
	Filename    string       `json:"filename"`
	ContentType string       `json:"contentType"`
	ByteSize    int64        `json:"byteSize"`
	CreatedAt   day.Instant  `json:"createdAt"`
	PurgeAt     *day.Instant `json:"purgeAt" doc:"When the content is purged; null for a file that stays."`
}

// Stored are bytes that are safe in the blob store and have no file yet. They are swept after a day unless Insert takes
// them.
type Stored struct {
	ID     id.ID
	Size   int64
	SHA256 [32]byte
}

// New describes a file to insert.
type New struct {
	Stored
	Kind        Kind
	Filename    string
	ContentType string
	// PurgeAt is when the content goes; the zero time keeps it.
	PurgeAt time.Time
}

var (
	errGone  = apierr.New(apierr.CodeGone, "", "The file was purged")
	errLink  = apierr.New(apierr.CodeGone, "", "The link has expired")
	errSwept = errors.New("the stored bytes were swept before their file was inserted")
)

// ErrStore marks what the store failed with, a full disk for example, as against what the writer of the bytes failed
// with.
var ErrStore = errors.New("the blob store failed")

// Keep streams what write produces into the store, under a new id. It fails with the error of write, or with that
// of the context as soon as it ends; then no bytes stay. Follow it with Insert in the transaction that settles the
// work.
func Keep(
	ctx context.Context,
	d *db.DB,
	scope db.Scope,
	store blob.Store,
	write func(io.Writer) error,
) (Stored, error) {
	s := Stored{ID: id.New(d.Now())}

	// The draft row comes before the first byte, so that the sweep finds the bytes of a writer that died.
	key := BlobKey(scope.Team, s.ID)
	if err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		return insertDraft(ctx, tx, s.ID, key)
	}); err != nil {
		return Stored{}, err
	}

	info, err := fill(ctx, store, key, write)
	if err != nil {
		Discard(context.WithoutCancel(ctx), d, scope, store, s.ID)
		return Stored{}, err
	}

	s.Size, s.SHA256 = info.Size, info.SHA256

	return s, nil
}

// BlobKey returns the key of the content of a team's file.
func BlobKey(team, file id.ID) string { return "files/" + team.String() + "/" + file.String() }

// fill creates a file with what write gives. A file is not kept if write fails; failures of the store itself
// are ErrStore.
func fill(ctx context.Context, store blob.Store, key string, write func(io.Writer) error) (blob.Info, error) {
	w, err := store.Create(ctx, key)
	if err != nil {
		return blob.Info{}, fmt.Errorf("keep a file: %w: %w", ErrStore, err)
	}
	defer func() { _ = w.Abort() }()

	if err := write(untilDone{ctx, w}); err != nil {
		return blob.Info{}, err
	}

	if err := ctx.Err(); err != nil {
		return blob.Info{}, err
	}

	info, err := w.Commit()
	if err != nil {
		return blob.Info{}, fmt.Errorf("keep a file: %w: %w", ErrStore, err)
	}

	return info, nil
}

// discardWithin bounds the cleaning up after a failure; what it does not manage is left to the sweep.
const discardWithin = 10 * time.Second

// Discard forgets bytes that no file took over, those of a commit that half failed too. A draft that became a file is
// left alone: its row is gone.
func Discard(ctx context.Context, d *db.DB, scope db.Scope, store blob.Store, file id.ID) {
	ctx, cancel := context.WithTimeout(ctx, discardWithin)
	defer cancel()

	this := func() (string, db.Args) {
		return `team_id = @team and id = @id`, db.Args{"team": scope.Team, "id": file}
	}

	_ = d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		condition, args := this()
		_, err := giveUp(ctx, tx, condition, args)

		return err
	})

	_ = deleteDoomed(ctx, d, scope, store, this)
}

// untilDone fails writes once the context has ended. This stops a renderer that never looks at its context.
type untilDone struct {
	ctx context.Context //nolint:containedctx // a writer is called without one
	w   io.Writer
}

// Write writes unless the context is done. Failures of the store are ErrStore.
func (u untilDone) Write(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}

	n, err := u.w.Write(p)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrStore, err)
	}

	return n, err
}

// open returns the content of a file. It fails with 410 once the purge time has passed, even if the purge has not
// run yet (OPEN-48).
func (r *row) open(ctx context.Context, store blob.Store, now time.Time) (blob.Object, error) {
	if r.PurgedAt != nil || r.PurgeAt != nil && !now.Before(r.PurgeAt.Time) {
		return nil, errGone
	}

	object, err := store.Open(ctx, r.BlobKey)
	if err != nil {
		return nil, fmt.Errorf("open file %v: %w", r.ID, err)
	}

	return object, nil
}

func (r *row) etag() string { return hex.EncodeToString(r.SHA256) }

// Open opens the content of a file for a job. It fails with 410 once the content was purged.
func Open(ctx context.Context, d *db.DB, scope db.Scope, store blob.Store, file id.ID) (blob.Object, error) {
	var r *row

	err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		r, err = find(ctx, tx, file)
		return err
	})
	if err != nil {
		return nil, err
	}

	return r.open(ctx, store, d.Now())
}
