package api

import (
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"stayledger/platform/apierr"
)

// Part declares a part of a multipart/form-data body. Parts come in any order, each at most once.
type Part struct {
	Name     string
	Doc      string
	Required bool
	// File marks the one part that can be large; Endpoint.MaxBody bounds it.
	File bool
	// Enum are the values of a part that has few.
	Enum []string
}

const (
	// MaxPart bounds a part that is no file, in bytes.
	maxPart = 1 << 10
	// MaxPartHeader bounds what comes between two parts: boundary and headers, and what the parser reads ahead.
	maxPartHeader = 16 << 10
	// FormOverhead is how many bytes a form may have in addition to those of its file.
	formOverhead = 64 << 10
)

// Pace is how fast an upload has to come in. Slower ones are given up, so that idle senders cannot hold connections.
type Pace struct {
	// Bytes must arrive in every stretch of the length Within.
	Bytes  int64
	Within time.Duration
	// Whole bounds the upload altogether.
	Whole time.Duration
}

func (p Pace) orDefault() Pace {
	if p == (Pace{}) {
		return Pace{Bytes: 64 << 10, Within: 10 * time.Second, Whole: 10 * time.Minute}
	}

	return p
}

var (
	errForm    = apierr.New(apierr.CodeBadRequest, "", "Malformed multipart form in request body")
	errTooSlow = apierr.New(apierr.CodeBadRequest, "", "Upload is too slow")
	// ErrHeader ends the parser when the headers of a part have no end.
	errHeader = errors.New("headers of a part are too long")
)

// Upload is the body of a multipart/form-data request, which is read as it arrives and kept nowhere; an input has it as
// its field Upload, and its endpoint declares the parts in Form.
type Upload struct {
	form  []Part
	max   int64
	parts *multipart.Reader
	line  *line
	sum   hash.Hash // identifies the upload, for idempotency keys; nil without a key
}

// Incoming is the file of an upload while it arrives. Name and type are what the sender says.
type Incoming struct {
	// Reader fails with what the request is to fail with.
	io.Reader
	// Filename is without folders; empty when the sender gave none.
	Filename string
	// ContentType is empty when the sender gave none.
	ContentType string
}

// newUpload refuses what can be refused before the first byte of the body: another content type and a length beyond
// the limit.
func (s *Server) newUpload(w http.ResponseWriter, r *http.Request, rc *requestContext) (*Upload, error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		return nil, apierr.UnsupportedMediaType
	}

	limit := rc.plan.endpoint.maxBody() + formOverhead
	if r.ContentLength > limit {
		return nil, apierr.PayloadTooLarge
	}

	l := &line{
		body:    http.MaxBytesReader(w, r.Body, limit),
		control: http.NewResponseController(w),
		pace:    s.UploadPace.orDefault(),
		left:    math.MaxInt64,
	}
	// The last line of a form may lack its end.
	whole := io.MultiReader(l, strings.NewReader("\r\n"), broken{})

	u := &Upload{
		form:  rc.plan.endpoint.Form,
		max:   rc.plan.endpoint.maxBody(),
		parts: multipart.NewReader(whole, params["boundary"]),
		line:  l,
	}
	if rc.key != "" {
		u.sum = rc.newDigest(r)
	}

	return u, nil
}

// Read reads the parts of a form. It passes the file to take when it comes and skips what take leaves; an error of
// take ends the reading. It returns the values of the other parts by name. A form that is malformed, too large, too
// slow, or not as declared fails with its condition. Keep the file only after Read has returned without an error.
func (u *Upload) Read(take func(Incoming) error) (map[string]string, error) {
	values, seen := map[string]string{}, map[string]bool{}

	for {
		u.line.left = maxPartHeader
		part, err := u.parts.NextRawPart()
		u.line.left = math.MaxInt64

		if err == io.EOF { //nolint:errorlint // a wrapped one is a form without its end
			break
		}

		if err != nil {
			return nil, u.failure(err)
		}

		// The parts count for the idempotency key in the order in which they come.
		declared, err := u.findPart(part, seen)
		if err != nil {
			return nil, err
		}

		u.identify(declared.Name)

		if declared.File {
			err = u.file(part, take)
		} else {
			values[declared.Name], err = u.value(part, declared)
		}

		if err != nil {
			return nil, err
		}

		seen[declared.Name] = true
	}

	// Read the rest too, or the server would wait for it before it answers, without a deadline.
	u.line.left = maxPartHeader
	if _, err := io.Copy(io.Discard, u.line); err != nil {
		return nil, u.failure(err)
	}

	// Now all parts that came are known.
	var missing []apierr.Issue

	for i := range u.form {
		if p := &u.form[i]; p.Required && !seen[p.Name] {
			missing = append(missing, apierr.IssueRequired.InBody(p.Name))
		}
	}

	if missing != nil {
		return nil, apierr.BadRequest.At(missing...)
	}

	return values, nil
}

