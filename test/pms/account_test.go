package pms_test

import (
	"testing"

	"stayledger/platform/apierr"
)

// The same account is connected once: everything in it would come twice.
func TestAnAccountIsConnectedOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.connect()

	first := s.connection.String()
	again := object{"appId": "pmsProtocol", "name": "Again", "settings": object{"baseUrl": s.url}, "credentials": object{"token": token}}

	// Equal settings and credentials are refused at once.
	r := s.Post("/connections", again).WantError(apierr.CodeConflict, "").WantIssue("alreadyConnected", "credentials")
	if r.String("context.connectionId") != first {
		t.Errorf("got %s", r.Body)
	}

	// Another way to the same account is found when the system is asked.
	around := object{"appId": "pmsProtocol", "name": "Around", "settings": object{"baseUrl": s.url + "/"}, "credentials": object{"token": token}}
	made := s.Post("/connections", around).Want(202)
	s.Outlast(nil)

	other := "/connections/" + made.String("resource.id")
	s.Get(other).Want(200).WantFields("", object{"status": "disabled", "externalAccount": nil, "connectedAt": nil})
	s.Get("/operations/"+made.String("operationId")).Want(200).WantFields("", object{
		"status": "failed", "failure.code": "alreadyConnected", "failure.message": "Another active connection has the account",
	})

	for _, body := range []object{{}, {"credentials": object{"token": token}}} {
		r = s.Post(other+"/connect", body).WantError(apierr.CodeConflict, "").WantIssue("alreadyConnected", "credentials")
		if r.String("context.connectionId") != first {
			t.Errorf("got %s", r.Body)
		}
	}

	s.Put(other, object{"settings": object{"baseUrl": s.url}}).Want(200)
	s.Post(other+"/connect", object{"credentials": object{"token": token}}).WantError(apierr.CodeConflict, "").WantIssue("alreadyConnected", "credentials")

	// The account is free when its connection is switched off; this one cannot come back then.
	s.Put("/connections/"+first, object{"status": "disabled"}).Want(200)
	s.Post(other+"/connect", object{"credentials": object{"token": token}}).Want(202)
	s.Outlast(nil)
	s.Get(other).Want(200).WantFields("", object{"status": "active"})

	s.Put("/connections/"+first, object{"status": "active"}).WantError(apierr.CodeConflict, "").WantIssue("alreadyConnected", "credentials")
	s.Post("/connections/"+first+"/connect", object{}).WantError(apierr.CodeConflict, "").WantIssue("alreadyConnected", "credentials")
	s.Put("/connections/"+first, object{"name": "Former"}).Want(200)
	s.Put(other, object{"name": "Present", "settings": object{"baseUrl": s.url}}).Want(200)
}

// Of two connections to one account that are made at once, one works.
func TestAnAccountIsConnectedOnceAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)

	for _, name := range []string{"One", "Two", "Three"} {
		s.Post("/connections", object{
			"appId": "pmsProtocol", "name": name, "settings": object{"baseUrl": s.url}, "credentials": object{"token": token},
		}).Want(202)
	}

	s.Outlast(nil)

	if active, disabled := s.Get("/connections?status=active").Len("data"), s.Get("/connections?status=disabled").Len("data"); active != 1 || disabled != 2 {
		t.Errorf("%d are active and %d disabled", active, disabled)
	}
}
