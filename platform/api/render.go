package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

var errUnknownVersion = apierr.New(apierr.CodeBadRequest, "", "Unknown contract version")

// rendered is an answer that is ready to be sent.
type rendered struct {
	status  int
	headers map[string]string
	body    []byte
}

// appender is an answer that writes its own JSON, for frequent reads where encoding by reflection takes most of the
// time.
type appender interface{ AppendJSON(b []byte) []byte }

// render encodes the answer of an endpoint with its status. It fails for a number that JSON cannot hold exactly.
func (e *Endpoint) render(out any) (*rendered, error) {
	status := e.status()
	if v, ok := out.(StatusChooser); ok {
		status = v.HTTPStatus()
	}

	// An answer of nothing has no body.
	if _, none := out.(*None); none || out == nil {
		if e.Status == 0 {
			status = http.StatusNoContent
		}

		return &rendered{status: status}, nil
	}

	if v, ok := out.(appender); ok {
		return &rendered{status: status, body: append(v.AppendJSON(nil), '\n')}, nil
	}

	// Names and texts keep characters such as & as they are.
	var b bytes.Buffer

	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)

	if err := enc.Encode(out); err != nil {
		return nil, err
	}

	if unsafeNumber(b.Bytes()) {
		return nil, errUnsafe
	}

	return &rendered{status: status, body: b.Bytes()}, nil
}

// errUnsafe is an answer that holds a number which clients would read as another one. A write that would answer so
// changes nothing.
var errUnsafe = apierr.BadRequest.At(apierr.IssueRange.In(""))

// unsafeNumber reports whether a JSON text contains an integer beyond the safe range of 2^53-1.
func unsafeNumber(body []byte) bool {
	const most = "9007199254740991"

	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		// Digits in texts are no numbers.
		case c == '"':
			for i++; i < len(body) && body[i] != '"'; i++ {
				if body[i] == '\\' {
					i++
				}
			}
		case '0' <= c && c <= '9':
			// Compare the integer part by length, then by digits.
			from := i
			for i < len(body) && '0' <= body[i] && body[i] <= '9' {
				i++
			}

			if n := i - from; n > len(most) || n == len(most) && string(body[from:i]) > most {
				return true
			}

			for i < len(body) && strings.IndexByte("0123456789.eE+-", body[i]) >= 0 {
				i++ // fractions and exponents are not checked
			}

			i--
		}
	}

	return false
}

// sendSuccess sends the answer of a request and returns its status.
func (s *Server) sendSuccess(w http.ResponseWriter, r *http.Request, rc *requestContext, out any) int {
	switch v := out.(type) {
	case *rendered:
		return s.send(w, rc, v)
	case *Content:
		return s.stream(w, r, rc, v)
	}

	v, err := rc.plan.endpoint.render(out)
	if err != nil {
		return s.fail(w, r, rc, err)
	}

	return s.send(w, rc, v)
}

// send writes a response and returns its status, 499 if the client was gone.
func (s *Server) send(w http.ResponseWriter, rc *requestContext, v *rendered) int {
	h := w.Header()
	common(h, rc)

	for name, value := range v.headers {
		h.Set(name, value)
	}

	if v.body != nil {
		h.Set("Content-Type", "application/json")
		h.Set("Content-Length", strconv.Itoa(len(v.body)))
	}

	w.WriteHeader(v.status)

	if _, err := w.Write(v.body); err != nil { //nolint:gosec // JSON, sent as such with nosniff
		return 499
	}

	return v.status
}

func common(h http.Header, rc *requestContext) {
	h.Set("X-Request-Id", rc.requestID)
	h.Set("X-Api-Version", Version)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")

	if rc.dryRun {
		h.Set("X-Service-Audit-Should-Poll", "false")
	}
}

// maxRanges is how many parts of some content one request can ask for.
const maxRanges = 8

// stream sends bytes, with ranges and validators.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, rc *requestContext, c *Content) int {
	defer func() { _ = c.Reader.Close() }()

	h := w.Header()
	common(h, rc)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Content-Type", c.ContentType)

	// A browser saves the content unless it may show it.
	disposition := "attachment"
	if c.Inline {
		disposition = "inline"
	}

	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": c.Filename}))

	if c.ETag != "" {
		h.Set("ETag", `"`+c.ETag+`"`)
	}

	if strings.Count(r.Header.Get("Range"), ",") >= maxRanges {
		r.Header.Del("Range") // each range costs a request to the object store; a server may send the whole instead
	}

	// The status is known only when the library has looked at the validators.
	record := &streamWriter{ResponseWriter: w, status: http.StatusOK, refuse: func(e *apierr.Error) any {
		return e.Body(rc.requestID, s.PublicURL)
	}}
	content := &contentReader{ReadSeeker: c.Reader}
	http.ServeContent(record, r, "", c.Modified, content)
	rc.cause = content.failed // the client sees that bytes are missing; the log says why

	return record.status
}

// contentReader remembers what a store failed with.
type contentReader struct {
	io.ReadSeeker
	failed error
}

// Read returns the next bytes and keeps the error that stopped it.
func (c *contentReader) Read(p []byte) (int, error) {
	n, err := c.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}

	return n, err
}

