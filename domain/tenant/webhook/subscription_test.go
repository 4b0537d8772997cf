package webhook_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"stayledger/domain/tenant/webhook"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/outbound"
)

// Deleted webhooks get nothing more, keep what was sent, and cannot come back; a message can still be sent again.
//
// Proves: WHK-08..WHK-10, WHK-12..WHK-14, WHK-16, WHK-17, OPEN-11, INIT-52.
func TestDeletingEndsASubscriptionAndKeepsItsHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook := w.active("audit.event.changed")
	path := "/webhooks/" + hook.String()

	w.addContact("Told")
	w.receiver.status(http.StatusInternalServerError)
	w.send()
	w.addContact("Waits")

	gone := w.Delete(path).Want(http.StatusOK).WantFields("", object{
		"id": hook.String(), "status": "disabled", "disabledReason": "deleted", "scope": "self", "description": nil, "eventTypes": []any{"audit.event.changed"},
	})
	for _, field := range []string{"verifiedAt", "disabledAt", "createdAt", "updatedAt"} {
		if gone.String(field) == "" {
			t.Errorf("%s is empty", field)
		}
	}

	w.receiver.take("")
	w.receiver.status(http.StatusOK)
	w.addContact("Not told")
	w.send()

	if got := w.receiver.take(""); len(got) != 0 {
		t.Errorf("a deleted webhook got %d messages", len(got))
	}

	sent := w.deliveries(hook, "eventType=audit.event.changed").WantFields("data.0", object{"status": "exhausted", "failure": "webhookDisabled", "nextAttemptAt": nil})

	// What was sent is still there and can be sent again.
	for i := range sent.Len("data") {
		ack := w.Post("/webhook-deliveries/"+sent.String("data."+string(rune('0'+i))+".id")+"/replay", nil).Want(http.StatusAccepted)
		ack.WantFields("", object{"type": "webhook-test", "resource": object{"type": "webhook", "id": hook.String(), "role": "target"}})
	}

	w.Work()

	if got := w.receiver.take(""); len(got) != sent.Len("data") {
		t.Errorf("%d of %d messages were sent again", len(got), sent.Len("data"))
	}

	w.deliveries(hook, "").WantFields("data.0", object{"status": "succeeded", "failure": nil})

	// Deleting it again changes nothing.
	again := w.Delete(path).Want(http.StatusOK)
	if again.String("disabledAt") != gone.String("disabledAt") || again.Int("revision") != gone.Int("revision") {
		t.Errorf("deleted again: %s", again.Body)
	}

	for _, refused := range []*apitest.Response{
		w.Put(path, object{"description": "x"}), w.Post(path+"/test", nil), w.Post(path+"/rotate-secret", nil),
		w.Post(path+"/replay", object{"from": "2026-01-01T00:00:00Z", "to": "2027-01-01T00:00:00Z"}),
	} {
		refused.WantError(apierr.CodeConflict, "")
	}

	w.Delete("/webhooks/abc").WantError(apierr.CodeBadRequest, "")
	w.Get("/webhooks?status=disabled&scope=self").Want(http.StatusOK).WantFields("pagination", object{"total": 1})
	w.Get("/webhooks?status=active").Want(http.StatusOK).WantFields("pagination", object{"total": 0})
}

