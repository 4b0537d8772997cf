package console_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/platform/apitest"
	"stayledger/provider/sandbox"
	"stayledger/provider/sandbox/pms"
	"stayledger/web/reference"
)

// sinks are all places outside of the database that the service can reach: the folder with stored files and with mail,
// and one server in the place of every other, which notes what it is asked.
type sinks struct {
	folder  string
	address string
	mu      sync.Mutex
	calls   []string
}

// sandboxKey is what the sandboxes take as a key, a token and a secret.
const sandboxKey = "key-of-the-sandboxes"

// newSinks returns sinks with a payment provider, a property-management system and a receiver of webhooks. A further
// sink is a path of the server.
func newSinks(t *testing.T) *sinks {
	t.Helper()

	payments, err := sandbox.New(sandbox.Config{APIKey: sandboxKey, SettleAfter: -1})
	if err != nil {
		t.Fatal(err)
	}

	system, err := pms.New(pms.Config{Token: sandboxKey})
	if err != nil {
		t.Fatal(err)
	}

	all := http.NewServeMux()
	all.Handle("/pay/", http.StripPrefix("/pay", payments))
	all.Handle("/system/", http.StripPrefix("/system", system))
	all.HandleFunc("/hook", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

	s := &sinks{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.calls = append(s.calls, fmt.Sprintf("call %d %s %s", len(s.calls)+1, r.Method, r.URL.Path))
		s.mu.Unlock()
		all.ServeHTTP(w, r)
	}))
	s.address = server.URL

	t.Cleanup(func() {
		payments.Close()
		system.Close()
		server.Close()
	})

	return s
}

// reached returns all that has reached the sinks: calls in their order, files with their content and when
// they were written, since one can be replaced by its like.
func (s *sinks) reached(t *testing.T) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()

	out := strings.Join(s.calls, "\n")

	err := filepath.WalkDir(s.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}

		info, err := entry.Info()
		if err != nil {
			return err
		}

		content, err := os.ReadFile(path)
		out += fmt.Sprintf("\nfile %s written %s %x", strings.TrimPrefix(path, s.folder), info.ModTime(), content)

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// connect connects the office to every sink, subscribes to all webhooks, and has each sink reached by what is no dry
// run: a sink that nothing can reach would prove nothing. Workers run only meanwhile, since they change rows by
// themselves.
func (s *sinks) connect(o *office, statement, contact string) {
	o.t.Run("sinks", func(t *testing.T) {
		o := &office{service: o.service, t: t, name: o.name, id: o.id, key: o.key}
		o.work(t)

		connect := func(kind, path string, credentials object) {
			o.call("POST", "/connections", object{
				"appId": kind, "name": kind, "settings": object{"baseUrl": s.address + path}, "credentials": credentials,
			}, 202)
		}
		connect("payProvider", "/pay", object{"apiKey": sandboxKey, "callbackSecret": sandboxKey})
		connect("pmsProtocol", "/system", object{"token": sandboxKey})

		hook, _ := o.call("POST", "/webhooks", object{"url": s.address + "/hook", "eventTypes": array{
			"audit.event.changed", "connection.changed", "operation.completed", "operation.failed", "payment.updated", "statement.published",
			"statement.reopened", "webhook.test",
		}}, 201)["id"].(string)
		o.call("POST", "/webhooks/"+hook+"/test", object{}, 202)
		o.call("POST", "/statements/"+statement+"/emails", object{"contactIds": array{contact}}, 202)
		o.call("POST", "/contacts/csv", object{}, 202)

		o.await("reaches every sink", func() bool {
			reached := s.reached(t)
			for _, sink := range []string{" POST /hook", " /pay/", " /system/", "file /mail/", "file /files/"} {
				if !strings.Contains(reached, sink) {
					return false
				}
			}

			return o.call("GET", "/webhooks/"+hook, nil, 200)["status"] == "active"
		})
		o.await("ends its work", func() bool {
			counts, _ := o.call("GET", "/operations", nil, 200)["counts"].(object)
			return counts["queued"] == 0.0 && counts["running"] == 0.0
		})
	})
}

// await waits until something holds.
func (o *office) await(what string, holds func() bool) {
	o.t.Helper()

	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()

	for late := time.After(patience); !holds(); {
		select {
		case <-late:
			o.t.Fatalf("the service never %s", what)
		case <-tick.C:
		}
	}
}

