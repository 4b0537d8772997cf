package file_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/file"
	"stayledger/domain/tenant/access"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

const attachments = "/transaction-attachments/"

// Proves: ATT-01, ATT-08, ATT-09, ATT-11, ATT-12, ATT-13, ATT-14, ATT-18, OPEN-49.
func TestUploadAndDownload(t *testing.T) {
	t.Parallel()
	w, store := newUploads(t)
	content := strings.Repeat("a receipt\n", 123) + "four"
	r := w.upload(paper("a.txt", text, content)).Want(201)

	one := r.ID("id")
	for path, want := range map[string]string{
		"transactionId": "null", "filename": "a.txt", "contentType": text, "byteSize": "1234", "isOwnerAccessible": "false",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}

	if shown := w.Get(attachments + one.String()).Want(200); string(shown.Body) != string(r.Body) {
		t.Errorf("read %s, uploaded %s", shown.Body, r.Body)
	}

	sum := sha256.Sum256([]byte(content))

	for _, path := range []string{attachments + one.String() + "/download", "/files/" + one.String() + "/download"} {
		whole := w.Get(path).Want(200)
		if string(whole.Body) != content || whole.Header.Get("ETag") != `"`+hex.EncodeToString(sum[:])+`"` {
			t.Errorf("%s: %q, %v", path, whole.Body, whole.Header)
		}

		if whole.Header.Get("Content-Disposition") != `attachment; filename=a.txt` || whole.Header.Get("X-Content-Type-Options") != "nosniff" || whole.Header.Get("Content-Type") != text {
			t.Errorf("%s: %v", path, whole.Header)
		}

		if part := w.Get(path, "Range", "bytes=2-8").Want(206); string(part.Body) != "receipt" {
			t.Errorf("%s: part %q", path, part.Body)
		}

		w.Get(path, "If-None-Match", whole.Header.Get("ETag")).Want(304)
	}

	if w.rows("file_draft") != "0" || bytesIn(t, store) != 1 {
		t.Error("more than the file was left")
	}

	long := "%PDF-1.7\n" + strings.Repeat("x", 100_000) // its beginning shows the type
	if got := w.Get(attachments + w.upload(paper("a.pdf", "application/pdf", long)).Want(201).String("id") + "/download").Want(200); string(got.Body) != long {
		t.Errorf("of %d bytes %d are downloaded", len(long), len(got.Body))
	}
}

// A request for thousands of ranges gets the whole: behind an object store each would be a request of its own.
func TestManyRangesAreNotServed(t *testing.T) {
	t.Parallel()
	w, _ := newUploads(t)
	path := attachments + w.upload(paper("a.txt", text, strings.Repeat("x", 20_000))).Want(201).String("id") + "/download"
	w.Get(path, "Range", "bytes=0-1,5-6").Want(206)

	if got := w.Get(path, "Range", "bytes="+strings.Repeat("0-0,", 5_000)+"1-1").Want(200); len(got.Body) != 20_000 {
		t.Errorf("%d bytes", len(got.Body))
	}
}

