package payment_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payment"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/provider/pay"
	"stayledger/test/world"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type (
	object = world.Object
	list   = world.Array
)

// secret is the key that the test bank signs its callbacks with.
const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// till is a team that pays through a bank: an owner with a published statement, a vendor, both with a verified payment
// method.
type till struct {
	*world.World
	tb            testing.TB
	bank          *bank
	connection    id.ID
	owner, vendor id.ID
	villa         world.Listing
	store         blob.Store
}

// funded is the amount that the owner has earned, and the trust bank holds, to make payments from.
const funded = 100_000_00

func newTill(tb testing.TB) *till {
	tb.Helper()
	w := &till{tb: tb, bank: &bank{held: map[string][]*slip{}}}
	w.World = world.New(tb, func(o *app.External) { o.Providers, w.store = open, o.Store })
	w.connection = w.connect("payProvider", w.bank)
	w.owner, w.vendor = w.Contact("owner", "Ada"), w.Contact("vendor", "Fix-It")
	w.method(w.owner, "verified", true)
	w.method(w.vendor, "verified", true)
	w.villa = w.Listing("Villa", w.owner)
	w.Stay(w.villa, "2026-01-05", funded)

	return w
}

func (w *till) id() id.ID { return id.New(w.DB.Now()) }

// connect makes an active connection with a bank behind it.
func (w *till) connect(app string, b *bank) id.ID {
	w.tb.Helper()
	c := w.id()

	var credentials []byte
	if app == "payProvider" {
		credentials = w.Box.Seal([]byte(`{"apiKey":"k","callbackSecret":"`+secret+`"}`), "connection:"+c.String())
	}

	w.Exec(`insert into connection (team_id, id, short_ref, app_id, name, status, credentials, created_at, updated_at)
		values (@team, @id, @ref, @app, 'Bank', 'active', @credentials, now(), now())`,
		db.Args{"id": c, "ref": c.ShortRef(), "app": app, "credentials": credentials})
	banks.Store(c, b)

	return c
}

// method gives a contact a bank account.
func (w *till) method(contact id.ID, status string, isDefault bool) id.ID {
	w.tb.Helper()
	m := w.id()
	w.Exec(`insert into payee_method (team_id, id, contact_id, status, account_holder, account_type, last4, routing_last4, numbers, is_default, chosen_at, created_at, updated_at)
		values (@team, @id, @contact, @status, 'Ada', 'checking', '6789', '0021', @numbers, @default, @now::timestamptz - interval '4 days', @now, @now)`,
		db.Args{
			"id": m, "contact": contact, "status": status, "default": isDefault, "now": w.DB.Now(),
			"numbers": w.Box.Seal([]byte(`{"routing":"021000021","account":"123456789"}`), "payee_method:"+m.String()),
		})

	return m
}

// bill is an open bill of the vendor's.
func (w *till) bill(cents int64) id.ID {
	w.tb.Helper()

	return w.Post("/transactions", object{
		"type": "expense", "date": "2026-02-10", "contactId": w.vendor,
		"lines": list{object{"accountId": w.Account("5200"), "amount": cents, "listingId": w.villa.ID}},
	}).Want(201).ID("id")
}

// payout is a payout to the owner, booked and not sent.
func (w *till) payout(cents int64) id.ID {
	w.tb.Helper()

	return w.Post("/transactions", object{
		"type": "payout", "date": "2026-02-05", "contactId": w.owner,
		"lines": list{object{"amount": cents, "listingId": w.villa.ID, "contactId": w.owner}},
	}).Want(201).ID("id")
}

// pay asks for a payment and gives its id; nothing is sent before work.
func (w *till) pay(transaction id.ID) id.ID {
	w.tb.Helper()
	w.Post("/transactions/"+transaction.String()+"/pay", object{"connectionId": w.connection}).Want(202)

	return w.Get("/transactions/" + transaction.String() + "/provider-payments").Want(200).ID("data.0.id")
}

