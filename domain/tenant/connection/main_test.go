package connection_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/accountconnection"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/bank"
	"stayledger/domain/property/contact"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payapp"
	"stayledger/domain/settlement/payment"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
	"stayledger/provider/pay"
	"stayledger/test/fixture"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type object = map[string]any

// The credentials that the provider of the tests takes.
const (
	goodKey = "key-of-the-test-provider"
	secret  = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"
)

// world is a team and a real HTTP provider.
type world struct {
	*apitest.Team
	t        *testing.T
	box      *seal.Box
	provider *provider
}

// provider answers as the script says.
type provider struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(w http.ResponseWriter, r *http.Request)
	asked  int
}

func (p *provider) script(answer func(w http.ResponseWriter, r *http.Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.answer = answer
}

func (p *provider) questions() int {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.asked
}

// ready takes the good key and is ready.
func ready(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")

	if r.Header.Get("Authorization") != "Bearer "+goodKey {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"code":"unauthorized"}}`))

		return
	}

	_, _ = w.Write([]byte(`{"status":"ready"}`))
}

func notReady(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(`{"status":"notReady"}`))
}

func down(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }

func newProvider(t *testing.T) *provider {
	t.Helper()

	p := &provider{answer: ready}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked++
		answer := p.answer
		p.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(p.Close)

	return p
}

// newWorld is a team that opens its connections by the service's own opener, or by another.
func newWorld(t *testing.T, open ...payapp.Opener) *world {
	t.Helper()

	box, err := seal.New([]byte("a test key of at least 32 bytes, not for use"))
	if err != nil {
		t.Fatal(err)
	}

	open = append(open, payapp.Open(box, pay.AllowPrivate(true)))
	own := connection.Part(connection.Config{Box: box, Private: true, Apps: payapp.Apps(open[0], pay.AllowPrivate(true))})

	return &world{t: t, box: box, provider: newProvider(t), Team: apitest.New(t, apitest.Config{
		Endpoints: parts.Join(own, operation.Part(time.Hour), accountconnection.Part(), bank.Part(rule.OfBank), contact.Part(box), transaction.Part(), (&payment.Gateway{}).Part()).Endpoints,
		Handlers:  own.Handlers,
	})}
}

func (x *world) credentials() object { return object{"apiKey": goodKey, "callbackSecret": secret} }

// remote is the body of a connection to the provider, with changes.
func (x *world) remote(changes object) object {
	b := object{"appId": "payProvider", "name": "Bank of Tests", "settings": object{"baseUrl": x.provider.URL}, "credentials": x.credentials()}
	maps.Copy(b, changes)

	return b
}

func nacha(changes object) object {
	s := object{
		"immediateDestination": "021000021", "immediateDestinationName": "First Bank", "immediateOrigin": "1234567890",
		"immediateOriginName": "Seaside Rentals", "companyName": "Seaside Rentals", "companyIdentification": "1234567890", "odfiRouting": "02100002",
	}
	maps.Copy(s, changes)

	for name, v := range s {
		if v == nil {
			delete(s, name)
		}
	}

	return object{"appId": "nacha", "name": "ACH file", "settings": s}
}

// connect makes a connection and lets it connect.
func (x *world) connect(b object) id.ID {
	x.t.Helper()
	made := x.Post("/connections", b).Want(202).ID("resource.id")
	x.Outlast(nil)

	return made
}

func (x *world) get(connection id.ID) *apitest.Response {
	x.t.Helper()
	return x.Get("/connections/" + connection.String()).Want(200)
}

func (x *world) wantStatus(connection id.ID, status string) *apitest.Response {
	x.t.Helper()

	r := x.get(connection)
	if r.String("status") != status {
		x.t.Errorf("the connection is %s, want %s", r.Body, status)
	}

	return r
}

// settled is the status of the newest operation.
func (x *world) settled() string {
	x.t.Helper()
	return x.Get("/operations?limit=1").Want(200).String("items.0.status")
}

// account adds an account, which is another package's to do.
func (x *world) account(kind string) id.ID {
	category, account := id.New(x.DB.Now()), id.New(x.DB.Now())
	x.Exec(`insert into account_category (team_id, id, name, classification, position, created_at) values (@team, @id, @name, 'asset', 1, now())`,
		db.Args{"id": category, "name": category.String()})
	x.Exec(`insert into account (team_id, id, name, type, category_id, banking_category, created_at, updated_at)
		values (@team, @id, @name, @type::text, @category, case when @type = 'bank' then 'trust' end, now(), now())`,
		db.Args{"id": account, "name": account.String(), "type": kind, "category": category})

	return account
}

// pay adds a payment over a connection, which is a later package's to do.
func (x *world) pay(connection id.ID, status string) {
	next := func() id.ID { return id.New(x.DB.Now()) }
	method, transaction, batch, payment, bank := next(), next(), next(), next(), x.account("bank")
	contact := fixture.Contact(x.Team, "owner", "Owner")
	x.Exec(`insert into payee_method (team_id, id, contact_id, status, account_holder, account_type, last4, routing_last4, numbers, chosen_at, created_at, updated_at)
		values (@team, @id, @contact, 'verified', 'Owner', 'checking', '6789', '0021', '', clock_timestamp(), now(), now())`, db.Args{"id": method, "contact": contact})
	x.Exec(`insert into transaction (team_id, id, short_ref, type, date, currency, account_id, contact_id, total, created_at, updated_at)
		values (@team, @id, @ref, 'payout', '2026-01-01', 'usd', @bank, @contact, 100, now(), now())`,
		db.Args{"id": transaction, "ref": transaction.ShortRef(), "bank": bank, "contact": contact})
	x.Exec(`insert into payment_batch (team_id, id, connection_id, created_at) values (@team, @id, @connection, now())`,
		db.Args{"id": batch, "connection": connection})
	x.Exec(`insert into payment (team_id, id, short_ref, connection_id, batch_id, transaction_id, contact_id, payee_method_id, funding_account_id, amount,
			currency, date, status, created_at, updated_at)
		values (@team, @id, @ref, @connection, @batch, @transaction, @contact, @method, @bank, 100, 'usd', '2026-01-01', @status::text, now(), now())`,
		db.Args{
			"id": payment, "ref": payment.ShortRef(), "connection": connection, "batch": batch, "transaction": transaction, "contact": contact,
			"method": method, "bank": bank, "status": status,
		})
}

// stored reads something of the team's rows.
func stored[T any](x *world, sql string, args db.Args) T {
	x.t.Helper()

	var out T

	args = maps.Clone(args)
	if args == nil {
		args = db.Args{}
	}

	args["team"] = x.ID
	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = db.Get[T](ctx, tx, sql, args)
		return err
	})

	return out
}
