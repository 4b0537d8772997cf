package payee_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
	"stayledger/provider/pay"
)

// Proves: INIT-21.
func TestAnAccountIsVerifiedByItsNumbersWithoutAProvider(t *testing.T) {
	t.Parallel()
	x := newWorld(t)

	ack := x.Post(x.path()+"/ach", ach("123456789")).Want(202)
	if ack.String("type") != "ach-verification" || ack.ID("resource.id") != x.owner || ack.String("resource.type") != "contact" || ack.String("resource.role") != "target" {
		t.Errorf("acknowledgement: %s", ack.Body)
	}

	if m := x.method("6789"); m.Status != "pending" || m.IsDefault || m.VerifiedAt != nil || m.RoutingLast4 != "0021" || m.ContactID != x.owner {
		t.Errorf("before the work: %+v", m)
	}

	x.wantReady("")
	x.Work()

	m := x.method("6789")
	if m.Status != "verified" || !m.IsDefault || m.VerifiedAt == nil || x.settled(ack.String("operationId")) != "completed" || len(x.provider.asked()) != 0 {
		t.Errorf("after the work: %+v", m)
	}

	x.wantReady("123456789")

	one := x.Get(x.path() + "/" + m.ID.String()).Want(200)
	for field, want := range map[string]string{"kind": "ach", "accountHolder": "Ada Lovelace", "accountType": "checking", "last4": "6789", "isDefault": "true"} {
		if got := one.String(field); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}

	if r := x.Get(x.path() + "?status=pending").Want(200); r.Int("pagination.total") != 0 {
		t.Errorf("pending: %s", r.Body)
	}
}

// A name that no bank's file can hold is reported at the method while the team pays by files (decision of 2026-11-25).
func TestAMethodSaysWhichAppsCannotPayToIt(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	x.connect()

	account := ach("123456789")
	account["accountHolder"] = "李小龍"
	x.add(account)
	x.Work()

	path := x.path() + "/" + x.method("6789").ID.String()
	if r := x.Get(path).Want(200); r.Len("issues") != 0 || r.String("status") != "verified" {
		t.Errorf("without files: %s", r.Body)
	}

	x.Exec(`insert into connection (team_id, id, short_ref, app_id, name, status, created_at, updated_at)
		values (@team, @id, 'file', 'nacha', 'File', 'active', now(), now())`, db.Args{"id": id.New(x.DB.Now())})

	want := object{"code": "payProviderRecipientNotReady", "severity": "error", "context": object{"provider": "nacha", "cause": "holderInvalid"}}
	x.Get(path).Want(200).WantFields("issues.0", want)
	x.Get(x.path()).Want(200).WantFields("data.0.issues.0", want)
	x.Put(path, object{"isDefault": true}).Want(200).WantFields("issues.0", want)

	x.add(ach("1111"))

	if r := x.Get(x.path() + "/" + x.method("1111").ID.String()).Want(200); r.Len("issues") != 0 {
		t.Errorf("a plain name: %s", r.Body)
	}
}

func TestAProviderVerifiesAccounts(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	x.connect()
	x.add(ach("1111"))
	x.Work()
	first := x.method("1111")
	x.wantReady("1111")
	x.provider.say("2222", rejected)
	refused := x.add(ach("2222"))
	x.Work()

	if m := x.method("2222"); m.Status != "rejected" || m.IsDefault || m.VerifiedAt != nil || x.settled(refused) != "failed" {
		t.Errorf("rejected: %+v, operation %s", m, x.settled(refused))
	}

	x.wantReady("1111")
	x.add(ach("3333"))
	x.Work()
	x.wantReady("1111") // another one is there

	if keys := x.provider.asked(); len(keys) != 3 || keys[0] != first.ID.String() {
		t.Errorf("asked with the keys %v", keys)
	}

	x.provider.say("2222", nil)
	x.add(ach("2222")) // the provider would repeat its answer under the old key
	x.Work()
	x.wantReady("1111")

	if got := x.methods(); len(got) != 4 {
		t.Errorf("methods: %+v", got)
	}
}

