// Package ownerrez reads accounts at OwnerRez, by version 2 of their API. It is built from the published description,
// tried against our sandbox (provider/sandbox/ownerrez). The guide docs/guides/ownerrez.md says what is read and how.
package ownerrez

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stayledger/platform/outbound"
	"stayledger/provider/pms"
)

// PublicURL is where the system is.
const PublicURL = "https://api.ownerrez.com/v2"

// The bounds of answers of the system and of settings.
const (
	maxID   = 200  // bytes of an identifier
	maxRows = 1000 // of a page
	maxText = 4000 // bytes of a setting or a credential
)

// Client speaks to one account. It is safe for use by many goroutines.
type Client struct {
	base *url.URL
	// The e-mail address and token of a person.
	email, token string
	// What an account has given to an app counts instead of them.
	app    *App
	given  pms.Token
	tokens pms.Tokens
	caller *pms.Caller
}

var (
	_ pms.Client  = (*Client)(nil)
	_ pms.Blocker = (*Client)(nil)
)

// Credentials are those of a person, or the token that an account has given to an app.
type Credentials struct {
	Email string `json:"email,omitempty"`
	Token string `json:"token,omitempty"`
	// Given is nil for those of a person.
	Given *pms.Token `json:"given,omitempty"`
}

// New returns a client and makes no call. For an account that gave access to an app it needs the app, and keeps tokens
// that it renews. It has its calls counted against the limit of the system. It fails with a pms.SettingsError of
// baseUrl, email or token.
func New(settings, credentials json.RawMessage, app *App, tokens pms.Tokens, o pms.Options) (*Client, error) {
	base, err := readBase(settings, o.AllowPrivate)
	if err != nil {
		return nil, err
	}

	var key Credentials

	// Check everything that goes into a request. A colon would end the name in a Basic header.
	switch err := json.Unmarshal(credentials, &key); {
	case err != nil:
		return nil, &pms.SettingsError{Field: "token", Problem: "is not a text"}
	case key.Given != nil && app == nil:
		return nil, errNoRegistration
	case key.Given != nil:
	case !outbound.Printable(key.Email, maxID) || strings.Contains(key.Email, ":") || !strings.Contains(key.Email, "@"):
		return nil, &pms.SettingsError{Field: "email", Problem: "is not the e-mail address of an account"}
	case !outbound.Printable(key.Token, maxText):
		return nil, &pms.SettingsError{Field: "token", Problem: "is missing or holds characters that none has"}
	}

	o.Limit = limit

	c := &Client{base: base, email: key.Email, token: key.Token, app: app, tokens: tokens, caller: pms.NewCaller(o)}
	if key.Given != nil {
		c.given = *key.Given
	}

	return c, nil
}

// readBase returns where the system is, without a slash at the end. It fails with a pms.SettingsError.
func readBase(settings json.RawMessage, private bool) (*url.URL, error) {
	where := struct {
		BaseURL string `json:"baseUrl"`
	}{BaseURL: PublicURL}

	if len(settings) > 0 && json.Unmarshal(settings, &where) != nil {
		return nil, &pms.SettingsError{Field: "baseUrl", Problem: "is not a text"}
	}

	return parseBase(where.BaseURL, private)
}

// parseBase parses the address of the system, without a slash at the end. It fails with a pms.SettingsError.
func parseBase(address string, private bool) (*url.URL, error) {
	wrong := func(problem string) error { return &pms.SettingsError{Field: "baseUrl", Problem: problem} }

	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "" || len(address) > maxText:
		return nil, wrong("is not an address such as " + PublicURL)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, wrong("has more than a host and a path")
	case u.Scheme != "https" && (u.Scheme != "http" || !private):
		return nil, wrong("does not start with https://")
	}

	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), ""

	return u, nil
}

// limit is that of the system for our address.
var limit = outbound.Limit{Calls: 300, Within: 5 * time.Minute}

