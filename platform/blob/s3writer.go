package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	// PartSize is how much of an object is sent at a time. Servers take no parts under 5 MiB but the last, and no more
	// than maxParts.
	partSize = 8 << 20
	maxParts = 10_000
	// LastPart is how long an aborted writer lets its last part arrive; lookAgain is the pause before an upload that
	// came back is ended again.
	lastPart  = 5 * time.Second
	lookAgain = 200 * time.Millisecond
	// WriterMark is the metadata that identifies the writer of an object.
	writerMark = "Stayledger-Writer"
)

// s3Writer fills one part while those before it are sent. What fits into one part is sent at the commit, in one request;
// anything larger is a multipart upload, which the server does not show before it is completed.
type s3Writer struct {
	store  *S3Store
	ctx    context.Context //nolint:containedctx // a writer is called without one
	stop   context.CancelFunc
	name   string
	mark   string // random
	sum    hash.Hash
	size   int64
	part   []byte    // being filled
	upload *s3Upload // of the parts before; nil while there is none
	failed error     // the first failed Write
	closed bool
}

func newS3Writer(ctx context.Context, s *S3Store, name string) *s3Writer {
	ctx, stop := context.WithCancel(ctx)
	return &s3Writer{store: s, ctx: ctx, stop: stop, name: name, mark: rand.Text(), sum: sha256.New()}
}

// Write implements Writer. It does not wait for the server, unless mostSlots parts do.
func (w *s3Writer) Write(p []byte) (int, error) {
	if w.closed {
		return 0, fmt.Errorf("blob: write: %w", ErrClosed)
	}

	if w.failed != nil {
		return 0, w.failed
	}

	taken := 0
	for taken < len(p) {
		// A full part is sent only when more follows, so that the last part is never empty.
		if len(w.part) == partSize {
			if err := w.sendPart(); err != nil {
				w.failed = fmt.Errorf("blob: write: %w", err)
				return taken, w.failed
			}
		}

		// Fill the part up to its size; the rest goes into the next one.
		chunk := p[taken:min(len(p), taken+partSize-len(w.part))]
		w.part = append(w.room(len(chunk)), chunk...)
		w.sum.Write(chunk)
		w.size += int64(len(chunk))
		taken += len(chunk)
	}

	return taken, nil
}

// room returns the part being filled with space for n more bytes. It doubles up to the size of a part, since most
// objects are much smaller.
func (w *s3Writer) room(n int) []byte {
	need := len(w.part) + n
	if need <= cap(w.part) {
		return w.part
	}

	size := min(max(2*cap(w.part), need, 16<<10), partSize)
	if w.upload != nil {
		size = partSize
	}

	return append(make([]byte, 0, size), w.part...)
}

// Commit implements Writer.
func (w *s3Writer) Commit() (Info, error) {
	if w.closed {
		return Info{}, fmt.Errorf("blob: commit: %w", ErrClosed)
	}

	err := w.failed
	if err == nil {
		if err = w.finish(); err != nil {
			err = fmt.Errorf("blob: commit: %w", err)
		}
	}

	if err != nil {
		return Info{}, errors.Join(err, w.Abort())
	}

	w.closed = true
	w.stop()

	return Info{Size: w.size, SHA256: [32]byte(w.sum.Sum(nil))}, nil
}

// Abort implements Writer. It goes on if the caller's context has ended. A part that arrives after the end of its
// upload would bring the upload back, so it waits for the one under way.
func (w *s3Writer) Abort() error {
	if w.closed {
		return nil
	}

	w.closed = true

	defer w.stop()

	w.part = nil
	if w.upload == nil {
		return nil // nothing has reached the server
	}

	// The wait has a bound: after it the part is cut off.
	late := time.AfterFunc(lastPart, w.stop)
	wasCutOff := w.upload.abort()

	late.Stop()

	if w.upload.id == "" {
		return nil
	}

	if err := w.drop(wasCutOff); err != nil {
		return fmt.Errorf("blob: abort: %w", err)
	}

	return nil
}

// drop ends the upload. The server may not have noticed yet that a part was cut off, and is asked whether the upload
// has stayed away.
func (w *s3Writer) drop(cutOff bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), parting)
	defer cancel()

	for {
		err := w.store.core.AbortMultipartUpload(ctx, w.store.bucket, w.name, w.upload.id)
		if err != nil && !isAbsent(err) {
			return err
		}

		if !cutOff {
			return nil
		}

		// An upload that can be asked for its parts has come back, and is ended again.
		if _, err := w.store.core.ListObjectParts(ctx, w.store.bucket, w.name, w.upload.id, 0, 1); err != nil {
			return nil // absent, or not to be asked: the sweep comes by
		}

		time.Sleep(lookAgain)
	}
}

// finish makes the object visible. If the answer is lost, the next attempt fails because there is no such upload
// any more, so it asks whether the object has arrived.
func (w *s3Writer) finish() error {
	put := w.complete
	if w.upload == nil {
		put = w.sendWhole
	} else if err := errors.Join(w.sendPart(), w.upload.finish()); err != nil { // there is always a rest to send
		return err
	}

	err := put()
	if err != nil && w.ctx.Err() == nil && w.hasArrived() {
		return nil
	}

	return err
}

// hasArrived reports whether the object of this writer is in the store.
func (w *s3Writer) hasArrived() bool {
	info, err := w.store.stat(w.ctx, w.name)
	return err == nil && info.Size == w.size && info.UserMetadata[writerMark] == w.mark
}

// complete ends the multipart upload.
func (w *s3Writer) complete() error {
	_, err := w.store.core.CompleteMultipartUpload(w.ctx, w.store.bucket, w.name, w.upload.id, w.upload.sent,
		minio.PutObjectOptions{})

	return err
}

// sendWhole sends a small object in one request.
func (w *s3Writer) sendWhole() error {
	sum := sha256.Sum256(w.part)
	_, err := w.store.core.PutObject(w.ctx, w.store.bucket, w.name, bytes.NewReader(w.part), w.size, "",
		hex.EncodeToString(sum[:]), w.options())

	return err
}

func (w *s3Writer) options() minio.PutObjectOptions {
	return minio.PutObjectOptions{
		ContentType: "application/octet-stream", UserMetadata: map[string]string{writerMark: w.mark},
		DisableContentSha256: true, // computed here, not chunk by chunk along the way
	}
}

// sendPart has the part that was filled sent, and begins the next one.
func (w *s3Writer) sendPart() (err error) {
	if w.upload == nil {
		if w.upload, err = newS3Upload(w); err != nil {
			return err
		}
	}

	err = w.upload.add(w.part)
	w.part = w.part[:0]

	return err
}
