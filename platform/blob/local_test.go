package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stayledger/platform/blob"
)

func Example() {
	dir, _ := os.MkdirTemp("", "blob")
	defer os.RemoveAll(dir)
	store, _ := blob.Local(dir)
	defer store.Close()

	w, _ := store.Create(context.Background(), "exports/2026-05")
	defer w.Abort()
	fmt.Fprint(w, "date,amount\r\n")
	info, _ := w.Commit()

	object, _ := store.Open(context.Background(), "exports/2026-05")
	defer object.Close()
	content, _ := io.ReadAll(object)
	fmt.Printf("%d bytes: %q\n", info.Size, content)
	// Output: 13 bytes: "date,amount\r\n"
}

func newStore(t *testing.T) (*blob.LocalStore, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	store, err := blob.Local(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store, dir
}

func put(t *testing.T, store blob.Store, key string, content []byte) blob.Info {
	t.Helper()
	w, err := store.Create(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	info, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func get(t *testing.T, store blob.Store, key string) []byte {
	t.Helper()
	object, err := store.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("Open(%q): %v", key, err)
	}
	defer object.Close()
	content, err := io.ReadAll(object)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// files lists every regular file of the store, relative to its folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestKeptBytesAreEqual(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	large := bytes.Repeat([]byte("\x00\xff\r\nledger"), 200_000)
	for key, content := range map[string][]byte{"empty": {}, "a": []byte("file beside folder"), "a/b": []byte("x"), "team-1/large": large} {
		info := put(t, store, key, content)
		if info.Size != int64(len(content)) || info.SHA256 != sha256.Sum256(content) {
			t.Errorf("%s: info %d bytes, sum %x", key, info.Size, info.SHA256)
		}
	}
	for key, content := range map[string][]byte{"empty": {}, "a": []byte("file beside folder"), "a/b": []byte("x"), "team-1/large": large} {
		if got := get(t, store, key); !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes kept, want %d", key, len(got), len(content))
		}
	}
}

func TestObjectSeeksAndDescribesItself(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	put(t, store, "range", []byte("0123456789"))
	object, err := store.Open(t.Context(), "range")
	if err != nil {
		t.Fatal(err)
	}
	defer object.Close()
	if _, err := object.Seek(-3, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	tail, err := io.ReadAll(object)
	if err != nil || string(tail) != "789" {
		t.Errorf("tail %q, %v", tail, err)
	}
	if object.Size() != 10 {
		t.Errorf("size %d", object.Size())
	}
	if age := time.Since(object.ModTime()); age < -time.Minute || age > time.Minute {
		t.Errorf("written %v ago", age)
	}
}

func TestHostileKeysAreRefused(t *testing.T) {
	t.Parallel()
	store, dir := newStore(t)
	if err := os.WriteFile(filepath.Join(dir, "..", "outside"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"", "/", "//", "a//b", "/a", "a/", ".", "..", "../outside", "a/../../outside", "./a", "A", "a_b", "a.b", "a b", "a\\b",
		"a\x00b", "a\nb", "é", "%2e%2e", "~", "*", "pending\x00", "C:", "a:b", strings.Repeat("a", 241),
	} {
		if _, err := store.Create(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Create(%q): %v", key, err)
		}
		if _, err := store.Open(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Open(%q): %v", key, err)
		}
		if err := store.Delete(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Delete(%q): %v", key, err)
		}
	}
	if found := files(t, dir); len(found) != 0 {
		t.Errorf("files %v", found)
	}
	longest := strings.Repeat("a", 240)
	put(t, store, longest, []byte("x"))
	if got := get(t, store, longest); string(got) != "x" {
		t.Errorf("longest key keeps %q", got)
	}
}

func TestSymbolicLinkDoesNotLeadOut(t *testing.T) {
	t.Parallel()
	store, dir := newStore(t)
	put(t, store, "inside", []byte("x"))
	name := filepath.Join(dir, files(t, dir)[0])
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, name); err != nil {
		t.Fatal(err)
	}
	if object, err := store.Open(t.Context(), "inside"); err == nil {
		object.Close()
		t.Error("followed a link out of the store")
	}
}

func TestNothingIsVisibleBeforeCommit(t *testing.T) {
	t.Parallel()
	store, dir := newStore(t)
	w, err := store.Create(t.Context(), "late")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, "half")
	if _, err := store.Open(t.Context(), "late"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("before commit: %v", err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if found := files(t, dir); len(found) != 0 {
		t.Errorf("abort left %v", found)
	}
	if _, err := store.Open(t.Context(), "late"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("after abort: %v", err)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, blob.ErrClosed) {
		t.Errorf("write after abort: %v", err)
	}
	if _, err := w.Commit(); !errors.Is(err, blob.ErrClosed) {
		t.Errorf("commit after abort: %v", err)
	}
}

func TestAbortAfterCommitKeepsTheObject(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	w, err := store.Create(t.Context(), "kept")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, "all")
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Errorf("abort after commit: %v", err)
	}
	if got := get(t, store, "kept"); string(got) != "all" {
		t.Errorf("kept %q", got)
	}
}

func TestReplacingKeepsOpenReaders(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	put(t, store, "report", []byte("old"))
	object, err := store.Open(t.Context(), "report")
	if err != nil {
		t.Fatal(err)
	}
	defer object.Close()
	put(t, store, "report", []byte("new"))
	if got, _ := io.ReadAll(object); string(got) != "old" {
		t.Errorf("open reader sees %q", got)
	}
	if got := get(t, store, "report"); string(got) != "new" {
		t.Errorf("new reader sees %q", got)
	}
}

func TestFullDiskLeavesNothing(t *testing.T) {
	t.Parallel()
	store, dir := newStore(t)
	put(t, store, "report", []byte("old"))
	w, err := store.Create(t.Context(), "report")
	if err != nil {
		t.Fatal(err)
	}
	blob.FillAfter(w, 5, syscall.ENOSPC)
	if n, err := w.Write([]byte("0123456789")); n != 5 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write: %d, %v", n, err)
	}
	if _, err := w.Write(nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("next write: %v", err)
	}
	if _, err := w.Commit(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("commit: %v", err)
	}
	if got := get(t, store, "report"); string(got) != "old" {
		t.Errorf("kept %q", got)
	}
	if found := files(t, dir); len(found) != 1 {
		t.Errorf("files %v", found)
	}
}

