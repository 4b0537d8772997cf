// Package pms_test connects teams to property-management systems that sandboxes are, over HTTP, and holds what is in the
// books to what the systems say.
package pms_test

import (
	"net/http/httptest"
	"os"
	"strconv"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	sandbox "stayledger/provider/sandbox/pms"
	"stayledger/test/world"
)

func TestMain(m *testing.M) {
	// The kill test runs this program as a worker.
	if url := os.Getenv(workerDatabase); url != "" {
		work(url)
	}

	apitest.Main(m)
}

type (
	object = world.Object
	array  = world.Array
)

const token = "sandbox-token"

// scene is a team and a system of our own protocol.
type scene struct {
	*world.World
	system     *sandbox.Server
	url        string
	home       world.Listing // House 1, in scenes that have it
	connection id.ID
}

// newScene returns a team that is not connected yet, and an empty system.
func newScene(t testing.TB) *scene {
	t.Helper()

	return newSceneIn(t, nil)
}

// newSceneIn returns such a team in a database of the test's own; nil is the package's.
func newSceneIn(t testing.TB, d *db.DB) *scene {
	t.Helper()

	system, err := sandbox.New(sandbox.Config{Token: token})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(system)

	t.Cleanup(func() {
		system.Close()
		server.Close()
	})

	return &scene{World: world.In(t, d), system: system, url: server.URL}
}

// connect connects the team to the system and waits until that is done.
func (s *scene) connect() {
	s.T.Helper()

	s.connection = s.Post("/connections", object{
		"appId": "pmsProtocol", "name": "Rentals", "settings": object{"baseUrl": s.url}, "credentials": object{"token": token},
	}).Want(202).ID("resource.id")
	s.Outlast(nil)

	if got := s.Get(s.path("")).Want(200); got.String("status") != "active" {
		s.T.Fatalf("the connection is %s", got.Body)
	}
}

// path returns the path of something of the connection.
func (s *scene) path(rest string) string { return "/connections/" + s.connection.String() + rest }

// sync reads the system and returns the sync when it has ended.
func (s *scene) sync(mode string) *apitest.Response {
	s.T.Helper()

	operation := s.Post(s.path("/sync"), object{"mode": mode}).Want(202).String("operationId")
	s.Outlast(nil)

	if got := s.Get("/operations/" + operation).Want(200); got.String("type") != "connection-sync" {
		s.T.Errorf("the operation is %s", got.Body)
	}

	done := s.Get("/syncs/" + s.Get("/syncs?limit=1&connectionIds="+s.connection.String()).Want(200).String("data.0.id")).Want(200)
	s.T.Logf("%s: %s", done.Body, s.Get("/syncs/"+done.String("id")+"/items?outcome=failed&limit=5").Want(200).Body)

	return done
}

// stay returns the reservation with a confirmation code.
func (s *scene) stay(code string) *apitest.Response {
	s.T.Helper()

	found := s.Get("/reservations?includeLines=true&search=" + code).Want(200)

	// A short code can also be a part of the random short reference of another stay.
	at := []int{}

	for i := range found.Len("data") {
		if found.Len("data") == 1 || found.String("data."+strconv.Itoa(i)+".confirmationCode") == code {
			at = append(at, i)
		}
	}

	if len(at) != 1 {
		s.T.Fatalf("%s: %s", code, found.Body)
	}

	return s.Get("/reservations/" + found.String("data."+strconv.Itoa(at[0])+".id")).Want(200)
}

// booked returns a stay of three nights with a rent and a fee.
func booked(name, listing, checkIn, checkOut string) sandbox.Reservation {
	return sandbox.Reservation{
		ID: name, ListingID: listing, Status: "booked", Code: "C-" + name, Channel: "airbnb", Guest: sandbox.Guest{Name: "Ada"},
		CheckIn: checkIn, CheckOut: checkOut, BookedAt: "2026-01-02", Currency: "usd", Total: "450.50",
		Lines: []sandbox.Line{{Type: "rent", Amount: "400.50"}, {Type: "cleaningFee", Amount: "50"}},
	}
}
