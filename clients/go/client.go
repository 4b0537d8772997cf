// Package stayledger is a client of the stayledger API, with a method for each of its endpoints.
//
// Client sends a request again when that is safe, makes the idempotency key of each POST that takes one, and returns
// every failure as an *Error. Rows reads a list to its end, Wait waits for an operation, Download streams a file.
package stayledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Client calls one service with one key. Its fields must not change while it is in use.
type Client struct {
	BaseURL    string       // such as https://api.example.com
	APIKey     string       // of a team or a partner
	Team       string       // selects the team when the key reaches several
	HTTPClient *http.Client // nil means http.DefaultClient
}

// Error is an answer of status 400 and above. Branch on Status, Code and Reason, never on Message.
type Error struct {
	Status    int           `json:"-"`
	Code      string        `json:"code"`
	Reason    string        `json:"reason"` // business rule, or empty
	Message   string        `json:"message"`
	Issues    []Issue       `json:"issues"`
	Context   *ErrorContext `json:"context"` // nil for none
	RequestID string        `json:"requestId"`
	Docs      string        `json:"docs"` // page about the failure; empty for that of an operation
	Retryable bool          `json:"retryable"`
}

// Error returns the failure in one line.
func (e *Error) Error() string {
	return fmt.Sprintf("stayledger: %d %s: %s (request %s)", e.Status, cmp.Or(e.Reason, e.Code), e.Message, e.RequestID)
}

// Wait waits until an operation has ended. The failure of an operation is an *Error without a status.
func (c *Client) Wait(ctx context.Context, operation Id) (o *OperationDetail, err error) {
	seconds := int64(20)

	// A service that is about to stop answers at once, so there is a pause between requests.
	for ; err == nil; err = sleep(ctx, 100*time.Millisecond) {
		o, err = c.GetOperation(ctx, operation, &GetOperationParams{WaitSeconds: &seconds})

		switch {
		case err != nil || o.Status == OperationStatusCompleted:
			return o, err
		case o.Status == OperationStatusFailed && o.Failure != nil:
			return o, &Error{Code: o.Failure.Code, Message: o.Failure.Message}
		case o.Status == OperationStatusFailed:
			return o, &Error{Code: "operationFailed", Message: "Operation failed"}
		}
	}

	return nil, err
}

// FileURL returns the path of the file that an operation has made, or "".
func (o *OperationDetail) FileURL() string {
	for _, r := range o.Resources {
		if r.Url != nil {
			return *r.Url
		}
	}

	return ""
}

// Download writes the file at the path of an operation's result, or at the link of an export, to w.
func (c *Client) Download(ctx context.Context, at string, w io.Writer) error {
	resp, err := c.do(ctx, call{method: http.MethodGet, path: at})
	if err != nil {
		return err
	}

	_, err = io.Copy(w, resp.Body)

	return errors.Join(err, resp.Body.Close())
}

// Rows returns the rows of a list from page to page. The list is a method such as client.ListReservations, and params
// selects and sorts as it does there.
func Rows[T any, K int64 | string, P interface{ page() ([]T, *K) }, S interface{ from(key K) *S }](
	ctx context.Context, list func(context.Context, *S) (P, error), params *S,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for at := cmp.Or(params, new(S)); ; {
			page, err := list(ctx, at)
			if err != nil {
				yield(*new(T), err)
				return
			}

			rows, next := page.page()
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}

			// The last page names no other.
			if next == nil {
				return
			}

			at = (*at).from(*next)
		}
	}
}

type nullKey struct{}

// WithNull returns a context in which bodies of requests have null in the fields, which clears them: a nil pointer leaves
// a field out, and what it was stays.
func WithNull(ctx context.Context, fields ...string) context.Context {
	return context.WithValue(ctx, nullKey{}, fields)
}

// call is a request as the generated methods describe it.
type call struct {
	method, path string
	takesKey     bool // it takes an Idempotency-Key
	params       any  // a pointer to a struct, or nil
	body         any  // sent as JSON, or as it is if it has a contentType and is an io.Reader
	contentType  string
}

// send sends a call and decodes its answer into the first of answers, or into the last one if work goes on after it.
func (c *Client) send(ctx context.Context, r call, answers ...any) error {
	resp, err := c.do(ctx, r)
	if err != nil {
		return err
	}

	defer func() { _ = resp.Body.Close() }()

	switch {
	case len(answers) == 0 || resp.StatusCode == http.StatusNoContent:
		return nil
	case resp.StatusCode == http.StatusAccepted:
		return json.NewDecoder(resp.Body).Decode(answers[len(answers)-1])
	default:
		return json.NewDecoder(resp.Body).Decode(answers[0])
	}
}

