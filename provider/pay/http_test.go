package pay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/platform/money"
	"stayledger/provider/pay"
	"stayledger/provider/sandbox"
)

const apiKey = "key-of-the-sandbox"

// world is a sandbox that settles nothing by itself, and a provider that waits half a second for it.
type world struct {
	*sandbox.Server
	pay.Provider
	url string
}

func newWorld(t *testing.T) *world {
	t.Helper()

	s, err := sandbox.New(sandbox.Config{APIKey: apiKey, SettleAfter: -1})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(s)

	t.Cleanup(func() {
		s.Close()
		server.Close()
	})

	return &world{Server: s, Provider: client(t, server.URL), url: server.URL}
}

func client(t *testing.T, address string) pay.Provider {
	t.Helper()

	p, err := pay.NewHTTP(settings(address), credentials(apiKey), pay.AllowPrivate(true), pay.Within(500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}

	return p
}

func settings(address string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"baseUrl":%q,"fundingAccountId":"of others"}`, address))
}

func credentials(key string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"apiKey":%q,"callbackSecret":%q}`, key, callbackSecret))
}

func many(n int) pay.Batch {
	b := pay.Batch{At: time.Unix(0, 0)}
	for i := range n {
		b.Payments = append(b.Payments, payment(fmt.Sprintf("k%02d", i), money.Cents(100+i), "2026-01-20"))
	}

	return b
}

// counts is how many payments the sandbox holds under each key.
func (w *world) counts() map[string]int {
	out := map[string]int{}
	for _, p := range w.Payments() {
		out[p.Key]++
	}

	return out
}

func (w *world) received(on sandbox.On) int {
	n := 0

	for after := 0; ; {
		ctx, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
		e, err := w.Await(ctx, sandbox.Received, after)

		stop()

		if err != nil {
			return n
		}

		if e.On == on {
			n++
		}

		after = e.Sequence
	}
}

func TestPaymentsAreMadeOncePerKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := submit(t, w, many(9))

	again := submit(t, w, many(9))
	for i, o := range first.Outcomes {
		if o.Key != fmt.Sprintf("k%02d", i) || o.State != pay.Submitted || o.Ref == "" || o != again.Outcomes[i] {
			t.Errorf("outcome %d: %+v, again %+v", i, o, again.Outcomes[i])
		}

		found, err := w.Find(t.Context(), o.Key)
		if err != nil || found != o {
			t.Errorf("found %+v, %v", found, err)
		}
	}

	if len(w.Payments()) != 9 || first.File != nil {
		t.Errorf("%d payments", len(w.Payments()))
	}

	p := w.Payments()[0]
	if p.Currency != "usd" || p.Date != "2026-01-20" || p.Memo != "January 2026" || p.Holder != "Anna Müller-Åberg" || p.Last4 != "6789" {
		t.Errorf("the provider got %+v", p)
	}

	if err := w.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFaultsOfSubmissions(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		fault sandbox.Fault
		want  error // of the submission; nil when it has an outcome
		after error // of Find right after it
		state pay.State
	}{
		"slow before it records": {sandbox.Fault{Mode: sandbox.DelayBefore, DelayMS: 700}, pay.ErrTimeout, pay.ErrUnknown, ""},
		"slow to answer":         {sandbox.Fault{Mode: sandbox.DelayAfter, DelayMS: 700}, pay.ErrTimeout, nil, pay.Submitted},
		"a little slow":          {sandbox.Fault{Mode: sandbox.DelayAfter, DelayMS: 50}, nil, nil, pay.Submitted},
		"unavailable":            {sandbox.Fault{Mode: sandbox.Unavailable}, pay.ErrUnavailable, pay.ErrUnknown, ""},
		"hangs up before":        {sandbox.Fault{Mode: sandbox.DropBefore}, pay.ErrUnavailable, pay.ErrUnknown, ""},
		"hangs up after":         {sandbox.Fault{Mode: sandbox.DropAfter}, pay.ErrUnavailable, nil, pay.Submitted},
		"answers nonsense":       {sandbox.Fault{Mode: sandbox.Garbage}, pay.ErrUnavailable, nil, pay.Submitted},
		"refuses the key":        {sandbox.Fault{Mode: sandbox.Credentials}, pay.ErrCredentials, pay.ErrUnknown, ""},
		"refuses the payment":    {sandbox.Fault{Mode: sandbox.Fail, Code: "noFunds"}, nil, pay.ErrUnknown, pay.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.fault.Times = 1
			w.Break(c.fault)

			r, err := w.Submit(t.Context(), many(1))
			if !errors.Is(err, c.want) {
				t.Fatalf("submit: %v, want %v", err, c.want)
			}

			found, err := w.Find(t.Context(), "k00")
			if !errors.Is(err, c.after) || (err == nil && found.State != c.state) {
				t.Errorf("find: %+v, %v", found, err)
			}

			if c.want == nil && (len(r.Outcomes) != 1 || r.Outcomes[0].State != c.state) {
				t.Errorf("outcome %+v", r.Outcomes)
			}

			if got := w.received(sandbox.Submit); got != 1 {
				t.Errorf("%d requests were made of one", got)
			}

			if c.state == pay.Failed {
				if r.Outcomes[0].Code != "noFunds" || r.Outcomes[0].Ref != "" {
					t.Errorf("outcome %+v", r.Outcomes[0])
				}

				return
			}
			// Whatever happened, asking again for the same key ends with one payment, also when the first request
			// arrives late.
			r, err = w.Submit(t.Context(), many(1))
			if err != nil || r.Outcomes[0].State != pay.Submitted {
				t.Errorf("again: %+v, %v", r, err)
			}

			w.Release()

			if c.fault.Mode == sandbox.DelayBefore {
				w.until(t, sandbox.Recorded, 2)
			}

			if got := w.counts()["k00"]; got != 1 {
				t.Errorf("%d payments", got)
			}
		})
	}
}

