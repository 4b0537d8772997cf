// Package blob keeps finished artifacts and uploads: bytes under a key, written once as a whole and read many times.
//
// Invariants: nothing is visible under a key before its Commit has returned; what is visible is complete and on stable
// storage; a key never becomes a path unchanged, so no key can name anything outside the store.
//
// The page docs/decisions/blob.md says what the contract leaves open and how it is answered here.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"stayledger/platform/inside"
)

// maxKey bounds the length of a key in bytes: a file name of the common file systems holds 255.
const maxKey = 240

var (
	// ErrNotFound is wrapped by Open and Delete for a key without an object.
	ErrNotFound = errors.New("blob: not found")
	// ErrKey is wrapped by every method for a key outside `[a-z0-9-]+(/[a-z0-9-]+)*` or longer than 240 bytes.
	ErrKey = errors.New("blob: malformed key")
	// ErrClosed is wrapped by a Writer once it was committed or aborted.
	ErrClosed = errors.New("blob: writer is closed")
)

// Store keeps objects by key: LocalStore in a folder, S3Store in a bucket. Keys match `[a-z0-9-]+(/[a-z0-9-]+)*`, at
// most 240 bytes; anything else is ErrKey. All methods may be called concurrently.
type Store interface {
	// Create begins a new object. Committing over an existing key replaces it atomically: readers that are open read on
	// in what they opened or fail, and never see a mixture. Two writers of one key do not disturb each other; the last
	// to commit stays. The context covers the writer until its Commit.
	Create(ctx context.Context, key string) (Writer, error)
	// Open reads a committed object; ErrNotFound when there is none. The context covers the object until its Close.
	Open(ctx context.Context, key string) (Object, error)
	// Delete removes a committed object; ErrNotFound when there is none.
	Delete(ctx context.Context, key string) error
}

// Writer takes the bytes of one object. Exactly one of Commit and Abort decides; `defer w.Abort()` after Create is
// right, since Abort after Commit does nothing. A Writer is used by one goroutine.
type Writer interface {
	io.Writer
	// Commit makes the object durable and visible. It refuses, and drops everything, when a Write failed before. A
	// failed commit can have become visible only where the store was lost before it could say so.
	Commit() (Info, error)
	// Abort drops what was written.
	Abort() error
}

// Info describes a committed object.
type Info struct {
	Size   int64    // in bytes
	SHA256 [32]byte // of the whole content
}

// Object is a committed object open for reading, fit for http.ServeContent.
type Object interface {
	io.ReadSeekCloser
	// Size is in bytes.
	Size() int64
	// ModTime is the instant of the last write before the commit.
	ModTime() time.Time
}

// check fails if a store cannot be asked for a key: the context has ended, or is that of a transaction, in which nothing
// outside is called.
func check(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("blob: %w", err)
	}

	if err := inside.Check(ctx); err != nil {
		return fmt.Errorf("blob: %w", err)
	}

	return checkKey(key)
}

// checkKey returns ErrKey unless key has the form that every store accepts.
func checkKey(key string) error {
	if key == "" || len(key) > maxKey {
		return fmt.Errorf("%w: length %d", ErrKey, len(key))
	}

	previous := byte('/') // so that a leading slash is an empty segment

	// Only small letters, digits and hyphens: these are safe on every file system.
	for i := range len(key) {
		c := key[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-':
		case c == '/' && previous != '/':
		default:
			return fmt.Errorf("%w: byte %d", ErrKey, i)
		}

		previous = c
	}

	if previous == '/' {
		return fmt.Errorf("%w: empty last segment", ErrKey)
	}

	return nil
}
