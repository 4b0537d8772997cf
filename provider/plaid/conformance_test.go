package plaid_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/money"
	"stayledger/platform/outbound"
	"stayledger/provider/plaid"
	"stayledger/provider/sandbox/bankfeed"
	"stayledger/provider/sandbox/stage"
)

// calls are all calls of the client, each ready to be made on an item of its own.
var calls = []struct {
	on  bankfeed.On
	run func(ctx context.Context, c *plaid.Client, l linked) error
}{
	{"/link/token/create", func(ctx context.Context, c *plaid.Client, l linked) error {
		_, err := c.CreateLink(ctx, plaid.LinkRequest{Name: "stayledger", User: "team-1", AccessToken: l.Token})
		return err
	}},
	{"/item/public_token/exchange", func(ctx context.Context, c *plaid.Client, l linked) error {
		_, err := c.Exchange(ctx, l.spare)
		return err
	}},
	{"/item/get", func(ctx context.Context, c *plaid.Client, l linked) error {
		_, err := c.ItemState(ctx, l.Token)
		return err
	}},
	{"/item/webhook/update", func(ctx context.Context, c *plaid.Client, l linked) error {
		_, err := c.SetWebhook(ctx, l.Token, "")
		return err
	}},
	{"/accounts/get", func(ctx context.Context, c *plaid.Client, l linked) error {
		_, _, err := c.Accounts(ctx, l.Token)
		return err
	}},
	{"/transactions/sync", func(ctx context.Context, c *plaid.Client, l linked) error {
		_, err := c.TransactionsPage(ctx, l.Token, "", 0)
		return err
	}},
	{"/institutions/get_by_id", func(ctx context.Context, c *plaid.Client, _ linked) error {
		_, err := c.Institution(ctx, harbor)
		return err
	}},
	{"/item/remove", func(ctx context.Context, c *plaid.Client, l linked) error {
		return c.RemoveItem(ctx, l.Token)
	}},
}

// faults lists everything that can go wrong with a call, and the error that its caller sees.
var faults = []struct {
	mode  bankfeed.Mode
	kind  error
	hasty bool // the caller does not wait long
	says  string
}{
	{mode: bankfeed.HangBefore, kind: plaid.ErrTimeout, hasty: true},
	{mode: bankfeed.HangAfter, kind: plaid.ErrTimeout, hasty: true},
	{mode: bankfeed.SlowBody, kind: plaid.ErrTimeout, hasty: true},
	{mode: bankfeed.Internal, kind: plaid.ErrUnavailable, says: "INTERNAL_SERVER_ERROR"},
	{mode: bankfeed.Page500, kind: plaid.ErrUnavailable, says: "status 500"},
	{mode: bankfeed.TooMany, kind: plaid.ErrLimited},
	{mode: bankfeed.DropBefore, kind: plaid.ErrUnavailable},
	{mode: bankfeed.DropAfter, kind: plaid.ErrUnavailable},
	{mode: bankfeed.HugeBody, kind: plaid.ErrUnavailable, says: "too large"},
	{mode: bankfeed.GzipBomb, kind: plaid.ErrUnavailable, says: "too large"},
	{mode: bankfeed.WrongType, kind: plaid.ErrUnavailable, says: "not JSON"},
	{mode: bankfeed.InvalidUTF8, kind: plaid.ErrUnavailable, says: "not UTF-8"},
	{mode: bankfeed.Truncated, kind: plaid.ErrUnavailable},
	{mode: bankfeed.Redirect, kind: plaid.ErrUnavailable, says: "status 307"}, // and is not followed
	{mode: bankfeed.DuplicateIDs, kind: nil},
}

// effective are the faults that let a call take effect.
var effective = []bankfeed.Mode{
	bankfeed.HangAfter, bankfeed.SlowBody, bankfeed.DropAfter, bankfeed.HugeBody, bankfeed.GzipBomb, bankfeed.WrongType, bankfeed.InvalidUTF8,
	bankfeed.Truncated, bankfeed.DuplicateIDs,
}