// until waits for the n-th event of a point.
func (w *world) until(t *testing.T, p sandbox.Point, n int) {
	t.Helper()

	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()

	for after := 0; n > 0; n-- {
		e, err := w.Await(ctx, p, after)
		if err != nil {
			t.Fatalf("no event %s: %v", p, err)
		}

		after = e.Sequence
	}
}

func TestRefusedPaymentStaysRefusedUnderItsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Break(sandbox.Fault{Mode: sandbox.Fail, Code: "noFunds", Times: 1})

	for range 2 {
		if r := submit(t, w, many(1)); r.Outcomes[0].State != pay.Failed || r.Outcomes[0].Code != "noFunds" {
			t.Errorf("outcome %+v", r.Outcomes[0])
		}
	}

	if len(w.Payments()) != 0 {
		t.Error("a refused payment was made")
	}
}

func TestOtherPaymentUnderAKnownKeyIsNoRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	submit(t, w, many(1))
	b := many(1)

	b.Payments[0].Amount++
	if r, err := w.Submit(t.Context(), b); !errors.Is(err, pay.ErrUnavailable) || len(r.Outcomes) != 0 {
		t.Errorf("%+v, %v: the payment of the key was made, so nothing may say that none was", r, err)
	}
}

func TestSubmissionThatIsCutTellsWhatItKnows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// Four go at a time; from the fifth request on the provider hangs.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	go func() {
		_, err := w.Await(ctx, sandbox.HeldBefore, 0)
		if err == nil {
			cancel()
		}
	}()

	w.Break(sandbox.Fault{Mode: sandbox.DelayAfter, DelayMS: 1, Times: 6})
	w.Break(sandbox.Fault{Mode: sandbox.DelayBefore})

	r, err := w.Submit(ctx, many(20))
	if !errors.Is(err, context.Canceled) || !errors.Is(err, pay.ErrUnavailable) {
		t.Errorf("error %v", err)
	}

	counts := w.counts()

	if len(r.Outcomes) == 0 || len(r.Outcomes) > 6 {
		t.Errorf("%d outcomes", len(r.Outcomes))
	}

	for _, o := range r.Outcomes {
		if o.State != pay.Submitted || counts[o.Key] != 1 {
			t.Errorf("outcome %+v is not what the provider holds", o)
		}
	}

	if got := w.received(sandbox.Submit); got > 10 {
		t.Errorf("%d requests were made after the end", got)
	}
}

