package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

// Box is the outcome of an upload.
type Box struct {
	Size   int64             `json:"size"`
	Name   string            `json:"name"`
	Type   string            `json:"type"`
	Values map[string]string `json:"values"`
}

type boxInput struct{ Upload *api.Upload }

var errBoxFull = apierr.New(apierr.CodeConflict, "", "Box is full")

// boxes is an endpoint that takes uploads of up to 100000 bytes. A file that begins with "full" does not settle.
func boxes(dropped *atomic.Int64) api.Endpoint {
	return api.Receive(api.Endpoint{
		Method: http.MethodPost, Path: "/boxes", ID: "fillBox", Tag: "boxes", Summary: "Fill a box", Status: 201, MaxBody: 100_000, Errors: apierr.List{errBoxFull},
		Form: []api.Part{{Name: "file", Required: true, File: true}, {Name: "note"}, {Name: "kind", Enum: []string{"a", "b"}}},
	}, api.Receiver[boxInput, *Box, Box]{
		Receive: func(_ context.Context, _ *db.DB, _ db.Scope, in *boxInput) (*Box, error) {
			b := &Box{}
			values, err := in.Upload.Read(func(f api.Incoming) error {
				content, err := io.ReadAll(f)

				b.Size, b.Name, b.Type = int64(len(content)), f.Filename, f.ContentType
				if bytes.HasPrefix(content, []byte("full")) {
					b.Size = -1
				}

				return err
			})
			b.Values = values

			return b, err
		},
		Settle: func(_ context.Context, _ *db.Tx, _ *boxInput, b *Box) (*Box, error) {
			if b.Size < 0 {
				return nil, errBoxFull
			}

			return b, nil
		},
		Drop: func(context.Context, *db.DB, db.Scope, *Box) { dropped.Add(1) },
	})
}

func newBoxes(t *testing.T) (x *apitest.Team, dropped *atomic.Int64) {
	t.Helper()

	dropped = &atomic.Int64{}

	return apitest.New(t, apitest.Config{Silent: true, Endpoints: []api.Endpoint{boxes(dropped)}}), dropped
}

// form is a body of parts, each "name=content" or "name:filename=content".
func form(t *testing.T, parts ...string) (body, contentType string) {
	t.Helper()

	var b bytes.Buffer

	w := multipart.NewWriter(&b)

	for _, p := range parts {
		head, content, _ := strings.Cut(p, "=")
		name, filename, isFile := strings.Cut(head, ":")

		header := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + name + `"`}}
		if isFile {
			header = textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + name + `"; filename="` + filename + `"`}, "Content-Type": {"text/x-test"}}
		}

		part, err := w.CreatePart(header)
		if err == nil {
			_, err = io.WriteString(part, content)
		}

		if err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return b.String(), w.FormDataContentType()
}

func TestUploadPartsComeInAnyOrder(t *testing.T) {
	t.Parallel()

	x, dropped := newBoxes(t)
	for _, parts := range [][]string{{"file:dir/a.txt=0123", "note=n", "kind=b"}, {"note=n", "kind=b", "file:a.txt=0123"}} {
		body, contentType := form(t, parts...)

		r := x.Post("/boxes", body, "Content-Type", contentType).Want(201)
		if r.Int("size") != 4 || r.String("name") != "a.txt" || r.String("type") != "text/x-test" || r.String("values.note") != "n" || r.String("values.kind") != "b" {
			t.Errorf("got %s", r.Body)
		}

		if r.Header.Get("X-Service-Audit-Action-Id") == "" {
			t.Error("the upload has no audit action")
		}
	}

	body, contentType := form(t, "file:a=full")
	x.Post("/boxes", body, "Content-Type", contentType).WantError(apierr.CodeConflict, "")

	if dropped.Load() != 1 {
		t.Errorf("%d were dropped", dropped.Load())
	}
}