func TestEveryFaultOfEveryCall(t *testing.T) {
	t.Parallel()

	for _, f := range faults {
		t.Run(string(f.mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)

			client, atOnce := w.client, 1
			if f.hasty {
				client, atOnce = w.open(plaid.Config{Within: 3 * time.Second}), len(calls)
			}

			items := make([]linked, len(calls))
			for i := range items {
				items[i] = w.link(harbor)
				w.mustAdd(items[i], many(3)...)
			}

			for _, call := range calls {
				w.Break(bankfeed.Fault{Mode: f.mode, On: call.on, Times: 1})
			}

			before := w.Counts()
			ctx, errs, free := short(t), make([]error, len(calls)), make(chan struct{}, atOnce)

			var group sync.WaitGroup

			for i, call := range calls {
				free <- struct{}{}

				group.Go(func() {
					defer func() { <-free }()

					errs[i] = call.run(ctx, client, items[i])
				})
			}

			group.Wait()

			for i, call := range calls {
				if got := w.Counts().Calls[call.on] - before.Calls[call.on]; got != 1 {
					t.Errorf("%s was asked %d times, want once: nobody repeats but the caller", call.on, got)
				}

				w.wantFailure(string(call.on), errs[i], f.kind, f.says)

				if errors.Is(errs[i], plaid.ErrLimited) {
					if wait := time.Until(failed(t, errs[i]).Until); wait <= 0 || wait > time.Minute {
						t.Errorf("%s: limited for %s", call.on, wait)
					}
				}
			}

			for i, call := range calls {
				w.afterwards(call.on, f.mode, items[i], before)
			}
		})
	}
}

// wantFailure checks that an error is of a kind and says something, but neither a token nor an address.
func (w *world) wantFailure(what string, err, kind error, says string) {
	w.t.Helper()

	if !errors.Is(err, kind) {
		w.t.Errorf("%s: %v, want %v", what, err, kind)
	} else if kind != nil && (!strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "-sandbox-") || strings.Contains(err.Error(), "127.0.0.1")) {
		w.t.Errorf("%s: it says %q", what, err)
	}
}

// afterwards checks what the sandbox holds after a fault: what took effect has done so once, and what did not can be
// done.
func (w *world) afterwards(on bankfeed.On, mode bankfeed.Mode, l linked, before bankfeed.Counts) {
	w.t.Helper()
	now := w.Counts()
	took := slices.Contains(effective, mode)

	switch on { //nolint:exhaustive // The other calls change nothing that counts.
	case "/item/public_token/exchange":
		if handed := now.Handed - before.Handed; (handed == 1) != took {
			w.t.Errorf("%s: %d accesses were handed out", mode, handed)
		}

		_, err := w.client.Exchange(w.t.Context(), l.spare)
		if took != errors.Is(err, plaid.ErrLinkSpent) || (!took && err != nil) {
			w.t.Errorf("%s: the second exchange: %v", mode, err)
		}
	case "/item/remove":
		if removed := now.Removed - before.Removed; (removed == 1) != took {
			w.t.Errorf("%s: %d items were removed", mode, removed)
		}

		if err := w.client.RemoveItem(w.t.Context(), l.Token); err != nil {
			w.t.Errorf("%s: the second removal: %v", mode, err)
		}

		if removed := w.Counts().Removed - before.Removed; removed != 1 {
			w.t.Errorf("%s: %d items were removed in the end", mode, removed)
		}
	}
}

// A request that its sender has given up arrives all the same: the access is handed out, and lost.
func TestAccessIsLostWithItsAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	spare, err := w.client.SandboxPublicToken(t.Context(), plaid.SandboxItem{InstitutionID: harbor})
	if err != nil {
		t.Fatal(err)
	}

	w.Break(bankfeed.Fault{Mode: bankfeed.HangBefore, On: "/item/public_token/exchange", Times: 1})

	ctx, stop := context.WithCancel(t.Context())

	ended := make(chan error, 1)
	go func() { ended <- second(w.client.Exchange(ctx, spare)) }()

	if _, err := w.Await(short(t), stage.HeldBefore, 0); err != nil {
		t.Fatal(err)
	}

	stop()

	if err := <-ended; !errors.Is(err, plaid.ErrUnavailable) {
		t.Fatalf("a call that was given up: %v", err)
	}

	if c := w.Counts(); c.Handed != 0 {
		t.Errorf("%+v while it hangs", c)
	}

	held := w.Last()
	w.Release()

	if _, err := w.Await(short(t), stage.Recorded, held); err != nil {
		t.Fatal(err)
	}

	if c := w.Counts(); c.Handed != 1 || c.Live != 1 || c.Removed != 0 {
		t.Errorf("%+v afterwards, want one access that nobody has", c)
	}

	if _, err := w.client.Exchange(t.Context(), spare); !errors.Is(err, plaid.ErrLinkSpent) {
		t.Errorf("the second exchange: %v", err)
	}
}

