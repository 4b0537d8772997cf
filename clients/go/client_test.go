package stayledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	stayledger "stayledger/clients/go"
)

// service answers requests in turn with the given statuses, then with 200, and keeps what arrived.
type service struct {
	statuses []int
	requests []*http.Request
	bodies   []string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.requests = append(s.requests, r)
	s.bodies = append(s.bodies, string(body))

	w.Header().Set("X-Request-Id", "request-1")

	if n := len(s.requests); n <= len(s.statuses) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(s.statuses[n-1])
		_, _ = io.WriteString(w, `{"code": "SERVICE_UNAVAILABLE", "message": "Service is temporarily unavailable", "retryable": true}`)

		return
	}

	_, _ = io.WriteString(w, `{"data": []}`)
}

func start(t *testing.T, statuses ...int) (*service, *stayledger.Client) {
	t.Helper()

	s := &service{statuses: statuses}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)

	return s, &stayledger.Client{BaseURL: server.URL + "/", APIKey: "key", Team: "team"}
}

func TestRequestsAreSentAgainWhenThatIsSafe(t *testing.T) {
	t.Parallel()

	read := func(c *stayledger.Client) error {
		_, err := c.ListContacts(t.Context(), nil)
		return err
	}
	create := func(c *stayledger.Client) error {
		_, err := c.CreateContact(t.Context(), nil, stayledger.ContactCreate{Name: "Anna"})
		return err
	}
	remove := func(c *stayledger.Client) error { return c.DeleteContact(t.Context(), "1", nil) }

	for name, test := range map[string]struct {
		call     func(*stayledger.Client) error
		statuses []int
		sent     int
		status   int // of the failure, 0 for none
	}{
		"GET after 503":             {read, []int{503, 429}, 3, 0},
		"GET after 504":             {read, []int{504}, 2, 0},
		"GET after 500":             {read, []int{500}, 1, 500},
		"POST with a key after 503": {create, []int{503}, 2, 0},
		"POST with a key after 504": {create, []int{504}, 1, 504},
		"DELETE after 503":          {remove, []int{503}, 1, 503},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, c := start(t, test.statuses...)
			err := test.call(c)

			failure, _ := errors.AsType[*stayledger.Error](err)
			if len(s.requests) != test.sent || (err == nil) != (test.status == 0) || failure != nil && failure.Status != test.status {
				t.Errorf("sent %d times, %v; want %d times and status %d", len(s.requests), err, test.sent, test.status)
			}

			if failure != nil && (failure.RequestID != "request-1" || !failure.Retryable) {
				t.Errorf("the failure is %+v", failure)
			}

			first, last := s.requests[0].Header, s.requests[len(s.requests)-1].Header
			if key := "Idempotency-Key"; first.Get(key) != last.Get(key) || (first.Get(key) != "") != (s.requests[0].Method == http.MethodPost) {
				t.Errorf("keys %q and %q of a %s", first.Get(key), last.Get(key), s.requests[0].Method)
			}

			if s.bodies[0] != s.bodies[len(s.bodies)-1] {
				t.Errorf("bodies %q", s.bodies)
			}
		})
	}
}

func TestRequestsHaveTheirParameters(t *testing.T) {
	t.Parallel()

	s, c := start(t)
	limit, key := int64(10), "mine"

	_, _ = c.ListReservations(t.Context(), &stayledger.ListReservationsParams{Limit: &limit, UniqueRefs: []string{"a", `b,"c"`}})
	_, _ = c.CreateContact(t.Context(), &stayledger.CreateContactParams{IdempotencyKey: &key}, stayledger.ContactCreate{Name: "Anna"})
	_, _ = c.UpdateContact(stayledger.WithNull(t.Context(), "email"), "a/b", nil, stayledger.ContactUpdate{})
	_ = c.Download(t.Context(), strings.Replace(c.BaseURL, "127.0.0.1", "localhost", 1)+"links/1", io.Discard)

	sent := make([]string, len(s.requests))
	for i, r := range s.requests {
		sent[i] = r.Method + " " + r.RequestURI + " " + r.Header.Get("X-Api-Key") + " " + r.Header.Get("X-Team-Id") + " " + s.bodies[i]
	}

	want := []string{
		"GET /reservations?limit=10&uniqueRefs=a%2C%22b%2C%22%22c%22%22%22 key team ",
		`POST /contacts key team {"name":"Anna","type":""}`,
		`PUT /contacts/a%2Fb key team {"email":null}`,
		"GET /links/1   ",
	}
	if !slices.Equal(sent, want) {
		t.Errorf("sent\n%s\nwant\n%s", strings.Join(sent, "\n"), strings.Join(want, "\n"))
	}

	if got := s.requests[1].Header.Get("Idempotency-Key"); got != key {
		t.Errorf("the key is %q", got)
	}
}

// answer starts a service that answers everything with a value, or with a text as it is, and then calls after.
func answer(t *testing.T, status int, body any, after func()) *stayledger.Client {
	t.Helper()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)

		if text, isText := body.(string); isText {
			_, _ = io.WriteString(w, text)
		} else {
			_ = json.NewEncoder(w).Encode(body)
		}

		after()
	}))
	t.Cleanup(server.Close)

	return &stayledger.Client{BaseURL: server.URL}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())

	c := answer(t, 200, stayledger.OperationDetail{Status: stayledger.OperationStatusRunning}, cancel)
	if _, err := c.Wait(ctx, "1"); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting ends with %v", err)
	}
}

func TestFailuresAreErrors(t *testing.T) {
	t.Parallel()

	failed := stayledger.OperationDetail{
		Status:  stayledger.OperationStatusFailed,
		Failure: &stayledger.OperationFailureOrNull{Code: "csvPreviewFailed", Message: "CSV preview failed"},
	}

	for name, test := range map[string]struct {
		status int
		body   any
		want   stayledger.Error
	}{
		"an operation that failed":     {200, failed, stayledger.Error{Code: "csvPreviewFailed", Message: "CSV preview failed"}},
		"an answer that is no JSON":    {502, "<html>", stayledger.Error{Status: 502, Message: "Bad Gateway"}},
		"with the id and the document": {410, `{"code": "GONE", "requestId": "1", "docs": "/docs"}`, stayledger.Error{Status: 410, Code: "GONE", RequestID: "1", Docs: "/docs"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := answer(t, test.status, test.body, func() {}).Wait(t.Context(), "1")
			if failure, ok := errors.AsType[*stayledger.Error](err); !ok || !reflect.DeepEqual(*failure, test.want) {
				t.Errorf("got %#v, want %#v", err, test.want)
			}
		})
	}
}