// A secret that was changed signs for another day, also when the next one is changed within it.
//
// Proves: OPEN-21.
func TestFormerSecretsSignForADay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	made := w.subscribe("audit.event.changed")
	hook := made.ID("id")
	w.verify(hook)

	secrets := []string{made.String("secret")}
	rotate := func() {
		rotated := w.Post("/webhooks/"+hook.String()+"/rotate-secret", nil).Want(http.StatusOK)

		next := rotated.String("secret")
		if !strings.HasPrefix(next, "whsec_") || rotated.String("formerSecretUntil") == "" {
			t.Fatalf("rotated: %s", rotated.Body)
		}

		secrets = append(secrets, next)
	}
	signing := func() (live []bool) {
		w.send()
		w.receiver.take("")
		w.addContact("Told")
		w.send()

		got := w.receiver.take("")
		m := got[len(got)-1]

		for _, secret := range secrets {
			verifier, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}

			live = append(live, verifier.Verify(m.body, m.header) == nil)
		}

		return live
	}
	want := func(what string, want ...bool) {
		if got := signing(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	pass := func(by time.Duration) {
		w.Tx(func(ctx ctx, tx *db.Tx) error { return w.config.AgeFormer(ctx, tx, hook, by) })
	}

	rotate()
	want("changed once", true, true)
	pass(20 * time.Hour)
	rotate()
	want("changed again within a day", true, true, true)
	pass(5 * time.Hour)
	want("a day after the first change", false, true, true)
	pass(20 * time.Hour)
	want("a day after the second", false, false, true)

	// Secrets are shown once; the trail says only that they changed.
	for _, path := range []string{"/webhooks", "/webhooks/" + hook.String()} {
		if body := string(w.Get(path).Body); strings.Contains(body, "whsec_") || strings.Contains(body, secrets[2][6:]) {
			t.Errorf("%s shows a secret: %s", path, body)
		}
	}

	w.Tx(func(ctx ctx, tx *db.Tx) error {
		changes, err := db.Select[json.RawMessage](ctx, tx, `select changes from audit_event where team_id = @team and entity_type = 'webhook'`, db.Args{"team": tx.Team})
		for _, c := range changes {
			if strings.Contains(string(c), `"secret"`) && !strings.Contains(string(c), "•••") {
				t.Errorf("the trail shows %s", c)
			}
		}

		return err
	})
}

// Proves: OPEN-11.
func TestAnAddressIsCheckedWhenItIsSavedAndWhenItIsCalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refuses := w.Refuses("/webhooks")
	types := []string{"webhook.test"}

	for _, url := range []string{"https://", "https://user@example.com/", "https://example.com/#top", "example.com", "https://a:b@example.com", "/hook", "https://example.com:99999/x", "https://example.com:0/x"} {
		refuses(url, object{"url": url, "eventTypes": types}, "url", "url")
	}

	for _, url := range []string{"http://example.com/hook", "ftp://example.com"} {
		refuses(url, object{"url": url, "eventTypes": types}, "addressNotAllowed", "url")
	}

	refuses("no type", object{"url": "https://example.com/hook", "eventTypes": []string{}}, "items", "eventTypes")
	refuses("unknown type", object{"url": "https://example.com/hook", "eventTypes": []string{"made.up"}}, "enum", "eventTypes.0")

	// Without the operator's permission, neither numbers nor names near us.
	strict := w.config
	strict.Private, strict.Lookup = false, func(ctx ctx, name string) (addresses, error) {
		if name == "near.example.com" {
			return outbound.LookUp(ctx, "localhost")
		}

		return nil, errUnknownName
	}
	other := apitest.New(t, apitest.Config{Endpoints: webhook.Part(strict).Endpoints})

	for _, url := range []string{
		"https://127.0.0.1/", "https://10.1.2.3/", "https://169.254.169.254/latest", "https://[::1]/", "https://localhost/", "https://x.localhost/",
		"https://near.example.com/hook", "https://2130706433/", "http://203.0.113.9/",
	} {
		answer := other.Post("/webhooks", object{"url": url, "eventTypes": types})
		if answer.Status == http.StatusCreated && url == "https://2130706433/" {
			continue // a name of digits: what it leads to is checked when it is called
		}

		answer.WantError(apierr.CodeBadRequest, "").WantIssue("addressNotAllowed", "url")
	}

	made := other.Post("/webhooks", object{"url": "https://far.example.com/hook?token=1", "eventTypes": types}).Want(http.StatusCreated)
	other.Put("/webhooks/"+made.String("id"), object{"url": "https://near.example.com/"}).WantIssue("addressNotAllowed", "url")

	// A name that leads near us by the time of the call is not called.
	hook := w.active("audit.event.changed")
	w.addContact("Told")

	strict.Within, strict.Only = w.config.Within, w.config.Only
	strict.SendDue(t, w.DB)

	if got := w.receiver.take(""); len(got) != 0 {
		t.Error("a private address was called")
	}

	w.deliveries(hook, "status=failed").WantFields("data.0", object{"failure": "addressNotAllowed", "response": nil, "attempts": 1})
}

