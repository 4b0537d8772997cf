package payment_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"stayledger/app"
	"stayledger/domain/tenant/access"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/provider/mail"
	"stayledger/test/world"
)

// letters keeps the messages that were sent.
type letters struct {
	sync.Mutex
	sent []mail.Message
}

// Send keeps the message.
func (l *letters) Send(_ context.Context, m mail.Message) error {
	l.Lock()
	defer l.Unlock()

	l.sent = append(l.sent, m)

	return nil
}

// guarded is a till whose vendor has a new bank account that a clerk has added.
type guarded struct {
	*till
	clerk, payer, second *apitest.Team
	post                 *letters
	path                 string // of the vendor's methods
	to                   id.ID  // the new one
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{till: newTill(t), post: &letters{}}
	g.clerk, g.payer, g.second = g.till.second(), g.till.second(), g.till.second()

	return g
}

// bankAccount is a bank account that ends with four digits.
func bankAccount(last string) object {
	return object{"accountHolder": "Fix-It", "routingNumber": "021000021", "accountNumber": "12345" + last, "accountType": "checking"}
}

// supply has the clerk add the first account of a new vendor.
func (g *guarded) supply() {
	g.tb.Helper()
	g.vendor = g.Contact("vendor", "New vendor")
	g.path = "/contacts/" + g.vendor.String() + "/payment-methods"
	g.clerk.Post(g.path+"/ach", bankAccount("1111")).Want(202)
	g.work()
	g.to = g.Get(g.path).Want(200).ID("data.0.id")
}

// age makes the new account older by some days.
func (g *guarded) age(days int) {
	g.tb.Helper()
	g.Exec(fmt.Sprintf(`update payee_method set chosen_at = chosen_at - interval '%d days' where team_id = @team and id = @id`, days), db.Args{"id": g.to})
}

// pay has a person pay a bill of the vendor to the account.
func (g *guarded) pay(by *apitest.Team) *apitest.Response {
	g.tb.Helper()

	return by.Post("/transactions/"+g.bill(100).String()+"/pay", object{"connectionId": g.connection, "contactPaymentMethodId": g.to})
}

// The guard of destinations, as the decision of 2026-11-27 has it ("where money goes"): who adds is the clerk; the payer and
// the second person are others. Rows are the guard, the age in days, who freed it, and who pays.
func TestWhoMayPayToANewDestination(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	people := map[string]*apitest.Team{"clerk": g.clerk, "payer": g.payer, "second": g.second}

	const held, needsSecond = "destinationHeld", "destinationNeedsSecondPerson"

	for _, c := range []struct {
		guard        string
		age          int
		freed, payer string
		cause        string
	}{
		{"hold", 0, "", "clerk", needsSecond},
		{"hold", 0, "", "payer", held},
		{"hold", 2, "", "payer", held},
		{"hold", 4, "", "payer", ""},
		{"hold", 4, "", "clerk", needsSecond},
		{"hold", 0, "second", "payer", ""},
		{"hold", 0, "second", "clerk", ""},
		{"hold", 0, "second", "second", held},
		{"hold", 4, "second", "second", ""},
		{"approve", 0, "", "clerk", needsSecond},
		{"approve", 40, "", "payer", needsSecond},
		{"approve", 40, "", "clerk", needsSecond},
		{"approve", 0, "second", "payer", ""},
		{"approve", 0, "second", "clerk", ""},
		{"approve", 40, "second", "second", needsSecond},
		{"off", 0, "", "clerk", ""},
		{"off", 0, "", "payer", ""},
	} {
		g.Put("/team", object{"destinationGuard": c.guard}).Want(200)
		g.supply()
		g.age(c.age)

		if c.freed != "" {
			people[c.freed].Post(g.path+"/"+g.to.String()+"/release", object{}).Want(200)
		}

		r := g.pay(people[c.payer])
		if c.cause == "" {
			r.Want(202)
			continue
		}

		r.WantError(apierr.CodeBadRequest, apierr.ReasonPayProviderRecipientNotReady).
			WantFields("context", object{"cause": c.cause, "destinationBy": g.clerk.User, "contactIds.0": g.vendor})

		if since := r.Value("context.destinationSince"); since == nil || (r.Value("context.freeAt") != nil) != (c.cause == held) {
			t.Errorf("%+v: %s", c, r.Body)
		}
	}
}

