package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"stayledger/platform/day"
	"stayledger/provider/pay"
	"stayledger/provider/sandbox"
)

const key = "a-key"

type world struct {
	*sandbox.Server
	t   *testing.T
	url string
}

func newWorld(t *testing.T, c sandbox.Config) *world {
	t.Helper()

	c.APIKey = key

	s, err := sandbox.New(c)
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(s)

	t.Cleanup(func() {
		s.Close()
		server.Close()
	})

	return &world{Server: s, t: t, url: server.URL}
}

// call makes a request with the sandbox's key and, as its idempotency key, an optional one.
func (w *world) call(method, path, body string, keys ...string) (int, map[string]any) {
	w.t.Helper()

	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		w.t.Fatal(err)
	}

	req.Header.Set("Authorization", "Bearer "+key)

	for _, k := range keys {
		req.Header.Set("Idempotency-Key", k)
	}

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}

	defer func() { _ = resp.Body.Close() }()

	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil
	}

	var out map[string]any
	if len(content) > 0 {
		if err := json.Unmarshal(content, &out); err != nil {
			w.t.Fatalf("%s %s: %s", method, path, content)
		}
	}

	return resp.StatusCode, out
}

const order = `{"amount":100,"currency":"usd","date":"2026-01-20","recipient":{"holder":"Anna","routing":"021000021","number":"123456789","type":"checking"}}`

func TestEverythingAsksForTheKey(t *testing.T) {
	t.Parallel()

	w := newWorld(t, sandbox.Config{SettleAfter: -1})
	for _, path := range []string{"/v1/status", "/v1/payments?key=k", "/control/payments", "/control/events", "/"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}

		req.Header.Set("Authorization", "Bearer "+key+"x")

		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}

		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s with another key: %d", path, resp.StatusCode)
		}
	}

	if _, err := sandbox.New(sandbox.Config{}); err == nil {
		t.Error("a sandbox without a key was made")
	}

	if _, err := sandbox.New(sandbox.Config{APIKey: key, CallbackURL: "http://127.0.0.1:1", CallbackSecret: "short"}); err == nil {
		t.Error("a sandbox with a weak secret was made")
	}
}

func TestControlOverHTTP(t *testing.T) {
	t.Parallel()

	w := newWorld(t, sandbox.Config{SettleAfter: -1})
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/control", `{"mode":"fly"}`, 400},
		{"/control", `{"mode":"fail","on":"lunch"}`, 400},
		{"/control", `{"mod":"fail"}`, 400},
		{"/control", `{"mode":"fail","times":1,"code":"noFunds"}`, 204},
		{"/control/settle", `{"key":"k1","state":"paid"}`, 404},
		{"/control/settle", `{"key":"k1","state":"flying"}`, 400},
		{"/control/settings", `{"settleAfterMs":-1,"state":"failed","code":"R03"}`, 204},
		{"/control/settings", `{"state":"flying"}`, 400},
		{"/control/release", ``, 204},
	} {
		if status, _ := w.call(http.MethodPost, c.path, c.body); status != c.status {
			t.Errorf("%s %s: %d, want %d", c.path, c.body, status, c.status)
		}
	}

	if status, body := w.call(http.MethodPost, "/v1/payments", order, "k1"); status != 422 {
		t.Errorf("a payment that fails: %d %v", status, body)
	}

	for _, c := range []struct {
		body   string
		keys   []string
		status int
	}{{order, nil, 400}, {"{", []string{"k2"}, 400}, {`{"amount":0}`, []string{"k2"}, 422}, {order, []string{"k2"}, 422}, {order, []string{"k3"}, 201}, {order, []string{"k3"}, 201}} {
		if status, body := w.call(http.MethodPost, "/v1/payments", c.body, c.keys...); status != c.status {
			t.Errorf("%s %v: %d %v", c.body, c.keys, status, body)
		}
	}

	if status, _ := w.call(http.MethodPost, "/control/settle", `{"key":"k3","state":"returned","code":"R03"}`); status != 204 {
		t.Errorf("settle: %d", status)
	}

	_, all := w.call(http.MethodGet, "/control/payments", "")

	counts, _ := all["counts"].(map[string]any)
	if len(counts) != 1 || counts["k3"] != 1.0 {
		t.Errorf("payments %v", all)
	}

	if status, e := w.call(http.MethodGet, "/control/events?point=answered&waitSeconds=5", ""); status != 200 || e["on"] != "submit" || e["key"] != "k1" {
		t.Errorf("event: %d %v", status, e)
	}

	if status, _ := w.call(http.MethodGet, "/control/events?after=1000&waitSeconds=0", ""); status != 204 {
		t.Errorf("no event: %d", status)
	}

	if status, _ := w.call(http.MethodGet, "/control/events?after=-1", ""); status != 400 {
		t.Errorf("wrong sequence: %d", status)
	}
}