// A caller waits 25 s, whatever it asked for.
func TestACallTakesNoLongerThanTwentyFiveSeconds(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("takes 25 s")
	}

	w := newWorld(t)
	client := w.open(plaid.Config{Within: time.Hour})
	w.Break(bankfeed.Fault{Mode: bankfeed.HangBefore})

	began := time.Now()

	_, err := client.Institution(t.Context(), harbor)
	if took := time.Since(began); !errors.Is(err, plaid.ErrTimeout) || took < 24*time.Second || took > 50*time.Second {
		t.Errorf("%v after %s, want ErrTimeout after 25 s", err, took)
	}
}

func TestCallsStopWithTheirContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Break(bankfeed.Fault{Mode: bankfeed.HangBefore})

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)

	go func() {
		_, err := w.client.Institution(ctx, harbor)
		ended <- err
	}()

	if _, err := w.Await(short(t), stage.HeldBefore, 0); err != nil {
		t.Fatal(err)
	}

	stop()

	if err := <-ended; !errors.Is(err, context.Canceled) || !errors.Is(err, plaid.ErrUnavailable) {
		t.Errorf("a call that was given up: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		address string
		private bool
		field   string
	}{
		{"https://production.plaid.com", false, ""},
		{"http://127.0.0.1:1/plaid", true, ""},
		{"http://sandbox.plaid.com", false, "address"},
		{"ftp://sandbox.plaid.com", true, "address"},
		{"https://user@sandbox.plaid.com", false, "address"},
		{"https://sandbox.plaid.com?x", false, "address"},
		{"sandbox.plaid.com", false, "address"},
		{"", false, "address"},
	} {
		_, err := plaid.New(plaid.Config{Address: c.address, ClientID: clientID, Secret: secret, AllowPrivate: c.private})

		e, is := errors.AsType[*plaid.ConfigError](err)
		if is != (c.field != "") || (is && e.Field != c.field) {
			t.Errorf("%s: %v", c.address, err)
		}
	}

	for field, config := range map[string]plaid.Config{
		"clientId": {Address: plaid.Sandbox, Secret: secret}, "secret": {Address: plaid.Sandbox, ClientID: clientID, Secret: "with a blank"},
	} {
		if e, is := errors.AsType[*plaid.ConfigError](second(plaid.New(config))); !is || e.Field != field {
			t.Errorf("%s: %v", field, e)
		}
	}

	w := newWorld(t)

	_, port, _ := strings.Cut(strings.TrimPrefix(w.url, "http://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		client, err := plaid.New(plaid.Config{Address: "https://" + host + ":" + port, ClientID: clientID, Secret: secret})
		if err != nil {
			t.Fatal(err)
		}

		if _, err := client.Institution(t.Context(), harbor); !errors.Is(err, outbound.ErrNotPublic) || !errors.Is(err, plaid.ErrUnavailable) {
			t.Errorf("%s: %v", host, err)
		}
	}

	if n := w.Counts().Calls["/institutions/get_by_id"]; n != 0 {
		t.Errorf("%d calls came through", n)
	}
}

func second[T any](_ T, err error) error { return err }

func TestKeysOfOursThatAreRefused(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	for _, c := range []plaid.Config{{ClientID: "another", Secret: secret}, {ClientID: clientID, Secret: "another"}} {
		_, err := w.open(c).Institution(t.Context(), harbor)
		if e := failed(t, err); !errors.Is(e, plaid.ErrCredentials) || e.Code != "INVALID_API_KEYS" || e.RequestID == "" {
			t.Errorf("%s/%s: %+v", c.ClientID, c.Secret, e)
		}
	}
}

// The whole way of a link: a person opens the page, leaves, comes back, chooses; the outcome, the exchange, the
// accounts.
func TestLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	began := time.Now()

	l, err := w.client.CreateLink(t.Context(), plaid.LinkRequest{
		Name: "stayledger, which has a long name to cut", User: "team-1", Webhook: w.receiver.URL, ReturnTo: w.receiver.URL + "/done", Days: 365,
	})
	if err != nil {
		t.Fatal(err)
	}

	if left := l.ExpiresAt.Sub(began); left < plaid.LinkLifetime || left > plaid.LinkLifetime+time.Minute || l.RequestID == "" {
		t.Errorf("the link lives for %s: %+v", left, l)
	}

	w.wantLink(l.Token, plaid.LinkOpen)

	if page := w.open1(l.URL); !strings.Contains(page, "First Harbor Bank") || !strings.Contains(page, "Trust Checking ending in 0001") {
		t.Errorf("the page shows %s", page)
	}

	w.submit(l.URL, url.Values{"action": {"leave"}}, w.receiver.URL+"/done")

	if h := w.hook(); h.err != nil || h.webhook.Topic != plaid.LinkFinished || h.webhook.Completed || h.webhook.LinkToken != l.Token {
		t.Errorf("the webhook of a link that was left: %+v", h)
	}

	w.wantLink(l.Token, plaid.LinkLeft)
	w.submit(l.URL, url.Values{"action": {"connect"}, "institution": {harbor}, "account": {"checking", "card"}}, w.receiver.URL+"/done")

	if h := w.hook(); h.err != nil || h.webhook.Topic != plaid.LinkFinished || !h.webhook.Completed || h.webhook.LinkToken != l.Token {
		t.Errorf("the webhook of a link that was completed: %+v", h)
	}

	o := w.wantLink(l.Token, plaid.LinkCompleted)
	if len(o.Items) != 1 || o.Items[0].InstitutionID != harbor || o.Items[0].InstitutionName != "First Harbor Bank" || len(o.Items[0].Accounts) != 2 {
		t.Fatalf("the link came to %+v", o)
	}

	shown := o.Items[0].Accounts[0]
	if shown.Mask != "0001" || shown.Type != "depository" || shown.Subtype != "checking" || shown.Name != "Trust Checking" {
		t.Errorf("an account is shown as %+v", shown)
	}

	access, err := w.client.Exchange(t.Context(), o.Items[0].PublicToken)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := w.client.Exchange(t.Context(), o.Items[0].PublicToken); !errors.Is(err, plaid.ErrLinkSpent) || failed(t, err).Code != "INVALID_PUBLIC_TOKEN" {
		t.Errorf("the second exchange: %v", err)
	}

	accounts, item, err := w.client.Accounts(t.Context(), access.Token)
	if err != nil || len(accounts) != 2 || accounts[0].ID != shown.ID || item.ID != access.ItemID || item.InstitutionID != harbor || item.Webhook != w.receiver.URL {
		t.Errorf("%+v, %+v, %v", accounts, item, err)
	}

	if c := w.Counts(); c.Linked != 1 || c.Handed != 1 || c.Live != 1 {
		t.Errorf("%+v", c)
	}
	// The page can be opened again afterwards; what was completed stays so.
	if err := w.Leave(l.Token); err != nil {
		t.Fatal(err)
	}

	w.hook()
	w.wantLink(l.Token, plaid.LinkCompleted)
}

