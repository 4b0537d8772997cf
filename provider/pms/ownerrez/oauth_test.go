package ownerrez_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"stayledger/provider/pms"
	"stayledger/provider/pms/ownerrez"
	sandbox "stayledger/provider/sandbox/ownerrez"
)

const page = "https://books.example.com/back?tab=1"

// give has the account holder answer, and returns what the person comes back with.
func (w *world) give() url.Values {
	w.t.Helper()

	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.app.Address("our state", page), http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}

	answer, err := client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}

	defer func() { _ = answer.Body.Close() }()

	back, err := answer.Location()
	if err != nil {
		w.t.Fatalf("status %d: %v", answer.StatusCode, err)
	}

	if got := back.Query(); back.Host != "books.example.com" || got.Get("tab") != "1" || got.Get("state") != "our state" {
		w.t.Fatalf("the person comes back at %s", back)
	}

	return back.Query()
}

// opened makes a client for a token that the account has given.
func (w *world) opened(given pms.Token, tokens pms.Tokens) *ownerrez.Client {
	w.t.Helper()

	credentials, err := json.Marshal(ownerrez.Credentials{Given: &given})
	if err != nil {
		w.t.Fatal(err)
	}

	client, err := ownerrez.New(json.RawMessage(`{"baseUrl":"`+w.app.Base()+`"}`), credentials, w.app, tokens,
		pms.Options{AllowPrivate: true})
	if err != nil {
		w.t.Fatal(err)
	}

	return client
}

func TestAnAccountHolderGivesAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code := w.give().Get("code")

	token, err := w.app.Exchange(t.Context(), code, page)
	if err != nil || !token.ExpiresAt.IsZero() || token.Refresh == "" {
		t.Fatalf("got %+v, %v", token, err)
	}

	if _, err := w.app.Exchange(t.Context(), code, page); !errors.Is(err, pms.ErrCredentials) {
		t.Errorf("a code that was used gives %v", err)
	}

	if _, err := w.app.Exchange(t.Context(), w.give().Get("code"), page+"2"); !errors.Is(err, pms.ErrCredentials) {
		t.Errorf("a code of another page gives %v", err)
	}

	tokens := &pms.MemoryTokens{}
	client := w.opened(token, tokens)

	if account, err := client.Account(t.Context()); err != nil || account.ID != "77" {
		t.Fatalf("got %+v, %v", account, err)
	}

	// A token that is over is renewed, once for all who ask.
	w.Expire()

	if _, err := client.Account(t.Context()); err != nil {
		t.Errorf("after the end of a token: %v", err)
	}

	// The keeper has the renewed one: what was given first can be renewed no more.
	if _, err := w.opened(token, tokens).Account(t.Context()); err != nil {
		t.Errorf("with the token that is kept: %v", err)
	}

	if _, err := w.opened(token, &pms.MemoryTokens{}).Account(t.Context()); !errors.Is(err, pms.ErrCredentials) {
		t.Errorf("with the first token: %v", err)
	}

	w.Revoke()

	if _, err := client.Account(t.Context()); !errors.Is(err, pms.ErrCredentials) {
		t.Errorf("after access was taken back: %v", err)
	}
}

func TestTokensEndInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	life, none := 3600, true
	w.Set(sandbox.Settings{TokenSeconds: &life, NoRefresh: &none})

	token, err := w.app.Exchange(t.Context(), w.give().Get("code"), page)
	if err != nil || token.Refresh != "" || time.Until(token.ExpiresAt) < 50*time.Minute || time.Until(token.ExpiresAt) > time.Hour {
		t.Fatalf("got %+v, %v", token, err)
	}

	ahead := 3601
	w.Set(sandbox.Settings{ClockSeconds: &ahead})

	if _, err := w.opened(token, &pms.MemoryTokens{}).Account(t.Context()); !errors.Is(err, pms.ErrCredentials) {
		t.Errorf("a token that is over and cannot be renewed gives %v", err)
	}
}

func TestAnAccountHolderRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	yes := true
	w.Set(sandbox.Settings{Deny: &yes})

	if got := w.give(); got.Get("error") != "access_denied" || got.Has("code") {
		t.Errorf("the person comes back with %v", got)
	}
}

// TestFailuresOfTokens: only an invalid grant has to be given again.
func TestFailuresOfTokens(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		fault sandbox.Mode
		want  error
	}{
		"down": {sandbox.Page500, pms.ErrUnavailable}, "no JSON": {sandbox.WrongType, pms.ErrUnavailable}, "too many": {sandbox.TooMany, pms.ErrLimited},
		"reset": {sandbox.DropBefore, pms.ErrUnavailable}, "our registration": {sandbox.Refused, pms.ErrUnavailable}, "cut": {sandbox.Truncated, pms.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Break(sandbox.Fault{Mode: c.fault, On: sandbox.OnToken, Times: 1})

			_, err := w.app.Exchange(t.Context(), w.give().Get("code"), page)
			if !errors.Is(err, c.want) || errors.Is(err, pms.ErrCredentials) {
				t.Errorf("got %v", err)
			}
		})
	}

	t.Run("hang", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		code := w.give().Get("code")
		w.Break(sandbox.Fault{Mode: sandbox.HangBefore, On: sandbox.OnToken})

		ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer stop()

		if _, err := w.app.Exchange(ctx, code, page); !errors.Is(err, pms.ErrTimeout) {
			t.Errorf("got %v", err)
		}
	})
}

func TestRegistrationsAreChecked(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ id, secret, address, field string }{
		{"c", "s", "", ""}, {"", "s", "", "id"}, {"a:b", "s", "", "id"}, {"c", "", "", "secret"}, {"c", "s", "http://example.com", "baseUrl"},
	} {
		_, err := ownerrez.NewApp(c.id, c.secret, c.address, pms.Options{})

		field := ""
		if wrong, is := errors.AsType[*pms.SettingsError](err); is {
			field = wrong.Field
		}

		if field != c.field || (err == nil) != (field == "") {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}