// trace returns what has reached the sinks and all rows of offices.
func (s *sinks) trace(t *testing.T, offices ...*office) string {
	t.Helper()

	out := []string{s.reached(t)}

	for _, o := range offices {
		rows, err := apitest.Fingerprint(t.Context(), o.app.DB, o.id)
		if err != nil {
			t.Fatal(err)
		}

		out = append(out, rows)
	}

	return strings.Join(out, "\n")
}

// dryRun sends a request as a dry run and returns the status and the answer.
func (o *office) dryRun(r *reference.Request) (int, string) {
	o.t.Helper()

	query := url.Values{"dryRun": {"true"}}
	for _, v := range r.Query {
		query.Set(v.Name, v.Text)
	}

	status, text := o.send(r.Method, r.Path+"?"+query.Encode(), []byte(r.Body))

	return status, string(text)
}

// withoutDryRun are routes for which the contract has no dry run, by what they do. What a refusal must not do is the
// same for all.
var withoutDryRun = map[string][]string{
	"uploads":            {"POST /transaction-attachments", "PUT /team/logo", "POST /legacy/import", "POST /connections/{id}/return-files"},
	"OAuth":              {"POST /connections/oauth/start"},
	"connection actions": {"POST /connections", "POST /connections/connect", "POST /connections/{id}/connect", "DELETE /connections/{id}"},
	"sync actions": {
		"POST /connections/{id}/sync", "POST /connections/extract", "POST /syncs/{id}/cancel", "POST /syncs/{id}/missing-records",
		"POST /sync-conflicts/settle",
	},
	"mail": {"POST /statements/{id}/emails"},
	"provider calls": {
		"POST /contacts/{id}/payment-methods/ach", "POST /statements/pay", "POST /statements/manager/pay", "POST /transactions/{id}/pay",
		"POST /transactions/{id}/provider-payments/{providerPaymentId}/cancel", "POST /calendar-blocks", "DELETE /calendar-blocks",
	},
	"webhooks": {"POST /webhooks/{id}/test", "POST /webhooks/{id}/replay", "POST /webhook-deliveries/{id}/replay"},
}

// TestDryRunsLeaveNothingBehind sends a dry run to every write of the service. Where the contract has dry runs, each is
// valid and answered as the real request would be; everywhere else it is refused. Neither changes a row, calls anybody,
// writes a file or sends a mail. Mail is files in the folder of the service; rows hold what is queued.
//
// Proves: DRY-04, DRY-15, DRY-16, DRY-17, DRY-19..DRY-23, DRY-57, DRY-58, DRY-60, DRY-61, DRY-63, DRY-64.
func TestDryRunsLeaveNothingBehind(t *testing.T) {
	t.Parallel()

	out := newSinks(t)
	s := serve(t, func(c *app.Config) { c.LocalProviders, out.folder = true, c.DataDir })
	o, young := s.office(t, "Seaside Stays"), s.office(t, "Without statements")
	made := o.scene()
	valid := o.readyScene(made)
	out.connect(o, valid.statement, valid.owner)

	refused, accepted := map[string]bool{}, 0
	before := out.trace(t, o, young)

	for _, op := range s.site(t).Operations() {
		r := made.of(op).request

		e := s.app.API.Find(op.Method, r.Path)
		if e == nil || !e.Mutates() || op.Public {
			continue
		}

		// The example of the reference is sent, or a request that fits what is here.
		if ready, is := valid.requests[op.ID]; is {
			ready.Method = op.Method
			r = ready
		}

		// Published statements lock the opening balances of a team.
		by := o
		if op.ID == "putOpeningTrialBalance" {
			by, r.Body = young, `{"rows": []}`
		}

		offered := apitest.DryRuns(e)
		status, answer := by.dryRun(&r)

		switch {
		case offered && (status < 200 || status > 299):
			t.Errorf("%s is no valid dry run: %s %s: %d %s", op.ID, r.Path, r.Body, status, answer)
		case offered:
			accepted++
		case strings.HasPrefix(op.Path, "/partner/"), op.ID == "createTeam", op.ID == "manageTeam": // closed to the key of a team
		case status != http.StatusBadRequest || !strings.Contains(answer, `"BAD_REQUEST"`) || !strings.Contains(answer, `"dryRun"`):
			t.Errorf("%s has no dry run and answers %d %s", op.ID, status, answer)
		default:
			refused[op.Method+" "+op.Path] = true
		}

		if after := out.trace(t, o, young); after != before {
			t.Errorf("%s left something behind: %s", op.ID, difference(before, after))
			before = after
		}
	}

	for family, routes := range withoutDryRun {
		for _, route := range routes {
			if !refused[route] {
				t.Errorf("%s: the dry run of %s is not refused", family, route)
			}
		}
	}

	if accepted < 75 {
		t.Errorf("%d dry runs", accepted)
	}
}