// Proves: WHK-02, OPEN-11, PAG-31.
func TestAPartnerIsToldOfTheTeamsThatItManages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer, stranger := newWorld(t), newWorld(t)
	w.config.Only = append(w.config.Only, customer.ID, stranger.ID)
	body := object{"url": w.receiver.URL, "eventTypes": []string{"audit.event.changed"}, "scope": "managed"}

	w.Post("/webhooks", body).WantError(apierr.CodeBadRequest, "").WantIssue("contradiction", "scope")
	w.Exec(`update team set type = 'partner' where id = @team`, nil)

	hook := w.Post("/webhooks", body).Want(http.StatusCreated).WantFields("", object{"scope": "managed"}).ID("id")
	w.verify(hook)

	customer.System(func(ctx ctx, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update team set partner_id = @partner where id = @team`, db.Args{"partner": w.ID, "team": customer.ID})
		return err
	})

	customer.addContact("Of the customer")
	stranger.addContact("Of a stranger")
	w.addContact("Of the partner itself")
	w.send()

	got := w.receiver.take("audit.event.changed")
	if len(got) != 1 || got[0].object["teamId"] != customer.ID.String() {
		t.Fatalf("the partner got %v", got)
	}

	w.deliveries(hook, "eventType=audit.event.changed").WantFields("data.0", object{"teamId": customer.ID.String()})

	// A team that is not managed any more is none of its business.
	customer.System(func(ctx ctx, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update team set partner_id = null where id = @team`, db.Args{"team": customer.ID})
		return err
	})
	customer.addContact("Alone")
	w.send()

	if got := w.receiver.take("audit.event.changed"); len(got) != 0 {
		t.Errorf("%d messages about a team of its own", len(got))
	}

	// What another team has does not exist.
	path := "/webhooks/" + hook.String()
	delivery := w.deliveries(hook, "").String("data.0.id")

	for _, answer := range []*apitest.Response{
		stranger.Get(path), stranger.Put(path, object{"description": "x"}), stranger.Delete(path), stranger.Post(path+"/test", nil),
		stranger.Post(path+"/rotate-secret", nil), stranger.Get(path + "/deliveries"), stranger.Post("/webhook-deliveries/"+delivery+"/replay", nil),
		stranger.Post(path+"/replay", object{"from": "2026-01-01T00:00:00Z", "to": "2027-01-01T00:00:00Z"}),
	} {
		answer.WantError(apierr.CodeNotFound, "")
	}
}

// Proves: WHK-11.
func TestSubscriptionsNeedTheirScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook := w.active("webhook.test")
	path := "/webhooks/" + hook.String()
	reader := w.As([]string{"webhooks:read"}, nil)

	reader.Get(path).Want(http.StatusOK)
	reader.Delete(path).WantError(apierr.CodeForbidden, "")
	reader.Post(path+"/test", nil).WantError(apierr.CodeForbidden, "")
	reader.Post("/webhooks", object{"url": w.receiver.URL, "eventTypes": []string{"webhook.test"}}).WantError(apierr.CodeForbidden, "")

	manager := w.As([]string{"webhooks:manage"}, nil)
	manager.Get(path).WantError(apierr.CodeForbidden, "")
	manager.Delete(path).Want(http.StatusOK)
}

// Proves: WHK-05, DRY-04, DRY-19.
func TestChangesOfASubscription(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook := w.active("webhook.test")
	path := "/webhooks/" + hook.String()

	w.Put(path, object{"description": "Ours", "eventTypes": []string{"payment.updated", "audit.event.changed", "payment.updated"}}).Want(http.StatusOK).
		WantFields("", object{"status": "active", "revision": 3, "description": "Ours", "eventTypes": []any{"audit.event.changed", "payment.updated"}})
	w.Put(path, object{"description": nil}).Want(http.StatusOK).WantFields("", object{"description": nil, "revision": 4})

	// The same again is no change.
	for _, body := range []object{{}, {"description": nil}, {"url": w.receiver.URL + "/hook"}, {"eventTypes": []string{"audit.event.changed", "payment.updated"}}} {
		w.Put(path, body).Want(http.StatusOK).WantFields("", object{"revision": 4})
	}

	w.Put(path, object{"url": w.receiver.URL + "/other"}).Want(http.StatusOK).WantFields("", object{"status": "pending", "verifiedAt": nil, "revision": 5})

	// A receiver that was not verified gets nothing but a test.
	w.Post("/webhook-deliveries/"+w.deliveries(hook, "").String("data.0.id")+"/replay", nil).WantError(apierr.CodeConflict, "")

	for _, at := range []string{path + "/test", path + "/rotate-secret", "/webhooks"} {
		w.Post(at+"?dryRun=true", object{}).WantError(apierr.CodeBadRequest, "")
	}

	// What is rolled back is told to nobody.
	w.verify(hook)
	w.send()
	w.receiver.take("")
	w.Post("/contacts?dryRun=true", object{"type": "vendor", "name": "Not made"}).Want(http.StatusCreated)
	w.send()

	if got := w.receiver.take(""); len(got) != 0 {
		t.Errorf("a dry run was told %d times", len(got))
	}
}
