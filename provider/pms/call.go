package pms

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	jsonv1 "github.com/go-json-experiment/json/v1"

	"stayledger/platform/outbound"
)

// maxAnswer bounds the bytes of an answer after decompression. A page of a thousand stays, as long as they come, has half
// of it.
const maxAnswer = 8 << 20

// bodies are buffers that answers are read into. One that no more than longAnswer has fit into is reused.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// longAnswer is the length from which an answer waits until the memory of the one before is free: a system whose pages
// are all as long as they may be would else take twice the memory.
const longAnswer = 2 << 20

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
	// Seen is called after each request with the body of its answer, nil for none, which it must not keep; nil calls
	// nothing.
	Seen func(r *http.Request, body []byte)
}

// NewCaller returns a caller and makes no call.
func NewCaller(o Options) *Caller {
	// A caller can wait for less than the system may take, and not for more.
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

	buffer, _ := bodies.Get().(*[]byte)

	// Long buffers are left to the garbage collector: a pool would keep all of them.
	defer func() {
		if cap(*buffer) <= longAnswer {
			bodies.Put(buffer)
		}
	}()

	answer, body, err := c.send(r.WithContext(ctx), buffer) //nolint:bodyclose // It is closed there.
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

// send sends a request, reads its answer into a buffer and closes it. It fails with an Error.
func (c *Caller) send(r *http.Request, into *[]byte) (*http.Response, []byte, error) {
	answer, err := c.http.Do(r) //nolint:gosec // Package outbound decides which addresses are called.
	if err != nil {
		return nil, nil, networkError(err)
	}

	defer func() { _ = answer.Body.Close() }()

	// Without its body an answer is none.
	if err := readBody(answer, into); err != nil {
		return answer, nil, err
	}

	return answer, *into, nil
}

// readBody reads the body of an answer into a buffer, which grows to what it takes. It fails with an Error.
func readBody(answer *http.Response, into *[]byte) error {
	body := (*into)[:0]
	defer func() { *into = body }()

	for {
		// One byte more than the bound, to notice an answer that is longer.
		if len(body) == cap(body) {
			// Twice as much follows, so what earlier answers have left goes first.
			if cap(body) == longAnswer {
				runtime.GC()
			}

			body = append(make([]byte, 0, min(max(2*cap(body), 64<<10), maxAnswer+1)), body...)
		}

		n, err := answer.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]

		switch {
		case len(body) > maxAnswer:
			return ErrTooLarge
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return networkError(err)
		}
	}
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