// Proves: ATT-03, ATT-04, ATT-05, ATT-06, ATT-14, OPEN-49.
func TestPartsOfAnUpload(t *testing.T) {
	t.Parallel()
	w, _ := newUploads(t)

	r := w.upload(value("isOwnerAccessible", "true"), paper("a.txt", text, "x"), value("filename", "b.pdf"), value("contentType", "application/pdf")).Want(201)
	if r.String("filename") != "b.pdf" || r.String("contentType") != "application/pdf" || r.String("isOwnerAccessible") != "true" {
		t.Errorf("got %s", r.Body)
	}

	down := w.Get(attachments + r.String("id") + "/download").Want(200)
	if down.Header.Get("Content-Type") != "application/pdf" || !strings.HasPrefix(down.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("downloaded as %v", down.Header)
	}

	for sent, want := range map[string]string{"true": "true", "1": "true", "false": "false", "0": "false"} {
		if got := w.upload(paper("a", text, "x"), value("isOwnerAccessible", sent)).Want(201).String("isOwnerAccessible"); got != want {
			t.Errorf("%s is %s", sent, got)
		}
	}

	for _, wrong := range []string{"", "TRUE", "yes", "2"} {
		w.upload(paper("a", text, "x"), value("isOwnerAccessible", wrong)).WantError(apierr.CodeBadRequest, "").WantIssue("enum", "isOwnerAccessible")
	}

	for _, wrong := range []string{"text/html", "image/svg+xml", "application/octet-stream", "pdf", "/", "application/zip"} {
		w.upload(paper("a", text, "x"), value("contentType", wrong)).WantError(apierr.CodeBadRequest, "").WantIssue("contentTypeNotSupported", "contentType")
	}

	if w.rows("file") != "5" || w.rows("file_draft") != "0" {
		t.Errorf("%s files, %s drafts", w.rows("file"), w.rows("file_draft"))
	}
}

// Proves: ATT-12, OPEN-49.
func TestContentDecides(t *testing.T) {
	t.Parallel()
	w, _ := newUploads(t)

	const (
		sheet  = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
		letter = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	)
	for name, c := range map[string]struct{ filename, sent, content, want string }{
		"pdf": {"a.pdf", "application/pdf", "%PDF-1.7\n%\xe2\xe3\n1 0 obj", "application/pdf"}, "pdf called text": {"a.txt", text, "%PDF-1.4\n", "application/pdf"},
		"png": {"a", "", pngOf(t, 30, 20), "image/png"}, "jpeg": {"a.exe", "application/x-msdownload", jpegOf(t, 30, 20), "image/jpeg"},
		"webp": {"a.webp", "", webpOf(1000, 800), "image/webp"}, "heic": {"a.heic", "image/heic", heicOf(4032, 3024), "image/heic"},
		"text": {"a.txt", "", "Grüße, 12 €", text}, "wide text": {"a.txt", "", "\xff\xfea\x00b\x00", text}, "wide text, high byte first": {"a.txt", "", "\xfe\xff" + strings.Repeat("\x04\x16\x00\n", 20_000), text}, "latin text": {"a", "", "Gr\xfc\xdfe an alle", text},
		"table": {"a.csv", "", "=1+1,b\n1,2\n3,4\n", "text/csv"}, "table of one column": {"a.csv", "", "a\n", "text/csv"}, "table by its type": {"a", "text/csv; charset=utf-8", "a\n", "text/csv"},
		"marked table": {"a", "", "\xef\xbb\xbfa,b\n1,2\n3,4\n", "text/csv"}, "marked text": {"a", "", "\xef\xbb\xbftext", text}, "text of commas": {"a.txt", text, "a,b\n1,2\n3,4\n", text},
		"xlsx": {"a", "", xlsx(t), sheet}, "docx": {"a", "application/zip", docx(t), letter},
	} {
		r := w.upload(paper(c.filename, c.sent, c.content)).Want(201)
		if got := r.String("contentType"); got != c.want {
			t.Errorf("%s is %s", name, got)
		}

		if got := w.Get(attachments + r.String("id") + "/download").Want(200); string(got.Body) != c.content {
			t.Errorf("%s: other bytes came back", name)
		}
	}

	if got := w.upload(part{name: "file", content: "%PDF-1.4"}).Want(201).String("filename"); got != "attachment.pdf" {
		t.Errorf("a file without a name is called %s", got)
	}
}

