package pms

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	jsonv1 "github.com/go-json-experiment/json/v1"

	"stayledger/platform/outbound"
)

// maxAnswer is how many bytes an answer can have, after it was unpacked.
const maxAnswer = 16 << 20

// The pauses after a refusal of too many calls: what the system asks for, at most an hour, or else a while.
const (
	maxPause   = time.Hour
	limitPause = 10 * time.Second
)

// patience is how long a call waits for its turn: the steps between calls are shorter, so that a reading goes on.
const patience = 5 * time.Second

// Caller sends the requests of a client. It is safe for use by many goroutines.
type Caller struct {
	http   *http.Client
	within time.Duration
	// budgets are the limits of calls that each request counts against: those of the host and of the account.
	budgets []*outbound.Budget
	// fails returns the error that the body of an answer means, nil for none; nil if the status says everything.
	fails func(status int, body []byte) error
	seen  func(r *http.Request, body []byte)
}

// Options are those of a Caller.
type Options struct {
	// AllowPrivate lets it call private addresses and without TLS, such as a sandbox on the same machine.
	AllowPrivate bool
	// Within shortens the time that a call may take; 0 and more than Timeout are Timeout.
	Within time.Duration
	// Budgets are the limits of calls that each request counts against.
	Budgets []*outbound.Budget
	// Fails returns the error that the body of an answer means, nil for none: for systems that say so with status 200, or
	// with statuses that mean something of their own.
	Fails func(status int, body []byte) error
	// Seen is called after each request with the body of its answer, nil for none; nil calls nothing.
	Seen func(r *http.Request, body []byte)
}

// NewCaller returns a caller and makes no call.
func NewCaller(o Options) *Caller {
	if o.Within <= 0 || o.Within > Timeout {
		o.Within = Timeout
	}

	return &Caller{http: outbound.Client(o.AllowPrivate), within: o.Within, budgets: o.Budgets, fails: o.Fails, seen: o.Seen}
}

// Do sends a request, reads its answer and decodes it as JSON, unless into is nil. It returns the headers of the answer,
// and fails with an Error.
func (c *Caller) Do(ctx context.Context, r *http.Request, into any) (http.Header, error) {
	ctx, stop := context.WithTimeout(ctx, c.within)
	defer stop()

	// First the limits: a call beyond one is not even sent.
	for _, b := range c.budgets {
		if err := take(ctx, b); err != nil {
			return nil, err
		}
	}

	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "stayledger")

	answer, body, err := c.send(r.WithContext(ctx)) //nolint:bodyclose // It is closed there.
	if c.seen != nil {
		c.seen(r, body)
	}

	if err != nil {
		return nil, err
	}

	if c.fails != nil {
		if err := c.fails(answer.StatusCode, body); err != nil {
			return nil, err
		}
	}

	if err := statusError(answer); err != nil || into == nil {
		return answer.Header, err
	}

	return answer.Header, decode(answer, body, into)
}

// send sends a request, reads its answer and closes it. It fails with an Error.
func (c *Caller) send(r *http.Request) (*http.Response, []byte, error) {
	answer, err := c.http.Do(r) //nolint:gosec // Package outbound decides which addresses are called.
	if err != nil {
		return nil, nil, networkError(err)
	}

	defer func() { _ = answer.Body.Close() }()

	body, err := read(answer)

	return answer, body, err
}

// read reads the body of an answer. It fails with an Error.
func read(answer *http.Response) ([]byte, error) {
	var body bytes.Buffer

	// The system gives the length, which is negative if it is unknown: only so much is made ready before it comes.
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

// take counts a call against a budget, and waits for its turn if that comes soon. It fails with an Error.
func take(ctx context.Context, b *outbound.Budget) error {
	latest := time.Now().Add(patience)

	for {
		until, free := b.Take(time.Now())
		if free {
			return nil
		}

		if until.After(latest) {
			return &Error{Kind: ErrLimited, Until: until}
		}

		select {
		case <-time.After(time.Until(until)):
		case <-ctx.Done():
			return &Error{Kind: ErrLimited, Until: until}
		}
	}
}

// Unmarshal reads what a system answers by the rules of encoding/json, in half the time: pages of reservations are long, and
// a sync that finds nothing new does little else.
func Unmarshal(content []byte, into any) error {
	return jsonv1.Unmarshal(content, into) //nolint:wrapcheck // Callers replace the error with one of theirs.
}

// decode decodes the body of an answer.
func decode(answer *http.Response, body []byte, into any) error {
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
