package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// The first request of a reader asks for the smallest window; who reads on gets the double with each request, up to the
// largest. So the part of an object that somebody wants does not bring the whole of it along, and reading it all takes
// few requests.
const (
	smallestWindow = 256 << 10
	largestWindow  = 16 << 20
)

// s3Object reads an object window by window. Every request is for the version that was opened.
type s3Object struct {
	store  *S3Store
	ctx    context.Context //nolint:containedctx // a reader is called without one
	stop   context.CancelFunc
	info   minio.ObjectInfo
	at     int64
	window int64
	end    int64         // of the window that body gives
	body   io.ReadCloser // nil between two windows
	failed int           // requests in a row that broke off without a byte
}

func newS3Object(ctx context.Context, s *S3Store, info minio.ObjectInfo) *s3Object {
	ctx, stop := context.WithCancel(ctx)
	return &s3Object{store: s, ctx: ctx, stop: stop, info: info, window: smallestWindow}
}

// Size returns the number of bytes.
func (o *s3Object) Size() int64 { return o.info.Size }

// ModTime returns when the server stored the object.
func (o *s3Object) ModTime() time.Time { return o.info.LastModified }

// Read implements io.Reader. If a window breaks off, it asks again from where it broke.
func (o *s3Object) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}

	for o.at < o.info.Size {
		// Windows are fetched only when their bytes are wanted.
		if o.body == nil {
			if err := o.fetch(); err != nil {
				return 0, fmt.Errorf("blob: read: %w", err)
			}
		}

		// Every byte that arrives is progress, so the count of failures starts again.
		n, err := o.body.Read(p[:min(int64(len(p)), o.end-o.at)])

		o.at += int64(n)
		if n > 0 {
			o.failed = 0
		}

		if err != nil || o.at == o.end {
			o.drop()
		}

		if n > 0 {
			return n, nil
		}

		// Nothing came: try again, up to a bound.
		if err != nil {
			if o.failed++; o.failed == attempts || o.ctx.Err() != nil {
				return 0, fmt.Errorf("blob: read: %w", asUnexpectedEnd(err))
			}
		}
	}

	return 0, io.EOF
}

// asUnexpectedEnd turns the early end of a window into an error, so that it does not look like the end of the object.
func asUnexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}

	return err
}

// fetch asks for the next window. Windows grow, because whoever reads on usually reads to the end.
func (o *s3Object) fetch() error {
	end := min(o.at+o.window, o.info.Size)

	options := minio.GetObjectOptions{}
	if err := errors.Join(options.SetRange(o.at, end-1), options.SetMatchETag(o.info.ETag)); err != nil {
		return err
	}

	// The ETag keeps the windows together: an object that was replaced meanwhile is refused.
	body, _, header, err := o.store.core.GetObject(o.ctx, o.store.bucket, o.info.Key, options)
	if isAbsent(err) {
		return ErrNotFound
	}

	if err != nil {
		return err
	}

	// A server that ignores ranges would send other bytes.
	if got := header.Get("Content-Range"); !strings.HasPrefix(got, fmt.Sprintf("bytes %d-%d/", o.at, end-1)) {
		return errors.Join(fmt.Errorf("asked for bytes %d-%d, got %q", o.at, end-1, got), body.Close())
	}

	o.body, o.end, o.window = body, end, min(2*o.window, largestWindow)

	return nil
}

// drop ends the window. What the server still sends of it is not waited for.
func (o *s3Object) drop() {
	if o.body != nil {
		_ = o.body.Close()
		o.body = nil
	}
}

// Seek implements io.Seeker; it sends nothing.
func (o *s3Object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += o.at
	case io.SeekEnd:
		offset += o.info.Size
	default:
		return 0, fmt.Errorf("blob: seek: whence %d", whence)
	}

	if offset < 0 {
		return 0, errors.New("blob: seek: before the beginning")
	}

	// The open window is of no use at another place. Whether the caller reads on from there is unknown, so windows
	// begin small again.
	if offset != o.at {
		o.drop()
		o.at, o.window = offset, smallestWindow
	}

	return offset, nil
}

// Close implements io.Closer.
func (o *s3Object) Close() error {
	o.drop()
	o.stop()

	return nil
}