// Proves: ATT-17, ATT-19, OPEN-09, OPEN-49.
func TestChangeAndDelete(t *testing.T) {
	t.Parallel()
	w, store := newUploads(t)

	path := attachments + w.upload(paper("a.txt", text, "x")).Want(201).String("id")
	for _, open := range []string{"true", "false"} {
		if got := w.Patch(path, `{"isOwnerAccessible":`+open+`}`).Want(200); got.String("isOwnerAccessible") != open || got.String("filename") != "a.txt" {
			t.Errorf("got %s", got.Body)
		}

		if got := w.Get(path).Want(200).String("isOwnerAccessible"); got != open {
			t.Errorf("is %s", got)
		}
	}

	w.Patch(path, `{}`).WantError(apierr.CodeBadRequest, "").WantIssue("required", "isOwnerAccessible")
	w.Patch(path, `{"isOwnerAccessible":true,"filename":"b"}`).WantIssue("unknownField", "filename")
	w.Delete(path).Want(204)

	for _, gone := range []string{path, path + "/download", "/files/" + strings.TrimPrefix(path, attachments)} {
		w.Get(gone).WantError(apierr.CodeNotFound, "")
	}

	w.Delete(path).WantError(apierr.CodeNotFound, "")
	w.Patch(path, `{"isOwnerAccessible":true}`).WantError(apierr.CodeNotFound, "")
	w.sweep()
	w.wantNothing(store)
}

// sweep lets the periodic task pass over the world's own store.
func (w *world) sweep() {
	w.t.Helper()
	maintaining.Lock()
	defer maintaining.Unlock()

	for _, e := range file.Part(w.store, w.signer).Every {
		if e.Name == "file-sweep" {
			if err := e.Do(w.t.Context(), w.DB); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func TestAttachmentsOfAnotherTeamAndOtherFiles(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	theirs := other.upload(paper("a.txt", text, "x")).Want(201).String("id")

	export := w.file("x").ID.String()
	for _, one := range []string{theirs, export, id.New(w.DB.Now()).String()} {
		w.Get(attachments+one).WantError(apierr.CodeNotFound, "")
		w.Get(attachments+one+"/download").WantError(apierr.CodeNotFound, "")
		w.Patch(attachments+one, `{"isOwnerAccessible":true}`).WantError(apierr.CodeNotFound, "")
		w.Delete(attachments+one).WantError(apierr.CodeNotFound, "")
	}

	other.Get(attachments + theirs).Want(200)
	w.Get("/files/" + export).Want(200)

	reader := other.As([]string{"transactions:read"}, nil)
	reader.Get(attachments + theirs + "/download").Want(200)
	reader.Patch(attachments+theirs, `{"isOwnerAccessible":true}`).WantError(apierr.CodeForbidden, "")
	reader.Delete(attachments+theirs).WantError(apierr.CodeForbidden, "")

	body, contentType := form(t, paper("a.txt", text, "x"))
	reader.Post("/transaction-attachments", body, "Content-Type", contentType).WantError(apierr.CodeForbidden, "")
}

// What no transaction takes within seven days goes.
// Proves: OPEN-49.
func TestUnlinkedUploadsArePurged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.upload(paper("a.txt", text, "x")).Want(201).String("id")
	meta := w.Get("/files/" + one).Want(200)

	purge, err := time.Parse(time.RFC3339, meta.String("purgeAt"))
	if err != nil {
		t.Fatal(err)
	}

	if made, _ := time.Parse(time.RFC3339, meta.String("createdAt")); purge.Sub(made) != 7*24*time.Hour {
		t.Errorf("made %v, purged %v", made, purge)
	}

	w.Exec(`update file set purge_at = @now where team_id = @team`, db.Args{"now": w.DB.Now()})
	w.Get(attachments+one+"/download").WantError(apierr.CodeGone, "")

	if err := w.every("file-purge"); err != nil {
		t.Fatal(err)
	}

	w.Get(attachments+one+"/download").WantError(apierr.CodeGone, "")
	w.Get(attachments + one).Want(200)
	w.Delete(attachments + one).Want(204)

	if w.rows("file_draft") != "0" || w.kept(mustParse(t, one)) {
		t.Error("something of a purged attachment is left")
	}
}

func mustParse(t *testing.T, text string) id.ID {
	t.Helper()

	v, err := id.Parse(text)
	if err != nil {
		t.Fatal(err)
	}

	return v
}

// gated is a server that asks the access of a team for every request, and a key of two teams.
func gated(t *testing.T, a, b *world) (server *api.Server, key *access.Key) {
	t.Helper()
	a.System(func(ctx context.Context, tx *db.Tx) (err error) {
		key, err = access.IssueKey(ctx, tx, access.NewKey{Name: "Both", Teams: []id.ID{a.ID, b.ID}, Scopes: []string{"admin"}})
		return err
	})
	gate := access.NewGate(access.Config{DB: a.DB, Remember: time.Nanosecond, Regions: map[access.Region]string{"us": "http://127.0.0.1"}})

	return api.NewServer(api.Config{
		DB: a.DB, Log: slog.New(slog.DiscardHandler), Authenticate: gate.Authenticate, Audit: audit.Record, CursorKey: []byte("k"), Title: "test",
	}, file.Part(a.store, a.signer).Endpoints), key
}

// The team is frozen while a file comes in, which was allowed when it began.
func TestAnUploadDoesNotOutliveItsPermission(t *testing.T) {
	t.Parallel()
	w, store := newUploads(t)

	server, key := gated(t, w, newWorld(t))
	for change, want := range map[string]int{
		`update team set freeze_reason = 'deletion' where id = @team`:               423,
		`update team set freeze_reason = null, status = 'deleted' where id = @team`: 410,
		`update team set freeze_reason = null, status = 'active' where id = @team`:  201,
	} {
		body, contentType := form(t, paper("a.txt", text, strings.Repeat("x", 100_000)))
		meanwhile := func() { w.Exec(change, nil) }
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/transaction-attachments",
			io.MultiReader(strings.NewReader(body[:50_000]), &once{do: meanwhile}, strings.NewReader(body[50_000:])))
		r.Header.Set("x-api-key", key.Secret)
		r.Header.Set("x-team-id", w.ID.String())
		r.Header.Set("Content-Type", contentType)
		w.Exec(`update team set freeze_reason = null, status = 'active' where id = @team`, nil)

		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, r)

		if answer.Code != want {
			t.Errorf("%s: %d %s", change, answer.Code, answer.Body)
		}
	}

	if w.rows("file") != "1" || w.rows("file_draft") != "0" || bytesIn(t, store) != 1 {
		t.Errorf("%s files, %s drafts, %d kept", w.rows("file"), w.rows("file_draft"), bytesIn(t, store))
	}
}

