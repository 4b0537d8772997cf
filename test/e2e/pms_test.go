package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stayledger/app"
)

type object = map[string]any

// pmsWhole is set for the whole size: 200 listings with 5000 reservations.
var pmsWhole = os.Getenv("PMS_FULL") != ""

// TestJourneyOverOurProtocol and the two after it connect a team to a property-management system, map its listings, read
// it, follow its changes and publish the statements of a month. After each reading every figure of the books is the one
// that a bookkeeper makes of the system's own rows, and hledger adds them up alike. PMS_FULL=1 does it with 200 listings
// and 5000 reservations.
func TestJourneyOverOurProtocol(t *testing.T) {
	t.Parallel()
	walk(t, &ourProtocol)
}

func TestJourneyOverHostaway(t *testing.T) {
	t.Parallel()
	walk(t, &hostawaySystem)
}

func TestJourneyOverOwnerRez(t *testing.T) {
	t.Parallel()
	walk(t, &ownerrezSystem)
}

// rentalSize is how many listings and stays a system begins with; the first listings, owned of them, have owners here.
type rentalSize struct{ listings, stays, owned int }

// rental is a team that is connected to a system of the sandbox.
type rental struct {
	*client
	t       *testing.T
	system  *pmsSystem
	control *client
	// listings, stays and owned are those of the size that the system began with.
	listings, stays, owned int
	accounts               map[string]string // ids by code
	connection             string
	database               string
	// isExplained says that the team has said what the differences to stated totals are.
	isExplained bool
	// posted are the days that a person has given stays, by their ids in the system.
	posted map[string]string
	began  time.Time
}

func walk(t *testing.T, system *pmsSystem) {
	t.Helper()

	size := rentalSize{listings: 6, stays: 60, owned: 3}
	if pmsWhole {
		size = rentalSize{listings: 200, stays: 5000, owned: 100}
	}

	r := newRental(t, system, size)
	r.step("team")
	r.connect()
	r.step("connected")
	r.sync("incremental")
	r.step("first sync")
	r.checkBooks("after the first sync")
	r.step("compared")

	person := r.editHere(5)
	r.change()
	r.step("changed")
	r.sync("incremental")
	r.checkPerson(person)
	r.step("second sync")
	r.checkBooks("after changes")
	r.step("compared")
	r.remove()
	r.sync("full")
	r.step("complete sync")
	r.checkBooks("after deletions")
	r.explain()
	entries, want := r.checkBooks("after the differences are explained")
	r.checkWithHledger(entries, want)
	r.publish("2025-01", want)
	r.step("compared with hledger, and published")
}

// step logs how far the journey is.
func (r *rental) step(what string) {
	r.t.Logf("%6.1f s %s", time.Since(r.began).Seconds(), what)
}

// newRental starts the sandbox and the service, and makes a team with owners, fees and mappings.
func newRental(t *testing.T, system *pmsSystem, size rentalSize) *rental {
	t.Helper()

	r := &rental{t: t, system: system, listings: size.listings, stays: size.stays, owned: size.owned, began: time.Now()}
	r.accounts, r.posted = map[string]string{}, map[string]string{}
	r.control = &client{t: t, base: startSandbox(t, r.listings, r.stays), key: sandboxKey, bearer: true}
	database, data := emptyDatabase(t), t.TempDir()
	r.database = database

	var base string

	// The clients keep to the limits of the vendors, of about a call a second, with which the whole size takes half an hour
	// at OwnerRez: it is read without limits. The small size keeps to them.
	if pmsWhole && system != &ourProtocol {
		base = serveWithoutLimits(t, database, data)
	} else {
		base = start(t, database, data, "serve", "--local-providers").base
	}

	team := command(t, database, "team", "create", "Seaside Stays", "--start", "2025-01-01")
	r.client = &client{t: t, base: base, key: command(t, database, "key", "issue", "--team", team)}
	r.done(r.post("/team/init", object{"template": "standard"}))

	for _, a := range r.get("/accounts?limit=250").want(200).list("data") {
		r.accounts[fmt.Sprint(a["code"])] = fmt.Sprint(a["id"])
	}

	r.settle()

	return r
}