// Proves: ERR-83.
func TestUploadFormsAreHeldToTheirDeclaration(t *testing.T) {
	t.Parallel()

	x, _ := newBoxes(t)
	for name, c := range map[string]struct {
		parts      []string
		code, path string
	}{
		"no file":   {[]string{"note=n"}, "required", "file"},
		"no parts":  {nil, "required", "file"},
		"unknown":   {[]string{"file:a=1", "more=2"}, "unknownField", "more"},
		"twice":     {[]string{"note=1", "file:a=1", "note=1"}, "duplicateField", "note"},
		"two files": {[]string{"file:a=1", "file:b=1"}, "duplicateField", "file"},
		"long":      {[]string{"note=" + strings.Repeat("x", 1025), "file:a=1"}, "length", "note"},
		"NUL":       {[]string{"note=a\x00", "file:a=1"}, "malformed", "note"},
		"not UTF-8": {[]string{"note=\xff", "file:a=1"}, "malformed", "note"},
		"enum":      {[]string{"kind=c", "file:a=1"}, "enum", "kind"},
	} {
		body, contentType := form(t, c.parts...)

		r := x.Post("/boxes", body, "Content-Type", contentType).WantError(apierr.CodeBadRequest, "").WantIssue(c.code, c.path)
		if r.String("issues.0.schema") != "body" {
			t.Errorf("%s: %s", name, r.Body)
		}
	}

	body, contentType := form(t, "file:a="+strings.Repeat("x", 100_000), "note="+strings.Repeat("x", 1024))
	x.Post("/boxes", body, "Content-Type", contentType).Want(201)
}

func TestMalformedForms(t *testing.T) {
	t.Parallel()
	x, _ := newBoxes(t)

	const boundary, contentType = "xyz", "multipart/form-data; boundary=xyz"

	part := func(header, content string) string { return "--" + boundary + "\r\n" + header + "\r\n\r\n" + content }

	const file = `Content-Disposition: form-data; name="file"; filename="a"`
	for name, body := range map[string]string{
		"empty": "", "no boundary": "hello", "cut in a header": "--xyz\r\nContent-Dispo", "cut in a file": part(file, "half"),
		"cut behind a part": part(file, "1\r\n--xyz\r\n"), "cut behind a header": part(file, "1\r\n--xyz\r\nX: y\r\n"), "cut in the last boundary": part(file, "1\r\n--xyz-"),
		"cut before a boundary": part(file, "1\r\n--xy"), "endless epilogue": part(file, "1\r\n--xyz--\r\n"+strings.Repeat("x", 30_000)),
		"no name":        part("Content-Disposition: form-data", "1\r\n--xyz--\r\n"),
		"no disposition": part("X: y", "1\r\n--xyz--\r\n"), "encoded": part(file+"\r\nContent-Transfer-Encoding: base64", "MQ==\r\n--xyz--\r\n"),
		"endless preamble": strings.Repeat("x\r\n", 10_000) + part(file, "1\r\n--xyz--\r\n"), "endless header": part("X: "+strings.Repeat("y", 50_000)+"\r\n"+file, "1\r\n--xyz--\r\n"),
		"many headers": part(strings.Repeat("X: y\r\n", 10_000)+file, "1\r\n--xyz--\r\n"), "name not UTF-8": part("Content-Disposition: form-data; name=\"\xff\"", "1\r\n--xyz--\r\n"),
	} {
		r := x.Post("/boxes", body, "Content-Type", contentType).WantError(apierr.CodeBadRequest, "")
		if r.String("message") != "Malformed multipart form in request body" {
			t.Errorf("%s: %s", name, r.Body)
		}
	}

	for _, end := range []string{"--", "--\r\n", "-- \r\nan epilogue is nothing\r\n--xyz\r\n"} {
		if r := x.Post("/boxes", part(file, "1\r\n--xyz"+end), "Content-Type", contentType).Want(201); r.Int("size") != 1 {
			t.Errorf("%q: %s", end, r.Body)
		}
	}

	for _, other := range []string{"application/json", "multipart/form-data", "multipart/mixed; boundary=xyz", "text/plain", ";"} {
		if r := x.Post("/boxes", part(file, "1\r\n--xyz--\r\n"), "Content-Type", other).WantError(apierr.CodeBadRequest, ""); r.String("message") != "Content type is not supported" {
			t.Errorf("%s: %s", other, r.Body)
		}
	}
}

