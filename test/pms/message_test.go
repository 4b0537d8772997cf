package pms_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"

	"stayledger/platform/db"
	sandbox "stayledger/provider/sandbox/pms"
)

// A message of the system has what it names read; one that is not signed with the secret of the connection is refused
// and has nothing read, and one that comes twice changes nothing more.
func TestMessagesAreHints(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})
	s.system.SetReservation(booked("r1", "L1", "2026-01-10", "2026-01-13"))
	s.connect()
	s.sync("incremental")

	subscribed := s.system.Subscription()
	if subscribed.URL != "http://127.0.0.1/pms-messages/"+s.connection.String() || len(subscribed.Secret) < 32 {
		t.Fatalf("the subscription is %+v", subscribed)
	}

	if err := s.system.ChangeReservation("r1", func(r *sandbox.Reservation) { r.CheckOut = "2026-01-15" }); err != nil {
		t.Fatal(err)
	}

	path, body := "/pms-messages/"+s.connection.String(), `{"reservationIds":["r1"]}`
	now := s.DB.Now()

	for name, m := range map[string]struct {
		path    string
		headers []string
	}{
		"no signature":       {path, nil},
		"another secret":     {path, sign(subscribed.Secret+"x", body, now)},
		"another body":       {path, sign(subscribed.Secret, body+" ", now)},
		"an old message":     {path, sign(subscribed.Secret, body, now.Add(-6*time.Minute))},
		"another connection": {"/pms-messages/" + s.ID.String(), sign(subscribed.Secret, body, now)},
	} {
		if got := s.Post(m.path, raw(body), m.headers...); got.String("code") != "UNAUTHORIZED" {
			t.Errorf("%s: %s", name, got.Body)
		}
	}

	s.Outlast(nil)

	if got := s.stay("C-r1"); got.String("checkOut") != "2026-01-13" {
		t.Errorf("a refused message was believed: %s", got.Body)
	}

	for range 2 {
		s.Post(path, raw(body), sign(subscribed.Secret, body, now)...).Want(http.StatusNoContent)
		s.Outlast(nil)

		if got := s.stay("C-r1"); got.String("checkOut") != "2026-01-15" {
			t.Errorf("the stay is %s", got.Body)
		}
	}

	if got := s.Get("/syncs?limit=1&connectionIds=" + s.connection.String()).Want(200); got.String("data.0.trigger") != "webhook" {
		t.Errorf("the sync is %s", got.Body)
	}

	// A system that takes the access back is not read any more.
	body = `{"revoked":true}`
	s.Post(path, raw(body), sign(subscribed.Secret, body, now)...).Want(http.StatusNoContent)

	if got := s.Get(s.path("")).Want(200); got.String("status") != "reconnectRequired" {
		t.Errorf("the connection is %s", got.Body)
	}

	s.Post(s.path("/sync"), nil).WantError("CONNECTION_RECONNECT_REQUIRED", "")
}

// sign returns the headers of a message that is signed with a secret, as Standard Webhooks says.
func sign(secret, body string, at time.Time) []string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	h := hmac.New(sha256.New, []byte(secret))
	_, _ = h.Write([]byte("msg_1." + stamp + "." + body))

	return []string{
		"webhook-id", "msg_1", "webhook-timestamp", stamp, "webhook-signature", "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil)),
	}
}

// A connection is read by its schedule from its first sync on, completely once a day, and not when that is switched off.
func TestConnectionsAreReadByTheirSchedule(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})
	s.connect()

	if got := s.Get(s.path("")).Want(200); got.Value("nextSyncAt") != nil || got.Value("lastSync") != nil || got.Value("isSyncEnabled") != true {
		t.Errorf("before the first sync: %s", got.Body)
	}

	s.sync("incremental")

	if got := s.Get(s.path("")).Want(200); got.Value("nextSyncAt") == nil || got.String("lastSync.status") != "completed" || got.Value("lastSyncAt") == nil {
		t.Errorf("after the first sync: %s", got.Body)
	}

	s.system.SetReservation(booked("r1", "L1", "2026-01-10", "2026-01-13"))
	s.Put(s.path(""), object{"isSyncEnabled": false}).Want(200)
	s.tick()

	if got := s.Get("/reservations").Want(200); got.Len("data") != 0 {
		t.Errorf("a connection was read whose schedule is off: %s", got.Body)
	}

	s.Put(s.path(""), object{"isSyncEnabled": true}).Want(200)
	s.tick()

	last := s.Get("/syncs?limit=1&connectionIds=" + s.connection.String()).Want(200)
	if last.String("data.0.trigger") != "schedule" || last.String("data.0.mode") != "full" || s.Get("/reservations").Len("data") != 1 {
		t.Errorf("the scheduled sync is %s", last.Body)
	}

	s.tick()

	if again := s.Get("/syncs?limit=1&connectionIds=" + s.connection.String()).Want(200); again.String("data.0.mode") != "incremental" {
		t.Errorf("the next sync is %s", again.Body)
	}
}

// tick lets the schedule of the connection be due, and runs its task.
func (s *scene) tick() {
	s.T.Helper()
	s.Exec(`update connection set next_sync_at = next_sync_at - interval '2 hours' where team_id = @team`, db.Args{})

	if err := s.RunTask("connection-sync"); err != nil {
		s.T.Fatal(err)
	}

	s.Outlast(nil)
}

// raw is a body that is sent as it is.
func raw(body string) json.RawMessage { return json.RawMessage(body) }
