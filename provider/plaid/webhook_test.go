package plaid_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"stayledger/provider/plaid"
	"stayledger/provider/sandbox/bankfeed"
)

const keyCall = "/webhook_verification_key/get"

func TestWebhooksThatAreNotToBeBelieved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	l := w.link(harbor)
	for _, mode := range []bankfeed.Mode{
		bankfeed.WrongAlgorithm, bankfeed.Mislabeled, bankfeed.Extended, bankfeed.Unsigned, bankfeed.Tampered, bankfeed.Forged, bankfeed.UnknownKey, bankfeed.Old,
	} {
		w.Break(bankfeed.Fault{Mode: mode, On: bankfeed.Webhooks, Times: 1})

		if !w.Fire(l.ItemID, "SYNC_UPDATES_AVAILABLE") {
			t.Fatal("nothing was sent")
		}

		if h := w.hook(); !errors.Is(h.err, plaid.ErrWebhook) || h.webhook != (plaid.Webhook{}) {
			t.Errorf("%s: %+v", mode, h)
		}
	}
	// A webhook of another item is a true one, and so is one that comes twice: both are hints, and asking decides.
	w.Break(bankfeed.Fault{Mode: bankfeed.Foreign, On: bankfeed.Webhooks, Times: 1})
	w.Fire(l.ItemID, "SYNC_UPDATES_AVAILABLE")

	if h := w.hook(); h.err != nil || h.webhook.ItemID == l.ItemID || h.webhook.ItemID == "" {
		t.Errorf("of another item: %+v", h)
	}

	w.Break(bankfeed.Fault{Mode: bankfeed.Replayed, On: bankfeed.Webhooks, Times: 1})
	w.Fire(l.ItemID, "SYNC_UPDATES_AVAILABLE")

	one, two := w.hook(), w.hook()
	if one.err != nil || two.err != nil || one.verification != two.verification || one.webhook != two.webhook {
		t.Errorf("twice: %+v, %+v", one, two)
	}
	// Later, and before its time, it is refused.
	for _, c := range []struct {
		after time.Duration
		err   error
	}{{0, nil}, {4 * time.Minute, nil}, {6 * time.Minute, plaid.ErrWebhook}, {-6 * time.Minute, plaid.ErrWebhook}} {
		if _, err := w.client.Webhook(t.Context(), one.verification, one.body, time.Now().Add(c.after)); !errors.Is(err, c.err) {
			t.Errorf("after %s: %v", c.after, err)
		}
	}
}

// Every byte of a webhook and of its proof counts.
func TestWebhooksThatWereChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	w.Fire(l.ItemID, "NEW_ACCOUNTS_AVAILABLE")

	h := w.hook()
	if h.err != nil || h.webhook.Topic != plaid.NewAccounts {
		t.Fatalf("%+v", h)
	}

	parts := strings.Split(h.verification, ".")
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil {
		t.Fatal(err)
	}

	for name, v := range map[string]string{
		"none at all":             "",
		"two parts":               parts[0] + "." + parts[1],
		"four parts":              h.verification + "." + parts[2],
		"another algorithm":       encode(strings.Replace(string(header), "ES256", "ES384", 1)) + "." + parts[1] + "." + parts[2],
		"a header that is none":   encode("{") + "." + parts[1] + "." + parts[2],
		"no key":                  encode(`{"alg":"ES256"}`) + "." + parts[1] + "." + parts[2],
		"a later time":            parts[0] + "." + encode(`{"iat":`+time.Now().Format("20060102")+`}`) + "." + parts[2],
		"a signature of nothing":  parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
		"a signature that is cut": h.verification[:len(h.verification)-4],
		"a long one":              h.verification + strings.Repeat("A", 5000),
	} {
		if _, err := w.client.Webhook(t.Context(), v, h.body, time.Now()); !errors.Is(err, plaid.ErrWebhook) {
			t.Errorf("%s: %v", name, err)
		}
	}

	for i := range h.body {
		other := append([]byte{}, h.body...)

		other[i] ^= 1
		if _, err := w.client.Webhook(t.Context(), h.verification, other, time.Now()); !errors.Is(err, plaid.ErrWebhook) {
			t.Fatalf("byte %d was changed: %v", i, err)
		}
	}

	if _, err := w.client.Webhook(t.Context(), h.verification, append(h.body, ' '), time.Now()); !errors.Is(err, plaid.ErrWebhook) {
		t.Errorf("with a blank behind it: %v", err)
	}

	if n := w.Counts().Calls[keyCall]; n != 1 {
		t.Errorf("the vendor was asked for keys %d times, want once", n)
	}
}