// findPart returns the declaration of a part. It refuses a part that is not declared or came before, and one with
// an encoding, because it would not be decoded.
func (u *Upload) findPart(part *multipart.Part, seen map[string]bool) (*Part, error) {
	name := part.FormName()
	switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) {
	case "", "7bit", "8bit", "binary":
	default:
		name = ""
	}

	if name == "" || !utf8.ValidString(name) {
		return nil, errForm
	}

	for i := range u.form {
		switch p := &u.form[i]; {
		case p.Name != name:
		case seen[name]:
			return nil, apierr.BadRequest.At(apierr.IssueDuplicateField.InBody(name))
		default:
			return p, nil
		}
	}

	return nil, apierr.BadRequest.At(apierr.IssueUnknownField.InBody(name))
}

// value reads a part that is not a file. It refuses values that are too long, no text, or not among the declared
// ones.
func (u *Upload) value(part *multipart.Part, declared *Part) (string, error) {
	content, err := io.ReadAll(io.LimitReader(part, maxPart+1))
	switch {
	case err != nil:
		return "", u.failure(err)
	case len(content) > maxPart:
		return "", apierr.BadRequest.At(apierr.IssueLength.InBody(declared.Name))
	case !utf8.Valid(content) || strings.ContainsRune(string(content), 0):
		return "", apierr.BadRequest.At(apierr.IssueMalformed.InBody(declared.Name))
	}

	u.identify(string(content))

	for _, allowed := range declared.Enum {
		if string(content) == allowed {
			return allowed, nil
		}
	}

	if declared.Enum != nil {
		return "", apierr.BadRequest.At(apierr.IssueEnum.InBody(declared.Name))
	}

	return string(content), nil
}

// file gives a file of the upload to take, and reads on to its end if take did not.
func (u *Upload) file(part *multipart.Part, take func(Incoming) error) error {
	f := &fileReader{upload: u, part: part}
	u.identify(part.FileName())
	u.identify(part.Header.Get("Content-Type"))

	err := take(Incoming{Reader: f, Filename: part.FileName(), ContentType: part.Header.Get("Content-Type")})
	if f.failed != nil {
		return f.failed // whatever take made of it
	}

	if err != nil {
		return err
	}

	_, err = io.Copy(io.Discard, f)

	return err
}

// identify adds a text to the digest that distinguishes this upload from others.
func (u *Upload) identify(text string) {
	if u.sum != nil {
		_, _ = fmt.Fprintf(u.sum, "%d\x00%s", len(text), text)
	}
}

// failure returns the condition for an error of the parser or of the line.
func (u *Upload) failure(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return apierr.PayloadTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errTooSlow.Because(err)
	default:
		return errForm.Because(err)
	}
}

// fileReader reads a file up to the limit.
type fileReader struct {
	upload *Upload
	part   *multipart.Part
	size   int64
	failed error
}

// Read returns the next bytes of the file. It fails beyond the size limit.
func (f *fileReader) Read(p []byte) (int, error) {
	if f.failed != nil {
		return 0, f.failed
	}

	n, err := f.part.Read(p)
	if f.size += int64(n); f.size > f.upload.max {
		f.failed = apierr.PayloadTooLarge
		return 0, f.failed
	}

	if f.upload.sum != nil {
		f.upload.sum.Write(p[:n])
	}

	if err != nil && !errors.Is(err, io.EOF) {
		f.failed = f.upload.failure(err)
		return n, f.failed
	}

	return n, err
}

// broken is a reader that fails. It follows the body, because the parser takes the end of the body for the final
// boundary of a form.
type broken struct{}

// Read fails.
func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// line reads the body and moves the connection's deadline on while enough comes in. The sender has no part in the time
// between two reads, in which a slow store keeps it waiting.
type line struct {
	body     io.Reader
	control  *http.ResponseController
	pace     Pace
	left     int64     // how much may be read until left is set again
	last     time.Time // when the upload has to be over
	deadline time.Time // of the present stretch
	stretch  int64     // bytes of the present stretch
	returned time.Time // from the read before
}

// Read returns the next bytes of the body. It fails if they come too slowly or a header is too long.
func (l *line) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errHeader
	}

	p = p[:min(int64(len(p)), l.left)]
	if err := l.wait(time.Now()); err != nil {
		return 0, err
	}

	n, err := l.body.Read(p)
	l.returned = time.Now()
	l.left -= int64(n)

	l.stretch += int64(n)
	if errors.Is(err, io.EOF) {
		// From here on the server listens for a sender that leaves, and would take the deadline for one.
		_ = l.control.SetReadDeadline(time.Time{})
	}

	return n, err
}

// wait sets the deadline of the next read.
func (l *line) wait(now time.Time) error {
	if l.last.IsZero() {
		l.last, l.returned, l.stretch = now.Add(l.pace.Whole), now, l.pace.Bytes
	}

	// Time in which we did not read does not count against the sender.
	pause := now.Sub(l.returned)

	l.last, l.deadline = l.last.Add(pause), l.deadline.Add(pause)
	if l.stretch >= l.pace.Bytes {
		l.deadline, l.stretch = now.Add(l.pace.Within), 0
	}

	until := l.deadline
	if until.After(l.last) {
		until = l.last
	}

	if err := l.control.SetReadDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}

	return nil
}
