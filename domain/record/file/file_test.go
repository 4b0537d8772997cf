package file_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/domain/record/file"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "stayledger-file-test"); err != nil {
		panic(err)
	}

	apitest.Main(m, func() { _ = os.RemoveAll(folder) })
}

const address = "https://books.example.com"

type world struct {
	*apitest.Team
	t      testing.TB
	store  *blob.LocalStore
	signer *blob.Signer
}

// shared is the store of all tests, since the periodic tasks work across all their teams; maintaining lets them take
// turns, since they pass over what another run has in hand.
var (
	maintaining sync.Mutex
	folder      string // made and removed by TestMain
	shared      = sync.OnceValues(func() (*blob.LocalStore, error) { return blob.Local(filepath.Join(folder, "store")) })
)

func newWorld(t testing.TB) *world {
	t.Helper()

	store, err := shared()
	if err != nil {
		t.Fatal(err)
	}

	signer, err := blob.NewSigner([]byte("a test key of more than 32 bytes in all"))
	if err != nil {
		t.Fatal(err)
	}

	return &world{Team: apitest.New(t, apitest.Config{Endpoints: file.Part(store, signer).Endpoints}), t: t, store: store, signer: signer}
}

func (w *world) keep(content string) file.Stored {
	w.t.Helper()

	kept, err := file.Keep(w.t.Context(), w.DB, w.Scope(), w.store, func(to io.Writer) error {
		_, err := io.WriteString(to, content)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}

	return kept
}

func (w *world) file(content string) *file.File {
	w.t.Helper()
	kept := w.keep(content)

	var f *file.File

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		f, err = file.Insert(ctx, tx, file.New{
			Stored: kept, Kind: file.Export, Filename: `Über "das" Jahr.csv`, ContentType: "text/csv", PurgeAt: tx.Now.Add(file.KeepExports),
		})

		return err
	})

	return f
}

func (w *world) every(name string) error {
	maintaining.Lock()
	defer maintaining.Unlock()

	for _, e := range file.Part(w.store, w.signer).Every {
		if e.Name == name {
			return e.Do(w.t.Context(), w.DB)
		}
	}

	return errors.New("no task " + name)
}

func (w *world) link(f id.ID, expires time.Time) string {
	return strings.TrimPrefix(file.Link(w.signer, address, w.ID, f, expires), address)
}

// kept reports whether the bytes of a file are in the store.
func (w *world) kept(f id.ID) bool {
	w.t.Helper()

	object, err := w.store.Open(w.t.Context(), "files/"+w.ID.String()+"/"+f.String())
	if errors.Is(err, blob.ErrNotFound) {
		return false
	}

	if err != nil {
		w.t.Fatal(err)
	}

	return object.Close() == nil
}

func (w *world) rows(table string) string {
	w.t.Helper()

	var n int64

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, "select count(*) from "+table+" where team_id = @team", db.Args{"team": tx.Team})
		return err
	})

	return strconv.FormatInt(n, 10)
}

// Proves: OPS-27, OPEN-48.
func TestDownload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.file("0123456789")

	meta := w.Get("/files/" + f.ID.String()).Want(200)
	if meta.String("kind") != "export" || meta.String("filename") != f.Filename || meta.Int("byteSize") != 10 || meta.String("contentType") != "text/csv" {
		t.Errorf("metadata %s", meta.Body)
	}

	path := "/files/" + f.ID.String() + "/download"

	whole := w.Get(path).Want(200)
	if string(whole.Body) != "0123456789" || whole.Header.Get("Content-Type") != "text/csv" {
		t.Errorf("got %q, %v", whole.Body, whole.Header)
	}

	if d := whole.Header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment; filename") {
		t.Errorf("disposition %q", d)
	}

	etag := whole.Header.Get("ETag")

	part := w.Get(path, "Range", "bytes=3-5", "If-Range", etag).Want(206)
	if string(part.Body) != "345" || part.Header.Get("Content-Range") != "bytes 3-5/10" {
		t.Errorf("part %q, %v", part.Body, part.Header)
	}

	w.Get(path, "If-None-Match", etag).Want(304)

	if w.file("0123456789").ID == f.ID || w.Get(path, "If-None-Match", `"other"`).Status != 200 {
		t.Error("another validator matches")
	}
}

// Proves: OPS-29, OPEN-48.
func TestDownloadOfAnUnknownFile(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)

	f := other.file("secret")
	for _, path := range []string{"", "/download"} {
		w.Get("/files/"+f.ID.String()+path).WantError(apierr.CodeNotFound, "")
		w.Get("/files/"+id.New(w.DB.Now()).String()+path).WantError(apierr.CodeNotFound, "")
	}

	other.As([]string{}, nil).Get("/files/"+f.ID.String()+"/download").WantError(apierr.CodeForbidden, "")
}