func TestUploadsBeyondTheLimitAreRefused(t *testing.T) {
	t.Parallel()
	x, _ := newBoxes(t)
	body, contentType := form(t, "file:a="+strings.Repeat("x", 100_001))
	x.Post("/boxes", body, "Content-Type", contentType).WantError(apierr.CodePayloadTooLarge, "")
	body, contentType = form(t, "file:a="+strings.Repeat("x", 300_000))
	x.Post("/boxes", body, "Content-Type", contentType).WantError(apierr.CodePayloadTooLarge, "") // by the length it claims

	server := httptest.NewServer(x.Server())
	t.Cleanup(server.Close)

	endless, w := io.Pipe() // without a length
	go func() {
		_, err := io.WriteString(w, body[:200])
		for err == nil {
			_, err = io.WriteString(w, strings.Repeat("x", 10_000))
		}
	}()

	r, err := http.Post(server.URL+"/boxes", contentType, endless)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()

	_ = endless.Close()

	if r.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("answered %d", r.StatusCode)
	}
}

// TestHugeClaimsAreRefusedUnread claims four gigabytes and sends none of them.
func TestHugeClaimsAreRefusedUnread(t *testing.T) {
	t.Parallel()
	x, _ := newBoxes(t)
	server := httptest.NewServer(x.Server())
	t.Cleanup(server.Close)

	answer := talk(t, server, "Content-Length: 4294967296\r\nExpect: 100-continue\r\n", "")
	if !strings.HasPrefix(answer, "HTTP/1.1 413 ") || !strings.Contains(answer, "PAYLOAD_TOO_LARGE") {
		t.Errorf("answered %s", answer)
	}
}

// talk sends a request as it is and gives what comes back until the connection ends.
func talk(t *testing.T, server *httptest.Server, headers, body string) string {
	t.Helper()

	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}

	defer func() { _ = c.Close() }()

	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}

	_, err = fmt.Fprintf(c, "POST /boxes HTTP/1.1\r\nHost: test\r\nContent-Type: multipart/form-data; boundary=xyz\r\n%s\r\n%s", headers, body)
	if err != nil {
		t.Fatal(err)
	}

	answer, err := io.ReadAll(c)
	if err != nil && len(answer) == 0 {
		t.Fatal(err)
	}

	return string(answer)
}

// bins is a server in a bubble of synctest that takes uploads of up to 100000 bytes and needs no database for it. What
// take does with the file comes between two reads of it.
func bins(t *testing.T, pace api.Pace, take func()) *pipes {
	t.Helper()

	s := api.NewServer(api.Config{Log: slog.New(slog.DiscardHandler)}, []api.Endpoint{api.External(api.Endpoint{
		Method: http.MethodPost, Path: "/bins", ID: "fillBin", Tag: "bins", Summary: "Fill a bin", Status: 201, MaxBody: 100_000, Public: true,
		Form: []api.Part{{Name: "file", Required: true, File: true}},
	}, func(ctx context.Context, _ *db.DB, _ db.Scope, in *boxInput) (*Box, error) {
		b := &Box{}
		values, err := in.Upload.Read(func(f api.Incoming) error {
			for {
				n, err := io.CopyN(io.Discard, f, 30_000)
				b.Size += n

				take()

				if errors.Is(err, io.EOF) {
					return nil
				}

				if err != nil {
					return err
				}
			}
		})
		b.Values = values

		if err == nil {
			time.Sleep(time.Hour) // the work on what came has all the time that it needs

			err = ctx.Err()
		}

		return b, err
	})})
	s.UploadPace = pace

	return servePipes(t, s)
}

// fill sends an upload to a server of bins.
func fill(t *testing.T, c net.Conn, contentType string, length int, body io.Reader) (status int, answer string) {
	t.Helper()
	return ask(t, c, fmt.Sprintf("POST /bins HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n", contentType, length), body)
}

func TestSlowUploadsAreGivenUp(t *testing.T) {
	t.Parallel()

	body, contentType := form(t, "file:a="+strings.Repeat("x", 90_000))
	for name, c := range map[string]struct {
		chunk  int
		pause  time.Duration
		whole  time.Duration
		status int
	}{
		"fast enough":         {10_000, 90 * time.Millisecond, time.Second, 201},
		"a drop at a time":    {100, 20 * time.Millisecond, time.Hour, 400},
		"too long altogether": {1500, 30 * time.Millisecond, time.Second, 400},
		"not at all":          {10_000, time.Hour, time.Hour, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := bins(t, api.Pace{Bytes: 1000, Within: 100 * time.Millisecond, Whole: c.whole}, func() {})

				status, answer := fill(t, p.dial(t), contentType, len(body), &drip{rest: body, chunk: c.chunk, pause: c.pause})
				if status != c.status || strings.Contains(answer, "Upload is too slow") != (status == 400) {
					t.Errorf("%d %s", status, answer)
				}
			})
		})
	}
}