func TestAnUnansweredQuestionLeavesTheMethodPending(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		answer     func(w http.ResponseWriter)
		asked      int // at least, since one that is out of reach is asked for a day
		connection string
		reason     string
	}{
		"out of reach":        {status(http.StatusServiceUnavailable), 250, "active", "unavailable"},
		"refused credentials": {status(http.StatusUnauthorized), 1, "reconnectRequired", "credentialsRefused"},
		"refused question":    {refused, 1, "active", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(t)
			connected := x.connect()
			x.provider.say("1111", test.answer)
			failed := x.add(ach("1111"))
			x.Outlast(nil)

			m, asked := x.method("1111"), len(x.provider.asked())
			if m.Status != "pending" || x.settled(failed) != "failed" || asked < test.asked || test.asked == 1 && asked > 1 {
				t.Errorf("%+v, operation %s, asked %d times", m, x.settled(failed), asked)
			}

			path := x.path() + "/" + m.ID.String()
			x.Get(path).Want(200).WantFields("issues.0", object{
				"code": "verificationFailed", "severity": "error", "context": object{"error": test.reason},
			})

			if r := x.Get("/connections/" + connected.String()).Want(200); r.String("status") != test.connection {
				t.Errorf("connection: %s", r.Body)
			}

			x.wantReady("")
			x.provider.say("1111", nil)
			x.add(ach("1111"))
			x.Work()

			if again := x.method("1111"); again.ID != m.ID || again.Status != "verified" || len(x.methods()) != 1 {
				t.Errorf("verified again: %+v", x.methods())
			}

			// After an answer there is nothing to say.
			if x.Get(path).Want(200).Len("issues") != 0 {
				t.Error("a verified method has the reason of an earlier failure")
			}
		})
	}
}

func TestTheSameAccountStaysTheSameMethod(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	x.add(ach("1111"))
	x.Work()
	first := x.method("1111").ID
	x.add(ach("2222"))
	x.Work()
	x.Put(x.path()+"/"+x.method("2222").ID.String(), object{"isDefault": true}).Want(200)
	x.add(ach("1111"))
	x.Work()
	x.wantReady("2222") // it was added before

	if got := x.methods(); len(got) != 2 || x.method("1111").ID != first {
		t.Errorf("methods: %+v", got)
	}

	for _, change := range []object{{"accountNumber": "991111"}, {"accountType": "savings"}, {"accountHolder": "Ada King"}, {"routingNumber": "011000015"}} {
		b := ach("1111")
		maps.Copy(b, change)

		before := len(x.methods())
		x.add(b)

		if got := len(x.methods()); got != before+1 {
			t.Errorf("%v made %d methods", change, got-before)
		}
	}

	other := x.contact()
	x.Post("/contacts/"+other.String()+"/payment-methods/ach", ach("1111")).Want(202)

	if r := x.Get("/contacts/" + other.String() + "/payment-methods").Want(200); r.Len("data") != 1 || r.ID("data.0.id") == first {
		t.Errorf("another contact's: %s", r.Body)
	}
}

// A default method that the provider no longer takes is not replaced by an older one.
func TestARejectedDefaultIsNotPaid(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	x.connect()

	for _, number := range []string{"2222", "1111"} {
		x.add(ach(number))
		x.Work()
	}

	x.wantReady("2222")
	x.provider.say("2222", rejected)
	x.add(ach("2222"))
	x.Work()

	if m := x.method("2222"); m.Status != "rejected" || m.IsDefault {
		t.Errorf("rejected: %+v", m)
	}

	x.wantReady("")
	x.Put(x.path()+"/"+x.method("1111").ID.String(), object{"isDefault": true}).Want(200)
	x.wantReady("1111")
}

func TestTheDefaultIsChosen(t *testing.T) {
	t.Parallel()

	x := newWorld(t)
	for _, number := range []string{"1111", "2222"} {
		x.add(ach(number))
		x.Work()
	}

	x.add(ach("3333"))

	path := func(last4 string) string { return x.path() + "/" + x.method(last4).ID.String() }
	if r := x.Put(path("1111"), object{"isDefault": true}).Want(200); r.String("isDefault") != "true" {
		t.Errorf("chosen: %s", r.Body)
	}

	x.wantReady("1111")
	x.Put(path("3333"), object{"isDefault": true}).WantError(apierr.CodeBadRequest, "") // pending
	x.Work()

	if m := x.method("3333"); m.Status != "verified" || m.IsDefault {
		t.Errorf("a verification that ended late: %+v", m)
	}

	x.wantReady("1111")
	x.Put(path("1111"), object{"isDefault": true}).Want(200)
	x.wantReady("1111")

	for _, b := range []object{{"isDefault": false}, {"isDefault": nil}, {}, {"isDefault": true, "last4": "1"}} {
		x.Put(path("2222"), b).WantError(apierr.CodeBadRequest, "")
	}
}

