package pay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"stayledger/platform/outbound"
)

// HTTPSettings are the settings of a connection to an HTTP provider.
type HTTPSettings struct {
	// BaseURL is where the protocol starts: the path /v1/payments is put behind it.
	BaseURL string `json:"baseUrl"`
}

// HTTPCredentials are its secrets.
type HTTPCredentials struct {
	APIKey string `json:"apiKey"`
	// CallbackSecret signs the provider's callbacks; without it no callback is believed.
	CallbackSecret string `json:"callbackSecret,omitempty"`
}

// HTTPOption changes what an HTTP provider may do.
type HTTPOption func(*httpProvider)

// AllowPrivate lets an HTTP provider be called at private addresses and without TLS, such as the sandbox on the
// same machine. It is the operator's choice and never a team's.
func AllowPrivate(allow bool) HTTPOption {
	return func(p *httpProvider) { p.private = allow }
}

// Within shortens the time that a call may take; 0 and more than Timeout mean Timeout.
func Within(d time.Duration) HTTPOption {
	return func(p *httpProvider) {
		if d > 0 && d < Timeout {
			p.timeout = d
		}
	}
}

const (
	parallel  = 4       // payments of a batch that are on their way at a time
	maxAnswer = 1 << 20 // bytes that are read of an answer
)

type httpProvider struct {
	base    string
	key     string
	private bool
	timeout time.Duration
	client  *http.Client
}

// NewHTTP returns a provider that is called over the network, as docs/guides/payment-provider.md says. It fails
// with a SettingsError. Every call takes at most Timeout and follows no redirect, and its errors contain nothing of
// the request or the answer.
func NewHTTP(settings, credentials json.RawMessage, options ...HTTPOption) (Provider, error) {
	var s HTTPSettings
	if err := decodeSettings(settings, &s, "settings"); err != nil {
		return nil, err
	}

	var c HTTPCredentials
	if err := decodeSettings(credentials, &c, "credentials"); err != nil {
		return nil, err
	}

	// The options come before the address, because AllowPrivate decides which addresses are allowed.
	p := &httpProvider{key: c.APIKey, timeout: Timeout}
	for _, option := range options {
		option(p)
	}

	if err := p.address(s.BaseURL); err != nil {
		return nil, err
	}

	// The key goes into a header, so it must not have blanks or line ends.
	if !outbound.Printable(c.APIKey, 500) {
		return nil, &SettingsError{Field: "apiKey", Problem: "is missing or holds characters that no key has"}
	}

	// The secret is only checked here: callbacks are read with VerifyCallback.
	if c.CallbackSecret != "" {
		if _, err := callbackKey(c.CallbackSecret); err != nil {
			return nil, err
		}
	}

	p.client = outbound.Client(p.private)

	return p, nil
}

// address checks the address of the provider and sets it. It fails with a SettingsError.
func (p *httpProvider) address(base string) error {
	refuse := func(problem string) error { return &SettingsError{Field: "baseUrl", Problem: problem} }

	u, err := url.Parse(base)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return refuse("is not an address such as https://pay.example.com")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return refuse("has more than a host and a path")
	case u.Scheme != "https" && (u.Scheme != "http" || !p.private):
		return refuse("does not start with https://")
	}

	p.base = strings.TrimSuffix(u.String(), "/")

	return nil
}

// Check asks the provider whether it would take payments. It fails with ErrNotReady if the provider says that it
// would not.
func (p *httpProvider) Check(ctx context.Context) error {
	var s wireStatus
	if err := p.call(ctx, request{method: http.MethodGet, path: "/v1/status"}, &s); err != nil {
		return fmt.Errorf("check: %w", withoutRefusal(err))
	}

	switch s.Status {
	case "ready":
		return nil
	case "notReady":
		return fmt.Errorf("check: %w", ErrNotReady)
	default:
		return fmt.Errorf("check: %w", ErrUnavailable)
	}
}

// withoutRefusal turns a refusal into ErrUnavailable, for questions that move no money: a provider that speaks the
// protocol refuses none of them.
func withoutRefusal(err error) error {
	if errors.Is(err, ErrRefused) {
		return ErrUnavailable
	}

	return err
}

