package pms_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"stayledger/app"
	"stayledger/domain/exchange/pms"
	"stayledger/domain/tenant/access"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/provider/sandbox/ownerrez"
	"stayledger/test/world"
)

// consent is a team, and a system whose account holder is asked for access.
type consent struct {
	scene

	owner *ownerrez.Server
}

// newConsent returns a team that is registered at a system with one listing and a stay.
func newConsent(t *testing.T) *consent {
	t.Helper()

	system, err := ownerrez.New(ownerrez.Config{Email: "ada@example.com", Token: "pt_ours", AccountID: "77", ClientID: "c_ours", ClientSecret: "s_ours"})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(system)

	t.Cleanup(func() {
		system.Close()
		server.Close()
	})

	system.SetProperty(ownerrez.Object{"id": 40001, "name": "House 1", "active": true, "currency_code": "USD"})
	system.SetBooking(ownerrez.Object{
		"id": 1, "property_id": 40001, "type": "booking", "status": "active", "platform_reservation_number": "HM-1", "currency_code": "USD",
		"arrival": "2026-01-10", "departure": "2026-01-13", "total_amount": 90,
	})

	c := &consent{owner: system}
	c.World = world.New(t, func(o *app.External) {
		o.Systems = pms.New(o.Box, pms.Options{AllowPrivate: true, PublicURL: "http://127.0.0.1"})
		if err := o.Systems.Register("ownerrez", pms.Registration{ID: "c_ours", Secret: "s_ours", Address: server.URL}); err != nil {
			t.Fatal(err)
		}

		if err := o.Systems.TakeMessages("ownerrez", "ours", appPassword); err != nil {
			t.Fatal(err)
		}
	})

	return c
}

// start begins an authorization, has the account holder answer, and returns its state and what the person comes back with.
func (c *consent) start(changes object) (state string, back url.Values) {
	c.T.Helper()

	body := object{"appId": "ownerrez", "redirectUri": "https://books.example.com/back"}
	maps.Copy(body, changes)

	begun := c.Post("/connections/oauth/start", body).Want(200)

	r, err := http.NewRequestWithContext(c.T.Context(), http.MethodGet, begun.String("url"), http.NoBody)
	if err != nil {
		c.T.Fatal(err)
	}

	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		c.T.Fatal(err)
	}

	defer func() { _ = answer.Body.Close() }()

	to, err := answer.Location()
	if err != nil || to.Host != "books.example.com" {
		c.T.Fatalf("the person comes back at %v: %v", to, err)
	}

	if to.Query().Get("state") != begun.String("authorizationState") {
		c.T.Errorf("another state comes back: %s", to)
	}

	return begun.String("authorizationState"), to.Query()
}

// comeBack has the person come back with what the system has sent.
func (c *consent) comeBack(back url.Values) *apitest.Response {
	c.T.Helper()

	return c.Get("/connections/oauth/callback?" + back.Encode())
}

// finish makes the connection.
func (c *consent) finish(state string) *apitest.Response {
	c.T.Helper()

	return c.Post("/connections/connect", object{"appId": "ownerrez", "authorizationState": state})
}

// age makes the authorizations older.
func (c *consent) age(by string) {
	c.T.Helper()
	c.Exec(`update connection_authorization set created_at = created_at - @by::text::interval where team_id = @team`, db.Args{"by": by})
}

