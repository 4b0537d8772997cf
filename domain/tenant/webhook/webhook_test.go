package webhook_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"stayledger/domain/record/trail"
	"stayledger/domain/tenant/webhook"
)

// A team subscribes, has the receiver take a test, and is told of what happens, signed and once.
//
// Proves: WHK-01..WHK-07, WHK-15, INIT-51.
func TestASubscriptionIsToldOnceAndSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	made := w.subscribe("audit.event.changed", "operation.completed")
	made.WantFields("", object{"scope": "self", "url": w.receiver.URL + "/hook", "status": "pending", "revision": 1, "apiVersion": "2026-11-01", "verifiedAt": nil})

	hook, secret := made.ID("id"), made.String("secret")

	// Nothing is told before the receiver has taken a test.
	w.addContact("Too early")
	w.send()

	if got := w.receiver.take(""); len(got) != 0 {
		t.Fatalf("a pending webhook got %d messages", len(got))
	}

	w.Post("/webhooks/"+hook.String()+"/test", nil).Want(http.StatusAccepted).WantFields("", object{"type": "webhook-test", "status": "queued"})
	w.Work()
	w.Get("/webhooks/"+hook.String()).WantFields("", object{"status": "active", "revision": 2})

	if got := w.receiver.take("webhook.test"); len(got) != 1 {
		t.Fatalf("%d tests", len(got))
	}

	w.send() // the test itself is an operation, and a change of the webhook
	w.receiver.take("")

	one := w.addContact("Ann Example")
	w.send()
	w.send()

	got := w.receiver.take("")
	if len(got) != 1 {
		t.Fatalf("%d messages", len(got))
	}

	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}

	if err := verifier.Verify(got[0].body, got[0].header); err != nil {
		t.Error(err)
	}

	data, _ := got[0].object["data"].(object)
	if got[0].object["type"] != "audit.event.changed" || got[0].object["teamId"] != w.ID.String() || got[0].object["id"] != got[0].header.Get("webhook-id") ||
		data["entityType"] != "contact" || data["entityId"] != one.String() || data["action"] != "created" || data["revision"] != float64(1) {
		t.Errorf("message %s", got[0].body)
	}

	// Whoever makes the message of what the API says makes the same.
	var events trail.EventList

	w.Get("/audit/events?entityType=contact&entityId=" + one.String()).Want(http.StatusOK).Into(&events)

	own, err := json.Marshal(webhook.NewMessage(&events.Data[0]))
	if err != nil {
		t.Fatal(err)
	}

	var same object
	if err := json.Unmarshal(own, &same); err != nil || !reflect.DeepEqual(same, got[0].object) {
		t.Errorf("made of the API: %s, sent: %s", own, got[0].body)
	}

	w.deliveries(hook, "eventType=audit.event.changed&status=succeeded&limit=1").WantFields("data.0", object{"status": "succeeded", "attempts": 1})
}

// What happened before a receiver took a test is none of its messages, also beside another webhook that is active.
//
// Proves: WHK-04, OPEN-11.
func TestAPendingWebhookMissesWhatHappens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.active("audit.event.changed")

	late := w.subscribe("audit.event.changed").ID("id")
	w.addContact("Before")
	w.send()
	w.verify(late)
	w.addContact("After")
	w.send()

	names := map[any]bool{}
	for _, d := range data(w.deliveries(late, "eventType=audit.event.changed")) {
		names[d["payload"].(object)["data"].(object)["entityType"]] = true //nolint:forcetypeassert // a message
	}

	if n := len(data(w.deliveries(late, "eventType=audit.event.changed"))); n != 2 || !names["contact"] || !names["webhook"] {
		t.Errorf("%d messages about %v", n, names)
	}
}