// VerifyAccount asks the provider whether money can reach an account.
func (p *httpProvider) VerifyAccount(ctx context.Context, key string, a Account) (Verification, error) {
	var v wireVerified

	r := request{
		method: http.MethodPost,
		path:   "/v1/account-verifications",
		key:    key,
		body:   wireVerification{Account: a},
	}
	if err := p.call(ctx, r, &v); err != nil {
		return "", fmt.Errorf("verify account: %w", err)
	}

	// An answer that the protocol does not have says nothing about the account.
	if v.Result != Verified && v.Result != Rejected {
		return "", fmt.Errorf("verify account: %w", ErrUnavailable)
	}

	return v.Result, nil
}

// Submit sends every payment in a request of its own, at most four at a time. It stops at the first payment with an
// unknown outcome; the receipt has the outcomes that are known.
func (p *httpProvider) Submit(ctx context.Context, b Batch) (Receipt, error) {
	s := &submission{payments: b.Payments, outcomes: make([]*Outcome, len(b.Payments))}

	// Each worker takes the next payment until none is left, or until one has failed.
	var group sync.WaitGroup
	for range min(parallel, len(b.Payments)) {
		group.Go(func() {
			for i, more := s.take(ctx); more; i, more = s.take(ctx) {
				s.settle(i, p.submit(ctx, &b.Payments[i]))
			}
		})
	}

	group.Wait()

	return s.receipt()
}

// submission is a batch while it is being sent. After the first failure no more payments are sent; those on their
// way are waited for.
type submission struct {
	payments []Payment

	mu       sync.Mutex
	next     int
	outcomes []*Outcome
	err      error
}

type submitResult struct {
	outcome Outcome
	err     error
}

// take returns the index of the next payment to send. It returns false if all were sent, if one has failed, or if
// ctx has ended.
func (s *submission) take(ctx context.Context) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.err != nil || s.next == len(s.payments) {
		return 0, false
	}

	// The end of ctx counts as a failure: the outcome of the payments that are left is not known.
	if err := ctx.Err(); err != nil {
		s.err = networkError(err)
		return 0, false
	}

	s.next++

	return s.next - 1, true
}

// settle notes the result of a payment. Of the failures the first one is kept.
func (s *submission) settle(i int, r submitResult) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if r.err == nil {
		s.outcomes[i] = &r.outcome
	} else if s.err == nil {
		s.err = r.err
	}
}

// receipt returns the outcomes that are known, and the first failure.
func (s *submission) receipt() (Receipt, error) {
	r := Receipt{Outcomes: make([]Outcome, 0, len(s.outcomes))}
	for _, o := range s.outcomes {
		if o != nil {
			r.Outcomes = append(r.Outcomes, *o)
		}
	}

	if s.err != nil {
		return r, fmt.Errorf("submit payments: %w", s.err)
	}

	return r, nil
}

// submit sends a payment. A refusal is an outcome; every other failure leaves the outcome unknown.
func (p *httpProvider) submit(ctx context.Context, y *Payment) submitResult {
	var w wirePayment

	r := request{method: http.MethodPost, path: "/v1/payments", key: y.Key, body: wireOrder{
		Amount: y.Amount, Currency: y.Currency, Date: y.Date, Memo: y.Memo, Recipient: y.Recipient,
	}}
	if err := p.call(ctx, r, &w); err != nil {
		// The provider has refused this payment for good, and nothing was moved.
		if refused, is := errors.AsType[*RefusedError](err); is {
			return submitResult{outcome: Outcome{Key: y.Key, State: Failed, Code: refused.Code}}
		}

		if errors.Is(err, ErrUnknown) {
			err = ErrUnavailable // no answer to an order
		}

		return submitResult{err: err}
	}

	// An answer about another payment must not settle this one.
	o, err := w.outcome()
	if err != nil || o.Key != y.Key {
		return submitResult{err: ErrUnavailable}
	}

	return submitResult{outcome: o}
}

// Find asks the provider for the payments of a key. It fails with ErrUnknown if there are none.
func (p *httpProvider) Find(ctx context.Context, key string) (Outcome, error) {
	w, err := p.find(ctx, key)
	if err != nil {
		return Outcome{}, fmt.Errorf("find payment: %w", err)
	}

	o, err := w.outcome(key)
	if err != nil {
		return Outcome{}, fmt.Errorf("find payment: %w", err)
	}

	return o, nil
}

// find asks for the payments of a key and returns them as they came.
func (p *httpProvider) find(ctx context.Context, key string) (wirePayments, error) {
	var w wirePayments

	err := p.call(ctx, request{method: http.MethodGet, path: "/v1/payments?key=" + url.QueryEscape(key)}, &w)

	return w, withoutRefusal(err)
}