func TestSubmissionStopsAtTheFirstUnknownOutcome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Break(sandbox.Fault{Mode: sandbox.Unavailable})

	r, err := w.Submit(t.Context(), many(50))
	if !errors.Is(err, pay.ErrUnavailable) || len(r.Outcomes) != 0 {
		t.Errorf("%+v, %v", r, err)
	}

	if got := w.received(sandbox.Submit); got > 4 {
		t.Errorf("%d requests to a provider that is down", got)
	}

	w.Reset()
	w.Break(sandbox.Fault{Mode: sandbox.Fail, Times: 1})

	if r := submit(t, w, many(50)); len(r.Outcomes) != 50 || len(w.Payments()) != 49 {
		t.Errorf("a refused payment held up others: %d outcomes, %d payments", len(r.Outcomes), len(w.Payments()))
	}
}

func TestPaymentsMadeTwiceAreSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Break(sandbox.Fault{Mode: sandbox.PayTwice, Times: 1})
	submit(t, w, many(2))

	if o, err := w.Find(t.Context(), "k00"); err != nil || !o.Duplicate {
		// Four go at a time: the fault met either.
		o, err = w.Find(t.Context(), "k01")
		if err != nil || !o.Duplicate {
			t.Errorf("%+v, %v", o, err)
		}
	}

	w.Break(sandbox.Fault{Mode: sandbox.IgnoreKeys})
	submit(t, w, many(2))

	for key, n := range w.counts() {
		o, err := w.Find(t.Context(), key)
		if err != nil || !o.Duplicate || n < 2 || o.State != pay.Submitted {
			t.Errorf("%s: %+v, %v", key, o, err)
		}

		canceled, err := w.Cancel(t.Context(), key)
		if err != nil || canceled.State != pay.Canceled || !canceled.Duplicate {
			t.Errorf("cancel %s: %+v, %v", key, canceled, err)
		}
	}

	for _, p := range w.Payments() {
		if p.State != pay.Canceled {
			t.Errorf("%+v was not canceled", p)
		}
	}
}

func TestCancelAndWhatComesAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	submit(t, w, many(3))

	if o, err := w.Cancel(t.Context(), "k00"); err != nil || o.State != pay.Canceled || o.Key != "k00" {
		t.Errorf("in time: %+v, %v", o, err)
	}

	w.Settle("k01", pay.Paid, "")

	if o, err := w.Cancel(t.Context(), "k01"); err != nil || o.State != pay.Paid {
		t.Errorf("too late: %+v, %v", o, err)
	}

	w.Settle("k01", pay.Returned, "R03")

	if o, err := w.Find(t.Context(), "k01"); err != nil || o.State != pay.Returned || o.Code != "R03" {
		t.Errorf("returned: %+v, %v", o, err)
	}

	w.Break(sandbox.Fault{Mode: sandbox.Fail, On: sandbox.Cancel, Code: "closed", Times: 1})
	_, err := w.Cancel(t.Context(), "k02")

	var refused *pay.RefusedError
	if !errors.As(err, &refused) || refused.Code != "closed" || !errors.Is(err, pay.ErrRefused) {
		t.Errorf("refused: %v", err)
	}

	if _, err := w.Cancel(t.Context(), "nobody's"); !errors.Is(err, pay.ErrUnknown) {
		t.Errorf("unknown: %v", err)
	}

	w.Break(sandbox.Fault{Mode: sandbox.DelayBefore, On: sandbox.Cancel, Times: 1})

	began := time.Now()
	if _, err := w.Cancel(t.Context(), "k02"); !errors.Is(err, pay.ErrTimeout) || time.Since(began) > 2*time.Second {
		t.Errorf("hanging: %v after %s", err, time.Since(began))
	}
}

func TestAccountsAreVerified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	a := batch().Payments[0].Recipient
	if v, err := w.VerifyAccount(t.Context(), "q1", a); v != pay.Verified || err != nil {
		t.Errorf("%s, %v", v, err)
	}

	a.Routing = "021000022"
	if v, err := w.VerifyAccount(t.Context(), "q2", a); v != pay.Rejected || err != nil {
		t.Errorf("%s, %v", v, err)
	}

	w.Break(sandbox.Fault{Mode: sandbox.Unavailable, On: sandbox.Verify})

	if v, err := w.VerifyAccount(t.Context(), "q3", a); v != "" || !errors.Is(err, pay.ErrUnavailable) {
		t.Errorf("%s, %v", v, err)
	}
}