// A payment shows the age and author of its destination, and once a provider has paid to it the guard is over, until it is
// made the default again.
func TestTheFirstPaymentIsGuarded(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.supply()
	g.pay(g.payer).Want(400)
	g.clerk.Post(g.path+"/"+g.to.String()+"/release", object{}).WantError(apierr.CodeForbidden, apierr.ReasonSelfModification)
	g.As([]string{"contacts:write", "transactions:pay"}, nil).Post(g.path+"/"+g.to.String()+"/release", object{}).WantError(apierr.CodeForbidden, "")
	g.second.Post(g.path+"/"+g.to.String()+"/release", object{}).Want(200).
		WantFields("destination", object{"by": g.clerk.User, "releasedBy": g.second.User, "isPaid": false})
	g.pay(g.payer).Want(202)
	g.work()
	g.pay(g.second).Want(202)

	p := g.Get("/payments?contactIds=" + g.vendor.String() + "&sort=createdAt").Want(200)
	p.WantFields("data.0.destination", object{"by": g.clerk.User, "releasedBy": g.second.User})

	if p.Value("data.0.destination.since") == nil {
		t.Errorf("payment %s", p.Body)
	}

	// Another account is not the default by itself; whoever makes it that is the author of the destination.
	first := g.to
	g.clerk.Post(g.path+"/ach", bankAccount("2222")).Want(202)
	g.work()

	r := g.Get(g.path + "?sort=createdAt").Want(200)
	r.WantFields("data.0", object{"id": first, "isDefault": true})
	r.WantFields("data.1", object{"last4": "2222", "isDefault": false, "status": "verified"})
	g.to = r.ID("data.1.id")
	g.payer.Put(g.path+"/"+g.to.String(), object{"isDefault": true}).Want(200).WantFields("destination", object{"by": g.payer.User, "releasedBy": nil})
	g.age(4)
	g.pay(g.payer).Want(400).WantFields("context", object{"cause": "destinationNeedsSecondPerson"})
	g.pay(g.clerk).Want(202)

	changes := g.Get("/payment-methods/changes?contactIds=" + g.vendor.String() + "&sort=createdAt").Want(200)
	for i, want := range []object{
		{"kind": "added", "userId": g.clerk.User, "last4": "1111", "contactPaymentMethodId": first},
		{"kind": "released", "userId": g.second.User, "last4": "1111"},
		{"kind": "added", "userId": g.clerk.User, "last4": "2222"},
		{"kind": "madeDefault", "userId": g.payer.User, "last4": "2222", "contactPaymentMethodId": g.to},
	} {
		changes.WantFields(fmt.Sprintf("data.%d", i), want)
	}
}

// A contact that takes over the account of another one has a new destination, of whoever merges, with letters and a change.
func TestAMergeMakesDestinations(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.supply()
	g.second.Post(g.path+"/"+g.to.String()+"/release", object{}).Want(200)

	into := g.Contact("vendor", "Old vendor")
	plan := g.clerk.Post("/contacts/"+g.vendor.String()+"/merge?dryRun=true", object{"intoId": into}).Want(200).String("planHash")
	g.clerk.Post("/contacts/"+g.vendor.String()+"/merge", object{"intoId": into, "planHash": plan}).Want(200)

	g.vendor, g.path = into, "/contacts/"+into.String()+"/payment-methods"
	g.Get(g.path).Want(200).WantFields("data.0", object{"id": g.to, "isDefault": true, "destination.by": g.clerk.User, "destination.releasedBy": nil})
	g.pay(g.payer).Want(400).WantFields("context", object{"cause": "destinationHeld"})
	g.Get("/payment-methods/changes?kind=moved&contactIds="+into.String()).Want(200).
		WantFields("data.0", object{"userId": g.clerk.User, "letters.0.address": "Old%20vendor@example.com"})
}

