package webhook_test

import (
	"net/http"
	"testing"

	"stayledger/platform/db"
)

// A checkpoint of the audit log is about no team: each subscription with the type gets it once, also that of a partner to
// the teams that it manages.
func TestACheckpointIsToldToEverySubscription(t *testing.T) {
	t.Parallel()
	w, customer, other := newWorld(t), newWorld(t), newWorld(t)
	w.config.Only = append(w.config.Only, customer.ID, other.ID)

	w.Exec(`update team set type = 'partner' where id = @team`, nil)
	w.verify(w.Post("/webhooks", object{"url": w.receiver.URL, "eventTypes": []string{"audit.checkpoint"}, "scope": "managed"}).Want(http.StatusCreated).ID("id"))

	customer.System(func(ctx ctx, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update team set partner_id = @partner where id = @team`, db.Args{"partner": w.ID, "team": customer.ID})
		return err
	})
	customer.active("audit.checkpoint")
	other.active("audit.event.changed")
	w.send()

	w.System(func(ctx ctx, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `insert into audit_checkpoint (tree_size, root, note, created_at) values (7, sha256('root'), 'the note', now())`, nil)
		return err
	})
	w.send()
	w.send()

	const root = "SBNJTRN+FjG7owHVrKtue7eqdM4RhdRWVl71HXN2d7I="

	for _, told := range []*world{w, customer} {
		got := told.receiver.take("audit.checkpoint")
		if len(got) != 1 {
			t.Fatalf("%d messages", len(got))
		}

		data, _ := got[0].object["data"].(object)
		if got[0].object["teamId"] != told.ID.String() || data["treeSize"] != float64(7) || data["checkpoint"] != "the note" ||
			data["rootHash"] != root {
			t.Errorf("message %s", got[0].body)
		}
	}

	if got := other.receiver.take("audit.checkpoint"); len(got) != 0 {
		t.Errorf("%d messages without a subscription", len(got))
	}
}