func (w *world) wantLink(token string, state plaid.LinkState) plaid.LinkOutcome {
	w.t.Helper()

	o, err := w.client.LinkOutcome(w.t.Context(), token)
	if err != nil || o.State != state || (state != plaid.LinkCompleted && len(o.Items) > 0) {
		w.t.Errorf("the link is %+v, %v; want %s", o, err, state)
	}

	return o
}

// open1 opens a page as a browser does.
func (w *world) open1(address string) string {
	w.t.Helper()
	_, content := w.control(http.MethodGet, strings.TrimPrefix(address, w.url), "")

	return content
}

// submit sends the form of a page, and checks where it leads.
func (w *world) submit(address string, form url.Values, to string) {
	w.t.Helper()

	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

	answer, err := client.PostForm(address, form)
	if err != nil {
		w.t.Fatal(err)
	}

	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != to {
		w.t.Errorf("%v leads to %d %s, want %s", form, answer.StatusCode, answer.Header.Get("Location"), to)
	}
}

func TestLinkEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	l, err := w.client.CreateLink(t.Context(), plaid.LinkRequest{Name: "stayledger", User: "team-1"})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := w.client.LinkOutcome(t.Context(), "link-sandbox-unknown"); !errors.Is(err, plaid.ErrLinkSpent) {
		t.Errorf("a link that nobody made: %v", err)
	}

	w.mustControl("POST", "/control/settings", `{"clockSeconds":1740}`)
	w.wantLink(l.Token, plaid.LinkOpen)
	w.mustControl("POST", "/control/settings", `{"clockSeconds":1860}`)

	if _, err := w.client.LinkOutcome(t.Context(), l.Token); !errors.Is(err, plaid.ErrLinkSpent) || failed(t, err).Code != "INVALID_LINK_TOKEN" {
		t.Errorf("a link of 31 minutes: %v", err)
	}

	if page := w.open1(l.URL); !strings.Contains(page, "This link has ended") {
		t.Errorf("its page shows %s", page)
	}

	if err := w.Complete(l.Token, harbor); err == nil {
		t.Error("a link that ended was completed")
	}

	spare, err := w.client.SandboxPublicToken(t.Context(), plaid.SandboxItem{InstitutionID: harbor})
	if err != nil {
		t.Fatal(err)
	}

	w.mustControl("POST", "/control/settings", `{"clockSeconds":3720}`)

	if _, err := w.client.Exchange(t.Context(), spare); !errors.Is(err, plaid.ErrLinkSpent) {
		t.Errorf("a public token of 31 minutes: %v", err)
	}
}

