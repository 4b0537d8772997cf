package ownerrez

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stayledger/provider/sandbox/stage"
)

// grant is access that the account holder has given and that no token was asked for yet.
type grant struct{ redirectURI string }

// The failures of asking for a token, which have a form of their own.
var (
	badApp     = &Failure{Status: http.StatusUnauthorized, Code: "invalid_client"}
	badGrant   = &Failure{Status: http.StatusBadRequest, Code: "invalid_grant"}
	badAsking  = &Failure{Status: http.StatusBadRequest, Code: "invalid_request"}
	unknownAsk = &Failure{Status: http.StatusBadRequest, Code: "unsupported_grant_type"}
)

// ask asks the account holder whether an app may have access, who answers at once, and sends the person on.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls[OnAuthorize]++
	s.mu.Unlock()
	s.log.Reach(stage.Received, OnAuthorize, "")

	q := r.URL.Query()

	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || !back.IsAbs() || q.Get("response_type") != "code" || s.config.ClientID == "" ||
		q.Get("client_id") != s.config.ClientID {
		// Never redirect to an address that the app has not registered.
		http.Error(w, "The request is not valid.", http.StatusBadRequest)
		return
	}

	answer := back.Query()
	answer.Set("state", q.Get("state"))

	s.mu.Lock()
	if value(s.settings.Deny) {
		answer.Set("error", "access_denied")
	} else {
		code := "tc_" + rand.Text()
		s.codes[code] = grant{q.Get("redirect_uri")}
		answer.Set("code", code)
	}
	s.mu.Unlock()

	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound) //nolint:gosec // The app has named the address.
	s.log.Reach(stage.Answered, OnAuthorize, "")
}

// isApp reports whether a request presents the credentials of the app.
func (s *Server) isApp(r *http.Request) bool {
	id, secret, _ := r.BasicAuth()
	return s.config.ClientID != "" && isEqual(id, s.config.ClientID) && isEqual(secret, s.config.ClientSecret)
}

// giveToken gives a token for a code or for a token to renew with. Each can be used once.
func (s *Server) giveToken(x *exchange) (Object, *Failure) {
	if !strings.HasPrefix(x.r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") ||
		x.r.ParseForm() != nil {
		return nil, badAsking
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	switch x.r.PostForm.Get("grant_type") {
	case "authorization_code":
		code := x.r.PostForm.Get("code")

		given, there := s.codes[code]
		delete(s.codes, code)

		if !there || given.redirectURI != x.r.PostForm.Get("redirect_uri") {
			return nil, badGrant
		}
	case "refresh_token":
		token := x.r.PostForm.Get("refresh_token")
		if !s.refresh[token] {
			return nil, badGrant
		}

		delete(s.refresh, token)
	default:
		return nil, unknownAsk
	}

	return s.issue(), nil
}

// issue gives a new token. The caller has the lock.
func (s *Server) issue() Object {
	out := Object{
		"access_token": "at_" + rand.Text(), "token_type": "bearer", "scope": "full_access",
		"user_id": number(s.config.AccountID),
	}

	var ends time.Time
	if seconds := value(s.settings.TokenSeconds); seconds > 0 {
		ends, out["expires_in"] = s.now().Add(time.Duration(seconds)*time.Second), seconds
	}

	s.access[out.text("access_token")] = ends

	if !value(s.settings.NoRefresh) {
		out["refresh_token"] = "rt_" + rand.Text()
		s.refresh[out.text("refresh_token")] = true
	}

	return out
}

// isGiven reports whether an app presents a token that was given to it and is not over.
func (s *Server) isGiven(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	ends, there := s.access[token]

	return there && (ends.IsZero() || s.now().Before(ends))
}

// Expire ends all tokens that apps present; they can be renewed.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()

	clear(s.access)
}

// Revoke takes back all access that was given to apps.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()

	clear(s.access)
	clear(s.refresh)
	clear(s.codes)
}
