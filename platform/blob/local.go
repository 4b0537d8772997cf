package blob

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

const (
	// Pending holds objects being written. Its name is no two hex digits, so it cannot be a fan-out folder.
	pending  = "pending"
	fileMode = 0o600
	dirMode  = 0o700
)

// LocalStore is a Store in one folder of a local file system.
type LocalStore struct {
	root *os.Root
}

var _ Store = (*LocalStore)(nil)

// Local opens the store in dir, creating the folder when it is missing. The folder is held open as an os.Root: no key
// and no symbolic link leads out of it.
func Local(dir string) (*LocalStore, error) {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, fmt.Errorf("blob: create folder: %w", err)
	}

	// Unfinished files have a folder in the same file system, because a rename cannot leave it.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("blob: open folder: %w", err)
	}

	if err := root.MkdirAll(pending, dirMode); err != nil {
		return nil, errors.Join(fmt.Errorf("blob: create folder: %w", err), root.Close())
	}

	return &LocalStore{root: root}, nil
}

// Close releases the folder. Objects that are open stay readable.
func (s *LocalStore) Close() error {
	return s.root.Close()
}

// Create implements Store.
func (s *LocalStore) Create(ctx context.Context, key string) (Writer, error) {
	folder, name, err := locate(ctx, key)
	if err != nil {
		return nil, err
	}

	temporary := path.Join(pending, rand.Text())

	file, err := s.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return nil, fmt.Errorf("blob: create: %w", err)
	}

	return &localWriter{
		root: s.root, file: file, out: file, sum: sha256.New(), temporary: temporary, folder: folder,
		name: name,
	}, nil
}

// Open implements Store.
func (s *LocalStore) Open(ctx context.Context, key string) (Object, error) {
	folder, name, err := locate(ctx, key)
	if err != nil {
		return nil, err
	}

	file, err := s.root.Open(path.Join(folder, name))
	if err != nil {
		return nil, missing("open", err)
	}

	// The size and time of the file belong to this open file, even if another takes its name.
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("blob: open: %w", err), file.Close())
	}

	return &localObject{File: file, info: info}, nil
}

// Delete implements Store.
func (s *LocalStore) Delete(ctx context.Context, key string) error {
	folder, name, err := locate(ctx, key)
	if err != nil {
		return err
	}

	if err := s.root.Remove(path.Join(folder, name)); err != nil {
		return missing("delete", err)
	}

	return nil
}

// Sweep removes files of writers that neither committed nor aborted (a killed process, lost power) and last wrote
// before olderThan. It returns how many it removed. Choose a time for which no living writer can be silent.
func (s *LocalStore) Sweep(ctx context.Context, olderThan time.Time) (int, error) {
	entries, err := fs.ReadDir(s.root.FS(), pending)
	if err != nil {
		return 0, fmt.Errorf("blob: sweep: %w", err)
	}

	removed := 0

	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return removed, fmt.Errorf("blob: sweep: %w", err)
		}

		// Writers go on meanwhile; a file that is gone was committed or aborted.
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // committed or aborted meanwhile
		}

		if err != nil {
			return removed, fmt.Errorf("blob: sweep: %w", err)
		}

		// Younger files may belong to a writer that is still at work.
		if !info.Mode().IsRegular() || !info.ModTime().Before(olderThan) {
			continue
		}

		switch err := s.root.Remove(path.Join(pending, entry.Name())); {
		case err == nil:
			removed++
		case !errors.Is(err, fs.ErrNotExist):
			return removed, fmt.Errorf("blob: sweep: %w", err)
		}
	}

	return removed, nil
}

// locate maps a key to a folder and a file name. Two levels of 256 folders, taken from the key's hash, keep folders
// small. The name is the key with its slashes as dots: still legible to an operator, and unlike folders per segment
// it lets both `a` and `a/b` be objects. Keys hold no dots, so two keys never share a name.
func locate(ctx context.Context, key string) (folder, name string, err error) {
	if err := check(ctx, key); err != nil {
		return "", "", err
	}

	sum := sha256.Sum256([]byte(key))

	return path.Join(hex.EncodeToString(sum[:1]), hex.EncodeToString(sum[1:2])), strings.ReplaceAll(key, "/", "."), nil
}

func missing(verb string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}

	return fmt.Errorf("blob: %s: %w", verb, err)
}

type localObject struct {
	*os.File

	info fs.FileInfo
}

// Size returns the number of bytes.
func (o *localObject) Size() int64 { return o.info.Size() }

// ModTime returns when the object was committed.
func (o *localObject) ModTime() time.Time { return o.info.ModTime() }

type localWriter struct {
	root      *os.Root
	file      *os.File
	out       io.Writer // file, except where a test lets the disk fill up
	sum       hash.Hash
	size      int64
	temporary string
	folder    string
	name      string
	failed    error // the first failed Write
	closed    bool
}

// Write writes to the temporary file. After a failure every later call fails with it.
func (w *localWriter) Write(p []byte) (int, error) {
	if w.closed {
		return 0, fmt.Errorf("blob: write: %w", ErrClosed)
	}

	if w.failed != nil {
		return 0, w.failed
	}

	// The sum and the size count what was written, also after an error.
	n, err := w.out.Write(p)
	w.sum.Write(p[:n])

	w.size += int64(n)
	if err != nil {
		w.failed = fmt.Errorf("blob: write: %w", err)
	}

	return n, w.failed
}

// Commit implements Writer. The order matters after a power cut: content first, then the name, then the folders that
// hold the name.
func (w *localWriter) Commit() (Info, error) {
	if w.closed {
		return Info{}, fmt.Errorf("blob: commit: %w", ErrClosed)
	}

	// An object that was not written as a whole must not get a name.
	if w.failed != nil {
		return Info{}, errors.Join(w.failed, w.Abort())
	}

	if err := w.file.Sync(); err != nil {
		return Info{}, errors.Join(fmt.Errorf("blob: commit: %w", err), w.Abort())
	}

	// From here on Abort has nothing to do any more.
	w.closed = true
	if err := w.publish(); err != nil {
		return Info{}, errors.Join(fmt.Errorf("blob: commit: %w", err), w.drop())
	}

	return Info{Size: w.size, SHA256: [32]byte(w.sum.Sum(nil))}, nil
}

// Abort implements Writer.
func (w *localWriter) Abort() error {
	if w.closed {
		return nil
	}

	w.closed = true
	if err := errors.Join(w.file.Close(), w.drop()); err != nil {
		return fmt.Errorf("blob: abort: %w", err)
	}

	return nil
}

// publish gives the finished file its name and syncs the folders.
func (w *localWriter) publish() error {
	if err := w.file.Close(); err != nil {
		return err
	}

	if err := w.root.MkdirAll(w.folder, dirMode); err != nil {
		return err
	}

	if err := w.root.Rename(w.temporary, path.Join(w.folder, w.name)); err != nil {
		return err
	}

	// A new name is durable only when its folder is synced, and a new folder when its parent is.
	for _, folder := range []string{w.folder, path.Dir(w.folder), "."} {
		if err := w.syncFolder(folder); err != nil {
			return err
		}
	}

	return nil
}

func (w *localWriter) syncFolder(name string) error {
	folder, err := w.root.Open(name)
	if err != nil {
		return err
	}

	return errors.Join(folder.Sync(), folder.Close())
}

// drop removes the pending file; after a rename that succeeded there is none.
func (w *localWriter) drop() error {
	if err := w.root.Remove(w.temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	return nil
}