// settle makes the listings with owners, their fee, and the mapping of a tax.
func (r *rental) settle() {
	r.t.Helper()

	owner := r.post("/contacts", object{"type": "owner", "name": "Anna Albers", "email": "anna@example.com"}).want(201).text("id")
	subscriptions := []any{}

	for i := range r.owned {
		name := fmt.Sprintf("House %d", i+1)
		if i == 0 {
			name = "Shore Cottage" // A person has to say that it is House 1.
		}

		listing := r.post("/listings", object{"name": name, "initialOwnership": object{
			"businessModel": "managed", "members": []any{object{"contactId": owner, "split": 100_000}},
		}}).want(201).text("id")
		subscriptions = append(subscriptions, object{"listingId": listing})
	}

	r.post("/recurring-fees", object{
		"name": "Commission", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 20_000, "debitParty": "owners",
		"creditParty": "manager", "debitAccountId": r.accounts["5100"], "creditAccountId": r.accounts["4100"], "listingSubscriptions": subscriptions,
	}).want(201)

	// The team books the tax that channels remit, which the standard chart leaves out.
	excluded := r.get("/reservations/line-mappings?lineType=channelTax").want(200).text("data.0.id")
	r.put("/reservations/line-mappings/"+excluded, object{"status": "mapped", "accountId": r.accounts["2110"]}).want(200)
}

// startSandbox starts the sandbox and returns its address. Its stays are of 2025 unless more flags say otherwise.
func startSandbox(t *testing.T, listings, stays int, more ...string) string {
	t.Helper()

	address := freeAddress(t)
	p := &process{t: t, log: &buffer{}, base: "http://" + address, done: make(chan struct{})}
	p.cmd = exec.CommandContext(context.Background(), binary, "sandbox", "--api-key", sandboxKey, "--listen", address,
		"--pms-listings", strconv.Itoa(listings), "--pms-reservations", strconv.Itoa(stays), "--from", "2025-01-01")
	p.cmd.Args = append(p.cmd.Args, more...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log

	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}

	go func() { _ = p.cmd.Wait(); close(p.done) }()

	t.Cleanup(func() { p.signal(syscall.SIGTERM); p.wait(40 * time.Second) })
	eventually(t, "the sandbox serves", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}

		return err == nil
	})

	return p.base
}