func TestKeysOfWebhooksRotate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	asked := func(want int) {
		t.Helper()

		if n := w.Counts().Calls[keyCall]; n != want {
			t.Errorf("the vendor was asked for keys %d times, want %d", n, want)
		}
	}
	fire := func() hook {
		t.Helper()
		w.Fire(l.ItemID, "LOGIN_REPAIRED")

		h := w.hook()
		if h.err != nil || h.webhook.Topic != plaid.LoginRepaired {
			t.Errorf("%+v", h)
		}

		return h
	}
	old := fire()
	fire()
	asked(1)
	w.mustControl("POST", "/control/keys", `{}`)
	fire() // Signed with the new key; the one before is good as well.
	asked(2)

	if _, err := w.client.Webhook(t.Context(), old.verification, old.body, time.Now()); err != nil {
		t.Errorf("the key before: %v", err)
	}

	asked(3) // A new key makes the ones before doubtful, once.

	between := fire()

	asked(3)
	w.mustControl("POST", "/control/keys", `{"expireOld":true}`)
	fire()
	asked(4)

	for range 2 {
		if _, err := w.client.Webhook(t.Context(), between.verification, between.body, time.Now()); !errors.Is(err, plaid.ErrWebhook) {
			t.Errorf("a key that has expired: %v", err)
		}
	}

	asked(5)
}

func TestKeysOfWebhooksAreAskedForAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	w.mustControl("POST", "/control/settings", `{"clockSeconds":3720}`)
	w.Fire(l.ItemID, "LOGIN_REPAIRED")

	h := w.hook()
	if !errors.Is(h.err, plaid.ErrWebhook) {
		t.Errorf("an hour early: %v", h.err)
	}

	later := time.Now().Add(time.Hour + 2*time.Minute)
	for range 2 { // The key is known from the link, an hour ago; it is asked for again, once.
		if _, err := w.client.Webhook(t.Context(), h.verification, h.body, later); err != nil {
			t.Error(err)
		}
	}

	if n := w.Counts().Calls[keyCall]; n != 2 {
		t.Errorf("the vendor was asked for keys %d times, want 2", n)
	}
}

// Whoever makes up keys cannot make us ask without end, nor keep true webhooks away.
func TestKeysThatNobodyHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	w.Break(bankfeed.Fault{Mode: bankfeed.UnknownKey, On: bankfeed.Webhooks, Times: 1})
	w.Fire(l.ItemID, "LOGIN_REPAIRED")
	h := w.hook()

	limited, now := 0, time.Now()
	for range 100 {
		_, err := w.client.Webhook(t.Context(), h.verification, h.body, now)
		switch {
		case errors.Is(err, plaid.ErrLimited):
			limited++

			if until := failed(t, err).Until; !until.After(now) {
				t.Errorf("limited until %s", until)
			}
		case !errors.Is(err, plaid.ErrWebhook):
			t.Errorf("a key that nobody has: %v", err)
		}
	}

	if n := w.Counts().Calls[keyCall]; limited < 90 || n > 8 {
		t.Errorf("the vendor was asked %d times; %d of 100 were put off", n, limited)
	}

	w.Fire(l.ItemID, "LOGIN_REPAIRED")

	if h := w.hook(); h.err != nil {
		t.Errorf("a true one: %v", h.err)
	}
}

// While the key cannot be had, nothing is known of a webhook: it is to come again.
func TestKeysThatCannotBeHad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	w.mustControl("POST", "/control/keys", `{"expireOld":true}`)
	w.Break(bankfeed.Fault{Mode: bankfeed.Internal, On: keyCall, Times: 1})
	w.Fire(l.ItemID, "LOGIN_REPAIRED")

	h := w.hook()
	if !errors.Is(h.err, plaid.ErrUnavailable) || errors.Is(h.err, plaid.ErrWebhook) {
		t.Errorf("%+v", h)
	}

	if _, err := w.client.Webhook(t.Context(), h.verification, h.body, time.Now()); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