// A login that ended is repaired on a page: token, item and accounts stay.
func TestRepair(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	w.mustAdd(l, many(2)...)

	cursor := w.mustSync(l, "").Cursor
	if err := w.client.SandboxResetLogin(t.Context(), l.Token); err != nil {
		t.Fatal(err)
	}

	if h := w.hook(); h.webhook.Topic != plaid.ItemFailed || h.webhook.ItemID != l.ItemID || !errors.Is(h.webhook.Problem, plaid.ErrLoginRequired) {
		t.Errorf("the webhook of a login that ended: %+v", h)
	}

	_, err := w.client.TransactionsPage(t.Context(), l.Token, cursor, 0)

	e := failed(t, err)
	if !errors.Is(e, plaid.ErrLoginRequired) || e.Type != "ITEM_ERROR" || e.Code != "ITEM_LOGIN_REQUIRED" || e.Message == "" || e.Display == "" || e.RequestID == "" {
		t.Errorf("a login that ended: %+v", e)
	}

	if item, err := w.client.ItemState(t.Context(), l.Token); err != nil || !errors.Is(item.Problem, plaid.ErrLoginRequired) {
		t.Errorf("the item: %+v, %v", item, err)
	}

	repair, err := w.client.CreateLink(t.Context(), plaid.LinkRequest{Name: "stayledger", User: "team-1", AccessToken: l.Token, Webhook: w.receiver.URL})
	if err != nil {
		t.Fatal(err)
	}

	if page := w.open1(repair.URL); strings.Contains(page, "Second Harbor") || strings.Contains(page, "checkbox") {
		t.Errorf("the page of a repair offers %s", page)
	}

	if err := w.Complete(repair.Token, ""); err != nil {
		t.Fatal(err)
	}

	if h := w.hook(); !h.webhook.Completed {
		t.Errorf("the webhook of a repair: %+v", h)
	}

	if o := w.wantLink(repair.Token, plaid.LinkCompleted); len(o.Items) != 0 {
		t.Errorf("a repair added %+v", o.Items)
	}

	if got := w.mustSync(l, cursor); len(got.added)+len(got.modified)+len(got.removed) != 0 {
		t.Errorf("after the repair everything comes again: %+v", got)
	}

	again, _, err := w.client.Accounts(t.Context(), l.Token)
	if err != nil || len(again) != len(l.accounts) || again[0].ID != l.accounts[0].ID {
		t.Errorf("after the repair: %+v, %v", again, err)
	}
	// With a choice of accounts.
	choose, err := w.client.CreateLink(t.Context(), plaid.LinkRequest{Name: "stayledger", User: "team-1", AccessToken: l.Token, ChooseAccounts: true})
	if err != nil {
		t.Fatal(err)
	}

	if page := w.open1(choose.URL); !strings.Contains(page, "checkbox") {
		t.Errorf("the page of a choice offers %s", page)
	}

	if err := w.Complete(choose.Token, "", "savings"); err != nil {
		t.Fatal(err)
	}

	if left, _, err := w.client.Accounts(t.Context(), l.Token); err != nil || len(left) != 1 || left[0].ID != l.accounts[1].ID {
		t.Errorf("after the choice: %+v, %v", left, err)
	}

	if err := w.client.RemoveItem(t.Context(), l.Token); err != nil {
		t.Fatal(err)
	}

	_, err = w.client.CreateLink(t.Context(), plaid.LinkRequest{Name: "stayledger", User: "team-1", AccessToken: l.Token})
	if !errors.Is(err, plaid.ErrItemGone) {
		t.Errorf("the repair of an item that was removed: %v", err)
	}
}