func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	store, dir := newStore(t)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			content := bytes.Repeat([]byte{byte('a' + i)}, 70_000)
			for _, key := range []string{"shared", fmt.Sprintf("own/%d", i)} {
				w, err := store.Create(t.Context(), key)
				if err != nil {
					t.Error(err)
					return
				}
				for chunk := range slices.Chunk(content, 999) {
					if _, err := w.Write(chunk); err != nil {
						t.Error(err)
					}
				}
				if _, err := w.Commit(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	shared := get(t, store, "shared")
	if len(shared) != 70_000 || !bytes.Equal(shared, bytes.Repeat(shared[:1], 70_000)) {
		t.Error("writers of one key were mixed")
	}
	for i := range 16 {
		if got := get(t, store, fmt.Sprintf("own/%d", i)); got[0] != byte('a'+i) || len(got) != 70_000 {
			t.Errorf("own/%d: %d bytes of %q", i, len(got), got[0])
		}
	}
	if found := files(t, dir); len(found) != 17 {
		t.Errorf("%d files", len(found))
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	store, dir := newStore(t)
	put(t, store, "a/b", []byte("x"))
	if err := store.Delete(t.Context(), "a/b"); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(t.Context(), "a/b"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("second delete: %v", err)
	}
	if found := files(t, dir); len(found) != 0 {
		t.Errorf("files %v", found)
	}
}

func TestSweepRemovesOldLeftoversOnly(t *testing.T) {
	t.Parallel()
	store, dir := newStore(t)
	put(t, store, "kept", []byte("x"))
	abandoned, err := store.Create(t.Context(), "abandoned")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(abandoned, "half")
	if removed, err := store.Sweep(t.Context(), time.Now().Add(-time.Hour)); removed != 0 || err != nil {
		t.Errorf("young leftovers: %d, %v", removed, err)
	}
	if removed, err := store.Sweep(t.Context(), time.Now().Add(time.Hour)); removed != 1 || err != nil {
		t.Errorf("old leftovers: %d, %v", removed, err)
	}
	if found := files(t, dir); len(found) != 1 {
		t.Errorf("files %v", found)
	}
	if _, err := abandoned.Commit(); err == nil {
		t.Error("a swept write was committed")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Create(cancelled, "late"); !errors.Is(err, context.Canceled) {
		t.Errorf("create after cancel: %v", err)
	}
}

func TestModesAndFanOut(t *testing.T) {
	t.Parallel()
	store, dir := newStore(t)
	put(t, store, "team-1/file-2", []byte("x"))
	found := files(t, dir)
	if len(found) != 1 {
		t.Fatalf("files %v", found)
	}
	parts := strings.Split(found[0], "/")
	if len(parts) != 3 || len(parts[0]) != 2 || len(parts[1]) != 2 || parts[2] != "team-1.file-2" {
		t.Errorf("kept as %s", found[0])
	}
	for name, want := range map[string]fs.FileMode{found[0]: 0o600, parts[0]: fs.ModeDir | 0o700, "pending": fs.ModeDir | 0o700} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}
