package ownerrez

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"stayledger/provider/sandbox/stage"
)

// Failure is an answer that says what is wrong with a call.
type Failure struct {
	Status  int
	Code    string
	Message string
}

// The failures that the sandbox answers with.
var (
	badToken   = &Failure{http.StatusUnauthorized, "unauthorized", "The credentials are not valid."}
	badRequest = &Failure{http.StatusBadRequest, "bad_request", "The request is not valid."}
	noAgent    = &Failure{
		http.StatusBadRequest, "bad_request",
		"A User-Agent header that names the application is required.",
	}
	notAllowed = &Failure{http.StatusBadRequest, "bad_request", "You can't change blocks via API."}
	taken      = &Failure{http.StatusBadRequest, "bad_request", "The dates are not available."}
	unknown    = &Failure{http.StatusNotFound, "not_found", "The resource was not found."}
)

// maxBody is how many bytes a request can have.
const maxBody = 1 << 20

// exchange is a call with the fault that it meets.
type exchange struct {
	w     http.ResponseWriter
	r     *http.Request
	on    On
	fault Fault
}

// key returns what events of the call are about: the identifier in its path, or where its page begins.
func (x *exchange) key() string {
	if id := x.r.PathValue("id"); id != "" {
		return id
	}

	return x.r.URL.Query().Get("offset")
}

// ServeHTTP serves the API, and under /control the calls that control the sandbox.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// routes adds the calls of the API.
func (s *Server) routes() {
	s.handle("GET /v2/users/me", OnUser, s.getUser)
	s.handle("GET /v2/properties", OnProperties, s.getProperties)
	s.handle("GET /v2/properties/{id}", OnProperty, s.getProperty)
	s.handle("GET /v2/bookings", OnBookings, s.getBookings)
	s.handle("GET /v2/bookings/{id}", OnBooking, s.getBooking)
	s.handle("POST /v2/bookings", OnBlocks, s.postBlock)
	s.handle("DELETE /v2/bookings/{id}", OnBlocks, s.deleteBlock)
	s.mux.HandleFunc("GET /oauth/authorize", s.ask)
	s.serve("POST /oauth/access_token", OnToken, gate{s.isApp, badApp}, s.giveToken)
}

// handle adds a call of an account.
func (s *Server) handle(pattern string, on On, effect func(*exchange) (Object, *Failure)) {
	s.serve(pattern, on, gate{s.admits, badToken}, effect)
}

// gate decides which requests a call admits, and how it refuses others.
type gate struct {
	admits  func(*http.Request) bool
	refusal *Failure
}

// serve adds a call that passes the points in order: first every fault that comes before the effect, then the effect,
// then every fault after it.
func (s *Server) serve(pattern string, on On, callers gate, effect func(*exchange) (Object, *Failure)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{w: w, r: r, on: on}

		// All of the request is read first: what follows can outlast its sender.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			s.fail(x, badRequest)
			return
		}

		r.Body = io.NopCloser(bytes.NewReader(body))

		// Counts include calls with bad tokens and calls that meet a fault.
		s.mu.Lock()
		s.calls[on]++
		w.Header().Set("Date", s.now().Format(http.TimeFormat))
		s.mu.Unlock()

		// Calls have to name the app before anything else.
		if r.Header.Get("User-Agent") == "" {
			s.fail(x, noAgent)
			return
		}

		if !callers.admits(r) {
			s.fail(x, callers.refusal)
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

// admits reports whether a request presents the credentials of a person or of an app.
func (s *Server) admits(r *http.Request) bool {
	if token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); is {
		return s.isGiven(token)
	}

	email, token, _ := r.BasicAuth()

	return isEqual(email, s.config.Email) && isEqual(token, s.config.Token)
}

// getUser answers with the account.
func (s *Server) getUser(*exchange) (Object, *Failure) {
	return Object{
		"id": number(s.config.AccountID), "first_name": "Sandra", "last_name": "Box",
		"email_address": s.config.Email,
	}, nil
}

// isEqual compares texts in constant time.
func isEqual(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// fail answers with a failure.
func (s *Server) fail(x *exchange, f *Failure) {
	if x.on == OnToken {
		stage.Write(x.w, f.Status, Object{"error": f.Code})
		return
	}

	stage.Write(x.w, f.Status, Object{
		"messages": []string{f.Message}, "code": f.Code, "doc_url": "", "status": http.StatusText(f.Status),
		"status_code": f.Status,
	})
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
