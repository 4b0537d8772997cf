package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/platform/blob"
)

// kind is a kind of store as the contract's tests see it.
type kind struct {
	blob.Store
	sweep func(ctx context.Context, olderThan time.Time) (int, error)
	// settle waits until what was written has arrived as far as it goes before the commit.
	settle func(t *testing.T)
	// names lists everything the store keeps, finished or not.
	names func(t *testing.T) []string
}

// eachKind runs a test of the contract against a new store of each kind.
func eachKind(t *testing.T, test func(t *testing.T, store kind)) {
	t.Helper()
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		store, dir := newStore(t)
		test(t, kind{store, store.Sweep, func(*testing.T) {}, func(t *testing.T) []string {
			t.Helper()
			return files(t, dir)
		}})
	})
	t.Run("S3", func(t *testing.T) {
		t.Parallel()
		g := theGateway(t)
		c := g.config()
		store := openS3(t, c)
		test(t, kind{store, store.Sweep, func(t *testing.T) {
			t.Helper()
			g.untilPart(t, c.Prefix)
		}, func(t *testing.T) []string {
			t.Helper()
			return g.Names(t, c.Prefix)
		}})
	})
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

// random is content that repeats nowhere, the same for the same size.
func random(size int) []byte {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size)}).Read(content)

	return content
}

// large is more than an object store takes in one request.
const large = 9 << 20

func TestKeptBytesAreEqual(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, store kind) {
		t.Helper()

		objects := map[string][]byte{
			"empty": {}, "a": []byte("file beside folder"), "a/b": []byte("x"), "team-1/large": random(large), "part": random(8 << 20), "parts": random(16 << 20),
			"edge": random(8<<20 + 1),
		}
		for key, content := range objects {
			info := put(t, store, key, content)
			if info.Size != int64(len(content)) || info.SHA256 != sha256.Sum256(content) {
				t.Errorf("%s: info %d bytes, sum %x", key, info.Size, info.SHA256)
			}
		}

		for key, content := range objects {
			if got := get(t, store, key); !bytes.Equal(got, content) {
				t.Errorf("%s: %d bytes kept, want %d", key, len(got), len(content))
			}
		}

		if found := store.names(t); len(found) != len(objects) {
			t.Errorf("names %v", found)
		}
	})
}

func TestObjectSeeksAndDescribesItself(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, store kind) {
		t.Helper()
		put(t, store, "range", []byte("0123456789"))

		object, err := store.Open(t.Context(), "range")
		if err != nil {
			t.Fatal(err)
		}
		defer object.Close()

		for _, c := range []struct {
			offset int64
			whence int
			at     int64
			rest   string
		}{{-3, io.SeekEnd, 7, "789"}, {2, io.SeekStart, 2, "23456789"}, {-5, io.SeekCurrent, 5, "56789"}, {0, io.SeekEnd, 10, ""}, {5, io.SeekEnd, 15, ""}} {
			if at, err := object.Seek(c.offset, c.whence); at != c.at || err != nil {
				t.Errorf("seek %d from %d: at %d, %v", c.offset, c.whence, at, err)
			}

			if rest, err := io.ReadAll(object); string(rest) != c.rest || err != nil {
				t.Errorf("seek %d from %d: %q, %v", c.offset, c.whence, rest, err)
			}
		}

		if _, err := object.Seek(-1, io.SeekStart); err == nil {
			t.Error("there is something before the beginning")
		}

		if object.Size() != 10 {
			t.Errorf("size %d", object.Size())
		}

		if age := time.Since(object.ModTime()); age < -time.Minute || age > time.Minute {
			t.Errorf("written %v ago", age)
		}
	})
}

func TestObjectsAreServedInRanges(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, store kind) {
		t.Helper()

		content := random(large)
		put(t, store, "served", content)

		for asked, want := range map[string][]byte{"": content, "bytes=5000000-5000099": content[5000000:5000100], "bytes=-7": content[large-7:]} {
			object, err := store.Open(t.Context(), "served")
			if err != nil {
				t.Fatal(err)
			}

			request := httptest.NewRequest(http.MethodGet, "/", nil)
			request.Header.Set("Range", asked)

			answer := httptest.NewRecorder()
			http.ServeContent(answer, request, "", object.ModTime(), object)

			if err := object.Close(); err != nil || !bytes.Equal(answer.Body.Bytes(), want) {
				t.Errorf("%q: %d with %d bytes, %v", asked, answer.Code, answer.Body.Len(), err)
			}
		}
	})
}

func TestHostileKeysAreRefused(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, store kind) {
		t.Helper()

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

		if found := store.names(t); len(found) != 0 {
			t.Errorf("names %v", found)
		}

		longest := strings.Repeat("a", 240)
		put(t, store, longest, []byte("x"))

		if got := get(t, store, longest); string(got) != "x" {
			t.Errorf("longest key keeps %q", got)
		}
	})
}

func TestNothingIsVisibleBeforeCommit(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, store kind) {
		t.Helper()

		for _, size := range []int{4, large, 17 << 20} {
			w, err := store.Create(t.Context(), "late")
			if err != nil {
				t.Fatal(err)
			}

			if _, err := w.Write(random(size)); err != nil {
				t.Fatal(err)
			}

			if _, err := store.Open(t.Context(), "late"); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("before commit: %v", err)
			}

			if err := w.Abort(); err != nil {
				t.Fatal(err)
			}

			if found := store.names(t); len(found) != 0 {
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
	})
}