// work runs all jobs, without waiting between their attempts: after each three hours have passed.
func (w *till) work() {
	w.tb.Helper()
	w.Outlast(func(time.Duration) {
		w.Exec(`update job set tried_at = tried_at - interval '3 hours' where team_id = @team and worker_id is null`, nil)
	})
}

// ask asks the bank for all that is on its way, as if it were due.
func (w *till) ask() {
	w.tb.Helper()
	asking.Lock()
	defer asking.Unlock()

	w.Exec(`update payment set ask_at = now() - interval '1 second' where team_id = @team and ask_at is not null`, nil)

	if err := w.gateway().Ask(w.tb.Context(), w.DB); err != nil {
		w.tb.Log("asking:", err)
	}
}

// asking lets one test ask at a time: whoever asks does so for all teams, and would take another test's payments and
// not be done with them when that looks.
var asking sync.Mutex

func (w *till) gateway() *payment.Gateway { return &payment.Gateway{Open: open, Box: w.Box} }

// calm lets the time pass after which no attempt that broke off can be under way any more.
func (w *till) calm() {
	w.tb.Helper()
	w.Exec(`update payment_batch set busy_until = busy_until - interval '1 hour' where team_id = @team`, nil)
}

func (w *till) read(p id.ID) *apitest.Response {
	w.tb.Helper()
	return w.Get("/payments/" + p.String()).Want(200)
}

func (w *till) wantStatus(p id.ID, want payment.Status) {
	w.tb.Helper()

	if got := w.read(p).String("status"); got != string(want) {
		w.tb.Errorf("payment is %s, want %s", got, want)
	}
}

// wantIssue wants a payment to have one issue, or none for the empty code.
func (w *till) wantIssue(p id.ID, code string) {
	w.tb.Helper()

	got := w.read(p)
	if code == "" && got.Len("issues") != 0 || code != "" && (got.Len("issues") != 1 || got.String("issues.0.code") != code) {
		w.tb.Errorf("issues are %v, want %q", got.Value("issues"), code)
	}
}

func (w *till) operation(answer *apitest.Response) string {
	w.tb.Helper()
	return w.Get("/operations/" + answer.String("operationId")).Want(200).String("status")
}

// recover cancels or archives a payment and runs the recovery.
func (w *till) recover(how string, transaction, p id.ID) string {
	w.tb.Helper()
	answer := w.Post("/transactions/"+transaction.String()+"/provider-payments/"+p.String()+"/"+how, nil).Want(202)
	w.work()

	return w.operation(answer)
}

// balance is the balance of an account of the chart, debit positive, without the amount that the till was funded with.
func (w *till) balance(code string) int64 {
	w.tb.Helper()

	var sum int64

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		sum, err = db.Get[int64](ctx, tx, `select coalesce(sum(cent_total), 0)::bigint from ledger_entry
			where team_id = @team and account_id = @account and status = 'active'`, db.Args{"team": tx.Team, "account": w.Account(code)})

		return err
	})

	if code == "1000" {
		sum -= funded
	}

	return sum
}

// callBack sends a message of the bank's, signed.
func (w *till) callBack(message string, o pay.Outcome) *apitest.Response {
	w.tb.Helper()
	return w.callBackAt(message, o, w.DB.Now())
}

func (w *till) callBackAt(message string, o pay.Outcome, at time.Time) *apitest.Response {
	w.tb.Helper()

	s, body, err := pay.SignCallback(secret, pay.Callback{ID: message, Outcome: o}, at)
	if err != nil {
		w.tb.Fatal(err)
	}

	return w.Post("/payment-callbacks/"+w.connection.String(), string(body),
		"webhook-id", s.ID, "webhook-timestamp", s.Timestamp, "webhook-signature", s.Value)
}

func mustDay(text string) day.Day {
	d, err := day.Parse(text)
	if err != nil {
		panic(err)
	}

	return d
}

func contains(body []byte, text string) bool { return bytes.Contains(body, []byte(text)) }

func start(ctx context.Context, tx *db.Tx, tasks []operation.Task) error {
	_, err := operation.Start(ctx, tx, operation.New{Type: operation.ProviderPayment, Tasks: tasks})
	return err
}