func TestMethodsAreArchived(t *testing.T) {
	t.Parallel()
	x := newWorld(t)

	connected := x.connect()
	for _, number := range []string{"2222", "1111"} {
		x.add(ach(number))
		x.Work()
	}

	m := x.method("2222")
	path := x.path() + "/" + m.ID.String()
	x.pay(connected, m.ID, "submitted")

	if r := x.Delete(path).WantError(apierr.CodeBadRequest, apierr.ReasonInUse); r.String("context.lockReasons.0") != "paymentsUnderWay" {
		t.Errorf("refused with %s", r.Body)
	}

	x.wantReady("2222")
	x.Exec(`update payment set status = 'paid' where team_id = @team`, nil)
	x.Delete(path).Want(204)

	if r := x.Get(path).Want(200); r.String("status") != "archived" || r.String("isDefault") != "false" {
		t.Errorf("archived: %s", r.Body)
	}

	x.wantReady("")
	x.Put(path, object{"isDefault": true}).WantError(apierr.CodeBadRequest, "")
	x.add(ach("2222"))
	x.Work()
	x.wantReady("") // another one is there, and nobody has chosen

	if len(x.methods()) != 3 {
		t.Errorf("an archived method came back: %+v", x.methods())
	}

	late, asked := x.add(ach("4444")), len(x.provider.asked())
	x.Delete(x.path() + "/" + x.method("4444").ID.String()).Want(204)
	x.Work()

	if m := x.method("4444"); m.Status != "archived" || x.settled(late) != "failed" || len(x.provider.asked()) != asked {
		t.Errorf("archived before it was verified: %+v, operation %s", m, x.settled(late))
	}

	if r := x.Delete("/contacts/"+x.owner.String()).WantError(apierr.CodeBadRequest, apierr.ReasonInUse); !strings.Contains(string(r.Body), `"payments"`) {
		t.Errorf("deleting a contact that was paid: %s", r.Body)
	}
}

func TestAMethodArchivedWhileItIsVerifiedStaysArchived(t *testing.T) {
	t.Parallel()

	for name, answer := range map[string]pay.Verification{"verified": pay.Verified, "rejected": pay.Rejected} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var x *world

			x = newWorld(t, func(*connection.Connection) (pay.Provider, error) {
				return scripted{verify: func(context.Context, string) (pay.Verification, error) {
					x.Delete(x.path() + "/" + x.method("1111").ID.String()).Want(204)
					return answer, nil
				}}, nil
			})
			x.connect()
			one := x.add(ach("1111"))
			x.Work()

			if m := x.method("1111"); m.Status != "archived" || x.settled(one) != "failed" {
				t.Errorf("%+v, operation %s", m, x.settled(one))
			}
		})
	}
}

func TestAContactIsDeletedWithItsMethods(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	x.add(ach("1111"))
	x.Work()
	late := x.add(ach("2222"))
	x.Delete("/contacts/" + x.owner.String()).Want(204)
	x.Work()

	if x.settled(late) != "failed" {
		t.Errorf("the late verification has %s", x.settled(late))
	}
}

func TestAccountsAreStrict(t *testing.T) {
	t.Parallel()
	x := newWorld(t)

	for _, test := range []struct {
		field      string
		value      any
		code, path string
	}{
		{"routingNumber", "021000022", "routingNumberInvalid", "routingNumber"},
		{"routingNumber", "000000000", "routingNumberInvalid", "routingNumber"},
		{"routingNumber", "02100002", "length", "routingNumber"},
		{"routingNumber", "02100002x", "malformed", "routingNumber"},
		{"routingNumber", 21000021, "string", "routingNumber"},
		{"accountNumber", "123", "length", "accountNumber"},
		{"accountNumber", "123456789012345678", "length", "accountNumber"},
		{"accountNumber", "12 34", "malformed", "accountNumber"},
		{"accountNumber", "1234\n", "malformed", "accountNumber"},
		{"accountHolder", "", "length", "accountHolder"},
		{"accountHolder", "   ", "malformed", "accountHolder"},
		{"accountHolder", "Ada\nLovelace", "malformed", "accountHolder"},
		{"accountHolder", strings.Repeat("a", 101), "length", "accountHolder"},
		{"accountType", "current", "enum", "accountType"},
		{"accountType", nil, "enum", "accountType"},
		{"isDefault", true, "unknownField", "isDefault"},
	} {
		b := ach("123456789")
		b[test.field] = test.value

		r := x.Post(x.path()+"/ach", b).WantError(apierr.CodeBadRequest, "")
		if test.value != nil {
			r.WantIssue(test.code, test.path)
		}

		if bytes.Contains(r.Body, []byte("123456789")) || bytes.Contains(r.Body, []byte("02100002")) {
			t.Errorf("the answer repeats numbers: %s", r.Body)
		}
	}

	x.Post(x.path()+"/ach?dryRun=true", ach("1111")).WantError(apierr.CodeBadRequest, "").WantIssue("unknownParameter", "dryRun")

	if len(x.methods()) != 0 {
		t.Errorf("kept %+v", x.methods())
	}
}

