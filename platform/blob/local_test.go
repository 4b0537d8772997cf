package blob_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
}

func TestHostileKeysLeadNowhere(t *testing.T) {
	t.Parallel()

	store, dir := newStore(t)
	if err := os.WriteFile(filepath.Join(dir, "..", "outside"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, key := range []string{"../outside", "a/../../outside", "..", "pending"} {
		if object, err := store.Open(t.Context(), key); err == nil {
			object.Close()
			t.Errorf("%q leads out of the store", key)
		}
	}
}
