package file_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/db"
)

// Each of these gets the error that says what is wrong, and leaves neither rows nor bytes behind.
// Proves: ATT-02, OPEN-24, OPEN-49.
func TestHostileUploadsLeaveNothing(t *testing.T) {
	t.Parallel()
	w, store := newUploads(t)
	noSheet := archive(t, map[string]string{"[Content_Types].xml": "", "ppt/slides.xml": ""})
	program := archive(t, map[string]string{"[Content_Types].xml": "", "xl/workbook.xml": "", "xl/vbaProject.bin": "MZ"})
	both := archive(t, map[string]string{"[Content_Types].xml": "", "xl/workbook.xml": "", "word/document.xml": ""})

	many := map[string]string{"[Content_Types].xml": "", "xl/workbook.xml": ""}
	for n := range 10_000 {
		many[fmt.Sprintf("xl/%d", n)] = ""
	}

	for name, c := range map[string]struct{ content, code string }{
		"empty":   {"", "emptyFile"},
		"program": {"MZ\x90\x00\x03\x00\x00\x00", "contentTypeNotSupported"}, "elf": {"\x7fELF\x02\x01\x01", "contentTypeNotSupported"},
		"page": {"<!DOCTYPE html><script>alert(1)</script>", "contentTypeNotSupported"}, "drawing": {`<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>`, "contentTypeNotSupported"},
		"script": {"#!/bin/sh\nrm -rf /", "contentTypeNotSupported"}, "binary": {"\x00\x01\x02\x03", "contentTypeNotSupported"}, "gif": {"GIF89a\x01\x00\x01\x00", "contentTypeNotSupported"},
		"binary behind text":      {strings.Repeat("text\n", 2000) + "\x00\x01", "contentTypeNotSupported"},
		"binary called wide text": {"\xff\xfea\x00\x00\x00\x01\x00", "contentTypeNotSupported"}, "binary called wide text, high byte first": {"\xfe\xff\x00a\x00\x02", "contentTypeNotSupported"},
		"half a character": {"\xff\xfea\x00b", "contentTypeNotSupported"}, "binary behind wide text": {"\xff\xfe" + strings.Repeat("a\x00", 40_000) + "\x03\x00", "contentTypeNotSupported"},
		"table with a NUL": {"a,b\n1,2\n3,\x004\n", "contentTypeNotSupported"}, "drawing in text": {"\xef\xbb\xbf<svg xmlns=\"http://www.w3.org/2000/svg\"><script/></svg>", "contentTypeNotSupported"},
		"plain zip": {archive(t, map[string]string{"a.txt": "x"}), "contentTypeNotSupported"}, "slides": {noSheet, "contentTypeNotSupported"},
		"sheet with a program": {program, "contentTypeNotSupported"}, "sheet and letter": {both, "contentTypeNotSupported"},
		"cut zip": {docx(t)[:100], "contentTypeNotSupported"}, "many entries": {archive(t, many), "contentTypeNotSupported"}, "beginning of a zip": {"PK\x03\x04", "contentTypeNotSupported"},
		"zip bomb": {bomb(t, 100, 12<<30), "archiveTooLarge"}, "large zip bomb": {bomb(t, 9<<20, 1<<30+1<<20), "archiveTooLarge"}, "dense zip": {densely(t), "archiveTooLarge"},
		"png bomb": {pngClaiming(t, 50_000, 50_000), "imageTooLarge"}, "wide png": {pngClaiming(t, 1<<31-1, 1<<31-1), "imageTooLarge"}, "jpeg bomb": {jpegClaiming(t, 65_000, 65_000), "imageTooLarge"},
		"webp bomb": {webpOf(16_000, 16_000), "imageTooLarge"}, "heic bomb": {heicOf(1<<32-1, 1<<32-1), "imageTooLarge"}, "just too large": {pngClaiming(t, 10_000, 10_001), "imageTooLarge"},
		"no png": {"\x89PNG\r\n\x1a\n", "contentTypeNotSupported"}, "empty png": {pngClaiming(t, 0, 5), "contentTypeNotSupported"}, "cut jpeg": {jpegOf(t, 9, 9)[:30], "contentTypeNotSupported"},
		"cut heic": {heicOf(10, 10)[:60], "contentTypeNotSupported"}, "heic without a size": {box("ftyp", "heic", "\x00\x00\x00\x00", "mif1heic"), "contentTypeNotSupported"},
		"nested heic": {box("ftyp", "heic", "\x00\x00\x00\x00", "heic") + box("meta", "\x00\x00\x00\x00", nested(1000)), "contentTypeNotSupported"},
	} {
		r := w.upload(paper("bill.pdf", "application/pdf", c.content), value("contentType", "application/pdf"))
		if r.Status != 400 {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
			continue
		}

		if got := r.WantError(apierr.CodeBadRequest, "").String("issues.0.code"); got != c.code || r.String("issues.0.path.0") != "file" {
			t.Errorf("%s: %s, want %s", name, r.Body, c.code)
		}
	}

	w.upload(value("filename", "a.txt")).WantError(apierr.CodeBadRequest, "").WantIssue("required", "file")
	w.upload(paper("a.txt", text, "x"), value("isOwnerAccessible", "maybe")).WantIssue("enum", "isOwnerAccessible") // after the file
	w.upload(paper("a.txt", text, "x"), paper("b.txt", text, "x")).WantIssue("duplicateField", "file")
	w.upload(paper("a.txt", text, "x"), value("teamId", "x")).WantIssue("unknownField", "teamId")
	w.upload(paper("a.txt", text, strings.Repeat("x", 25<<20+1))).WantError(apierr.CodePayloadTooLarge, "")
	w.wantNothing(store)
	w.upload(paper("a.txt", text, strings.Repeat("x", 25<<20))).Want(201)
}