// What the vendor says of an item, and what its caller can do.
func TestProblemsOfItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	l := w.link(harbor)
	for _, c := range []struct {
		errorType, code string
		kind            error
	}{
		{"ITEM_ERROR", "ITEM_LOGIN_REQUIRED", plaid.ErrLoginRequired},
		{"ITEM_ERROR", "INVALID_CREDENTIALS", plaid.ErrLoginRequired},
		{"ITEM_ERROR", "ITEM_LOCKED", plaid.ErrLoginRequired},
		{"ITEM_ERROR", "ACCESS_NOT_GRANTED", plaid.ErrLoginRequired},
		{"ITEM_ERROR", "USER_PERMISSION_REVOKED", plaid.ErrLoginRequired},
		{"ITEM_ERROR", "USER_ACCOUNT_REVOKED", plaid.ErrItemGone},
		{"ITEM_ERROR", "ITEM_NOT_FOUND", plaid.ErrItemGone},
		{"ITEM_ERROR", "NO_ACCOUNTS", plaid.ErrItemGone},
		{"ITEM_ERROR", "PRODUCT_NOT_READY", plaid.ErrNotReady},
		{"ITEM_ERROR", "SOMETHING_NEW", plaid.ErrRefused},
		{"INVALID_INPUT", "INVALID_ACCESS_TOKEN", plaid.ErrItemGone},
		{"INVALID_INPUT", "UNAUTHORIZED_ENVIRONMENT", plaid.ErrCredentials},
		{"INVALID_REQUEST", "MISSING_FIELDS", plaid.ErrRefused},
		{"INSTITUTION_ERROR", "INSTITUTION_NOT_RESPONDING", plaid.ErrInstitution},
		{"INSTITUTION_ERROR", "INSTITUTION_NO_LONGER_SUPPORTED", plaid.ErrItemGone},
		{"API_ERROR", "PLANNED_MAINTENANCE", plaid.ErrUnavailable},
		{"RATE_LIMIT_EXCEEDED", "TRANSACTIONS_SYNC_LIMIT", plaid.ErrLimited},
		{"ASTONISHING_ERROR", "SOMETHING_NEW", plaid.ErrUnavailable},
		{"ITEM_ERROR", "<b>no code</b>", plaid.ErrRefused},
	} {
		w.mustControl("POST", "/control/faults", fmt.Sprintf(
			`{"mode":"fail","on":"/transactions/sync","times":1,"failure":{"type":%q,"code":%q,"message":"all about it","display":"Sorry."}}`, c.errorType, c.code))
		_, err := w.client.TransactionsPage(t.Context(), l.Token, "", 0)

		e := failed(t, err)
		if !errors.Is(err, c.kind) || e.Type != c.errorType || e.Message != "all about it" || e.Display != "Sorry." || e.RequestID == "" {
			t.Errorf("%s: %+v, want %v", c.code, e, c.kind)
		}

		if strings.Contains(e.Error(), "all about it") || strings.Contains(e.Error(), "<") {
			t.Errorf("%s: the error shows what the vendor says: %v", c.code, e)
		}

		if e.Until.IsZero() != !errors.Is(err, plaid.ErrLimited) {
			t.Errorf("%s: until %s", c.code, e.Until)
		}
	}

	if !errors.Is(plaid.ErrInstitution, plaid.ErrUnavailable) {
		t.Error("a bank that does not answer is not unavailable")
	}
}