func TestNumbersAreSealedAndNeverShown(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	x.connect()

	const number = "9876543210123"

	secrets := []string{number, "021000021", "98765", "43210123"}

	var answers []string

	answer := func(b []byte) { answers = append(answers, string(b)) }
	answer(x.Post(x.path()+"/ach", ach(number)).Want(202).Body)

	tables := func() {
		for _, table := range []string{"payee_method", "operation", "operation_resource", "job", "audit_action", "contact"} {
			var rows string

			x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
				rows, err = db.Get[string](ctx, tx, `select coalesce(string_agg((to_jsonb(t) - 'numbers' - 'id' - 'team_id')::text, ' '), '') from `+table+` t where team_id = @team`, db.Args{"team": tx.Team})
				return err
			})

			answers = append(answers, rows)
		}
	}
	tables()
	x.provider.say(number, status(http.StatusServiceUnavailable))
	x.Outlast(nil)
	tables()
	x.provider.say(number, nil)
	answer(x.Post(x.path()+"/ach", ach(number)).Want(202).Body)
	x.Work()
	tables()

	m := x.method("0123").ID
	answer(x.Get(x.path()).Body)
	answer(x.Get(x.path() + "/" + m.String()).Body)
	answer(x.Put(x.path()+"/"+m.String(), object{"isDefault": true}).Want(200).Body)
	answer(x.Get("/operations").Body)
	answer(x.Get("/contacts?include=operations").Body)

	for _, a := range answers {
		for _, s := range secrets {
			if strings.Contains(a, s) {
				t.Errorf("%s is in %s", s, a)
			}
		}
	}

	x.wantReady(number)
	other := x.add(ach("1111"))
	x.Exec(`update payee_method set numbers = (select numbers from payee_method where team_id = @team and id = @from) where team_id = @team and last4 = '1111'`,
		db.Args{"from": m})
	x.Work()

	if got := x.method("1111"); got.Status != "pending" || x.settled(other) != "failed" {
		t.Errorf("a copied value was verified: %+v", got)
	}

	var copied error

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		sealed, err := db.Get[[]byte](ctx, tx, `select numbers from payee_method where team_id = @team and last4 = '1111'`, db.Args{"team": tx.Team})
		_, copied = x.box.Open(sealed, "payee_method:"+x.method("1111").ID.String())

		return err
	})

	if !errors.Is(copied, seal.ErrSealed) {
		t.Errorf("a copied value opens: %v", copied)
	}
}

// Proves: AUTH-58.
func TestVendorOnlyAccessSetsNoAccountsUp(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	x.add(ach("1111"))
	x.Work()
	vendor := x.Post("/contacts", object{"type": "vendor", "name": "Plumber"}).Want(201).String("id")
	v := x.As([]string{"contacts:read", "contacts:vendors:write"}, nil)
	v.Post("/contacts/"+vendor+"/payment-methods/ach", ach("2222")).WantError(apierr.CodeForbidden, "")
	v.Put(x.path()+"/"+x.method("1111").ID.String(), object{"isDefault": true}).WantError(apierr.CodeForbidden, "")
	v.Delete(x.path()+"/"+x.method("1111").ID.String()).WantError(apierr.CodeForbidden, "")
	v.Get(x.path()).Want(200)
	x.As([]string{"contacts:write"}, nil).Delete(x.path()+"/"+x.method("1111").ID.String()).WantError(apierr.CodeForbidden, "")
}

