package protocol_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/provider/pms"
	"stayledger/provider/pms/protocol"
	sandbox "stayledger/provider/sandbox/pms"
)

// message is a message as it came, and what the client made of it.
type message struct {
	header http.Header
	body   []byte
	event  *pms.Event
	err    error
}

// receive subscribes a receiver of messages, and returns what it gets.
func (w *world) receive(secret string) <-chan message {
	w.t.Helper()

	got := make(chan message, 100)

	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		m := message{header: r.Header, body: body, err: err}

		if err == nil {
			m.event, m.err = protocol.ReadMessage(secret, r.Header, body, time.Now())
		}

		if m.err != nil {
			rw.WriteHeader(http.StatusUnauthorized)
		}

		got <- m
	}))
	w.t.Cleanup(server.Close)

	if err := w.client.Subscribe(w.t.Context(), server.URL, secret); err != nil {
		w.t.Fatal(err)
	}

	return got
}

// next waits for the next message.
func (w *world) next(got <-chan message) message {
	w.t.Helper()

	select {
	case m := <-got:
		return m
	case <-time.After(time.Minute): // only ends a test that would wait for ever
		w.t.Fatal("no message came")
		return message{}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()

	for _, secret := range []string{secret, "whsec_MDEyMzQ1Njc4OTAxMjM0NQ=="} {
		w := newWorld(t)
		got := w.receive(secret)

		w.SetReservation(stay("r1"))

		if m := w.next(got); m.err != nil || !slices.Equal(m.event.ReservationIDs, []string{"r1"}) || m.event.Listings || m.event.Revoked {
			t.Errorf("a reservation: %+v", m)
		}

		w.SetListing(sandbox.Listing{ID: "l1", Name: "House"})

		if m := w.next(got); m.err != nil || len(m.event.ReservationIDs) != 0 || !m.event.Listings {
			t.Errorf("a listing: %+v", m)
		}

		w.Fire(sandbox.Hint{Revoked: true})

		if m := w.next(got); m.err != nil || !m.event.Revoked {
			t.Errorf("the access: %+v", m)
		}

		for range 2 {
			if err := w.client.Unsubscribe(t.Context()); err != nil {
				t.Fatal(err)
			}
		}

		if w.Fire(sandbox.Hint{Listings: true}) {
			t.Error("a message goes out to nowhere")
		}
	}
}

func TestEveryFaultOfMessages(t *testing.T) {
	t.Parallel()

	for mode, want := range map[sandbox.Mode]struct {
		ids  []string // of the reservations that are named, in the order in which the messages come
		kind error    // what the first one fails with
	}{
		sandbox.Forged:     {[]string{"", "b"}, protocol.ErrMessage},
		sandbox.Unsigned:   {[]string{"", "b"}, protocol.ErrMessage},
		sandbox.Tampered:   {[]string{"", "b"}, protocol.ErrMessage},
		sandbox.Old:        {[]string{"", "b"}, protocol.ErrMessage},
		sandbox.Twice:      {[]string{"a", "a", "b"}, nil},
		sandbox.OutOfOrder: {[]string{"b", "a"}, nil},
		sandbox.Lost:       {[]string{"b"}, nil},
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			got := w.receive(secret)
			w.Break(sandbox.Fault{Mode: mode, On: sandbox.OnMessage, Times: 1})

			var came []string

			take := func(count int) {
				for range count {
					m := w.next(got)
					if len(came) == 0 && !errors.Is(m.err, want.kind) {
						t.Errorf("%v, want %v", m.err, want.kind)
					}

					if m.err != nil {
						came = append(came, "")
					} else {
						came = append(came, m.event.ReservationIDs...)
					}
				}
			}

			// The second message goes out when all of the first have come, unless they come after it.
			w.SetReservation(stay("a"))

			if mode != sandbox.OutOfOrder && mode != sandbox.Lost {
				take(len(want.ids) - 1)
			}

			w.SetReservation(stay("b"))
			take(len(want.ids) - len(came))

			if !slices.Equal(came, want.ids) {
				t.Errorf("%q, want %q", came, want.ids)
			}
		})
	}
}

func TestMessagesThatAreNotToBeBelieved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.receive(secret)
	w.SetReservation(stay("a"))
	true1 := w.next(got)
	now := time.Now()

	for name, c := range map[string]struct {
		change func(h http.Header, body []byte) []byte
		at     time.Time
		good   bool
	}{
		"true":              {func(_ http.Header, b []byte) []byte { return b }, now, true},
		"four minutes late": {func(_ http.Header, b []byte) []byte { return b }, now.Add(4 * time.Minute), true},
		"six minutes late":  {func(_ http.Header, b []byte) []byte { return b }, now.Add(6 * time.Minute), false},
		"from the future":   {func(_ http.Header, b []byte) []byte { return b }, now.Add(-6 * time.Minute), false},
		"another body":      {func(_ http.Header, b []byte) []byte { return append(b, ' ') }, now, false},
		"another id":        {func(h http.Header, b []byte) []byte { h.Set("Webhook-Id", "msg_2"); return b }, now, false},
		"no id":             {func(h http.Header, b []byte) []byte { h.Del("Webhook-Id"); return b }, now, false},
		"another time":      {func(h http.Header, b []byte) []byte { h.Set("Webhook-Timestamp", "1"); return b }, now, false},
		"no signature":      {func(h http.Header, b []byte) []byte { h.Del("Webhook-Signature"); return b }, now, false},
		"two signatures": {func(h http.Header, b []byte) []byte {
			h.Set("Webhook-Signature", "v1,YQ== "+h.Get("Webhook-Signature"))
			return b
		}, now, true},
		"of another version": {func(h http.Header, b []byte) []byte {
			h.Set("Webhook-Signature", "v2"+h.Get("Webhook-Signature")[2:])
			return b
		}, now, false},
		"a signature without base": {func(h http.Header, b []byte) []byte { h.Set("Webhook-Signature", "v1,?"); return b }, now, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			h := true1.header.Clone()
			body := c.change(h, slices.Clone(true1.body))

			e, err := protocol.ReadMessage(secret, h, body, c.at)
			if (err == nil) != c.good || (err != nil && !errors.Is(err, protocol.ErrMessage)) || (c.good && e.ReservationIDs[0] != "a") {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}

	if _, err := protocol.ReadMessage("another text of 16 characters", true1.header, true1.body, now); !errors.Is(err, protocol.ErrMessage) {
		t.Errorf("another secret: %v", err)
	}

	for _, bad := range []string{"", "short", "whsec_???", "whsec_YQ=="} {
		if _, err := protocol.ReadMessage(bad, true1.header, true1.body, now); err == nil || errors.Is(err, protocol.ErrMessage) {
			t.Errorf("the secret %q: %v", bad, err)
		}
	}
}

// What is signed, and is not of the protocol, is not believed.
func TestMessagesOfAnotherForm(t *testing.T) {
	t.Parallel()

	for _, hint := range []sandbox.Hint{
		{ReservationIDs: []string{"a b"}},
		{ReservationIDs: []string{""}},
		{ReservationIDs: strings.Split(strings.Repeat("a ", 1001), " ")},
	} {
		w := newWorld(t)
		got := w.receive(secret)
		w.Fire(hint)

		if m := w.next(got); !errors.Is(m.err, protocol.ErrMessage) || !json.Valid(m.body) {
			t.Errorf("%+v", m)
		}
	}
}