// do sends a call until it succeeds, four times more at most, only when that is safe and within a minute each.
func (c *Client) do(ctx context.Context, r call) (*http.Response, error) {
	req, err := c.newRequest(ctx, r)
	if err != nil {
		return nil, err
	}

	for wait, retries := 250*time.Millisecond, 4; ; wait, retries = 2*wait, retries-1 {
		resp, err := cmp.Or(c.HTTPClient, http.DefaultClient).Do(req)
		if err == nil && resp.StatusCode < http.StatusBadRequest {
			return resp, nil
		}

		// The service says how long to wait; without an answer the pauses grow.
		isSafe := canRepeat(req, resp)
		if err == nil {
			seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
			wait, err = max(wait, time.Duration(seconds)*time.Second), readError(resp)
		}

		// The random part keeps clients from coming back all at once.
		if retries == 0 || !isSafe || wait > time.Minute || sleep(ctx, wait+mathrand.N(wait/4)) != nil { //nolint:gosec // it is no secret
			return nil, err
		}

		if req.GetBody != nil {
			req.Body, _ = req.GetBody() // of bytes, which does not fail
		}
	}
}

// canRepeat reports whether a request can be sent again after an answer, or after none: what it changes is changed once,
// and its body can be read again.
func canRepeat(req *http.Request, resp *http.Response) bool {
	isGet := req.Method == http.MethodGet
	if !isGet && req.Header.Get("Idempotency-Key") == "" || req.Body != nil && req.GetBody == nil {
		return false
	}

	return resp == nil || resp.StatusCode == http.StatusTooManyRequests ||
		resp.StatusCode == http.StatusServiceUnavailable || isGet && resp.StatusCode == http.StatusGatewayTimeout
}

// sleep waits, and fails if the context ends before.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// readError reads the failure in an answer. One that does not come from the service has no code.
func readError(resp *http.Response) error {
	defer func() { _ = resp.Body.Close() }()

	e := &Error{}
	if json.NewDecoder(resp.Body).Decode(e) != nil {
		e = &Error{Message: http.StatusText(resp.StatusCode)}
	}

	e.Status, e.RequestID = resp.StatusCode, cmp.Or(e.RequestID, resp.Header.Get("X-Request-Id"))

	return e
}

// newRequest returns the request of a call. The key goes to the service only: a link can lead to another host.
func (c *Client) newRequest(ctx context.Context, r call) (*http.Request, error) {
	body, isReader := r.body.(io.Reader)
	if r.body != nil && !isReader {
		text, err := marshal(ctx, r.body)
		if err != nil {
			return nil, err
		}

		body = bytes.NewReader(text)
	}

	base, at := strings.TrimSuffix(c.BaseURL, "/"), r.path
	if strings.HasPrefix(at, "/") {
		at = base + at
	}

	req, err := http.NewRequestWithContext(ctx, r.method, at, body)
	if err != nil {
		return nil, err
	}

	if strings.HasPrefix(at, base+"/") {
		req.Header.Set("X-Api-Key", c.APIKey)

		if c.Team != "" {
			req.Header.Set("X-Team-Id", c.Team)
		}
	}

	if body != nil {
		req.Header.Set("Content-Type", cmp.Or(r.contentType, "application/json"))
	}

	if r.takesKey {
		req.Header.Set("Idempotency-Key", rand.Text()) // unless params have one
	}

	return req, addParams(req, r.params)
}

// marshal returns the JSON of a body, with the nulls of WithNull.
func marshal(ctx context.Context, body any) ([]byte, error) {
	text, err := json.Marshal(body)

	fields, _ := ctx.Value(nullKey{}).([]string)
	if err != nil || len(fields) == 0 {
		return text, err
	}

	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}

	for _, name := range fields {
		object[name] = nil // is written as null
	}

	return json.Marshal(object)
}

// addParams adds parameters to a request. Their JSON is an object of those that were given; a list is a CSV record.
func addParams(req *http.Request, params any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}

	var given map[string]any

	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&given)
	query := req.URL.Query()

	for name, value := range given {
		if list, isList := value.([]any); isList {
			value = record(list)
		}

		// Headers have a hyphen in their names, parameters of the query have none.
		if strings.Contains(name, "-") {
			req.Header.Set(name, fmt.Sprint(value))
		} else {
			query.Set(name, fmt.Sprint(value))
		}
	}

	req.URL.RawQuery = query.Encode()

	return err
}

// record returns a list as a CSV record.
func record(list []any) string {
	fields := make([]string, len(list))
	for i := range list {
		fields[i] = fmt.Sprint(list[i])
	}

	var b strings.Builder

	w := csv.NewWriter(&b)
	_ = w.Write(fields) // a strings.Builder takes everything
	w.Flush()

	return strings.TrimSuffix(b.String(), "\n")
}