func nested(depth int) string {
	out := ispe(1, 1)
	for range depth {
		out = box("ipco", out)
	}

	return out
}

// Names are shown and offered to browsers, never used as paths.
func TestHostileNames(t *testing.T) {
	t.Parallel()

	w, store := newUploads(t)
	for sent, want := range map[string]string{
		"../../etc/passwd": "passwd", `C:\windows\system32\evil.txt`: "evil.txt", "/": "attachment.txt", "..": "attachment.txt", "  .  ": "attachment.txt",
		"a/b\\c.txt": "c.txt", "bill\r\nSet-Cookie: x=1.txt": "billSet-Cookie: x=1.txt", "bill\u202Efdp.exe": "billfdp.exe", "\u2066a\u2069\u200F.txt": "a.txt",
		"tab\tand\x7fdelete": "tabanddelete", "u\u0308ber.pdf": "\u00fcber.pdf", "Счёт №5.pdf": "Счёт №5.pdf", "領収書.pdf": "領収書.pdf", `"quoted"; x=y.txt`: `"quoted"; x=y.txt`,
		"line\u2028break": "linebreak", strings.Repeat("ä", 300) + ".pdf": strings.Repeat("ä", 196) + ".pdf", "a." + strings.Repeat("x", 300): "a." + strings.Repeat("x", 198),
		"<img src=x>.txt": "<img src=x>.txt", "%2e%2e%2fa": "%2e%2e%2fa",
	} {
		r := w.upload(paper("x.txt", text, "x"), value("filename", sent)).Want(201)
		if got := r.String("filename"); got != want {
			t.Errorf("%q is kept as %q, want %q", sent, got, want)
		}

		down := w.Get(attachments + r.String("id") + "/download").Want(200)
		if d := down.Header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment; filename") || strings.ContainsAny(d, "\r\n") || down.Header.Get("Set-Cookie") != "" {
			t.Errorf("%q: %v", sent, down.Header)
		}

		if strings.ContainsAny(sent, "\r\n\t\x7f") {
			continue // the header of a part cannot hold them
		}

		if got := w.upload(paper(sent, text, "x")).Want(201).String("filename"); got != want {
			t.Errorf("a file called %q is kept as %q, want %q", sent, got, want)
		}
	}

	w.upload(paper("x", text, "x"), value("filename", "a\x00b")).WantIssue("malformed", "filename")
	w.upload(paper("x", text, "x"), value("filename", strings.Repeat("x", 1025))).WantIssue("length", "filename")

	if n := bytesIn(t, store); strconv.Itoa(n) != w.rows("file") {
		t.Errorf("%d files in the store", n)
	}
}

// watched is the server of a world on a listener, and what a test can wait for there.
type watched struct {
	*httptest.Server
	read  chan int      // how many bytes of a body each read of the service got
	ended chan struct{} // a value for each request that the service is done with
}

func watch(t *testing.T, w *world) watched {
	t.Helper()

	s := watched{read: make(chan int, 1000), ended: make(chan struct{}, 10)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		watched := r.WithContext(r.Context()) // the server of HTTP knows its own body by its type
		watched.Body = &body{r.Body, s.read}
		w.Server().ServeHTTP(to, watched)

		s.ended <- struct{}{}
	}))
	t.Cleanup(s.Close)

	return s
}

// body tells how many bytes each read got, as long as there is room for that.
type body struct {
	io.ReadCloser
	read chan<- int
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)

	select {
	case b.read <- n:
	default:
	}

	return n, err
}

// over is a connection that sends a request as it is.
func over(t *testing.T, server watched, headers, body string) net.Conn {
	t.Helper()

	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = c.Close() })

	if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}

	_, err = fmt.Fprintf(c, "POST /transaction-attachments HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=xyz\r\n%s\r\n%s", headers, body)
	if err != nil {
		t.Fatal(err)
	}

	return c
}

const opening = "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n"

