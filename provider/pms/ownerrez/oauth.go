package ownerrez

import (
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

// App is our registration at the system, to which account holders give access to their accounts. It is safe for use by
// many goroutines.
type App struct {
	base, id, secret  string
	authorize, tokens string // where account holders are asked, and where tokens are given
	caller            *pms.Caller
}

var _ pms.Grants = (*App)(nil)

// Where the system asks account holders, and where it gives tokens.
const (
	authorizeURL = "https://app.ownerrez.com/oauth/authorize"
	tokenURL     = "https://api.ownerrez.com/oauth/access_token" //nolint:gosec // It is an address.
)

// NewApp returns a registration and makes no call. The address is where all of the system is, such as a sandbox; empty
// for the system itself. It fails with a pms.SettingsError.
func NewApp(id, secret, address string, o pms.Options) (*App, error) {
	switch {
	case !outbound.Printable(id, maxID) || strings.Contains(id, ":"):
		return nil, &pms.SettingsError{Field: "id", Problem: "is not the id of an app"}
	case !outbound.Printable(secret, maxText):
		return nil, &pms.SettingsError{Field: "secret", Problem: "is missing or holds characters that none has"}
	}

	o.Fails = grantError
	a := &App{
		base: PublicURL, id: id, secret: secret, authorize: authorizeURL, tokens: tokenURL,
		caller: pms.NewCaller(o),
	}

	if address != "" {
		base, err := parseBase(address, o.AllowPrivate)
		if err != nil {
			return nil, err
		}

		where := base.String()
		a.base, a.authorize, a.tokens = where+"/v2", where+"/oauth/authorize", where+"/oauth/access_token"
	}

	return a, nil
}

// Base is the address that the calls of accounts go to that gave access to the app.
func (a *App) Base() string { return a.base }

// Address returns where the system asks the account holder, who is sent on to redirectURI with the state and a code.
func (a *App) Address(state, redirectURI string) string {
	return a.authorize + "?" + url.Values{
		"response_type": {"code"}, "client_id": {a.id}, "redirect_uri": {redirectURI}, "state": {state},
	}.Encode()
}

// Exchange returns the token that the system gives for a code. It fails with a pms.Error: pms.ErrCredentials for a code
// that it does not take.
func (a *App) Exchange(ctx context.Context, code, redirectURI string) (pms.Token, error) {
	return a.grant(ctx, url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirectURI}})
}

// refresh returns a new token for one that is over. It fails with a pms.Error: pms.ErrCredentials if there is none any
// more.
func (a *App) refresh(ctx context.Context, refresh string) (pms.Token, error) {
	got, err := a.grant(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
	if err == nil && got.Refresh == "" {
		got.Refresh = refresh // it stays as it is
	}

	return got, err
}

// grant asks for a token.
func (a *App) grant(ctx context.Context, form url.Values) (pms.Token, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.tokens, strings.NewReader(form.Encode()))
	if err != nil {
		return pms.Token{}, fmt.Errorf("request to the system: %w", err)
	}

	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(a.id, a.secret)

	var w struct {
		AccessToken  string `json:"access_token"`
		RefreshToken string `json:"refresh_token"`
		ExpiresIn    number `json:"expires_in"`
	}

	issued := time.Now()

	if _, err := a.caller.Do(ctx, r, &w); err != nil {
		return pms.Token{}, err //nolint:wrapcheck // It is a pms.Error.
	}

	if !outbound.Printable(w.AccessToken, maxText) || w.RefreshToken != "" && !outbound.Printable(w.RefreshToken,
		maxText) {
		return pms.Token{}, pms.BadAnswer("has no token")
	}

	// The life is a number of seconds; without one the token is used until it is refused.
	out := pms.Token{Access: w.AccessToken, Refresh: w.RefreshToken}
	if seconds, ok := w.ExpiresIn.Whole(); ok && seconds > 0 {
		out.ExpiresAt = issued.Add(time.Duration(min(seconds, maxLife)) * time.Second)
	}

	return out, nil
}

// maxLife is how many seconds a token lasts at most, whatever the system says.
const maxLife = 2 * 365 * 24 * 60 * 60

// grantError returns the error of asking for a token. Only an invalid grant is about the account; a refusal of the
// registration is about us, and no account has to be connected again for it.
func grantError(status int, body []byte) error {
	var w struct {
		Error string `json:"error"`
	}

	switch {
	case status == http.StatusBadRequest && json.Unmarshal(body, &w) == nil && w.Error == "invalid_grant":
		return &pms.Error{Kind: pms.ErrCredentials, Status: status}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return &pms.Error{Kind: errRegistration, Status: status}
	}

	return nil
}

var errRegistration = fmt.Errorf("%w: it refuses our registration", pms.ErrUnavailable)

// errNoRegistration refuses a connection that was made by an app that is not set up any more.
var errNoRegistration = errors.New("the app that the account gave access to is not set up")
