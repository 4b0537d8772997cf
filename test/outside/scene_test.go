package outside_test

import (
	"bytes"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"slices"
	"sync/atomic"
	"testing"

	"stayledger/app"
	"stayledger/domain/exchange/pms"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/id"
	"stayledger/provider/sandbox"
	"stayledger/provider/sandbox/hostaway"
	"stayledger/provider/sandbox/ownerrez"
	system "stayledger/provider/sandbox/pms"
	"stayledger/test/world"
)

type (
	object = world.Object
	array  = world.Array
)

// scene is a team that works with everything outside.
type scene struct {
	*world.World

	outside *slowWorld
	store   blob.Store
	// systems are the connections to systems of our own protocol by what the test does with them. Each has a server of
	// that name, with a house of that name.
	systems        map[string]id.ID
	hostaway, bank id.ID
	owner, vendor  id.ID
	villa          world.Listing
	canceled       id.ID            // a transaction with a payment that is to be canceled
	hooks          map[string]id.ID // webhooks by what becomes of them
	isGone         atomic.Bool      // the receiver of the webhook gone
	files          map[string]id.ID // in the store, by what becomes of them
	link           string
}

// token is the credential of every system.
const token = "sandbox-token"

// newScene returns a team with connections to the world, which answers at once.
func newScene(t testing.TB, outside *slowWorld) *scene {
	t.Helper()

	owners, err := ownerrez.New(ownerrez.Config{Email: "ada@example.com", Token: "pt_ours", AccountID: "77", ClientID: "c_ours", ClientSecret: "s_ours"})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(owners.Close)

	s := &scene{outside: outside, store: outside.store(t), systems: map[string]id.ID{}, files: map[string]id.ID{}}
	address := outside.serve(t, "ownerrez", owners)
	s.World = world.New(t, func(o *app.External) {
		o.Store, o.Mail = s.store, outside.mailServer(t)
		o.Systems = pms.New(o.Box, pms.Options{AllowPrivate: true, PublicURL: "http://127.0.0.1"})

		if err := o.Systems.Register("ownerrez", pms.Registration{ID: "c_ours", Secret: "s_ours", Address: address}); err != nil {
			t.Fatal(err)
		}
	})
	s.Exec(`update team set email = 'team@example.com' where id = @team`, nil)

	for _, name := range []string{"again", "archived", "moved", "read", "extracted", "blocked", "opened", "flow"} {
		s.systems[name] = s.connect(name)
	}

	s.connectHostaway()
	s.connectBank()
	s.subscribe()
	s.Outlast(nil)
	s.readSystems()
	s.earn()
	s.fillStore()

	return s
}

// connect starts to connect a system of our own protocol with one house and one stay.
func (s *scene) connect(name string) id.ID {
	s.T.Helper()

	server, err := system.New(system.Config{Token: token})
	if err != nil {
		s.T.Fatal(err)
	}

	s.T.Cleanup(server.Close)
	server.SetListing(system.Listing{ID: name, Name: "House " + name, Currency: "usd"})
	server.SetReservation(system.Reservation{
		ID: name, ListingID: name, Status: "booked", Code: name, Guest: system.Guest{Name: "Ada"}, CheckIn: "2026-01-10", CheckOut: "2026-01-13",
		BookedAt: "2026-01-02", Currency: "usd", Total: "100", Lines: []system.Line{{Type: "rent", Amount: "100"}},
	})

	return s.Post("/connections", object{
		"appId": "pmsProtocol", "name": name, "settings": object{"baseUrl": s.outside.serve(s.T, name, server)}, "credentials": object{"token": token},
	}).Want(202).ID("resource.id")
}

// connectHostaway starts to connect a system with tokens that have to be renewed.
func (s *scene) connectHostaway() {
	s.T.Helper()

	server, err := hostaway.New(hostaway.Config{AccountID: "28673", APIKey: "our-key"})
	if err != nil {
		s.T.Fatal(err)
	}

	s.T.Cleanup(server.Close)
	server.SetListing(hostaway.Object{"id": 40160, "name": "Charming", "currencyCode": "USD", "timeZoneName": "America/Chicago"})
	s.hostaway = s.Post("/connections", object{
		"appId": "hostaway", "name": "Hostaway", "settings": object{"baseUrl": s.outside.serve(s.T, "hostaway", server) + "/v1"},
		"credentials": object{"accountId": "28673", "apiKey": "our-key"},
	}).Want(202).ID("resource.id")
}

// connectBank starts to connect a payment provider that pays nothing by itself.
func (s *scene) connectBank() {
	s.T.Helper()

	server, err := sandbox.New(sandbox.Config{APIKey: "key", SettleAfter: -1})
	if err != nil {
		s.T.Fatal(err)
	}

	s.T.Cleanup(server.Close)
	s.bank = s.Post("/connections", object{
		"appId": "payProvider", "name": "Bank", "settings": object{"baseUrl": s.outside.serve(s.T, "bank", server)},
		"credentials": object{"apiKey": "key", "callbackSecret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="},
	}).Want(202).ID("resource.id")
}

// subscribe makes webhooks of which two are being verified.
func (s *scene) subscribe() {
	s.T.Helper()

	s.hooks = map[string]id.ID{}
	address := s.outside.serve(s.T, "receiver", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" && s.isGone.Load() {
			w.WriteHeader(http.StatusGone)
		}
	}))

	for _, name := range []string{"verified", "gone", "tested"} {
		s.hooks[name] = s.Post("/webhooks", object{"url": address + "/" + name, "eventTypes": array{"audit.event.changed"}}).Want(201).ID("id")
	}

	s.test("verified")
	s.test("gone")
}

