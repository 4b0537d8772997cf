package pms

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	jsonv1 "github.com/go-json-experiment/json/v1"

	"stayledger/platform/outbound"
)

// maxAnswer bounds the bytes of an answer after decompression.
const maxAnswer = 16 << 20

// The pauses after a refusal for too many calls: the time that the system asks for, up to maxPause, or else limitPause.
const (
	maxPause   = time.Hour
	limitPause = 10 * time.Second
)

// Caller sends the requests of a client. It is safe for use by many goroutines.
type Caller struct {
	http   *http.Client
	within time.Duration
	limit  outbound.Limit
	take   Take
	// fails returns the error in the body of an answer, or nil. A nil function means that the status says everything.
	fails func(status int, body []byte) error
	seen  func(r *http.Request, body []byte)
}

// Take counts a call to a host before it is sent, and may wait for that. It fails with an outbound.LimitedError for a
// call beyond the limit, which is not sent.
type Take func(ctx context.Context, host string, l outbound.Limit) error

// Options configure a Caller.
type Options struct {
	// AllowPrivate allows private addresses and plain http, such as a sandbox on the same machine.
	AllowPrivate bool
	// Within bounds the time of a call. 0 and values above Timeout mean Timeout.
	Within time.Duration
	// Limit is how many calls a host of the system takes, and Take counts them; without one of them nothing is counted.
	Limit outbound.Limit
	Take  Take
	// Fails returns the error in the body of an answer, or nil: for systems that report errors with status 200, or use
	// statuses in their own way.
	Fails func(status int, body []byte) error
	// Seen is called after each request with the body of its answer, nil for none; nil calls nothing.
	Seen func(r *http.Request, body []byte)
}

// NewCaller returns a caller and makes no call.
func NewCaller(o Options) *Caller {
	if o.Within <= 0 || o.Within > Timeout {
		o.Within = Timeout
	}

	return &Caller{
		http: outbound.Client(o.AllowPrivate), within: o.Within, limit: o.Limit, take: o.Take,
		fails: o.Fails, seen: o.Seen,
	}
}

// Do sends a request, reads its answer and decodes it as JSON, unless into is nil. It returns the headers of the
// answer, and fails with an Error, or as Take does.
func (c *Caller) Do(ctx context.Context, r *http.Request, into any) (http.Header, error) {
	ctx, stop := context.WithTimeout(ctx, c.within)
	defer stop()

	// First the limit: a call beyond it must not be sent.
	if err := c.count(ctx, r.URL); err != nil {
		return nil, err
	}

	// Then the call. Seen gets the body of every answer, also of refusals.
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "stayledger")

	answer, body, err := c.send(r.WithContext(ctx)) //nolint:bodyclose // It is closed there.
	if c.seen != nil {
		c.seen(r, body)
	}

	if err != nil {
		return nil, err
	}

	// The body comes before the status, because it says more.
	if c.fails != nil {
		if err := c.fails(answer.StatusCode, body); err != nil {
			return nil, err
		}
	}

	if err := statusError(answer); err != nil || into == nil {
		return answer.Header, err
	}

	return answer.Header, decodeBody(answer, body, into)
}

// send sends a request, reads its answer and closes it. It fails with an Error.
func (c *Caller) send(r *http.Request) (*http.Response, []byte, error) {
	answer, err := c.http.Do(r) //nolint:gosec // Package outbound decides which addresses are called.
	if err != nil {
		return nil, nil, networkError(err)
	}

	defer func() { _ = answer.Body.Close() }()

	body, err := readBody(answer)

	return answer, body, err
}

// readBody reads the body of an answer. It fails with an Error.
func readBody(answer *http.Response) ([]byte, error) {
	var body bytes.Buffer

	// The length comes from the system, and is negative if unknown. Trust it for the first allocation only up to a
	// bound.
	const most = 1 << 20

	body.Grow(int(min(max(answer.ContentLength, 0), most)) + bytes.MinRead)

	// One byte more than the bound, to notice an answer that is longer.
	n, err := body.ReadFrom(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, networkError(err)
	case n > maxAnswer:
		return nil, ErrTooLarge
	}

	return body.Bytes(), nil
}

// count counts a call to an address. It fails with an ErrLimited for a call beyond the limit, or as Take does.
func (c *Caller) count(ctx context.Context, to *url.URL) error {
	if c.take == nil || c.limit.Calls == 0 {
		return nil
	}

	err := c.take(ctx, outbound.HostName(to), c.limit)
	if limited, is := errors.AsType[*outbound.LimitedError](err); is {
		return &Error{Kind: ErrLimited, Until: limited.Until}
	}

	return err
}

// Unmarshal decodes an answer by the rules of encoding/json in half the time. Pages of reservations are long, and a
// sync without changes spends most of its time here.
func Unmarshal(content []byte, into any) error {
	return jsonv1.Unmarshal(content, into) //nolint:wrapcheck // Callers replace the error with one of theirs.
}

// decodeBody decodes the body of an answer. It fails with ErrNotJSON, ErrNotUTF8 or ErrShape.
func decodeBody(answer *http.Response, body []byte, into any) error {
	// A status of 200 alone proves nothing: proxies answer with it too.
	media, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return ErrNotJSON
	}

	if !utf8.Valid(body) {
		return ErrNotUTF8
	}

	if err := Unmarshal(body, into); err != nil {
		return ErrShape
	}

	return nil
}

// statusError returns the error that a status means, nil for a success.
func statusError(r *http.Response) error {
	e := &Error{Status: r.StatusCode}

	switch {
	case r.StatusCode >= 200 && r.StatusCode < 300:
		return nil
	case r.StatusCode == http.StatusUnauthorized, r.StatusCode == http.StatusForbidden:
		e.Kind = ErrCredentials
	case r.StatusCode == http.StatusTooManyRequests:
		e.Kind, e.Until = ErrLimited, retryAfter(r.Header)
	case r.StatusCode == http.StatusGone:
		e.Kind = ErrCursor
	case r.StatusCode >= 400 && r.StatusCode < 500 && r.StatusCode != http.StatusRequestTimeout:
		e.Kind = fmt.Errorf("%w: status %d", ErrRefused, r.StatusCode)
	default:
		e.Kind = fmt.Errorf("%w: status %d", ErrUnavailable, r.StatusCode)
	}

	return e
}

// retryAfter returns when calls are taken again.
func retryAfter(h http.Header) time.Time {
	pause := limitPause
	if seconds, err := strconv.Atoi(h.Get("Retry-After")); err == nil && seconds >= 0 {
		pause = min(time.Duration(seconds)*time.Second, maxPause)
	}

	return time.Now().Add(pause)
}