// scripted answers everything in one way.
func scripted(t *testing.T, answer http.HandlerFunc) pay.Provider {
	t.Helper()

	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)

	return client(t, server.URL)
}

// A wrong address, a proxy or a broken provider must not pass for "nothing was moved" or "never heard of it".
func TestAnswersThatAreNotOfTheProtocolDecideNothing(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"a proxy's 404":           {404, "<html>not found</html>", pay.ErrUnavailable},
		"a proxy's 400":           {400, `{"message":"no"}`, pay.ErrUnavailable},
		"a redirect":              {307, "", pay.ErrUnavailable},
		"no content":              {204, "", pay.ErrUnavailable},
		"an empty object":         {200, "{}", pay.ErrUnavailable},
		"an unknown state":        {200, `{"id":"p","key":"k00","state":"flying"}`, pay.ErrUnavailable},
		"another's payment":       {200, `{"id":"p","key":"k99","state":"paid"}`, pay.ErrUnavailable},
		"no reference":            {200, `{"key":"k00","state":"paid"}`, pay.ErrUnavailable},
		"a reference with a line": {200, `{"id":"p\nq","key":"k00","state":"paid"}`, pay.ErrUnavailable},
		"too much":                {200, `{"id":"` + strings.Repeat("x", 2<<20) + `"}`, pay.ErrUnavailable},
		"too many requests":       {429, `{"error":{"code":"slowDown"}}`, pay.ErrUnavailable},
		"not ready":               {409, `{"error":{"code":"notReady"}}`, pay.ErrUnavailable},
		"unknown, to a payment":   {404, `{"error":{"code":"paymentUnknown"}}`, pay.ErrUnavailable},
		"forbidden":               {403, "", pay.ErrCredentials},
		"broken":                  {500, `{"error":{"code":"refused"}}`, pay.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var calls atomic.Int32

			p := scripted(t, func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				w.Header().Set("Location", r.URL.Path)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})

			r, err := p.Submit(t.Context(), many(1))
			if !errors.Is(err, c.want) || errors.Is(err, pay.ErrRefused) || len(r.Outcomes) != 0 {
				t.Errorf("submit: %+v, %v", r, err)
			}

			if calls.Load() != 1 {
				t.Errorf("%d calls", calls.Load())
			}

			if name == "unknown, to a payment" {
				return // it is an answer to a question
			}

			if _, err := p.Find(t.Context(), "k00"); errors.Is(err, pay.ErrUnknown) || err == nil {
				t.Errorf("find: %v", err)
			}

			if _, err := p.Cancel(t.Context(), "k00"); errors.Is(err, pay.ErrUnknown) || errors.Is(err, pay.ErrRefused) || err == nil {
				t.Errorf("cancel: %v", err)
			}

			if err := p.Check(t.Context()); err == nil || errors.Is(err, pay.ErrRefused) {
				t.Errorf("check: %v", err)
			}
		})
	}
}