// What the standard library refuses of a download keeps the status that HTTP has for it, since clients that resume
// downloads act upon it. The contract has no code for either.
var refusedStreams = map[int]*apierr.Error{
	http.StatusPreconditionFailed: apierr.New(apierr.CodeBadRequest, "", "File is not the one that was asked for").At(
		apierr.IssuePreconditionFailed.In("header")),
	http.StatusRequestedRangeNotSatisfiable: apierr.New(apierr.CodeBadRequest, "", "Range lies outside the file").At(
		apierr.IssueRangeNotSatisfiable.InHeader("Range")),
}

// streamWriter records the status of a stream and sends refusals in the envelope.
type streamWriter struct {
	http.ResponseWriter
	status  int
	refused bool
	refuse  func(e *apierr.Error) any // returns the envelope
}

// WriteHeader notes the status and sends it.
func (s *streamWriter) WriteHeader(status int) {
	s.status = status

	refusal := refusedStreams[status]
	if refusal == nil {
		s.ResponseWriter.WriteHeader(status)
		return
	}

	s.refused = true

	h := s.Header()
	for _, name := range []string{"Content-Disposition", "Content-Length", "ETag", "Last-Modified"} {
		h.Del(name)
	}

	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	s.ResponseWriter.WriteHeader(status)
	_ = json.NewEncoder(s.ResponseWriter).Encode(s.refuse(refusal)) // the client is gone, or reads it
}

// Write sends bytes of the stream; of a refusal nothing but the envelope is sent.
func (s *streamWriter) Write(b []byte) (int, error) {
	if s.refused {
		return len(b), nil
	}

	return s.ResponseWriter.Write(b)
}

// fail sends an error in the common envelope and returns its status. Errors that are no condition of the contract
// become a static 500 and are logged with their cause.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, rc *requestContext, err error) int {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return 499 // the client is gone
	}

	e := s.nameHolder(r.Context(), rc, condition(r, err))
	if e.Code().Status() >= http.StatusInternalServerError {
		rc.cause = err
	}

	// The context of an error can be anything; if it cannot be encoded, the answer is a 500.
	body, encodeErr := json.Marshal(e.Body(rc.requestID, s.PublicURL))
	if encodeErr != nil {
		rc.cause = errors.Join(err, encodeErr)
		body, _ = json.Marshal(apierr.Internal.Body(rc.requestID, s.PublicURL))
	}

	h := w.Header()
	common(h, rc)
	h.Set("Content-Type", "application/json")

	if d := e.Delay(); d > 0 {
		h.Set("Retry-After", strconv.Itoa(int((d+999_999_999)/1_000_000_000)))
	}

	w.WriteHeader(e.Code().Status())
	_, _ = w.Write(append(body, '\n'))

	return e.Code().Status()
}

// nameHolder adds to a conflict the record that has the unique values which the request wanted.
func (s *Server) nameHolder(ctx context.Context, rc *requestContext, e *apierr.Error) *apierr.Error {
	if e.Code() != apierr.CodeConflict || e.Context() != nil || db.Constraint(e) == "" {
		return e
	}

	// The request's own transaction is gone: the record is that of somebody else.
	var holder id.ID

	err := s.DB.ReadOne(ctx, rc.scope, func(ctx context.Context, tx *db.Tx) (err error) {
		holder, err = tx.Holder(ctx, e)
		return err
	})
	if err != nil || holder.IsZero() {
		return e // the refusal holds as well without it
	}

	return e.With(apierr.Duplicate{ID: holder})
}

// condition returns the condition of the contract for an error.
func condition(r *http.Request, err error) *apierr.Error {
	var known *apierr.Error
	switch {
	case errors.As(err, &known) && known != nil:
		return known
	case db.FreezeReason(err) != "":
		return apierr.FrozenBy(db.FreezeReason(err))
	case db.SQLState(err) == "22003": // a sum that no integer of the database holds
		return errUnsafe.Because(err)
	case errors.Is(err, db.ErrUnavailable):
		return apierr.ServiceUnavailable.Because(err)
	case db.IsLockTimeout(err), db.SQLState(err) == "40001", db.SQLState(err) == "40P01":
		return errBusy.Because(err)
	case errors.Is(err, context.DeadlineExceeded), db.SQLState(err) == "57014":
		late := apierr.GatewayTimeout
		if db.SQLState(err) == "57014" { // the database's, not a provider's
			late = errSlow
		}

		if r.Method == http.MethodGet {
			late = late.RetryAfter(apierr.ServiceUnavailable.Delay())
		}

		return late.Because(err)
	}

	return apierr.From(err)
}

var (
	// A wait for what others are changing that came to its bound is errBusy; nothing was changed.
	errBusy = apierr.New(
		apierr.CodeServiceUnavailable,
		"",
		"Others are changing the same data",
	).RetryAfter(apierr.ServiceUnavailable.Delay())
	// A statement that took longer than it may is errSlow; nothing was changed.
	errSlow = apierr.New(apierr.CodeGatewayTimeout, "", "Request took too long")
)