func TestOtherTeamsAndContactsSeeNothing(t *testing.T) {
	t.Parallel()
	x, stranger := newWorld(t), newWorld(t)
	x.add(ach("1111"))
	x.Work()
	one := x.method("1111").ID.String()
	other := "/contacts/" + x.contact().String() + "/payment-methods/" + one
	before := x.Fingerprint()

	wrong := []string{x.path(), "/contacts/" + id.New(x.DB.Now()).String() + "/payment-methods"}
	for _, path := range wrong {
		stranger.Get(path).WantError(apierr.CodeNotFound, "")
		stranger.Post(path+"/ach", ach("2222")).WantError(apierr.CodeNotFound, "")
	}

	for _, path := range append(wrong, stranger.path()) {
		stranger.Get(path+"/"+one).WantError(apierr.CodeNotFound, "")
		stranger.Put(path+"/"+one, object{"isDefault": true}).WantError(apierr.CodeNotFound, "")
		stranger.Delete(path+"/"+one).WantError(apierr.CodeNotFound, "")
	}

	x.Get(other).WantError(apierr.CodeNotFound, "")
	x.Put(other, object{"isDefault": true}).WantError(apierr.CodeNotFound, "")
	x.Delete(other).WantError(apierr.CodeNotFound, "")

	if x.Fingerprint() != before {
		t.Error("something changed")
	}

	x.wantReady("1111")
}

// Proves: OPS-68.
func TestOwnersReadTheVerificationOfTheirAccounts(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	mine := x.add(ach("1111"))
	other := x.contact()
	theirs := x.Post("/contacts/"+other.String()+"/payment-methods/ach", ach("2222")).Want(202).String("operationId")

	owner := x.As([]string{"operations:read", "contacts:read"}, &x.owner)
	for range 2 {
		if r := owner.Get("/operations/" + mine).Want(200); r.ID("resource.id") != x.owner {
			t.Errorf("operation: %s", r.Body)
		}

		owner.Get("/operations/"+theirs).WantError(apierr.CodeNotFound, "")

		if r := owner.Get("/operations").Want(200); r.Int("total") != 1 {
			t.Errorf("operations: %s", r.Body)
		}

		x.Work()
	}
}

// scripted is a provider that only answers VerifyAccount.
type scripted struct {
	pay.Provider
	verify func(ctx context.Context, key string) (pay.Verification, error)
}

// VerifyAccount does what the script says.
func (s scripted) VerifyAccount(ctx context.Context, key string, _ pay.Account) (pay.Verification, error) {
	return s.verify(ctx, key)
}

// The worker dies after the provider has answered and before the answer is kept.
func TestAWorkerThatDiesWhileVerifyingIsFollowedByAnother(t *testing.T) {
	t.Parallel()

	for name, lost := range map[string]pay.Verification{"verified": pay.Verified, "rejected": pay.Rejected} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var (
				x     *world
				asked atomic.Int32
			)

			keys := make(chan string, 5)
			x = newWorld(t, func(*connection.Connection) (pay.Provider, error) {
				return scripted{verify: func(_ context.Context, key string) (pay.Verification, error) {
					keys <- key

					if asked.Add(1) == 1 {
						x.Exec(`update job set worker_id = gen_random_uuid(), attempt = attempt + 1, due_at = clock_timestamp() where team_id = @team`, nil)
						return lost, nil
					}

					if m := x.method("1111"); m.Status != "pending" {
						t.Errorf("the dead worker kept %+v", m)
					}

					return pay.Verified, nil
				}}, nil
			})
			x.connect()
			one := x.add(ach("1111"))
			x.Work()

			if asked.Load() != 2 || x.settled(one) != "completed" {
				t.Fatalf("asked %d times, operation %s", asked.Load(), x.settled(one))
			}

			if first, second := <-keys, <-keys; first != second || first != x.method("1111").ID.String() {
				t.Errorf("asked with the keys %s and %s", first, second)
			}

			x.wantReady("1111")
		})
	}
}

// All of them come to save what they were answered at the same time: the contact is held until they wait for it.
func TestVerificationsOfOneContactTakeTurns(t *testing.T) {
	t.Parallel()
	x := newWorld(t)
	x.connect()

	var all []string
	for _, number := range []string{"1111", "2222", "3333", "4444"} {
		all = append(all, x.add(ach(number)))
	}

	var met error

	worked := make(chan struct{})

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `select from contact where team_id = @team and id = @id for no key update`, db.Args{"team": tx.Team, "id": x.owner})

		go func() { defer close(worked); x.Work() }()

		met = apitest.UntilWaiting(ctx, tx, int64(len(all)))

		return err
	})
	<-worked

	if met != nil {
		t.Error(met)
	}

	for _, one := range all {
		if x.settled(one) != "completed" {
			t.Errorf("operation %s", x.settled(one))
		}
	}

	// The first one that was verified is the default, whichever that is.
	defaults := 0

	for _, m := range x.methods() {
		if m.IsDefault {
			defaults++
		}
	}

	if defaults != 1 {
		t.Errorf("%d defaults: %+v", defaults, x.methods())
	}
}
