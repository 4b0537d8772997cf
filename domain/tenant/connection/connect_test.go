package connection_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"stayledger/domain/settlement/payapp"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/provider/pay"
)

// Proves: INIT-09.
func TestAConnectionConnects(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	ack := x.Post("/connections", x.remote(object{"uniqueRef": "bank"})).Want(202)

	made := ack.ID("resource.id")
	if ack.String("type") != "connection-connect" || ack.String("resource.type") != "connection" || ack.String("resource.role") != "target" {
		t.Errorf("acknowledgement: %s", ack.Body)
	}

	if r := x.wantStatus(made, "connecting"); r.String("connectedAt") != "null" {
		t.Errorf("before the work: %s", r.Body)
	}

	x.Work()

	r := x.wantStatus(made, "active")
	for field, want := range map[string]string{
		"appId": "payProvider", "app.id": "payProvider", "app.name": "Payment provider", "app.kind": "payments", "name": "Bank of Tests",
		"uniqueRef": "bank", "settings.baseUrl": x.provider.URL,
	} {
		if got := r.String(field); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}

	if x.settled() != "completed" || x.provider.questions() != 1 || r.String("connectedAt") == "null" || len(r.String("shortRef")) != 8 {
		t.Errorf("operation %s after %d questions: %s", x.settled(), x.provider.questions(), r.Body)
	}

	if r := x.Get("/operations/" + ack.String("operationId")).Want(200); r.ID("resource.id") != made || r.Len("resources") != 1 {
		t.Errorf("operation: %s", r.Body)
	}
}

func TestAFileNeedsNobodyToAnswer(t *testing.T) {
	t.Parallel()
	x := newWorld(t)

	r := x.wantStatus(x.connect(nacha(nil)), "active")
	if r.String("settings.entryDescription") != "OWNER PAY" || r.String("settings.companyName") != "SEASIDE RENTALS" {
		t.Errorf("connected %s", r.Body)
	}
}

func TestWhatDoesNotConnect(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		credentials object
		answer      func(x *world)
		status      string
		asked       int // at least, since one that is out of reach is asked for minutes
		fault       string
	}{
		"refused credentials": {object{"apiKey": "another", "callbackSecret": secret}, nil, "reconnectRequired", 1, "credentialsRefused"},
		"not ready":           {nil, func(x *world) { x.provider.script(notReady) }, "disabled", 1, "refused"},
		"out of reach":        {nil, func(x *world) { x.provider.script(down) }, "disabled", 9, "unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(t)

			changes := object{}
			if test.credentials != nil {
				changes["credentials"] = test.credentials
			}

			if test.answer != nil {
				test.answer(x)
			}

			made := x.connect(x.remote(changes))
			x.wantStatus(made, test.status)

			if x.settled() != "failed" || x.provider.questions() < test.asked || test.asked == 1 && x.provider.questions() > 1 {
				t.Errorf("operation %s after %d questions", x.settled(), x.provider.questions())
			}

			x.Put("/connections/"+made.String(), object{"status": "active"}).WantError(apierr.CodeConnectionReconnectRequired, "")
			x.wantFault(made, test.fault)

			// It is over once the connection works.
			x.provider.script(ready)
			x.Post("/connections/"+made.String()+"/connect", object{"credentials": x.credentials()}).Want(202)
			x.Work()
			x.wantStatus(made, "active")
			x.wantFault(made, "")
		})
	}
}

// wantFault fails the test unless the connection says that it does not work for a fault; none if empty.
func (x *world) wantFault(made id.ID, fault string) {
	x.t.Helper()

	got := x.Get("/connections/" + made.String()).Want(200)

	code := "connectFailed"
	if got.String("status") == "reconnectRequired" {
		code = "connectionReconnectRequired"
	}

	switch {
	case fault == "":
		if got.Len("issues") != 0 {
			x.t.Errorf("a fault is left: %s", got.Body)
		}
	case got.String("issues.0.code") != code || got.String("issues.0.context.error") != fault:
		x.t.Errorf("want the fault %s: %s", fault, got.Body)
	}
}