// A clock that is ten minutes off, theirs or ours: webhooks are not believed, everything else goes on, and links end by
// our clock.
func TestClocksThatDisagree(t *testing.T) {
	t.Parallel()

	for _, seconds := range []string{"600", "-600"} {
		w := newWorld(t)
		l := w.link(harbor)
		w.mustAdd(l, many(2)...)
		w.mustControl("POST", "/control/settings", `{"clockSeconds":`+seconds+`}`)
		w.Fire(l.ItemID, "SYNC_UPDATES_AVAILABLE")

		if h := w.hook(); !errors.Is(h.err, plaid.ErrWebhook) {
			t.Errorf("%s: %+v", seconds, h)
		}

		if got := w.mustSync(l, ""); len(got.added) != 2 {
			t.Errorf("%s: %+v", seconds, got)
		}

		link, err := w.client.CreateLink(t.Context(), plaid.LinkRequest{Name: "stayledger", User: "team-1"})
		if left := time.Until(link.ExpiresAt); err != nil || left > plaid.LinkLifetime || left < plaid.LinkLifetime-time.Minute {
			t.Errorf("%s: the link ends in %s, %v", seconds, left, err)
		}
	}
}

func TestWebhooksOfEveryTopic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	l := w.link(harbor)
	for code, c := range map[string]struct {
		topic   plaid.WebhookTopic
		problem error
	}{
		"SYNC_UPDATES_AVAILABLE":  {plaid.SyncUpdates, nil},
		"ERROR":                   {plaid.ItemFailed, plaid.ErrLoginRequired},
		"LOGIN_REPAIRED":          {plaid.LoginRepaired, nil},
		"NEW_ACCOUNTS_AVAILABLE":  {plaid.NewAccounts, nil},
		"PENDING_DISCONNECT":      {plaid.PendingDisconnect, nil},
		"PENDING_EXPIRATION":      {plaid.PendingExpiration, nil},
		"USER_PERMISSION_REVOKED": {plaid.PermissionRevoked, plaid.ErrLoginRequired},
		"USER_ACCOUNT_REVOKED":    {plaid.AccountRevoked, plaid.ErrItemGone},
		"DEFAULT_UPDATE":          {"TRANSACTIONS/DEFAULT_UPDATE", nil},
	} {
		w.mustControl("POST", "/control/items/"+l.ItemID+"/webhooks", `{"code":"`+code+`"}`)

		h := w.hook()
		if h.err != nil || h.webhook.Topic != c.topic || h.webhook.ItemID != l.ItemID || (h.webhook.Problem == nil) != (c.problem == nil) {
			t.Errorf("%s: %+v", code, h)
		} else if c.problem != nil && !errors.Is(h.webhook.Problem, c.problem) {
			t.Errorf("%s: %v", code, h.webhook.Problem)
		}
	}
}

// A key that is none for ES256, or that is another one than was asked for, is not used.
func TestKeysThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	w.Fire(l.ItemID, "LOGIN_REPAIRED")
	h := w.hook()

	header, err := base64.RawURLEncoding.DecodeString(strings.Split(h.verification, ".")[0])
	if err != nil {
		t.Fatal(err)
	}

	var named struct {
		ID string `json:"kid"`
	}
	if err := json.Unmarshal(header, &named); err != nil {
		t.Fatal(err)
	}

	_, known := w.control(http.MethodPost, keyCall, `{"client_id":"`+clientID+`","secret":"`+secret+`","key_id":"`+named.ID+`"}`)
	for _, c := range []struct {
		from, to string
		good     bool
	}{
		{"", "", true},
		{`"alg":"ES256"`, `"alg":"ES384"`, false},
		{`"crv":"P-256"`, `"crv":"P-384"`, false},
		{`"kty":"EC"`, `"kty":"RSA"`, false},
		{`"kid":"` + named.ID, `"kid":"x`, false},
		{`"x":"`, `"x":"AAAA`, false},
		{`"y":"`, `"was":"`, false},
		{`"expired_at":null`, `"expired_at":1`, false},
		{`"expired_at":null`, `"expired_at":9999999999`, true},
	} {
		changed := strings.Replace(known, c.from, c.to, 1)

		_, err := scripted(t, http.StatusOK, changed).Webhook(t.Context(), h.verification, h.body, time.Now())
		if (err == nil) != c.good || (changed == known) != (c.from == "") {
			t.Errorf("%s for %s: %v", c.to, c.from, err)
		}
	}
}
