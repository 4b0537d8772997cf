package hostaway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stayledger/platform/outbound"
	"stayledger/provider/pms"
)

// settle is how long a token cannot be used after it was issued, with a little more for the clock of the system.
const settle = 1200 * time.Millisecond

// maxLife is how long a token lasts at most, whatever the system says.
const maxLife = 2 * 365 * 24 * time.Hour

// renew asks for a token, and returns it once it can be used. It fails with a pms.Error.
func (c *Client) renew(ctx context.Context, _ pms.Token) (pms.Token, error) {
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {c.account}, "client_secret": {c.apiKey},
		"scope": {"general"},
	}

	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/accessTokens", strings.NewReader(form.Encode()))
	if err != nil {
		return pms.Token{}, fmt.Errorf("request to the system: %w", err)
	}

	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")

	var w struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   number `json:"expires_in"`
	}

	issued := time.Now()

	if _, err := c.caller.Do(ctx, r, &w); err != nil {
		return pms.Token{}, tokenError(err)
	}

	// The life is a number of seconds; without one the token is used until it is refused.
	out := pms.Token{Access: w.AccessToken}
	if seconds, ok := w.ExpiresIn.Whole(); ok && seconds > 0 {
		out.ExpiresAt = issued.Add(min(time.Duration(min(seconds, int64(maxLife/time.Second)))*time.Second, maxLife))
	}

	if !outbound.Printable(out.Access, maxText) {
		return pms.Token{}, pms.BadAnswer("has no token")
	}

	select {
	case <-time.After(c.settle):
		return out, nil
	case <-ctx.Done():
		return pms.Token{}, &pms.Error{Kind: pms.ErrTimeout}
	}
}

// tokenError returns the error of asking for a token: a refusal means that the credentials are wrong.
func tokenError(err error) error {
	e, is := errors.AsType[*pms.Error](err)
	if is && errors.Is(err, pms.ErrRefused) && e.Status == http.StatusBadRequest {
		return &pms.Error{Kind: pms.ErrCredentials, Status: e.Status}
	}

	return err
}
