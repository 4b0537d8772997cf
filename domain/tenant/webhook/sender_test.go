package webhook_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/hostile"
	"stayledger/platform/id"
	"stayledger/provider/mail"
)

// hangUp ends the connection of a request without an answer.
func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// Proves: OPEN-22.
func TestWhatCountsAsTaken(t *testing.T) {
	t.Parallel()

	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(elsewhere.Close)

	const within = 400 * time.Millisecond

	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		failure any // nil for a message that is taken
		status  any
	}{
		"204": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, nil, 204},
		"202": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }, nil, 202},
		"404": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "answered", 404},
		"500": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "answered", 500},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "redirected", 307},
		"no answer":      {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "timedOut", nil},
		"connection":     {hangUp, "unreachable", nil},
		"endless header": {hostile.Answers("text/plain")["header of 1 GB"], "unreachable", nil},
		"endless body": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, nil, 200},
		"slow body": {func(w http.ResponseWriter, r *http.Request) {
			for i := 0; r.Context().Err() == nil; i++ {
				_, _ = fmt.Fprint(w, "x")
				_ = http.NewResponseController(w).Flush()

				select {
				case <-r.Context().Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		}, nil, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.config.Within = within
			hook := w.active("audit.event.changed")
			w.addContact("Told")
			w.receiver.script(c.answer)

			began := time.Now()

			w.send()

			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the attempt took %v", took)
			}

			sent := w.deliveries(hook, "eventType=audit.event.changed").WantFields("data.0", object{"failure": c.failure, "attempts": 1})
			if c.status == nil {
				sent.WantFields("data.0", object{"response": nil})
			} else if got := sent.Int("data.0.response.status"); got != int64(c.status.(int)) { //nolint:forcetypeassert // of the table
				t.Errorf("kept the status %d", got)
			}

			if len(sent.String("data.0.status")) == 0 || (c.failure == nil) != (sent.String("data.0.status") == "succeeded") {
				t.Errorf("status %s", sent.String("data.0.status"))
			}
		})
	}
}

// A message is tried ten times after the pauses of the contract, each up to a fifth longer, and no more.
//
// Proves: OPEN-22.
func TestAMessageIsTriedOnSchedule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook := w.active("audit.event.changed")
	w.addContact("Told")
	w.send()
	w.addContact("Never taken")
	w.receiver.take("")
	w.receiver.status(http.StatusInternalServerError)

	waits := []string{"5s", "5m", "30m", "2h", "5h", "10h", "14h", "20h", "24h"}
	for attempt := range len(waits) + 1 {
		w.send()

		got := w.receiver.take("")
		if len(got) != 1 {
			t.Fatalf("attempt %d: %d messages", attempt+1, len(got))
		}

		sent := w.deliveries(hook, "eventType=audit.event.changed").WantFields("data.0", object{"attempts": attempt + 1})
		if attempt == len(waits) {
			sent.WantFields("data.0", object{"status": "exhausted", "nextAttemptAt": nil})
			break
		}

		sent.WantFields("data.0", object{"status": "failed"})

		wait, _ := time.ParseDuration(waits[attempt])
		if pause := instant(t, sent.String("data.0.nextAttemptAt")).Sub(instant(t, sent.String("data.0.attemptedAt"))); pause < wait || pause > wait*6/5+time.Second {
			t.Errorf("after attempt %d it waits %v, want %v to a fifth more", attempt+1, pause, wait)
		}

		w.send() // it is not due yet

		if got := w.receiver.take(""); len(got) != 0 {
			t.Errorf("sent before it was due")
		}

		w.Exec(`update webhook_delivery set due_at = clock_timestamp() where team_id = @team and due_at is not null`, nil)
	}

	// It holds back nothing: what comes later is sent, and it can be sent again itself.
	w.receiver.status(http.StatusOK)
	w.addContact("Later")
	w.send()

	if got := w.receiver.take(""); len(got) != 1 {
		t.Errorf("%d later messages", len(got))
	}

	w.Post("/webhooks/"+hook.String()+"/replay", object{"from": "2026-01-01T00:00:00Z", "to": "2030-01-01T00:00:00Z", "status": "exhausted"}).
		Want(http.StatusAccepted).WantFields("", object{"type": "webhook-test"})
	w.Work()
	w.send()

	if got := w.receiver.take("audit.event.changed"); len(got) != 1 {
		t.Errorf("%d messages sent again", len(got))
	}

	w.deliveries(hook, "status=exhausted").WantFields("", object{"data": []any{}})
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()

	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}

	return at
}