// Proves: INIT-11, OPS-07, OPEN-28.
func TestAConnectionConnectsAgain(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	// One category of work, whichever route asks for it.
	first := x.Post("/connections", x.remote(object{"credentials": object{"apiKey": "wrong", "callbackSecret": secret}})).Want(202)
	if first.String("type") != "connection-connect" || x.Get("/operations/"+first.String("operationId")).Want(200).String("type") != "connection-connect" {
		t.Errorf("acknowledgement: %s", first.Body)
	}

	x.Outlast(nil)

	made := first.ID("resource.id")
	path := "/connections/" + made.String() + "/connect"
	x.wantStatus(made, "reconnectRequired")

	ack := x.Post(path, object{"credentials": x.credentials()}).Want(202)
	if ack.String("type") != "connection-connect" || ack.ID("resource.id") != made ||
		x.Get("/operations/"+ack.String("operationId")).Want(200).String("type") != "connection-connect" {
		t.Errorf("acknowledgement: %s", ack.Body)
	}

	x.Post(path, nil).WantError(apierr.CodeLocked, "")
	x.Put("/connections/"+made.String(), object{"name": "Other"}).WantError(apierr.CodeLocked, "")
	x.Delete("/connections/"+made.String()).WantError(apierr.CodeLocked, "")
	x.Work()
	x.wantStatus(made, "active")
	x.Post(path, object{}).Want(202)
	x.Work()
	x.wantStatus(made, "active")
	x.Post(path, object{"credentials": object{"apiKey": goodKey}}).WantError(apierr.CodeBadRequest, "").WantIssue("required", "credentials.callbackSecret")
	x.Post(path, object{"credentials": object{}}).WantError(apierr.CodeBadRequest, "").WantIssue("required", "credentials.apiKey")
	x.Post(path, object{"settings": object{}}).WantError(apierr.CodeBadRequest, "").WantIssue("unknownField", "settings")

	// An app that fails leaves everything as it is.
	x.provider.script(down)
	x.Post(path, object{}).WantError(apierr.CodeBadGateway, "")
	x.wantStatus(made, "active")
	x.provider.script(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	x.Post(path, object{}).Want(202)
	x.Work()
	x.wantStatus(made, "reconnectRequired")
	x.Put("/connections/"+made.String(), object{"status": "disabled"}).Want(200)
	x.Put("/connections/"+made.String(), object{"status": "active"}).WantError(apierr.CodeConnectionReconnectRequired, "")

	// So do other credentials, until the app has taken them.
	x.provider.script(ready)
	x.Post(path, object{}).Want(202)
	x.Work()
	x.provider.script(down)
	x.Post(path, object{"credentials": object{"apiKey": "untried", "callbackSecret": secret}}).WantError(apierr.CodeBadGateway, "")
	x.provider.script(ready)
	x.Post(path, object{}).Want(202)
	x.Work()
	x.wantStatus(made, "active")
}

// Proves: ERR-06, ERR-98, ERR-99.
func TestAnAppThatFailsIsNoFaultOfTheCaller(t *testing.T) {
	t.Parallel()

	for code, err := range map[apierr.Code]error{
		apierr.CodeBadGateway: errors.New("the app says: database of tenant 5 is down"), apierr.CodeGatewayTimeout: pay.ErrTimeout,
	} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()

			var fails atomic.Bool

			x := newWorld(t, func(*connection.Connection) (pay.Provider, error) {
				return scripted{check: func(context.Context) error {
					if fails.Load() {
						return err
					}

					return nil
				}}, nil
			})
			made := x.connect(x.remote(nil))
			before := x.wantStatus(made, "active").Body

			fails.Store(true)

			answer := x.Post("/connections/"+made.String()+"/connect", nil).WantError(code, "")
			if answer.Has("context.reason") || bytes.Contains(answer.Body, []byte("tenant 5")) {
				t.Errorf("the answer is %s", answer.Body)
			}

			if after := x.get(made).Body; string(after) != string(before) {
				t.Errorf("the connection was %s and is %s", before, after)
			}
		})
	}
}

// scripted is a provider that only answers Check.
type scripted struct {
	pay.Provider
	check func(ctx context.Context) error
}

// Check does what the script says.
func (s scripted) Check(ctx context.Context) error { return s.check(ctx) }