// The guard is made weaker only with the scope of a second person, and whoever does that has no gain from it.
func TestWhoMayWeakenTheGuard(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.As([]string{"team:read", "team:write"}, nil).Put("/team", object{"destinationGuard": "off"}).WantError(apierr.CodeForbidden, "")
	g.clerk.Put("/team", object{"destinationGuard": "off"}).Want(200)
	g.supply()
	g.pay(g.clerk).Want(400).WantFields("context", object{"cause": "destinationNeedsSecondPerson"})
	g.pay(g.payer).Want(202)

	g.Put("/team", object{"destinationGuard": "hold", "destinationHoldDays": 10}).Want(200).
		WantFields("", object{"destinationGuard": "hold", "destinationHoldDays": 10})
	g.supply()
	g.age(4)
	g.pay(g.payer).Want(400).WantFields("context", object{"cause": "destinationHeld"})
	g.Put("/team", object{"destinationHoldDays": 31}).Want(400)
}

// Payments that wait for approval are looked at again: whoever approves is the second person, but not for a destination of
// his own.
func TestAnApprovalOfADestination(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.limit(object{"approvalFrom": 1})
	g.supply()
	g.age(4)
	bill := g.bill(100)
	g.payer.Post("/transactions/"+bill.String()+"/pay", object{"connectionId": g.connection}).Want(202)
	g.work()

	approval := g.Get("/approvals").Want(200).String("data.0.id")

	// Meanwhile the clerk chooses it anew.
	g.Exec(`update payee_method set is_default = false where team_id = @team and id = @id`, db.Args{"id": g.to})
	g.clerk.Put(g.path+"/"+g.to.String(), object{"isDefault": true}).Want(200)
	g.clerk.Post("/approvals/"+approval+"/approve", object{}).WantError(apierr.CodeBadRequest, apierr.ReasonPayProviderRecipientNotReady).
		WantFields("context", object{"cause": "destinationHeld"})
	g.second.Post("/approvals/"+approval+"/approve", object{}).Want(200)
}

// The contact is written to at its address and at the one that was changed shortly before.
func TestLettersAboutDestinations(t *testing.T) {
	t.Parallel()

	post := &letters{}
	w := world.New(t, func(o *app.External) { o.Mail = post })
	owner := w.Contact("owner", "Ada")
	path := "/contacts/" + owner.String()
	w.Put(path, object{"email": "new@example.com"}).Want(200)
	w.Put(path, object{"email": "newest@example.com"}).Want(200)
	w.Exec(`update contact_former_email set replaced_at = replaced_at - interval '4 days' where team_id = @team and email = 'Ada@example.com'`, nil)
	w.Post(path+"/payment-methods/ach", bankAccount("1111")).Want(202)
	w.Work()

	var to []string

	for _, m := range post.sent {
		if !strings.Contains(m.Text, "ends with 1111") || strings.Contains(m.Text, "123451111") {
			t.Errorf("the letter says %s", m.Text)
		}

		to = append(to, m.To)
	}

	if got := strings.Join(to, " "); got != "newest@example.com new@example.com" && got != "new@example.com newest@example.com" {
		t.Errorf("letters to %s", got)
	}

	r := w.Get("/payment-methods/changes").Want(200)
	r.WantFields("data.0.letters.0", object{"address": "newest@example.com", "isFormer": false, "status": "sent"})
	r.WantFields("data.0.letters.1", object{"address": "new@example.com", "isFormer": true, "status": "sent"})

	stranger := w.As(access.Scopes(), nil)
	stranger.Get("/payment-methods/changes?userId="+stranger.User.String()).Want(200).WantFields("pagination", object{"total": 0})
}