func TestInstitutionHealth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)

	bank, err := w.client.Institution(t.Context(), harbor)
	if err != nil || bank.Name != "First Harbor Bank" || len(bank.Products) != 2 || len(bank.FindImpaired()) != 0 {
		t.Errorf("a healthy bank: %+v, %v", bank, err)
	}

	known := w.Institutions()[0]
	known.Status = map[string]string{plaid.TransactionsUpdates: "DEGRADED", plaid.ItemLogins: "DOWN"}
	known.Down = true
	w.SetInstitution(known)

	bank, err = w.client.Institution(t.Context(), harbor)
	if err != nil || !slices.Equal(bank.FindImpaired(), []string{plaid.ItemLogins, plaid.TransactionsUpdates}) {
		t.Fatalf("a bank that is down: %+v, %v", bank, err)
	}

	if p := bank.Products[1]; p.Health != plaid.Degraded || p.Refresh != "DELAYED" || p.Since.IsZero() {
		t.Errorf("%+v", p)
	}

	for name, call := range map[string]func() error{
		"accounts": func() error { return third(w.client.Accounts(t.Context(), l.Token)) },
		"sync":     func() error { return second(w.sync(w.client, l.Token, "", 0)) },
	} {
		if err := call(); !errors.Is(err, plaid.ErrInstitution) || failed(t, err).Code != "INSTITUTION_DOWN" {
			t.Errorf("%s of a bank that is down: %v", name, err)
		}
	}

	link, err := w.client.CreateLink(t.Context(), plaid.LinkRequest{Name: "stayledger", User: "team-1"})
	if err != nil {
		t.Fatal(err)
	}

	if err := w.Complete(link.Token, harbor); err == nil {
		t.Error("an account was linked at a bank that is down")
	}

	if o := w.wantLink(link.Token, plaid.LinkLeft); !errors.Is(o.Problem, plaid.ErrInstitution) {
		t.Errorf("the link came to %+v", o)
	}

	if _, err := w.client.Institution(t.Context(), "ins_0"); !errors.Is(err, plaid.ErrRefused) {
		t.Errorf("a bank that there is not: %v", err)
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }

func TestWebhookAddressAndRemoval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)

	item, err := w.client.SetWebhook(t.Context(), l.Token, w.receiver.URL+"/other")
	if err != nil || item.Webhook != w.receiver.URL+"/other" {
		t.Errorf("%+v, %v", item, err)
	}

	if h := w.hook(); h.webhook.Topic != plaid.WebhookAcknowledge || h.webhook.ItemID != l.ItemID {
		t.Errorf("%+v", h)
	}

	if item, err = w.client.SetWebhook(t.Context(), l.Token, ""); err != nil || item.Webhook != "" {
		t.Errorf("%+v, %v", item, err)
	}

	if err := w.client.SandboxFireWebhook(t.Context(), l.Token, "SYNC_UPDATES_AVAILABLE"); err == nil {
		t.Error("a webhook went nowhere")
	}

	for range 2 {
		if err := w.client.RemoveItem(t.Context(), l.Token); err != nil {
			t.Errorf("remove: %v", err)
		}
	}

	if _, err := w.client.ItemState(t.Context(), l.Token); !errors.Is(err, plaid.ErrItemGone) || failed(t, err).Code != "ITEM_NOT_FOUND" {
		t.Errorf("an item that was removed: %v", err)
	}

	if err := w.client.RemoveItem(t.Context(), "access-sandbox-other"); !errors.Is(err, plaid.ErrItemGone) {
		t.Errorf("a token that nobody gave out passes for removed: %v", err)
	}

	if c := w.Counts(); c.Handed != 1 || c.Removed != 1 || c.Live != 0 || c.Linked != 2 {
		t.Errorf("%+v", c)
	}
}