// The worker dies after the app has answered and before the answer is kept.
func TestAWorkerThatDiesWhileConnectingIsFollowedByAnother(t *testing.T) {
	t.Parallel()

	var (
		x     *world
		asked atomic.Int32
	)

	x = newWorld(t, func(*connection.Connection) (pay.Provider, error) {
		return scripted{check: func(context.Context) error {
			if asked.Add(1) == 1 {
				x.Exec(`update job set worker_id = gen_random_uuid(), attempt = attempt + 1, due_at = clock_timestamp() where team_id = @team`, nil)
				return nil
			}

			if got := stored[string](x, `select status from connection where team_id = @team`, nil); got != "connecting" {
				t.Errorf("the dead worker kept %s", got)
			}

			return pay.ErrCredentials
		}}, nil
	})
	made := x.connect(x.remote(nil))
	x.wantStatus(made, "reconnectRequired")

	if asked.Load() != 2 || x.settled() != "failed" {
		t.Errorf("asked %d times, operation %s", asked.Load(), x.settled())
	}
}

func TestWhatIsNoLongerConnectingIsLeftAlone(t *testing.T) {
	t.Parallel()

	for name, answer := range map[string]error{"active": nil, "refused": pay.ErrCredentials} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var x *world

			x = newWorld(t, func(*connection.Connection) (pay.Provider, error) {
				return scripted{check: func(context.Context) error {
					x.Exec(`update connection set status = 'archived' where team_id = @team`, nil)
					return answer
				}}, nil
			})
			x.wantStatus(x.connect(x.remote(nil)), "archived")

			if x.settled() != "failed" {
				t.Errorf("operation %s", x.settled())
			}
		})
	}
}

func TestAConnectionIsGivenUpWithItsOperation(t *testing.T) {
	t.Parallel()
	x := newWorld(t, func(*connection.Connection) (pay.Provider, error) { return nil, errors.New("asked though given up") })
	made := x.Post("/connections", x.remote(nil)).Want(202).ID("resource.id")
	x.Exec(`update job set worker_id = gen_random_uuid(), attempt = max_attempts, due_at = clock_timestamp() - interval '1 second' where team_id = @team`, nil)
	x.Work()
	x.wantStatus(made, "disabled")

	if x.settled() != "failed" {
		t.Errorf("operation %s", x.settled())
	}
}

func TestCredentialsAreSealedAndNeverShown(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	made := x.connect(x.remote(nil))
	other := x.connect(x.remote(nil))

	answers := [][]byte{
		x.get(made).Body, x.Get("/connections").Body, x.Get("/operations").Body, x.Put("/connections/"+made.String(), object{"name": "N"}).Body,
		x.Post("/connections", x.remote(object{"name": ""})).Want(400).Body,
	}
	for _, table := range []string{"connection", "operation", "operation_resource", "job", "audit_action"} {
		answers = append(answers, []byte(stored[string](x, `select coalesce(string_agg(t::text, ' '), '') from `+table+` t where team_id = @team`, nil)))
	}

	answers = append(answers, stored[[]byte](x, `select credentials from connection where team_id = @team and id = @id`, db.Args{"id": made}))
	for _, answer := range answers {
		if bytes.Contains(answer, []byte(goodKey)) || bytes.Contains(answer, []byte(secret)) || bytes.Contains(answer, []byte("credentials\"")) {
			t.Errorf("credentials are in %s", answer)
		}
	}

	open := func(which id.ID) (out string, failed error) {
		x.Tx(func(ctx context.Context, tx *db.Tx) error {
			c, err := connection.Get(ctx, tx, which)
			if err != nil {
				return err
			}

			plain, err := c.OpenCredentials(x.box)
			out, failed = string(plain), err

			return nil
		})

		return out, failed
	}
	if got, err := open(made); err != nil || !strings.Contains(got, goodKey) || !strings.Contains(got, secret) {
		t.Errorf("opened %s, %v", got, err)
	}

	x.Exec(`update connection set credentials = (select credentials from connection where team_id = @team and id = @from) where team_id = @team and id = @to`,
		db.Args{"from": made, "to": other})

	if got, err := open(other); err == nil {
		t.Errorf("credentials of another connection open: %s", got)
	}
}