// A message is sent again when the receiver asks for it, at most a day later, and the receiver as a whole is left alone
// for five minutes at most: other messages do not wait for as long.
//
// Proves: OPEN-22.
func TestRetryAfterIsObeyed(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		status int
		after  string
		next   time.Duration // until the message is sent again, at least
		pause  time.Duration // of the receiver
	}{
		"429":            {429, "120", 2 * time.Minute, 2 * time.Minute},
		"503":            {503, "3600", time.Hour, 5 * time.Minute},
		"500 with":       {500, "90", 90 * time.Second, 90 * time.Second},
		"a date":         {429, time.Now().Add(20 * time.Minute).UTC().Format(http.TimeFormat), 19 * time.Minute, 5 * time.Minute},
		"a month":        {429, "2592000", 24 * time.Hour, 5 * time.Minute},
		"502 without":    {502, "", 5 * time.Second, 5 * time.Second},
		"504 nonsense":   {504, "soon", 5 * time.Second, 5 * time.Second},
		"negative":       {503, "-5", 5 * time.Second, 5 * time.Second},
		"beyond int64":   {503, "99999999999999999999", 5 * time.Second, 5 * time.Second},
		"400 with":       {400, "3600", 5 * time.Second, 0},
		"500 needs none": {500, "", 5 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			hook := w.active("audit.event.changed")
			w.send()
			w.receiver.take("")
			w.addContact("Told")

			w.receiver.script(func(answer http.ResponseWriter, _ *http.Request) {
				if c.after != "" {
					answer.Header().Set("Retry-After", c.after)
				}

				answer.WriteHeader(c.status)
			})
			w.send()

			sent := w.deliveries(hook, "status=failed")
			if next := instant(t, sent.String("data.0.nextAttemptAt")).Sub(instant(t, sent.String("data.0.attemptedAt"))); next < c.next || next > c.next*6/5+time.Minute {
				t.Errorf("sent again after %v, want %v", next, c.next)
			}

			about := w.Get("/webhooks/" + hook.String())
			if c.pause == 0 {
				about.WantFields("", object{"pausedUntil": nil})
				return
			}

			if pause := instant(t, about.String("pausedUntil")).Sub(instant(t, sent.String("data.0.attemptedAt"))); pause < c.pause || pause > c.pause+time.Minute {
				t.Errorf("left alone for %v, want %v", pause, c.pause)
			}

			// A test that the receiver takes ends the pause.
			w.addContact("Waits")
			w.receiver.take("")
			w.send()

			if got := w.receiver.take(""); len(got) != 0 {
				t.Errorf("%d messages meanwhile", len(got))
			}

			w.receiver.script(nil)
			w.verify(hook)
			w.Get("/webhooks/"+hook.String()).WantFields("", object{"pausedUntil": nil})
			w.send()

			if got := w.receiver.take("audit.event.changed"); len(got) != 1 {
				t.Errorf("%d messages after the test", len(got))
			}
		})
	}
}

// Messages for a receiver that answers slowly do not wait for one another.
//
// Proves: OPEN-22.
func TestASlowReceiverGetsMessagesSideBySide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.active("audit.event.changed")
	w.send()

	for range 12 {
		w.addContact("Told")
	}

	// It answers nobody before all have come.
	var waiting sync.WaitGroup

	waiting.Add(12)
	w.receiver.script(func(answer http.ResponseWriter, _ *http.Request) {
		waiting.Done()
		waiting.Wait()
		answer.WriteHeader(http.StatusNoContent)
	})
	w.Exec(`update webhook set is_slow = true where team_id = @team`, nil)
	w.receiver.take("")
	w.send()

	if got := w.receiver.take(""); len(got) != 12 {
		t.Errorf("%d messages", len(got))
	}
}

