package bankfeed_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/provider/sandbox/bankfeed"
	"stayledger/provider/sandbox/stage"
)

const (
	clientID = "a-client"
	secret   = "a-secret"
)

type world struct {
	*bankfeed.Server

	t   *testing.T
	url string
}

func newWorld(t *testing.T, c bankfeed.Config) *world {
	t.Helper()

	c.ClientID, c.Secret = clientID, secret

	s, err := bankfeed.New(c)
	if err != nil {
		t.Fatal(err)
	}

	mux := http.NewServeMux()
	mux.Handle(c.Path+"/", http.StripPrefix(c.Path, s))
	server := httptest.NewServer(mux)

	t.Cleanup(func() {
		s.Close()
		server.Close()
	})

	return &world{Server: s, t: t, url: server.URL + c.Path}
}

// call makes a request with the secret in a header; its body has everything else that a call needs.
func (w *world) call(method, path, body string) (int, map[string]any) {
	w.t.Helper()

	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		w.t.Fatal(err)
	}

	req.Header.Set("Authorization", "Bearer "+secret)

	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer answer.Body.Close()

	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, nil
	}

	var out map[string]any
	if len(content) > 0 {
		if err := json.Unmarshal(content, &out); err != nil {
			w.t.Fatalf("%s %s: %s", method, path, content)
		}
	}

	return answer.StatusCode, out
}

// ask makes a call of the protocol with the keys in its body.
func (w *world) ask(path, fields string) (int, map[string]any) {
	w.t.Helper()

	if fields != "" {
		fields = "," + fields
	}

	return w.call(http.MethodPost, path, `{"client_id":"`+clientID+`","secret":"`+secret+`"`+fields+`}`)
}

// item links an item at the first bank, and gives its access token and identifier.
func (w *world) item(options string) (access, id string) {
	w.t.Helper()
	_, public := w.ask("/sandbox/public_token/create", `"institution_id":"ins_109508","initial_products":["transactions"],"options":`+options)
	token, _ := public["public_token"].(string)
	status, traded := w.ask("/item/public_token/exchange", `"public_token":"`+token+`"`)
	access, _ = traded["access_token"].(string)

	id, _ = traded["item_id"].(string)
	if status != http.StatusOK || access == "" || id == "" {
		w.t.Fatalf("%d %v", status, traded)
	}

	return access, id
}

func TestEverythingAsksForTheKeys(t *testing.T) {
	t.Parallel()

	w := newWorld(t, bankfeed.Config{})
	for _, body := range []string{`{}`, `{"client_id":"a-client","secret":"another"}`, `{"client_id":"another","secret":"a-secret"}`} {
		if status, e := w.call(http.MethodPost, "/item/get", body); status != 400 || e["error_code"] != "INVALID_API_KEYS" || e["request_id"] == "" {
			t.Errorf("%s: %d %v", body, status, e)
		}
	}

	for _, path := range []string{"/control/items", "/control/counts", "/control/events", "/control/webhooks", "/control/institutions"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}

		req.Header.Set("Authorization", "Bearer "+secret+"x")

		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}

		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s with another secret: %d", path, answer.StatusCode)
		}
	}

	for _, c := range []bankfeed.Config{{}, {ClientID: "x"}, {Secret: "x"}, {ClientID: "x", Secret: "x", History: -1}} {
		if s, err := bankfeed.New(c); err == nil {
			s.Close()
			t.Errorf("%+v was taken", c)
		}
	}
}

func TestControlOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bankfeed.Config{History: 10})
	access, id := w.item(`{"transactions":{"days_requested":30}}`)
	_, rows := w.call(http.MethodGet, "/control/items/"+id+"/transactions", "")

	list, _ := rows["transactions"].([]any)
	if len(list) != 30 {
		t.Fatalf("%d transactions, want ten for each of three accounts", len(list))
	}

	row, _ := list[0].(map[string]any)
	txn, _ := row["transaction_id"].(string)

	account, _ := row["account_id"].(string)
	if oldest := time.Now().UTC().AddDate(0, 0, -30).Format("2006-01-02"); row["date"].(string) < oldest {
		t.Errorf("the history begins on %v, before the days that were asked for", row["date"])
	}

	items := "/control/items/" + id
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/control/faults", `{"mode":"fly"}`, 400},
		{"POST", "/control/faults", `{"mod":"fail"}`, 400},
		{"POST", "/control/faults", `{"mode":"fail"}`, 400},
		{"POST", "/control/faults", `{"mode":"internal","on":"/item/get","times":1}`, 204},
		{"POST", "/control/settings", `{"begins":"SOON"}`, 400},
		{"POST", "/control/settings", `{"history":-1}`, 400},
		{"POST", "/control/settings", `{"history":2,"begins":"INITIAL_UPDATE_COMPLETE","clockSeconds":5,"silent":true}`, 204},
		{"POST", "/control/keys", `{"expireOld":true}`, 204},
		{"PUT", "/control/institutions/ins_7", `{"name":"Seventh"}`, 400},
		{"PUT", "/control/institutions/ins_7", `{"name":"Seventh","accounts":[{"id":"a","name":"A","type":"depository","balance":1}]}`, 204},
		{"POST", items + "/transactions", `{"transactions":[{"account_id":"none","amount":1}]}`, 404},
		{"POST", items + "/transactions", `{"transactions":[{"account_id":"` + account + `","amount":1,"transaction_id":"` + txn + `"}]}`, 400},
		{"POST", items + "/transactions", `{"transactions":[{"account_id":"` + account + `","amount":"x"}]}`, 400},
		{"POST", items + "/transactions", `{"transactions":[{"account_id":"` + account + `","amount":1,"transaction_id":"p","pending":true}]}`, 200},
		{"POST", items + "/transactions/" + txn + "/post", `{}`, 404}, // is not pending
		{"POST", items + "/transactions/p/post", `{"amount":2}`, 200},
		{"POST", items + "/transactions/p/post", `{"amount":2}`, 404},
		{"PUT", items + "/transactions/" + txn, `{"amount":[]}`, 400},
		{"PUT", items + "/transactions/" + txn, `{"amount":3}`, 204},
		{"DELETE", items + "/transactions/" + txn, ``, 204},
		{"DELETE", items + "/transactions/" + txn, ``, 404},
		{"POST", items + "/progress", `{"progress":"SOON"}`, 400},
		{"POST", items + "/progress", `{"progress":"HISTORICAL_UPDATE_COMPLETE"}`, 204},
		{"POST", items + "/problem", `{"type":"ITEM_ERROR","code":"ITEM_LOCKED"}`, 204},
		{"POST", items + "/problem", `{}`, 204},
		{"POST", items + "/webhooks", `{"code":"LOGIN_REPAIRED"}`, 404}, // has no webhook
		{"POST", items + "/accounts/" + account + "/close", ``, 204},
		{"POST", items + "/accounts/" + account + "/close", ``, 404},
		{"POST", items + "/accounts/" + account + "/rekey", `{}`, 404},
		{"POST", "/control/items/none/progress", `{"progress":"NOT_READY"}`, 404},
		{"POST", "/control/items/none/problem", `{}`, 404},
		{"GET", "/control/items/none/transactions", ``, 404},
		{"GET", "/control/events?after=-1", ``, 400},
		{"GET", "/control/events?after=100000&waitSeconds=0", ``, 204},
		{"POST", "/control/release", ``, 204},
	} {
		if status, body := w.call(c.method, c.path, c.body); status != c.status {
			t.Errorf("%s %s %s: %d %v, want %d", c.method, c.path, c.body, status, body, c.status)
		}
	}

	if status, _ := w.ask("/item/get", `"access_token":"`+access+`"`); status != 500 {
		t.Errorf("a fault that was asked for: %d", status)
	}

	if status, e := w.call(http.MethodGet, "/control/events?point=answered&after=8&waitSeconds=30", ""); status != 200 || e["on"] != "/item/get" {
		t.Errorf("event: %d %v", status, e)
	}

	_, counts := w.call(http.MethodGet, "/control/counts", "")
	if counts["handed"] != 1.0 || counts["linked"] != 1.0 || counts["live"] != 1.0 || counts["removed"] != 0.0 {
		t.Errorf("counts %v", counts)
	}

	_, all := w.call(http.MethodGet, "/control/items", "")

	only, _ := all["items"].([]any)
	if told, _ := only[0].(map[string]any); len(only) != 1 || told["accessToken"] != access || told["transactions"] != 30.0 {
		t.Errorf("items %v", all)
	}

	_, later := w.ask("/link/token/create", `"client_name":"x","language":"en","country_codes":["US"],"user":{"client_user_id":"u"},"products":["transactions"],"hosted_link":{}`)

	token, _ := later["link_token"].(string)
	if err := w.Complete(token, "ins_7"); err != nil {
		t.Error(err)
	}

	w.call(http.MethodPost, "/control/reset", "")
}

func TestCallsThatAreWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bankfeed.Config{})
	access, _ := w.item(`{}`)

	const link = `"client_name":"x","language":"en","country_codes":["US"],"user":{"client_user_id":"u"}`
	for _, c := range []struct{ path, fields, code string }{
		{"/link/token/create", link, "INVALID_FIELD"}, // no products
		{"/link/token/create", link + `,"products":["auth"]`, "INVALID_FIELD"},
		{"/link/token/create", link + `,"products":["transactions"],"access_token":"` + access + `"`, "INVALID_FIELD"},
		{"/link/token/create", strings.Replace(link, `"x"`, `"`+strings.Repeat("x", 31)+`"`, 1) + `,"products":["transactions"]`, "INVALID_FIELD"},
		{"/link/token/create", link + `,"products":["transactions"],"transactions":{"days_requested":731}`, "INVALID_FIELD"},
		{"/link/token/create", link + `,"access_token":"other"`, "INVALID_ACCESS_TOKEN"},
		{"/transactions/sync", `"access_token":"` + access + `","count":501`, "INVALID_FIELD"},
		{"/transactions/sync", `"access_token":"` + access + `","count":0`, "INVALID_FIELD"},
		{"/transactions/sync", `"access_token":"` + access + `","cursor":"x"`, "INVALID_FIELD"},
		{"/transactions/sync", `"access_token":5`, "INVALID_BODY"},
		{"/transactions/refresh", `"access_token":"other"`, "INVALID_ACCESS_TOKEN"},
		{"/institutions/get_by_id", `"institution_id":"ins_109508"`, "INVALID_FIELD"},
		{"/institutions/get_by_id", `"institution_id":"x","country_codes":["US"]`, "INVALID_INSTITUTION"},
		{"/webhook_verification_key/get", `"key_id":"x"`, "INVALID_WEBHOOK_VERIFICATION_KEY_ID"},
		{"/accounts/get", `"access_token":"` + access + `","options":{"account_ids":["x"]}`, "NO_ACCOUNTS"},
		{"/sandbox/public_token/create", `"institution_id":"x","initial_products":["transactions"]`, "INVALID_INSTITUTION"},
		{"/sandbox/item/fire_webhook", `"access_token":"` + access + `","webhook_code":"DEFAULT_UPDATE"`, "SANDBOX_WEBHOOK_INVALID"},
	} {
		if status, e := w.ask(c.path, c.fields); status != 400 || e["error_code"] != c.code {
			t.Errorf("%s %s: %d %v, want %s", c.path, c.fields, status, e, c.code)
		}
	}
}

// An account has a stream of its own, with its own cursors.
func TestSyncOfOneAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bankfeed.Config{History: 3})
	access, id := w.item(`{}`)
	account := w.Items()[0].Accounts[1].ID
	_, all := w.ask("/transactions/sync", `"access_token":"`+access+`"`)

	_, one := w.ask("/transactions/sync", `"access_token":"`+access+`","options":{"account_id":"`+account+`"}`)
	if len(all["added"].([]any)) != 9 || len(one["added"].([]any)) != 3 {
		t.Errorf("%d rows, %d of one account", len(all["added"].([]any)), len(one["added"].([]any)))
	}

	if _, has := one["added"].([]any)[0].(map[string]any)["original_description"].(string); has {
		t.Error("the bank's own text came without being asked for")
	}

	if status, _ := w.ask("/transactions/refresh", `"access_token":"`+access+`"`); status != 200 {
		t.Errorf("refresh: %d", status)
	}

	if _, err := w.Add("none"); err == nil {
		t.Error("rows of no item were taken")
	}

	if rows, err := w.Transactions(id); err != nil || len(rows) != 9 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// receiver takes webhooks, and refuses the first few.
