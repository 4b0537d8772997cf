// Package hostaway reads accounts at Hostaway. It is built from the published description of their API and tried
// against our sandbox (provider/sandbox/hostaway). The guide docs/guides/hostaway.md says what is read and how.
package hostaway

import (
	"bytes"
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
const PublicURL = "https://api.hostaway.com/v1"

// The bounds of answers of the system and of settings.
const (
	maxID   = 200  // bytes of an identifier
	maxRows = 1000 // of a page
	maxText = 4000 // bytes of a setting, a credential or a token
)

// Client speaks to one account. It is safe for use by many goroutines.
type Client struct {
	base            string
	account, apiKey string
	caller          *pms.Caller
	tokens          pms.Tokens
	// settle is how long a token has to wait until it can be used.
	settle time.Duration
}

var (
	_ pms.Client  = (*Client)(nil)
	_ pms.Hooks   = (*Client)(nil)
	_ pms.Blocker = (*Client)(nil)
)

// New returns a client and makes no call. It has its calls counted against the limit of the system. It fails with a
// pms.SettingsError of baseUrl, accountId or apiKey.
func New(settings, credentials json.RawMessage, o pms.Options, tokens pms.Tokens) (*Client, error) {
	base, err := readBase(settings, o.AllowPrivate)
	if err != nil {
		return nil, err
	}

	var key struct {
		AccountID string `json:"accountId"`
		APIKey    string `json:"apiKey"`
	}

	// Check everything that goes into a request.
	switch err := json.Unmarshal(credentials, &key); {
	case err != nil:
		return nil, &pms.SettingsError{Field: "apiKey", Problem: "is not a text"}
	case !outbound.Printable(key.AccountID, maxID) || strings.Trim(key.AccountID, "0123456789") != "":
		return nil, &pms.SettingsError{Field: "accountId", Problem: "is not a number"}
	case !outbound.Printable(key.APIKey, maxText):
		return nil, &pms.SettingsError{Field: "apiKey", Problem: "is missing or holds characters that none has"}
	}

	o.Limit = limit

	return &Client{
		base:    base.String(),
		account: key.AccountID,
		apiKey:  key.APIKey,
		caller:  pms.NewCaller(o),
		tokens:  tokens,
		settle:  settle,
	}, nil
}

// readBase returns where the system is, PublicURL unless the settings say otherwise, without a slash at the end.
// Plain http is allowed only if private. It fails with a pms.SettingsError, also for an address with a user, a query
// or a fragment.
func readBase(settings json.RawMessage, private bool) (*url.URL, error) {
	where := struct {
		BaseURL string `json:"baseUrl"`
	}{BaseURL: PublicURL}

	wrong := func(problem string) error { return &pms.SettingsError{Field: "baseUrl", Problem: problem} }

	if len(settings) > 0 && json.Unmarshal(settings, &where) != nil {
		return nil, wrong("is not a text")
	}

	u, err := url.Parse(where.BaseURL)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "" || len(where.BaseURL) > maxText:
		return nil, wrong("is not an address such as " + PublicURL)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, wrong("has more than a host and a path")
	case u.Scheme != "https" && (u.Scheme != "http" || !private):
		return nil, wrong("does not start with https://")
	}

	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), ""

	return u, nil
}

// limit is that of the system for our address. The one of an account, 20 calls in the same time, is never reached within it.
var limit = outbound.Limit{Calls: 15, Within: 10 * time.Second, Burst: 4}

// envelope is around every answer.
type envelope struct {
	Status string          `json:"status"`
	Result json.RawMessage `json:"result"`
	// Count is how many rows all pages have.
	Count number `json:"count"`
}

// call sends a request with a token and reads the envelope of the answer. A token that is refused is replaced once. It
// fails with a pms.Error.
func (c *Client) call(ctx context.Context, method, path string, body any) (*envelope, http.Header, error) {
	var content []byte

	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return nil, nil, fmt.Errorf("request to the system: %w", err)
		}
	}

	for last := false; ; last = true {
		token, err := c.tokens.Token(ctx, c.renew)
		if err != nil {
			return nil, nil, err //nolint:wrapcheck // It is a pms.Error, or the keeper's own.
		}

		out, header, err := c.send(ctx, token, request{method, path, content})
		if !errors.Is(err, pms.ErrCredentials) {
			return out, header, err
		}

		if forgetting := c.tokens.Refused(ctx, token); forgetting != nil || last {
			return nil, nil, errors.Join(err, forgetting)
		}
	}
}

// request is a call of a path with a body.
type request struct {
	method, path string
	content      []byte // JSON, nil for none
}

// send sends a request with a token. It fails with a pms.Error.
func (c *Client) send(ctx context.Context, token pms.Token, q request) (*envelope, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, q.method, c.base+q.path, bytes.NewReader(q.content))
	if err != nil {
		return nil, nil, fmt.Errorf("request to the system: %w", err)
	}

	r.Header.Set("Authorization", "Bearer "+token.Access)

	if q.content != nil {
		r.Header.Set("Content-Type", "application/json")
	}

	var out envelope

	header, err := c.caller.Do(ctx, r, &out)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // It is a pms.Error.
	}

	// Failures come with status 200, too.
	if out.Status != "success" {
		return nil, nil, pms.BadAnswer("says that the call failed")
	}

	return &out, header, nil
}

// Account says whose account it is: the system has no call for that, so it is the account of the credentials, which are
// proved by asking for a listing. It fails with a pms.Error.
func (c *Client) Account(ctx context.Context) (*pms.Account, error) {
	if _, _, err := c.call(ctx, http.MethodGet, "/listings?limit=1", nil); err != nil {
		return nil, err
	}

	return &pms.Account{ID: c.account}, nil
}