// A changed address must not be sent credentials that were meant for another.
func TestCredentialsDoNotFollowAChangedAddress(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	made := x.connect(x.remote(nil))
	path, elsewhere := "/connections/"+made.String(), newProvider(t)
	x.Put(path, object{"settings": object{"baseUrl": x.provider.URL, "fundingAccountId": x.account("bank")}}).Want(200)
	x.wantStatus(made, "active")

	if r := x.Put(path, object{"status": "active", "settings": object{"baseUrl": elsewhere.URL}}); r.Status != 409 {
		t.Errorf("moved and active: %s", r.Body)
	}

	x.Put(path, object{"settings": object{"baseUrl": elsewhere.URL}}).Want(200)

	if r := x.wantStatus(made, "reconnectRequired"); r.String("connectedAt") != "null" {
		t.Errorf("moved: %s", r.Body)
	}

	x.Post(path+"/connect", object{}).WantError(apierr.CodeBadRequest, "").WantIssue("required", "credentials.apiKey")
	x.Post(path+"/connect", object{"credentials": x.credentials()}).Want(202)
	x.Work()
	x.wantStatus(made, "active")

	// The new address is asked for the caller and by the operation.
	if elsewhere.questions() != 2 || x.provider.questions() != 1 {
		t.Errorf("asked %d and %d times", elsewhere.questions(), x.provider.questions())
	}
}

func TestOtherTeamsSeeNothing(t *testing.T) {
	t.Parallel()
	x, stranger := newWorld(t), newWorld(t)
	made := x.connect(x.remote(object{"uniqueRef": "same"}))
	path := "/connections/" + made.String()
	before := x.Fingerprint()

	stranger.Get(path).WantError(apierr.CodeNotFound, "")
	stranger.Put(path, object{"name": "Mine"}).WantError(apierr.CodeNotFound, "")
	stranger.Post(path+"/connect", object{}).WantError(apierr.CodeNotFound, "")
	stranger.Delete(path).WantError(apierr.CodeNotFound, "")
	stranger.Delete(path+"?outcome=archive").WantError(apierr.CodeNotFound, "")

	if n := stranger.Get("/connections").Int("pagination.total"); n != 0 || x.Fingerprint() != before {
		t.Errorf("%d seen, or changed", n)
	}

	stranger.Post("/connections", stranger.remote(object{"uniqueRef": "same", "settings": object{
		"baseUrl": x.provider.URL, "fundingAccountId": x.account("bank"),
	}})).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "settings.fundingAccountId")
	stranger.Post("/connections", stranger.remote(object{"uniqueRef": "same"})).Want(202)
}

func TestRefusedCredentialsEndAConnection(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	made := x.connect(x.remote(nil))
	verifier := func() (found id.ID) {
		x.Tx(func(ctx context.Context, tx *db.Tx) error {
			c, err := payapp.Verifier(ctx, tx)
			if c != nil {
				found = c.ID
			}

			return err
		})

		return found
	}

	x.connect(nacha(nil)) // cannot tell

	if got := verifier(); got != made {
		t.Errorf("verifies with %v", got)
	}

	x.Tx(func(ctx context.Context, tx *db.Tx) error { return connection.RequireReconnect(ctx, tx, made) })
	x.wantStatus(made, "reconnectRequired")
	x.Put("/connections/"+made.String(), object{"status": "disabled"}).Want(200)
	x.Put("/connections/"+made.String(), object{"status": "active"}).WantError(apierr.CodeConnectionReconnectRequired, "")

	if got := verifier(); !got.IsZero() {
		t.Errorf("still verifies with %v", got)
	}
}

// A provider at another address does not know the payments that are on their way over a connection, and would be sent
// them again.
func TestTheAddressStaysWhilePaymentsAreUnderWay(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	c := x.connect(x.remote(nil))
	x.Work()

	path := "/connections/" + c.String()
	x.pay(c, "sending")
	elsewhere := object{"settings": object{"baseUrl": x.provider.URL + "/elsewhere"}}

	r := x.Put(path, elsewhere).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
	if r.String("context.lockReasons.0") != "paymentsUnderWay" {
		t.Errorf("refused with %s", r.Body)
	}

	x.wantStatus(c, "active")
	x.Exec(`update payment set status = 'paid' where team_id = @team`, nil)
	x.Put(path, elsewhere).Want(200)
}