func TestHeldRequestOutlivesItsSender(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Config{SettleAfter: -1})
	w.Break(sandbox.Fault{Mode: sandbox.DelayBefore, Times: 1})

	ctx, gone := context.WithCancel(t.Context())

	p, err := pay.NewHTTP(json.RawMessage(`{"baseUrl":"`+w.url+`"}`), json.RawMessage(`{"apiKey":"`+key+`"}`), pay.AllowPrivate(true))
	if err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)

	go func() {
		_, err := p.Submit(ctx, pay.Batch{Payments: []pay.Payment{{
			Key: "late", Amount: 1, Currency: "usd", Date: day.Of(time.Unix(0, 0)), Recipient: pay.Account{Routing: "021000021", Number: "1"},
		}}})
		ended <- err
	}()

	held, err := w.Await(t.Context(), sandbox.HeldBefore, 0)
	if err != nil || held.Key != "late" {
		t.Fatalf("%+v, %v", held, err)
	}

	gone()

	if err := <-ended; err == nil {
		t.Error("an answer came")
	}

	if len(w.Payments()) != 0 {
		t.Error("recorded while held")
	}

	w.Release()

	if _, err := w.Await(t.Context(), sandbox.Recorded, held.Sequence); err != nil || len(w.Payments()) != 1 {
		t.Errorf("%d payments, %v", len(w.Payments()), err)
	}
}

// receiver takes callbacks, and refuses the first few.
type receiver struct {
	mu     sync.Mutex
	refuse int
	got    []pay.Callback
	ids    map[string]int
	news   chan struct{}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}

	s := pay.Signature{ID: req.Header.Get("webhook-id"), Timestamp: req.Header.Get("webhook-timestamp"), Value: req.Header.Get("webhook-signature")}

	c, err := pay.VerifyCallback(secret, s, body, time.Now())
	if err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	r.ids[c.ID]++
	if r.refuse > 0 {
		r.refuse--

		w.WriteHeader(http.StatusServiceUnavailable)

		return
	}

	r.got = append(r.got, c)
	r.news <- struct{}{}
}

const secret = "a secret of callbacks"

func TestCallbacksAreSignedAndRepeated(t *testing.T) {
	t.Parallel()

	r := &receiver{refuse: 2, ids: map[string]int{}, news: make(chan struct{}, 10)}
	listener := httptest.NewServer(r)
	t.Cleanup(listener.Close)

	w := newWorld(t, sandbox.Config{SettleAfter: time.Millisecond, CallbackURL: listener.URL, CallbackSecret: secret, CallbackEvery: 10 * time.Millisecond})
	if status, _ := w.call(http.MethodPost, "/v1/payments", order, "k1"); status != 201 {
		t.Fatal(status)
	}

	<-r.news

	if n := w.Settle("k1", pay.Returned, "R03"); n != 1 {
		t.Errorf("%d payments settled", n)
	}

	<-r.news
	r.mu.Lock()
	defer r.mu.Unlock()

	first, second := r.got[0], r.got[1]
	if o := first.Outcome; o.Key != "k1" || o.State != pay.Paid || o.Ref != w.Payments()[0].ID {
		t.Errorf("first callback %+v", first)
	}

	if o := second.Outcome; o.State != pay.Returned || o.Code != "R03" || second.ID == first.ID {
		t.Errorf("second callback %+v", second)
	}

	if r.ids[first.ID] != 3 {
		t.Errorf("the first callback was sent %d times, want 3", r.ids[first.ID])
	}
}

func TestSettlementCanBeChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Config{SettleAfter: -1})
	failed, code, at := pay.Failed, "R20", int64(1)
	w.Set(sandbox.Settings{SettleAfterMS: &at, State: &failed, Code: &code})

	if status, _ := w.call(http.MethodPost, "/v1/payments", order, "k1"); status != 201 {
		t.Fatal(status)
	}

	deadline := time.Now().Add(2 * time.Minute)
	for w.Payments()[0].State != pay.Failed {
		if time.Now().After(deadline) {
			t.Fatalf("the payment is %+v", w.Payments()[0])
		}

		time.Sleep(time.Millisecond)
	}

	if w.Payments()[0].Code != "R20" {
		t.Errorf("the payment is %+v", w.Payments()[0])
	}
}