func TestProviderThatIsNotReady(t *testing.T) {
	t.Parallel()

	p := scripted(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status":"notReady"}`) })
	if err := p.Check(t.Context()); !errors.Is(err, pay.ErrNotReady) {
		t.Error(err)
	}

	p = client(t, "http://127.0.0.1:1")
	if err := p.Check(t.Context()); !errors.Is(err, pay.ErrUnavailable) {
		t.Error(err)
	}
}

// Proves: ERR-100.
func TestErrorsTellNothingOfTheProvider(t *testing.T) {
	t.Parallel()

	const marker = "MARKER"

	p := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Note", marker)

		if r.URL.Path != "/v1/payments" {
			w.WriteHeader(http.StatusInternalServerError)
		} else {
			w.WriteHeader(http.StatusBadRequest)
		}

		_, _ = io.WriteString(w, `{"error":{"code":"`+marker+` went wrong with 123456789"}}`)
	})

	r, err := p.Submit(t.Context(), many(1))
	if err != nil || r.Outcomes[0].Code != "unspecified" {
		t.Errorf("%+v, %v", r, err)
	}

	var all []string

	for _, err := range []error{
		p.Check(t.Context()), second(p.VerifyAccount(t.Context(), "q", batch().Payments[0].Recipient)), second(p.Find(t.Context(), "k")),
		second(p.Cancel(t.Context(), "k")), second(client(t, "http://127.0.0.1:1/"+marker).Submit(t.Context(), many(1))),
	} {
		if err == nil {
			t.Fatal("no error")
		}

		all = append(all, err.Error())
	}

	for _, secret := range []string{marker, apiKey, "123456789", "021000021", "Müller", "127.0.0.1"} {
		if text := strings.Join(all, "\n"); strings.Contains(text, secret) {
			t.Errorf("%s is in\n%s", secret, text)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestRequestsAreThoseOfTheProtocol(t *testing.T) {
	t.Parallel()

	var got []string

	p := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}

		got = append(got, strings.Join([]string{r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), string(body)}, " "))
		_, _ = io.WriteString(w, `{"status":"ready","result":"verified","payments":[{"id":"p/1","key":"a&b","state":"submitted"}],"id":"p/1","key":"a&b","state":"canceled"}`)
	})
	b := many(1)

	b.Payments[0].Key = "a&b"
	for _, err := range []error{
		p.Check(t.Context()), second(p.VerifyAccount(t.Context(), "q", b.Payments[0].Recipient)), second(p.Submit(t.Context(), b)), second(p.Cancel(t.Context(), "a&b")),
	} {
		if err != nil {
			t.Error(err)
		}
	}

	const account = `{"holder":"Anna Müller-Åberg","routing":"021000021","number":"123456789","type":"checking"}`

	want := []string{
		"GET /v1/status Bearer key-of-the-sandbox  ",
		`POST /v1/account-verifications Bearer key-of-the-sandbox q {"account":` + account + `}`,
		`POST /v1/payments Bearer key-of-the-sandbox a&b {"amount":100,"currency":"usd","date":"2026-01-20","memo":"January 2026","recipient":` + account + `}`,
		"GET /v1/payments?key=a%26b Bearer key-of-the-sandbox  ",
		"POST /v1/payments/p%2F1/cancel Bearer key-of-the-sandbox cancel-p/1 ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestConnectionSettingsAreChecked(t *testing.T) {
	t.Parallel()

	for address, private := range map[string]bool{
		"": true, "pay.example.com": true, "ftp://pay.example.com": true, "https://": true, "https://u:p@pay.example.com": true,
		"https://pay.example.com?x=1": true, "https://pay.example.com#x": true, "http://pay.example.com": false, "mailto:a@example.com": true,
	} {
		_, err := pay.NewHTTP(settings(address), credentials(apiKey), pay.AllowPrivate(private))

		var wrong *pay.SettingsError
		if !errors.As(err, &wrong) || wrong.Field != "baseUrl" {
			t.Errorf("%q: %v", address, err)
		}
	}

	for field, raw := range map[string]string{"apiKey": `{"apiKey":"two words"}`, "callbackSecret": `{"apiKey":"k","callbackSecret":"short"}`, "credentials": "[]"} {
		_, err := pay.NewHTTP(settings("https://pay.example.com"), json.RawMessage(raw))

		var wrong *pay.SettingsError
		if !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: %v", raw, err)
		}
	}

	if _, err := pay.NewHTTP(settings("https://pay.example.com/base/"), credentials(apiKey)); err != nil {
		t.Error(err)
	}
}

func TestPrivateAddressesAreNotCalled(t *testing.T) {
	t.Parallel()

	var calls atomic.Int32

	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(server.Close)

	for _, host := range []string{server.Listener.Addr().String(), "localhost:1", "10.0.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "100.64.0.1", "[fec0::1]", "[::10.0.0.1]", "[::ffff:0:10.0.0.1]"} {
		p, err := pay.NewHTTP(settings("https://"+host), credentials(apiKey), pay.Within(2*time.Second))
		if err != nil {
			t.Fatal(err)
		}

		if err := p.Check(t.Context()); !errors.Is(err, pay.ErrUnavailable) || !strings.Contains(err.Error(), "not public") {
			t.Errorf("%s: %v", host, err)
		}
	}
	// Certificates are checked even where private addresses are allowed.
	p, err := pay.NewHTTP(settings(server.URL), credentials(apiKey), pay.AllowPrivate(true))
	if err != nil {
		t.Fatal(err)
	}

	if err := p.Check(t.Context()); !errors.Is(err, pay.ErrUnavailable) || calls.Load() != 0 {
		t.Errorf("a certificate of nobody: %v", err)
	}
}
