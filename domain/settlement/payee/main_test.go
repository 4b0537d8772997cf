package payee_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"stayledger/domain/property/contact"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payapp"
	"stayledger/domain/settlement/payee"
	"stayledger/domain/settlement/payment"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
	"stayledger/provider/pay"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type object = map[string]any

// world is a team with an owner to pay, and a real HTTP provider that is not connected yet.
type world struct {
	*apitest.Team
	t        *testing.T
	box      *seal.Box
	owner    id.ID
	provider *provider
}

// provider verifies accounts as a test sets it, by their number; it takes all others.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string]func(w http.ResponseWriter)
	keys    []string
}

func rejected(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"result":"rejected"}`)) }

// refused answers that the question is refused, which says nothing of the account.
func refused(w http.ResponseWriter) {
	w.WriteHeader(http.StatusUnprocessableEntity)

	_, _ = w.Write([]byte(`{"error":{"code":"verificationNotOffered"}}`))
}

func status(code int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.WriteHeader(code) }
}

func (p *provider) say(account string, answer func(w http.ResponseWriter)) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.answers[account] = answer
}

func (p *provider) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()

	return slices.Clone(p.keys)
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")

	if r.Method == http.MethodGet {
		_, _ = w.Write([]byte(`{"status":"ready"}`))
		return
	}

	var b struct{ Account pay.Account }
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}

	p.mu.Lock()
	p.keys = append(p.keys, r.Header.Get("Idempotency-Key"))
	answer := p.answers[b.Account.Number]
	p.mu.Unlock()

	if answer == nil {
		_, _ = w.Write([]byte(`{"result":"verified"}`))
		return
	}

	answer(w)
}

// newWorld is a team that opens its providers by the service's own opener, or by another.
func newWorld(t *testing.T, open ...payapp.Opener) *world {
	t.Helper()

	box, err := seal.New([]byte("a test key of at least 32 bytes, not for use"))
	if err != nil {
		t.Fatal(err)
	}

	open = append(open, payapp.Open(box, pay.AllowPrivate(true)))
	all := parts.Join((&payment.Gateway{}).Part(), contact.Part(box), payee.Part(box, open[0], nil), operation.Part(time.Hour),
		connection.Part(connection.Config{Box: box, Private: true, Apps: payapp.Apps(payapp.Open(box, pay.AllowPrivate(true)), pay.AllowPrivate(true))}))
	p := &provider{answers: map[string]func(http.ResponseWriter){}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	x := &world{t: t, box: box, provider: p, Team: apitest.New(t, apitest.Config{
		Endpoints: all.Endpoints, Handlers: all.Handlers,
	})}
	x.owner = x.contact()

	return x
}

func (x *world) contact() id.ID {
	x.t.Helper()
	return x.Post("/contacts", object{"type": "owner", "name": "Ada"}).Want(201).ID("id")
}

// connect connects the provider.
func (x *world) connect() id.ID {
	x.t.Helper()
	made := x.Post("/connections", object{
		"appId": "payProvider", "name": "Bank of Tests", "settings": object{"baseUrl": x.provider.URL},
		"credentials": object{"apiKey": "k", "callbackSecret": "a-secret-of-the-tests"},
	}).Want(202).ID("resource.id")
	x.Work()

	return made
}

// ach is an account with a number.
func ach(number string) object {
	return object{"accountHolder": "Ada Lovelace", "routingNumber": "021000021", "accountNumber": number, "accountType": "checking"}
}

func (x *world) path() string { return "/contacts/" + x.owner.String() + "/payment-methods" }

// add adds an account of the owner and gives its operation.
func (x *world) add(body object) string {
	x.t.Helper()
	return x.Post(x.path()+"/ach", body).Want(202).String("operationId")
}

func (x *world) settled(operation string) string {
	x.t.Helper()
	return x.Get("/operations/" + operation).Want(200).String("status")
}

// method is the owner's method with an account that ends with digits.
func (x *world) method(last4 string) *row {
	x.t.Helper()

	var out *row

	for _, m := range x.methods() {
		if m.Last4 == last4 {
			out = &m
		}
	}

	if out == nil {
		x.t.Fatalf("no method %s", last4)
	}

	return out
}

type row struct {
	ID, ContactID id.ID
	Last4, Status string
	RoutingLast4  string
	IsDefault     bool
	VerifiedAt    *string
}

func (x *world) methods() []row {
	x.t.Helper()

	var out struct{ Data []row }
	x.Get(x.path()).Want(200).Into(&out)

	return out.Data
}

// ready is the account that the owner would be paid to, or the empty string.
func (x *world) ready() string {
	x.t.Helper()

	var number string

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		found, err := payee.LockDefaults(ctx, tx, []id.ID{x.owner, x.ID})
		if err != nil || len(found) == 0 {
			return err
		}

		m := found[x.owner]
		account, err := m.Account(x.box)
		number = account.Number

		return err
	})

	if is := x.Get("/contacts/" + x.owner.String()).Want(200).String("payoutReady"); (is == "true") != (number != "") {
		x.t.Errorf("payoutReady is %s with the account %q", is, number)
	}

	return number
}

func (x *world) wantReady(number string) {
	x.t.Helper()

	if got := x.ready(); got != number {
		x.t.Errorf("the owner is paid to %q, want %q", got, number)
	}
}

// pay adds a payment with a method, which is a later package's to do.
func (x *world) pay(connection, method id.ID, status string) {
	next := func() id.ID { return id.New(x.DB.Now()) }
	category, bank, transaction, batch, payment := next(), next(), next(), next(), next()
	x.Exec(`insert into account_category (team_id, id, name, classification, position, created_at) values (@team, @id, @name, 'asset', 1, now())`,
		db.Args{"id": category, "name": category.String()})
	x.Exec(`insert into account (team_id, id, name, type, category_id, banking_category, created_at, updated_at)
		values (@team, @id, @name, 'bank', @category, 'trust', now(), now())`, db.Args{"id": bank, "name": bank.String(), "category": category})
	x.Exec(`insert into transaction (team_id, id, short_ref, type, date, currency, account_id, contact_id, total, created_at, updated_at)
		values (@team, @id, @ref, 'payout', '2026-01-01', 'usd', @bank, @contact, 100, now(), now())`,
		db.Args{"id": transaction, "ref": transaction.ShortRef(), "bank": bank, "contact": x.owner})
	x.Exec(`insert into payment_batch (team_id, id, connection_id, created_at) values (@team, @id, @connection, now())`,
		db.Args{"id": batch, "connection": connection})
	x.Exec(`insert into payment (team_id, id, short_ref, connection_id, batch_id, transaction_id, contact_id, payee_method_id, funding_account_id, amount,
			currency, date, status, created_at, updated_at)
		values (@team, @id, @ref, @connection, @batch, @transaction, @contact, @method, @bank, 100, 'usd', '2026-01-01', @status::text, now(), now())`,
		db.Args{
			"id": payment, "ref": payment.ShortRef(), "connection": connection, "batch": batch, "transaction": transaction, "contact": x.owner,
			"method": method, "bank": bank, "status": status,
		})
}
