// Package apicall calls the API from a command line: it builds a request from words, repeats reads, follows pages, waits
// for operations, fetches files, and prints answers and failures so that people and scripts can use them.
//
// A request that writes is sent once. It carries an Idempotency-Key, with which a caller who got no answer can send it
// again and have it done once.
package apicall

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Client calls one service with one credential.
type Client struct {
	BaseURL string
	APIKey  string
	Token   string // bearer token of a user
	Team    string // selects the team if the credential reaches several

	// Trace gets the heads of requests and answers, with hidden credentials. Nil prints none.
	Trace io.Writer
	// Waiting hears how far an operation is while it goes on, and that it has ended. Nil asks for nothing.
	Waiting func(Progress)
}

// Progress is how far an operation is.
type Progress struct {
	Type     string
	Done     int64
	Total    *int64 // nil while it is unknown
	HasEnded bool
}

// Request is one request to the service.
type Request struct {
	Method string
	// Path begins with a slash, or is an address as answers name it. It can have a query.
	Path   string
	Query  url.Values
	Header http.Header
	Body   Body
	// IdempotencyKey of a POST; a new one if empty.
	IdempotencyKey string
}

// tries is how often a read is sent at most, patience how long it may be repeated.
const (
	tries    = 5
	patience = 2 * time.Minute
)

// errLost is an answer that did not arrive, errUnreachable a service that cannot be reached.
var (
	errLost        = errors.New("no answer arrived")
	errUnreachable = errors.New("cannot be reached")
)

// caller sends requests. It follows redirects, as to a store of files, without taking a credential to another host: Go
// itself takes away only those that it knows.
var caller = &http.Client{CheckRedirect: func(next *http.Request, before []*http.Request) error {
	if len(before) >= maxRedirects {
		return errRedirects
	}

	if next.URL.Host != before[0].URL.Host {
		next.Header.Del("X-Api-Key")
		next.Header.Del("X-Team-Id")
	}

	return nil
}}

// maxRedirects is how many redirects are followed.
const maxRedirects = 10

var errRedirects = errors.New("too many redirects")

// Do sends a request and returns an answer below 400, with an open body. It repeats a GET if the connection broke, or if
// the service says after how long (429 and 503 with Retry-After). Any other answer is a *FailureError.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return c.send(ctx, r)
	}

	answer, err := backoff.Retry(ctx, func() (*http.Response, error) {
		answer, err := c.send(ctx, r)
		return answer, repeatable(err)
	}, backoff.WithMaxTries(tries), backoff.WithMaxElapsedTime(patience))

	// What the repetition needs to know is no part of the failure.
	if f, isFailure := errors.AsType[*FailureError](err); isFailure {
		return nil, f
	}

	return answer, err
}

// repeatable marks the error of a GET for the repetition: permanent, or with the pause that the service asks for.
func repeatable(err error) error {
	f, isFailure := errors.AsType[*FailureError](err)

	switch {
	case err == nil || errors.Is(err, errLost):
		return err
	case isFailure && f.retryAfter > 0:
		return errors.Join(f, backoff.RetryAfter(f.retryAfter))
	default:
		return backoff.Permanent(err)
	}
}

// send sends a request once.
func (c *Client) send(ctx context.Context, r Request) (*http.Response, error) {
	request, err := c.newRequest(ctx, r)
	if err != nil {
		return nil, err
	}

	c.trace(">", request.Method+" "+request.URL.String(), request.Header)

	answer, err := caller.Do(request)
	if err != nil {
		return nil, c.explain(request, err)
	}

	c.trace("<", answer.Status, answer.Header)

	if answer.StatusCode >= http.StatusBadRequest {
		return nil, readFailure(request, answer)
	}

	return answer, nil
}

// explain says what a request without an answer means for the caller.
func (c *Client) explain(request *http.Request, err error) error {
	dial, isDial := errors.AsType[*net.OpError](err)

	switch key := request.Header.Get("Idempotency-Key"); {
	case request.Context().Err() != nil:
		return request.Context().Err()
	case isDial && dial.Op == "dial":
		return fmt.Errorf("%s %w: %w; is the service running there?", c.BaseURL, errUnreachable, dial.Err)
	case key != "":
		return fmt.Errorf("%w: %w; the request may have been carried out: with --idempotency-key=%s it can be sent again and "+
			"is done once", errLost, err, key)
	default:
		return fmt.Errorf("%w: %w", errLost, err)
	}
}

// newRequest builds the HTTP request. Credentials go to the service only: a link of an answer can lead elsewhere.
func (c *Client) newRequest(ctx context.Context, r Request) (*http.Request, error) {
	base, at := strings.TrimSuffix(c.BaseURL, "/"), r.Path

	isElsewhere := strings.Contains(at, "://") && !strings.HasPrefix(at, base+"/")
	if !strings.Contains(at, "://") {
		at = base + "/" + strings.TrimPrefix(at, "/")
	}

	body, err := r.Body.open()
	if err != nil {
		return nil, err
	}

	request, err := http.NewRequestWithContext(ctx, r.Method, at, body)
	if err != nil {
		return nil, fmt.Errorf("the address %q: %w", at, err)
	}

	// Keep the order of a query in the path: the link of a file is signed as it is.
	if len(r.Query) > 0 {
		request.URL.RawQuery = strings.TrimPrefix(request.URL.RawQuery+"&"+r.Query.Encode(), "&")
	}

	if isElsewhere {
		return request, nil
	}

	c.addHeaders(request, r)

	return request, nil
}

// addHeaders sets the headers that go to the service alone. Those of the caller replace them.
func (c *Client) addHeaders(request *http.Request, r Request) {
	set := func(name, value string) {
		if value != "" {
			request.Header.Set(name, value)
		}
	}

	set("X-Api-Key", c.APIKey)
	set("X-Team-Id", c.Team)
	set("Content-Type", r.Body.contentType)

	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}

	if r.Method == http.MethodPost {
		key := r.IdempotencyKey
		if key == "" {
			key = rand.Text()
		}

		request.Header.Set("Idempotency-Key", key)
	}

	for name, values := range r.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
}

// secretHeaders are those with values that traces hide.
var secretHeaders = map[string]bool{"X-Api-Key": true, "Authorization": true, "Set-Cookie": true}

// trace prints the head of a request or an answer.
func (c *Client) trace(mark, line string, header http.Header) {
	if c.Trace == nil {
		return
	}

	_, _ = fmt.Fprintln(c.Trace, mark, line)

	for _, name := range sortedKeys(header) {
		value := strings.Join(header[name], ", ")
		if secretHeaders[name] {
			value = "(hidden)"
		}

		_, _ = fmt.Fprintf(c.Trace, "%s %s: %s\n", mark, name, value)
	}
}

// retrySeconds returns how long the service asks callers to wait, or 0.
func retrySeconds(answer *http.Response) int {
	if answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusServiceUnavailable {
		return 0
	}

	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))

	return seconds
}