// test starts a test of a webhook.
func (s *scene) test(hook string) {
	s.T.Helper()
	s.Post("/webhooks/"+s.hooks[hook].String()+"/test", nil).Want(202)
}

// readSystems reads all systems once, and blocks nights of one.
func (s *scene) readSystems() {
	s.T.Helper()

	for _, connection := range append(slices.Collect(maps.Values(s.systems)), s.hostaway) {
		s.Post("/connections/"+connection.String()+"/sync", object{"mode": "full"}).Want(202)
	}

	s.Outlast(nil)
	s.Post("/calendar-blocks", s.nights("opened")).Want(202)
	s.Outlast(nil)
}

// nights is the body of a request about nights of the house of a system.
func (s *scene) nights(system string) object {
	house := s.Get("/listings?search=House%20" + system).Want(200).ID("data.0.id")

	return object{"listingIds": array{house}, "startAt": "2027-03-01", "endAt": "2027-03-04"}
}

// earn books money and a month, and begins two payments that the bank has not made yet.
func (s *scene) earn() {
	s.T.Helper()

	s.owner, s.vendor = s.Contact("owner", "Ada"), s.Contact("vendor", "Fix-It")
	s.villa = s.Listing("Villa", s.owner)
	s.Stay(s.villa, "2026-01-05", 100_000_00)
	s.addAccount(s.vendor, "1")
	s.Outlast(nil)
	s.Exec(`update payee_method set chosen_at = chosen_at - interval '4 days', chosen_by = null where team_id = @team`, nil)

	s.pay()
	s.canceled = s.pay()
	s.Outlast(nil)
}

// cancelPayment asks for the payment of a transaction to be canceled.
func (s *scene) cancelPayment() {
	s.T.Helper()

	payments := "/transactions/" + s.canceled.String() + "/provider-payments"
	s.Post(payments+"/"+s.Get(payments).Want(200).String("data.0.id")+"/cancel", nil).Want(202)
}

// addAccount gives a contact an account to be paid to, which is verified by the bank.
func (s *scene) addAccount(contact id.ID, last string) {
	s.T.Helper()
	s.Post("/contacts/"+contact.String()+"/payment-methods/ach", object{
		"accountHolder": "Ada Lovelace", "routingNumber": "021000021", "accountNumber": "12345678" + last, "accountType": "checking",
	}).Want(202)
}

// pay books a bill and asks for its payment. It returns the bill.
func (s *scene) pay() id.ID {
	s.T.Helper()

	bill := s.Post("/transactions", object{
		"type": "expense", "date": "2026-02-10", "contactId": s.vendor,
		"lines": array{object{"accountId": s.Account("5200"), "amount": 100, "listingId": s.villa.ID}},
	}).Want(201).ID("id")
	s.Post("/transactions/"+bill.String()+"/pay", object{"connectionId": s.bank}).Want(202)

	return bill
}

// fillStore puts files into the store.
func (s *scene) fillStore() {
	s.T.Helper()

	for _, name := range []string{"attached", "downloaded", "forgone", "purged"} {
		s.files[name] = attach(s.T, s.Team)
	}

	link, err := url.Parse(s.Get("/contacts/csv").Want(200).String("url"))
	if err != nil {
		s.T.Fatal(err)
	}

	s.link = link.RequestURI()
	s.files["linked"] = s.parseID(path.Base(link.Path))

	exported := s.Post("/contacts/csv", object{}).Want(202).String("operationId")
	s.Outlast(nil)
	s.files["exported"] = s.Get("/operations/" + exported).Want(200).ID("resources.0.id")

	for name, file := range s.files {
		s.outside.nameObject(file, name)
	}
}

// parseID reads an id.
func (s *scene) parseID(text string) id.ID {
	s.T.Helper()

	v, err := id.Parse(text)
	if err != nil {
		s.T.Fatal(err)
	}

	return v
}

// attach uploads a receipt.
func attach(t testing.TB, team *apitest.Team) id.ID {
	t.Helper()
	body, kind := form(t, "receipt.txt", "A receipt")

	return team.Post("/transaction-attachments", body, "Content-Type", kind).Want(201).ID("id")
}

// form returns a form with a file, and further fields in pairs.
func form(t testing.TB, name, content string, fields ...string) (body, contentType string) {
	t.Helper()

	var b bytes.Buffer

	w := multipart.NewWriter(&b)

	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			t.Fatal(err)
		}
	}

	part, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = io.WriteString(part, content)
	}

	if err != nil {
		t.Fatal(err)
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return b.String(), w.FormDataContentType()
}

// authorize has the account holder of OwnerRez give access, and returns the state of the authorization.
func (s *scene) authorize() string {
	s.T.Helper()

	begun := s.Post("/connections/oauth/start", object{"appId": "ownerrez", "redirectUri": "https://books.example.com/back"}).Want(200)

	r, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, begun.String("url"), http.NoBody)
	if err != nil {
		s.T.Fatal(err)
	}

	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.T.Fatal(err)
	}

	defer func() { _ = answer.Body.Close() }()

	to, err := answer.Location()
	if err != nil {
		s.T.Fatal(err)
	}

	s.Get("/connections/oauth/callback?" + to.Query().Encode()).Want(200)

	return begun.String("authorizationState")
}