// request is a call of a path below the base, with a query and a body that can be nil.
type request struct {
	method, path string
	query        url.Values
	body         []byte
}

// get asks for a path below the base, with a query that can be nil, and decodes the answer. It returns the headers of
// the answer, and fails with a pms.Error.
func (c *Client) get(ctx context.Context, path string, query url.Values, into any) (http.Header, error) {
	return c.call(ctx, request{method: http.MethodGet, path: path, query: query}, into)
}

// call sends a request and decodes its answer, unless into is nil. It returns the headers of the answer, and fails with
// a pms.Error. The caller adds the name of the app, without which the system refuses every call.
func (c *Client) call(ctx context.Context, r request, into any) (http.Header, error) {
	// A token that is refused is replaced once.
	for last := c.given.Access == ""; ; last = true {
		token, err := c.access(ctx)
		if err != nil {
			return nil, err
		}

		header, err := c.send(ctx, r, token, into)
		if last || !errors.Is(err, pms.ErrCredentials) {
			return header, err
		}

		if err := c.tokens.Refused(ctx, token); err != nil {
			return nil, fmt.Errorf("forget a token: %w", err)
		}
	}
}

// access returns the token of an account that gave access to an app, the zero token for the credentials of a person.
func (c *Client) access(ctx context.Context) (pms.Token, error) {
	if c.given.Access == "" {
		return pms.Token{}, nil
	}

	return c.tokens.Token(ctx, c.renew) //nolint:wrapcheck // It is a pms.Error, or the keeper's own.
}

// renew returns the token that was given, the first time, and renews it from then on. It fails with a pms.Error.
func (c *Client) renew(ctx context.Context, old pms.Token) (pms.Token, error) {
	if old == (pms.Token{}) && (c.given.ExpiresAt.IsZero() || time.Now().Before(c.given.ExpiresAt)) {
		return c.given, nil
	}

	// A stored token can lack a refresh token; the one from the authorization is used then.
	refresh := cmp.Or(old.Refresh, c.given.Refresh)
	if refresh == "" {
		return pms.Token{}, &pms.Error{Kind: pms.ErrCredentials}
	}

	return c.app.refresh(ctx, refresh)
}

// send sends a request with a token, or else with the credentials of a person. It fails with a pms.Error.
func (c *Client) send(ctx context.Context, q request, token pms.Token, into any) (http.Header, error) {
	address := c.base.String() + q.path
	if len(q.query) > 0 {
		address += "?" + q.query.Encode()
	}

	r, err := http.NewRequestWithContext(ctx, q.method, address, bytes.NewReader(q.body))
	if err != nil {
		return nil, fmt.Errorf("request to the system: %w", err)
	}

	if q.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}

	// Accounts connected by OAuth have a token; others use the credentials of a person.
	if token.Access != "" {
		r.Header.Set("Authorization", "Bearer "+token.Access)
	} else {
		r.SetBasicAuth(c.email, c.token)
	}

	return c.caller.Do(ctx, r, into) //nolint:wrapcheck // It is a pms.Error.
}

// Account returns the account of the credentials. It fails with a pms.Error.
func (c *Client) Account(ctx context.Context) (*pms.Account, error) {
	var w struct {
		ID        text `json:"id"`
		Name      text `json:"name"`
		FirstName text `json:"first_name"`
		LastName  text `json:"last_name"`
		Email     text `json:"email_address"`
	}
	if _, err := c.get(ctx, "/users/me", nil, &w); err != nil {
		return nil, err
	}

	if !outbound.Printable(string(w.ID), maxID) {
		return nil, pms.BadAnswer("does not say whose account it is")
	}

	// Without a name of the account, show the person, or at least the login.
	name := cmp.Or(w.Name.Clean(), pms.Text(string(w.FirstName+" "+w.LastName)), w.Email.Clean(), pms.Text(c.email))

	return &pms.Account{ID: string(w.ID), Name: name}, nil
}
