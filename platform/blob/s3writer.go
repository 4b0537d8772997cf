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

// s3Writer fills one part while the one before it is under way. What fits into one part is sent at the commit, in one
// request; anything larger is a multipart upload, which the server does not show before it is completed.
type s3Writer struct {
	store  *S3Store
	ctx    context.Context //nolint:containedctx // a writer is called without one
	stop   context.CancelFunc
	name   string
	mark   string // random
	sum    hash.Hash
	size   int64
	part   []byte // being filled
	spare  []byte // sent and free again
	upload string // id of the multipart upload; empty while there is none
	sent   []minio.CompletePart
	inHand chan sending // holds what became of the part under way; nil when none is
	failed error        // the first failed Write
	closed bool
}

type sending struct {
	part   minio.CompletePart
	buffer []byte
	err    error
}

func newS3Writer(ctx context.Context, s *S3Store, name string) *s3Writer {
	ctx, stop := context.WithCancel(ctx)
	return &s3Writer{store: s, ctx: ctx, stop: stop, name: name, mark: rand.Text(), sum: sha256.New()}
}

// Write implements Writer. It waits only if a part is full before the previous one has arrived.
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
			if err := w.send(); err != nil {
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
	if w.upload != "" {
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

	// The wait has a bound: after it the part is cut off.
	late := time.AfterFunc(lastPart, w.stop)
	err := w.wait()

	late.Stop()
	w.stop()

	// Without an upload nothing has reached the server.
	w.part, w.spare = nil, nil
	if w.upload == "" {
		return nil
	}

	if err := w.drop(err != nil); err != nil {
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
		err := w.store.core.AbortMultipartUpload(ctx, w.store.bucket, w.name, w.upload)
		if err != nil && !isAbsent(err) {
			return err
		}

		if !cutOff {
			return nil
		}

		// An upload that can be asked for its parts has come back, and is ended again.
		if _, err := w.store.core.ListObjectParts(ctx, w.store.bucket, w.name, w.upload, 0, 1); err != nil {
			return nil // absent, or not to be asked: the sweep comes by
		}

		time.Sleep(lookAgain)
	}
}

// finish makes the object visible. If the answer is lost, the next attempt fails because there is no such upload
// any more, so it asks whether the object has arrived.
func (w *s3Writer) finish() error {
	put := w.complete
	if w.upload == "" {
		put = w.sendWhole
	} else if err := errors.Join(w.send(), w.wait()); err != nil { // there is always a rest to send
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
	_, err := w.store.core.CompleteMultipartUpload(w.ctx, w.store.bucket, w.name, w.upload, w.sent,
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

// send passes the full part to a goroutine, once the previous part has arrived.
func (w *s3Writer) send() error {
	if err := w.wait(); err != nil {
		return err
	}

	// The first full part turns the object into a multipart upload.
	if w.upload == "" {
		id, err := w.store.core.NewMultipartUpload(w.ctx, w.store.bucket, w.name, w.options())
		if err != nil {
			return err
		}

		w.upload = id
	}

	number := len(w.sent) + 1
	if number > maxParts {
		return fmt.Errorf("an object takes at most %d bytes", int64(maxParts)*partSize)
	}

	// Two parts are in memory at most: the one on the way and the one being filled.
	full, inHand := w.part, make(chan sending, 1)
	w.part, w.spare, w.inHand = w.spare[:0], nil, inHand

	go func() {
		sum := sha256.Sum256(full)

		part, err := w.store.core.PutObjectPart(w.ctx, w.store.bucket, w.name, w.upload, number, bytes.NewReader(full),
			int64(len(full)),
			minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(sum[:]), DisableContentSha256: true})
		inHand <- sending{minio.CompletePart{PartNumber: number, ETag: part.ETag}, full, err}
	}()

	return nil
}

// wait takes what became of the part under way.
func (w *s3Writer) wait() error {
	if w.inHand == nil {
		return nil
	}

	done := <-w.inHand

	// Its buffer can take the next part.
	w.inHand, w.spare = nil, done.buffer
	if done.err != nil {
		return done.err
	}

	w.sent = append(w.sent, done.part)

	return nil
}
