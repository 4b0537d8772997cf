package pms_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"stayledger/provider/sandbox/ownerrez"
)

// appPassword is what the operator has set at OwnerRez for the messages of the app.
const appPassword = "app-password-of-ours"

// An app of OwnerRez has one address for the messages of all accounts. The account in the message says which connections have what it names
// looked at; access that was taken back is noticed at once.
func TestMessagesOfAnAppFindTheirAccounts(t *testing.T) {
	t.Parallel()
	c := newConsent(t)

	state, back := c.start(nil)
	c.comeBack(back)
	c.connection = c.finish(state).Want(202).ID("resource.id")
	c.Outlast(nil)
	c.sync("full")

	c.owner.SetBooking(ownerrez.Object{
		"id": 2, "property_id": 40001, "type": "booking", "status": "active", "platform_reservation_number": "HM-2", "currency_code": "USD",
		"arrival": "2026-02-10", "departure": "2026-02-13", "total_amount": 120, "charges": []ownerrez.Object{ownerrez.Charge("rent", "Rent", 120)},
	})

	send := func(name, password string, message object) int {
		basic := base64.StdEncoding.EncodeToString([]byte(name + ":" + password))
		return c.Post("/pms-messages/apps/ownerrez", message, "Authorization", "Basic "+basic).Status
	}

	change := object{"user_id": 77, "action": "entity_insert", "entity_type": "booking", "entity_id": 2}

	for name, wrong := range map[string]int{
		"another password": send("ours", "another password of theirs", change),
		"another name":     send("theirs", appPassword, change),
		"no account":       send("ours", appPassword, object{"action": "entity_insert", "entity_type": "booking", "entity_id": 2}),
	} {
		if wrong != http.StatusUnauthorized {
			t.Errorf("%s: answered %d", name, wrong)
		}
	}

	// Messages of another account are taken and concern no connection.
	if got := send("ours", appPassword, object{"user_id": 78, "action": "application_authorization_revoked"}); got != http.StatusNoContent {
		t.Errorf("another account: answered %d", got)
	}

	if got := send("ours", appPassword, change); got != http.StatusNoContent {
		t.Errorf("a change: answered %d", got)
	}

	c.Outlast(nil)

	if got := c.stay("HM-2"); got.Int("financials.total") != 12_000 {
		t.Errorf("the stay is %s", got.Body)
	}

	if got := send("ours", appPassword, object{"user_id": 77, "action": "application_authorization_revoked"}); got != http.StatusNoContent {
		t.Errorf("access that was taken back: answered %d", got)
	}

	if got := c.Get(c.path("")).Want(200); got.String("status") != "reconnectRequired" {
		t.Errorf("the connection is %s", got.Body)
	}
}
