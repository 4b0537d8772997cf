package ownerrez_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"stayledger/provider/pms"
	"stayledger/provider/pms/ownerrez"
	sandbox "stayledger/provider/sandbox/ownerrez"
)

const secret = "a secret that cannot be guessed"

func TestMessagesAreHintsWithAPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	type arrival struct {
		event *pms.Event
		err   error
	}

	arrivals := make(chan arrival, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)

		event, err := ownerrez.ReadMessage(secret, r.Header, body, time.Now())
		arrivals <- arrival{event, err}
	}))
	t.Cleanup(receiver.Close)

	w.AddHook(sandbox.Hook{URL: receiver.URL, User: secret, Password: secret})

	booking := &pms.Event{AccountID: "77", ReservationIDs: []string{"5"}}
	set := func() { w.SetBooking(stay(5, nil)) }

	// One after the other, each with its own fault.
	for name, c := range map[string]struct {
		do    func()
		fault sandbox.Mode
		want  *pms.Event // nil for one that is not believed
	}{
		"a booking changes":       {do: set, want: booking},
		"the message comes twice": {do: set, fault: sandbox.Twice, want: booking},
		"another password":        {do: set, fault: sandbox.Forged},
		"no password":             {do: set, fault: sandbox.Unsigned},
		"a booking is deleted":    {do: func() { w.Fire("entity_delete", "booking", "5") }, want: booking},
		"a listing changes":       {do: func() { w.Fire("entity_update", "property", "40001") }, want: &pms.Event{AccountID: "77", Listings: true}},
		"a guest changes":         {do: func() { w.Fire("entity_create", "guest", "9") }, want: &pms.Event{AccountID: "77"}},
		"a test":                  {do: func() { w.Fire("webhook_test", "", "") }, want: &pms.Event{AccountID: "77"}},
		"access is taken back":    {do: func() { w.Fire("application_authorization_revoked", "", "") }, want: &pms.Event{AccountID: "77", Revoked: true}},
	} {
		if c.fault != "" {
			w.Break(sandbox.Fault{Mode: c.fault, On: sandbox.OnMessage, Times: 1})
		}

		c.do()

		times := 1
		if c.fault == sandbox.Twice {
			times = 2
		}

		for range times {
			got := <-arrivals
			if (c.want == nil) != errors.Is(got.err, ownerrez.ErrMessage) {
				t.Errorf("%s: %v", name, got.err)
			}

			compare(t, got.event, c.want)
		}
	}
}

func TestMessagesThatAreNotBelieved(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ user, password, body string }{
		"another name": {"stayledger", secret, `{"action":"webhook_test"}`},
		"no JSON":      {secret, secret, `action`},
		"no action":    {secret, secret, `{"entity_type":"booking","entity_id":5}`},
		"no id":        {secret, secret, `{"action":"entity_update","entity_type":"booking"}`},
	} {
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(c.user, c.password)

		if got, err := ownerrez.ReadMessage(secret, r.Header, []byte(c.body), time.Now()); !errors.Is(err, ownerrez.ErrMessage) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}

	// A secret that could be guessed is none.
	if _, err := ownerrez.ReadMessage("short", http.Header{}, nil, time.Now()); err == nil || errors.Is(err, ownerrez.ErrMessage) {
		t.Errorf("a short secret: %v", err)
	}
}
