package upload_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/platform/apierr"
	"stayledger/platform/blob"
)

// storedFiles counts the regular files in a folder.
func storedFiles(t testing.TB, folder string) (n int) {
	t.Helper()

	err := filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			n++
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return n
}

// fullStore is a store on a full disk.
type fullStore struct{ blob.Store }

// Create begins an object whose writes fail.
func (s fullStore) Create(ctx context.Context, key string) (blob.Writer, error) {
	w, err := s.Store.Create(ctx, key)
	return fullWriter{w}, err
}

type fullWriter struct{ blob.Writer }

// Write fails as a full disk does.
func (fullWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAFullDiskAndCutUploadsLeaveNothing(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()

	store, err := blob.Local(folder)
	if err != nil {
		t.Fatal(err)
	}

	before := storedFiles(t, folder)

	full := newOffice(t, func(e *app.External) { e.Store = fullStore{store} })
	full.send("/csv-imports/previews", contactsFile, "kind", "contacts").WantError(apierr.CodeServiceUnavailable, "")

	o := newOffice(t, func(e *app.External) { e.Store = store })

	// The form ends in the middle of the file.
	body := "--b\r\nContent-Disposition: form-data; name=\"kind\"\r\n\r\ncontacts\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\nname,email\nAnn,"
	o.Post("/csv-imports/previews", body, "Content-Type", "multipart/form-data; boundary=b").WantError(apierr.CodeBadRequest, "")

	// So do an unknown kind and an account of another team.
	o.send("/csv-imports/previews", contactsFile, "kind", "guests").WantError(apierr.CodeBadRequest, "")
	o.send("/csv-imports/previews", contactsFile, "kind", "bank-records", "bankAccountId", full.Account("1000").String()).
		WantError(apierr.CodeBadRequest, "")
	o.send("/csv-imports/previews", contactsFile, "kind", "contacts", "mapping", `{"columns": [{"header": "Name", "field": "nonsense"}]}`).
		WantError(apierr.CodeBadRequest, "")

	if got := storedFiles(t, folder); got != before {
		t.Errorf("%d files are left", got-before)
	}

	for _, one := range []*office{full, o} {
		if n := one.Get("/csv-imports/previews").String("pagination.total"); n != "0" {
			t.Errorf("%s previews are left", n)
		}
	}
}

// TestFilesThatNeverEndAreRefused sends a file of one line, and a workbook that unpacks to far more than it is.
func TestFilesThatNeverEndAreRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	path := o.preview("contacts", "name,email\n"+strings.Repeat("a,", 8<<20))
	if got := o.Get(path).String("issues.0.code"); got != "csvTooLarge" {
		t.Errorf("one line ends with %s", o.Get(path).Body)
	}

	path = o.preview("contacts", bomb(t))
	if got := o.Get(path).String("issues.0.code"); got != "csvTooLarge" {
		t.Errorf("a bomb ends with %s", o.Get(path).Body)
	}

	for _, p := range []string{path} {
		if got := o.Get(p + "/rows").String("pagination.total"); got != "0" {
			t.Errorf("%s rows are left", got)
		}
	}
}

// bomb returns a small workbook with a sheet that unpacks to 80 MiB.
func bomb(t testing.TB) string {
	t.Helper()

	var b bytes.Buffer

	w := zip.NewWriter(&b)

	for name, size := range map[string]int64{"[Content_Types].xml": 10, "xl/workbook.xml": 10, "xl/worksheets/sheet1.xml": 80 << 20} {
		part, err := w.Create(name)
		if err == nil {
			_, err = io.CopyN(part, zeros{}, size)
		}

		if err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return b.String()
}

// zeros is an endless reader of the digit zero.
type zeros struct{}

// Read fills p.
func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}

	return len(p), nil
}
