package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// sickAnswers are the ways in which receivers fail.
func sickAnswers(t *testing.T) map[string]http.HandlerFunc {
	t.Helper()

	status := func(status int, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}

			w.WriteHeader(status)
		}
	}

	return map[string]http.HandlerFunc{
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"resets": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		},
		"redirects": status(http.StatusFound, "Location", "http://127.0.0.1:1/"),
		"500":       status(http.StatusInternalServerError),
		"429":       status(http.StatusTooManyRequests, "Retry-After", "3600"),
		"503":       status(http.StatusServiceUnavailable),
		"410":       status(http.StatusGone),
		"slow bytes": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = fmt.Fprint(w, "x")
				_ = http.NewResponseController(w).Flush()

				time.Sleep(50 * time.Millisecond) // it is slow, which is all that it shows
			}
		},
		"late": func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(10 * time.Second):
				w.WriteHeader(http.StatusNoContent)
			}
		},
	}
}

// Receivers that fail in every way, several of each, get what they are due and hold up no other: a healthy receiver of
// the same team, and one of another, get each message once. How late is measured and printed.
//
// Proves: OPEN-22.
func TestSickReceiversHoldUpNoOther(t *testing.T) {
	t.Parallel()
	w := newTill(t, 1)
	worker := w.work()

	healthy := newInbox(t)
	healthy.subscribe(w.client, "audit.event.changed")

	const many = 150

	// latencies sends changes one after the other and returns how long each took to arrive, in order.
	latencies := func(round string) []time.Duration {
		from := len(healthy.messages("audit.event.changed"))

		for i := range many {
			w.post("/contacts", map[string]any{"type": "vendor", "name": fmt.Sprintf("%s %d", round, i)}).want(201)
			time.Sleep(10 * time.Millisecond) // a steady load; nothing is concluded from it
		}

		eventually(t, "all told", func() bool { return healthy.contacts(from) >= many })

		out := healthy.delays(from)
		slices.Sort(out)

		return out
	}

	alone := latencies("alone")

	var sick []string

	for name, answer := range sickAnswers(t) {
		for i := range 2 {
			var ill bool

			receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // a server sees the other side leave once the body is read

				if ill {
					answer(rw, r)
					return
				}

				rw.WriteHeader(http.StatusNoContent)
			}))

			t.Cleanup(func() { receiver.CloseClientConnections(); receiver.Close() })

			made := w.post("/webhooks", map[string]any{"url": receiver.URL, "eventTypes": []any{"audit.event.changed"}, "description": fmt.Sprintf("%s %d", name, i)}).want(201)
			test := w.post("/webhooks/"+made.text("id")+"/test", nil).want(202)

			if s := w.settled(test.text("operationId")); s.text("status") != "completed" {
				t.Fatalf("test %s", s.body)
			}

			ill = true

			sick = append(sick, made.text("id"))
		}
	}

	t.Cleanup(worker.kill) // or it would call receivers that are being closed

	beside := latencies("beside")
	p99 := func(of []time.Duration) time.Duration { return of[len(of)*99/100] }
	t.Logf("%d sick receivers; p50 %v, p99 %v alone; p50 %v, p99 %v beside them", len(sick), alone[many/2], p99(alone), beside[many/2], p99(beside))

	// Each of the sick shows what became of its messages.
	for _, hook := range sick {
		about := w.get("/webhooks/" + hook).want(200)
		sent := w.get("/webhooks/" + hook + "/deliveries?limit=250").want(200)

		if gone := strings.HasPrefix(about.text("description"), "410"); gone != (about.text("status") == "disabled") {
			t.Errorf("%s is %s", about.text("description"), about.text("status"))
		}

		if slow := strings.HasPrefix(about.text("description"), "slow"); !slow && !strings.HasPrefix(about.text("description"), "late") &&
			!strings.Contains(string(sent.body), `"failure":"`) && !strings.HasPrefix(about.text("description"), "hangs") {
			t.Errorf("%s: no failure is shown: %s", about.text("description"), sent.body)
		}
	}
}

// contacts counts the messages about new contacts from one on.
func (in *inbox) contacts(from int) (n int) {
	for _, m := range in.messages("audit.event.changed")[from:] {
		if m.Data["entityType"] == "contact" {
			n++
		}
	}

	return n
}

// delays returns how long after it happened each message from one on was taken.
func (in *inbox) delays(from int) (out []time.Duration) {
	in.mu.Lock()
	defer in.mu.Unlock()

	n := 0

	for i, m := range in.got {
		if m.Type != "audit.event.changed" {
			continue
		}

		if n++; n <= from || m.Data["entityType"] != "contact" {
			continue
		}

		if at, err := time.Parse(time.RFC3339, m.Timestamp); err == nil {
			out = append(out, in.at[i].Sub(at))
		}
	}

	return out
}
