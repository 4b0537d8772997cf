package hostaway

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stayledger/provider/sandbox/stage"
)

const maxBody = 1 << 20

// tokenLife is how many seconds a token is said to last.
const tokenLife = 15_897_600

// Failure is an answer that says what is wrong with a call.
type Failure struct {
	Status  int
	Message string
}

// The failures that the sandbox answers with.
var (
	badToken   = &Failure{http.StatusForbidden, "The resource owner or authorization server denied the request."}
	badRequest = &Failure{http.StatusBadRequest, "Bad request"}
	unknown    = &Failure{http.StatusNotFound, "Resource not found"}
	tooMany    = &Failure{http.StatusTooManyRequests, "Too many requests"}
	archived   = &Failure{http.StatusBadRequest, "Listing is archived"}
)

// exchange is a call with the fault that it meets.
type exchange struct {
	w     http.ResponseWriter
	r     *http.Request
	on    On
	body  []byte
	fault Fault
}

// read decodes the body of a call. It returns false if that fails.
func (x *exchange) read(into any) bool { return json.Unmarshal(x.body, into) == nil }

// key returns what events of the call are about: the identifier in its path, or where its page begins.
func (x *exchange) key() string {
	if id := x.r.PathValue("id"); id != "" {
		return id
	}

	return x.r.URL.Query().Get("afterId")
}

// ServeHTTP serves the API, and under /control the calls that control the sandbox.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// routes adds the calls of the API.
func (s *Server) routes() {
	s.handle("POST /v1/accessTokens", OnToken, s.issueToken)
	s.handle("GET /v1/listings", OnListings, s.getListings)
	s.handle("GET /v1/reservations", OnReservations, s.getReservations)
	s.handle("GET /v1/reservations/{id}", OnReservation, s.getReservation)
	s.handle("GET /v1/financeField/{id}", OnFinance, s.getFinance)
	s.handle("GET /v1/guestPayments/charges", OnCharges, s.listCharges)
	s.handle("GET /v1/listings/{id}/calendar", OnCalendar, s.getCalendar)
	s.handle("PUT /v1/listings/{id}/calendar", OnCalendar, s.putCalendar)
	s.handle("GET /v1/webhooks/unifiedWebhooks", OnWebhooks, s.getHooks)
	s.handle("POST /v1/webhooks/unifiedWebhooks", OnWebhooks, s.addHook)
	s.handle("DELETE /v1/webhooks/unifiedWebhooks/{id}", OnWebhooks, s.deleteHook)
}

// handle adds a call that passes the points in order: first every fault that comes before the effect, then the
// effect, then every fault after it.
func (s *Server) handle(pattern string, on On, effect func(*exchange) (Object, *Failure)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{w: w, r: r, on: on}

		var err error
		// All of the request is read first: what follows can outlast its sender.
		if x.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
			s.fail(x, badRequest)
			return
		}

		// Counts include calls with bad tokens and calls that meet a fault.
		s.mu.Lock()
		s.calls[on]++
		w.Header().Set("Date", s.now().Format(http.TimeFormat))
		s.mu.Unlock()

		if on != OnToken && !s.admits(r) {
			s.fail(x, badToken)
			return
		}

		// A fault is used up only by calls with a good token.
		x.fault = s.faults.Take(on, "")
		s.log.Reach(stage.Received, on, x.key())

		// These faults answer without the effect.
		if s.answerFault(x) {
			s.log.Reach(stage.Answered, on, x.key())
			return
		}

		// Tests that wait for Recorded know that the effect has happened, even if no answer follows.
		out, failure := effect(x)
		s.log.Reach(stage.Recorded, on, x.key())
		s.answer(x, out, failure)
	})
}

// admits reports whether a request presents a token of ours that can be used by now.
func (s *Server) admits(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	issued, known := s.tokens[token]

	return known && time.Since(issued) >= time.Duration(value(s.settings.TokenDelayMS))*time.Millisecond
}

// issueToken answers with a token, in the form of OAuth, without an envelope.
func (s *Server) issueToken(x *exchange) (Object, *Failure) {
	form, err := url.ParseQuery(string(x.body))
	if err != nil || form.Get("grant_type") != "client_credentials" || form.Get("scope") != "general" {
		return nil, badRequest
	}

	if !isEqual(form.Get("client_id"), s.config.AccountID) || !isEqual(form.Get("client_secret"), s.config.APIKey) {
		return nil, &Failure{http.StatusUnauthorized, "Client authentication failed"}
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	token := "sandbox." + rand.Text()
	s.tokens[token] = time.Now()

	return Object{"token_type": "Bearer", "expires_in": tokenLife, "access_token": token}, nil
}

// isEqual compares texts in constant time.
func isEqual(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// fail answers with a failure.
func (s *Server) fail(x *exchange, f *Failure) {
	stage.Write(x.w, f.Status, Object{"status": "fail", "message": f.Message})
}

// answer writes the answer or the failure, after the faults that come behind the effect.
func (s *Server) answer(x *exchange, out Object, failure *Failure) {
	s.breakAfter(x)
	s.log.Reach(stage.Answering, x.on, x.key())

	if failure != nil {
		s.fail(x, failure)
	} else if content, err := json.Marshal(s.spoil(x, out)); err == nil {
		s.log.Send(x.w, x.r, stage.Harm(x.fault.Mode), content)
	}

	s.log.Reach(stage.Answered, x.on, x.key())
}

// success returns the envelope of a result.
func success(result any) Object { return Object{"status": "success", "result": result} }