// once does something when it is read.
type once struct{ do func() }

func (o *once) Read([]byte) (int, error) {
	o.do()
	return 0, io.EOF
}

// Proves: ATT-07.
func TestTheHeaderSelectsTheTeamOfAnUpload(t *testing.T) {
	t.Parallel()
	a, b := newWorld(t), newWorld(t)
	server, key := gated(t, a, b)
	send := func(method, path, team, body, contentType string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("x-api-key", key.Secret)
		r.Header.Set("Content-Type", contentType)

		if team != "" {
			r.Header.Set("x-team-id", team)
		}

		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, r)

		return answer
	}

	body, contentType := form(t, paper("a.txt", text, "x"))
	if got := send(http.MethodPost, "/transaction-attachments", "", body, contentType).Code; got < 400 {
		t.Errorf("without a team: %d", got)
	}

	made := send(http.MethodPost, "/transaction-attachments", a.ID.String(), body, contentType)
	if made.Code != 201 {
		t.Fatalf("%d %s", made.Code, made.Body)
	}

	_, one, _ := strings.Cut(made.Body.String(), `"id":"`)

	one, _, _ = strings.Cut(one, `"`)
	for team, want := range map[string]int{a.ID.String(): 200, b.ID.String(): 404} {
		if got := send(http.MethodGet, attachments+one, team, "", ""); got.Code != want {
			t.Errorf("%s: %d, want %d", team, got.Code, want)
		}
	}

	if a.rows("(select team_id from audit_action where endpoint = 'uploadTransactionAttachment') u") != "1" {
		t.Error("the upload is not in the audit trail")
	}
}