// Proves: OPEN-24.
func TestClaimsOfGigabytesAreRefusedUnread(t *testing.T) {
	t.Parallel()
	w, store := newUploads(t)
	server := watch(t, w)

	for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
		answer, err := io.ReadAll(over(t, server, "Content-Length: 4294967296\r\n"+expect, ""))
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 413 ") {
			t.Errorf("%s, %v", answer, err)
		}

		apitest.Receive(t, server.ended)
	}
	// The same without a claim: it is broken off at the limit.
	c := over(t, server, "Transfer-Encoding: chunked\r\n", fmt.Sprintf("%x\r\n%s\r\n", len(opening), opening))

	var sent int64

	chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<20, strings.Repeat("x", 1<<20))
	for sent < 1<<32 {
		n, err := io.WriteString(c, chunk)
		sent += int64(n)

		if err != nil {
			break
		}
	}

	if sent > 64<<20 {
		t.Errorf("%d bytes were taken", sent)
	}

	apitest.Receive(t, server.ended)
	w.wantNothing(store)
}

// Whatever is left of an upload when it breaks off, nothing is left when the service is done with it.
func TestSlowAndKilledUploadsLeaveNothing(t *testing.T) {
	t.Parallel()
	w, store := newUploads(t)
	w.Server().UploadPace = api.Pace{Bytes: 64 << 10, Within: 200 * time.Millisecond, Whole: time.Minute}
	server := watch(t, w)

	half := opening + strings.Repeat("x", 100_000)

	answer, err := io.ReadAll(over(t, server, "Content-Length: 1000000\r\n", half))
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") || !strings.Contains(string(answer), "Upload is too slow") {
		t.Errorf("%s, %v", answer, err)
	}

	apitest.Receive(t, server.ended)
	w.wantNothing(store)

	w.Server().UploadPace = api.Pace{} // no sender is slow before it is gone

	for len(server.read) > 0 {
		<-server.read
	}

	for _, cut := range []string{half, opening + "x\r\n--xyz", opening + "x\r\n--xyz\r\n", opening[:20], opening + "x\r\n--xyz\r\nContent-Disposition: form-data; name=\"filename\"\r\n\r\na"} {
		c := over(t, server, "Content-Length: 1000000\r\n", cut)

		for read := 0; read < len(cut); {
			read += apitest.Receive(t, server.read)
		}

		_ = c.Close()

		apitest.Receive(t, server.ended)
		w.wantNothing(store)
	}
}

// A process that dies in the middle leaves a draft, which the sweep finds.
func TestTheSweepFindsWhatAKilledProcessLeaves(t *testing.T) {
	t.Parallel()
	w, store := newUploads(t)
	w.keep("uploaded, and then the process died")
	w.Exec(`update file_draft set created_at = created_at - interval '25 hours' where team_id = @team`, nil)
	w.sweep()
	w.wantNothing(store)
}

var errDiskFull = errors.New("no space left on device")

// full is a store on a disk that is full: after so many bytes, or when it is to commit.
type full struct {
	blob.Store
	room   int
	commit bool
}

type fullWriter struct {
	blob.Writer
	disk full
}

func (f full) Create(ctx context.Context, key string) (blob.Writer, error) {
	w, err := f.Store.Create(ctx, key)
	return &fullWriter{w, f}, err
}

func (w *fullWriter) Write(p []byte) (int, error) {
	if w.disk.room -= len(p); w.disk.room < 0 {
		return 0, errDiskFull
	}

	return w.Writer.Write(p)
}

func (w *fullWriter) Commit() (blob.Info, error) {
	info, err := w.Writer.Commit()
	if w.disk.commit {
		return blob.Info{}, errDiskFull
	}

	return info, err
}

func TestAFullDiskLeavesNothing(t *testing.T) {
	t.Parallel()

	for name, disk := range map[string]full{"in the middle": {room: 40_000}, "at the end": {room: 1 << 30, commit: true}, "at once": {}} {
		w, store := newUploads(t, func(s blob.Store) blob.Store { disk.Store = s; return disk })
		for _, content := range []string{strings.Repeat("x", 100_000), jpegOf(t, 3000, 100) + strings.Repeat("x", 50_000)} {
			r := w.upload(paper("a", text, content)).WantError(apierr.CodeServiceUnavailable, "")
			if strings.Contains(string(r.Body), "space") {
				t.Errorf("%s: %s", name, r.Body)
			}
		}

		w.wantNothing(store)
	}
}

// TestARefusedSettlementLeavesNothing: the bytes are kept, but the database does not take the row.
func TestARefusedSettlementLeavesNothing(t *testing.T) {
	t.Parallel()
	w, store := newUploads(t)
	w.System(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, fmt.Sprintf(`
			create function refuse_%[1]s() returns trigger language plpgsql as $$ begin
				if new.team_id = '%[2]s' then raise exception 'refused'; end if; return new; end $$`, strings.ReplaceAll(w.ID.String(), "-", ""), w.ID), nil)
		if err == nil {
			_, err = tx.Exec(ctx, fmt.Sprintf(`create trigger refuse_%[1]s before insert on transaction_attachment for each row execute function refuse_%[1]s()`,
				strings.ReplaceAll(w.ID.String(), "-", "")), nil)
		}

		return err
	})
	w.upload(paper("a.txt", text, "x")).Want(500)
	w.wantNothing(store)
}