// Proves: EXP-04, OPEN-48.
func TestLink(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	f, now := w.file("content"), w.DB.Now()
	stranger := w.As([]string{}, nil)
	good := w.link(f.ID, now.Add(time.Minute))

	unsigned, _, _ := strings.Cut(good, "signature=")
	if got := stranger.Get(good).Want(200); string(got.Body) != "content" {
		t.Errorf("got %q", got.Body)
	}

	if got := stranger.Get(good, "Range", "bytes=0-2").Want(206); string(got.Body) != "con" {
		t.Errorf("got %q", got.Body)
	}

	stranger.Get(w.link(f.ID, now.Add(-time.Second))).WantError(apierr.CodeGone, "")

	prolonged, _ := url.Parse(good)
	query := prolonged.Query()
	query.Set("expires", strconv.FormatInt(now.Add(time.Hour).Unix(), 10))
	later := prolonged.Path + "?" + query.Encode()
	// A link of another team's address with this file, and one that leads to a file that does not exist.
	elsewhere := strings.Replace(good, w.ID.String(), other.ID.String(), 1)
	for name, path := range map[string]string{
		"prolonged": later, "other team": elsewhere, "no file": w.link(id.New(now), now.Add(time.Minute)),
		"not signed": unsigned + "signature=AAAA",
	} {
		if got := stranger.Get(path); got.Status != http.StatusNotFound {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}

	stranger.Get("/links/" + w.ID.String() + "/" + f.ID.String()).Want(400)
}

// Proves: OPEN-48.
func TestPurgedContentIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, recent := w.file("old"), w.file("recent")
	w.Exec(`update file set purge_at = @at where team_id = @team and id = @id`, db.Args{"at": w.DB.Now(), "id": old.ID})
	path := "/files/" + old.ID.String() + "/download"
	w.Get(path).WantError(apierr.CodeGone, "") // before the purge has come round

	for range 2 {
		if err := w.every("file-purge"); err != nil {
			t.Fatal(err)
		}

		w.Get(path).WantError(apierr.CodeGone, "")
		w.Get(w.link(old.ID, w.DB.Now().Add(time.Minute))).WantError(apierr.CodeGone, "")
	}

	if w.kept(old.ID) || !w.kept(recent.ID) {
		t.Error("the purge took the wrong content")
	}

	w.Get("/files/" + old.ID.String()).Want(200)
	w.Get("/files/" + recent.ID.String() + "/download").Want(200)
}

func TestPurgeGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	f := w.file("x")
	if err := w.store.Delete(t.Context(), "files/"+w.ID.String()+"/"+f.ID.String()); err != nil { // as if the mark had been lost
		t.Fatal(err)
	}

	w.Exec(`update file set purge_at = @at where team_id = @team and id = @id`, db.Args{"at": w.DB.Now(), "id": f.ID})

	if err := w.every("file-purge"); err != nil {
		t.Fatal(err)
	}

	var open int64

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		open, err = db.Get[int64](ctx, tx, `select count(*) from file where team_id = @team and purged_at is null`, db.Args{"team": tx.Team})
		return err
	})

	if open != 0 {
		t.Errorf("%d files are still to be purged", open)
	}
}

func TestBytesWithoutAFileAreSwept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	young, old := w.keep("young"), w.keep("old")
	w.Exec(`update file_draft set created_at = created_at - interval '25 hours' where team_id = @team and id = @id`, db.Args{"id": old.ID})

	for range 2 {
		if err := w.every("file-sweep"); err != nil {
			t.Fatal(err)
		}
	}

	if w.kept(old.ID) || !w.kept(young.ID) {
		t.Error("the sweep took the wrong bytes")
	}

	insert := func(s file.Stored) error {
		return w.DB.Write(t.Context(), w.Scope(), func(ctx context.Context, tx *db.Tx) error {
			_, err := file.Insert(ctx, tx, file.New{Stored: s, Kind: file.Attachment, Filename: "a", ContentType: "text/plain"})
			return err
		})
	}
	if err := insert(old); err == nil {
		t.Error("swept bytes became a file")
	}

	// Nor do bytes that a sweep has given up while the store still has them.
	doomed := w.keep("doomed")
	w.Exec(`update file_draft set doomed_at = now() where team_id = @team and id = @id`, db.Args{"id": doomed.ID})

	if err := insert(doomed); err == nil || !w.kept(doomed.ID) {
		t.Errorf("bytes that are to be deleted became a file: %v", err)
	}

	if err := w.every("file-sweep"); err != nil || w.kept(doomed.ID) {
		t.Errorf("bytes that were given up are left: %v", err)
	}

	if err := insert(young); err != nil {
		t.Error(err)
	}

	if w.rows("file") != "1" || w.rows("file_draft") != "0" {
		t.Errorf("%s files, %s drafts", w.rows("file"), w.rows("file_draft"))
	}

	w.Get("/files/" + young.ID.String() + "/download").Want(200)
}

func TestNothingIsKeptOfAFailedWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	own, err := blob.Local(t.TempDir()) // its writers are counted
	if err != nil {
		t.Fatal(err)
	}

	w.store = own
	lost := errors.New("lost")

	_, err = file.Keep(t.Context(), w.DB, w.Scope(), w.store, func(to io.Writer) error {
		_, _ = io.WriteString(to, "half")
		return lost
	})
	if !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}

	for name, write := range map[string]func(io.Writer) error{
		"writes on":  func(to io.Writer) error { _, err := io.WriteString(to, "for nobody"); return err },
		"ends there": func(io.Writer) error { return nil },
	} {
		ctx, cancel := context.WithCancel(t.Context())

		_, err = file.Keep(ctx, w.DB, w.Scope(), w.store, func(to io.Writer) error {
			cancel()
			return write(to)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
	}

	if n, err := w.store.Sweep(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("%d writers were left open, %v", n, err)
	}

	if w.rows("file") != "0" {
		t.Error("there is a file")
	}
}