// A receiver that is gone, or that fails for five days, is not called any more; the team is told by mail and issue until
// a test succeeds.
//
// Proves: OPEN-11, OPEN-22.
func TestAReceiverThatIsGoneOrFailsForDaysIsDisabled(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		status int
		reason string
		since  string
	}{
		"gone":    {http.StatusGone, "gone", "1 second"},
		"failing": {http.StatusInternalServerError, "failing", "5 days"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, post := newWorld(t), &postbox{}
			w.config.Mail = post
			w.serve()
			w.Exec(`update team set email = 'office@example.com' where id = @team`, nil)

			hook := w.active("audit.event.changed")
			path := "/webhooks/" + hook.String()

			for range 3 {
				w.addContact("Told")
			}

			w.receiver.status(http.StatusInternalServerError)
			w.send()
			w.Get(path).WantFields("", object{"status": "active"})

			w.Exec(`update webhook set failing_since = now() - @since::interval where team_id = @team`, db.Args{"since": c.since})
			w.Exec(`update webhook_delivery set due_at = clock_timestamp() where team_id = @team and due_at is not null`, nil)
			w.receiver.status(c.status)
			w.send()

			w.Get(path).WantFields("", object{"status": "disabled", "disabledReason": c.reason})

			for _, d := range data(w.deliveries(hook, "eventType=audit.event.changed")) {
				if d["nextAttemptAt"] != nil {
					t.Errorf("still waits: %v", d)
				}
			}

			w.Work()

			if sent := post.take(); len(sent) != 1 || sent[0].To != "office@example.com" {
				t.Fatalf("mails: %+v", sent)
			}

			if got := w.issues(); len(got) != 1 || got[0] != "webhookDisabled "+c.reason {
				t.Errorf("issues %v", got)
			}

			// Nothing more is sent, until it takes a test.
			w.receiver.take("")
			w.receiver.status(http.StatusOK)
			w.addContact("Missed")
			w.send()

			if got := w.receiver.take(""); len(got) != 0 {
				t.Errorf("%d messages", len(got))
			}

			w.verify(hook)
			w.Get(path).WantFields("", object{"status": "active", "disabledAt": nil, "disabledReason": nil})
			w.addContact("Told again")
			w.send()

			if got := w.receiver.take("audit.event.changed"); len(got) < 1 {
				t.Errorf("%d messages after it works again", len(got))
			}

			if got := w.issues(); len(got) != 0 {
				t.Errorf("issues %v", got)
			}
		})
	}
}

// Several senders at once send each message once, and a sender that died loses its messages to another.
//
// Proves: OPEN-22.
func TestSendersShareMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook := w.active("audit.event.changed")
	w.send()
	w.receiver.take("")

	const many = 150

	rows := make([]object, many)
	for i := range rows {
		rows[i] = object{"type": "vendor", "name": "Vendor " + strconv.Itoa(i)}
	}

	// All messages are there before the first sender begins.
	w.Exec(`update webhook set paused_until = now() + interval '1 hour' where team_id = @team`, nil)
	w.Post("/contacts/batch", object{"data": rows}).Want(http.StatusOK)
	w.send()
	w.Exec(`update webhook set paused_until = null where team_id = @team`, nil)

	var group sync.WaitGroup
	for range 6 {
		group.Go(w.send)
	}

	group.Wait()
	w.send()

	seen := map[any]int{}
	for _, m := range w.receiver.take("") {
		seen[m.object["id"]]++
	}

	for message, n := range seen {
		if n != 1 {
			t.Errorf("%v was sent %d times", message, n)
		}
	}

	if len(seen) != many {
		t.Errorf("%d of %d messages", len(seen), many)
	}

	// A dead sender leaves its lease; when that has ended others send the messages.
	w.addContact("In the hands of another sender")
	w.Exec(`update webhook set leased_until = clock_timestamp() + interval '45 seconds' where team_id = @team`, nil)
	w.receiver.take("")
	w.send()

	if got := w.receiver.take(""); len(got) != 0 {
		t.Error("sent while another sender has them")
	}

	w.Exec(`update webhook set leased_until = leased_until - interval '45 seconds' where team_id = @team`, nil)
	w.send()

	if got := w.receiver.take(""); len(got) != 1 {
		t.Errorf("%d messages after the lease", len(got))
	}

	if open := data(w.deliveries(hook, "status=pending")); len(open) != 0 {
		t.Errorf("%d messages are left", len(open))
	}
}

