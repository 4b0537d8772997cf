package plaid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stayledger/provider/plaid"
	"stayledger/provider/sandbox/bankfeed"
)

const (
	clientID = "our-client"
	secret   = "our-secret"
)

// world is a sandbox behind a loopback address, a client of it, and a receiver of its webhooks.
type world struct {
	*bankfeed.Server

	t        *testing.T
	url      string
	client   *plaid.Client
	receiver *httptest.Server
	hooks    chan hook
}

// hook is a webhook as it came, and what the client made of it.
type hook struct {
	verification string
	body         []byte
	webhook      plaid.Webhook
	err          error
}

func newWorld(t *testing.T) *world {
	t.Helper()

	s, err := bankfeed.New(bankfeed.Config{ClientID: clientID, Secret: secret, WebhookEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(s)
	w := &world{Server: s, t: t, url: server.URL, hooks: make(chan hook, 100)}
	w.client = w.open(plaid.Config{})
	w.receiver = httptest.NewServer(w)

	t.Cleanup(func() {
		s.Close()
		server.Close()
		w.receiver.Close()
	})

	return w
}

// open makes a client of the sandbox.
func (w *world) open(c plaid.Config) *plaid.Client {
	w.t.Helper()

	c.Address, c.AllowPrivate = w.url, true
	if c.ClientID == "" {
		c.ClientID, c.Secret = clientID, secret
	}

	if c.CallsPerMinute == 0 {
		c.CallsPerMinute = 100_000
	}

	client, err := plaid.New(c)
	if err != nil {
		w.t.Fatal(err)
	}

	return client
}

// ServeHTTP takes webhooks.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		rw.WriteHeader(http.StatusBadRequest)
		return
	}

	h := hook{verification: r.Header.Get(plaid.VerificationHeader), body: body}

	h.webhook, h.err = w.client.Webhook(r.Context(), h.verification, body, time.Now())
	if h.err != nil {
		rw.WriteHeader(http.StatusUnauthorized)
	}

	w.hooks <- h
}

// hook waits for the next webhook; the minute only ends a test that would wait for ever.
func (w *world) hook() hook {
	w.t.Helper()

	select {
	case h := <-w.hooks:
		return h
	case <-time.After(time.Minute):
		w.t.Fatal("no webhook came")
		return hook{}
	}
}

// linked is an item at a bank with all its accounts, and access to it.
type linked struct {
	plaid.Access

	accounts []plaid.Account
	spare    string // the public token of another item
}

const harbor = "ins_109508"

// link links an item as a person does, on a page.
func (w *world) link(bank string) linked {
	w.t.Helper()

	l, err := w.client.CreateLink(w.t.Context(), plaid.LinkRequest{Name: "stayledger", User: "team-1", Webhook: w.receiver.URL})
	if err != nil {
		w.t.Fatal(err)
	}

	if err := w.Complete(l.Token, bank); err != nil {
		w.t.Fatal(err)
	}

	w.hook()

	o, err := w.client.LinkOutcome(w.t.Context(), l.Token)
	if err != nil || len(o.Items) != 1 {
		w.t.Fatalf("%+v, %v", o, err)
	}

	access, err := w.client.Exchange(w.t.Context(), o.Items[0].PublicToken)
	if err != nil {
		w.t.Fatal(err)
	}

	accounts, _, err := w.client.Accounts(w.t.Context(), access.Token)
	if err != nil {
		w.t.Fatal(err)
	}

	spare, err := w.client.SandboxPublicToken(w.t.Context(), plaid.SandboxItem{InstitutionID: bank})
	if err != nil {
		w.t.Fatal(err)
	}

	return linked{access, accounts, spare}
}

// mustAdd adds rows to the first account of an item, and gives their identifiers.
func (w *world) mustAdd(l linked, rows ...bankfeed.Transaction) []string {
	w.t.Helper()

	for i := range rows {
		if rows[i].AccountID == "" {
			rows[i].AccountID = l.accounts[0].ID
		}
	}

	ids, err := w.Add(l.ItemID, rows...)
	if err != nil {
		w.t.Fatal(err)
	}

	return ids
}

// many are so many rows with amounts 0.01, 0.02 and so on.
func many(count int) []bankfeed.Transaction {
	rows := make([]bankfeed.Transaction, count)
	for i := range rows {
		rows[i] = bankfeed.Transaction{Name: fmt.Sprintf("row %d", i), Amount: json.Number(fmt.Sprintf("%d.%02d", (i+1)/100, (i+1)%100)), Date: "2026-03-01"}
	}

	return rows
}

// told has the rows of the pages of a sync, as a caller keeps them.
type told struct {
	plaid.Synced

	added, modified []plaid.Transaction
	removed         []plaid.Removed
	unreadable      []plaid.Unreadable
	firsts          int
}

// sync reads all that has changed since a cursor, throwing away what is void.
func (w *world) sync(c *plaid.Client, accessToken, cursor string, count int) (told, error) {
	w.t.Helper()

	var out told

	firsts := 0

	var err error

	out.Synced, err = c.SyncTransactions(w.t.Context(), plaid.SyncRequest{AccessToken: accessToken, Cursor: cursor, Count: count}, func(p plaid.Page) error {
		if p.First {
			firsts++
			out = told{}
		}

		out.added = append(out.added, p.Added...)
		out.modified = append(out.modified, p.Modified...)
		out.removed = append(out.removed, p.Removed...)
		out.unreadable = append(out.unreadable, p.Unreadable...)

		return nil
	})
	out.firsts = firsts

	return out, err
}

func (w *world) mustSync(l linked, cursor string) told {
	w.t.Helper()

	out, err := w.sync(w.client, l.Token, cursor, 0)
	if err != nil {
		w.t.Fatal(err)
	}

	return out
}

// control sends a request to the control of the sandbox.
func (w *world) control(method, path, body string) (int, string) {
	w.t.Helper()

	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}

	req.Header.Set("Authorization", "Bearer "+secret)

	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()

	content, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}

	return answer.StatusCode, string(content)
}

// mustControl sends a request to the control that is taken.
func (w *world) mustControl(method, path, body string) {
	w.t.Helper()

	if status, text := w.control(method, path, body); status != http.StatusNoContent && status != http.StatusOK {
		w.t.Fatalf("%s %s %s: %d %s", method, path, body, status, text)
	}
}

// scripted is a client of a server that gives one answer to everything.
func scripted(t *testing.T, status int, body string) *plaid.Client {
	t.Helper()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)

	client, err := plaid.New(plaid.Config{Address: server.URL, ClientID: clientID, Secret: secret, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}

	return client
}

// failed gives the error of a call with its parts.
func failed(t *testing.T, err error) *plaid.Error {
	t.Helper()

	e, is := errors.AsType[*plaid.Error](err)
	if !is {
		t.Fatalf("%v is not an Error", err)
	}

	return e
}

func short(t *testing.T) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(stop)

	return ctx
}