// Proves: INIT-10, LIM-12.
func TestAnAccountHolderGivesAccessToASystem(t *testing.T) {
	t.Parallel()
	c := newConsent(t)

	if got := c.Get("/apps").Want(200); got.String("data.4.id") != "ownerrez" || got.String("data.4.auth") != "oauth" || got.String("data.3.auth") != "credentials" {
		t.Errorf("the apps are %s", got.Body)
	}

	state, back := c.start(nil)
	c.finish(state).WantError("BAD_REQUEST", "") // before the person is back

	if got := c.comeBack(back).Want(200); got.String("authorizationState") != state || got.String("appId") != "ownerrez" || got.Has("code") {
		t.Errorf("came back: %s", got.Body)
	}

	c.comeBack(back).WantError("BAD_REQUEST", "").WantIssue("notFound", "state")

	made := c.finish(state).Want(202)
	if made.String("type") != "connection-connect" || made.String("resource.type") != "connection" {
		t.Errorf("acknowledgement: %s", made.Body)
	}

	c.finish(state).WantError("BAD_REQUEST", "").WantIssue("notFound", "authorizationState")
	c.Outlast(nil)
	c.connection = made.ID("resource.id")

	got := c.Get(c.path("")).Want(200)
	if got.String("status") != "active" || got.String("externalAccount.id") != "77" || got.String("name") != "OwnerRez" || got.String("expiresAt") != "null" {
		t.Fatalf("the connection is %s", got.Body)
	}

	// It is read, also when its token is over.
	if done := c.sync("full"); done.String("status") != "completed" || done.Int("counts.reservation.completed") != 1 {
		t.Errorf("the sync is %s", done.Body)
	}

	c.owner.Expire()

	if done := c.sync("full"); done.String("status") != "completed" {
		t.Errorf("the sync after the token was over is %s", done.Body)
	}

	// What is connected again without new access keeps the token that was renewed.
	c.Post(c.path("/connect"), nil).Want(202)
	c.Outlast(nil)

	if got := c.Get(c.path("")).Want(200); got.String("status") != "active" {
		t.Errorf("connected again: %s", got.Body)
	}

	// Access that is taken back has to be given again, to the same connection.
	c.owner.Revoke()
	c.sync("full")

	if got := c.Get(c.path("")).Want(200); got.String("status") != "reconnectRequired" {
		t.Errorf("without access: %s", got.Body)
	}

	state, back = c.start(object{"connectionId": c.connection})
	c.comeBack(back).Want(200)

	if again := c.finish(state).Want(202); again.ID("resource.id") != c.connection {
		t.Errorf("connected again: %s", again.Body)
	}

	c.Outlast(nil)

	if done := c.sync("full"); done.String("status") != "completed" {
		t.Errorf("the sync after access was given again is %s", done.Body)
	}

	// A person may take 15 minutes for all of it.
	state, back = c.start(nil)
	c.age("14 minutes")
	c.comeBack(back).Want(200)
	c.finish(state).Want(202)

	state, back = c.start(nil)
	c.comeBack(back).Want(200)
	c.age("16 minutes")
	c.finish(state).WantError("BAD_REQUEST", "").WantIssue("notFound", "authorizationState")

	_, back = c.start(nil)
	c.age("16 minutes")
	c.comeBack(back).WantError("BAD_REQUEST", "").WantIssue("notFound", "state")
}