// Proves: LIM-14..LIM-18, ERR-52, OPEN-23.
func TestLimitsOfUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook := w.active("webhook.test")
	path := "/webhooks/" + hook.String()

	// The first change was the webhook, the first test verified it.
	for kind, c := range map[string]struct {
		most int
		do   func() int
	}{
		"changes": {19, func() int { return w.Put(path, object{"description": "x"}).Status }},
		"tests":   {5, func() int { return w.Post(path+"/test", nil).Status }},
		"replays": {60, func() int {
			return w.Post(path+"/replay", object{"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}).Status
		}},
	} {
		for i := range c.most {
			if status := c.do(); status >= 400 {
				t.Fatalf("%s %d: %d", kind, i+1, status)
			}
		}
	}

	delivery := w.deliveries(hook, "").String("data.0.id")

	for at, body := range map[string]object{
		path + "/test": nil, path + "/rotate-secret": nil, "/webhook-deliveries/" + delivery + "/replay": nil,
		path + "/replay": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"},
		"/webhooks":      {"url": w.receiver.URL, "eventTypes": []string{"webhook.test"}},
	} {
		refused := w.Post(at, body).WantError(apierr.CodeRateLimited, "")

		after, err := strconv.Atoi(refused.Header.Get("Retry-After"))
		if err != nil || after < 1 || after > 60 || refused.Status != http.StatusTooManyRequests {
			t.Errorf("%s: status %d, Retry-After %q", at, refused.Status, refused.Header.Get("Retry-After"))
		}
	}

	w.Delete(path).WantError(apierr.CodeRateLimited, "")

	// Another webhook has tests of its own, and another team everything.
	other := newWorld(t)
	other.active("webhook.test")

	// What was refused counted nothing: when the first use is a minute old, one is free.
	w.Exec(`update webhook_rate set used_at = (used_at[1] - interval '1 minute') || used_at[2:] where team_id = @team`, nil)
	w.Put(path, object{"description": "y"}).Want(http.StatusOK)
	w.Put(path, object{"description": "z"}).WantError(apierr.CodeRateLimited, "")

	// Nothing else is limited.
	for range 100 {
		w.Get("/webhooks").Want(http.StatusOK)
		w.deliveries(hook, "limit=1")
	}
}

// data returns the rows of a list.
func data(r *response) []object {
	var list struct{ Data []object }

	r.Into(&list)

	return list.Data
}

// postbox keeps mails.
type postbox struct {
	mu  sync.Mutex
	got []mail.Message
}

// Send keeps the message.
func (p *postbox) Send(_ ctx, m mail.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.got = append(p.got, m)

	return nil
}

// take returns the mails.
func (p *postbox) take() []mail.Message {
	p.mu.Lock()
	defer p.mu.Unlock()

	got := p.got
	p.got = nil

	return got
}

// Proves: PAG-06, PAG-07, PAG-32.
func TestDeliveriesAreListedPageByPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook := w.active("audit.event.changed")

	for range 7 {
		w.addContact("Told")
	}

	w.send()

	all := data(w.deliveries(hook, ""))
	path := "/webhooks/" + hook.String() + "/deliveries?limit=3"

	var got []object

	for cursor := ""; ; {
		page := w.Get(path + cursor).Want(http.StatusOK)
		got = append(got, data(page)...)

		if page.Value("page.nextCursor") == nil {
			break
		}

		cursor = "&cursor=" + page.String("page.nextCursor")
	}

	if len(all) != 9 || fmt.Sprint(got) != fmt.Sprint(all) {
		t.Errorf("%d rows, by page %d", len(all), len(got))
	}

	w.Get(path+"&status=failed&cursor="+w.Get(path).String("page.nextCursor")).WantError(apierr.CodeBadRequest, "")
	w.deliveries(hook, "from=2030-01-01T00:00:00Z").WantFields("", object{"data": []any{}})
	w.deliveries(hook, "to=2020-01-01T00:00:00Z").WantFields("", object{"data": []any{}})
	w.Get("/webhooks/"+id.New(w.DB.Now()).String()+"/deliveries").WantError(apierr.CodeNotFound, "")
}

// A team whose writes are frozen gets its messages later, and one that is being deleted none.
func TestFrozenTeamsWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.active("audit.event.changed")
	w.send()
	w.receiver.take("")
	w.addContact("Waits")

	freeze := func(reason *string) {
		w.System(func(ctx ctx, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `update team set freeze_reason = @reason where id = @team`, db.Args{"team": w.ID, "reason": reason})
			return err
		})
	}

	freeze(new("migration"))
	w.send()

	if got := w.receiver.take(""); len(got) != 0 {
		t.Errorf("%d messages while the team is frozen", len(got))
	}

	freeze(nil)
	w.send()

	if got := w.receiver.take(""); len(got) != 1 {
		t.Errorf("%d messages later", len(got))
	}

	w.addContact("Never told")
	freeze(new("deletion"))
	w.send()
	freeze(nil)
	w.send()

	if got := w.receiver.take(""); len(got) != 0 {
		t.Errorf("%d messages of a team that was being deleted", len(got))
	}
}