type receiver struct {
	mu     sync.Mutex
	refuse int
	proofs []string
	taken  chan string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)

	r.mu.Lock()
	defer r.mu.Unlock()

	r.proofs = append(r.proofs, req.Header.Get("Plaid-Verification"))
	if r.refuse > 0 || err != nil {
		r.refuse--

		w.WriteHeader(http.StatusServiceUnavailable)

		return
	}

	r.taken <- string(body)
}

func TestWebhooksAreRepeatedUntilTheyAreTaken(t *testing.T) {
	t.Parallel()

	r := &receiver{refuse: 2, taken: make(chan string, 10)}
	listener := httptest.NewServer(r)
	t.Cleanup(listener.Close)
	w := newWorld(t, bankfeed.Config{WebhookEvery: time.Millisecond})
	access, id := w.item(`{"webhook":"` + listener.URL + `"}`)
	account := w.Items()[0].Accounts[0].ID
	// Until transactions have been asked for, no webhook is sent about them.
	if _, err := w.Add(id, bankfeed.Transaction{AccountID: account, Amount: "1"}); err != nil {
		t.Fatal(err)
	}

	w.ask("/transactions/sync", `"access_token":"`+access+`"`)

	if _, err := w.Add(id, bankfeed.Transaction{AccountID: account, Amount: "1"}); err != nil {
		t.Fatal(err)
	}

	body := <-r.taken
	if !strings.Contains(body, `"SYNC_UPDATES_AVAILABLE"`) || !strings.Contains(body, id) {
		t.Errorf("it says %s", body)
	}

	if _, err := w.Await(t.Context(), stage.CalledBack, 0); err != nil {
		t.Fatal(err)
	}

	m := w.Messages()
	if len(m) != 1 || m[0].Sent != 3 || m[0].Status != 200 || m[0].Body != body {
		t.Errorf("messages %+v", m)
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	if len(r.proofs) != 3 || r.proofs[0] == r.proofs[1] || m[0].Verification != r.proofs[2] {
		t.Errorf("the repetitions were not signed anew: %v", r.proofs)
	}

	silent := true
	w.Set(bankfeed.Settings{Silent: &silent})

	if _, err := w.Add(id, bankfeed.Transaction{AccountID: account, Amount: "1"}); err != nil || len(w.Messages()) != 1 {
		t.Errorf("%v, %d messages of a sandbox that is silent", err, len(w.Messages()))
	}
}

// The page of a link, behind a path, for a person without a key.
func TestLinkPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bankfeed.Config{Path: "/bank"})
	_, l := w.ask("/link/token/create", `"client_name":"x <b>","language":"en","country_codes":["US"],"user":{"client_user_id":"u"},"products":["transactions"],"hosted_link":{}`)

	address, _ := l["hosted_link_url"].(string)
	if !strings.HasPrefix(address, w.url+"/link/link-sandbox-") {
		t.Fatalf("the page is at %s", address)
	}

	page := func(address string) (int, string) {
		t.Helper()

		answer, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()

		content, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}

		return answer.StatusCode, string(content)
	}
	if status, content := page(address); status != 200 || !strings.Contains(content, "x &lt;b&gt;") || strings.Count(content, "<form") != 4 {
		t.Errorf("%d %s", status, content)
	}

	if status, content := page(w.url + "/link/none"); status != http.StatusGone || !strings.Contains(content, "has ended") {
		t.Errorf("%d %s", status, content)
	}

	submit := func(form url.Values) string {
		t.Helper()

		answer, err := http.PostForm(address, form)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()

		content, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}

		return string(content)
	}
	if content := submit(url.Values{"institution": {"none"}}); !strings.Contains(content, "That did not work") {
		t.Errorf("a bank that there is not: %s", content)
	}

	if content := submit(url.Values{"institution": {"ins_109508"}, "account": {"none"}}); !strings.Contains(content, "That did not work") {
		t.Errorf("an account that there is not: %s", content)
	}

	if c := w.Counts(); c.Linked != 0 {
		t.Errorf("%d items were linked", c.Linked)
	}

	if content := submit(url.Values{"institution": {"ins_109508"}, "account": {"savings"}}); !strings.Contains(content, "You can close this page") {
		t.Errorf("afterwards: %s", content)
	}

	if items := w.Items(); len(items) != 1 || len(items[0].Accounts) != 1 || items[0].Accounts[0].Bank != "savings" || items[0].AccessToken != "" {
		t.Errorf("items %+v", items)
	}
}