// serveWithoutLimits runs the service in this process, with systems that take any number of calls.
func serveWithoutLimits(t *testing.T, database, data string) string {
	t.Helper()

	ctx, stop := context.WithCancel(context.Background())

	if _, err := app.Migrate(ctx, database); err != nil {
		t.Fatal(err)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	base := "http://" + listener.Addr().String()

	a, err := app.Open(ctx, app.Config{
		DatabaseURL: database, Listen: listener.Addr().String(), PublicURL: base, Regions: []string{"us"}, DataDir: data, SecretKeys: []string{secretKey},
		Workers: 8, MaxConnections: 24, KeepOperations: 9600 * time.Hour, ShutdownGrace: 20 * time.Second, LocalProviders: true,
		ProviderTimeout: 25 * time.Second, UncountedCalls: true,
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, listener) }()

	t.Cleanup(func() {
		stop()

		if err := <-ended; err != nil {
			t.Error(err)
		}

		a.Close()
	})

	eventually(t, "the service is ready", func() bool {
		resp, err := http.Get(base + "/readyz")
		if err != nil {
			return false
		}

		_ = resp.Body.Close()

		return resp.StatusCode == http.StatusOK
	})

	return base
}

// done waits until the operation of an answer has completed.
func (r *rental) done(a *answer) {
	r.t.Helper()

	if s := r.settled(a.want(202).text("operationId")); s.text("status") != "completed" {
		r.t.Fatalf("operation %s", s.body)
	}
}

// connect connects the team and says which listings are which: the first sync waits for that.
func (r *rental) connect() {
	r.t.Helper()

	// Messages would be read one by one within the limits; test/pms has them.
	if r.system != &ownerrezSystem {
		r.control.post(r.system.path+"/control/settings", object{"silent": true}).want(204)
	}

	a := r.post("/connections", object{
		"appId": r.system.app, "name": "Rentals", "settings": object{"baseUrl": r.control.base + r.system.base}, "credentials": r.system.credentials,
	})
	r.done(a)
	r.connection = "/connections/" + a.text("resource.id")

	if got := r.get(r.connection).want(200); got.text("status") != "active" {
		r.t.Fatalf("the connection is %s", got.body)
	}

	if got := r.post(r.connection+"/sync", nil).want(409); got.text("reason") != "listingMappingRequired" {
		r.t.Errorf("without mappings a sync is refused with %s", got.body)
	}

	cottage, decisions, matched := r.get("/listings?search=Shore%20Cottage").want(200).text("data.0.id"), []any{}, 0

	for _, m := range r.get(r.connection + "/listing-mappings").want(200).list("data") {
		switch {
		case m["uniqueRef"] == r.system.listing(1):
			decisions = append(decisions, object{"targetListingConnectionId": m["targetListingConnectionId"], "listingId": cottage})
		case m["status"] == "matched":
			matched++
		}
	}

	if matched != r.owned-1 {
		r.t.Errorf("%d listings are matched, want %d", matched, r.owned-1)
	}

	r.put(r.connection+"/listing-mappings", object{"data": decisions}).want(200)
}

// sync reads the system and waits until nothing is left to do.
func (r *rental) sync(mode string) {
	r.t.Helper()
	r.done(r.post(r.connection+"/sync", object{"mode": mode}))
	r.outlast()

	got := r.get("/syncs?limit=1").want(200)
	r.t.Logf("%s: %s, asked %s", mode, got.text("data.0.counts"), r.control.get(r.system.path+"/control/counts").want(200).body)

	if strings.Contains(got.text("data.0.counts"), "failed") || got.text("data.0.status") != "completed" {
		r.t.Errorf("the sync is %s", got.body)
	}
}

// outlast waits until nothing is left to do.
func (r *rental) outlast() {
	r.t.Helper()

	for _, status := range []string{"queued", "running"} {
		eventually(r.t, "without work", func() bool { return r.get("/operations?status="+status).want(200).text("total") == "0" })
	}
}

// row returns a row of the system, nil for one that is not there.
func (r *rental) row(n int) object {
	r.t.Helper()

	a := r.control.get(r.rowPath(n))
	if a.status == http.StatusNotFound {
		return nil
	}

	d := json.NewDecoder(strings.NewReader(string(a.want(200).body)))
	d.UseNumber()

	var out object
	if err := d.Decode(&out); err != nil {
		r.t.Fatal(err)
	}

	return out
}

func (r *rental) rowPath(n int) string {
	return r.system.path + "/control/" + r.system.rows + "/" + r.system.stay(n)
}

// editHere gives a stay another guest and another day here, as a person does, and returns its id here.
func (r *rental) editHere(n int) string {
	r.t.Helper()

	code := fmt.Sprint(r.row(n)[r.system.code])
	stay := r.get("/reservations?search=" + code).want(200).text("data.0.id")
	r.put("/reservations/"+stay, object{"guestName": "Ada Lovelace", "generalLedgerPostingAt": "2025-03-15"}).want(200)
	r.posted[r.system.stay(n)] = "2025-03-15"

	return stay
}

// checkPerson holds a stay to what a person has made of it.
func (r *rental) checkPerson(stay string) {
	r.t.Helper()

	if got := r.get("/reservations/" + stay).want(200); got.text("guestName") != "Ada Lovelace" || got.text("generalLedgerPostingAt") != "2025-03-15" {
		r.t.Errorf("a person's edit is lost: %s", got.body)
	}
}

// change changes a fourth of the stays at the system: some cost more, some are canceled, for some of those money is kept,
// and some are the owner's. The stay that a person has changed gets another guest and costs more.
func (r *rental) change() {
	r.t.Helper()

	for n := 1; n <= r.stays; n++ {
		row := r.row(n)

		var change object

		switch n % 20 {
		case 1:
			change = r.system.dearer(row)
		case 5:
			change = r.system.dearer(row)
			maps.Copy(change, r.system.guest("Grace"))
		case 9:
			change = r.system.kept(row)
		case 13:
			change = r.system.lost(row)
		case 17:
			change = r.system.ownersOwn(row)
		default:
			continue
		}

		r.control.call(http.MethodPatch, r.rowPath(n), change).want(204)
	}
}

// remove deletes some stays at the system.
func (r *rental) remove() {
	r.t.Helper()

	for n := 7; n <= r.stays; n += 40 {
		r.control.call(http.MethodDelete, r.rowPath(n), nil).want(204)
	}
}

// publish publishes the statements of a month and holds the income of each to the entries by hand.
func (r *rental) publish(month string, want book) {
	r.t.Helper()

	published := r.post("/statements", object{"month": month, "status": "published"}).want(201).list("data")
	if len(published) != r.owned {
		r.t.Errorf("%d statements are published, want %d", len(published), r.owned)
	}

	refs := r.refs()

	for _, s := range published {
		listing, _ := s["listing"].(object)
		funds, _ := s["financials"].(object)
		ref, income := refs[fmt.Sprint(listing["id"])], int64(0)

		for place, cents := range want {
			if place.listing == ref && place.month == month && slices.Contains(ofOwners, place.account) {
				income -= cents
			}
		}

		if got := fmt.Sprint(funds["netRevenue"]); got != strconv.FormatInt(income, 10) || s["status"] != "published" {
			r.t.Errorf("the statement of %s has %s, by hand %d", ref, got, income)
		}
	}
}

// refs returns the ids in the system of the listings here.
func (r *rental) refs() map[string]string {
	r.t.Helper()

	out := map[string]string{}

	for page := 1; ; page++ {
		a := r.get(fmt.Sprintf("/listings?limit=250&page=%d", page)).want(200)
		for _, l := range a.list("data") {
			source, _ := l["source"].(object)
			out[fmt.Sprint(l["id"])] = fmt.Sprint(source["id"])
		}

		if a.at("pagination.nextPage") == nil {
			return out
		}
	}
}