// Cancel takes back every payment under a key that has not settled. It returns the outcome of the key afterwards,
// which may be that a payment was not cancelled in time.
func (p *httpProvider) Cancel(ctx context.Context, key string) (Outcome, error) {
	// One limit for all calls together: the caller waits no longer than for any other call.
	ctx, stop := context.WithTimeout(ctx, p.timeout)
	defer stop()

	// First, find them: the protocol cancels by the provider's identifiers, and a key can have several payments.
	held, err := p.find(ctx, key)
	if err == nil {
		_, err = held.outcome(key)
	}

	if err != nil {
		return Outcome{}, fmt.Errorf("find payment to cancel: %w", err)
	}

	// Then cancel those that may still be in time. Each answer replaces the state that was found before.
	for i := range held.Payments {
		w := &held.Payments[i]
		if w.State != Submitted {
			continue
		}

		id := w.ID

		path := "/v1/payments/" + url.PathEscape(id) + "/cancel"
		if err := p.call(ctx, request{method: http.MethodPost, path: path, key: "cancel-" + id}, w); err != nil {
			return Outcome{}, fmt.Errorf("cancel payment: %w", err)
		}
	}

	// The answers are checked like those of Find before one is believed.
	o, err := held.outcome(key)
	if err != nil {
		return Outcome{}, fmt.Errorf("cancel payment: %w", err)
	}

	return o, nil
}

type request struct {
	method string
	path   string // behind the base, with its query
	key    string // the idempotency key, for a POST
	body   any
}

// call sends a request and decodes its answer. It fails with one of the errors of providers.
func (p *httpProvider) call(ctx context.Context, r request, into any) error {
	ctx, stop := context.WithTimeout(ctx, p.timeout)
	defer stop()

	req, err := p.request(ctx, r)
	if err != nil {
		return err
	}

	resp, err := p.client.Do(req)
	if err != nil {
		return networkError(err)
	}

	defer func() { _ = resp.Body.Close() }()

	// One byte more than the bound, to notice an answer that is longer.
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return networkError(err)
	}

	if len(content) > maxAnswer {
		return fmt.Errorf("%w: its answer is too large", ErrUnavailable)
	}

	// Only these two statuses are a success; redirects are not followed.
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		return failure(resp.StatusCode, content)
	}

	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%w: its answer is not of the protocol", ErrUnavailable)
	}

	return nil
}

// request builds the HTTP request with its key and headers. It fails with a RefusedError if the body cannot be
// encoded: then nothing was sent.
func (p *httpProvider) request(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		content, err := json.Marshal(r.body)
		if err != nil {
			return nil, &RefusedError{Code: "invalidPayment"} // such as a date outside the calendar; it was not sent
		}

		body = bytes.NewReader(content)
	}

	req, err := http.NewRequestWithContext(ctx, r.method, p.base+r.path, body)
	if err != nil {
		return nil, &SettingsError{Field: "baseUrl", Problem: "is not an address such as https://pay.example.com"}
	}
	// The caller decides whether a request is sent again, and not the transport.
	req.GetBody = nil
	req.Header.Set("Authorization", "Bearer "+p.key)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "stayledger")

	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}

	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}

	return req, nil
}

// failure returns the error that an unsuccessful answer means. Only a refusal in the words of the protocol is a
// refusal: a proxy's 404 must not pass for "nothing was moved".
func failure(status int, content []byte) error {
	var e wireError
	if err := json.Unmarshal(content, &e); err != nil {
		e.Error.Code = ""
	}

	// The order counts: the first three cases are 4xx statuses too, but no refusals of a payment.
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return ErrCredentials
	case status == http.StatusNotFound && e.Error.Code == codeUnknown:
		return ErrUnknown
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		return fmt.Errorf("%w: status %d", ErrUnavailable, status)
	case status >= 400 && status < 500 && !slices.Contains(undecided, e.Error.Code):
		return &RefusedError{Code: tidyCode(e.Error.Code)}
	default:
		return fmt.Errorf("%w: status %d", ErrUnavailable, status)
	}
}

// networkError returns the error that a missing answer means: ErrTimeout, or ErrUnavailable with its cause.
func networkError(err error) error {
	switch cause := outbound.Cause(err); {
	case cause == nil:
		return ErrUnavailable
	case errors.Is(cause, outbound.ErrTimeout):
		return ErrTimeout
	default:
		return fmt.Errorf("%w: %w", ErrUnavailable, cause)
	}
}