// An authorization is of the user who began it, and of one app.
//
// Proves: DRY-58, DRY-60.
func TestAuthorizationsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newConsent(t)
	state, back := c.start(nil)

	other := c.As(access.Scopes(), nil)
	other.Get("/connections/oauth/callback?"+back.Encode()).WantError("BAD_REQUEST", "").WantIssue("notFound", "state")
	c.comeBack(url.Values{"state": {state}, "error": {"access_denied"}}).WantError("BAD_REQUEST", "").WantIssue("required", "code")
	c.comeBack(url.Values{"state": {"another"}, "code": {"x"}}).WantError("BAD_REQUEST", "").WantIssue("notFound", "state")
	c.comeBack(back).Want(200)
	other.Post("/connections/connect", object{"appId": "ownerrez", "authorizationState": state}).WantError("BAD_REQUEST", "").WantIssue("notFound", "authorizationState")

	for _, refused := range []struct {
		path        string
		body        object
		code, issue string
		at          string
	}{
		{"/connections/oauth/start", object{"appId": "none"}, "BAD_REQUEST", "enum", "appId"},
		{"/connections/oauth/start", object{"appId": "hostaway"}, "NOT_IMPLEMENTED", "", ""},
		{"/connections/oauth/start", object{"appId": "ownerrez", "redirectUri": "http://books.example.com"}, "BAD_REQUEST", "addressNotAllowed", "redirectUri"},
		{"/connections/oauth/start", object{"appId": "ownerrez", "redirectUri": "here"}, "BAD_REQUEST", "url", "redirectUri"},
		{"/connections/oauth/start", object{"appId": "ownerrez", "connectionId": id.New(c.DB.Now())}, "BAD_REQUEST", "notFound", "connectionId"},
		{"/connections/oauth/start?dryRun=true", object{"appId": "ownerrez"}, "BAD_REQUEST", "unknownParameter", "dryRun"},
		{"/connections/connect", object{"appId": "none", "authorizationState": state}, "BAD_REQUEST", "enum", "appId"},
		{"/connections/connect", object{"appId": "hostaway", "authorizationState": state}, "NOT_IMPLEMENTED", "", ""},
		{"/connections/connect", object{"appId": "ownerrez", "authorizationState": "another"}, "BAD_REQUEST", "notFound", "authorizationState"},
		{"/connections/connect?dryRun=true", object{"appId": "ownerrez", "authorizationState": state}, "BAD_REQUEST", "unknownParameter", "dryRun"},
	} {
		got := c.Post(refused.path, refused.body).WantError(apierr.Code(refused.code), "")
		if refused.issue != "" {
			got.WantIssue(refused.issue, refused.at)
		}
	}

	// A reference that is taken does not use it up.
	c.Post("/connections", object{
		"appId": "ownerrez", "name": "Other", "uniqueRef": "one", "credentials": object{"email": "ada@example.com", "token": "pt_ours"},
	}).Want(202)
	c.Post("/connections/connect", object{"appId": "ownerrez", "authorizationState": state, "uniqueRef": "one"}).WantError("CONFLICT", "duplicateUniqueRef")
	c.finish(state).Want(202)
}

// A system that fails while it is asked for a token is no fault of the caller. The authorization is used up all the same.
//
// Proves: LIM-13.
func TestASystemThatFailsGivesNoAccess(t *testing.T) {
	t.Parallel()
	c := newConsent(t)

	state, back := c.start(nil)
	c.comeBack(back).Want(200)
	c.owner.Break(ownerrez.Fault{Mode: ownerrez.Page500, On: ownerrez.OnToken, Times: 1})
	c.finish(state).WantError("BAD_GATEWAY", "")
	c.finish(state).WantError("BAD_REQUEST", "").WantIssue("notFound", "authorizationState")

	// A code that the system takes no more, such as one of another registration.
	state, back = c.start(nil)
	c.comeBack(url.Values{"state": {back.Get("state")}, "code": {"tc_other"}}).Want(200)
	c.finish(state).WantError("BAD_REQUEST", "").WantIssue("notFound", "authorizationState")

	if got := c.Get("/connections").Want(200); got.Len("data") != 0 {
		t.Errorf("there are connections: %s", got.Body)
	}
}

// A request that is repeated with its key gets the first answer, and uses nothing up.
func TestAnAuthorizationIsFinishedAgainByItsKey(t *testing.T) {
	t.Parallel()
	c := newConsent(t)
	state, back := c.start(nil)
	c.comeBack(back).Want(200)

	body := object{"appId": "ownerrez", "authorizationState": state}
	first := c.Post("/connections/connect", body, "Idempotency-Key", "one").Want(202)

	if again := c.Post("/connections/connect", body, "Idempotency-Key", "one").Want(202); again.String("operationId") != first.String("operationId") {
		t.Errorf("answered %s and then %s", first.Body, again.Body)
	}
}

// Many finish one authorization at once: one connection comes of it.
func TestAnAuthorizationIsUsedOnce(t *testing.T) {
	t.Parallel()
	c := newConsent(t)
	state, back := c.start(nil)
	c.comeBack(back).Want(200)

	var (
		made atomic.Int32
		all  sync.WaitGroup
	)

	for range 8 {
		all.Go(func() {
			if c.finish(state).Status == http.StatusAccepted {
				made.Add(1)
			}
		})
	}

	all.Wait()

	if got := c.Get("/connections").Want(200); made.Load() != 1 || got.Len("data") != 1 {
		t.Errorf("%d were made: %s", made.Load(), got.Body)
	}
}