// A sender that keeps back what comes behind the final boundary holds no connection either.
func TestTheRestOfAnUploadIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	x, _ := newBoxes(t)
	x.Server().UploadPace = api.Pace{Bytes: 1000, Within: 100 * time.Millisecond, Whole: time.Second}
	server := httptest.NewServer(x.Server())
	t.Cleanup(server.Close)

	const whole = "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n1\r\n--xyz--\r\n"
	for _, headers := range []string{"Content-Length: 500\r\n", "Transfer-Encoding: chunked\r\n"} {
		body := whole
		if strings.HasPrefix(headers, "T") {
			body = fmt.Sprintf("%x\r\n%s\r\n", len(whole), whole)
		}

		if answer := talk(t, server, headers, body); !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, "Upload is too slow") {
			t.Errorf("%s: %s", headers, answer)
		}
	}
}

// A sender is not slow when it is kept waiting: the store behind the endpoint takes longer than an upload may.
func TestASlowStoreIsNotTheSendersFault(t *testing.T) {
	t.Parallel()

	body, contentType := form(t, "file:a="+strings.Repeat("x", 90_000))

	synctest.Test(t, func(t *testing.T) {
		p := bins(t, api.Pace{Bytes: 64 << 10, Within: 200 * time.Millisecond, Whole: 400 * time.Millisecond}, func() { time.Sleep(time.Minute) })

		if status, answer := fill(t, p.dial(t), contentType, len(body), strings.NewReader(body)); status != 201 {
			t.Errorf("%d %s", status, answer)
		}
	})
}

// drip sends a text in pieces with pauses.
type drip struct {
	rest  string
	chunk int
	pause time.Duration
}

func (d *drip) Read(p []byte) (int, error) {
	if d.rest == "" {
		return 0, io.EOF
	}

	time.Sleep(d.pause)
	n := copy(p[:min(len(p), d.chunk)], d.rest)
	d.rest = d.rest[n:]

	return n, nil
}

// A deadline of the upload must neither end the work on it nor the next request.
func TestTheConnectionOutlivesAnUpload(t *testing.T) {
	t.Parallel()

	body, contentType := form(t, "file:a=1")

	synctest.Test(t, func(t *testing.T) {
		c := bins(t, api.Pace{Bytes: 1 << 20, Within: 300 * time.Millisecond, Whole: 300 * time.Millisecond}, func() {}).dial(t)

		for range 2 {
			if status, answer := fill(t, c, contentType, len(body), strings.NewReader(body)); status != 201 {
				t.Errorf("%d %s", status, answer)
			}

			time.Sleep(time.Hour)
		}
	})
}

func TestIdempotencyKeyOfAnUpload(t *testing.T) {
	t.Parallel()
	x, dropped := newBoxes(t)
	send := func(parts ...string) *apitest.Response {
		body, contentType := form(t, parts...) // with a new boundary every time
		return x.Post("/boxes", body, "Content-Type", contentType, "Idempotency-Key", "k")
	}
	first := send("file:a=123", "note=n").Want(201)

	again := send("file:a=123", "note=n").Want(201)
	if !bytes.Equal(first.Body, again.Body) || first.Header.Get("X-Service-Audit-Action-Id") != again.Header.Get("X-Service-Audit-Action-Id") || dropped.Load() != 1 {
		t.Errorf("%s, then %s; %d dropped", first.Body, again.Body, dropped.Load())
	}

	for i, other := range [][]string{{"file:a=124", "note=n"}, {"file:b=123", "note=n"}, {"file:a=123", "note=m"}, {"file:a=123"}} {
		r := send(other...).WantError(apierr.CodeConflict, "")

		if dropped.Load() != int64(2+i) {
			t.Errorf("%s: %d dropped", strconv.Itoa(i), dropped.Load())
		}

		_ = r
	}
}

func TestUploadIsDescribed(t *testing.T) {
	t.Parallel()
	x, _ := newBoxes(t)

	d, err := x.Server().OpenAPI()
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{`"multipart/form-data"`, `"format":"binary"`, `"additionalProperties":false`} {
		if !strings.Contains(string(d.JSON), want) {
			t.Errorf("the description has no %s", want)
		}
	}
}
