package pms

import (
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"

	"stayledger/provider/sandbox/stage"
)

const maxBody = 1 << 20

// Failure is an answer that says what is wrong with a call.
type Failure struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
}

// The failures that the sandbox answers with.
var (
	badToken   = &Failure{http.StatusUnauthorized, "credentials"}
	badRequest = &Failure{http.StatusBadRequest, "malformed"}
	forgotten  = &Failure{http.StatusGone, "forgotten"}
	unknown    = &Failure{http.StatusNotFound, "unknown"}
	tooMany    = &Failure{http.StatusTooManyRequests, "tooMany"}
)

// answer is the answer of a call that succeeded.
type answer map[string]any

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

// key returns what events of the call are about: its page, or the identifier in its path.
func (x *exchange) key() string {
	if id := x.r.PathValue("id"); id != "" {
		return id
	}

	return x.r.URL.Query().Get("page")
}

// ServeHTTP serves the protocol, and under /control the calls that control the sandbox.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// routes adds the calls of the protocol.
func (s *Server) routes() {
	s.handle("GET /account", OnAccount, s.getAccount)
	s.handle("GET /listings", OnListings, s.getListings)
	s.handle("GET /reservations", OnReservations, s.getReservations)
	s.handle("GET /payouts", OnPayouts, s.getPayouts)
	s.handle("POST /reservations/lookup", OnLookup, s.lookUp)
	s.handle("PUT /webhook", OnSubscription, s.subscribe)
	s.handle("DELETE /webhook", OnSubscription, s.unsubscribe)
	s.handle("PUT /blocks/{id}", OnBlocks, s.putBlock)
	s.handle("DELETE /blocks/{id}", OnBlocks, s.deleteBlock)
}

// handle adds a call that passes the points in order: first every fault that comes before the effect, then the
// effect, then every fault after it.
func (s *Server) handle(pattern string, on On, effect func(*exchange) (answer, *Failure)) {
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
		s.mu.Unlock()

		if !s.admits(r) {
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

// admits reports whether a request presents our token.
func (s *Server) admits(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.config.Token)) == 1
}

// fail answers with a failure.
func (s *Server) fail(x *exchange, f *Failure) { stage.Refuse(x.w, f.Status, f.Code) }

// answer writes the answer or the failure, after the faults that come behind the effect.
func (s *Server) answer(x *exchange, out answer, failure *Failure) {
	s.breakAfter(x)
	s.log.Reach(stage.Answering, x.on, x.key())

	if failure != nil {
		s.fail(x, failure)
	} else if content, err := json.Marshal(out); err == nil {
		s.log.Send(x.w, x.r, stage.Harm(x.fault.Mode), content)
	}

	s.log.Reach(stage.Answered, x.on, x.key())
}

// getAccount answers with the account.
func (s *Server) getAccount(*exchange) (answer, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return answer{"id": s.account.ID, "name": s.account.Name}, nil
}