// difference returns the lines that are in one trace alone, shortened.
func difference(before, after string) string {
	var out strings.Builder

	for line := range strings.SplitSeq(after, "\n") {
		if !strings.Contains("\n"+before+"\n", "\n"+line+"\n") {
			fmt.Fprintf(&out, "\n%.200s", line)
		}
	}

	return out.String()
}

// ready are requests that are valid in an office, where the examples of the reference are refused, and a published
// statement with its owner.
type ready struct {
	requests         map[string]reference.Request
	statement, owner string
}

// readyScene makes what the requests need that the examples do not find in their scene.
func (o *office) readyScene(made scene) ready {
	o.t.Helper()

	text := func(from object, path ...string) string {
		for _, name := range path[:len(path)-1] {
			from, _ = from[name].(object)
		}

		value, _ := from[path[len(path)-1]].(string)

		return value
	}
	post := func(path string, body object) object { return o.call("POST", path, body, 201) }
	first := func(path string) object {
		rows, _ := o.call("GET", path, nil, 200)["data"].(array)
		if len(rows) == 0 {
			o.t.Fatalf("%s has no rows", path)
		}

		return rows[0].(object)
	}
	bank := made.ids["chartBankAccountId"]

	// An owner with stays in three listings: one of a published month, one of a month in review, one of none.
	owner := text(post("/contacts", object{"type": "owner", "name": "Cleo Stone", "email": "cleo@example.com"}), "id")
	listing := func(name string) (string, string) {
		l := text(post("/listings", object{"name": name, "initialOwnership": object{"members": array{object{"contactId": owner, "split": 100000}}}}), "id")

		return l, text(first("/listings/ownership-periods?listingIds="+l), "id")
	}
	statement := func(listing, period, status string) string {
		stay := text(post("/reservations", object{
			"listingId": listing, "checkIn": "2026-01-11", "checkOut": "2026-01-13", "lines": array{object{"type": "rent", "amount": 100000}},
		}), "id")
		post("/transactions", object{"type": "deposit", "date": "2026-01-12", "accountId": bank, "lines": array{object{"assignment": "accountsReceivable", "amount": 100000, "reservationId": stay}}})
		post("/statements", object{"month": "2026-01", "status": status, "listingPeriodIds": array{period}})

		return text(first("/statements?month=2026-01&listingIds="+listing), "id")
	}
	cabin, cabinPeriod := listing("Cabin")
	published := statement(cabin, cabinPeriod, "published")
	loft, loftPeriod := listing("Loft")
	reviewed := statement(loft, loftPeriod, "inReview")
	vacant, vacantPeriod := listing("Vacant")
	link := text(post("/statements/"+published+"/owner-links", object{"contactId": owner}), "id")
	payout := func() string {
		return text(post("/transactions", object{
			"type": "payout", "date": "2026-02-05", "contactId": owner, "lines": array{object{"amount": 1000, "listingId": cabin, "contactId": owner}},
		}), "id")
	}
	paidOut, returned := payout(), payout()
	post("/transactions/"+returned+"/returns", object{})

	// Their bank account was named by somebody else, who does not release it.
	colleague := *o
	colleague.key = o.keyOf(o.t, o)
	colleague.call("POST", "/contacts/"+owner+"/payment-methods/ach", object{"accountHolder": "Cleo Stone", "routingNumber": "021000021", "accountNumber": "000123456789", "accountType": "checking"}, 202)
	method := text(first("/contacts/"+owner+"/payment-methods"), "id")

	adjusted := "/reservations/" + made.paths["/reservations"]
	adjustments, _ := o.call("GET", adjusted, nil, 200)["adjustments"].(array)
	adjusted += "/adjustments/" + text(adjustments[0].(object), "id")

	// Two movements at the bank, one of which is reconciled.
	movement := func(ref string) (string, string) {
		rows, _ := o.call("POST", "/bank-records/batch", object{"data": array{object{
			"uniqueRef": ref, "accountId": bank, "date": "2026-02-04", "description": "home depot", "amount": -5000, "source": "csv",
		}}}, 201)["data"].(array)
		paid := post("/transactions", object{
			"type": "expense", "date": "2026-02-04", "accountId": bank, "lines": array{object{"accountId": made.ids["accountId"], "amount": 5000}},
		})

		return text(rows[0].(object), "id"), text(paid, "id")
	}
	open, bill := movement("open")
	known, paid := movement("known")
	o.call("POST", "/bank-records/"+known+"/reconcile", object{"transactions": array{object{"id": paid}}}, 200)

	// Records that nothing refers to.
	vendor := text(post("/contacts", object{"type": "vendor", "name": "Unused"}), "id")
	shed := text(post("/listings", object{"name": "Shed"}), "id")
	house := text(post("/listings", object{"name": "House"}), "id")
	o.call("PUT", "/listings/"+shed+"/parent", object{"parentId": house}, 202)

	// Workers make the transactions of a template that is due.
	later := text(post("/transactions/recurring-templates", object{
		"type": "expense", "date": time.Now().AddDate(0, 6, 0).Format(time.DateOnly), "pattern": object{"frequency": "monthly"}, "lines": array{object{"accountId": made.ids["accountId"], "amount": 5000, "listingId": vacant}},
	}), "id")

	return ready{
		statement: published, owner: owner, requests: map[string]reference.Request{
			"deleteAccount":               {Path: "/accounts/" + text(post("/accounts", object{"type": "ledger", "name": "Unused", "code": "5998", "categoryId": made.ids["categoryId"]}), "id")},
			"reconcileBankRecord":         {Path: "/bank-records/" + open + "/reconcile", Body: `{"transactions": [{"id": "` + bill + `"}]}`},
			"unreconcileBankRecord":       {Path: "/bank-records/" + known + "/unreconcile", Body: `{"transactionIds": ["` + paid + `"]}`},
			"runBankRule":                 {Path: "/bank-rules/" + made.paths["/bank-rules"] + "/run", Body: `{"bankRecordIds": ["` + open + `"]}`},
			"deleteContact":               {Path: "/contacts/" + vendor},
			"updatePaymentMethod":         {Path: "/contacts/" + owner + "/payment-methods/" + method, Body: `{"isDefault": true}`},
			"deletePaymentMethod":         {Path: "/contacts/" + owner + "/payment-methods/" + method},
			"releasePaymentMethod":        {Path: "/contacts/" + owner + "/payment-methods/" + method + "/release"},
			"deleteOwnershipPeriod":       {Path: "/listings/ownership-periods/" + vacantPeriod},
			"deleteListing":               {Path: "/listings/" + shed},
			"mergeListing":                {Path: "/listings/" + vacant + "/merge", Body: `{"intoId": "` + cabin + `"}`},
			"removeListingParent":         {Path: "/listings/" + shed + "/parent"},
			"updateReservationAdjustment": {Path: adjusted, Body: `{"amount": -7500}`},
			"deleteReservationAdjustment": {Path: adjusted},
			"createStatements":            {Path: "/statements", Body: `{"month": "2026-01", "status": "published", "listingPeriodIds": ["` + vacantPeriod + `"]}`},
			"deleteStatement":             {Path: "/statements/" + reviewed},
			"revokeOwnerLink":             {Path: "/statements/" + published + "/owner-links/" + link},
			"recordStatementPayouts":      {Path: "/statements/payouts", Body: `{"statementIds": ["` + published + `"]}`},
			"deleteRecurringTemplate":     {Path: "/transactions/recurring-templates/" + later},
			"returnPayout":                {Path: "/transactions/" + paidOut + "/returns", Body: `{"amount": 500}`},
			"replacePayout":               {Path: "/transactions/" + returned + "/replacements", Body: `{"amount": 500}`},
		},
	}
}