func TestBalances(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.SetInstitution(bankfeed.Institution{ID: "ins_1", Name: "All Kinds", Accounts: []bankfeed.Account{
		{ID: "a", Name: "Checking", Type: "depository", Mask: "0001", Balance: "100.1"},
		{ID: "b", Name: "Card", Type: "credit", Balance: "40", Limit: "500"},
		{ID: "c", Name: "Yen", Type: "depository", Currency: "JPY", Balance: "500"},
		{ID: "d", Name: "Dinar", Type: "depository", Currency: "KWD", Balance: "7"},
		{ID: "e", Name: "Coins", Type: "investment", Unofficial: "BTC", Balance: "1.5"},
	}})
	l := w.link("ins_1")
	w.mustAdd(l, bankfeed.Transaction{Amount: "0.30"}, bankfeed.Transaction{AccountID: l.accounts[1].ID, Amount: "2.50"}, bankfeed.Transaction{Amount: "9", Pending: true})

	accounts, _, err := w.client.Accounts(t.Context(), l.Token)
	if err != nil {
		t.Fatal(err)
	}

	for i, want := range []struct {
		current  money.Cents
		currency money.Currency
		other    string
	}{{9980, "usd", ""}, {-4250, "usd", ""}, {500, "jpy", ""}, {7000, "kwd", ""}, {150, "", "BTC"}} {
		b := accounts[i].Balance
		if b.Current == nil || *b.Current != want.current || b.Currency != want.currency || b.Unofficial != want.other || b.Rounded {
			t.Errorf("%s: %+v, want %+v", accounts[i].Name, b, want)
		}
	}

	if limit := accounts[1].Balance.Limit; limit == nil || *limit != 50000 || accounts[1].Balance.Available != nil {
		t.Errorf("the card: %+v", accounts[1].Balance)
	}

	if a := accounts[0]; a.Mask != "0001" || *a.Balance.Available != 9980 || a.Type != plaid.Depository {
		t.Errorf("%+v", a)
	}

	if accounts[1].Mask != "" {
		t.Errorf("an account without digits has %q", accounts[1].Mask)
	}
}

func TestSandboxControlsOfTheVendor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	public, err := w.client.SandboxPublicToken(t.Context(), plaid.SandboxItem{InstitutionID: harbor, Webhook: w.receiver.URL, Days: 30})
	if err != nil {
		t.Fatal(err)
	}

	access, err := w.client.Exchange(t.Context(), public)
	if err != nil {
		t.Fatal(err)
	}

	on, err := day.Parse("2026-02-03")
	if err != nil {
		t.Fatal(err)
	}

	row := plaid.SandboxTransaction{Date: on, Amount: "12.34", Description: "Coffee"}
	if err := w.client.SandboxAddTransactions(t.Context(), access.Token, row); err != nil {
		t.Fatal(err)
	}

	got, err := w.sync(w.client, access.Token, "", 0)
	if err != nil || len(got.added) != 1 || got.added[0].Amount != -1234 || got.added[0].Date != on || got.added[0].Name != "Coffee" {
		t.Errorf("%+v, %v", got, err)
	}

	if err := w.client.SandboxFireWebhook(t.Context(), access.Token, "SYNC_UPDATES_AVAILABLE"); err != nil {
		t.Error(err)
	}

	if h := w.hook(); h.err != nil || h.webhook.Topic != plaid.SyncUpdates || !h.webhook.HistoryComplete {
		t.Errorf("%+v", h)
	}

	rows := slices.Repeat([]plaid.SandboxTransaction{row}, 11)
	if err := w.client.SandboxAddTransactions(t.Context(), access.Token, rows...); !errors.Is(err, plaid.ErrRefused) {
		t.Errorf("eleven rows at once: %v", err)
	}
}