func TestAbortAfterCommitKeepsTheObject(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, store kind) {
		t.Helper()

		for _, size := range []int{3, large} {
			w, err := store.Create(t.Context(), "kept")
			if err != nil {
				t.Fatal(err)
			}

			if _, err := w.Write(random(size)); err != nil {
				t.Fatal(err)
			}

			if _, err := w.Commit(); err != nil {
				t.Fatal(err)
			}

			if err := w.Abort(); err != nil {
				t.Errorf("abort after commit: %v", err)
			}

			if _, err := w.Commit(); !errors.Is(err, blob.ErrClosed) {
				t.Errorf("commit after commit: %v", err)
			}

			if got := get(t, store, "kept"); !bytes.Equal(got, random(size)) {
				t.Errorf("kept %d bytes of %d", len(got), size)
			}
		}
	})
}

func TestReplacedObjectsAreNotMixed(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, store kind) {
		t.Helper()

		before, after := bytes.Repeat([]byte("a"), large), bytes.Repeat([]byte("b"), large)
		put(t, store, "report", before)

		object, err := store.Open(t.Context(), "report")
		if err != nil {
			t.Fatal(err)
		}
		defer object.Close()

		begun := make([]byte, 100)
		if _, err := io.ReadFull(object, begun); err != nil {
			t.Fatal(err)
		}

		put(t, store, "report", after)

		rest, err := io.ReadAll(object)
		if bytes.ContainsRune(rest, 'b') || err == nil && len(rest) != large-100 {
			t.Errorf("the open reader sees %d bytes, %v", len(rest), err)
		}

		if got := get(t, store, "report"); !bytes.Equal(got, after) {
			t.Errorf("a new reader sees %q…", got[:10])
		}
	})
}

func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, store kind) {
		t.Helper()

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

		if found := store.names(t); len(found) != 17 {
			t.Errorf("%d names", len(found))
		}
	})
}

// Both writers are at work at the same time; the later commit stays.
func TestTwoWritersOfOneKey(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, store kind) {
		t.Helper()

		var writers [2]blob.Writer
		for i := range writers {
			w, err := store.Create(t.Context(), "shared")
			if err != nil {
				t.Fatal(err)
			}

			writers[i] = w
		}

		for range large / 1024 {
			for i, w := range writers {
				if _, err := w.Write(bytes.Repeat([]byte{byte('a' + i)}, 1024)); err != nil {
					t.Fatal(err)
				}
			}
		}

		for i, w := range slices.Backward(writers[:]) {
			if _, err := w.Commit(); err != nil {
				t.Fatal(err)
			}

			if got := get(t, store, "shared"); !bytes.Equal(got, bytes.Repeat([]byte{byte('a' + i)}, large)) {
				t.Errorf("after writer %d: %d bytes of %q", i, len(got), got[0])
			}
		}

		if found := store.names(t); len(found) != 1 {
			t.Errorf("names %v", found)
		}
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, store kind) {
		t.Helper()
		put(t, store, "a/b", []byte("x"))

		if err := store.Delete(t.Context(), "a/b"); err != nil {
			t.Fatal(err)
		}

		if err := store.Delete(t.Context(), "a/b"); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("second delete: %v", err)
		}

		if _, err := store.Open(t.Context(), "a/b"); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("open: %v", err)
		}

		if found := store.names(t); len(found) != 0 {
			t.Errorf("names %v", found)
		}
	})
}

func TestSweepRemovesOldLeftoversOnly(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, store kind) {
		t.Helper()
		put(t, store, "kept", []byte("x"))

		abandoned, err := store.Create(t.Context(), "abandoned")
		if err != nil {
			t.Fatal(err)
		}

		if _, err := abandoned.Write(random(large)); err != nil {
			t.Fatal(err)
		}

		store.settle(t)

		if removed, err := store.sweep(t.Context(), time.Now().Add(-time.Hour)); removed != 0 || err != nil {
			t.Errorf("young leftovers: %d, %v", removed, err)
		}

		if removed, err := store.sweep(t.Context(), time.Now().Add(time.Hour)); removed != 1 || err != nil {
			t.Errorf("old leftovers: %d, %v", removed, err)
		}

		if found := store.names(t); len(found) != 1 {
			t.Errorf("names %v", found)
		}

		if _, err := abandoned.Commit(); err == nil {
			t.Error("a swept write was committed")
		}

		if found := store.names(t); len(found) != 1 {
			t.Errorf("names %v", found)
		}
	})
}

func TestStoresKeepToTheirContext(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, store kind) {
		t.Helper()
		put(t, store, "kept", []byte("x"))
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()

		if _, err := store.Create(cancelled, "late"); !errors.Is(err, context.Canceled) {
			t.Errorf("create: %v", err)
		}

		if _, err := store.Open(cancelled, "kept"); !errors.Is(err, context.Canceled) {
			t.Errorf("open: %v", err)
		}

		if err := store.Delete(cancelled, "kept"); !errors.Is(err, context.Canceled) {
			t.Errorf("delete: %v", err)
		}

		if got := get(t, store, "kept"); string(got) != "x" {
			t.Errorf("kept %q", got)
		}
	})
}
